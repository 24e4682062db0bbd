"""An ELF64 file as read: segments, sections, symbols, relocations (ELF gABI, chapters 4 and 5).

The file is not trusted. Every table and every range is compared with the length of the file
before it is read, so that the work is linear in that length, and whatever is wrong raises
`ImageError` with the file, the offset and the reason. Symbols and relocations, which most
users do not need, are read when they are asked for.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from arch import Arch, ByteOrder, by_elf
from emu.elf.headers import read_headers
from emu.elf.layout import (
    MAGIC,
    PF_R,
    PF_W,
    PF_X,
    PT_DYNAMIC,
    PT_INTERP,
    PT_LOAD,
    PT_NOTE,
    SHF_ALLOC,
    SHF_COMPRESSED,
    SHF_EXECINSTR,
    SHF_TLS,
    SHN_LORESERVE,
    SHN_UNDEF,
    SHN_XINDEX,
    SHT_DYNSYM,
    SHT_NOBITS,
    SHT_RELA,
    SHT_STRTAB,
    SHT_SYMTAB,
    SHT_SYMTAB_SHNDX,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STT_FUNC,
    STT_GNU_IFUNC,
    STT_NOTYPE,
    STT_OBJECT,
    STT_SECTION,
    ImageKind,
    Relocation,
    Section,
    Segment,
    Symbol,
    fail,
)
from emu.elf.strings import Strings
from emu.errors import ImageError

__all__ = [
    "LARGEST_FILE",
    "MAGIC",
    "PF_R",
    "PF_W",
    "PF_X",
    "PT_DYNAMIC",
    "PT_INTERP",
    "PT_LOAD",
    "PT_NOTE",
    "RELA_SIZE",
    "SHF_ALLOC",
    "SHF_COMPRESSED",
    "SHF_EXECINSTR",
    "SHF_TLS",
    "SHN_LORESERVE",
    "SHN_UNDEF",
    "SHN_XINDEX",
    "SHT_DYNSYM",
    "SHT_NOBITS",
    "SHT_RELA",
    "SHT_STRTAB",
    "SHT_SYMTAB",
    "SHT_SYMTAB_SHNDX",
    "STB_GLOBAL",
    "STB_LOCAL",
    "STB_WEAK",
    "STT_FUNC",
    "STT_GNU_IFUNC",
    "STT_NOTYPE",
    "STT_OBJECT",
    "STT_SECTION",
    "Image",
    "ImageKind",
    "Relocation",
    "Section",
    "Segment",
    "Symbol",
    "load_image",
    "parse_image",
    "read_file",
    "relocation_entries",
]

LARGEST_FILE = 2 << 30
"""Bytes; the file is held in memory as a whole."""

_SYMBOL = np.dtype(
    [("name", "u4"), ("info", "u1"), ("other", "u1"), ("section", "u2"), ("value", "u8"),
     ("size", "u8")]
)  # fmt: skip
_RELA = np.dtype([("offset", "u8"), ("info", "u8"), ("addend", "i8")])
RELA_SIZE = _RELA.itemsize
_PIECE = 4096
"""Entries that are decoded at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """A checked ELF file."""

    path: str
    name: str
    """Last part of `path`."""
    arch: Arch | None
    """None for a machine or byte order that nothing here runs."""
    machine: int
    """e_machine."""
    byte_order: ByteOrder
    kind: ImageKind
    entry: int
    phoff: int
    phnum: int
    segments: tuple[Segment, ...]
    sections: tuple[Section, ...]
    interp: str | None
    """The program interpreter of PT_INTERP."""
    build_id: bytes
    """Empty: the file has none."""
    data: bytes = field(repr=False)
    _lazy: dict[str, tuple[Symbol, ...]] = field(default_factory=dict, repr=False)
    _found: dict[str, Section | None] = field(default_factory=dict, repr=False)

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def section_bytes(self, section: Section) -> bytes:
        """Its bytes in the file; none for SHT_NOBITS."""
        if section.kind == SHT_NOBITS:
            return b""
        return self.data[section.offset : section.offset + section.size]

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Those of .symtab, without one those of .dynsym, by value; undefined ones too.

        Raises:
            ImageError: the symbol table contradicts itself.
        """
        if "sorted" not in self._lazy:
            ordered = sorted(self._symbol_table(), key=lambda symbol: symbol.value)
            self._lazy["sorted"] = tuple(ordered)
        return self._lazy["sorted"]

    def symbol(self, index: int) -> Symbol | None:
        """The symbol that a relocation names by `index`; None: there is no such symbol."""
        table = self._symbol_table()
        return table[index] if 0 < index < len(table) else None

    def relocations(self, section: Section) -> list[Relocation]:
        """What is to be relocated in `section` of a relocatable file.

        SHT_REL is left out: the ABI supplements of all our machines prescribe SHT_RELA.

        Raises:
            ImageError: such a table is cut or does not refer to the symbol table.
        """
        found: list[Relocation] = []
        for table in self.sections:
            if table.kind == SHT_RELA and table.info == section.index:
                found.extend(self.table_relocations(table))
        return found

    def table_relocations(self, table: Section) -> Iterator[Relocation]:
        """The entries of one SHT_RELA section that names symbols as `symbol` does.

        None of a linked file's table whose symbols are those of the dynamic linker.

        Raises:
            ImageError: the table is cut or does not refer to the symbol table.
        """
        if table.size % RELA_SIZE:
            fail(self.path, table.offset, f"{table.name}: {table.size} bytes of relocations")
        symbols = self._symbol_section()
        if symbols is None or symbols.index != table.link:
            if self.kind != "rel":
                return
            fail(self.path, table.offset, f"{table.name}: no symbol table {table.link}")
        yield from relocation_entries(self.section_bytes(table), self.byte_order)

    def _symbol_section(self) -> Section | None:
        if "section" not in self._found:
            self._found["section"] = self._find_symbol_section()
        return self._found["section"]

    def _find_symbol_section(self) -> Section | None:
        for kind in (SHT_SYMTAB, SHT_DYNSYM):
            for section in self.sections:
                if section.kind == kind:
                    return section
        return None

    def _symbol_table(self) -> tuple[Symbol, ...]:
        """Symbols in the order of the file, so that indices hold."""
        if "stored" not in self._lazy:
            section = self._symbol_section()
            self._lazy["stored"] = () if section is None else self._read_symbols(section)
        return self._lazy["stored"]

    def _read_symbols(self, section: Section) -> tuple[Symbol, ...]:
        """`load_image` has checked size and link of `section`."""
        entries = np.frombuffer(self.section_bytes(section), _ordered(_SYMBOL, self.byte_order))
        strings = Strings(self.section_bytes(self.sections[section.link]))
        base = self.sections[section.link].offset
        indices = entries["section"].astype(np.int64)
        extended = self._extended_indices(section)
        which = np.flatnonzero(indices[: len(extended)] == SHN_XINDEX)
        indices[which] = extended[which]
        symbols = []
        for name, info, index, value, size in zip(
            entries["name"].tolist(),
            entries["info"].tolist(),
            indices.tolist(),
            entries["value"].tolist(),
            entries["size"].tolist(),
            strict=True,
        ):
            try:
                text = strings.text(name)
            except ValueError as error:
                fail(self.path, base + name, f"name of a symbol: {error}")
            symbols.append(Symbol(text, value, size, index, info & 15, info >> 4))
        return tuple(symbols)

    def _extended_indices(self, section: Section) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """Section indices too large for st_shndx, by symbol (gABI, SHT_SYMTAB_SHNDX)."""
        for table in self.sections:
            if table.kind == SHT_SYMTAB_SHNDX and table.link == section.index:
                raw = self.section_bytes(table)
                words = np.frombuffer(raw[: len(raw) & ~3], _ordered("u4", self.byte_order))
                return words.astype(np.int64)
        return np.empty(0, np.int64)


def read_file(path: str) -> bytes:
    """The bytes of a regular file.

    Raises:
        ImageError: it cannot be read, is no regular file or larger than `LARGEST_FILE`.
    """
    try:
        # Opening a pipe without a writer must not wait for one.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise ImageError(f"{path}: not a regular file")
            if status.st_size > LARGEST_FILE:
                fail(path, LARGEST_FILE, f"the file is larger than {LARGEST_FILE} bytes")
            return file.read(LARGEST_FILE)
    except OSError as error:
        raise ImageError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise ImageError(f"{path!r}: {error}") from error


def load_image(path: str) -> Image:
    """Read and check the ELF64 file `path`.

    Raises:
        ImageError: it cannot be read, is no ELF64 file or damaged.
    """
    return parse_image(path, read_file(path))


def parse_image(path: str, data: bytes) -> Image:
    """`load_image` for bytes already read; `path` only names them.

    Raises:
        ImageError: they are no ELF64 file or damaged.
    """
    headers = read_headers(path, data)
    return Image(
        path=path,
        name=os.path.basename(path),
        arch=by_elf(headers.machine, headers.byte_order),
        machine=headers.machine,
        byte_order=headers.byte_order,
        kind=headers.kind,
        entry=headers.entry,
        phoff=headers.phoff,
        phnum=len(headers.segments),
        segments=headers.segments,
        sections=headers.sections,
        interp=headers.interp,
        build_id=headers.build_id,
        data=data,
    )


def relocation_entries(data: bytes, byte_order: ByteOrder) -> Iterator[Relocation]:
    """Elf64_Rela records, decoded piece by piece: a table may be as large as a file."""
    entries = np.frombuffer(data, _ordered(_RELA, byte_order))
    for start in range(0, len(entries), _PIECE):
        piece = entries[start : start + _PIECE]
        info = piece["info"]
        yield from map(
            Relocation._make,
            zip(
                piece["offset"].tolist(),
                (info & np.uint64(0xFFFF_FFFF)).tolist(),
                (info >> np.uint64(32)).tolist(),
                piece["addend"].tolist(),
                strict=True,
            ),
        )


def _ordered(dtype: "np.dtype[np.void] | str", byte_order: ByteOrder) -> "np.dtype[np.generic]":
    return np.dtype(dtype).newbyteorder("<" if byte_order == "little" else ">")
