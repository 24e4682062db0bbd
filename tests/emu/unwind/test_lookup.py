"""Address to row: the four corners of every search, and the reasons for no row."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch import CfaRule, RegRule, Row, RuleKind
from arch.row import KEEP
from arch.x86_64 import X86_64
from emu.tables import FunctionRows, NoRow, Table
from emu.unwind.lookup import RowTable, lookup
from emu.verdict import Verdict


def row(offset: int) -> Row:
    """CFA=sp+offset RA=c-8 FP=u."""
    return Row(CfaRule(7, offset), RegRule(RuleKind.AT_CFA, offset=-8), KEEP, 0)


def table_of(*functions: FunctionRows, corrupt: str = "") -> RowTable:
    """A table ready for look-up."""
    return RowTable(Table("sframe", functions, 100, corrupt), X86_64)


def found(table: RowTable, address: int) -> int | Verdict:
    """The CFA offset of the row at an address, or the verdict where there is none."""
    code = int(lookup(table.block, address))
    return Verdict(-code) if code < 0 else table.rows[code].cfa.offset


FIRST = FunctionRows(0x1000, 0x10, (0, 1, 4), (row(8), row(16), row(24)))
SECOND = FunctionRows(0x1010, 0x20, (0, 8), (row(32), row(40)))
THIRD = FunctionRows(0x1100, 0x10, (4,), (row(48),))


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        (0x0, Verdict.NO_FDE), (0xFFF, Verdict.NO_FDE),  # text before the first function
        (0x1000, 8), (0x1001, 16), (0x1003, 16), (0x1004, 24), (0x100F, 24),
        (0x1010, 32), (0x1017, 32), (0x1018, 40), (0x102F, 40),  # it follows at once
        (0x1030, Verdict.NO_FDE), (0x10FF, Verdict.NO_FDE),  # a gap between functions
        (0x1100, Verdict.NO_FRE), (0x1103, Verdict.NO_FRE), (0x1104, 48), (0x110F, 48),
        (0x1110, Verdict.NO_FDE), (0x7FFF_FFFF_FFFF_FFFF, Verdict.NO_FDE),  # text behind the last
        (-1, Verdict.NO_FDE),
    ],
)  # fmt: skip
def test_corners(address: int, wanted: int | Verdict) -> None:
    """First, inside, last, just past; text before, between and behind."""
    assert found(table_of(FIRST, SECOND, THIRD), address) == wanted


def test_order_of_the_functions_does_not_matter() -> None:
    """A table that is not sorted is searched all the same."""
    table = table_of(THIRD, SECOND, FIRST)
    assert [found(table, address) for address in (0x1000, 0x1010, 0x1104)] == [8, 32, 48]


@pytest.mark.parametrize(
    ("address", "wanted"),
    [
        (0x2000, 8), (0x2005, 8), (0x2006, 16), (0x200F, 16),  # the first block
        (0x2010, 8), (0x2015, 8), (0x2016, 16), (0x201F, 16),  # the second
        (0x2026, 16), (0x2027, Verdict.NO_FDE),  # the last one is cut short
    ],
)  # fmt: skip
def test_repeated_block(address: int, wanted: int | Verdict) -> None:
    """Rows of PLT stubs hold for every block of 16 bytes."""
    plt = FunctionRows(0x2000, 0x27, (0, 6), (row(8), row(16)), rep_size=16)
    assert found(table_of(plt), address) == wanted


def test_no_function_at_all() -> None:
    """An empty table says nothing, anywhere."""
    table = table_of()
    assert [found(table, address) for address in (0, 0x1000)] == [Verdict.NO_FDE] * 2


def test_no_table() -> None:
    """A module without the section is another gap than a table without the function."""
    assert found(RowTable(None, X86_64), 0x1000) is Verdict.NO_TABLE


def test_whole_table_corrupt() -> None:
    """Where nothing can be decoded every address is corrupt, and the reason is kept."""
    table = table_of(corrupt="magic is 0x1234")
    assert found(table, 0x1000) is Verdict.CORRUPT
    assert table.reason(0x1000) == "magic is 0x1234"


def test_function_without_rows() -> None:
    """An entry with no row is not the same as no entry."""
    table = table_of(FunctionRows(0x1000, 0x10, (), ()))
    assert [found(table, a) for a in (0xFFF, 0x1000, 0x100F, 0x1010)] == [
        Verdict.NO_FDE, Verdict.NO_FRE, Verdict.NO_FRE, Verdict.NO_FDE,
    ]  # fmt: skip


@pytest.mark.parametrize("verdict", [Verdict.CORRUPT, Verdict.NO_FRE, Verdict.REFUSED])
def test_stretches_without_a_row(verdict: Verdict) -> None:
    """A reason holds from its start to the next row, as a row does."""
    function = FunctionRows(
        0x1000, 0x10, (0, 4, 8), (row(8), NoRow(verdict, "because of this"), row(16))
    )
    table = table_of(function)
    assert [found(table, a) for a in (0x1003, 0x1004, 0x1007, 0x1008)] == [8, verdict, verdict, 16]
    assert [table.reason(a) for a in (0x1003, 0x1004, 0x1007, 0x1008)] == [
        "", "because of this", "because of this", "",
    ]  # fmt: skip


def test_reason_in_a_repeated_block() -> None:
    """The reason is looked up as the row is."""
    plt = FunctionRows(
        0x2000, 0x20, (0, 6), (row(8), NoRow(Verdict.REFUSED, "expression")), rep_size=16
    )
    assert [table_of(plt).reason(a) for a in (0x2005, 0x2006, 0x2015, 0x2016)] == [
        "", "expression", "", "expression",
    ]  # fmt: skip


def test_function_of_size_zero_describes_nothing() -> None:
    """It shares its start with the next one, which is found."""
    nothing = FunctionRows(0x1000, 0, (0,), (row(99),))
    assert found(table_of(nothing, FIRST), 0x1000) == 8
    assert found(table_of(FIRST, nothing), 0x1000) == 8


def test_only_functions_of_size_zero() -> None:
    """They are no entry for any address."""
    assert found(table_of(FunctionRows(0x1000, 0, (0,), (row(99),))), 0x1000) is Verdict.NO_FDE


def test_equal_rows_are_stored_once() -> None:
    """Three functions of the same shape need one row."""
    functions = [FunctionRows(0x1000 + 16 * n, 16, (0, 1), (row(8), row(16))) for n in range(3)]
    assert table_of(*functions).rows == [row(8), row(16)]


def test_bounds_of_functions() -> None:
    """(start, end) by address, without those of size zero."""
    table = table_of(THIRD, FIRST, FunctionRows(0x1050, 0, (), ()))
    assert table.function_bounds == [(0x1000, 0x1010), (0x1100, 0x1110)]


def test_twenty_thousand_functions() -> None:
    """Every first and last byte of a table as large as a C library's."""
    functions = [
        FunctionRows(0x1000 + 32 * n, 16, (0,), (row(8 + n % 7 * 8),)) for n in range(20000)
    ]
    table = table_of(*functions)
    for n in (0, 1, 6, 7, 9999, 19998, 19999):
        start = 0x1000 + 32 * n
        wanted = 8 + n % 7 * 8
        assert [found(table, start + at) for at in (0, 15, 16)] == [wanted, wanted, Verdict.NO_FDE]


