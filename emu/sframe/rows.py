"""The rows of a section: found by `scan`, read by `stored`."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emu.sframe import layout, scan
from emu.sframe.faults import Faults
from emu.sframe.fdes import Column, Fdes, Refused, integers
from emu.sframe.lazy import Lazy
from emu.sframe.stored import BadRow, Dialect, StoredRow, read_row, word_limits

_LEAST_KNOWN = 64
_AREA_PER_KNOWN = 128
"""How many contents are remembered, to find equal ones: by bytes of the FRE area, since a
hostile section can make them all different."""


class Contents(Lazy[StoredRow]):
    """Contents of rows by number, read from the section each time that one is asked for."""

    def __init__(self, fdes: Fdes) -> None:
        header = fdes.header
        self._area = fdes.area
        self._sizes = scan.content_sizes()
        self._dialects = [
            Dialect(
                header.arch, header.version.number, header.byte_order, header.fixed_fp,
                header.fixed_ra, flex=flex,
            )
            for flex in (False, True)
        ]  # fmt: skip
        self._positions, self._kinds = array("I"), array("B")

    def bytes_at(self, position: int) -> bytes:
        """Info byte and words at a position in the FRE area."""
        return self._area[position : position + self._sizes[self._area[position]]]

    def read(self, position: int, kind: int) -> StoredRow | BadRow:
        """What they say in a function of that FDE type."""
        return read_row(self.bytes_at(position), self._dialects[kind])

    def append(self, position: int, kind: int) -> None:
        """Add the content at a position, which is not bad."""
        self._positions.append(position)
        self._kinds.append(kind)

    def __len__(self) -> int:
        return len(self._positions)

    def make(self, index: int) -> StoredRow:
        """The content with a number."""
        row = self.read(self._positions[index], self._kinds[index])
        assert isinstance(row, StoredRow)
        return row


@dataclass(frozen=True, slots=True)
class Rows:
    """All rows in the order of the FDEs."""

    starts: Sequence[int]
    """Offset of the row in its function or repeated block."""
    contents: Sequence[int]
    """Index in `stored`; -1: a word of the row is wrong, it does not count."""
    stored: Sequence[StoredRow]
    """The different contents; where there are very many, some may be there twice."""
    first: Sequence[int]
    """By FDE: index of its first row; the last element is the number of all rows."""
    cuts: Sequence[int]
    """By FDE: offset in the function from which rows are missing; -1: none are."""


def read_rows(fdes: Fdes, refused: Refused, faults: Faults) -> Rows:
    """Find and read all rows.

    Args:
        fdes: the functions.
        refused: those not to be looked at; those whose rows another one has are added.
        faults: faults are added here.
    """
    found = scan.scan(
        fdes.area,
        fdes.header.byte_order == "big",
        to_scan(fdes, refused),
        fdes.header.version.attributes_size,
    )
    _report_stops(fdes, found, refused, faults)
    late = "the start is not above the one before, or behind the function"
    at = np.asarray(found.position)[np.asarray(found.late) != 0].astype(np.int64)
    faults.add_all(at + fdes.header.fres_at, late)
    del at
    contents, stored = _contents(fdes, found, faults)
    return Rows(found.start, contents, stored, found.first, _cuts(fdes, found))


def to_scan(fdes: Fdes, refused: Refused) -> scan.Functions:
    """What the scan has to know of the functions."""
    header = fdes.header
    attributes_size = header.version.attributes_size
    fewest, most = word_limits(flex=False, fixed_ra=header.fixed_ra)
    flex_fewest, flex_most = word_limits(flex=True, fixed_ra=header.fixed_ra)
    return scan.Functions(
        position=fdes.fre + attributes_size,
        count=np.where(refused.codes, 0, fdes.num_fres),
        width=fdes.width.astype(np.int8),
        # A row behind a repeated block is never reached, but not wrong.
        limit=np.where(fdes.mask, 1 << 32, fdes.size),
        fewest=np.where(fdes.flex, flex_fewest, fewest).astype(np.int8),
        most=np.where(fdes.flex, flex_most, most).astype(np.int8),
        claims=(fdes.reachable & (attributes_size > 0)).astype(np.int8),
    )


def _report_stops(fdes: Fdes, found: scan.Found, refused: Refused, faults: Faults) -> None:
    """Faults that ended the rows of a function."""
    codes, base = np.asarray(found.code), fdes.header.fres_at

    def stopped(code: int) -> Column:
        """The functions that it ended."""
        return np.flatnonzero(codes == code)

    twice, reason = stopped(scan.CLAIMED_TWICE), "its FREs are claimed by an earlier function"
    faults.add_all(fdes.places(twice, "fre"), reason)
    refused.add(twice, lambda fde: reason)
    stops = np.asarray(found.stop)
    faults.add_all(base + stops[stopped(scan.NO_ROOM)], "the row does not fit into the FRE area")
    for code, text in (
        (scan.BAD_WORD_SIZE, "size code 3 for the data words"),
        (scan.BAD_WORD_COUNT, "{} data words, which this kind of row cannot have"),
    ):
        numbers = stopped(code)
        infos = stops[numbers] + fdes.width[numbers]
        values = np.frombuffer(fdes.area, np.uint8)[infos]
        words = values >> layout.WORD_COUNT_SHIFT & layout.WORD_COUNT_MASK
        faults.add_all(base + infos, text.format, words)


def _contents(fdes: Fdes, found: scan.Found, faults: Faults) -> tuple[Sequence[int], Contents]:
    """What each row says, and the different contents."""
    stored = Contents(fdes)
    contents = array("i")
    bad_offsets, bad_rows = array("q"), array("q")
    most_known = max(_LEAST_KNOWN, len(fdes.area) // _AREA_PER_KNOWN)
    # Content -> index in `stored`, or ~offset of what is bad; the FDE types 0 and 1 apart.
    known: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
    base = fdes.header.fres_at
    kinds, widths = integers(fdes.kind), integers(fdes.width)
    for fde, (kind, width) in enumerate(zip(kinds, widths, strict=True)):
        first, last = found.first[fde], found.first[fde + 1]
        if first == last:
            continue
        cache = known[kind]
        for position in found.position[first:last]:
            at = position + width
            content = stored.bytes_at(at)
            number = cache.get(content)
            if number is None:
                row = stored.read(at, kind)
                if isinstance(row, BadRow):
                    number = ~row.offset
                else:
                    number = len(stored)
                    stored.append(at, kind)
                if len(cache) >= most_known:
                    cache.clear()
                cache[content] = number
            if number < 0:
                bad_offsets.append(base + at + ~number)
                bad_rows.append(2 * at + kind)
                number = -1
            contents.append(number)

    def reason(bad: int) -> str:
        """Why a row is bad, of its position and its kind, which is 0 or 1."""
        row = stored.read(*divmod(bad, 2))
        assert isinstance(row, BadRow)
        return row.reason

    faults.add_all(np.asarray(bad_offsets), reason, np.asarray(bad_rows))
    return contents, stored


def _cuts(fdes: Fdes, found: scan.Found) -> Sequence[int]:
    cuts = np.full(len(found.code), -1, np.int64)
    codes = np.asarray(found.code)
    ended = np.flatnonzero((codes != scan.COMPLETE) & (codes != scan.CLAIMED_TWICE))
    widths = fdes.width
    for fde in integers(ended):
        width = int(widths[fde])
        raw = fdes.area[found.stop[fde] : found.stop[fde] + width]
        first, last = found.first[fde], found.first[fde + 1]
        if len(raw) == width:
            cuts[fde] = int.from_bytes(raw, fdes.header.byte_order)
        else:
            # Not even a start, so nobody knows how far the row before it reaches.
            cuts[fde] = found.start[last - 1] + 1 if last > first else 0
    return integers(cuts)
