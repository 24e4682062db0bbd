"""Sections from an adversary: never an exception, never more work than bytes."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch import ALL, Arch
from arch.aarch64 import AARCH64
from arch.row import RuleKind
from arch.x86_64 import X86_64
from emu.cfi.functions import Reading
from emu.cfi.reading import EhFrame
from emu.cfi.saved import read_rows
from emu.image import load_image
from emu.tables import NoRow
from emu.verdict import Verdict
from tests.emu.cfi.section import ADDRESS, cie, fde, initial, read, section

DATA = Path(__file__).parents[2] / "data" / "cfi"
ARCHES = [AARCH64, *(arch for arch in ALL if arch is not AARCH64)]


def check(reading: Reading, size: int) -> None:
    """What every reading keeps, whatever the bytes."""
    for function in reading.functions:
        assert function.size > 0
        assert 0 <= function.start < function.start + function.size < 1 << 64
        assert len(function.starts) == len(function.rows) > 0
        assert function.starts[0] == 0
        assert all(a < b for a, b in zip(function.starts, function.starts[1:], strict=False))
        assert function.starts[-1] < (function.rep_size or function.size)
        for row in function.rows:
            if isinstance(row, NoRow):
                assert row.verdict in (Verdict.CORRUPT, Verdict.REFUSED)
                assert len(row.reason) < 300
    assert sum(len(function.rows) for function in reading.functions) <= 2 * size
    assert len(reading.faults) <= size


def check_saved(arch: Arch, data: bytes, reading: Reading) -> None:
    """Following more registers changes no row, whatever is said of them."""
    again, saved = read_rows(EhFrame(data, ADDRESS, arch.byte_order), arch)
    assert again == reading
    for one in saved:
        assert len(one.starts) == len(one.rules) > 0
        assert one.starts[0] == 0
        assert all(a < b for a, b in zip(one.starts, one.starts[1:], strict=False))
        assert one.starts[-1] < one.size
        assert all(a != b for a, b in zip(one.rules, one.rules[1:], strict=False))
        for rules in one.rules:
            numbers = [rule.register for rule in rules]
            assert numbers == sorted(set(numbers))
            stack = {arch.sp} if arch.sp_offset else set()
            assert set(numbers) <= set(arch.callee_saved) - {arch.fp} | stack
            assert all(rule.rule.kind is not RuleKind.KEEP for rule in rules)
    assert {one.start for one in saved} <= {function.start for function in reading.functions}


@settings(deadline=None)
@given(st.sampled_from(ARCHES), st.binary(max_size=400))
def test_any_bytes(arch, data: bytes):
    """Nothing of them is an entry, mostly."""
    reading = read(arch, data)
    check(reading, len(data))
    check_saved(arch, data, reading)


@settings(deadline=None)
@given(st.sampled_from(ARCHES), st.binary(max_size=80), st.binary(max_size=20))
def test_any_instructions(arch, instructions: bytes, extra: bytes):
    """A well-formed frame around anything."""
    data = section(arch, instructions, cie_extra=extra)
    reading = read(arch, data)
    assert len(reading.functions) >= 1
    check(reading, len(data))
    check_saved(arch, data, reading)


@settings(deadline=None)
@given(
    st.sampled_from(["x86_64", "aarch64", "s390x"]),
    st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6),
)
def test_any_changes_of_a_real_section(name: str, changes: list[tuple[int, int]]):
    """Bytes of a compiler with a few others among them."""
    image = load_image(str(DATA / f"{name}.so"))
    found = image.section(".eh_frame")
    assert found is not None
    data = bytearray(image.section_bytes(found))
    for at, value in changes:
        data[at % len(data)] = value
    assert image.arch is not None
    reading = read(image.arch, bytes(data))
    check(reading, len(data))
    check_saved(image.arch, bytes(data), reading)


HEAD = cie("little", initial(X86_64), column=16)
NEST = section(X86_64, b"\x0a" * 60_000 + b"\x41\x0b" * 60_000, size=1 << 20)


def many(body: bytes, count: int) -> bytes:
    data = bytearray(HEAD)
    for _ in range(count):
        data += fde("little", len(data), body)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        bytes(200_000),
        b"\xff" * 200_000,
        b"\x80" * 200_000,
        HEAD + b"\x04\0\0\0\x04\0\0\0" * 25_000,
        many(b"\x0f\xff\xff\x7f", 8_000),
        many(b"\x0f\x80" + b"\x80" * 18, 5_000),
        section(X86_64, b"\x41" * 200_000, size=1 << 20),
        section(X86_64, b"\x41\x0e\x10\x41\x0e\x18" * 30_000, size=1 << 20),
        section(X86_64, b"\x0f" + b"\xa0\x8d\x06" + b"\x77\x00" * 50_000),
        NEST,
    ],
    ids=["zeros", "ones", "leb", "no-cie", "blocks", "long-leb", "advances", "rows", "expression",
         "nesting"],
)  # fmt: skip
def test_work_is_linear(data: bytes):
    """200 kB take a second or so of processor time whatever they say; quadratic work, minutes."""
    begin = time.process_time()
    reading = read(X86_64, data)
    read_rows(EhFrame(data, ADDRESS, "little"), X86_64)
    assert time.process_time() - begin < 8
    check(reading, len(data))
    check_saved(X86_64, data, reading)


def test_a_large_augmentation_is_cut_in_reasons():
    """Reasons are for people: they do not repeat the section."""
    first = cie("little", b"", column=16, augmentation=b"zR" + b"?" * 5000)
    reading = read(X86_64, first + fde("little", len(first), b""))
    check(reading, 10_000)
    assert all(len(fault) < 300 for fault in reading.faults)
