"""Which file is mapped where: what /proc/PID/maps tells a profiler (mm/mmap.c, vm_area_struct)."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

from emu.image import PT_LOAD, Image, Segment
from emu.linux.vfs.content import Content
from emu.machine.loader import Loaded
from emu.memory import EXECUTE, PAGE


class MappedFile(Protocol):
    """A file that can be mapped."""

    @property
    def path(self) -> bytes:
        """The guest's name of it."""

    @property
    def number(self) -> int:
        """Inode."""

    @property
    def device(self) -> int:
        """st_dev of its file system."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def content(self) -> Content | None:
        """Where its bytes change; None: they do not."""

    @property
    def in_memory(self) -> bool:
        """All of it exists in memory only, and takes from the budget of files."""

    def read(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from an offset on; fewer at the end of the file."""

    def data(self) -> bytes:
        """All of its bytes."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """Memory [start, end) that holds a file's bytes from `offset` on; page-aligned numbers."""

    start: int
    end: int
    offset: int
    permissions: int
    file: MappedFile
    shared: bool = False
    may_write: bool = False
    """Of a shared one: it was made through a descriptor that may write (VM_MAYWRITE)."""

    @property
    def behind_file(self) -> int:
        """Address of the first page that begins behind the end of the file, or `start`."""
        return self.start + max(0, self.file.size - self.offset + PAGE - 1 & -PAGE)

    def part(self, start: int, end: int) -> "Mapping":
        """What of it lies in [start, end), which must not be empty."""
        low, high = max(start, self.start), min(end, self.end)
        return replace(self, start=low, end=high, offset=self.offset + low - self.start)


class Mappings:
    """The file mappings of one process, by address.

    `changed` is called behind each change of what is executable.
    """

    def __init__(self) -> None:
        self._all: list[Mapping] = []
        self.changed: Callable[[], None] | None = None

    def __iter__(self) -> Iterator[Mapping]:
        return iter(self._all)

    def find(self, address: int) -> Mapping | None:
        """The mapping that holds an address."""
        index = bisect_right(self._all, address, key=lambda each: each.start) - 1
        if index >= 0 and address < self._all[index].end:
            return self._all[index]
        return None

    def add(self, *mappings: Mapping) -> None:
        """Map files, in place of whatever was there."""
        executable = False
        for mapping in mappings:
            executable |= self._cut(mapping.start, mapping.end)
            executable |= bool(mapping.permissions & EXECUTE)
            index = bisect_right(self._all, mapping.start, key=lambda each: each.start)
            self._all.insert(index, mapping)
        if executable:
            self._tell()

    def remove(self, start: int, end: int) -> None:
        """No file is mapped in [start, end) any more."""
        if self._cut(start, end):
            self._tell()

    def protect(self, start: int, end: int, permissions: int) -> None:
        """Memory [start, end) has other permissions."""
        parts = [replace(each, permissions=permissions) for each in self.inside(start, end)]
        if any(old.permissions != permissions for old in self.inside(start, end)):
            self.add(*parts)

    def move(self, start: int, end: int, target: int) -> None:
        """The mappings in [start, end) are at `target` now."""
        moved = [
            replace(each, start=each.start - start + target, end=each.end - start + target)
            for each in self.inside(start, end)
        ]
        self.remove(start, end)
        self.add(*moved)

    def inside(self, start: int, end: int) -> list[Mapping]:
        """What of each mapping lies in [start, end)."""
        first = max(0, bisect_right(self._all, start, key=lambda each: each.start) - 1)
        found = []
        for each in self._all[first:]:
            if each.start >= end:
                break
            if each.end > start:
                found.append(each.part(start, end))
        return found

    def _cut(self, start: int, end: int) -> bool:
        """Take a range out; whether some of it was executable."""
        first = max(0, bisect_right(self._all, start, key=lambda each: each.start) - 1)
        kept: list[Mapping] = []
        executable = False
        last = first
        for each in self._all[first:]:
            if each.start >= end:
                break
            last += 1
            if each.end <= start:
                kept.append(each)
                continue
            executable |= bool(each.permissions & EXECUTE)
            if each.start < start:
                kept.append(each.part(each.start, start))
            if end < each.end:
                kept.append(each.part(end, each.end))
        self._all[first:last] = kept
        return executable

    def _tell(self) -> None:
        if self.changed is not None:
            self.changed()


def file_mappings(image: Image, loaded: Loaded, file: MappedFile) -> list[Mapping]:
    """The mappings of a program that the kernel itself has loaded; not those of its bss."""
    segments = [s for s in image.segments if s.kind == PT_LOAD and s.memsz]
    return [
        Mapping(
            start, min(end, segment.vaddr + segment.filesz + loaded.bias + PAGE - 1 & -PAGE),
            segment.offset & -PAGE, allowed, file,
        )
        for segment, (start, end, allowed) in zip(segments, loaded.ranges, strict=True)
        if segment.filesz
    ]  # fmt: skip


def segment_at(image: Image, offset: int) -> Segment | None:
    """The segment that a mapping from this offset in the file begins with."""
    for segment in image.segments:
        if segment.kind != PT_LOAD:
            continue
        low = segment.offset & -PAGE
        if low <= offset < max(low + PAGE, segment.offset + segment.filesz):
            return segment
    return None
