"""Findings of all paths, put together: what is reported, what is reached, and why not the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arch.flow import Flow
from emu.check.findings import Finding, Values, about_signature
from emu.sweep import state as w
from emu.sweep.result import (
    Coverage,
    SweepFinding,
    SweepResult,
    Unreached,
    Wrong,
    best,
    merge_runs,
)
from emu.sweep.sites import Sites
from emu.sweep.uncovered import uncovered
from emu.sweep.worker import Findings
from emu.verdict import Verdict

if TYPE_CHECKING:
    from emu.sweep.sweep import Sweep

_MASK = (1 << 64) - 1


def summarise(sweep: Sweep, found: Findings, seconds: float) -> SweepResult:
    """The result of a sweep from what its workers saw."""
    reported, doubtful = _sort_out(sweep, found)
    _trust(sweep, found, reported)
    return SweepResult(
        program=sweep.image.path,
        arch=sweep.arch,
        table=sweep.kind,
        verdicts=_verdicts(sweep, found, reported),
        coverage=_coverage(sweep, found, given_up(sweep, found)),
        findings=tuple(_findings(sweep, reported)),
        gaps=tuple(gap for _, gap in sorted(_gaps(sweep, found), key=itemgetter(0))),
        counts=dict(sorted(found.counts.items())),
        doubtful=tuple(_findings(sweep, doubtful)),
        contradicted=len(doubtful),
        skipped=Counter(found.faults.values()),
        seconds=seconds,
    )


def _trust(sweep: Sweep, found: Findings, reported: list[Wrong]) -> None:
    """Take back what was only reached on ways that are not believed.

    A way with a wrong row is believed if the row is reported; what lies behind it in the same
    function then counts as reached.
    """
    functions = np.zeros(len(sweep.sites.functions) + 1, bool)
    for item in reported:
        functions[sweep.sites.function_at(item.pc)] = True
    for records, reached in zip(sweep.sites.records, found.reached, strict=True):
        believed = functions[records["function"]] | (reached & w.R_CLEAN != 0)
        reached[~believed] = 0


def _verdicts(sweep: Sweep, found: Findings, reported: list[Wrong]) -> Counter[Verdict]:
    """How many instructions have which verdict, of those inside functions that were reached."""
    ends = np.array([row.outermost for row in sweep.sites.table.rows] or [False])
    pcs = np.array([item.pc for item in reported], np.int64)
    wrong = np.array([item.verdict for item in reported], np.int64)
    total: npt.NDArray[np.int64] = np.zeros(max(Verdict) + 1, np.int64)
    for records, addresses, reached in zip(
        sweep.sites.records, sweep.sites.addresses, found.reached, strict=True
    ):
        codes = records["row"]
        good = np.where(ends[np.maximum(codes, 0)], Verdict.OUTERMOST, Verdict.EXACT)
        verdicts = np.where(codes < 0, -codes, good)
        places = np.searchsorted(addresses, pcs)
        here = places < len(addresses)
        here[here] = addresses[places[here]] == pcs[here]
        verdicts[places[here]] = wrong[here]
        seen = (reached != 0) & (records["function"] >= 0)
        total += np.bincount(verdicts[seen], minlength=len(total))
    return Counter({Verdict(at): int(total[at]) for at in np.flatnonzero(total).tolist()})


def _sort_out(sweep: Sweep, found: Findings) -> tuple[list[Wrong], list[Wrong]]:
    """(what is reported, what is wrong on ways that are not believed).

    An instruction that is wrong on one way and right on another is reported if the way on
    which it is wrong is proven: a row must hold on every way.
    """
    by_pc: dict[int, list[Wrong]] = {}
    doubtful: dict[int, list[Wrong]] = {}
    for item in filter(_possible, found.wrong):
        if item.state & w.HANDED_OVER:
            continue
        if _doubtful(item) or (_clean(sweep, found, item.pc) and not _proven(item)):
            doubtful.setdefault(item.pc, []).append(item)
        else:
            by_pc.setdefault(item.pc, []).append(item)
    reported = [best(items) for _, items in sorted(by_pc.items())]
    return reported, [best(items) for pc, items in sorted(doubtful.items()) if pc not in by_pc]


def given_up(sweep: Sweep, found: Findings) -> tuple[str, ...]:
    """Functions that have given their frame to something else: what follows is not compared."""
    lost = filter(_possible, (item for item in found.wrong if item.state & w.HANDED_OVER))
    return tuple(sorted({_name(sweep, item.root) for item in lost}))


def _possible(item: Wrong) -> bool:
    """Not that the call before does not return."""
    return not item.doubtful or _proven(item)


def _clean(sweep: Sweep, found: Findings, pc: int) -> bool:
    """A way on which everything was right has met an instruction."""
    place = sweep.sites.position(pc)
    return place is not None and bool(found.reached[place[0]][place[1]] & w.R_CLEAN)


def _name(sweep: Sweep, pc: int) -> str:
    name, _, section = sweep.placed.function_at(pc)
    return name or f"{section}+{sweep.placed.link(pc):#x}"


_LOST = {Verdict.WRONG_REG: w.NOT_KEPT, Verdict.WRONG_FP: w.FP_LOST}
"""What a way that ought to prove it must not have done."""


def _doubtful(item: Wrong) -> bool:
    """The path that shows it cannot be believed.

    What begins by believing a row must return to be believed itself; and a register whose rule
    is wrong is not lost: a path that returns without it is none that code can take.
    """
    lost = bool(item.state & _LOST.get(item.verdict, 0))
    return lost or (item.tag == w.BY_PART and not _proven(item))


def _proven(item: Wrong) -> bool:
    """Some way through it gave everything back; of a register's rule that register, too."""
    lost = _LOST.get(item.verdict, 0)
    lost |= w.HANDED_OVER if item.doubtful else 0
    return bool(item.state & w.CONFIRMED) and not item.state & lost


