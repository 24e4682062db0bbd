"""Rows of .eh_frame as pyelftools decodes them: a second opinion that shares no code with ours.

Only registers are asked for. Of its version 0.33 two things have to be avoided: it raises on
DW_CFA_GNU_args_size, which changes no rule and is taken out here, and scales the operand of
DW_CFA_def_cfa_sf by the wrong factor, which only the CFA would show.
"""

import io
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from elftools.dwarf.callframe import FDE, CallFrameInfo, RegisterRule
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.structs import DWARFStructs

from arch.descriptor import Arch
from arch.row import KEEP, UNKNOWN, RegRule, Row, RuleKind
from emu.cfi.saved import SavedRows
from emu.image import Image
from emu.tables import NoRow, Table
from tests.emu.cfi.frames_text import lookup

_GNU_ARGS_SIZE = 0x2E


@dataclass
class Decoded:
    """An FDE of a linked file: its rows by ascending address, the last at an address counts."""

    start: int
    size: int
    lsda: int | None
    rows: list[tuple[int, dict[int, RegRule]]]


def decoded(image: Image, arch: Arch) -> list[Decoded]:
    """All FDEs of the section, in its order."""
    section = image.section(".eh_frame")
    assert section is not None
    data = image.section_bytes(section)
    structs = DWARFStructs(image.byte_order == "little", 32, 8)
    expressions = DWARFExprParser(structs)
    info = CallFrameInfo(io.BytesIO(data), len(data), section.addr, structs, for_eh_frame=True)
    found = []
    for entry in info.get_entries():
        if not isinstance(entry, FDE):
            continue
        entry.instructions = [i for i in entry.instructions if int(i.opcode) != _GNU_ARGS_SIZE]
        # Where SP is not the CFA, its rule stands beside the row.
        wanted = (*arch.callee_saved, *((arch.sp,) if arch.sp_offset else ()))
        rows = [
            (
                row["pc"],
                {n: _rule(n, row[n], arch, expressions) for n in wanted if n in row},
            )
            for row in entry.get_decoded().table
        ]
        start, size = entry["initial_location"], entry["address_range"]
        found.append(Decoded(start, size, entry.lsda_pointer, rows))
    return found


def _rule(own: int, rule: Any, arch: Arch, expressions: DWARFExprParser) -> RegRule:
    match rule.type:
        case RegisterRule.SAME_VALUE:
            return KEEP
        case RegisterRule.OFFSET:
            return RegRule(RuleKind.AT_CFA, offset=rule.arg)
        case RegisterRule.REGISTER:
            return _named(RuleKind.REGISTER, own, rule.arg, 0, arch)
        case RegisterRule.EXPRESSION | RegisterRule.VAL_EXPRESSION:
            operations = [(o.op_name, *o.args) for o in expressions.parse_expr(rule.arg)]
            loads = int(rule.type == RegisterRule.EXPRESSION)
            if len(operations) == 2 and operations[1] == ("DW_OP_deref",):
                loads += 1
            elif len(operations) != 1:
                return UNKNOWN
            name, *arguments = operations[0]
            if not name.startswith("DW_OP_breg") or loads == 2:
                return UNKNOWN
            register = arguments.pop(0) if name == "DW_OP_bregx" else int(name[10:])
            kind = RuleKind.AT_REGISTER if loads else RuleKind.REGISTER
            return _named(kind, own, register, arguments[0], arch)
        case _:
            return UNKNOWN


def _named(kind: RuleKind, own: int, register: int, offset: int, arch: Arch) -> RegRule:
    if (kind, register, offset) == (RuleKind.REGISTER, own, 0):
        return KEEP
    if arch.saved_register(register) is None:
        return UNKNOWN
    return RegRule(kind, register, offset)


def compare_decoded(
    other: list[Decoded], table: Table, saved: tuple[SavedRows, ...], arch: Arch
) -> tuple[dict[str, int], list[str]]:
    """Counts of what was compared, and a line for each difference.

    All registers but FP are compared at each address where either has a new row. Where there
    is no row to go with them, or the stack ends, there must be no rules.
    """
    counts = dict.fromkeys(("functions", "lsdas", "rules", "unknown", "without"), 0)
    differences: list[str] = []
    ours = {(one.start, one.size): one for one in saved}
    begins = [function.start for function in table.functions]
    wanted = [one for one in other if one.start and one.size]
    if len(ours) != len(saved) or len(wanted) != len(saved):
        differences.append(f"{len(wanted)} functions against {len(saved)}")
    for one in wanted:
        mine = ours.get((one.start, one.size))
        if mine is None:
            differences.append(f"{one.start:#x}: missing")
            continue
        counts["functions"] += 1
        counts["lsdas"] += one.lsda is not None
        if one.lsda != (mine.lsda and mine.lsda.value) or mine.lsda_fault:
            differences.append(f"{one.start:#x}: data area {one.lsda} against {mine.lsda}")
        places = {place for place, _ in one.rows} | {one.start + s for s in mine.starts}
        for place in sorted(p for p in places if p < one.start + one.size):
            rules = [row for at, row in one.rows if at <= place][-1]
            expected = {n: r for n, r in rules.items() if n != arch.fp and r != KEEP}
            row = lookup(table.functions, begins, place)
            if isinstance(row, NoRow) or (isinstance(row, Row) and row.outermost):
                counts["without"] += 1
                expected = {}
            got = mine.rules[bisect_right(mine.starts, place - one.start) - 1]
            if {r.register: r.rule for r in got} != expected or list(got) != sorted(
                got, key=lambda r: r.register
            ):
                differences.append(f"{place:#x}: {expected} against {got}")
            counts["rules"] += len(got)
            counts["unknown"] += UNKNOWN in expected.values()
    return counts, differences
