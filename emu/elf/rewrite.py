"""A .sframe table put into a linked ELF64 file, in the place of one that may be there.

Nothing that the file has is moved, since code and data refer to it. The table goes to the end
of the file and of the address space of the file, into a loadable segment of its own, and takes
the program headers along, which have no room to grow where they are:

    | the file as it was | zeros | program headers | .sframe || names of sections | section headers
                                 |<------- new PT_LOAD ----->|
                                             |<PT_GNU_SFRAME>|

Loaders find the headers in one of two ways: in the segment that holds e_phoff, or at the first
segment's address plus e_phoff (Linux before 5.18, emulators). The new segment has the distance
between address and offset that the first one has, so both are right; what bss lies between is
zeros in the file.

Writers of ELF files in general move what they find: some place the headers on the bss, some in
a gap where not every loader looks. (gABI chapters 4 and 5; SFrame specification, "SFrame
section"; binutils' include/elf/common.h.)
"""

import struct
from dataclasses import dataclass

from emu.elf.headers import Headers, read_headers
from emu.elf.layout import (
    HEADER,
    PF_R,
    PT_LOAD,
    SECTION,
    SECTION_SIZE,
    SEGMENT,
    SEGMENT_SIZE,
    SHF_ALLOC,
    SHN_LORESERVE,
    SHT_RELA,
    fail,
)
from emu.errors import ImageError

SHT_GNU_SFRAME = 0x6FFF_FFF4
PT_GNU_SFRAME = 0x6474_E554
PT_PHDR = 6
SHT_REL = 9
SECTION_NAME = ".sframe"

_PAGE, _LARGEST_PAGE = 1 << 12, 1 << 16
_ALIGNMENT = 8
"""Of the table and the headers."""
LARGEST_GROWTH = 1 << 28
"""Bytes of zeros that may lie between the file as it was and the table."""
_MOST_SEGMENTS = 0xFFF0


def _up(value: int, alignment: int) -> int:
    return (value + alignment - 1) & -alignment


@dataclass(frozen=True, slots=True)
class Room:
    """Where a table will be; made by `find_room`."""

    path: str
    data: bytes
    headers: Headers
    address: int
    """Link-time address of the table."""
    segment_address: int
    segment_offset: int
    page: int
    """Alignment of the new segment."""

    @property
    def _table_offset(self) -> int:
        return self.segment_offset + self.address - self.segment_address

    def fill(self, table: bytes) -> bytes:
        """The file with the table in it.

        Raises:
            ImageError: the result would not be a file that can be read.
        """
        mark = "<" if self.headers.byte_order == "little" else ">"
        body = bytearray(self.data)
        body += bytes(self.segment_offset - len(body))
        body += self._segments(mark, len(table))
        body += bytes(self._table_offset - len(body))
        body += table
        names, rows = self._sections(mark, len(table), len(body))
        body += names
        body += bytes(-len(body) % _ALIGNMENT)
        fields = list(struct.unpack_from(mark + HEADER, self.data, 16))
        # e_phoff, e_shoff, e_phnum, e_shnum.
        fields[4], fields[5], fields[9], fields[11] = (
            self.segment_offset, len(body), self._phnum(), len(rows),
        )  # fmt: skip
        struct.pack_into(mark + HEADER, body, 16, *fields)
        body += b"".join(struct.pack(mark + SECTION, *row) for row in rows)
        made = bytes(body)
        read_headers(self.path, made)
        return made

    def _phnum(self) -> int:
        kinds = [segment.kind for segment in self.headers.segments]
        return len(kinds) - kinds.count(PT_GNU_SFRAME) + 2

    def _segments(self, mark: str, size: int) -> bytes:
        """The program headers: the old ones, the new segment, and one over the table."""
        count = len(self.headers.segments)
        raw = self.data[self.headers.phoff : self.headers.phoff + count * SEGMENT_SIZE]
        rows = [row for row in struct.iter_unpack(mark + SEGMENT, raw) if row[0] != PT_GNU_SFRAME]
        at, low = self.segment_offset, self.segment_address
        whole = self.address + size - low
        own = (PT_LOAD, PF_R, at, low, low, whole, whole, self.page)
        # Loadable segments ascend by address, and the new one is above all others.
        last = max(number for number, row in enumerate(rows) if row[0] == PT_LOAD)
        rows.insert(last + 1, own)
        rows.append(
            (PT_GNU_SFRAME, PF_R, self._table_offset, self.address, self.address, size, size,
             _ALIGNMENT)
        )  # fmt: skip
        length = len(rows) * SEGMENT_SIZE
        return b"".join(
            struct.pack(
                mark + SEGMENT,
                *((*row[:2], at, low, low, length, length, row[7]) if row[0] == PT_PHDR else row),
            )
            for row in rows
        )

    def _sections(self, mark: str, size: int, end: int) -> tuple[bytes, list[tuple[int, ...]]]:
        """Names to append at offset `end`, and the section headers.

        The header of an old table is the header of the new one, so that no index changes;
        further ones, and relocations kept for it, become inactive.
        """
        headers = self.headers
        fields = struct.unpack_from(mark + HEADER, self.data, 16)
        shoff, shstrndx = fields[5], fields[12]
        count = len(headers.sections)
        raw = self.data[shoff : shoff + count * SECTION_SIZE]
        rows = list(struct.iter_unpack(mark + SECTION, raw))
        old = [s.index for s in headers.sections if s.name == SECTION_NAME]
        names = b""
        if old:
            name = rows[old[0]][0]
        else:
            start, length = rows[shstrndx][4:6]
            name = length
            names = self.data[start : start + length] + SECTION_NAME.encode() + b"\0"
            rows[shstrndx] = (*rows[shstrndx][:4], end, len(names), *rows[shstrndx][6:])
            old = [len(rows)]
            rows.append(())
        rows[old[0]] = (
            name, SHT_GNU_SFRAME, SHF_ALLOC, self.address, self._table_offset, size, 0, 0,
            _ALIGNMENT, 0,
        )  # fmt: skip
        for number, row in enumerate(rows):
            about_old = row[1] in (SHT_RELA, SHT_REL) and row[7] in old
            if number in old[1:] or (about_old and not row[2] & SHF_ALLOC):
                rows[number] = (0,) * 10
        return names, rows