def _follows(sites: Sites, items: list[Wrong]) -> dict[int, int]:
    """The next instruction of the same function behind each of some."""
    follows: dict[int, int] = {}
    for item in items:
        place = sites.position(item.pc)
        if place is None:
            continue
        number, at = place
        functions = sites.records[number]["function"]
        if at + 1 < len(functions) and functions[at] == functions[at + 1]:
            follows[item.pc] = int(sites.addresses[number][at + 1])
    return follows


def _findings(sweep: Sweep, reported: list[Wrong]) -> Iterator[SweepFinding]:
    placed, sites = sweep.placed, sweep.sites
    for run in merge_runs(reported, _follows(sites, reported)):
        first, last = run[0], run[-1]
        name, start, section = placed.function_at(first.pc)
        size = sites.at(last.pc)
        assert size is not None
        row = sites.table.rows[first.row] if first.row >= 0 else None
        wanted = Values(*(value & _MASK for value in first.expected))
        got = Values(*(None if value is None else value & _MASK for value in first.got))
        yield SweepFinding(
            Finding(
                verdict=first.verdict,
                module=sweep.image.name,
                function=name,
                section=section,
                role="sampled",
                start=placed.link(first.pc),
                end=placed.link(last.pc) + int(size["size"]),
                start_offset=0 if start is None else first.pc - start,
                count=sum(item.count for item in run),
                checked=sum(item.count for item in run),
                expected=wanted,
                got=got,
                row=row,
                reason=first.reason
                or about_signature(first.verdict, wanted, got)
                or sites.table.reason(first.pc),
            ),
            runtime=first.pc,
            confirmed=any(_proven(item) for item in run),
            reached_by=w.TAG_NAMES[first.tag],
            decisions=tuple(placed.link(pc) for pc in first.decisions),
        )


def _gaps(sweep: Sweep, found: Findings) -> Iterator[tuple[int, Finding]]:
    """Instructions that the table says nothing about, in stretches, with their address.

    Those that were reached, and those that the entry of their function leaves out.
    """
    sites = sweep.sites
    for span, (records, reached) in enumerate(zip(sites.records, found.reached, strict=True)):
        gaps = np.flatnonzero((reached != 0) & (records["row"] < 0))
        for part in _stretches(gaps, records, "row"):
            yield _gap(sweep, span, int(part[0]), int(part[-1]), "")
    for item in uncovered(sites, sweep.placed, found.reached, sweep.wanted()):
        yield _gap(sweep, item.span, item.first, item.last, item.reason)


