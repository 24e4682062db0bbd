"""Headers of an ELF64 file: read, and checked against the length of the file.

Whatever is wrong raises with the offset of the field that says so. Behind these checks every
segment and every section lies in the file and every symbol table has its string table.
"""

import struct
from dataclasses import dataclass
from typing import NoReturn

from arch import ByteOrder
from emu.elf.layout import (
    HEADER,
    HEADER_SIZE,
    KINDS,
    MAGIC,
    NT_GNU_BUILD_ID,
    PN_XNUM,
    PT_INTERP,
    PT_LOAD,
    PT_NOTE,
    SECTION,
    SECTION_SIZE,
    SEGMENT,
    SEGMENT_SIZE,
    SHN_UNDEF,
    SHN_XINDEX,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_NULL,
    SHT_STRTAB,
    SHT_SYMTAB,
    SYMBOL_SIZE,
    ImageKind,
    Section,
    Segment,
    fail,
)
from emu.elf.strings import Strings


@dataclass(frozen=True, slots=True)
class Headers:
    """What the headers say; the fields are those of `emu.image.Image`."""

    machine: int
    byte_order: ByteOrder
    kind: ImageKind
    entry: int
    phoff: int
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]
    interp: str | None
    build_id: bytes


def read_headers(path: str, data: bytes) -> Headers:
    """Read the headers of the file `data`; `path` only names it.

    Raises:
        ImageError: it is no ELF64 file or damaged.
    """
    return _Reader(path, data).headers()


