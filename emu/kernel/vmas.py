"""Mappings as the kernel sees them: vm_area_struct, looked up by address."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from emu.linux.mappings import MappedFile, Mapping, Mappings
from emu.memory import EXECUTE, Memory


@dataclass(frozen=True, slots=True)
class Vma:
    """Memory [start, end) of one kind."""

    start: int
    end: int
    permissions: int
    file: MappedFile | None

    @property
    def executable(self) -> bool:
        """VM_EXEC."""
        return bool(self.permissions & EXECUTE)

    def maps_same(self, other: "Vma") -> bool:
        """vm_file of both is the same file, or neither has one."""
        return _key(self.file) == _key(other.file)


def _key(file: MappedFile | None) -> tuple[bytes, int, int] | None:
    return None if file is None else (file.path, file.device, file.number)


class Vmas:
    """The areas of one process.

    Args:
        memory: what is mapped.
        mappings: which of it are files.
    """

    def __init__(self, memory: Memory, mappings: Mappings) -> None:
        self._memory = memory
        self._mappings = mappings

    def __iter__(self) -> Iterator[Vma]:
        """All, ascending; neighbours that are alike are one (vma_merge)."""
        last: Vma | None = None
        offset = 0
        for each, position in self._pieces():
            joins = (
                last is not None
                and last.end == each.start
                and last.permissions == each.permissions
                and last.maps_same(each)
                and (each.file is None or position == offset)
            )
            if last is not None and joins:
                last = Vma(last.start, each.end, each.permissions, each.file)
            else:
                if last is not None:
                    yield last
                last = each
            offset = position + each.end - each.start
        if last is not None:
            yield last

    def find(self, address: int) -> Vma | None:
        """vma_lookup: the area that an address is in."""
        return next((vma for vma in self if vma.start <= address < vma.end), None)

    def _pieces(self) -> Iterator[tuple[Vma, int]]:
        """Parts of memory with one file or none, and their offset in it."""
        files = sorted(self._mappings, key=attrgetter("start"))
        number = 0
        for start, end, _, allowed in self._memory.intervals:
            while number < len(files) and files[number].end <= start:
                number += 1
            at = number
            while start < end:
                mapping: Mapping | None = files[at] if at < len(files) else None
                if mapping is None or mapping.start >= end:
                    yield Vma(start, end, allowed, None), 0
                    break
                if start < mapping.start:
                    yield Vma(start, mapping.start, allowed, None), 0
                    start = mapping.start
                last = min(end, mapping.end)
                part = mapping.part(start, last)
                yield Vma(start, last, allowed, part.file), part.offset
                start = last
                at += 1
