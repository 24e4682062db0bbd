"""The loop of `packed`: functions, rows and their different contents, from the bytes.

Everything here exists compiled only.
"""

import numba
import numpy as np
import numpy.typing as npt

from emu.native import load8, load64, swap64
from emu.sframe.layout import (
    FDE_TYPE_MASK,
    FLEX,
    FRE_TYPE_MASK,
    INFO2_RESERVED,
    PC_MASK,
    WORD_COUNT_MASK,
    WORD_COUNT_SHIFT,
    WORD_SIZE_MASK,
    WORD_SIZE_SHIFT,
)

Words = npt.NDArray[np.int64]

FIELDS = ("start", "size", "fre", "num_fres", "info", "info2", "rep_size")
"""Of a FDE, by their names in `layout`."""
START, SIZE, FRE, NUM_FRES, INFO, INFO2, REP_SIZE = range(7)

# What the loop has to know of a section, as indices of int64 words.
(
    ADDRESS, LENGTH, BIG, FDES_AT, FDE_SIZE, NUM_FDES, AREA_AT, AREA_SIZE, ATTRIBUTES_SIZE,
    BASE, PCREL, SORTED, INFO_MUST_NOT, SIGNAL_BIT, STORES_REP_SIZE, FIXED_REP_SIZE, FEWEST,
    MOST, FLEX_FEWEST, FLEX_MOST,
) = range(20)  # fmt: skip
FACTS = 20

IS_FLEX, IS_SIGNAL = 1, 2
"""Bits of a tag: what a row's meaning depends on besides its bytes and the header."""
WHOLE_MASK, WHOLE_SIGNAL, WHOLE_ROWS = 1, 2, 4
"""Bits that say why a function has no usable rows."""
AT, BYTES, TAG, WORD = range(4)
"""Words of a content: its offset, its size, its tag and its first bytes."""
WRONG = -1


@numba.njit(cache=True)
def translate(codes: npt.NDArray[np.int32], meanings: npt.NDArray[np.int32]) -> None:
    """Number of its content -> code, for each row."""
    for row in range(len(codes)):
        codes[row] = meanings[codes[row]]


@numba.njit(cache=True, forceinline=True)
def _number(at: int, size: int, end: int, big: bool) -> int:
    """The signed number of 1, 2, 4 or 8 bytes at an address; bytes from `end` on are not read."""
    shift = 64 - 8 * size
    if at + 8 <= end:
        word = load64(at)
        return swap64(word) >> shift if big else (word << shift) >> shift
    word = 0
    for byte in range(size):
        word |= load8(at + byte) << 8 * (size - 1 - byte if big else byte)
    return (word << shift) >> shift


@numba.njit(cache=True, forceinline=True)
def _field(
    fields: Words, number: int, fde: int, attributes: int, end: int, big: bool
) -> int:
    """A field of a FDE, of which there are four bytes at most, or 0 in a version without it."""
    size = fields[number, 2]
    if size == 0:
        return 0
    at = (attributes if fields[number, 0] else fde) + fields[number, 1]
    value: int = _number(at, size, end, big) & ((1 << 8 * size) - 1)
    return value


