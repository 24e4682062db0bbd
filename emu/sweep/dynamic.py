"""What the dynamic linker would do to a file: its relocations and their symbols.

They are found as the dynamic linker finds them, by way of PT_DYNAMIC (gABI, chapter 5, "Dynamic
Section"); a static program has none, and its own start-up code applies the relocations that lie
in a loaded section. Addresses here are link-time addresses.
"""

import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from emu.elf.layout import (
    PT_DYNAMIC,
    PT_LOAD,
    SHF_ALLOC,
    SHT_DYNSYM,
    SHT_RELA,
    SHT_RELR,
    SHT_SYMTAB,
    SYMBOL_SIZE,
    Relocation,
    Symbol,
    fail,
)
from emu.elf.strings import Strings
from emu.image import RELA_SIZE, Image, relocation_entries

DT_NULL, DT_PLTRELSZ, DT_STRTAB, DT_SYMTAB, DT_RELA, DT_RELASZ, DT_RELAENT = 0, 2, 5, 6, 7, 8, 9
DT_STRSZ, DT_REL, DT_PLTREL, DT_JMPREL = 10, 17, 20, 23
DT_RELRSZ, DT_RELR, DT_RELRENT = 35, 36, 37
_FOREIGN = {DT_REL: "DT_REL", 0x6000000F: "DT_ANDROID_REL", 0x60000011: "DT_ANDROID_RELA"}
"""Tables of forms that no linker of our machines writes for Linux."""
_WORD = 8
_RELR_BITS = 63


class DynamicSymbols:
    """The dynamic symbol table, whose length the file does not say; each index is checked.

    Args:
        image: the file.
        table: (offset, size) in the file, as large as it may be.
        strings: the same of its string table.
    """

    def __init__(self, image: Image, table: tuple[int, int], strings: tuple[int, int]) -> None:
        self._image = image
        self._offset, self._size = table
        self._strings = Strings(image.data[strings[0] : sum(strings)])
        self._layout = ("<" if image.byte_order == "little" else ">") + "IBBHQQ"

    def symbol(self, index: int, where: int) -> Symbol:
        """The symbol that the relocation at file offset `where` names.

        Raises:
            ImageError: there is no such symbol.
        """
        if SYMBOL_SIZE * (index + 1) > self._size:
            fail(self._image.path, where, f"relocation with symbol {index}, which is none")
        offset = self._offset + SYMBOL_SIZE * index
        name, info, _, section, value, size = struct.unpack_from(
            self._layout, self._image.data, offset
        )
        return Symbol(self._strings.text(name), value, size, section, info & 15, info >> 4)


@dataclass(slots=True)
class Dynamic:
    """The relocations of a linked file."""

    image: Image
    rela: list[tuple[int, int, DynamicSymbols]] = field(default_factory=list)
    """(offset, size) in the file, and the symbols it names."""
    relr: list[tuple[int, int]] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)

    def relocations(self) -> Iterator[tuple[int, Relocation, DynamicSymbols]]:
        """Each with its file offset; its `offset` is the address of the place."""
        for start, size, symbols in self.rela:
            data = self.image.data[start : start + size]
            for number, entry in enumerate(relocation_entries(data, self.image.byte_order)):
                yield start + RELA_SIZE * number, entry, symbols

    def relative(self) -> Iterator[tuple[int, int]]:
        """(file offset, address) of each word that the bias is to be added to.

        A table of type SHT_RELR: an even word is an address; an odd one is a bit map of the 63
        words behind the last place (gABI, "Relative Relocation Table").
        """
        mark = "<Q" if self.image.byte_order == "little" else ">Q"
        for start, size in self.relr:
            following = 0
            data = self.image.data[start : start + size]
            for number, (word,) in enumerate(struct.iter_unpack(mark, data)):
                where = start + _WORD * number
                if not word & 1:
                    yield where, word
                    following = word + _WORD
                    continue
                for bit in range(_RELR_BITS):
                    if word >> bit + 1 & 1:
                        yield where, following + _WORD * bit
                following += _WORD * _RELR_BITS


def read_dynamic(image: Image) -> Dynamic:
    """The relocations of a linked file.

    Raises:
        ImageError: its tables do not lie in the file, or contradict themselves.
    """
    for segment in image.segments:
        if segment.kind == PT_DYNAMIC:
            return _by_tags(image, segment.offset, segment.filesz)
    return _by_sections(image)


