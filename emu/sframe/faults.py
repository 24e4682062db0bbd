"""Faults, as every step of decoding reports them.

A small section can have a great many, so what is kept of one is numbers: where it is, and what
its reason is to be made from. The text is made when somebody asks for it.
"""

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from emu.sframe.lazy import Lazy

Numbers = npt.NDArray[np.integer[Any]]


class Fault(NamedTuple):
    """What is wrong at `offset` bytes from the start of the section."""

    offset: int
    reason: str


class _Batch(NamedTuple):
    """Faults of one kind."""

    offsets: Numbers
    reason: str | Callable[[int], str]
    values: Numbers | None
    """What a reason that is not always the same is made from."""


class Faults(Lazy[Fault]):
    """All faults of a section, in the order in which they were added until they are sorted."""

    def __init__(self) -> None:
        self._batches: list[_Batch] = []
        self._ends: list[int] = []
        self._order: npt.NDArray[np.uint32] | None = None

    def add(self, offset: int, reason: str) -> None:
        """Add one."""
        self.add_all(np.array([offset], np.int64), reason)

    def add_all(
        self,
        offsets: Numbers,
        reason: str | Callable[[int], str],
        values: Numbers | None = None,
    ) -> None:
        """Add several, whose reasons are the same or made from their values."""
        if len(offsets):
            assert self._order is None
            small = int(offsets.max()) < 1 << 32
            self._batches.append(
                _Batch(offsets.astype(np.uint32 if small else np.int64), reason, values)
            )
            self._ends.append(len(self) + len(offsets))

    def sort(self) -> None:
        """Sort by offset; those of the same offset stay in order."""
        number = len(self)
        bits = number.bit_length()
        # Offsets are below 2^34 (two 32-bit offsets), so both fit into one word, which can be
        # sorted without more room.
        keys = np.empty(number, np.uint64)
        begin = 0
        for batch, end in zip(self._batches, self._ends, strict=True):
            keys[begin:end] = batch.offsets
            begin = end
        keys <<= np.uint64(bits)
        begin = 0
        for end in self._ends:
            keys[begin:end] |= np.arange(begin, end, dtype=np.uint32)
            begin = end
        keys.sort()
        keys &= np.uint64((1 << bits) - 1)
        self._order = keys.astype(np.uint32)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def make(self, index: int) -> Fault:
        """The fault at an index."""
        at = index
        if self._order is not None:
            at = int(self._order[at])
        number = bisect_right(self._ends, at)
        batch = self._batches[number]
        at -= self._ends[number - 1] if number else 0
        reason = batch.reason
        if not isinstance(reason, str):
            reason = reason(0 if batch.values is None else int(batch.values[at]))
        return Fault(int(batch.offsets[at]), reason)