def _gap(sweep: Sweep, span: int, low: int, high: int, reason: str) -> tuple[int, Finding]:
    """A stretch of sites as a gap, and its address."""
    placed = sweep.placed
    records, addresses = sweep.sites.records[span], sweep.sites.addresses[span]
    first, last = int(addresses[low]), int(addresses[high])
    name, start, section = placed.function_at(first)
    return first, Finding(
        verdict=Verdict(-int(records["row"][low])),
        module=sweep.image.name,
        function=name,
        section=section,
        role="sampled",
        start=placed.link(first),
        end=placed.link(last) + int(records["size"][high]),
        start_offset=0 if start is None else first - start,
        count=high - low + 1,
        checked=high - low + 1,
        reason=reason or sweep.sites.table.reason(first),
    )


def _stretches(
    places: npt.NDArray[np.int64], records: npt.NDArray[np.void], same: str
) -> list[npt.NDArray[np.int64]]:
    """Runs of neighbouring sites of one function with the same value of a field."""
    if not len(places):
        return []
    cut = np.flatnonzero(
        (np.diff(places) != 1)
        | (np.diff(records["function"][places]) != 0)
        | (np.diff(records[same][places]) != 0)
    )
    return np.split(places, cut + 1)


def _coverage(sweep: Sweep, found: Findings, given_up: tuple[str, ...]) -> Coverage:
    instructions = reached_count = total = reached_bytes = 0
    unreached: list[Unreached] = []
    for number, (records, reached) in enumerate(
        zip(sweep.sites.records, found.reached, strict=True)
    ):
        inside = records["function"] >= 0
        # Compilers and assemblers put a trap behind a call that does not return.
        filler = ((records["flags"] & w.PADDING) != 0) | (records["kind"] == Flow.HALT)
        counted = inside & ((reached != 0) | ~filler)
        seen = counted & (reached != 0)
        instructions += int(counted.sum())
        reached_count += int(seen.sum())
        total += int(records["size"][counted].sum())
        reached_bytes += int(records["size"][seen].sum())
        unreached += _unreached(sweep, found, number, np.flatnonzero(counted & (reached == 0)))
    return Coverage(
        functions=len(sweep.sites.functions),
        instructions=instructions,
        reached=reached_count,
        bytes=total,
        reached_bytes=reached_bytes,
        unreached=tuple(unreached),
        frame_given_up=given_up,
    )


def _unreached(
    sweep: Sweep, found: Findings, span: int, places: npt.NDArray[np.int64]
) -> Iterator[Unreached]:
    sites, placed = sweep.sites, sweep.placed
    records, addresses, reached = sites.records[span], sites.addresses[span], found.reached[span]
    jumps = {sites.function_at(pc) for pc in found.unresolved}
    cut = {sites.function_at(pc) for pc in found.cut}
    lost = {sites.function_at(item.root) for item in found.wrong if item.state & w.HANDED_OVER}
    entered = np.zeros(len(sites.functions), bool)
    entered[records["function"][(reached != 0) & (records["function"] >= 0)]] = True
    for part in _stretches(places, records, "function"):
        first, last = int(part[0]), int(part[-1])
        function = int(records["function"][first])
        before = records[first - 1] if first else None
        if not entered[function]:
            reason = "not entered"
        elif function in lost:
            reason = "frame given up"
        elif function in cut:
            reason = "cut short"
        elif function in jumps:
            reason = "jump table"
        elif before is not None and before["kind"] in (Flow.CALL, Flow.CALL_INDIRECT):
            reason = "behind a call that does not return"
        elif records["kind"][first] == Flow.BAD:
            reason = "no instruction"
        else:
            reason = "no way found"
        name, _, section = placed.function_at(int(addresses[first]))
        yield Unreached(
            reason,
            name,
            section,
            placed.link(int(addresses[first])),
            placed.link(int(addresses[last])) + int(records["size"][last]),
            int(records["size"][part].sum()),
        )
