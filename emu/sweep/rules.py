"""Rules of callee-saved registers, and registers that values rest on, as compiled code has them."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from arch import Arch, RuleKind
from emu.cfi.saved import SavedRows, SavedRule
from emu.sweep import state as w
from emu.sweep.plant import RuleSet
from emu.unwind.lookup import RowTable


class Rules:
    """Sets of rules of callee-saved registers other than FP, in the form of the compiled check.

    SP is the last of them if any of the functions has a rule for it, and costs nothing if not.
    """

    def __init__(self, arch: Arch, saved: Sequence[SavedRows]) -> None:
        kept = [number for number in arch.callee_saved if number != arch.fp]
        own = any(r.register == arch.sp for one in saved for rules in one.rules for r in rules)
        self.registers = (*kept, *((arch.sp,) if own else ()))
        self.kept = len(kept)
        """How many of them a function gives back as they were; SP is where its caller has it."""
        self._places = {number: index for index, number in enumerate(self.registers)}
        sets: dict[tuple[SavedRule, ...], int] = {(): 0}
        starts: list[int] = []
        codes: list[int] = []
        self.frames = sorted(saved, key=lambda rows: rows.start)
        for one in self.frames:
            for offset, rules in zip(one.starts, one.rules, strict=True):
                if 0 <= offset < one.size:
                    starts.append(one.start + offset)
                    codes.append(sets.setdefault(rules, len(sets)))
            starts.append(one.start + one.size)
            codes.append(-1)
        order = np.argsort(np.array(starts, np.int64), kind="stable")
        self._starts = np.array(starts, np.int64)[order]
        self._codes = np.array(codes, np.int32)[order]
        self.array: npt.NDArray[np.int64] = np.zeros(
            (len(sets), len(self.registers), w.RULE_WORDS), np.int64
        )
        # Where nothing is said of SP it is what the CFA makes it.
        self.array[:, self.kept :, 0] = RuleKind.UNKNOWN
        self._sets = sets
        self.named: list[int] = []
        """Registers that each set's values rest on, as bits."""
        for rules in sets:
            mask = 0
            for rule in rules:
                place = self._places.get(rule.register)
                if place is None:
                    continue
                how = rule.rule
                self.array[sets[rules], place] = (how.kind, how.register, how.offset)
                if how.kind in (RuleKind.REGISTER, RuleKind.AT_REGISTER) and how.register < 63:
                    mask |= 1 << how.register
            self.named.append(mask)

    def spans(self) -> Iterator[tuple[int, list[tuple[int, int, RuleSet]]]]:
        """(start of a function, (start, end, set) of its stretches that have rules)."""
        for one in self.frames:
            ends = [*one.starts[1:], one.size]
            found = []
            for low, high, rules in zip(one.starts, ends, one.rules, strict=True):
                if rules:
                    rows = self.array[self._sets[rules]].tolist()
                    found.append((one.start + low, one.start + high, tuple(map(tuple, rows))))
            yield one.start, found

    def at(self, addresses: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """The set that holds at each address; -1: none."""
        # Where -1 stands for a number, the last element is meant.
        return np.append(self._codes, np.int32(-1))[last_before(self._starts, addresses)]


def row_keeps(table: RowTable) -> npt.NDArray[np.int64]:
    """Registers that each row's values rest on, as bits: a call leaves them alone.

    Assembly helpers with a convention of their own keep more registers than the ABI says, and
    code that relies on it says so in its rows.
    """
    keeps = np.zeros(len(table.rows) + 1, np.int64)
    for number, row in enumerate(table.rows):
        named = [] if row.outermost else [row.cfa.register]
        for rule in (row.ra, row.fp):
            if rule.kind in (RuleKind.REGISTER, RuleKind.AT_REGISTER):
                named.append(rule.register)
        for register in named:
            if 0 <= register < 63:
                keeps[number] |= 1 << register
    return keeps


def last_before(
    starts: npt.NDArray[np.int64], addresses: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Number of the last start at or below each address, or -1; both are ascending."""
    firsts = np.searchsorted(addresses, starts)
    counts = np.diff(firsts, prepend=0, append=len(addresses))
    return np.repeat(np.arange(-1, len(starts)), counts)
