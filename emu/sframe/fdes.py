"""The FDEs of a section as columns, and the checks that need no rows.

A column is an int64 array with one element for each FDE. Faults are added to those that the
caller passes along.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.sframe import layout
from emu.sframe.faults import Faults
from emu.sframe.header import Header
from emu.sframe.layout import order_mark

Column = np.ndarray[tuple[int], np.dtype[np.int64]]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

Relocations = Mapping[int, tuple[int, int]]
"""Offset in the section -> index of the function's section and the function's offset there."""


@dataclass(frozen=True, slots=True)
class Fdes:
    """All FDEs; the fields are explained in `layout`."""

    header: Header
    area: bytes
    """The FRE area, or as much of it as there is."""
    at: Column
    """Offset of each FDE from the start of the section."""
    start: Column
    """As stored."""
    size: Column
    fre: Column
    """Offset in `area` of the attributes or the first FRE."""
    reachable: Flags
    """V3: the attributes lie in `area`; where they do not, the columns below are 0."""
    num_fres: Column
    info: Column
    info2: Column
    rep_size: Column

    @property
    def flex(self) -> Flags:
        """Rows have control words."""
        return np.equal(self.kind, layout.FLEX)

    @property
    def kind(self) -> Column:
        """FDE type."""
        return self.info2 & layout.FDE_TYPE_MASK

    @property
    def mask(self) -> Flags:
        """Rows repeat."""
        repeats: Flags = np.not_equal(self.info & layout.PC_MASK, 0)
        return repeats

    @property
    def width(self) -> Column:
        """Bytes of a row's start, where the FRE type is known."""
        return 1 << (self.info & 3)

    @property
    def bad_type(self) -> Flags:
        """The FRE type is unknown."""
        bad: Flags = np.greater(self.info & layout.FRE_TYPE_MASK, 2)
        return bad

    def place(self, fde: int, field: str) -> int:
        """Offset of a field of one FDE from the start of the section."""
        return int(self.places(np.array([fde]), field)[0])

    def places(self, numbers: Column, field: str) -> Column:
        """Offset of a field of several FDEs; of none in a version that lacks it."""
        if not len(numbers):
            return numbers
        in_attributes, at = self.header.version.field_at(field)
        if in_attributes:
            return self.fre[numbers] + (self.header.fres_at + at)
        return self.at[numbers] + at

    def column(self, field: str) -> Column:
        """A field by the name that it has in `layout`."""
        column: Column = getattr(self, field)
        return column


def integers(column: Any) -> Sequence[int]:
    """An array as a sequence of Python's integers, without a copy."""
    return memoryview(column)


class Refused:
    """The functions whose rows are not looked for, or not believed, and why."""

    def __init__(self, fdes: Fdes) -> None:
        self._fdes = fdes
        self._reasons: list[Callable[[int], str]] = [lambda fde: ""]
        self.codes: np.ndarray[tuple[int], np.dtype[np.uint8]] = np.zeros(len(fdes.at), np.uint8)
        """By FDE; 0: it is not refused."""

    def add(self, numbers: Column, reason: Callable[[int], str]) -> None:
        """Refuse some functions, each for the reason that is made from its number.

        One that is refused already stays so for its first reason.
        """
        new = numbers[self.codes[numbers] == 0]
        self.codes[new] = len(self._reasons)
        self._reasons.append(reason)

    def reason(self, fde: int) -> str:
        """Why a function is refused; empty: it is not."""
        reason: str = self._reasons[int(self.codes[fde])](fde)
        return reason


def read_fdes(data: bytes, header: Header) -> Fdes:
    """The FDEs of the section `data`, which its header promises to be there."""
    version = header.version
    area = data[header.fres_at : header.fres_at + header.fre_len]
    kind = version.fde.newbyteorder(order_mark(header.byte_order))
    stored = np.frombuffer(data, kind, header.num_fdes, header.fdes_at)
    fre = stored["fre"].astype(np.int64)
    reachable = fre + version.attributes_size <= len(area)
    present, attributes = fre[reachable], np.frombuffer(area, np.uint8)

    def column(field: str) -> Column:
        """A field that V3 keeps among the attributes; 0 where the version lacks it."""
        values = np.zeros(header.num_fdes, np.int64)
        if version.attributes is None:
            return stored[field].astype(np.int64) if field in (version.fde.names or ()) else values
        at, width = version.field_at(field)[1], version.attributes[field].itemsize
        base = present + at
        found = attributes[base].astype(np.int64)
        for byte in range(1, width):
            if header.byte_order == "little":
                found |= attributes[base + byte].astype(np.int64) << 8 * byte
            else:
                found = found << 8 | attributes[base + byte]
        values[reachable] = found
        return values

    return Fdes(
        header,
        area,
        at=header.fdes_at + np.arange(header.num_fdes, dtype=np.int64) * version.fde_size,
        start=stored["start"].astype(np.int64),
        size=stored["size"].astype(np.int64),
        fre=fre,
        reachable=reachable,
        num_fres=column("num_fres"),
        info=column("info"),
        info2=column("info2"),
        rep_size=column("rep_size"),
    )


