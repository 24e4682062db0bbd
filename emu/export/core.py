"""ELF cores, as Linux writes them (fs/binfmt_elf.c, elf_core_dump) and debuggers read them.

    ELF header, type 4
    program headers: PT_NOTE, and a PT_LOAD for each mapping
    notes: the registers of each thread, the auxiliary vector, names of mapped files
    (padding to a page)
    contents of mappings, in the order of their headers

Of a file's mapping that still holds what the file holds only the page with the ELF header is
stored, as Linux does by default (core(5), coredump_filter): debuggers identify the file by it.
"""

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import SEEK_END
from typing import BinaryIO

from arch import Arch
from emu.elf.layout import (
    HEADER,
    HEADER_SIZE,
    MAGIC,
    PF_R,
    PF_W,
    PF_X,
    PN_XNUM,
    PT_LOAD,
    PT_NOTE,
    SECTION,
    SECTION_SIZE,
    SEGMENT,
    SEGMENT_SIZE,
)
from emu.export.core_notes import CoreNotes
from emu.export.registers import Thread
from emu.linux.mappings import Mapping
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory

ET_CORE = 4
SIGTRAP = 5
_CHUNK = 1 << 16
_ZEROS = bytes(_CHUNK)


@dataclass(frozen=True, slots=True)
class Stopped:
    """A process that does not run, as a core tells of it.

    Args:
        arch: the machine.
        memory: its address space.
        mappings: which file is where.
        threads: the one that stopped first.
        auxiliary: the auxiliary vector, AT_NULL included.
        name: of the program, without folders.
        arguments: argv.
        pid: process id.
        signal: what stopped it.
        signed: its return addresses are signed.
    """

    arch: Arch
    memory: Memory
    mappings: Sequence[Mapping]
    threads: Sequence[Thread]
    auxiliary: Sequence[tuple[int, int]]
    name: bytes
    arguments: Sequence[bytes] = ()
    pid: int = 1
    signal: int = SIGTRAP
    signed: bool = False


@dataclass(frozen=True, slots=True)
class _Piece:
    """Memory [start, end) of one mapping; the first `stored` bytes of it are in the core."""

    start: int
    end: int
    permissions: int
    stored: int


def write_core(
    file: BinaryIO, process: Stopped, path: Callable[[bytes], bytes] = lambda name: name
) -> None:
    """Write a core.

    Args:
        file: empty, open for writing, with seek: pages of zeros become holes.
        process: what is written.
        path: the name under which the reader finds what the guest calls by its argument.
    """
    arch, order = process.arch, "<" if process.arch.byte_order == "little" else ">"
    notes = CoreNotes(arch, process.pid, process.signal)
    content = notes.all(
        process.threads, process.name, process.arguments, process.auxiliary,
        [(m.start, m.end, m.offset, path(m.file.path)) for m in process.mappings], process.signed,
    )  # fmt: skip
    pieces = list(_pieces(process.memory, process.mappings))
    count = len(pieces) + 1
    at_notes = HEADER_SIZE + SEGMENT_SIZE * count
    at = -(-(at_notes + len(content)) // PAGE) * PAGE
    segments = [(PT_NOTE, 0, at_notes, 0, 0, len(content), 0, 4)]
    for piece in pieces:
        flags = _flags(piece.permissions)
        size = piece.end - piece.start
        segments.append((PT_LOAD, flags, at, piece.start, 0, piece.stored, size, PAGE))
        at += piece.stored
    many = count >= PN_XNUM
    header = (
        ET_CORE, arch.elf_machine, 1, 0, HEADER_SIZE, at if many else 0, 0, HEADER_SIZE,
        SEGMENT_SIZE, PN_XNUM if many else count, SECTION_SIZE if many else 0, int(many), 0,
    )  # fmt: skip
    identity = MAGIC + bytes((2, 1 if order == "<" else 2, 1)) + bytes(9)
    file.write(identity + struct.pack(order + HEADER, *header))
    for segment in segments:
        file.write(struct.pack(order + SEGMENT, *segment))
    file.write(content)
    for piece, segment in zip(pieces, segments[1:], strict=True):
        _write_sparse(file, segment[2], process.memory, piece)
    if file.seek(0, SEEK_END) < at:
        # Not every file grows by being cut behind its end.
        file.seek(at - 1)
        file.write(b"\0")
    if many:
        # gABI: the count stands in sh_info of the first section header.
        file.write(struct.pack(order + SECTION, 0, 0, 0, 0, 0, 0, 0, count, 0, 0))


def _flags(permissions: int) -> int:
    return sum(
        flag
        for allowed, flag in ((READ, PF_R), (WRITE, PF_W), (EXECUTE, PF_X))
        if permissions & allowed
    )


def _pieces(memory: Memory, mappings: Iterable[Mapping]) -> Iterator[_Piece]:
    """Memory cut where a file's mapping or the permissions begin or end, ascending."""
    files = sorted(mappings, key=lambda each: each.start)
    number = 0
    for low, high, _, permissions in memory.intervals:
        start = low
        while start < high:
            while number < len(files) and files[number].end <= start:
                number += 1
            mapping = files[number] if number < len(files) else None
            if mapping is None or mapping.start >= high:
                yield _piece(memory, start, high, permissions, None)
                break
            if mapping.start > start:
                yield _piece(memory, start, mapping.start, permissions, None)
                start = mapping.start
            end = min(high, mapping.end)
            yield _piece(memory, start, end, permissions, mapping)
            start = end


def _piece(
    memory: Memory, start: int, end: int, permissions: int, mapping: Mapping | None
) -> _Piece:
    if not permissions & READ:
        return _Piece(start, end, permissions, 0)
    if mapping is not None and not permissions & WRITE and _is_file(memory, start, end, mapping):
        head = mapping.offset + start - mapping.start == 0
        keep = head and memory.read_some(start, len(MAGIC)) == MAGIC
        return _Piece(start, end, permissions, PAGE if keep else 0)
    return _Piece(start, end, permissions, end - start)


def _is_file(memory: Memory, start: int, end: int, mapping: Mapping) -> bool:
    """That memory holds what the file holds there, and zeros behind its end."""
    for place in range(start, end, _CHUNK):
        size = min(_CHUNK, end - place)
        expected = mapping.file.read(mapping.offset + place - mapping.start, size)
        if memory.read_some(place, size) != expected.ljust(size, b"\0"):
            return False
    return True


def _write_sparse(file: BinaryIO, offset: int, memory: Memory, piece: _Piece) -> None:
    """The stored bytes of a piece; what is zero stays a hole."""
    for done in range(0, piece.stored, _CHUNK):
        data = memory.read_some(piece.start + done, min(_CHUNK, piece.stored - done))
        if data != _ZEROS[: len(data)]:
            file.seek(offset + done)
            file.write(data)
