"""The .sframe section of an ELF file: which bytes, at which address, with which relocations."""

from dataclasses import dataclass

from arch import by_sframe_abi
from emu.errors import ImageError
from emu.image import (
    SHF_COMPRESSED,
    SHN_UNDEF,
    SHT_NOBITS,
    Image,
    Section,
)
from emu.sframe.decode import Decoded, Relocations, decode
from emu.sframe.layout import ABI_AT

SECTION_NAME = ".sframe"
PT_GNU_SFRAME = 0x6474E554


@dataclass(frozen=True, slots=True)
class Contained:
    """A .sframe section as it stands in a file."""

    data: bytes
    address: int
    relocations: Relocations | None
    """None in a linked file."""


def find_section(image: Image) -> Contained | None:
    """The .sframe section, or None where there is none.

    Raises:
        ImageError: its bytes are not in the file as they are, or its relocations are damaged.
    """
    section = image.section(SECTION_NAME)
    if section is None:
        return None if image.sections else _segment(image)
    if (section.kind == SHT_NOBITS and section.size) or section.flags & SHF_COMPRESSED:
        raise ImageError(f"{image.path}: offset {section.offset:#x}: {SECTION_NAME} has no bytes")
    data = image.section_bytes(section)
    if image.kind != "rel":
        return Contained(data, section.addr, None)
    return Contained(data, 0, _relocations(image, section, data))


def _segment(image: Image) -> Contained | None:
    """What the kernel reads, where a file has no section headers: the segment."""
    for segment in image.segments:
        if segment.kind == PT_GNU_SFRAME:
            data = image.data[segment.offset : segment.offset + segment.filesz]
            return Contained(data, segment.vaddr, None)
    return None


def decode_contained(image: Image, contained: Contained) -> Decoded:
    """Decode a section that is not empty.

    Raises:
        SFrameError: nothing can be decoded.
    """
    return decode(
        contained.data,
        contained.address,
        image.byte_order,
        contained.relocations,
        image.machine,
    )


def _relocations(image: Image, section: Section, data: bytes) -> Relocations:
    """Where the relocated fields lead; what cannot be followed is left out.

    A start is relative to its own field whatever the header's flags say (the assembler writes
    PC-relative relocations in every version), so symbol and addend alone give the function.
    """
    arch = by_sframe_abi(data[ABI_AT]) if len(data) > ABI_AT else None
    kinds = arch.sframe.relocations if arch is not None else {}
    targets: dict[int, tuple[int, int]] = {}
    for offset, kind, index, addend in image.relocations(section):
        symbol = image.symbol(index)
        if kind not in kinds or symbol is None or offset + kinds[kind] > len(data):
            continue
        where = symbol.section_index
        if where == SHN_UNDEF or where >= len(image.sections):
            continue
        targets.setdefault(offset, (where, symbol.value + addend))
    return targets