class _Reader:
    """The checks on one file, in the order in which later ones rely on earlier ones."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.byte_order: ByteOrder = "little"
        self.mark = "<"

    def headers(self) -> Headers:
        data = self.data
        if data[:4] != MAGIC[: len(data)] or len(data) < 4:
            self.fail(0, "not an ELF file")
        if len(data) < 16:
            self.fail(len(data), "the file ends inside the ELF identification")
        if data[4] != 2:
            self.fail(4, f"ELF class {data[4]}, not 2 (64 bit)")
        if data[5] not in (1, 2):
            self.fail(5, f"unknown byte order {data[5]}")
        if data[5] == 2:
            self.byte_order, self.mark = "big", ">"
        if len(data) < HEADER_SIZE:
            self.fail(len(data), "the file ends inside the ELF header")
        (kind, machine, _, entry, phoff, shoff, _, _, phentsize, phnum, shentsize, shnum,
         shstrndx) = struct.unpack_from(self.mark + HEADER, data, 16)  # fmt: skip
        if kind not in KINDS:
            self.fail(16, f"ELF type {kind}: no relocatable file, program or library")
        rows = self.section_headers(shoff, shentsize, shnum)
        if phnum == PN_XNUM and rows:
            phnum = rows[0][7]
        if shstrndx == SHN_XINDEX and rows:
            shstrndx = rows[0][6]
        segments = self.segments(phoff, phentsize, phnum)
        sections = self.sections(rows, shoff, shstrndx)
        self.check_symbols(sections, shoff)
        return Headers(
            machine=machine,
            byte_order=self.byte_order,
            kind=KINDS[kind],
            entry=entry,
            phoff=phoff,
            segments=segments,
            sections=sections,
            interp=self.interp(segments, sections),
            build_id=self.build_id(segments, sections),
        )

    def fail(self, offset: int, reason: str) -> NoReturn:
        fail(self.path, offset, reason)

    def inside(self, offset: int, size: int) -> bool:
        return offset + size <= len(self.data)

    def section_headers(self, shoff: int, entsize: int, count: int) -> list[tuple[int, ...]]:
        """Fields of each header as stored, name offset first."""
        if shoff == 0 and count == 0:
            return []
        if entsize != SECTION_SIZE:
            self.fail(58, f"e_shentsize {entsize}, not {SECTION_SIZE}")
        if shoff < HEADER_SIZE or not self.inside(shoff, SECTION_SIZE):
            self.fail(40, f"section headers at {shoff:#x}, the file has {len(self.data)} bytes")
        if count == 0:
            # gABI: a count that does not fit stands in sh_size of the first header.
            count = struct.unpack_from(self.mark + SECTION, self.data, shoff)[5]
        if not self.inside(shoff, count * SECTION_SIZE):
            self.fail(60, f"{count} section headers at {shoff:#x} reach past the end of the file")
        end = shoff + count * SECTION_SIZE
        return list(struct.iter_unpack(self.mark + SECTION, self.data[shoff:end]))

    def segments(self, phoff: int, entsize: int, count: int) -> tuple[Segment, ...]:
        if count == 0:
            return ()
        if entsize != SEGMENT_SIZE:
            self.fail(54, f"e_phentsize {entsize}, not {SEGMENT_SIZE}")
        if phoff < HEADER_SIZE or not self.inside(phoff, count * SEGMENT_SIZE):
            self.fail(32, f"{count} program headers at {phoff:#x} are not all in the file")
        segments = []
        raw = self.data[phoff : phoff + count * SEGMENT_SIZE]
        for number, row in enumerate(struct.iter_unpack(self.mark + SEGMENT, raw)):
            kind, flags, offset, vaddr, _, filesz, memsz, align = row
            where = phoff + number * SEGMENT_SIZE
            if filesz and not self.inside(offset, filesz):
                self.fail(where + 8, f"segment {number} reaches past the end of the file")
            if kind == PT_LOAD and (filesz > memsz or vaddr + memsz > 1 << 64):
                self.fail(where + 40, f"segment {number} has an impossible size")
            segments.append(Segment(vaddr, offset, filesz, memsz, flags, align, kind))
        return tuple(segments)

    def sections(
        self, rows: list[tuple[int, ...]], shoff: int, shstrndx: int
    ) -> tuple[Section, ...]:
        for number, row in enumerate(rows):
            kind, offset, size = row[1], row[4], row[5]
            # The first header is no section; its size may hold e_shnum.
            if number and kind not in (SHT_NULL, SHT_NOBITS) and not self.inside(offset, size):
                where = shoff + number * SECTION_SIZE + 24
                self.fail(where, f"section {number} reaches past the end of the file")
        names = Strings(b"")
        if rows and shstrndx != SHN_UNDEF:
            if shstrndx >= len(rows) or rows[shstrndx][1] != SHT_STRTAB:
                self.fail(62, f"e_shstrndx {shstrndx} is no string table")
            offset, size = rows[shstrndx][4:6]
            names = Strings(self.data[offset : offset + size])
        sections = []
        for number, row in enumerate(rows):
            name, kind, flags, addr, offset, size, link, info, align, entsize = row
            # Index 0 is no section, and of an inactive header nothing but its type means anything.
            named = number and kind != SHT_NULL and shstrndx != SHN_UNDEF
            try:
                text = names.checked(name) if named else ""
            except ValueError as error:
                self.fail(shoff + number * SECTION_SIZE, f"name of section {number}: {error}")
            sections.append(
                Section(number, text, kind, flags, addr, offset, size, link, info, entsize, align)
            )
        return tuple(sections)

    def check_symbols(self, sections: tuple[Section, ...], shoff: int) -> None:
        """Size and string table of each symbol table."""
        for section in sections:
            if section.kind not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            where = shoff + section.index * SECTION_SIZE
            if section.size % SYMBOL_SIZE:
                self.fail(where + 32, f"{section.name}: {section.size} bytes of symbols")
            if section.link >= len(sections) or sections[section.link].kind != SHT_STRTAB:
                self.fail(where + 40, f"{section.name}: no string table {section.link}")

    def interp(self, segments: tuple[Segment, ...], sections: tuple[Section, ...]) -> str | None:
        # A separate debug file has the program headers of its program, but not what they mean.
        if any(s.name == ".interp" and s.kind == SHT_NOBITS for s in sections):
            return None
        for segment in segments:
            if segment.kind == PT_INTERP:
                raw = self.data[segment.offset : segment.offset + segment.filesz]
                if not raw.endswith(b"\0") or len(raw) > 4096:
                    self.fail(segment.offset, "the name of the interpreter has no end")
                return raw.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
        return None

    def build_id(self, segments: tuple[Segment, ...], sections: tuple[Section, ...]) -> bytes:
        """The note of that type, from a segment or, in a relocatable file, a section.

        A note that overruns its area ends the search: the file can be used without one.
        """
        areas = [(s.offset, s.filesz) for s in segments if s.kind == PT_NOTE]
        areas += [(s.offset, s.size) for s in sections if s.name == ".note.gnu.build-id"]
        for start, size in areas[:64]:
            at, end = start, min(start + size, len(self.data))
            while at + 12 <= end:
                name_size, size, kind = struct.unpack_from(self.mark + "III", self.data, at)
                content = at + 12 + (name_size + 3 & ~3)
                if content + size > end:
                    break
                if kind == NT_GNU_BUILD_ID and self.data[at + 12 : at + 16] == b"GNU\0":
                    return self.data[content : content + size]
                at = content + (size + 3 & ~3)
        return b""
