"""Code of functions that their entry in the table leaves out, at the begin or at the end.

A function without any entry is none of this: hand-written code often has no table. Where there is
one, it is that of the symbol unless another function's symbol begins where it does. What lies
behind it may be data of the function, and counts only where code leads there.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch.flow import Flow
from emu.elf.layout import SHN_UNDEF, STT_FUNC, STT_GNU_IFUNC
from emu.errors import ImageError
from emu.sweep import state as w
from emu.sweep.place import Placed
from emu.sweep.sites import Sites
from emu.verdict import Verdict

_BEFORE = "the entry begins behind the symbol"
_BEHIND = "the entry ends before the symbol does"
_DIRECT = [int(kind) for kind in (Flow.CALL, Flow.BRANCH, Flow.JUMP, Flow.LINK)]
_LAST = frozenset(
    int(kind)
    for kind in (Flow.JUMP, Flow.JUMP_INDIRECT, Flow.LINK, Flow.RETURN, Flow.HALT, Flow.BAD)
)
"""Behind these nothing follows."""


@dataclass(frozen=True, slots=True)
class Uncovered:
    """Instructions of a symbol that its entry leaves out, and nothing has reached."""

    span: int
    first: int
    last: int
    """Numbers of the first and the last site."""
    reason: str


def uncovered(
    sites: Sites, placed: Placed, reached: list[npt.NDArray[np.uint8]], only: set[int] | None
) -> Iterator[Uncovered]:
    """All such stretches, by ascending address; each belongs to one symbol.

    Args:
        sites: all instructions.
        placed: the file.
        reached: by span, what the sweep has met: that is reported by itself.
        only: numbers of the functions of the table that are asked for; None: all.
    """
    starts = [function.start for function in sites.functions]
    symbols = _symbols(placed)
    begins = sorted({start for start, _ in symbols})
    seen: set[tuple[int, int]] = set()
    leads = _Leads(sites)
    for start, end in symbols:
        low, high = bisect_left(starts, start), bisect_left(starts, end)
        mine = sites.functions[low:high]
        if end <= start or not mine or (only is not None and not only & {*range(low, high)}):
            continue
        covered = max(function.end for function in sites.functions[max(0, low - 1) : high])
        named = bisect_left(begins, mine[0].start)
        if named == len(begins) or begins[named] != mine[0].start:
            before = low and sites.functions[low - 1].end > start
            if not before:
                yield from _stretches(sites, reached, start, mine[0].start, _BEFORE, seen)
        # What begins there has a symbol of its own, and perhaps no table.
        inner = bisect_left(begins, covered)
        if (inner == len(begins) or begins[inner] >= end) and leads(covered, end):
            yield from _stretches(sites, reached, covered, end, _BEHIND, seen)


class _Leads:
    """Whether code inside the table's functions leads to a range behind one of them."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        inside = [
            records["target"][(records["function"] >= 0) & np.isin(records["kind"], _DIRECT)]
            for records in sites.records
        ]
        self._targets = np.sort(np.concatenate(inside)) if inside else np.zeros(0, np.int64)

    def __call__(self, start: int, end: int) -> bool:
        """By a direct jump, or by falling through."""
        low, high = np.searchsorted(self._targets, (start, end))
        if low < high:
            return True
        position = self._sites.position(start)
        if position is None or position[1] == 0:
            return False
        before = self._sites.records[position[0]][position[1] - 1]
        return start < end and int(before["kind"]) not in _LAST


def _symbols(placed: Placed) -> list[tuple[int, int]]:
    """(start, end) of each function's symbol, ascending, without doubles."""
    found: set[tuple[int, int]] = set()
    for symbol in placed.image.symbols:
        if symbol.kind in (STT_FUNC, STT_GNU_IFUNC) and symbol.section_index != SHN_UNDEF:
            try:
                start = placed.runtime(symbol.section_index, symbol.value)
            except ImageError:
                continue  # in a section that is not loaded
            found.add((start, start + symbol.size))
    return sorted(found)


def _stretches(
    sites: Sites,
    reached: list[npt.NDArray[np.uint8]],
    start: int,
    end: int,
    reason: str,
    seen: set[tuple[int, int]],
) -> Iterator[Uncovered]:
    """Unreached instructions in a range that hold more than filler, which ends none of them."""
    span = sites.span_at(start)
    if start >= end or span < 0:
        return
    records, addresses = sites.records[span], sites.addresses[span]
    low, high = np.searchsorted(addresses, (start, end)).tolist()
    # Data behind code looks like instructions up to the first that is none.
    bad = np.flatnonzero(records["kind"][low:high] == Flow.BAD)
    high = low + int(bad[0]) if len(bad) else high
    part = records[low:high]
    filler = ((part["flags"] & w.PADDING) != 0) | (part["kind"] == Flow.HALT)
    at = low
    while at < high:
        behind = at
        while behind < high and not reached[span][behind] and _silent(records[behind]):
            behind += 1
        last = behind - 1
        while last >= at and filler[last - low]:
            last -= 1
        if last >= at and (span, at) not in seen:
            seen.add((span, at))
            yield Uncovered(span, at, last, reason)
        at = behind + 1


def _silent(record: npt.NDArray[np.void]) -> bool:
    return int(record["row"]) == -int(Verdict.NO_FDE)
