"""Words and info bytes that a row cannot have: one rule for `dump` and for the table."""

import pytest

from arch import by_sframe_abi
from emu.sframe.decode import decode
from emu.sframe.stored import BadRow, Dialect, StoredRow, read_row
from emu.sframe.table import function_rows, row_meaning
from emu.tables import NoRow
from emu.verdict import Verdict
from tests.emu.sframe.section import Function, section

AMD64, AARCH64, S390X = 3, 2, 4


def read(abi: int, content: str, version: int = 2, flex: bool = False) -> StoredRow | BadRow:
    """A row with the RA offset that producers put into the header."""
    arch = by_sframe_abi(abi)
    assert arch is not None
    facts = arch.sframe
    dialect = Dialect(arch, version, facts.abi_ids[abi], 0, facts.fixed_ra_offset, flex)
    return read_row(bytes.fromhex(content), dialect)


@pytest.mark.parametrize(
    ("content", "offset"),
    [
        pytest.param("05 00 f7", 2, id="r-5"),
        pytest.param("05 00 ff", 2, id="r-1"),
        pytest.param("07 00 d0 81", 3, id="FP in r-64"),
        pytest.param("07 00 00 ff", 3, id="FP in r-1"),
        pytest.param("27 0000 0025 8001", 5, id="two bytes"),
        pytest.param("25 0000 0101", 3, id="r128"),
        pytest.param("45 00000000 7fffffff", 5, id="four bytes"),
    ],
)
def test_a_register_that_no_machine_has(content: str, offset: int) -> None:
    """In V2 of s390x an odd word is a register; a negative or too large number is its fault."""
    row = read(S390X, content)
    assert isinstance(row, BadRow)
    assert (row.offset, row.reason.split(":")[1]) == (offset, " no machine has such a register")


@pytest.mark.parametrize(
    ("abi", "version", "content", "texts"),
    [
        (S390X, 2, "05 00 01", ("r0", "u")),
        (S390X, 2, "25 0000 00ff", ("r127", "u")),
        (S390X, 3, "05 00 f7", ("c-9", "u")),
        (S390X, 1, "05 00 f7", ("c-9", "u")),
        (S390X, 2, "03 f7", ("u", "u")),
        (AARCH64, 2, "05 10 f7", ("c-9", "u")),
        (AMD64, 2, "05 10 f7", ("f", "c-9")),
    ],
)
def test_other_odd_words(abi: int, version: int, content: str, texts: tuple[str, str]) -> None:
    """Registers up to 127, offsets of other versions and machines, and the CFA word are right."""
    row = read(abi, content, version)
    assert isinstance(row, StoredRow)
    assert (row.ra_text, row.fp_text) == texts


def test_the_fault_and_the_table() -> None:
    """`dump` names the word and leaves the row out; in the table it is corrupt from there on."""
    rows = bytes.fromhex("000300 040500f7 080300")
    data = section(2, S390X, [Function(0, 16, rows, 3), Function(32, 16, rows[:3], 1)])
    decoded = decode(data)
    area = len(data) - len(rows) - 3
    reason = "data word -9: no machine has such a register"
    assert list(decoded.faults) == [(area + 6, reason)]
    assert list(decoded.rows.contents) == [0, -1, 0, 0]
    first, second = function_rows(decoded)
    assert [(start, isinstance(row, NoRow) and row.verdict) for start, row in
            zip(first.starts, first.rows, strict=True)] == [(0, False), (4, Verdict.CORRUPT)]
    assert not isinstance(second.rows[0], NoRow)


def test_bad_rows_of_both_kinds() -> None:
    """Each has the reason of its own kind, also where their bytes are equal."""
    data = section(
        3, S390X, [Function(0, 16, bytes.fromhex("00 04 05 00"), 1, info2=1),
                   Function(32, 16, bytes.fromhex("00 04 78 00"), 1, info2=1)],
    )  # fmt: skip
    reasons = [fault.reason for fault in decode(data).faults]
    assert reasons == [
        "control word 0x5: a reserved bit is set", "control word 0x78: the CFA has no register",
    ]  # fmt: skip


@pytest.mark.parametrize("flex", [False, True])
@pytest.mark.parametrize("info", ["00", "01", "20", "40", "41", "80", "81"])
def test_outermost_row_with_other_bits(info: str, flex: bool) -> None:
    """The count of words alone ends the stack (sframe.h): no reader looks at the other bits."""
    for abi in (AMD64, AARCH64, S390X):
        arch = by_sframe_abi(abi)
        assert arch is not None
        row = read(abi, info, 3, flex)
        assert isinstance(row, StoredRow)
        assert (row.cfa_text, row.fp_text, row.ra_text, row.ra_signed) == (
            None, None, "undef", False,
        )  # fmt: skip
        meaning = row_meaning(row, arch, signal=False)
        assert not isinstance(meaning, NoRow)
        assert meaning.outermost


def test_size_code_of_an_outermost_row() -> None:
    """Code 3 is invalid in any row; the others say nothing where there are no words."""
    data = section(3, AMD64, [Function(0, 16, bytes.fromhex("00c1 0460"), 2)], fixed_ra=-8)
    (fault,) = decode(data).faults
    assert fault == (len(data) - 1, "size code 3 for the data words")