def find_room(path: str, data: bytes) -> Room:
    """Where a table can be put into the linked file `data`.

    Raises:
        ImageError: it is no ELF64 file, damaged, relocatable, or has no room.
    """
    headers = read_headers(path, data)
    if headers.kind == "rel":
        raise ImageError(f"{path}: a relocatable object has no place for a linked table")
    loads = [segment for segment in headers.segments if segment.kind == PT_LOAD]
    if not loads:
        fail(path, 56, "no segment to load")
    if not headers.sections:
        fail(path, 60, "no section headers")
    if len(headers.sections) + 1 >= SHN_LORESERVE or len(headers.segments) + 2 >= _MOST_SEGMENTS:
        fail(path, 56, "too many headers to add to")
    mark = "<" if headers.byte_order == "little" else ">"
    if not 0 < struct.unpack_from(mark + HEADER, data, 16)[12] < len(headers.sections):
        fail(path, 62, "no table of section names")
    first = min(loads, key=lambda segment: segment.vaddr)
    distance = first.vaddr - first.offset
    top = max(segment.vaddr + segment.memsz for segment in loads)
    page = _page(max(segment.align for segment in loads))
    if distance % page:
        page = _PAGE
    if distance % page:
        fail(path, headers.phoff, "address and offset of the first segment differ in a page")
    offset = max(_up(len(data), page), _up(top, page) - distance)
    if offset - len(data) > LARGEST_GROWTH or offset + distance >= 1 << 63:
        text = f"the table would lie {offset - len(data):#x} bytes behind the end of the file"
        fail(path, headers.phoff, text)
    kept = [segment for segment in headers.segments if segment.kind != PT_GNU_SFRAME]
    low = offset + distance
    address = _up(low + (len(kept) + 2) * SEGMENT_SIZE, _ALIGNMENT)
    return Room(path, data, headers, address, low, offset, page)


def _page(alignment: int) -> int:
    """A power of two that keeps segments apart on every page size that the file is made for."""
    if alignment & (alignment - 1):
        return _PAGE
    return min(max(alignment, _PAGE), _LARGEST_PAGE)
