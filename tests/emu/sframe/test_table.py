import struct

import pytest

from arch import CfaRule, RegRule, Row, RuleKind
from arch.aarch64 import AARCH64
from arch.row import KEEP
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.errors import ImageError
from emu.image import Image, parse_image
from emu.sframe.decode import decode
from emu.sframe.stored import Dialect, StoredRow, read_row
from emu.sframe.table import function_rows, row_meaning, sframe_table
from emu.tables import FunctionRows, NoRow
from emu.verdict import Verdict
from tests.emu.elf_file import ElfFile, ElfSection, rela, symbol_table
from tests.emu.sframe.section import Function, section

AMD64_ID, AARCH64_ID, S390X_ID = 3, 2, 4
ARCHES = {AMD64_ID: X86_64, AARCH64_ID: AARCH64, S390X_ID: S390X}


def meaning(abi: int, content: str, version: int = 3, flex: bool = False) -> Row | NoRow:
    """Of a row's bytes, with the RA offset that producers put into the header."""
    arch = ARCHES[abi]
    dialect = Dialect(arch, version, arch.byte_order, 0, arch.sframe.fixed_ra_offset, flex)
    stored = read_row(bytes.fromhex(content), dialect)
    assert isinstance(stored, StoredRow)
    return row_meaning(stored, arch, signal=False)


def at(offset: int) -> RegRule:
    return RegRule(RuleKind.AT_CFA, offset=offset)


# ------------------------------------------------------------------------------ corrupt


def table(*functions: Function, version: int = 2, flags: int = 0) -> tuple[FunctionRows, ...]:
    data = section(version, AMD64_ID, list(functions), flags=flags, fixed_ra=-8)
    return function_rows(decode(data))


def verdicts(function: FunctionRows) -> list[tuple[int, Verdict | None]]:
    """Starts, and what stands there instead of a row."""
    return [
        (start, row.verdict if isinstance(row, NoRow) else None)
        for start, row in zip(function.starts, function.rows, strict=True)
    ]


ROWS = bytes.fromhex("000308 040310 080318")


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(Function(0, 16, ROWS, 3, info=0x03), id="row type"),
        pytest.param(Function(0, 16, ROWS, 3, info=0x10), id="repeat size 0"),
    ],
)
def test_function_corrupt_as_a_whole(function: Function) -> None:
    """A function whose rows cannot be found is corrupt from first to last byte."""
    (found,) = table(function)
    assert verdicts(found) == [(0, Verdict.CORRUPT)]
    assert found.rep_size == 0


def test_rows_outside_the_area() -> None:
    """So is one whose rows lie elsewhere, and its neighbour is not."""
    data = bytearray(
        section(2, AMD64_ID, [Function(0, 16, ROWS, 3), Function(32, 16, ROWS, 3)], fixed_ra=-8)
    )
    struct.pack_into("<I", data, 36, 0x1000)
    first, second = function_rows(decode(bytes(data)))
    assert verdicts(first) == [(0, Verdict.CORRUPT)]
    assert verdicts(second) == [(0, None), (4, None), (8, None)]


def test_out_of_order() -> None:
    """Only a table that claims to be sorted can have a function out of order."""
    functions = [Function(start, 16, ROWS, 3) for start in (0x100, 0x80, 0x200)]
    assert [verdicts(f)[0][1] for f in table(*functions, flags=1)] == [
        None, Verdict.CORRUPT, None,
    ]  # fmt: skip
    assert [verdicts(f)[0][1] for f in table(*functions)] == [None, None, None]


@pytest.mark.parametrize(
    ("rows", "count", "expected"),
    [
        pytest.param("000308 040310 08630000", 3, [(0, None), (4, None), (8, True)], id="size"),
        pytest.param("000308 040310 040318", 3, [(0, None), (4, True)], id="equal starts"),
        pytest.param("000308 080310 040318", 3, [(0, None), (4, True)], id="falling starts"),
        pytest.param("00630000", 1, [(0, True)], id="first row"),
        pytest.param("000308 0403", 2, [(0, None), (4, True)], id="words cut"),
        pytest.param("000308 04", 2, [(0, None), (4, True)], id="info cut"),
        pytest.param("000308", 2, [(0, None), (1, True)], id="start cut"),
    ],
)
def test_corrupt_from_a_row_on(
    rows: str, count: int, expected: list[tuple[int, bool | None]]
) -> None:
    """Good rows count up to the start of the first wrong one, nothing counts behind it."""
    (found,) = table(Function(0, 16, bytes.fromhex(rows), count))
    wanted = [(start, Verdict.CORRUPT if bad else None) for start, bad in expected]
    assert verdicts(found) == wanted