def _by_tags(image: Image, offset: int, size: int) -> Dynamic:
    mark = "<QQ" if image.byte_order == "little" else ">QQ"
    tags: dict[int, tuple[int, int]] = {}
    data = image.data[offset : offset + size - size % 16]
    for number, (tag, value) in enumerate(struct.iter_unpack(mark, data)):
        if tag == DT_NULL:
            break
        # As in glibc, the last one counts; (value, where it stands).
        tags[tag] = value, offset + 16 * number + _WORD
    found = Dynamic(image)
    found.unread.update(_FOREIGN[tag] for tag in tags if tag in _FOREIGN)
    for entry, expected in ((DT_RELAENT, RELA_SIZE), (DT_RELRENT, _WORD), (DT_PLTREL, DT_RELA)):
        value, where = tags.get(entry, (expected, 0))
        if value != expected:
            fail(image.path, where, f"dynamic tag {entry} is {value}, not {expected}")
    symbols = _symbols(image, tags)
    areas: list[tuple[int, int]] = []
    for start, length in ((DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)):
        area = _table(image, tags, start, length, RELA_SIZE)
        # Some linkers count the relocations of the PLT among the others too.
        if area[1] and not any(a <= area[0] and sum(area) <= a + n for a, n in areas):
            areas.append(area)
    found.rela = [(*area, symbols) for area in areas]
    found.relr = [_table(image, tags, DT_RELR, DT_RELRSZ, _WORD)]
    return found


def _by_sections(image: Image) -> Dynamic:
    found = Dynamic(image)
    known: dict[int, DynamicSymbols] = {}
    for section in image.sections:
        if not section.flags & SHF_ALLOC or section.kind not in (SHT_RELA, SHT_RELR):
            continue
        entry = RELA_SIZE if section.kind == SHT_RELA else _WORD
        if section.size % entry:
            fail(image.path, section.offset, f"{section.name}: {section.size} bytes of relocations")
        if section.kind == SHT_RELR:
            found.relr.append((section.offset, section.size))
            continue
        if section.link not in known:
            known[section.link] = _linked_symbols(image, section.link)
        found.rela.append((section.offset, section.size, known[section.link]))
    # Many headers for the same bytes would make the work as large as one likes.
    if sum(size for _, size, _ in found.rela) + sum(n for _, n in found.relr) > len(image.data):
        fail(image.path, len(image.data), "the relocation tables overlap")
    return found


def _linked_symbols(image: Image, link: int) -> DynamicSymbols:
    """Those of a section's sh_link; it is no error to have none until one is named."""
    table, strings = (0, 0), (0, 0)
    if link < len(image.sections) and image.sections[link].kind in (SHT_SYMTAB, SHT_DYNSYM):
        linked = image.sections[link]
        names = image.sections[linked.link]
        table, strings = (linked.offset, linked.size), (names.offset, names.size)
    return DynamicSymbols(image, table, strings)


def _symbols(image: Image, tags: dict[int, tuple[int, int]]) -> DynamicSymbols:
    """The dynamic symbols; it is no error to have none until one is named."""
    if DT_SYMTAB not in tags:
        return DynamicSymbols(image, (0, 0), (0, 0))
    table = _area(image, *tags[DT_SYMTAB])
    strings = (0, 0)
    if DT_STRTAB in tags and DT_STRSZ in tags:
        start, rest = _area(image, *tags[DT_STRTAB])
        size, where = tags[DT_STRSZ]
        if size > rest:
            fail(image.path, where, f"{size} bytes of names, {rest} in the segment")
        strings = start, size
    return DynamicSymbols(image, table, strings)


def _table(
    image: Image, tags: dict[int, tuple[int, int]], start: int, length: int, entry: int
) -> tuple[int, int]:
    """(offset, size) in the file of the table that two tags describe; size 0: there is none."""
    if start not in tags or length not in tags:
        return 0, 0
    size, where = tags[length]
    if not size:
        return 0, 0
    offset, rest = _area(image, *tags[start])
    if size % entry or size > rest:
        fail(image.path, where, f"{size} bytes of relocations, {rest} in the segment")
    return offset, size


def _area(image: Image, address: int, where: int) -> tuple[int, int]:
    """(offset, size) of what the file has from a link-time address to the end of its segment."""
    for segment in image.segments:
        if segment.kind == PT_LOAD and segment.vaddr <= address < segment.vaddr + segment.filesz:
            break
    else:
        fail(image.path, where, f"address {address:#x} is in no segment with bytes")
    skipped = address - segment.vaddr
    return segment.offset + skipped, segment.filesz - skipped
