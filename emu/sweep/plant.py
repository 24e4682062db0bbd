"""Single faults for a table, as rows that hold in place of the right ones.

Each field of rows and entries is changed on its own, as a producer that is wrong would change
it. A fault is a list of ranges and what holds there instead; the exploration never looks at it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from arch import Arch, Row, RuleKind
from arch.row import KEEP, CfaRule, RegRule
from emu.tables import FunctionRows, NoRow
from emu.verdict import Verdict

_WORD = 8
RuleSet = tuple[tuple[int, int, int], ...]
"""For each callee-saved register but FP, and for SP if it has rules: RuleKind, register, offset."""
_NO_FDE, _NO_FRE = -int(Verdict.NO_FDE), -int(Verdict.NO_FRE)


@dataclass(frozen=True, slots=True)
class Planted:
    """What holds in [start, end), runtime addresses, instead: a row, or minus a verdict."""

    start: int
    end: int
    row: Row | int | RuleSet
    """A rule set stands beside the row, which is the right one."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one entry."""

    kind: str
    function: int
    """Start of the function."""
    at: int
    """Where the row that is changed begins; of an entry's fault its start."""
    planted: tuple[Planted, ...]


def entry_row(arch: Arch) -> Row:
    """The row that holds at the first instruction of every function that is called."""
    at_sp = RegRule(RuleKind.AT_CFA, offset=-arch.entry_cfa_offset)
    ra = KEEP if arch.ra_in_register else at_sp
    return Row(CfaRule(arch.sp, arch.entry_cfa_offset), ra, KEEP, arch.sp_offset)


def plant(function: FunctionRows, places: list[int], arch: Arch) -> Iterator[Fault]:
    """All faults of a function that does not repeat.

    Args:
        function: by runtime addresses.
        places: where its instructions begin, ascending.
        arch: the machine.
    """
    if function.rep_size or not places:
        return
    spans = _spans(function)
    for number, (start, end, row) in enumerate(spans):
        if isinstance(row, Row):
            for kind, changed in _changed(row, arch):
                yield _fault(kind, function, start, (start, end, changed))
        before = spans[number - 1][2] if number else _NO_FRE
        yield _fault("row dropped", function, start, (start, end, before))
        if number:
            earlier = [place for place in places if spans[number - 1][0] <= place < start]
            later = [place for place in places if start < place]
            if earlier:
                yield _fault("row early", function, start, (earlier[-1], start, row))
            if later:
                late = (start, min(later[0], end), before)
                yield _fault("row late", function, start, late)
    yield from _entry(function, spans, places)


def plant_rules(
    function: int, spans: Sequence[tuple[int, int, RuleSet]], kept: int, sp: int
) -> Iterator[Fault]:
    """All faults of the rules of callee-saved registers and of SP.

    Args:
        function: where it starts.
        spans: (start, end, set) of each stretch.
        kept: how many registers of a set are callee-saved.
        sp: number of SP, the one behind them.
    """
    still_sp = (int(RuleKind.REGISTER), sp, 0)
    for start, end, rules in spans:
        for place, (kind, register, offset) in enumerate(rules):
            lost = (int(RuleKind.KEEP), -1, 0) if place < kept else still_sp
            changed: list[tuple[str, tuple[int, int, int]]] = []
            if kind == RuleKind.AT_CFA:
                changed = [
                    ("register offset +8", (kind, register, offset + _WORD)),
                    ("register offset -8", (kind, register, offset - _WORD)),
                    ("register lost", lost),
                ]
            elif kind == RuleKind.REGISTER and (kind, register, offset) != still_sp:
                changed = [("register lost", lost)]
            for name, rule in changed:
                yield Fault(
                    name, function, start,
                    (Planted(start, end, (*rules[:place], rule, *rules[place + 1 :])),),
                )  # fmt: skip


def _entry(
    function: FunctionRows, spans: list[tuple[int, int, Row | int]], places: list[int]
) -> Iterator[Fault]:
    """Faults of the entry itself."""
    start, end = function.start, function.start + function.size
    yield _fault("size cut", function, start, (places[-1], end, _NO_FDE))
    yield _fault("entry dropped", function, start, (start, end, _NO_FDE))
    if len(places) > 1:
        shift = places[1] - start
        moved = [(low + shift, min(high + shift, end), row) for low, high, row in spans]
        yield Fault(
            "start late", start, start,
            (Planted(start, start + shift, _NO_FDE), *(Planted(*span) for span in moved)),
        )  # fmt: skip


def _fault(
    kind: str, function: FunctionRows, at: int, span: tuple[int, int, Row | int]
) -> Fault:
    return Fault(kind, function.start, at, (Planted(*span),))


def _spans(function: FunctionRows) -> list[tuple[int, int, Row | int]]:
    """(start, end, row or minus a verdict) of each row."""
    ends = [*function.starts[1:], function.size]
    return [
        (
            function.start + low, function.start + min(high, function.size),
            -int(row.verdict) if isinstance(row, NoRow) else row,
        )
        for low, high, row in zip(function.starts, ends, function.rows, strict=True)
        if low < function.size
    ]  # fmt: skip


def _changed(row: Row, arch: Arch) -> Iterator[tuple[str, Row]]:
    """A row with one field changed, in each way that there is."""
    if row.outermost:
        yield "outermost lost", entry_row(arch)
        return
    cfa = row.cfa
    for step in (_WORD, -_WORD):
        yield f"cfa offset {step:+d}", replace(row, cfa=replace(cfa, offset=cfa.offset + step))
    if arch.sframe.cfa_bias:
        lost = replace(cfa, offset=cfa.offset - arch.sframe.cfa_bias)
        yield "cfa bias lost", replace(row, cfa=lost)
    other = {arch.sp: arch.fp, arch.fp: arch.sp}.get(cfa.register)
    if other is not None:
        yield "cfa base swapped", replace(row, cfa=replace(cfa, register=other))
    if cfa.deref:
        yield "cfa load lost", replace(row, cfa=replace(cfa, deref=False))
    yield from _rules("ra", row, arch)
    yield from _rules("fp", row, arch)
    yield "outermost", replace(row, outermost=True)
    if arch.ra_sign_mask:
        yield "ra signed", replace(row, ra_signed=not row.ra_signed)


def _rules(field: str, row: Row, arch: Arch) -> Iterator[tuple[str, Row]]:
    """Faults of the rule of the return address or of FP."""
    rule: RegRule = getattr(row, field)

    def with_rule(changed: RegRule) -> Row:
        return replace(row, ra=changed) if field == "ra" else replace(row, fp=changed)

    if rule.kind is RuleKind.KEEP:
        # Saved where an ordinary prologue would save it: the next word but one for FP.
        slot = -_WORD if field == "ra" else -2 * _WORD
        yield f"{field} invented", with_rule(RegRule(RuleKind.AT_CFA, offset=slot + arch.sp_offset))
        return
    for step in (_WORD, -_WORD):
        if rule.kind in (RuleKind.AT_CFA, RuleKind.AT_REGISTER):
            moved = replace(rule, offset=rule.offset + step)
            yield f"{field} offset {step:+d}", with_rule(moved)
    if field == "fp" or arch.ra_in_register:
        yield f"{field} lost", with_rule(KEEP)
