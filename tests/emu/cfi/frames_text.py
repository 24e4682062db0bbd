"""Reads `readelf --debug-dump=frames-interp` and compares it with our rows.

The text is a second opinion on the same bytes by another program. It shows every row as
columns: ``LOC CFA rbx rbp ra``, a cell being ``u`` (undefined or never mentioned),
``s``, ``c-16``, ``v+8``, ``exp``, ``vexp`` or a register.
"""

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from arch.descriptor import Arch
from arch.row import KEEP, RegRule, Row, RuleKind
from emu.cfi.saved import SavedRows
from emu.tables import FunctionRows, NoRow

_ENTRY = re.compile(
    r"^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ "
    r"(?:CIE .* ra=(\d+)|FDE cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+))"
)
_ROW = re.compile(r"^[0-9a-f]{16} ")
_CELL = r"\S+(?: \(\S+\))?"

Cells = dict[str, str]


@dataclass
class TextFunction:
    """An FDE of the dump: its rows in full, those of the CIE where it shows none."""

    start: int
    end: int
    return_column: int
    rows: list[tuple[int, Cells]] = field(default_factory=list)


def parse(text: str) -> list[TextFunction]:
    """All FDEs of a dump."""
    functions: list[TextFunction] = []
    cies: dict[int, tuple[int, Cells]] = {}
    columns: list[str] = []
    current: TextFunction | None = None
    initial: Cells = {}
    offset = 0
    for line in text.splitlines():
        if match := _ENTRY.match(line):
            offset = int(line.split()[0], 16)
            columns = []
            if match[1]:
                current = None
                cies[offset] = int(match[1]), {}
            else:
                column, initial = cies[int(match[2], 16)]
                current = TextFunction(int(match[3], 16), int(match[4], 16), column)
                current.rows.append((current.start, initial))
                functions.append(current)
        elif line.lstrip().startswith("LOC "):
            columns = line.split()[1:]
        elif columns and _ROW.match(line):
            location, _, rest = line.partition(" ")
            values = re.findall(_CELL, rest)
            assert len(values) == len(columns), line
            cells = dict(zip(columns, values, strict=True))
            if current is None:
                cies[offset] = cies[offset][0], cells
            else:
                # Registers that the function never mentions have no column.
                current.rows.append((int(location, 16), {**initial, **cells}))
    return functions


def _number(arch: Arch, name: str) -> int:
    names = {"sp": arch.sp, "fp": arch.fp, "ra": arch.ra}
    names |= {register.name: register.dwarf for register in arch.registers}
    # The halves of vector registers that are kept have the names of the whole ones.
    names |= {f"v{register.name[1:]}": register.dwarf for register in arch.saved_only}
    return names.get(name, -1)


def _column(cells: Cells, arch: Arch, number: int) -> str:
    for name, value in cells.items():
        if name != "CFA" and _number(arch, name) == number:
            return value
    return "u"


def _says(rule: RegRule, cell: str, arch: Arch) -> bool:
    """A cell and a rule mean the same; the text does not show an expression's content."""
    if cell in {"exp", "vexp"}:
        return rule.kind in {RuleKind.REGISTER, RuleKind.AT_REGISTER}
    if rule.kind is RuleKind.KEEP:
        return cell in {"u", "s"}
    if rule.kind is RuleKind.AT_CFA:
        return cell == f"c{rule.offset:+d}"
    match = re.match(r"r(\d+) \(|(\w+)$", cell)
    if match is None or rule.kind is not RuleKind.REGISTER or rule.offset:
        return False
    return rule.register == (int(match[1]) if match[1] else _number(arch, match[2]))


def _cfa_says(row: Row, cell: str, arch: Arch) -> bool:
    if cell == "exp":
        return True
    name, offset = re.fullmatch(r"(\w+)([+-]\d+)", cell).groups()
    cfa = row.cfa
    plain = not cfa.deref and not cfa.addend
    return plain and (cfa.register, cfa.offset) == (_number(arch, name), int(offset))


