"""Memory as a file tells of it: exactly the bytes that are stored, wherever they begin."""

from bisect import bisect_right

from emu.errors import MemoryFault
from emu.memory import READ, WRITE, Memory

USER_END = 1 << 62
"""Beyond it nothing can be looked up; Linux keeps no stack there."""


class StoredMemory(Memory):
    """An address space of stored parts; a read of anything else faults.

    Unlike mappings, parts need not fill pages: a copy of a stack ends where it was cut.

    Args:
        limit: most bytes that may be stored.
    """

    def store(self, address: int, data: bytes, permissions: int = READ | WRITE) -> None:
        """Add a part; `seal` makes it visible to compiled code.

        Raises:
            MemoryFault: over the limit, beyond `USER_END`, or over an earlier part.
        """
        end = address + len(data)
        index = bisect_right(self._starts, address)
        if not data or address < 0 or end > USER_END:
            raise MemoryFault(address, len(data), "storing")
        if index and self._intervals[index - 1][1] > address:
            raise MemoryFault(address, len(data), "storing over an earlier part")
        if index < len(self._starts) and self._starts[index] < end:
            raise MemoryFault(address, len(data), "storing over a later part")
        if self.mapped + len(data) > self.limit:
            raise MemoryFault(address, len(data), f"storing beyond {self.limit} bytes")
        # Parts share pages of the buffer: a file of many tiny ones takes no more than it has.
        offset = self.frames.take(-(-len(data) // 8) * 8)
        self.frames.view(offset, len(data))[:] = data
        self._intervals.insert(index, (address, end, offset, permissions))
        self._starts.insert(index, address)
        self.mapped += len(data)

    def seal(self) -> None:
        """All parts are there."""
        self._publish()
