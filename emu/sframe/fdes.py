"""The FDEs of a section as columns, and the checks that need no rows.

A column is an int64 array with one element for each FDE. Faults are appended to a list that
the caller passes along.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from emu.sframe import layout
from emu.sframe.faults import Fault
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
        in_attributes, at = self.header.version.field_at(field)
        if in_attributes:
            return int(self.header.fres_at + self.fre[fde] + at)
        return int(self.at[fde] + at)

    def column(self, field: str) -> Column:
        """A field by the name that it has in `layout`."""
        column: Column = getattr(self, field)
        return column


def read_fdes(data: bytes, header: Header) -> Fdes:
    """The FDEs of the section `data`, which its header promises to be there."""
    version = header.version
    area = data[header.fres_at : header.fres_at + header.fre_len]
    end = header.fdes_at + header.num_fdes * version.fde_size
    stored = np.frombuffer(
        data[header.fdes_at : end], version.fde.newbyteorder(order_mark(header.byte_order))
    )
    fre = stored["fre"].astype(np.int64)
    reachable = fre + version.attributes_size <= len(area)
    attributes = np.frombuffer(area, np.uint8)

    def column(field: str) -> Column:
        """A field that V3 keeps among the attributes; 0 where the version lacks it."""
        values = np.zeros(header.num_fdes, np.int64)
        if version.attributes is None:
            return stored[field].astype(np.int64) if field in (version.fde.names or ()) else values
        at, width = version.field_at(field)[1], version.attributes[field].itemsize
        base = fre[reachable] + at
        for byte in range(width):
            shift = 8 * (byte if header.byte_order == "little" else width - 1 - byte)
            values[reachable] |= attributes[base + byte].astype(np.int64) << shift
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
    fdes: Fdes, address: int, relocations: Relocations | None, faults: list[Fault]
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
    for fde, offset in enumerate(fdes.at.tolist()):
        target = relocations.get(offset)
        if target is None:
            faults.append(Fault(offset, "no usable relocation for the start of the function"))
        else:
            sections[fde], starts[fde] = target[0], _wrap(target[1])
    return starts, sections


def check_order(fdes: Fdes, starts: Column, sections: Column, faults: list[Fault]) -> Flags:
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
    for fde in np.flatnonzero(low).tolist():
        faults.append(Fault(int(fdes.at[fde]), "flagged sorted, but below the function before"))
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
    for fde in after[reaches & ~low[after]].tolist():
        reason = "flagged sorted, but the function before reaches into it"
        faults.append(Fault(int(fdes.at[fde]), reason))
    return low


def check_info(fdes: Fdes, faults: list[Fault]) -> None:
    """Faults of reserved bits and of repeat sizes; decoding goes on in spite of them."""
    version = fdes.header.version
    reserved = layout.INFO_RESERVED
    if version.number < 3:
        reserved |= layout.SIGNAL
    if not fdes.header.arch.sframe.pauth:
        reserved |= layout.PAUTH_KEY_B
    for field, bits in (("info", reserved), ("info2", layout.INFO2_RESERVED)):
        column = fdes.column(field) & bits
        for fde in np.flatnonzero(column).tolist():
            reason = f"reserved bits {int(column[fde]):#x} are set"
            faults.append(Fault(fdes.place(fde, field), reason))
    if version.rep_size:
        for fde in np.flatnonzero(fdes.mask & (fdes.rep_size == 0)).tolist():
            faults.append(Fault(fdes.place(fde, "rep_size"), "rows repeat every 0 bytes"))


def check_counts(fdes: Fdes, faults: list[Fault]) -> dict[int, str]:
    """Faults of FRE offsets, counts and types.

    Returns:
        By index the functions whose rows cannot be looked for, and why.
    """
    header = fdes.header
    found: dict[int, str] = {}
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
        column = fdes.column(field)
        for fde in np.flatnonzero(wrong).tolist():
            reason = text.format(int(column[fde]))
            faults.append(Fault(fdes.place(fde, field), reason))
            found.setdefault(fde, reason)
    total = int(fdes.num_fres.sum())
    # Where a function's own count is wrong or unknown, the header's need not be.
    known = header.version.attributes is None or bool(fdes.reachable.all())
    if total != header.num_fres and known and not too_many.any():
        reason = f"{header.num_fres} FREs, the functions have {total} in all"
        faults.append(Fault(layout.NUM_FRES_AT, reason))
    return found


def _wrap(value: int) -> int:
    """An address as int64."""
    return ((value + (1 << 63)) & ((1 << 64) - 1)) - (1 << 63)