@numba.njit(cache=True)
def read(
    facts: Words, fields: Words, functions: Words, claimed: Words, starts: Words,
    codes: npt.NDArray[np.int32], slots: npt.NDArray[np.int32], known: Words,
) -> int:  # fmt: skip
    """Read all functions and rows; a row's code is for now the number of its content.

    `slots` is a hash table with open addressing: -1 or the number of a content in `known`.
    Bytes chosen to collide in it, as no others do, are given up like any fault, so that the
    work stays linear.

    Returns:
        How many different contents there are; WRONG: there is a fault, or too many of them.
    """
    # Here all positions are addresses.
    base, big = facts[ADDRESS], facts[BIG] != 0
    last = base + facts[LENGTH]
    area = base + facts[AREA_AT]
    end = area + facts[AREA_SIZE]
    fdes, fde_size = base + facts[FDES_AT], facts[FDE_SIZE]
    attributes_size = facts[ATTRIBUTES_SIZE]
    last_slot = len(slots) - 1
    patience = 8 * len(starts) + 1024
    number_known = 0
    row = 0
    start = before = filled_start = filled_size = 0
    for fde in range(facts[NUM_FDES]):
        at = fdes + fde * fde_size
        start = facts[BASE] + _number(
            at + fields[START, 1], fields[START, 2], last, big
        )
        if facts[PCREL]:
            start += at - base
        size = _field(fields, SIZE, at, 0, last, big)
        fre = _field(fields, FRE, at, 0, last, big)
        attributes = area + fre
        position = attributes + attributes_size
        if position > end:
            return WRONG
        count = _field(fields, NUM_FRES, at, attributes, last, big)
        info = _field(fields, INFO, at, attributes, last, big)
        info2 = _field(fields, INFO2, at, attributes, last, big)
        rep_size = _field(fields, REP_SIZE, at, attributes, last, big)
        flex = (info2 & FDE_TYPE_MASK) == FLEX
        mask = info & PC_MASK
        if count > len(starts) - row or (position == end and count):
            return WRONG
        if info & FRE_TYPE_MASK > 2 or info & facts[INFO_MUST_NOT]:
            return WRONG
        if info2 & FDE_TYPE_MASK > FLEX or info2 & INFO2_RESERVED:
            return WRONG
        if mask and facts[STORES_REP_SIZE] == 0:
            rep_size = facts[FIXED_REP_SIZE]
        elif mask and rep_size == 0:
            return WRONG
        if facts[SORTED]:
            if fde and start < before:
                return WRONG
            before = start
            if size:
                # A distance that wraps is a large one.
                if filled_size and 0 <= start - filled_start < filled_size:
                    return WRONG
                filled_start, filled_size = start, size

        functions[fde, 0] = start
        functions[fde, 1] = start + size
        functions[fde, 2] = rep_size if mask else 0
        functions[fde, 3] = row
        functions[fde, 4] = count
        signal = info & facts[SIGNAL_BIT]
        if count == 0 or (mask and rep_size == 0):
            why = WHOLE_MASK if mask else 0
            why |= WHOLE_SIGNAL if signal else 0
            functions[fde, 3] = ~(why | (WHOLE_ROWS if count else 0))
        claimed[fde, 0] = attributes

        tag = (IS_FLEX if flex else 0) | (IS_SIGNAL if signal else 0)
        width = 1 << (info & FRE_TYPE_MASK)
        # A row behind a repeated block is never reached, but not wrong.
        limit = 1 << 32 if mask else size
        fewest = facts[FLEX_FEWEST] if flex else facts[FEWEST]
        most = facts[FLEX_MOST] if flex else facts[MOST]
        previous = -1
        for _ in range(count):
            content = position + width
            if content >= end:
                return WRONG
            offset = _number(position, width, last, big) & ((1 << 8 * width) - 1)
            info = load8(content)
            words = (info >> WORD_COUNT_SHIFT) & WORD_COUNT_MASK
            word_size = (info >> WORD_SIZE_SHIFT) & WORD_SIZE_MASK
            length = 1 + (words << word_size)
            position = content + length
            if position > end or word_size == 3 or offset <= previous or offset > limit:
                return WRONG
            if words > most or (words != 0 and words < fewest):
                return WRONG
            previous = offset

            # Rows of equal length are equal if their first eight bytes and the others are.
            if content + 8 <= last:
                word = load64(content)
            else:
                word = 0
                for byte in range(min(length, 8)):
                    word |= load8(content + byte) << 8 * byte
            if length < 8:
                word <<= 64 - 8 * length
            mixed = word ^ tag
            for byte in range(8, length):
                mixed = mixed * 0x100000001B3 ^ load8(content + byte)
            slot = ((mixed * -7046029254386353131) >> 40) & last_slot
            number = slots[slot]
            while number >= 0:
                if (
                    known[number, WORD] == word
                    and known[number, BYTES] == length
                    and known[number, TAG] == tag
                ):
                    other = base + known[number, AT]
                    byte = 8
                    while byte < length and load8(other + byte) == load8(content + byte):
                        byte += 1
                    if byte >= length:
                        break
                patience -= 1
                if patience < 0:
                    return WRONG
                slot = (slot + 1) & last_slot
                number = slots[slot]
            if number < 0:
                if number_known == len(known):
                    return WRONG
                number = number_known
                number_known += 1
                slots[slot] = number
                known[number, AT] = content - base
                known[number, BYTES] = length
                known[number, TAG] = tag
                known[number, WORD] = word
            starts[row] = offset
            codes[row] = number
            row += 1
        claimed[fde, 1] = position
    return number_known if row == len(starts) else WRONG
