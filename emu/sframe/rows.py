"""The rows of a section: found by `scan`, each different content read once by `stored`."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emu.sframe import layout, scan
from emu.sframe.faults import Fault
from emu.sframe.fdes import Fdes
from emu.sframe.stored import BadRow, Dialect, StoredRow, read_row, word_limits


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows in the order of the FDEs."""

    starts: Sequence[int]
    """Offset of the row in its function or repeated block."""
    contents: Sequence[int]
    """Index in `stored`; -1: the row's words are wrong, it does not count."""
    stored: tuple[StoredRow, ...]
    """The different contents."""
    first: Sequence[int]
    """By FDE: index of its first row; the last element is the number of all rows."""
    cuts: dict[int, int]
    """By FDE whose rows end early: offset in the function from which they are missing."""


def read_rows(fdes: Fdes, no_rows: dict[int, str], faults: list[Fault]) -> Rows:
    """Find and read all rows.

    Args:
        fdes: the functions.
        no_rows: those not to be looked at, and why; those whose rows another one has are added.
        faults: faults are appended here.
    """
    found = _scan(fdes, no_rows)
    _report_stops(fdes, found, no_rows, faults)
    base = fdes.header.fres_at
    late = "the start is not above the one before, or behind the function"
    faults.extend(
        Fault(base + found.position[row], late)
        for row in np.flatnonzero(np.array(found.late, np.uint8)).tolist()
    )
    contents, stored = _contents(fdes, found, faults)
    return Rows(found.start, contents, tuple(stored), found.first, _cuts(fdes, found))


def _scan(fdes: Fdes, no_rows: dict[int, str]) -> scan.Found:
    header = fdes.header
    attributes_size = header.version.attributes_size
    usable = np.ones(header.num_fdes, np.int64)
    usable[list(no_rows)] = 0
    fewest, most = word_limits(flex=False, fixed_ra=header.fixed_ra)
    flex_fewest, flex_most = word_limits(flex=True, fixed_ra=header.fixed_ra)
    functions = scan.Functions(
        position=fdes.fre + attributes_size,
        count=fdes.num_fres * usable,
        width=fdes.width,
        # A row behind a repeated block is never reached, but not wrong.
        limit=np.where(fdes.mask, 1 << 32, fdes.size),
        fewest=np.where(fdes.flex, flex_fewest, fewest),
        most=np.where(fdes.flex, flex_most, most),
        claims=(fdes.reachable & (attributes_size > 0)).astype(np.int64),
    )
    return scan.scan(fdes.area, header.byte_order == "big", functions, attributes_size)


def _report_stops(
    fdes: Fdes, found: scan.Found, no_rows: dict[int, str], faults: list[Fault]
) -> None:
    """Faults that ended the rows of a function."""
    base = fdes.header.fres_at
    for fde in np.flatnonzero(np.array(found.code)).tolist():
        code, stop = found.code[fde], found.stop[fde]
        if code == scan.CLAIMED_TWICE:
            reason = "its FREs are claimed by an earlier function"
            faults.append(Fault(fdes.place(fde, "fre"), reason))
            no_rows.setdefault(fde, reason)
        elif code == scan.NO_ROOM:
            faults.append(Fault(base + stop, "the row does not fit into the FRE area"))
        else:
            at = stop + int(fdes.width[fde])
            words = fdes.area[at] >> layout.WORD_COUNT_SHIFT & layout.WORD_COUNT_MASK
            reason = f"{words} data words, which this kind of row cannot have"
            if code == scan.BAD_WORD_SIZE:
                reason = "size code 3 for the data words"
            faults.append(Fault(base + at, reason))


def _contents(
    fdes: Fdes, found: scan.Found, faults: list[Fault]
) -> tuple[list[int], list[StoredRow]]:
    """What each row says, and the different contents."""
    header, area = fdes.header, fdes.area
    sizes = scan.content_sizes()
    stored: list[StoredRow] = []
    bad: list[BadRow] = []
    contents: list[int] = []
    dialects = [
        Dialect(
            header.arch, header.version.number, header.byte_order, header.fixed_fp,
            header.fixed_ra, flex=flex,
        )
        for flex in (False, True)
    ]  # fmt: skip
    # Content -> index in `stored`, or ~index in `bad`; the FDE types 0 and 1 apart.
    known: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
    for fde, (kind, width) in enumerate(zip(fdes.kind.tolist(), fdes.width.tolist(), strict=True)):
        first, last = found.first[fde], found.first[fde + 1]
        if first == last:
            continue
        cache, dialect = known[kind], dialects[kind]
        for position in found.position[first:last]:
            at = position + width
            content = area[at : at + sizes[area[at]]]
            number = cache.get(content)
            if number is None:
                row = read_row(content, dialect)
                if isinstance(row, BadRow):
                    number = ~len(bad)
                    bad.append(row)
                else:
                    number = len(stored)
                    stored.append(row)
                cache[content] = number
            if number < 0:
                row = bad[~number]
                faults.append(Fault(header.fres_at + at + row.offset, row.reason))
                number = -1
            contents.append(number)
    return contents, stored


def _cuts(fdes: Fdes, found: scan.Found) -> dict[int, int]:
    cuts = {}
    for fde in np.flatnonzero(np.array(found.code)).tolist():
        if found.code[fde] == scan.CLAIMED_TWICE:
            continue
        raw = fdes.area[found.stop[fde] : found.stop[fde] + int(fdes.width[fde])]
        first, last = found.first[fde], found.first[fde + 1]
        if len(raw) == fdes.width[fde]:
            cuts[fde] = int.from_bytes(raw, fdes.header.byte_order)
        else:
            # Not even a start, so nobody knows how far the row before it reaches.
            cuts[fde] = found.start[last - 1] + 1 if last > first else 0
    return cuts
