"""What mappings of files hold (mm/filemap.c, mm/memory.c, mmap(2)).

A shared mapping through a descriptor that may write shows the frames in which the file keeps
these pages (Content.share), so the guest's stores, read(2), write(2) and every other such
mapping always agree, and msync(2) has nothing to do. The frames count against the budget
of the file system. All other mappings are copies: a private one of what the file holds when
it is mapped, and so is a shared one that only reads a file of the host, since nothing can
change that through a mapping. What write(2) changes later does not come into a copy.

Pages that begin behind the end of the file cannot be accessed (SIGBUS), and follow the end
when that moves.
"""

from emu.linux.calls import CallError
from emu.linux.guest import Guest
from emu.linux.mappings import Mapping, Mappings
from emu.linux.vfs.content import Content
from emu.memory import PAGE

_PART = 1 << 20
"""Bytes of a file that are copied at a time."""


class FileMemory:
    """The bytes of files that are mapped.

    Args:
        guest: the memory, and the engine to tell of changes.
        mappings: which file is where.
    """

    def __init__(self, guest: Guest, mappings: Mappings) -> None:
        self._guest = guest
        self._memory = guest.memory
        self._mappings = mappings

    def add(self, mapping: Mapping) -> None:
        """Map a file over fresh memory of the mapping's permissions.

        Raises:
            CallError: ENOMEM, EIO, EACCES; the memory stays as it was.
        """
        self.fill(mapping)
        self._mappings.add(mapping)
        if mapping.file.content is not None:
            mapping.file.content.resized = self._resized

    def fill(self, mapping: Mapping) -> None:
        """Give the pages what the file holds, and close those behind its end."""
        end = min(mapping.end, mapping.behind_file)
        if end > mapping.start:
            self._fill(mapping.part(mapping.start, end))
        self.close_behind(mapping)

    def _fill(self, mapping: Mapping) -> None:
        """Of pages that all begin before the end of the file."""
        content = mapping.file.content
        if content is not None and lies_in_file(mapping):
            place = mapping.start
            for frame, size in content.share(
                mapping.offset, mapping.end - mapping.start, self._memory.frames
            ):
                self._memory.map(place, size, mapping.permissions, frame)
                place += size
            self._guest.translations.flush_tlb()
            return
        held = min(mapping.end - mapping.start, mapping.file.size - mapping.offset)
        for at in range(0, held, _PART):
            part = mapping.file.read(mapping.offset + at, min(_PART, held - at))
            self._memory.write(mapping.start + at, part, force=True)

    def close_behind(self, mapping: Mapping) -> None:
        """Pages behind the end of a file cannot be accessed."""
        first = max(mapping.start, mapping.behind_file)
        if first < mapping.end:
            self._memory.protect(first, mapping.end - first, 0)

    def _resized(self, content: Content, old: int) -> None:
        """The end of a file has moved: open pages before it, close pages behind it."""
        before, now = -(-old // PAGE), -(-content.size // PAGE)
        if before == now:
            return
        for mapping in list(self._mappings):
            if mapping.file.content is not content:
                continue
            self.close_behind(mapping)
            first = max(mapping.start, mapping.start + before * PAGE - mapping.offset)
            end = min(mapping.end, mapping.behind_file)
            if first < end:
                self._open(mapping.part(first, end))
        self._guest.translations.flush_tlb()

    def _open(self, mapping: Mapping) -> None:
        size = mapping.end - mapping.start
        self._memory.protect(mapping.start, size, mapping.permissions)
        try:
            self._fill(mapping)
        except CallError:
            # As a page that cannot be had when it is touched: SIGBUS.
            self._memory.protect(mapping.start, size, 0)


def lies_in_file(mapping: Mapping) -> bool:
    """The mapping shows the file's own pages, not a copy."""
    return mapping.shared and (mapping.may_write or mapping.file.in_memory)
