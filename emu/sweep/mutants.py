"""Faults judged while a sweep or a run goes on: many at a time, none of which steers anything.

At each instruction the rows that faults put there are judged beside the right one, on the same
machine state. A fault is detected where its verdict is another one; harmless, if it was judged
and gave the same values everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch import Arch, Row
from emu.sweep.faults import DETECTED, DIFFERENT, FIRST_SET, JUDGED
from emu.sweep.plant import Fault, RuleSet
from emu.unwind.packed import WORDS, pack


@dataclass(frozen=True, slots=True)
class Score:
    """How many faults came out how."""

    planted: int
    detected: int
    harmless: int
    unreached: int
    missed: int
    by_kind: dict[str, Counter[str]]
    misses: tuple[Fault, ...]
    given_up: tuple[str, ...] = ()
    """Functions that give up their frame: behind that no row is judged."""


class Mutants:
    """All faults of a table, in the form that `judge_all` takes.

    Args:
        faults: to be judged.
        addresses: where instructions begin, ascending.
        rows: the right rows; codes of faults count on behind them.
        arch: the machine.
    """

    def __init__(
        self, faults: Sequence[Fault], addresses: npt.NDArray[np.int64], rows: Sequence[Row],
        arch: Arch,
    ) -> None:  # fmt: skip
        self.faults = faults
        numbers = {row: number for number, row in enumerate(rows)}
        sets: dict[RuleSet, int] = {}
        sites: list[npt.NDArray[np.int64]] = []
        which: list[npt.NDArray[np.int32]] = []
        codes: list[npt.NDArray[np.int32]] = []
        for number, fault in enumerate(faults, 1):
            for planted in fault.planted:
                low, high = np.searchsorted(addresses, (planted.start, planted.end))
                if low >= high:
                    continue
                row = planted.row
                if isinstance(row, int):
                    code = row
                elif isinstance(row, Row):
                    code = numbers.setdefault(row, len(numbers))
                else:
                    code = FIRST_SET + sets.setdefault(row, len(sets))
                sites.append(np.arange(low, high))
                which.append(np.full(high - low, number, np.int32))
                codes.append(np.full(high - low, code, np.int32))
        self.rows: npt.NDArray[np.int64] = np.zeros((len(numbers) + 1, WORDS), np.int64)
        for row, number in numbers.items():
            self.rows[number] = pack(row, arch)
        self.sets: npt.NDArray[np.int64] = np.array([*sets] or [()], np.int64)
        site = np.concatenate(sites) if sites else np.zeros(0, np.int64)
        order = np.argsort(site, kind="stable")
        counts = np.bincount(site, minlength=len(addresses))
        # One more entry behind each list, which ends it; the first list is empty.
        self.first: npt.NDArray[np.int64] = 1 + np.cumsum(counts + 1) - (counts + 1)
        shape = (1 + len(site) + len(addresses), 2)
        self.entries: npt.NDArray[np.int32] = np.zeros(shape, np.int32)
        if len(site):
            ranks = np.arange(len(site)) - (np.cumsum(counts) - counts)[site[order]]
            at = self.first[site[order]] + ranks
            self.entries[at, 0] = np.concatenate(which)[order]
            self.entries[at, 1] = np.concatenate(codes)[order]
        self.outcomes: npt.NDArray[np.uint8] = np.zeros(len(faults) + 1, np.uint8)

    def score(self, outcomes: npt.NDArray[np.uint8]) -> Score:
        """What came of the faults; `outcomes` is the array of this object, or a sum of copies."""
        by_kind: dict[str, Counter[str]] = {}
        misses = []
        for fault, outcome in zip(self.faults, outcomes[1:].tolist(), strict=True):
            how = "missed"
            if outcome & DETECTED:
                how = "detected"
            elif not outcome & JUDGED:
                how = "unreached"
            elif not outcome & DIFFERENT:
                how = "harmless"
            else:
                misses.append(fault)
            by_kind.setdefault(fault.kind, Counter())[how] += 1
        total: Counter[str] = sum(by_kind.values(), Counter())
        return Score(
            len(self.faults), total["detected"], total["harmless"], total["unreached"],
            total["missed"], dict(sorted(by_kind.items())), tuple(misses),
        )  # fmt: skip