HIGH = 1 << 63
"""Where addresses begin that no program can use."""


@pytest.mark.parametrize(
    "high",
    [
        FunctionRows(HIGH, 0x10, (0,), (row(99),)),
        FunctionRows(HIGH + 0x1000, 0x10, (0,), (row(99),)),
        FunctionRows((1 << 64) - 0x10, 0x10, (0,), (row(99),)),
        FunctionRows((1 << 64) - 1, (1 << 64) - 1, (0,), (row(99),)),
        FunctionRows(0x1050, HIGH, (0,), (row(99),)),  # it would reach there
        FunctionRows(-0x1000, 0x10, (0,), (row(99),)),
    ],
    ids=["first", "later", "last", "wraps", "reaches", "negative"],
)
def test_a_function_in_the_upper_half_describes_nothing(high: FunctionRows) -> None:
    """Its neighbours are found as without it, and it has no bounds."""
    table = table_of(high, FIRST, SECOND)
    assert [found(table, address) for address in (0x1000, 0x1001, 0x1018)] == [8, 16, 40]
    for address in (-1, -0x10, -0x1000, -HIGH, -HIGH + 0x1000, 0x1050, HIGH - 1):
        assert found(table, address) is Verdict.NO_FDE
    assert table.function_bounds == [(0x1000, 0x1010), (0x1010, 0x1030)]


def test_the_last_function_below_the_middle() -> None:
    """Up to the last but one byte of the lower half; both ends are representable."""
    last = FunctionRows(HIGH - 0x20, 0x1F, (0, 8), (row(8), row(16)))
    table = table_of(last, FIRST)
    assert [found(table, HIGH - at) for at in (0x20, 0x18, 0x2)] == [8, 16, 16]
    assert [found(table, HIGH - at) for at in (0x21, 0x1)] == [Verdict.NO_FDE] * 2


FUNCTION = st.tuples(
    st.integers(0, 4),  # bytes of the gap before it
    st.lists(st.integers(1, 6), min_size=0, max_size=4),  # bytes of each row
    st.integers(0, 3),  # bytes before its first row
)


@settings(deadline=None, max_examples=60)
@given(st.lists(FUNCTION, max_size=8))
def test_agrees_with_a_map_of_every_byte(shapes: list[tuple[int, list[int], int]]) -> None:
    """Any table gives at every address what writing down each byte gives."""
    address, number = 0x1000, 0
    functions: list[FunctionRows] = []
    wanted: dict[int, int | Verdict] = {}
    for gap, sizes, lead in shapes:
        address += gap
        size = lead + sum(sizes)
        starts = [lead + sum(sizes[:n]) for n in range(len(sizes))]
        rows = []
        wanted.update(dict.fromkeys(range(address, address + lead), Verdict.NO_FRE))
        for start, length in zip(starts, sizes, strict=True):
            number += 8
            rows.append(row(number))
            wanted.update(dict.fromkeys(range(address + start, address + start + length), number))
        functions.append(FunctionRows(address, size, tuple(starts), tuple(rows)))
        address += size
    table = table_of(*reversed(functions))
    for at in range(0xFFC, address + 4):
        assert found(table, at) == wanted.get(at, Verdict.NO_FDE)
