"""Stretches of one meaning, by hand-made tables."""

from arch import CfaRule, Row
from arch.row import KEEP
from emu.tables import FunctionRows, NoRow, Table
from emu.unwind.spans import Span, spans
from emu.verdict import Verdict

A, B = (Row(CfaRule(7, offset), KEEP, KEEP, 0) for offset in (8, 16))
GAP = NoRow(Verdict.REFUSED, "for the test")


def of(*functions: FunctionRows, ranges: tuple[tuple[int, int], ...] = ((0, 100),)) -> list[Span]:
    return list(spans(Table("cfi", functions, 0), -1, ranges))


def test_rows_hold_to_the_next_one_and_to_the_end() -> None:
    """Two rows and a refused one of one function."""
    function = FunctionRows(10, 20, (0, 4, 8), (A, GAP, B))
    assert of(function) == [Span(10, 14, A), Span(14, 18, GAP), Span(18, 30, B)]


def test_before_the_first_row_there_is_an_entry_and_no_row() -> None:
    """A first row at offset 4."""
    assert of(FunctionRows(10, 8, (4,), (A,))) == [Span(10, 14, None), Span(14, 18, A)]


def test_a_function_without_rows() -> None:
    """It has an entry for all its bytes, and no row for any."""
    assert of(FunctionRows(10, 8, (), ())) == [Span(10, 18, None)]


def test_a_block_repeats_to_the_end_of_the_function() -> None:
    """Two and a half blocks of 8 bytes."""
    function = FunctionRows(0, 20, (0, 6), (A, B), rep_size=8)
    assert of(function) == [
        Span(0, 6, A), Span(6, 8, B), Span(8, 14, A), Span(14, 16, B), Span(16, 20, A),
    ]  # fmt: skip


def test_what_lies_outside_the_code_is_left_out() -> None:
    """A function of 4 GiB over two ranges, one of which begins inside a repeated block."""
    function = FunctionRows(0, 1 << 32, (0, 6), (A, B), rep_size=8)
    assert of(function, ranges=((13, 17), (30, 31))) == [
        Span(13, 14, A), Span(14, 16, B), Span(16, 17, A), Span(30, 31, B),
    ]  # fmt: skip


def test_of_functions_that_overlap_the_one_that_starts_last_counts() -> None:
    """As a look-up has it; behind its end there is nothing, not the outer one."""
    outer, inner = FunctionRows(0, 30, (0,), (A,)), FunctionRows(10, 5, (0,), (B,))
    assert of(outer, inner) == [Span(0, 10, A), Span(10, 15, B)]


def test_functions_of_another_section_are_left_out() -> None:
    """In a relocatable file each section counts from 0."""
    table = Table("cfi", (FunctionRows(0, 4, (0,), (A,), section=2),), 0)
    assert list(spans(table, 1, ((0, 4),))) == []
    assert list(spans(table, 2, ((0, 4),))) == [Span(0, 4, A)]
