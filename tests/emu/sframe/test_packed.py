"""Sections packed at once are what the table of objects says, or are left to it."""

from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch import Row
from emu.errors import SFrameError
from emu.image import load_image, parse_image
from emu.sframe.container import find_section
from emu.sframe.decode import decode
from emu.sframe.header import read_header
from emu.sframe.packed import pack_section, packed_table
from emu.sframe.table import function_rows, sframe_table
from emu.tables import PackedTable, Table
from emu.unwind.lookup import RowTable
from emu.unwind.sources import row_table
from emu.verdict import Verdict
from testprogs.unpack import Prebuilt
from tests.emu.elf_file import ElfFile, ElfSection
from tests.emu.sframe.section import Function, section

pytestmark = pytest.mark.compiled

AMD64, AARCH64, AARCH64_BE, S390X = 3, 2, 1, 4

Meaning = list[tuple[int, int, int, list[tuple[int, Row | Verdict]]]]


def meaning(table: PackedTable) -> Meaning:
    """Start, end, repeat size and rows of every function."""
    return [
        (start, end, rep_size, [
            (int(table.starts[row]),
             table.rows[code] if (code := int(table.codes[row])) >= 0 else Verdict(-code))
            for row in range(first, first + count)
        ])
        for start, end, rep_size, first, count in table.functions.tolist()
    ]  # fmt: skip


def check(data: bytes, address: int = 0) -> bool:
    """The section is packed as the table has it, and is packed unless it has faults."""
    try:
        decoded = decode(data, address)
    except SFrameError:
        return False
    packed = pack_section(data, decoded.header, address)
    assert (packed is None) == bool(decoded.faults)
    if packed is None:
        return False
    table = RowTable(Table("sframe", function_rows(decoded), len(data)), decoded.header.arch)
    assert meaning(packed) == meaning(table.arrays)
    return True


def test_every_prebuilt_file(prebuilt: Mapping[tuple[str, str], Prebuilt]) -> None:
    """All linked programs are packed, with the functions and rows of their tables."""
    packed_ones = 0
    for entry in prebuilt.values():
        image = load_image(str(entry.path))
        assert image.arch is not None
        packed = packed_table(image)
        assert (packed is None) == (image.kind == "rel")
        if packed is not None:
            packed_ones += 1
            slow = RowTable(sframe_table(image), image.arch)
            assert meaning(packed) == meaning(slow.arrays)
    assert packed_ones >= 230


ROWS = bytes.fromhex("000308 040310 080318")
FLEX_ROWS = bytes.fromhex("000b 39 08 00 33 f0 0405 39 10")
SECTIONS = [
    section(1, AMD64, [Function(0x100, 16, ROWS, 3), Function(0x200, 16, ROWS, 3, 0x10)],
            flags=1, fixed_ra=-8),
    section(2, AMD64, [Function(0x100, 16, ROWS, 3), Function(0x200, 64, ROWS, 3, 0x10, 0, 16)],
            flags=1, fixed_ra=-8),
    section(2, AARCH64, [Function(0x100, 16, bytes.fromhex("0003 10 0485 10f8"), 2),
                         Function(0x300, 16, b"", 0)], flags=5),
    section(2, S390X, [Function(0x10, 300, bytes.fromhex("0000 25 fff6 fffe 0006 00"), 2, 1)]),
    section(3, AMD64, [Function(0x100, 16, ROWS, 3, 0x80), Function(0x200, 16, ROWS, 3),
                       Function(0x80, 16, b"", 0, 0x80)], flags=4, fixed_ra=-8),
    section(3, AMD64, [Function(0x100, 16, FLEX_ROWS, 2, 0, 1), Function(0x200, 16, b"", 0)]),
    section(3, AARCH64_BE, [Function(-0x100, 0x7000, bytes.fromhex(
        "00000000 03 10  00000400 45 00000010 fffffff0"), 2, 2)], flags=4),
    section(3, S390X, [Function(0x100, 70000, bytes.fromhex(
        "0000 4b 00000079 ffffffff 00000000 00000079 0000000a"), 1, 1, 1)]),
]  # fmt: skip


WRAPS = (1 << 63) - 0x180
"""An address in front of the upper half, whose functions are below those in front of it."""