def compare(
    text: list[TextFunction], functions: tuple[FunctionRows, ...], arch: Arch
) -> tuple[Counter[str], list[str]]:
    """Counts of compared places by outcome, and a line for each place that differs.

    A place is a boundary of the text's or of our rows: both are looked up there.
    """
    counts: Counter[str] = Counter()
    differences: list[str] = []
    begins = [function.start for function in functions]
    for expected in text:
        if expected.start == expected.end or not expected.start:
            counts["empty"] += 1
            continue
        places = {place for place, _ in expected.rows}
        index = bisect_right(begins, expected.start) - 1
        while 0 <= index < len(functions) and functions[index].start < expected.end:
            function = functions[index]
            if not function.rep_size:
                places |= {function.start + start for start in function.starts}
            index += 1
        for place in sorted(p for p in places if expected.start <= p < expected.end):
            cells = [row for at, row in expected.rows if at <= place][-1]
            row = lookup(functions, begins, place)
            if expected.return_column != arch.ra:
                # The text calls another column ``ra`` there.
                outcome = "refused" if isinstance(row, NoRow) else "differs"
            else:
                outcome = _outcome(row, cells, arch)
            counts[outcome] += 1
            if outcome == "differs":
                differences.append(f"{place:#x}: {cells} against {row}")
    return counts, differences


def lookup(
    functions: tuple[FunctionRows, ...], begins: list[int], place: int
) -> Row | NoRow | None:
    """What a table says of an address."""
    index = bisect_right(begins, place) - 1
    if index < 0 or place >= begins[index] + functions[index].size:
        return None
    function = functions[index]
    offset = place - function.start
    if function.rep_size:
        offset %= function.rep_size
    at = bisect_right(function.starts, offset) - 1
    return function.rows[at] if at >= 0 else None


def _outcome(row: Row | NoRow | None, cells: Cells, arch: Arch) -> str:
    if row is None:
        return "differs"
    ra, fp, sp = (_column(cells, arch, number) for number in (arch.ra, arch.fp, arch.sp))
    if isinstance(row, NoRow):
        unusual = "exp" in f"{cells['CFA']} {ra} {fp}" or sp not in {"u", "s"}
        return "refused" if unusual else "differs"
    if row.outermost:
        return "outermost" if ra == "u" else "differs"
    if not (
        _cfa_says(row, cells["CFA"], arch) and _says(row.ra, ra, arch) and _says(row.fp, fp, arch)
    ):
        return "differs"
    return "expression" if "exp" in f"{cells['CFA']} {ra} {fp}" else "equal"


def compare_saved(
    text: list[TextFunction],
    functions: tuple[FunctionRows, ...],
    saved: tuple[SavedRows, ...],
    arch: Arch,
) -> tuple[Counter[str], list[str]]:
    """The same for callee-saved registers: each of them is compared at each place.

    Where there is no row, or the stack ends, there must be no rules.
    """
    counts: Counter[str] = Counter()
    differences: list[str] = []
    begins = [function.start for function in functions]
    ours = {(one.start, one.start + one.size): one for one in saved}
    for expected in text:
        if expected.start == expected.end or not expected.start:
            continue
        one = ours.get((expected.start, expected.end))
        if one is None:
            differences.append(f"{expected.start:#x}: missing")
            continue
        places = {place for place, _ in expected.rows} | {one.start + s for s in one.starts}
        for place in sorted(p for p in places if p < expected.end):
            cells = [row for at, row in expected.rows if at <= place][-1]
            got = one.rules[bisect_right(one.starts, place - one.start) - 1]
            rules = {rule.register: rule.rule for rule in got}
            row = lookup(functions, begins, place)
            if isinstance(row, NoRow) or (isinstance(row, Row) and row.outermost):
                counts["without"] += 1
                if rules:
                    differences.append(f"{place:#x}: {rules} without a row")
                continue
            # Where SP is not the CFA, its rule stands beside the row.
            for number in (*arch.callee_saved, *((arch.sp,) if arch.sp_offset else ())):
                cell = _column(cells, arch, number)
                rule = rules.get(number, KEEP)
                if number != arch.fp:
                    counts[rule.kind.name] += 1
                    if not _saved_says(number, rule, cell, arch):
                        differences.append(f"{place:#x}: {number} {cell} against {rule}")
    return counts, differences


def _saved_says(number: int, rule: RegRule, cell: str, arch: Arch) -> bool:
    """As `_says`; "u" may also be undefined, and a register may be said to be in itself."""
    if rule.kind is RuleKind.UNKNOWN:
        return cell in {"u", "exp", "vexp"} or cell.startswith("v")
    in_place = RegRule(RuleKind.REGISTER, number)
    return _says(rule, cell, arch) or (rule == KEEP and _says(in_place, cell, arch))
