"""Guest memory: one host buffer and our own page table over it.

The buffer is a lazily filled host mapping. The table is sorted intervals, an int64 row
(start, end, offset in the buffer, permissions) for each guest mapping; the emulator's
TLB-fill hook and the unwinder read the same rows, on a live machine and in a saved
sample alike. Permissions: 1 read, 2 write, 4 execute.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator

import numba
import numpy as np
import numpy.typing as npt

from emu.errors import MemoryFault
from emu.frames import PAGE as PAGE
from emu.frames import Frames
from emu.native import load64, store64

READ, WRITE, EXECUTE = 1, 2, 4

# Fields of the header block, as indices of int64 words; compiled code gets its address.
COUNT, ROWS, LAST, BUFFER, FILLS, FAULT_ADDRESS, FAULT_ACCESS, CHANGES = range(8)
_ROW_BYTES = 32
_FIRST_CAPACITY = 1024


@numba.njit(cache=True)
def find_mapping(header: int, address: int) -> int:
    """The host address of the table row that holds a guest address, or 0."""
    rows = load64(header + 8 * ROWS)
    row = rows + _ROW_BYTES * load64(header + 8 * LAST)
    if load64(row) <= address < load64(row + 8):
        return row
    low = 0
    high = load64(header)
    while low < high:
        middle = (low + high) >> 1
        if load64(rows + _ROW_BYTES * middle) <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return 0
    row = rows + _ROW_BYTES * (low - 1)
    if address < load64(row + 8):
        store64(header + 8 * LAST, low - 1)
        return row
    return 0


@numba.njit(cache=True, forceinline=True)
def host_address(header: int, address: int) -> int:
    """Where 8 readable guest bytes lie in host memory, or 0.

    A word that straddles two mappings which are not neighbours in the buffer has no
    such place; stack slots are aligned, so only hostile tables ask for one.
    """
    row = find_mapping(header, address)
    if row == 0 or load64(row + 24) & 1 == 0 or address + 8 > load64(row + 8):
        return 0
    return load64(header + 8 * BUFFER) + load64(row + 16) + address - load64(row)


class Memory:
    """One address space.

    Args:
        limit: most bytes that may be mapped at a time.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.mapped = 0
        self.frames = Frames()
        """The host buffer."""
        self._map = self.frames.data
        self.buffer = self.frames.buffer
        self._rows = np.zeros((_FIRST_CAPACITY, 4), np.int64)
        self.header = np.zeros(8, np.int64)
        self.header[BUFFER] = self.buffer.ctypes.data
        self.header[ROWS] = self._rows.ctypes.data
        self._intervals: list[tuple[int, int, int, int]] = []
        self._starts: list[int] = []

    @property
    def size(self) -> int:
        """Bytes of the host buffer."""
        return len(self._map)

    @property
    def intervals(self) -> list[tuple[int, int, int, int]]:
        """(start, end, offset in the buffer, permissions), ascending; do not change it."""
        return self._intervals

    def map(self, start: int, size: int, permissions: int, lent: int | None = None) -> None:
        """Map pages, replacing what was there. Page-aligned numbers only.

        Args:
            start: guest address.
            size: bytes.
            permissions: READ, WRITE, EXECUTE.
            lent: where they are in the buffer, in a part that is lent; None: fresh zero pages.

        Raises:
            MemoryFault: over the limit, or outside the 63 bits of user addresses.
        """
        if start % PAGE or size % PAGE or size <= 0 or start < 0 or start + size > 1 << 62:
            raise MemoryFault(start, size, "mapping")
        self._cut(start, start + size)
        try:
            if self.mapped + size > self.limit:
                raise MemoryFault(start, size, f"mapping beyond the limit of {self.limit} bytes")
            offset = self.frames.take(size) if lent is None else lent
        except MemoryFault:
            self._publish()
            raise
        index = bisect_right(self._starts, start)
        before = self._intervals[index - 1] if index else (0, 0, 0, -1)
        if lent is None and before[1:] == (start, offset + before[0] - start, permissions):
            # A heap that grows step by step stays one row.
            self._intervals[index - 1] = (before[0], start + size, before[2], permissions)
        else:
            self._intervals.insert(index, (start, start + size, offset, permissions))
            self._starts.insert(index, start)
        self.mapped += size
        self._publish()

    def unmap(self, start: int, size: int) -> None:
        """Remove every mapping in the range; holes in it are no error."""
        self._cut(start, start + size)
        self._publish()

    def protect(self, start: int, size: int, permissions: int) -> bool:
        """Set permissions; False (and nothing done) if part of the range is not mapped."""
        end = start + size
        if size <= 0:
            return True
        if not self.is_mapped(start, size):
            return False
        self._split(start)
        self._split(end)
        index = bisect_right(self._starts, start) - 1
        while index < len(self._intervals) and self._intervals[index][0] < end:
            low, high, offset, _ = self._intervals[index]
            self._intervals[index] = (low, high, offset, permissions)
            index += 1
        self._publish()
        return True

    def is_mapped(self, start: int, size: int) -> bool:
        """Every byte of the range lies in some mapping."""
        address = start
        while address < start + size:
            row = self.find(address)
            if row is None:
                return False
            address = row[1]
        return True

    def is_free(self, start: int, size: int) -> bool:
        """No byte of the range lies in a mapping."""
        index = bisect_right(self._starts, start)
        if index and self._intervals[index - 1][1] > start:
            return False
        return index == len(self._starts) or self._starts[index] >= start + size

    def inside(self, start: int, size: int) -> list[tuple[int, int, int, int]]:
        """The mappings of which something lies in a range, ascending."""
        first = max(0, bisect_right(self._starts, start) - 1)
        last = bisect_right(self._starts, start + size - 1)
        return [row for row in self._intervals[first:last] if row[1] > start]

    def find(self, address: int) -> tuple[int, int, int, int] | None:
        """The mapping that holds an address."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._intervals[index][1]:
            return self._intervals[index]
        return None

    def read(self, address: int, size: int) -> bytes:
        """Bytes as the kernel would read them for the guest.

        Raises:
            MemoryFault: part of the range is not mapped or not readable.
        """
        return b"".join(
            self._map[offset : offset + n] for offset, n in self._parts(address, size, READ)
        )

    def read_some(self, address: int, size: int) -> bytes:
        """At most `size` bytes, as many as one mapping has from there on."""
        row = self.find(address)
        if row is None:
            return b""
        offset = row[2] + address - row[0]
        return self._map[offset : offset + min(size, row[1] - address)]

    def write(self, address: int, data: bytes, *, force: bool = False) -> None:
        """Store bytes; `force` ignores the write permission (loading a file).

        Raises:
            MemoryFault: part of the range is not mapped or not writable; nothing is stored.
        """
        parts = list(self._parts(address, len(data), 0 if force else WRITE))
        done = 0
        for offset, size in parts:
            self._map[offset : offset + size] = data[done : done + size]
            done += size

    def read_word(self, address: int, byte_order: str) -> int:
        """The unsigned 64-bit word at an address.

        Raises:
            MemoryFault: as `read`.
        """
        word: int = struct.unpack("<Q" if byte_order == "little" else ">Q", self.read(address, 8))[
            0
        ]
        return word

    def read_text(self, address: int, longest: int) -> bytes:
        """A zero-terminated string without its zero, at most `longest` bytes.

        Raises:
            MemoryFault: it is not readable up to its zero.
        """
        text = b""
        while len(text) < longest:
            row = self.find(address)
            if row is None or not row[3] & READ:
                raise MemoryFault(address, 1, "read")
            size = min(row[1] - address, longest - len(text), PAGE - address % PAGE)
            offset = row[2] + address - row[0]
            part = self._map[offset : offset + size]
            end = part.find(0)
            if end >= 0:
                return text + part[:end]
            text += part
            address += size
        return text

    def free_range(self, size: int, below: int) -> int:
        """The highest start below `below` with `size` bytes free, or 0."""
        end = below
        for start, stop, _, _ in reversed(self._intervals):
            if start >= end:
                continue
            if stop <= end - size:
                break
            end = min(end, start)
        return end - size if end - size >= PAGE * 16 else 0

    def _parts(self, address: int, size: int, need: int) -> Iterator[tuple[int, int]]:
        end = address + size
        start = address
        access = "write" if need & WRITE else "read"
        while start < end:
            row = self.find(start)
            if row is None or row[3] & need != need:
                raise MemoryFault(start, size, access)
            part = min(end, row[1]) - start
            yield row[2] + start - row[0], part
            start += part

    def _split(self, address: int) -> None:
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return
        start, end, offset, permissions = self._intervals[index]
        if start < address < end:
            self._intervals[index] = (start, address, offset, permissions)
            self._intervals.insert(index + 1, (address, end, offset + address - start, permissions))
            self._starts.insert(index + 1, address)

    def _cut(self, start: int, end: int) -> None:
        """Take a range out of the table and give its frames back."""
        if end <= start:
            return
        self._split(start)
        self._split(end)
        first = bisect_right(self._starts, start - 1)
        last = first
        while last < len(self._intervals) and self._intervals[last][0] < end:
            low, high, offset, _ = self._intervals[last]
            if not self.frames.is_lent(offset):
                self.frames.give_back(offset, high - low)
            self.mapped -= high - low
            last += 1
        del self._intervals[first:last]
        del self._starts[first:last]

    def _publish(self) -> None:
        """Write the intervals into the rows that compiled code reads."""
        count = len(self._intervals)
        if count > len(self._rows):
            self._rows = np.zeros((2 * count, 4), np.int64)
            self.header[ROWS] = self._rows.ctypes.data
        if count:
            self._rows[:count] = self._intervals
        else:
            self._rows[0] = 0
        self.header[COUNT] = count
        self.header[LAST] = 0
        self.header[CHANGES] += 1

    def rows(self) -> npt.NDArray[np.int64]:
        """The published table, shape (mappings, 4)."""
        return self._rows[: int(self.header[COUNT])]
