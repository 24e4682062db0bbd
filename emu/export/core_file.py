"""An ELF core as stored: its segments and notes, checked against the length of the file."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from arch import Arch, ByteOrder, by_elf
from emu.elf.layout import (
    HEADER,
    HEADER_SIZE,
    MAGIC,
    PN_XNUM,
    PT_LOAD,
    PT_NOTE,
    SECTION,
    SECTION_SIZE,
    SEGMENT,
    SEGMENT_SIZE,
    Segment,
    fail,
)
from emu.export.core import ET_CORE

_NOTE = 12


@dataclass(frozen=True, slots=True)
class Note:
    """A note; `offset` is where its content is in the file."""

    owner: bytes
    type: int
    offset: int
    content: bytes


@dataclass(frozen=True, slots=True)
class CoreFile:
    """What the headers say.

    Args:
        path: of the file.
        data: all of its bytes.
        arch: the machine.
        loads: PT_LOAD headers in the order of the file; what they store lies in it.
        notes: in the order of the file.
    """

    path: str
    data: bytes
    arch: Arch
    loads: tuple[Segment, ...]
    notes: tuple[Note, ...]

    def stored(self, load: Segment) -> bytes:
        """The bytes of a segment that are in the file."""
        return self.data[load.offset : load.offset + load.filesz]


def parse_core(path: str, data: bytes) -> CoreFile:
    """Read the headers of a core; `path` only names it.

    Raises:
        ImageError: it is no ELF64 core of a machine that is known here, or damaged.
    """
    if data[:4] != MAGIC or len(data) < HEADER_SIZE:
        fail(path, 0, "not an ELF file, or one without a whole header")
    if data[4] != 2 or data[5] not in (1, 2):
        fail(path, 4, f"ELF class {data[4]}, byte order {data[5]}: not an ELF64 file")
    byte_order: ByteOrder = "little" if data[5] == 1 else "big"
    order = "<" if data[5] == 1 else ">"
    kind, machine, _, _, phoff, shoff, _, _, phentsize, phnum, *_ = struct.unpack_from(
        order + HEADER, data, 16
    )
    if kind != ET_CORE:
        fail(path, 16, f"ELF type {kind}, not a core")
    arch = by_elf(machine, byte_order)
    if arch is None:
        fail(path, 18, f"machine {machine}, {byte_order} endian: not supported")
    if phnum == PN_XNUM:
        if shoff < HEADER_SIZE or shoff + SECTION_SIZE > len(data):
            fail(path, 40, "the section header with the number of segments is not in the file")
        phnum = struct.unpack_from(order + SECTION, data, shoff)[7]
    if phnum and phentsize != SEGMENT_SIZE:
        fail(path, 54, f"e_phentsize {phentsize}, not {SEGMENT_SIZE}")
    if phoff + phnum * SEGMENT_SIZE > len(data):
        fail(path, 32, f"{phnum} program headers at {phoff:#x} are not all in the file")
    loads: list[Segment] = []
    notes: list[Note] = []
    total = 0
    for number in range(phnum):
        where = phoff + number * SEGMENT_SIZE
        p_type, flags, offset, vaddr, _, filesz, memsz, align = struct.unpack_from(
            order + SEGMENT, data, where
        )
        if p_type not in (PT_LOAD, PT_NOTE):
            continue
        if filesz and offset + filesz > len(data):
            fail(path, where + 8, f"segment {number} reaches past the end of the file: cut off?")
        # Bytes that many segments share would be read again for each.
        total += filesz
        if total > len(data):
            fail(path, where + 32, f"segments up to {number} store more than the file has")
        if p_type == PT_NOTE:
            notes += _notes(path, data, offset, offset + filesz, order)
        else:
            loads.append(Segment(vaddr, offset, filesz, memsz, flags, align, p_type))
    return CoreFile(path, data, arch, tuple(loads), tuple(notes))


def _notes(path: str, data: bytes, at: int, end: int, order: str) -> Iterator[Note]:
    while at < end:
        if at + _NOTE > end:
            fail(path, at, "the segment of notes ends inside the head of one")
        name_size, size, kind = struct.unpack_from(order + "III", data, at)
        content = at + _NOTE + (name_size + 3 & ~3)
        if content + size > end:
            fail(path, at, f"a note of {name_size} and {size} bytes reaches past its segment")
        owner = data[at + _NOTE : at + _NOTE + name_size].rstrip(b"\0")
        yield Note(owner, kind, content, data[content : content + size])
        at = content + (size + 3 & ~3)
