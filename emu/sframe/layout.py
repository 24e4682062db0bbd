"""Field layouts of SFrame versions 1, 2 and 3 (the SFrame specification; binutils sframe.h).

All three begin with the same 28 bytes, the header. An auxiliary header may follow; the
offsets of FDEs and FREs count from behind it. Offsets here are bytes.

    header | auxiliary header | ... FDEs ... | ... FREs ...
           28             header end        +fdeoff      +freoff

A FDE of V1 and V2 holds all that is said of one function. V3 splits it into an index entry
and five bytes of attributes that stand in the FRE area before the function's first FRE.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from arch import ByteOrder

MAGIC = 0xDEE2
HEADER = "HBBBbbBIIIII"
HEADER_SIZE = 28

VERSION_AT, FLAGS_AT, ABI_AT, AUX_LEN_AT = 2, 3, 4, 7
NUM_FDES_AT, NUM_FRES_AT, FRE_LEN_AT, FDEOFF_AT, FREOFF_AT = 8, 12, 16, 20, 24

FDE_SORTED, FRAME_POINTER, FDE_FUNC_START_PCREL = 1, 2, 4
FLAG_NAMES: Mapping[int, str] = {
    FDE_SORTED: "FDE_SORTED",
    FRAME_POINTER: "FRAME_POINTER",
    FDE_FUNC_START_PCREL: "FDE_FUNC_START_PCREL",
}

# Info byte of a FDE.
FRE_TYPE_MASK = 0x0F
"""0, 1, 2: row starts of one, two or four bytes."""
PC_MASK = 0x10
PAUTH_KEY_B = 0x20
INFO_RESERVED = 0x40
SIGNAL = 0x80
"""V3 only."""

# Second info byte of a FDE (V3).
FDE_TYPE_MASK = 0x1F
FLEX = 1
INFO2_RESERVED = 0xE0

# Info byte of a FRE.
BASE_SP = 0x01
WORD_COUNT_SHIFT, WORD_COUNT_MASK = 1, 0x0F
WORD_SIZE_SHIFT, WORD_SIZE_MASK = 5, 0x03
"""Code 0, 1, 2: words of one, two or four bytes; 3 is invalid."""
RA_SIGNED = 0x80

# Control word of a FLEX rule.
CONTROL_REGISTER = 0x1
CONTROL_DEREF = 0x2
CONTROL_RESERVED = 0x4
CONTROL_NUMBER_SHIFT = 3
LARGEST_REGISTER = 127
"""No DWARF number beyond it is accepted; no machine here has one."""

FLEX_WORDS = 6
"""Most words of a FLEX row: control and offset for each of CFA, RA, FP."""


@dataclass(frozen=True, slots=True)
class Version:
    """What one version's FDEs look like."""

    number: int
    flags: int
    """Mask of the flags that it has."""
    fde: np.dtype[np.void]
    """Fields of a FDE (V3: of an index entry), packed, little-endian."""
    attributes: np.dtype[np.void] | None
    """V3: what stands before the function's first FRE."""
    rep_size: bool
    """It stores the size of repeated blocks."""

    @property
    def fde_size(self) -> int:
        """Bytes of one FDE."""
        return self.fde.itemsize

    @property
    def attributes_size(self) -> int:
        """Bytes between the position that a FDE names and its first FRE."""
        return 0 if self.attributes is None else self.attributes.itemsize

    def field_at(self, name: str) -> tuple[bool, int]:
        """Whether a field is one of the attributes, and its offset there or in the FDE."""
        if self.attributes is not None and name in (self.attributes.names or ()):
            return True, _offset(self.attributes, name)
        return False, _offset(self.fde, name)


def _offset(dtype: np.dtype[np.void], name: str) -> int:
    fields = dtype.fields
    assert fields is not None
    return fields[name][1]


_V1_FIELDS = [
    ("start", "<i4"),
    ("size", "<u4"),
    ("fre", "<u4"),
    ("num_fres", "<u4"),
    ("info", "u1"),
]

VERSIONS: Mapping[int, Version] = {
    1: Version(1, FDE_SORTED | FRAME_POINTER, np.dtype(_V1_FIELDS), None, rep_size=False),
    2: Version(
        2,
        FDE_SORTED | FRAME_POINTER | FDE_FUNC_START_PCREL,
        np.dtype([*_V1_FIELDS, ("rep_size", "u1"), ("padding", "<u2")]),
        None,
        rep_size=True,
    ),
    3: Version(
        3,
        FDE_SORTED | FDE_FUNC_START_PCREL,
        np.dtype([("start", "<i8"), ("size", "<u4"), ("fre", "<u4")]),
        np.dtype([("num_fres", "<u2"), ("info", "u1"), ("info2", "u1"), ("rep_size", "u1")]),
        rep_size=True,
    ),
}


def magic_order(data: bytes) -> ByteOrder | None:
    """The byte order of a section that begins with the magic, else None."""
    for order, mark in _MARKS.items():
        if data[:2] == struct.pack(mark + "H", MAGIC):
            return order
    return None


def order_mark(order: ByteOrder) -> Literal["<", ">"]:
    """``<`` or ``>``, as struct and numpy write it."""
    return _MARKS[order]


_MARKS: Mapping[ByteOrder, Literal["<", ">"]] = {"little": "<", "big": ">"}
