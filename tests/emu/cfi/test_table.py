"""Real files: made from tests/data/cfi/frames.c, with the rows that readelf prints."""

from dataclasses import replace
from pathlib import Path

import pytest

from arch import by_name
from arch.row import Row, RuleKind
from emu.cfi.functions import read_functions
from emu.cfi.reading import EhFrame
from emu.cfi.table import cfi_table, read_image
from emu.errors import CfiError
from emu.image import Image, load_image
from emu.tables import FunctionRows
from tests.emu.cfi.frames_text import compare, parse

DATA = Path(__file__).parents[2] / "data" / "cfi"
NAMES = ["x86_64", "aarch64", "s390x"]


def functions_by_name(image: Image) -> dict[str, FunctionRows]:
    table = cfi_table(image)
    assert table is not None
    assert table.corrupt == ""
    found = {(f.section, f.start): f for f in table.functions}
    in_object = image.kind == "rel"
    return {
        s.name: found[key]
        for s in image.symbols
        if s.name and (key := (s.section_index if in_object else -1, s.value)) in found
    }


@pytest.mark.parametrize("name", NAMES)
def test_agrees_with_readelf_row_by_row(name: str):
    """CFA, RA and FP at every boundary of either side, and nothing is left over."""
    image = load_image(str(DATA / f"{name}.so"))
    text = parse((DATA / f"{name}.txt").read_text())
    table = cfi_table(image)
    assert table is not None
    counts, differences = compare(text, table.functions, by_name(name))
    assert differences == []
    assert counts["equal"] > 30
    assert counts["outermost"] == 1
    assert counts["expression"] == (6 if name == "x86_64" else 0)
    assert set(counts) <= {"equal", "outermost", "expression"}


@pytest.mark.parametrize("name", NAMES)
def test_the_comparison_notices_one_wrong_byte(name: str):
    """Each changed operand of a CFA or register rule makes a difference."""
    image = load_image(str(DATA / f"{name}.so"))
    text = parse((DATA / f"{name}.txt").read_text())
    section = image.section(".eh_frame")
    assert section is not None
    arch = by_name(name)
    data = image.section_bytes(section)
    planted = 0
    for at in range(len(data) - 1):
        if data[at] in (0x0E, 0x80 | arch.fp) and 0x41 <= data[at - 1] < 0x80:
            wrong = data[: at + 1] + bytes([data[at + 1] ^ 0x01]) + data[at + 2 :]
            reading = read_functions(EhFrame(wrong, section.addr, image.byte_order), arch)
            assert compare(text, reading.functions, arch)[1], hex(at)
            planted += 1
    assert planted >= 5


@pytest.mark.parametrize("name", NAMES)
def test_an_object_has_the_rows_of_the_linked_file(name: str):
    """Relocations place each function in its section; linking changes no row."""
    linked = functions_by_name(load_image(str(DATA / f"{name}.so")))
    image = load_image(str(DATA / f"{name}.o"))
    placed = functions_by_name(image)
    assert set(placed) == set(linked)
    assert len(placed) >= 9
    for function, rows in placed.items():
        assert (rows.starts, rows.rows, rows.size) == (
            linked[function].starts, linked[function].rows, linked[function].size,
        )  # fmt: skip
    sections = {image.sections[f.section].name for f in placed.values()}
    assert sections == {".text", ".text.apart"}


def test_the_linkage_table_of_a_real_library():
    """The linker's own FDE for .plt is cut in two."""
    image = load_image(str(DATA / "x86_64.so"))
    plt = image.section(".plt")
    table = cfi_table(image)
    assert table is not None
    assert plt is not None
    head, slots = table.functions[:2]
    assert (head.start, head.size, head.rep_size) == (plt.addr, 16, 0)
    assert (slots.start, slots.size, slots.rep_size) == (plt.addr + 16, plt.size - 16, 16)


def test_signed_return_addresses_of_a_real_library():
    """Compiled with pac-ret: signed from the second instruction to the one before ret."""
    rows = functions_by_name(load_image(str(DATA / "aarch64.so")))["plain"]
    signed = [row.ra_signed for row in rows.rows if isinstance(row, Row)]
    assert signed == [False, True, True, True, False]


def test_floating_point_save_registers_of_a_real_library():
    """GCC keeps %r11 in %f2 where a leaf needs many registers."""
    rows = functions_by_name(load_image(str(DATA / "s390x.so")))["crowded"]
    kinds = [row.fp.kind for row in rows.rows if isinstance(row, Row)]
    assert kinds == [RuleKind.KEEP, RuleKind.REGISTER, RuleKind.KEEP]


def test_a_file_without_unwind_table():
    """No section, or an empty one, is no table."""
    image = load_image(str(DATA / "x86_64.so"))
    rest = tuple(s for s in image.sections if s.name != ".eh_frame")
    assert cfi_table(replace(image, sections=rest)) is None
    empty = tuple(replace(s, size=0) if s.name == ".eh_frame" else s for s in image.sections)
    assert cfi_table(replace(image, sections=empty)) is None


def test_a_table_of_which_nothing_can_be_read_is_corrupt():
    """The reason is the first fault, with its offset."""
    image = load_image(str(DATA / "x86_64.so"))
    section = image.section(".eh_frame")
    assert section is not None
    data = image.data[: section.offset] + b"\xee" * section.size
    data += image.data[section.offset + section.size :]
    table = cfi_table(replace(image, data=data))
    assert table is not None
    assert table.functions == ()
    assert table.corrupt.startswith("offset 0x0: entry of 0xeeeeeeee bytes exceeds")
    assert table.size == section.size


def test_an_object_without_relocations_has_faults():
    """An FDE that cannot be placed is left out, with its reason."""
    image = load_image(str(DATA / "s390x.o"))
    rest = tuple(replace(s, kind=0) if s.name == ".rela.eh_frame" else s for s in image.sections)
    reading = read_image(replace(image, sections=rest))
    assert reading is not None
    assert reading.functions == ()
    assert len(reading.faults) >= 9
    assert all("no usable relocation" in fault for fault in reading.faults)


def test_an_unknown_machine_is_an_error():
    """Without a descriptor no register has a role."""
    with pytest.raises(CfiError, match="machine 62"):
        cfi_table(replace(load_image(str(DATA / "x86_64.so")), arch=None))