def test_corrupt_flex_row() -> None:
    """Behind a row with wrong control words nothing counts, though later rows are decoded."""
    rows = bytes.fromhex("00043908 04043d08 08043908")
    (found,) = table(Function(0, 16, rows, 3, info2=1), version=3)
    assert verdicts(found) == [(0, None), (4, Verdict.CORRUPT)]


def test_faults_that_mislead_no_look_up() -> None:
    """Reserved bits, a wrong total and functions that overlap leave all rows in place."""
    data = bytearray(
        section(
            2,
            AMD64_ID,
            [Function(0, 24, ROWS, 3, info=0x40), Function(16, 16, ROWS, 3)],
            flags=1,
            fixed_ra=-8,
        )
    )
    struct.pack_into("<I", data, 12, 7)
    decoded = decode(bytes(data))
    assert [fault.offset for fault in decoded.faults] == [12, 44, 48]
    for function in function_rows(decoded):
        assert verdicts(function) == [(0, None), (4, None), (8, None)]


# ------------------------------------------------------------------- functions without rows


def test_function_without_rows() -> None:
    """An empty entry says nothing; as a signal frame it waits for a rule of its own."""
    plain, signal, nothing = (
        Function(0, 8, b"", 0), Function(8, 8, b"", 0, info=0x80), Function(16, 0, b"", 0),
    )  # fmt: skip
    found = table(plain, signal, nothing, version=3)
    assert [verdicts(function) for function in found] == [
        [(0, Verdict.NO_FRE)],
        [(0, Verdict.REFUSED)],
    ]


def test_signal_frame_with_rows() -> None:
    """The signal mark of V3 is passed on with each row."""
    (found,) = table(Function(0, 16, ROWS, 3, info=0x80), version=3)
    assert [row.signal for row in found.rows if isinstance(row, Row)] == [True, True, True]


def test_repeated_rows() -> None:
    """The repeated block's size is stored from V2 on; V1 has only that of PLT entries."""
    function = Function(0, 64, ROWS, 3, info=0x10, rep_size=32)
    assert table(function)[0].rep_size == 32
    assert table(function, version=1)[0].rep_size == 16
    data = section(1, AARCH64_ID, [Function(0, 64, b"\0\3\x10", 1, info=0x10)])
    (found,) = function_rows(decode(data))
    assert verdicts(found) == [(0, Verdict.REFUSED)]


# --------------------------------------------------------------------------- what rows mean


@pytest.mark.parametrize(
    ("abi", "version", "flex", "content", "row"),
    [
        # push %rbp; mov %rsp,%rbp
        (AMD64_ID, 3, False, "04 10 f0", Row(CfaRule(6, 16), at(-8), at(-16), 0)),
        # DRAP: CFA = *(rbp - 8), FP = *(rbp + 0)
        (
            AMD64_ID, 3, True, "0a 33 f8 00 33 00",
            Row(CfaRule(6, -8, deref=True), at(-8), RegRule(RuleKind.AT_REGISTER, 6, 0), 0),
        ),
        (
            AMD64_ID, 3, True, "08 39 00 09 00",
            Row(CfaRule(7, 0), RegRule(RuleKind.REGISTER, 1, 0), KEEP, 0),
        ),
        # FP = fp + 0 is no change.
        (AMD64_ID, 3, True, "0a 39 08 00 31 00", Row(CfaRule(7, 8), at(-8), KEEP, 0)),
        (AARCH64_ID, 3, False, "03 00", Row(CfaRule(31, 0), KEEP, KEEP, 0)),
        (
            AARCH64_ID, 3, False, "87 20 e8 e0",
            Row(CfaRule(31, 32), at(-24), at(-32), 0, ra_signed=True),
        ),
        (S390X_ID, 3, False, "07 16 d0 b8", Row(CfaRule(15, 336), at(-48), at(-72), -160)),
        (S390X_ID, 3, False, "07 00 00 b8", Row(CfaRule(15, 160), KEEP, at(-72), -160)),
        (
            S390X_ID, 2, False, "07 00 25 23",
            Row(
                CfaRule(15, 160), RegRule(RuleKind.REGISTER, 18, 0),
                RegRule(RuleKind.REGISTER, 17, 0), -160,
            ),
        ),
        # V2: RA in its own register, %r14.
        (S390X_ID, 2, False, "05 00 1d", Row(CfaRule(15, 160), KEEP, KEEP, -160)),
        (S390X_ID, 3, True, "08 79 00 71 00", Row(CfaRule(15, 160), KEEP, KEEP, -160)),
    ],
)  # fmt: skip
def test_meaning(abi: int, version: int, flex: bool, content: str, row: Row) -> None:
    """Rows of the assembler as rules of their machine."""
    assert meaning(abi, content, version, flex) == row


def test_signed_only_where_addresses_are_signed() -> None:
    """The mark of a signed return address means nothing on other machines."""
    row = meaning(AMD64_ID, "83 08")
    assert isinstance(row, Row)
    assert not row.ra_signed


