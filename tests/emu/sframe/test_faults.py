"""Faults and functions are made when they are asked for, and look like lists all the same."""

import struct

import numpy as np
import pytest

from emu.sframe.decode import decode
from emu.sframe.faults import Fault, Faults
from emu.sframe.table import function_rows
from tests.emu.sframe.section import Function, section

AMD64 = 3


def test_sorted_by_offset() -> None:
    """Faults come by offset, those of the same offset as they were found."""
    faults = Faults()
    faults.add_all(np.array([40, 8]), "value {:#x}".format, np.array([1, 255]))
    faults.add(8, "later")
    faults.add((1 << 33) + 5, "far away")
    faults.add_all(np.array([], np.int64), "none")
    faults.sort()
    expected = (
        Fault(8, "value 0xff"),
        Fault(8, "later"),
        Fault(40, "value 0x1"),
        Fault((1 << 33) + 5, "far away"),
    )
    assert faults == expected
    assert tuple(faults) == expected
    assert len(faults) == 4
    assert (faults[-1], faults[1:3]) == (expected[3], expected[1:3])
    with pytest.raises(IndexError):
        faults[4]


def test_none() -> None:
    """Without a fault they are empty and false."""
    faults = Faults()
    faults.sort()
    assert faults == ()
    assert not faults


def test_more_contents_than_are_remembered() -> None:
    """Rows are read right where so many are different that equal ones are not noticed."""
    values = [value % 700 for value in range(2000)]
    rows = b"".join(
        struct.pack("<HBH", at, 3 | 1 << 5, value) for at, value in enumerate(values)
    )  # fmt: skip
    decoded = decode(section(1, AMD64, [Function(0, 3000, rows, 2000, info=1)], fixed_ra=-8))
    found = decoded.rows
    assert decoded.faults == ()
    assert 700 <= len(found.stored) <= 2000
    texts = [found.stored[content].cfa_text for content in found.contents]
    assert texts == [f"sp+{value}" for value in values]
    (function,) = function_rows(decoded)
    assert [row.cfa.offset for row in function.rows] == values  # type: ignore[union-attr]


def test_reasons_of_many_bad_rows() -> None:
    """Each bad row has the reason of its own bytes."""
    rows = b"".join(struct.pack("<BBHH", at, 4 | 1 << 5, 0x8000 | at << 3, 8) for at in range(200))
    decoded = decode(section(3, AMD64, [Function(0, 255, rows, 200, info2=1)]))
    assert [fault.offset for fault in decoded.faults] == [51 + 6 * at for at in range(200)]
    reasons = [fault.reason for fault in decoded.faults]
    assert reasons == [
        f"control word {0x8000 | at << 3:#x}: the CFA has no register" for at in range(200)
    ]


def test_last_byte_of_the_lower_half() -> None:
    """A function that ends with the lower half has no end that a look-up can hold."""
    start = (1 << 63) - 16
    row = bytes.fromhex("000308")
    assert function_rows(decode(section(3, AMD64, [Function(start, 16, row, 1)]))) == ()
    (function,) = function_rows(decode(section(3, AMD64, [Function(start, 15, row, 1)])))
    assert function.start == start
