"""Loads, stores and arithmetic at host addresses; the same answers compiled and not."""

import ctypes
import struct
import sys

import numba
import pytest

from emu.native import (
    add64,
    below,
    load8,
    load32,
    load64,
    store8,
    store32,
    store64,
    swap64,
)

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@numba.njit
def get8(address):
    return load8(address)


@numba.njit
def get32(address):
    return load32(address)


@numba.njit
def get64(address):
    return load64(address)


@numba.njit
def put8(address, value):
    store8(address, value)


@numba.njit
def put32(address, value):
    store32(address, value)


@numba.njit
def put64(address, value):
    store64(address, value)


@numba.njit
def swapped(value):
    return swap64(value)


@numba.njit
def total(left, right):
    return add64(left, right)


@numba.njit
def is_below(left, right):
    return below(left, right)


@pytest.fixture
def place() -> tuple[int, ctypes.Array[ctypes.c_char]]:
    """The address of 32 zero bytes, and the bytes."""
    data = ctypes.create_string_buffer(32)
    return ctypes.addressof(data), data


@pytest.mark.parametrize("value", [0, 1, -1, LOWEST, HIGHEST, 0x1122334455667788])
def test_load64_is_signed_in_host_order(place, value: int) -> None:
    """Eight bytes as the host stores them."""
    address, data = place
    data[0:8] = struct.pack("=q", value)
    assert get64(address) == value


def test_load64_at_an_odd_address(place) -> None:
    """Guest words may lie anywhere."""
    address, data = place
    data[3:11] = struct.pack("=q", 0x0102030405060708)
    assert get64(address + 3) == 0x0102030405060708


@pytest.mark.parametrize("value", [0, -1, 0x7FFFFFFF, -0x80000000])
def test_load32_extends_the_sign(place, value: int) -> None:
    """Codes of rows are negative where there is no row."""
    address, data = place
    data[0:8] = struct.pack("=ii", value, 0x55555555)
    assert get32(address) == value


def test_load8_is_unsigned(place) -> None:
    """A byte of 0xff is 255."""
    address, data = place
    data[0:2] = b"\xff\x55"
    assert get8(address) == 255


@pytest.mark.parametrize("value", [0, -1, LOWEST, HIGHEST])
def test_store64(place, value: int) -> None:
    """Eight bytes and no more."""
    address, data = place
    put64(address + 8, value)
    assert data.raw == bytes(8) + struct.pack("=q", value) + bytes(16)


@pytest.mark.parametrize("value", [0x11223344, -1, 0x7_89ABCDEF])
def test_store32_keeps_the_low_half(place, value: int) -> None:
    """Four bytes and no more."""
    address, data = place
    put32(address + 8, value)
    assert data.raw == bytes(8) + struct.pack("=I", value & 0xFFFFFFFF) + bytes(20)


@pytest.mark.parametrize("value", [0x11, -1, 0x1FE])
def test_store8_keeps_the_low_byte(place, value: int) -> None:
    """One byte and no more."""
    address, data = place
    put8(address + 8, value)
    assert data.raw == bytes(8) + bytes((value & 0xFF,)) + bytes(23)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (0x0102030405060708, 0x0807060504030201),
        (0x80, LOWEST),  # the sign comes from what was the lowest byte
        (-2, 0xFEFFFFFFFFFFFFFF - (1 << 64)),
        (LOWEST, 0x80),
        (0, 0),
    ],
)
def test_swap64(value: int, wanted: int) -> None:
    """Bytes in reverse order, as a signed number."""
    assert swapped(value) == wanted


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [(1, 2, 3), (HIGHEST, 1, LOWEST), (LOWEST, -1, HIGHEST), (-1, 1, 0), (-8, 8, 0)],
)
def test_add64_wraps(left: int, right: int, wanted: int) -> None:
    """The sum modulo 2^64."""
    assert total(left, right) == wanted


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        (0, 1, True), (1, 0, False), (1, 1, False),
        (-1, 0, False),  # 2^64 - 1 is the highest address
        (0, -1, True), (HIGHEST, LOWEST, True), (LOWEST, HIGHEST, False), (-2, -1, True),
    ],
)  # fmt: skip
def test_below_is_unsigned(left: int, right: int, wanted: bool) -> None:
    """Addresses of the upper half are above all of the lower one."""
    assert bool(is_below(left, right)) is wanted


def test_host_is_little_endian() -> None:
    """The recogniser packs instruction bytes for a little-endian load."""
    assert sys.byteorder == "little"