def place_functions(
    fdes: Fdes, address: int, relocations: Relocations | None, faults: Faults
) -> tuple[Column, Column]:
    """Address of each function, wrapped to int64, and its section or -1.

    Args:
        fdes: of a section linked to `address`.
        relocations: None in a linked file.
    """
    header = fdes.header
    sections = np.full(header.num_fdes, -1, np.int64)
    if relocations is None:
        base = np.full(header.num_fdes, _wrap(address), np.int64)
        if header.flags & layout.FDE_FUNC_START_PCREL:
            base += fdes.at
        return base + fdes.start, sections
    starts = fdes.start.copy()
    for fde, offset in enumerate(integers(fdes.at)):
        target = relocations.get(offset)
        if target is not None:
            sections[fde], starts[fde] = target[0], _wrap(target[1])
    missing = fdes.at[sections < 0]
    faults.add_all(missing, "no usable relocation for the start of the function")
    return starts, sections


def check_order(fdes: Fdes, starts: Column, sections: Column, faults: Faults) -> Flags:
    """Faults of a table flagged sorted.

    Starts compare as signed numbers: in a section at address 0 functions before it are below
    those behind it. Equal starts are in order.

    Returns:
        Which functions lie below the one before.
    """
    low = np.zeros(len(starts), np.bool_)
    if not fdes.header.flags & layout.FDE_SORTED or len(starts) < 2:
        return low
    low[1:] = (sections[1:] == sections[:-1]) & (starts[1:] < starts[:-1])
    faults.add_all(fdes.at[low], "flagged sorted, but below the function before")
    # Functions of size 0 reach nowhere, and nothing reaches into them.
    filled = np.flatnonzero(fdes.size > 0)
    before, after = filled[:-1], filled[1:]
    # The difference of ascending starts always fits into 64 bits, a sum with the size need not.
    gap = starts[after].view(np.uint64) - starts[before].view(np.uint64)
    reaches = (
        (starts[after] >= starts[before])
        & (sections[after] == sections[before])
        & (gap < fdes.size[before].view(np.uint64))
    )
    reached = after[reaches & ~low[after]]
    faults.add_all(fdes.at[reached], "flagged sorted, but the function before reaches into it")
    return low


def check_info(fdes: Fdes, faults: Faults) -> None:
    """Faults of reserved bits and of repeat sizes; decoding goes on in spite of them."""
    version = fdes.header.version
    reserved = layout.INFO_RESERVED
    if version.number < 3:
        reserved |= layout.SIGNAL
    if not fdes.header.arch.sframe.pauth:
        reserved |= layout.PAUTH_KEY_B
    for field, bits in (("info", reserved), ("info2", layout.INFO2_RESERVED)):
        column = fdes.column(field) & bits
        wrong = np.flatnonzero(column)
        values = column[wrong].astype(np.uint8)
        faults.add_all(fdes.places(wrong, field), "reserved bits {:#x} are set".format, values)
    if version.rep_size:
        wrong = np.flatnonzero(fdes.mask & (fdes.rep_size == 0))
        faults.add_all(fdes.places(wrong, "rep_size"), "rows repeat every 0 bytes")


def check_counts(fdes: Fdes, faults: Faults) -> Refused:
    """Faults of FRE offsets, counts and types.

    Returns:
        The functions whose rows cannot be looked for.
    """
    header = fdes.header
    refused = Refused(fdes)
    if header.version.attributes is None:
        # A function without rows has no first one; producers then name the end of the area.
        outside = fdes.fre >= len(fdes.area) + (fdes.num_fres == 0)
    else:
        outside = ~fdes.reachable
    too_many = fdes.num_fres > header.num_fres
    checks = (
        (outside, "fre", f"FRE offset {{:#x}} in an area of {len(fdes.area)} bytes"),
        (too_many, "num_fres", f"{{}} FREs, the header has {header.num_fres} in all"),
        (fdes.bad_type, "info", "unknown FRE type in {:#x}"),
        (fdes.kind > layout.FLEX, "info2", "unknown FDE type in {:#x}"),
    )
    for wrong, field, text in checks:
        column, numbers = fdes.column(field), np.flatnonzero(wrong)
        values = column[numbers].astype(np.uint32)
        faults.add_all(fdes.places(numbers, field), text.format, values)
        refused.add(numbers, _from_column(text, column))
    total = int(fdes.num_fres.sum())
    # Where a function's own count is wrong or unknown, the header's need not be.
    known = header.version.attributes is None or bool(fdes.reachable.all())
    if total != header.num_fres and known and not too_many.any():
        reason = f"{header.num_fres} FREs, the functions have {total} in all"
        faults.add(layout.NUM_FRES_AT, reason)
    return refused


def _from_column(text: str, column: Column) -> Callable[[int], str]:
    return lambda fde: text.format(int(column[fde]))


def _wrap(value: int) -> int:
    """An address as int64."""
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