@pytest.mark.parametrize("number", range(len(SECTIONS)))
@pytest.mark.parametrize("address", [0, 0x401000, WRAPS, (1 << 64) - 0x180])
def test_sections_by_hand(number: int, address: int) -> None:
    """Each version, byte order, kind of row and of function, also where addresses wrap."""
    wraps = address == WRAPS
    assert check(SECTIONS[number], address) or wraps


@settings(max_examples=1500, deadline=None)
@given(st.data())
def test_mutated_bytes(data: st.DataObject) -> None:
    """Whatever is changed, the outcome is that of the table, or none where there are faults."""
    content = bytearray(data.draw(st.sampled_from(SECTIONS)))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(3, len(content) - 1))
        content[at] = data.draw(st.one_of(
            st.integers(0, 255), st.sampled_from((0, 1, content[at] ^ 1, content[at] ^ 0x80))
        ))  # fmt: skip
    end = data.draw(st.sampled_from((len(content), len(content), data.draw(st.integers(28, 120)))))
    check(bytes(content[:end]) + bytes(data.draw(st.integers(0, 9))))


@pytest.mark.parametrize(("shares", "position"), [(0, 14), (2, 14), (0, 4), (1, 31)])
def test_functions_that_share_bytes(shares: int, position: int) -> None:
    """A function that names bytes of another one is left to the table, as is the other one."""
    data = bytearray(section(3, AMD64, [Function(0x100, 16, ROWS, 3) for _ in range(3)]))
    at = 28 + 16 * shares + 12
    data[at : at + 4] = position.to_bytes(4, "little")
    assert not check(bytes(data))


def test_rows_of_functions_in_any_order() -> None:
    """The order of the FRE area need not be that of the FDEs."""
    first = section(3, AMD64, [Function(0x200, 16, ROWS, 3), Function(0x100, 32, ROWS, 3)])
    data = first[:28] + first[44:60] + first[28:44] + first[60:]
    assert check(data)
    packed = pack_section(data, read_header(data))
    assert packed is not None
    assert [f[:2] for f in packed.functions.tolist()] == [[0x100, 0x120], [0x200, 0x210]]


def test_many_different_rows() -> None:
    """More contents than the loop keeps are left to the table; fewer are told apart."""

    def of(count: int) -> bytes:
        rows = b"".join(
            bytes((n % 250, 0x43)) + n.to_bytes(4, "little", signed=True) for n in range(count)
        )
        parts = [rows[at : at + 1500] for at in range(0, len(rows), 1500)]
        return section(2, AMD64, [
            Function(0x1000 * n, 0x100, part, len(part) // 6) for n, part in enumerate(parts)
        ], fixed_ra=-8)  # fmt: skip

    assert check(of(4000))
    data = of(40000)
    assert not decode(data).faults
    assert pack_section(data, read_header(data)) is None


def test_long_rows_that_differ_late() -> None:
    """Contents with the same first eight bytes are not the same."""
    rows = b"".join(
        bytes((n, 0x4F)) + bytes.fromhex("39000000 08000000 0b000000 f8ffffff 33000000")
        + bytes((240 - 8 * (n // 2 % 2), 255, 255, 255))
        for n in range(8)
    )  # fmt: skip
    data = section(3, AMD64, [Function(0x100, 16, rows, 8, 0, 1)])
    assert read_header(data).num_fres == 8
    check(data)


def test_large_sections_take_the_short_way() -> None:
    """A big table is not made of objects until a reason is asked for."""
    functions = [Function(0x1000 * n, 0x100, ROWS, 3) for n in range(6000)]
    functions.append(Function(0x1000 * 6000, 0x100, b"", 0))
    data = section(2, AMD64, functions, flags=1, fixed_ra=-8)
    image = parse_image("file", ElfFile([ElfSection(".sframe", 1, data, flags=2)]).write())
    assert image.arch is not None
    table = row_table(image, image.arch, "sframe")
    assert callable(table._table)
    assert table.function_bounds[-1] == (0x1000 * 6000, 0x1000 * 6000 + 0x100)
    assert table.reason(0x1000) == ""
    assert table.reason(0x1000 * 6000) == "function without rows"
    assert not callable(table._table)
    assert find_section(image) is not None
