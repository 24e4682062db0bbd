"""The memory behind all guest mappings: one lazily filled host mapping, given out in parts."""

import mmap
from bisect import bisect_right

import numpy as np

from emu.errors import MemoryFault

PAGE = 4096
_MAP_NORESERVE = 0x4000
_RESERVED = 1 << 38
"""Bytes of address space for the buffer: frames are rarely reused, so it is generous."""
_SMALLEST = 1 << 33


class Frames:
    """Parts of one buffer, all bytes of which are zero when they are taken.

    A part belongs to whoever took it: a guest mapping, or something that outlives mappings
    and lends its part to them, as the page cache of a kernel does.
    """

    def __init__(self) -> None:
        self.data = self._reserve()
        self.buffer = np.frombuffer(self.data, np.uint8)
        self._next = PAGE
        self._free: dict[int, list[int]] = {}
        self._lent: list[tuple[int, int]] = []

    @staticmethod
    def _reserve() -> mmap.mmap:
        size = _RESERVED
        while True:
            try:
                return mmap.mmap(
                    -1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
                )
            except OSError:
                # Some hosts limit address space; a smaller buffer serves most programs.
                if size <= _SMALLEST:
                    raise
                size >>= 1

    def take(self, size: int) -> int:
        """Offset of `size` bytes of zeros in the buffer.

        Raises:
            MemoryFault: the buffer is full.
        """
        if self._free.get(size):
            return self._free[size].pop()
        offset = self._next
        if offset + size > len(self.data):
            raise MemoryFault(offset, size, "no room in the buffer for a mapping")
        self._next += size
        return offset

    def give_back(self, offset: int, size: int) -> None:
        """Nobody needs that part any more. The host zeroes the pages at their next use."""
        self.data.madvise(mmap.MADV_DONTNEED, offset, size)
        self._free.setdefault(size, []).append(offset)

    def lend(self, size: int) -> int:
        """As `take`, for a part that no mapping gives back.

        A page that is never used follows it: no mapping's own part may be its continuation.
        """
        offset = self.take(size + PAGE)
        self._lent.insert(bisect_right(self._lent, (offset, 0)), (offset, offset + size))
        return offset

    def take_back(self, offset: int, size: int) -> None:
        """End what `lend` began, when no mapping shows the part any more."""
        self._lent.remove((offset, offset + size))
        self.give_back(offset, size + PAGE)

    def is_lent(self, offset: int) -> bool:
        """That byte of the buffer belongs to no mapping."""
        index = bisect_right(self._lent, (offset, len(self.data))) - 1
        return index >= 0 and offset < self._lent[index][1]

    def view(self, offset: int, size: int) -> memoryview:
        """The bytes themselves."""
        return memoryview(self.data)[offset : offset + size]
