"""Calls about memory that stays mapped as it is (mm/madvise.c, mm/mlock.c, mm/mincore.c).

All memory is resident and nothing is swapped, so most of them have nothing to do.
"""

from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.file_memory import lies_in_file
from emu.linux.guest import Guest
from emu.linux.space import Space, whole_pages
from emu.memory import PAGE

MADV_DONTNEED, MADV_REMOVE = 4, 9
_ADVICE = frozenset((0, 1, 2, 3, 4, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23))
_MS_ASYNC, _MS_INVALIDATE, _MS_SYNC = 1, 2, 4
MEMBARRIER_COMMANDS = 1 | 8 | 16
"""Global, private expedited and its registration: with one thread nothing is to be done."""


class Advice:
    """What a program says of its memory, and asks of it.

    Args:
        guest: the memory.
        space: what is where.
    """

    def __init__(self, guest: Guest, space: Space) -> None:
        self._guest = guest
        self._memory = guest.memory
        self._space = space

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "madvise": (3, self.madvise), "msync": (3, self.msync),
            "mlock": (2, self.must_be_mapped), "munlock": (2, self.must_be_mapped),
            "mlock2": (3, self.mlock2), "mlockall": (1, self.mlockall),
            "munlockall": (0, lambda: 0), "mincore": (3, self.mincore),
            "membarrier": (2, self.membarrier),
        }  # fmt: skip

    def madvise(self, address: int, length: int, advice: int) -> int:
        """madvise(2): DONTNEED makes pages what they were at first, REMOVE a hole in the file."""
        size = whole_pages(length)
        advice = int32(advice)
        if address % PAGE or advice not in _ADVICE or address + size >> 63:
            raise CallError(Errno.EINVAL)
        if not self._memory.is_mapped(address, size):
            raise CallError(Errno.ENOMEM)
        if size and advice == MADV_DONTNEED:
            self._forget(address, size)
        elif size and advice == MADV_REMOVE:
            self._remove(address, size)
        return 0

    def _forget(self, address: int, size: int) -> None:
        self._guest.forget_code(address, size)
        for start, end, offset, _ in self._memory.inside(address, size):
            # What a file lends to its mapping is the file's.
            if not self._memory.frames.is_lent(offset):
                low, high = max(start, address), min(end, address + size)
                self._memory.buffer[offset + low - start : offset + high - start] = 0
        for mapping in self._space.mappings.inside(address, address + size):
            if not lies_in_file(mapping):
                self._space.files.fill(mapping)

    def _remove(self, address: int, size: int) -> None:
        mappings = self._space.mappings.inside(address, address + size)
        if sum(each.end - each.start for each in mappings) != size:
            raise CallError(Errno.EINVAL)
        for mapping in mappings:
            if not mapping.shared or not mapping.may_write or mapping.file.content is None:
                raise CallError(Errno.EACCES)
            mapping.file.content.clear(mapping.offset, mapping.end - mapping.start)

    def msync(self, address: int, length: int, flags: int) -> int:
        """msync(2): a file and its shared mappings are the same bytes already."""
        flags &= 0xFFFF_FFFF
        if (
            flags & ~(_MS_ASYNC | _MS_INVALIDATE | _MS_SYNC)
            or address % PAGE
            or flags & (_MS_ASYNC | _MS_SYNC) == _MS_ASYNC | _MS_SYNC
        ):
            raise CallError(Errno.EINVAL)
        return self.must_be_mapped(address, length)

    def mlock2(self, address: int, length: int, flags: int) -> int:
        """mlock2(2): MLOCK_ONFAULT is the only flag."""
        if int32(flags) & ~1:
            raise CallError(Errno.EINVAL)
        return self.must_be_mapped(address, length)

    def mlockall(self, flags: int) -> int:
        """mlockall(2): current, future, on fault; the last not alone."""
        flags = int32(flags)
        if not flags or flags & ~7 or flags == 4:
            raise CallError(Errno.EINVAL)
        return 0

    def must_be_mapped(self, address: int, length: int) -> int:
        """mlock(2), munlock(2): nothing to do for memory that exists."""
        start = address & -PAGE
        if not self._memory.is_mapped(start, whole_pages(address + length - start)):
            raise CallError(Errno.ENOMEM)
        return 0

    def mincore(self, address: int, length: int, result: int) -> int:
        """mincore(2): everything is resident."""
        if address % PAGE:
            raise CallError(Errno.EINVAL)
        size = whole_pages(length)
        if not self._memory.is_mapped(address, size):
            raise CallError(Errno.ENOMEM)
        self._guest.write(result, b"\1" * (size // PAGE))
        return 0

    def membarrier(self, command: int, flags: int) -> int:
        """membarrier(2) of a process with one thread."""
        if int32(command) == 0:
            return MEMBARRIER_COMMANDS
        if flags or int32(command) not in (1, 8, 16):
            raise CallError(Errno.EINVAL)
        return 0