def test_outermost() -> None:
    """A row without words ends the stack."""
    for abi in ARCHES:
        row = meaning(abi, "00")
        assert isinstance(row, Row)
        assert row.outermost


@pytest.mark.parametrize(
    ("abi", "flex", "content"),
    [
        pytest.param(AMD64_ID, True, "24 4101 1000", id="CFA on register 40"),
        pytest.param(AMD64_ID, True, "08 39 08 89 00", id="RA in register 17"),
        pytest.param(AMD64_ID, True, "08 39 08 08 f0", id="RA = CFA - 16, not loaded"),
        pytest.param(AMD64_ID, True, "0a 39 08 00 93 00", id="FP at register 18"),
    ],
)
def test_refused(abi: int, flex: bool, content: str) -> None:
    """A rule on what no unwinder can read is refused."""
    row = meaning(abi, content, flex=flex)
    assert isinstance(row, NoRow)
    assert row.verdict is Verdict.REFUSED


def test_return_address_nowhere() -> None:
    """A machine whose return address is in no register needs a rule for it."""
    (found,) = function_rows(decode(section(3, AMD64_ID, [Function(0, 16, b"\0\3\x08", 1)])))
    assert verdicts(found) == [(0, Verdict.REFUSED)]


def test_upper_half() -> None:
    """Functions at addresses that no program has are left out."""
    assert table(Function(-16, 16, ROWS, 3)) == ()


# ------------------------------------------------------------------------------- ELF files


def linked(data: bytes, machine: int = 62, kind: int = 1) -> Image:
    sections = [ElfSection(".sframe", kind, data, flags=2, addr=0x2000)]
    return parse_image("file", ElfFile(sections, machine=machine).write())


def test_linked_file() -> None:
    """Starts count from where the section is linked to."""
    data = section(3, AMD64_ID, [Function(-0x1000, 16, ROWS, 3)], flags=4, fixed_ra=-8)
    found = sframe_table(linked(data))
    assert found is not None
    assert (found.kind, found.size, found.corrupt) == ("sframe", len(data), "")
    assert [(f.start, f.size, f.section) for f in found.functions] == [(0x101C, 16, -1)]


def test_no_table() -> None:
    """No section and an empty one are both no table."""
    assert sframe_table(parse_image("file", ElfFile([]).write())) is None
    assert sframe_table(linked(b"")) is None


@pytest.mark.parametrize("damage", [b"\xe2\xde\x07", b"", b"\0"])
def test_unusable_table(damage: bytes) -> None:
    """A table that cannot be decoded says why."""
    data = section(3, AMD64_ID, [Function(0, 16, ROWS, 3)], fixed_ra=-8)
    found = sframe_table(linked((damage + data[len(damage) :])[: 20 if not damage else None]))
    assert found is not None
    assert found.functions == ()
    assert found.corrupt.startswith("offset 0x")


def test_table_of_another_machine() -> None:
    """A table made for another machine is no use."""
    found = sframe_table(linked(section(3, AMD64_ID, [], fixed_ra=-8), machine=183))
    assert found is not None
    assert "amd64" in found.corrupt


def test_section_without_bytes() -> None:
    """A section that is not in the file is an error of the file."""
    sections = [ElfSection(".sframe", 8, flags=2, size=100)]
    with pytest.raises(ImageError, match=r"\.sframe has no bytes"):
        sframe_table(parse_image("file", ElfFile(sections).write()))


def test_relocatable_file() -> None:
    """There starts come from the relocations, and functions know their section."""
    symbols, strings = symbol_table([("", 0, 0, 1, 3, 0), ("f", 0x40, 4, 1, 2, 1)])
    data = section(3, AMD64_ID, [Function(0, 16, ROWS, 3)] * 4, flags=4, fixed_ra=-8)
    relocations = rela(
        [
            (28, 24, 1, 0x10),  # R_X86_64_PC64 on the section symbol
            (44, 24, 2, 0),
            (60, 1, 1, 0x80),  # another type
            (76, 24, 9, 0),  # no such symbol
            (1 << 40, 24, 1, 0),
        ]
    )
    image = parse_image(
        "file",
        ElfFile(
            [
                ElfSection(".text", 1, bytes(256), flags=6),
                ElfSection(".sframe", 1, data, flags=2),
                ElfSection(".rela.sframe", 4, relocations, link=4, info=2),
                ElfSection(".symtab", 2, symbols, link=5),
                ElfSection(".strtab", 3, strings),
            ],
            kind=1,
        ).write(),
    )
    found = sframe_table(image)
    assert found is not None
    assert [(f.start, f.section) for f in found.functions] == [(0x10, 1), (0x40, 1)]
