"""Bytes of a .sframe section -> header, functions and rows, every fault with its offset.

The section is not trusted. A header that cannot be used raises; everything else is a fault
of one function, which leaves the others as they are. Time and memory are linear in the bytes
given: counts are compared with the bytes left before anything is made for them, no byte of
the FRE area is read for more than two functions (`scan`), and what there can be many of is
kept in arrays, from which objects are made when they are asked for (`lazy`).

What a reader of the result may rely on, where it is checked, and what is checked again when
it is read, since nothing behind the checks may trust a value that they did not bound:

    value                     checked at load             at each read
    parts of the section      `read_header`, 64-bit sums  -
    FDE within its part       num_fdes, `read_header`     index < len, `lazy`
    attributes within area    `reachable`, `read_fdes`    fields of others are 0
    FRE offset, count, types  `check_counts`              refused: no rows, `table`
    order, overlap            `check_order`               out of order: corrupt, `table`
    reserved bits, repeats    `check_info`                block of size 0: corrupt, `table`
    row within area           `scan`, before its bytes    view of the area, `Contents`
    words used up, registers  `read_row`, each content    `read_row` again; unknown ones of
                                                          the machine refused, `row_meaning`
    starts ascend             `scan`: late                up to the first that does not, `table`
    start <= function size    `scan`: late                offsets of a look-up are below it
    address below 2^63        -                           `function_rows`, `RowTable`
    code of a row             made by us, < len(rows)     both searches stay within counts

Offsets are bytes from the first byte of the section and name the first byte of the field
that is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arch import ByteOrder
from emu.sframe import layout
from emu.sframe.faults import Fault, Faults
from emu.sframe.fdes import (
    Column,
    Fdes,
    Flags,
    Refused,
    Relocations,
    check_counts,
    check_info,
    check_order,
    integers,
    place_functions,
    read_fdes,
)
from emu.sframe.header import Header, read_header
from emu.sframe.lazy import Lazy
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
    fdes: Sequence[Fde]
    """In stored order."""
    rows: Rows
    faults: Sequence[Fault]
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
    faults = Faults()
    if machine is not None and machine != header.arch.elf_machine:
        reason = f"ABI {header.abi} ({header.abi_name}) in a file for machine {machine}"
        faults.add(layout.ABI_AT, reason)
    fdes = read_fdes(data, header)
    if header.fre_len > len(fdes.area):
        reason = f"a FRE area of {header.fre_len} bytes, of which there are {len(fdes.area)}"
        faults.add(layout.FRE_LEN_AT, reason)
    starts, sections = place_functions(fdes, address, relocations, faults)
    low = check_order(fdes, starts, sections, faults)
    check_info(fdes, faults)
    refused = check_counts(fdes, faults)
    rows = read_rows(fdes, refused, faults)
    faults.sort()
    return Decoded(header, _Entries(fdes, starts, sections, low, rows, refused), rows, faults)


class _Entries(Lazy[Fde]):
    """The functions, made from columns each time that one is asked for."""

    def __init__(
        self,
        fdes: Fdes,
        starts: Column,
        sections: Column,
        low: Flags,
        rows: Rows,
        refused: Refused,
    ) -> None:
        version, pauth = fdes.header.version, fdes.header.arch.sframe.pauth
        self._stores_rep_size, self._signals = version.rep_size, version.number >= 3
        self._keys = ("a", "b") if pauth else (None, None)
        self._rows, self._refused = rows, refused
        # Of views one gets integers of Python, which is what everybody wants.
        self._at, self._size = integers(fdes.at), integers(fdes.size)
        self._start = integers(starts.view(np.uint64))
        self._info, self._kind = integers(fdes.info), integers(fdes.kind)
        self._rep_size = integers(fdes.rep_size)
        self._section, self._low = integers(sections), integers(low)

    def __len__(self) -> int:
        return len(self._at)

    def make(self, index: int) -> Fde:
        """The function with an index."""
        fde = index
        info, rows = self._info[fde], self._rows
        cut = rows.cuts[fde]
        return Fde(
            offset=self._at[fde],
            start=self._start[fde],
            size=self._size[fde],
            mask=bool(info & layout.PC_MASK),
            kind=self._kind[fde],
            rep_size=self._rep_size[fde] if self._stores_rep_size else None,
            signal=self._signals and bool(info & layout.SIGNAL),
            pauth_key=self._keys[bool(info & layout.PAUTH_KEY_B)],
            section=self._section[fde],
            first=rows.first[fde],
            last=rows.first[fde + 1],
            cut=None if cut < 0 else cut,
            no_rows=self._refused.reason(fde),
            disordered=bool(self._low[fde]),
        )
