"""Bytes of a .sframe section -> header, functions and rows, every fault with its offset.

The section is not trusted. A header that cannot be used raises; everything else is a fault
of one function, which leaves the others as they are. Time and memory are linear in the bytes
given: counts are compared with the bytes left before anything is made for them, and no byte
of the FRE area is read for two functions (`scan`).

Offsets are bytes from the first byte of the section and name the first byte of the field
that is wrong.
"""

from dataclasses import dataclass

import numpy as np

from arch import ByteOrder
from emu.sframe import layout
from emu.sframe.faults import Fault
from emu.sframe.fdes import (
    Column,
    Fdes,
    Flags,
    Relocations,
    check_counts,
    check_info,
    check_order,
    place_functions,
    read_fdes,
)
from emu.sframe.header import Header, read_header
from emu.sframe.rows import Rows, read_rows

__all__ = ["Decoded", "Fault", "Fde", "Header", "Relocations", "Rows", "decode", "read_header"]


@dataclass(frozen=True, slots=True)
class Fde:
    """One function's entry."""

    offset: int
    """Of its FDE, from the start of the section."""
    start: int
    """Address modulo 2^64; in a relocatable file the offset in `section`."""
    size: int
    mask: bool
    """Rows repeat every `rep_size` bytes."""
    kind: int
    """FDE type; layout.FLEX, or 0 for DEFAULT and in versions that have only that."""
    rep_size: int | None
    """None: the version does not store it."""
    signal: bool
    pauth_key: str | None
    """``a`` or ``b``; None on a machine that signs no return addresses."""
    section: int
    """Index of its section in a relocatable file; -1 elsewhere and where it is unknown."""
    first: int
    last: int
    """Its rows are those with indices in [first, last) of `Decoded.rows`."""
    cut: int | None
    """Rows from this offset in the function on could not be read; None: all were."""
    no_rows: str
    """Why it has no rows although it should; empty: it has those it should have."""
    disordered: bool
    """The table is flagged sorted, but this function lies below the one before."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A decoded section."""

    header: Header
    fdes: tuple[Fde, ...]
    """In stored order."""
    rows: Rows
    faults: tuple[Fault, ...]
    """By offset."""


def decode(
    data: bytes,
    address: int = 0,
    byte_order: ByteOrder | None = None,
    relocations: Relocations | None = None,
    machine: int | None = None,
) -> Decoded:
    """Decode a section.

    Args:
        data: its bytes; those behind the FRE area are ignored.
        address: where it is linked to; 0 for one without a file around it.
        byte_order: of the file around it, if there is one.
        relocations: of a relocatable file, by offset; None for any other.
        machine: e_machine of the file around it, if there is one.

    Raises:
        SFrameError: nothing can be decoded.
    """
    header = read_header(data, byte_order)
    faults: list[Fault] = []
    if machine is not None and machine != header.arch.elf_machine:
        reason = f"ABI {header.abi} ({header.abi_name}) in a file for machine {machine}"
        faults.append(Fault(layout.ABI_AT, reason))
    fdes = read_fdes(data, header)
    if header.fre_len > len(fdes.area):
        reason = f"a FRE area of {header.fre_len} bytes, of which there are {len(fdes.area)}"
        faults.append(Fault(layout.FRE_LEN_AT, reason))
    starts, sections = place_functions(fdes, address, relocations, faults)
    low = check_order(fdes, starts, sections, faults)
    check_info(fdes, faults)
    no_rows = check_counts(fdes, faults)
    rows = read_rows(fdes, no_rows, faults)
    faults.sort(key=lambda fault: fault.offset)
    return Decoded(
        header, _entries(fdes, starts, sections, low, rows, no_rows), rows, tuple(faults)
    )


def _entries(
    fdes: Fdes, starts: Column, sections: Column, low: Flags, rows: Rows, no_rows: dict[int, str]
) -> tuple[Fde, ...]:
    version, pauth = fdes.header.version, fdes.header.arch.sframe.pauth
    columns = zip(
        fdes.at.tolist(),
        starts.view(np.uint64).tolist(),
        fdes.size.tolist(),
        fdes.info.tolist(),
        fdes.kind.tolist(),
        fdes.rep_size.tolist(),
        sections.tolist(),
        low.tolist(),
        strict=True,
    )
    return tuple(
        Fde(
            offset=at,
            start=start,
            size=size,
            mask=bool(info & layout.PC_MASK),
            kind=kind,
            rep_size=rep_size if version.rep_size else None,
            signal=version.number >= 3 and bool(info & layout.SIGNAL),
            pauth_key=("b" if info & layout.PAUTH_KEY_B else "a") if pauth else None,
            section=section,
            first=rows.first[fde],
            last=rows.first[fde + 1],
            cut=rows.cuts.get(fde),
            no_rows=no_rows.get(fde, ""),
            disordered=disordered,
        )
        for fde, (at, start, size, info, kind, rep_size, section, disordered) in enumerate(columns)
    )
