"""User memory as the kernel reads it: pages that are present or not, and every read counted.

The step reads through a table of mappings (emu.memory). Where pages are absent it gets one of
its own, over the same host buffer, that has only what is present.
"""

from bisect import bisect_right
from collections.abc import Iterator
from errno import EFAULT

import numpy as np

from emu.kernel.events import Refusal
from emu.memory import BUFFER, COUNT, PAGE, READ, ROWS, Memory

MOST_READS = 1 << 19
"""Of one look-up. The largest table of one function that V3 can hold needs fewer."""

_Row = tuple[int, int, int]
"""Start, end, offset in the host buffer."""


class ReadLimit(Exception):
    """One look-up has read too often: a hostile table must not stall the model."""


class Residency:
    """Which pages of an address space are absent; all others are present."""

    def __init__(self) -> None:
        self._absent: set[int] = set()
        self._sorted: list[int] | None = []

    def evict(self, start: int, end: int) -> None:
        """The pages that [start, end) touches are not present any more."""
        self._absent.update(range(start // PAGE, -(-end // PAGE)))
        self._sorted = None

    def bring_in(self, page: int) -> bool:
        """Make a page present, given by its number; whether it was absent."""
        if page not in self._absent:
            return False
        self._absent.remove(page)
        self._sorted = None
        return True

    def is_absent(self, page: int) -> bool:
        """Whether a page is not present, given by its number."""
        return page in self._absent

    def __len__(self) -> int:
        return len(self._absent)

    def present_parts(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The stretches of [start, end) that are present."""
        if self._sorted is None:
            self._sorted = sorted(self._absent)
        pages = self._sorted
        index = bisect_right(pages, start // PAGE - 1)
        while index < len(pages) and pages[index] * PAGE < end:
            if start < pages[index] * PAGE:
                yield start, pages[index] * PAGE
            start = (pages[index] + 1) * PAGE
            index += 1
        if start < end:
            yield start, end


class UserMemory:
    """What one walk, or one system call, reads of user space.

    Args:
        memory: the address space.
        residency: its absent pages; reads that may fault bring them in.
        faulting: page faults are taken; else a read of an absent page fails.
        most: reads of one look-up.
    """

    def __init__(
        self, memory: Memory, residency: Residency | None = None, *, faulting: bool = True,
        most: int = MOST_READS,
    ) -> None:  # fmt: skip
        self._memory = memory
        self._residency = residency if residency is not None else Residency()
        self._faulting = faulting
        self._most = most
        self._limit = most
        self.reads = 0
        """Calls of get_user and copy_from_user."""
        self.bytes = 0
        self.page_faults = 0
        """Pages that were brought in."""
        self.longest = 0
        """Reads of the look-up that needed most."""
        self._last: _Row = (0, 0, 0)
        self._table: np.ndarray[tuple[int, int], np.dtype[np.int64]] | None = None
        self._header = np.zeros(8, np.int64)

    def begin_lookup(self) -> None:
        """The bound on reads counts from here."""
        self._limit = self.reads + self._most

    def end_lookup(self) -> None:
        """What follows is no part of a look-up, and bounded by the step."""
        self.longest = max(self.longest, self.reads - self._limit + self._most)
        self._limit = self.reads + self._most

    def get(self, address: int, size: int) -> bytes:
        """Bytes, as get_user and copy_from_user take them.

        Raises:
            Refusal: EFAULT, not mapped, not readable, or absent and no fault may be taken.
            ReadLimit: the look-up has read too often.
        """
        self.count(1, size)
        low, high, offset = self._last
        if low <= address and address + size <= high:
            return self._memory.frames.data[offset + address - low : offset + address + size - low]
        return self._slow(address, size)

    def count(self, reads: int, size: int) -> None:
        """Count reads that somebody else makes."""
        self.reads += reads
        self.bytes += size
        if self.reads > self._limit:
            raise ReadLimit

    def _slow(self, address: int, size: int) -> bytes:
        data = b""
        while len(data) < size:
            row = self._find(address + len(data))
            if row is None:
                raise Refusal(EFAULT, f"user address {address:#x} cannot be read")
            start, end, offset = row
            first = address + len(data)
            part = min(end, address + size) - first
            data += self._memory.frames.data[offset + first - start : offset + first - start + part]
            self._last = row
        return data

    def _find(self, address: int) -> _Row | None:
        """The present and readable memory around an address."""
        page = address // PAGE
        if self._residency.is_absent(page) and not self.take_fault(address, 1):
            return None
        found = self._memory.find(address)
        if found is None or not found[3] & READ:
            return None
        start, end, offset, _ = found
        for low, high in self._residency.present_parts(start, end):
            if low <= address < high:
                return low, high, offset + low - start
        return None

    def take_fault(self, address: int, size: int) -> bool:
        """A read of bytes has failed; whether bringing in pages has helped."""
        if not self._faulting:
            return False
        brought = False
        for page in range(address // PAGE, (address + size - 1) // PAGE + 1):
            mapped = self._memory.find(page * PAGE)
            if mapped is not None and mapped[3] & READ and self._residency.bring_in(page):
                self.page_faults += 1
                self._table = None
                self._last = (0, 0, 0)
                brought = True
        return brought

    @property
    def header(self) -> int:
        """Address of the header block with what is present now, for the step."""
        if not len(self._residency):
            return int(self._memory.header.ctypes.data)
        if self._table is None:
            rows = [
                (low, high, offset + low - start, allowed)
                for start, end, offset, allowed in self._memory.intervals
                for low, high in self._residency.present_parts(start, end)
            ]
            self._table = np.array(rows or [(0, 0, 0, 0)], np.int64)
            self._header[:] = 0
            self._header[COUNT] = len(rows)
            self._header[ROWS] = self._table.ctypes.data
            self._header[BUFFER] = self._memory.header[BUFFER]
        return int(self._header.ctypes.data)
