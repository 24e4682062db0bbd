"""mremap(2): mappings that grow, shrink and move (mm/mremap.c)."""

from dataclasses import replace

from emu.linux.calls import CallError, CallTable, Errno
from emu.linux.file_memory import lies_in_file
from emu.linux.guest import Guest
from emu.linux.mappings import Mapping
from emu.linux.space import Space, whole_pages
from emu.memory import PAGE

MREMAP_MAYMOVE, MREMAP_FIXED = 1, 2


class Remapping:
    """Moves mappings.

    Args:
        guest: the memory.
        space: what is where.
    """

    def __init__(self, guest: Guest, space: Space) -> None:
        self._memory = guest.memory
        self._space = space

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {"mremap": (5, self.mremap)}

    def mremap(self, old: int, old_length: int, new_length: int, flags: int, target: int) -> int:
        """mremap(2), without duplication and MREMAP_DONTUNMAP."""
        space = self._space
        old_size, new_size = whole_pages(old_length), whole_pages(new_length)
        if (
            old % PAGE
            or not old_size
            or not new_size
            or new_size > space.end
            or flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)
            or flags & 3 == MREMAP_FIXED
        ):
            raise CallError(Errno.EINVAL)
        if not self._memory.is_mapped(old, old_size):
            raise CallError(Errno.EFAULT)
        if flags & MREMAP_FIXED:
            space.check_fixed(target, new_size)
            if target < old + old_size and old < target + new_size:
                raise CallError(Errno.EINVAL)
            return self._move(old, old_size, new_size, target)
        if new_size <= old_size:
            if new_size < old_size:
                space.unmap(old + new_size, old_size - new_size)
            return old
        end, more = old + old_size, new_size - old_size
        if space.may_follow(end, more):
            if not space.fits(end, more):
                raise CallError(Errno.ENOMEM)
            mapping = space.mappings.find(end - 1)
            space.map(end, more, self._permissions(mapping, end - 1))
            self._continue(mapping, end, more)
            return old
        if not flags & MREMAP_MAYMOVE:
            raise CallError(Errno.ENOMEM)
        return self._move(old, old_size, new_size, space.place(0, new_size))

    def _permissions(self, mapping: Mapping | None, address: int) -> int:
        """Of the mapping that grows; a page behind its file has others."""
        if mapping is not None:
            return mapping.permissions
        row = self._memory.find(address)
        return row[3] if row else 0

    def _continue(self, mapping: Mapping | None, address: int, size: int) -> None:
        """A mapping has grown by fresh memory: of a file, it goes on in the file."""
        if mapping is not None:
            offset = mapping.offset + address - mapping.start
            self._space.show(replace(mapping, start=address, end=address + size, offset=offset))

    def _move(self, old: int, old_size: int, new_size: int, target: int) -> int:
        space, kept = self._space, min(old_size, new_size)
        if not space.fits(target, new_size):
            raise CallError(Errno.ENOMEM)
        source = self._memory.inside(old, kept)
        last = space.mappings.find(old + old_size - 1)
        space.map(target, new_size, self._permissions(last, old + old_size - 1))
        for start, end, offset, allowed in source:
            low, high = max(start, old), min(end, old + kept)
            self._copy(offset + low - start, target + low - old, high - low)
            self._memory.protect(target + low - old, high - low, allowed)
        space.mappings.move(old, old + kept, target)
        for moved in space.mappings.inside(target, target + kept):
            if lies_in_file(moved):
                space.files.fill(moved)
        if new_size > old_size and last is not None:
            shifted = replace(last, start=last.start - old + target)
            self._continue(shifted, target + old_size, new_size - old_size)
        space.unmap(old, old_size)
        return target

    def _copy(self, source: int, target: int, size: int) -> None:
        """Copy inside the host buffer: the pages may be such as the guest cannot read."""
        row = self._memory.find(target)
        assert row is not None
        place = row[2] + target - row[0]
        self._memory.buffer[place : place + size] = self._memory.buffer[source : source + size]
