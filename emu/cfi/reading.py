"""Numbers in call-frame information: fixed-size words, LEB128, encoded pointers.

Read from DWARF 5 sections 7.6 (LEB128) and 7.24, and from the Linux Standard Base, core
generic, section 10.5 (pointer encodings DW_EH_PE_*). Everything is bounded by an explicit
end: a number that does not fit raises `CfiError` with the offset in the section, and a
read never looks at bytes of the next entry.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from arch.descriptor import ByteOrder
from emu.errors import CfiError

WORD = 8
"""Bytes of an address: all machines are 64-bit."""
ADDRESS_MASK = (1 << 64) - 1
LONGEST_LEB = 10
"""Bytes that 64 bits need; longer ones would make big integers out of hostile input."""

OMIT = 0xFF
_INDIRECT = 0x80
_ABSOLUTE, _PC_RELATIVE = 0x00, 0x10
_FORMATS = {
    0x00: (WORD, False),
    0x02: (2, False),
    0x03: (4, False),
    0x04: (8, False),
    0x0A: (2, True),
    0x0B: (4, True),
    0x0C: (8, True),
}
"""Low four bits of an encoding -> (bytes, signed)."""
_ULEB, _SLEB = 0x01, 0x09


def uleb(data: bytes, position: int, end: int) -> tuple[int, int]:
    """An unsigned LEB128 number of at most 64 bits, and the position behind it."""
    if position < end and data[position] < 0x80:  # nearly always
        return data[position], position + 1
    value = shift = 0
    for index in range(position, min(end, position + LONGEST_LEB)):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > ADDRESS_MASK:
                break
            return value, index + 1
        shift += 7
    raise CfiError(f"offset {position:#x}: LEB128 number is cut off or exceeds 64 bits")


def sleb(data: bytes, position: int, end: int) -> tuple[int, int]:
    """A signed LEB128 number of at most 64 bits, and the position behind it."""
    value = shift = 0
    for index in range(position, min(end, position + LONGEST_LEB)):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if byte & 0x40:
                value -= 1 << shift
            if not -(1 << 63) <= value < 1 << 63:
                break
            return value, index + 1
    raise CfiError(f"offset {position:#x}: LEB128 number is cut off or exceeds 64 bits")


@dataclass(frozen=True, slots=True)
class Target:
    """What a relocation puts into a field: a place inside a section of an object."""

    section: int
    """Index of the section."""
    offset: int


class Pointer(NamedTuple):
    """An address as read."""

    value: int
    """Link-time address; with a section, the offset in it."""
    section: int = -1
    """Relocatable objects: index of the section."""


@dataclass(frozen=True, slots=True)
class EhFrame:
    """The bytes of an .eh_frame section and what is needed to read pointers in it.

    Args:
        data: bytes of the section.
        address: link-time address of its first byte.
        byte_order: of every word in it.
        relocatable: pointers come from `targets` alone.
        targets: offset of a relocated field -> what it points to.
    """

    data: bytes
    address: int
    byte_order: ByteOrder
    relocatable: bool = False
    targets: Mapping[int, Target] = field(default_factory=dict)

    def word(self, position: int, size: int, end: int, signed: bool = False) -> int:
        """A word of `size` bytes that must lie before `end`."""
        if position + size > end:
            raise CfiError(f"offset {position:#x}: {size} bytes are cut off at {end:#x}")
        return int.from_bytes(self.data[position : position + size], self.byte_order, signed=signed)

    def plain(self, position: int, end: int, encoding: int) -> tuple[int, int]:
        """A number in the format of `encoding`, without base; and the position behind it."""
        kind = encoding & 0x0F
        if kind == _ULEB:
            return uleb(self.data, position, end)
        if kind == _SLEB:
            return sleb(self.data, position, end)
        if kind not in _FORMATS:
            raise CfiError(f"offset {position:#x}: unknown pointer encoding {encoding:#04x}")
        size, signed = _FORMATS[kind]
        return self.word(position, size, end, signed), position + size

    def pointer(self, position: int, end: int, encoding: int) -> tuple[Pointer, int]:
        """The address in an encoded field, and the position behind it.

        In a relocatable object the type of the relocation is not looked at: the encoding
        already says how wide the field is and whether the linker makes it relative, and
        both ways it stands for symbol + addend. All three machines use RELA, so the bytes
        of the field say nothing.

        Raises:
            CfiError: cut off; relative to anything but the PC; indirect; not relocated.
        """
        if encoding & _INDIRECT:
            raise CfiError(f"offset {position:#x}: indirect pointer encoding {encoding:#04x}")
        base = encoding & 0x70
        if base not in (_ABSOLUTE, _PC_RELATIVE):
            raise CfiError(f"offset {position:#x}: pointer encoding {encoding:#04x} has no base")
        value, behind = self.plain(position, end, encoding)
        if self.relocatable:
            target = self.targets.get(position)
            if target is None:
                raise CfiError(f"offset {position:#x}: the pointer has no usable relocation")
            return Pointer(target.offset, target.section), behind
        if base == _PC_RELATIVE and value:  # 0 is the null pointer, not a distance of 0
            value += self.address + position
        return Pointer(value & ADDRESS_MASK), behind
