"""The sequential part of decoding: finding the rows of every function in the FRE area.

Where a row ends, only its info byte tells, so this is one loop over the bytes. It runs as
plain Python on small sections, whose decoding must not wait for a compiler to be imported,
and compiled by numba on large ones; both are the same text.

Linear time in spite of hostile offsets: every byte of the area is marked once a row has
been read there, and marked bytes are not read again. A mark is one of two:

* CLAIMED: part of a row that follows the rules. No other function may have it.
* READ: part of a row at or behind the first one of its function whose start is wrong. Such a
  function has most likely been led astray (by a wrong count or row type) into rows of its
  neighbour, who must not suffer for it; but no second stray function gets there.
"""

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.sframe.layout import (
    RA_SIGNED,
    WORD_COUNT_MASK,
    WORD_COUNT_SHIFT,
    WORD_SIZE_MASK,
    WORD_SIZE_SHIFT,
)

COMPILE_FROM = 2 << 20
"""Bytes of FRE area from which loading the compiler pays."""

CLAIMED, READ = 1, 2

# What ended the reading of a function's rows before their count was reached.
COMPLETE, CLAIMED_TWICE, NO_ROOM, BAD_WORD_SIZE, BAD_WORD_COUNT = 0, 1, 2, 3, 4

IntArray = np.ndarray[tuple[int], np.dtype[np.int64]]
SmallArray = np.ndarray[tuple[int], np.dtype[np.int8]] | IntArray


@dataclass(frozen=True, slots=True)
class Functions:
    """What to scan, one element for each FDE; positions count in the FRE area."""

    position: IntArray
    """First FRE; behind the attributes where there are such."""
    count: IntArray
    """Rows; 0 for a function that must not be scanned."""
    width: SmallArray
    """Bytes of a row's start: 1, 2, 4."""
    limit: IntArray
    """Largest start that a row may have."""
    fewest: SmallArray
    most: SmallArray
    """Data words that a row with words may have."""
    claims: SmallArray
    """1: there are attributes to be claimed."""


@dataclass(frozen=True, slots=True)
class Found:
    """Rows in the order of the FDEs, and for each FDE where its own are.

    Views of arrays: a list would take five times the room.
    """

    start: Sequence[int]
    """Offset in the function or block."""
    position: Sequence[int]
    """First byte of the row in the FRE area."""
    late: Sequence[int]
    """1: the start is not above the one before or above the limit."""
    first: Sequence[int]
    """By FDE: index of its first row; they end where those of the next FDE begin."""
    code: Sequence[int]
    """By FDE: COMPLETE or what ended it."""
    stop: Sequence[int]
    """By FDE, when not COMPLETE: position of the first byte of the row that was not read."""


def scan(
    area: bytes,
    big: bool,
    functions: Functions,
    attributes_size: int,
    compile_from: int = COMPILE_FROM,
) -> Found:
    """Read the rows of all functions; compiled if the area has `compile_from` bytes or more."""
    number = len(functions.count)
    # Each row marks at least two bytes that no row of the same mark has.
    capacity = min(int(functions.count.sum()), len(area))
    # Positions are below 2^32, since the header's length of the area is.
    start, position = np.zeros(capacity, np.uint32), np.zeros(capacity, np.uint32)
    late = np.zeros(capacity, np.uint8)
    first, stop = np.zeros(number + 1, np.int64), np.zeros(number, np.int64)
    code = np.zeros(number, np.uint8)
    arrays: tuple[Any, ...] = (
        np.zeros(len(area), np.uint8),
        functions.position, functions.count, _small(functions.width), functions.limit,
        _small(functions.fewest), _small(functions.most), _small(functions.claims),
        start, position, late, first, code, stop,
    )  # fmt: skip
    if len(area) >= compile_from and _may_compile():
        _compiled()(np.frombuffer(area, np.uint8), big, attributes_size, *arrays)
    else:
        _scan(area, big, attributes_size, *(memoryview(a) for a in arrays))
    del arrays
    total = int(first[number])
    # Copies, so that the room for rows that there are not is given back.
    start = start[:total].copy()
    position = position[:total].copy()
    late = late[:total].copy()
    views: list[Any] = [start, position, late, first, code, stop]
    return Found(*(memoryview(view) for view in views))


def _small(column: SmallArray) -> Any:
    return column.astype(np.int8, copy=False)


def _may_compile() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@functools.cache
def _compiled() -> Callable[..., None]:
    # Here and not above: importing it takes longer than to decode an ordinary section.
    import numba

    compiled: Callable[..., None] = numba.njit(cache=True)(_scan)
    return compiled


def _scan(
    area: Any,
    big: bool,
    attributes_size: int,
    marks: Any,
    fde_position: Any,
    fde_count: Any,
    fde_width: Any,
    fde_limit: Any,
    fde_fewest: Any,
    fde_most: Any,
    fde_claims: Any,
    row_start: Any,
    row_position: Any,
    row_late: Any,
    fde_first: Any,
    fde_code: Any,
    fde_stop: Any,
) -> None:
    """Fill the last six columns and `marks`; see `Functions` and `Found`."""
    size = len(area)
    row = 0
    for fde in range(len(fde_count)):
        fde_first[fde] = row
        position = fde_position[fde]
        width = fde_width[fde]
        fewest, most, limit = fde_fewest[fde], fde_most[fde], fde_limit[fde]
        previous = -1
        astray = False
        code = COMPLETE
        if fde_claims[fde]:
            for at in range(position - attributes_size, position):
                if marks[at] & CLAIMED:
                    code = CLAIMED_TWICE
                marks[at] |= CLAIMED
        remaining = fde_count[fde]
        while remaining > 0 and code == COMPLETE:
            remaining -= 1
            if position < size and marks[position] & CLAIMED:
                code = CLAIMED_TWICE
                break
            content = position + width
            if content + 1 > size:
                code = NO_ROOM
                break
            start = 0
            for at in range(width):
                if big:
                    start = start << 8 | int(area[position + at])
                else:
                    start |= int(area[position + at]) << (8 * at)
            info = int(area[content])
            words = (info >> WORD_COUNT_SHIFT) & WORD_COUNT_MASK
            word_size = (info >> WORD_SIZE_SHIFT) & WORD_SIZE_MASK
            if word_size == 3:
                code = BAD_WORD_SIZE
                break
            if words > most or (words != 0 and words < fewest):
                code = BAD_WORD_COUNT
                break
            end = content + 1 + (words << word_size)
            if end > size:
                code = NO_ROOM
                break
            late = start <= previous or start > limit
            astray = astray or late
            forbidden = CLAIMED | READ if astray else CLAIMED
            mark = READ if astray else CLAIMED
            for at in range(position, end):
                if marks[at] & forbidden:
                    code = CLAIMED_TWICE
            if code != COMPLETE:
                break
            for at in range(position, end):
                marks[at] |= mark
            row_start[row] = start
            row_position[row] = position
            row_late[row] = 1 if late else 0
            row += 1
            previous = start
            position = end
        if code == CLAIMED_TWICE:
            row = fde_first[fde]
        fde_code[fde] = code
        fde_stop[fde] = position
    fde_first[len(fde_count)] = row


def content_sizes() -> tuple[int, ...]:
    """By info byte: bytes of a row from its info byte on, size code 3 excluded."""
    return tuple(
        1
        + (
            ((info >> WORD_COUNT_SHIFT) & WORD_COUNT_MASK)
            << ((info >> WORD_SIZE_SHIFT) & WORD_SIZE_MASK)
        )
        for info in range(RA_SIGNED << 1)
    )
