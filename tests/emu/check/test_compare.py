"""Two tables by their meaning: hand-made ones, and the two that each test program has."""

from collections import Counter
from collections.abc import Mapping

import pytest

from arch import CfaRule, Row
from arch.row import KEEP
from emu.check.compare import Code, Stretch, compare_tables
from emu.image import load_image
from emu.report.compare import code_of
from emu.tables import FunctionRows, NoRow, Table
from emu.unwind.sources import read_table
from emu.verdict import Verdict
from testprogs.unpack import Prebuilt

Programs = Mapping[tuple[str, str], Prebuilt]

A, B = (Row(CfaRule(7, offset), KEEP, KEEP, 0) for offset in (8, 16))
END = Row(CfaRule(7, 8), KEEP, KEEP, 0, outermost=True)
OTHER_END = Row(CfaRule(6, 24), KEEP, KEEP, 0, outermost=True)


def compared(first: list[FunctionRows], second: list[FunctionRows]) -> list[Stretch]:
    tables = [Table(kind, tuple(rows), 0) for kind, rows in (("sframe", first), ("cfi", second))]
    return list(compare_tables(tables[0], tables[1], [Code("", -1, -1, ((0, 40),))]))


def test_every_byte_is_in_one_stretch() -> None:
    """Equal, different, only here, only there, and neither, with their borders."""
    first = [FunctionRows(0, 20, (0, 10), (A, B))]
    second = [FunctionRows(4, 24, (0, 8, 12), (A, A, B))]
    assert compared(first, second) == [
        Stretch("", 0, 4, A, None),
        Stretch("", 4, 10, A, A),
        Stretch("", 10, 16, B, A),
        Stretch("", 16, 20, B, B),
        Stretch("", 20, 28, None, B),
        Stretch("", 28, 40, None, None),
    ]
    assert [stretch.kind for stretch in compared(first, second)] == [
        "only_first", "equal", "differs", "equal", "only_second", "neither",
    ]  # fmt: skip


def test_a_refused_row_is_no_contradiction() -> None:
    """A table that refuses says nothing."""
    refused = NoRow(Verdict.REFUSED, "for the test")
    kinds = [s.kind for s in compared([FunctionRows(0, 40, (0,), (refused,))],
                                      [FunctionRows(0, 40, (0,), (A,))])]  # fmt: skip
    assert kinds == ["only_second"]


def test_ends_of_the_stack_are_equal_whatever_their_rules() -> None:
    """Nobody follows the rules of an outermost row."""
    kinds = [s.kind for s in compared([FunctionRows(0, 40, (0,), (END,))],
                                      [FunctionRows(0, 40, (0,), (OTHER_END,))])]  # fmt: skip
    assert kinds == ["equal"]


def test_both_tables_of_an_assembler_say_the_same(prebuilt: Programs) -> None:
    """gas 2.47.50 makes V3 and .eh_frame from the same notes; two readers of ours, one meaning.

    Wherever .sframe has a row .eh_frame has the same one, in 148 programs and objects.
    """
    bytes_of: Counter[str] = Counter()
    files = 0
    for program in prebuilt.values():
        if program.sframe_version != 3:
            continue
        image = load_image(str(program.path))
        files += 1
        for stretch in compare_tables(
            read_table(image, "sframe"), read_table(image, "cfi"), code_of(image, image)
        ):
            assert stretch.kind not in ("differs", "only_first"), (program.name, stretch)
            bytes_of[stretch.kind] += stretch.end - stretch.start
    assert files >= 148
    assert bytes_of["equal"] > 2_000_000


@pytest.mark.parametrize("version", [1, 2])
def test_what_older_assemblers_got_wrong_is_seen(prebuilt: Programs, version: int) -> None:
    """They ignore .cfi_undefined of the return address: _start is not marked outermost."""
    for program in prebuilt.values():
        if program.sframe_version == version and program.kind == "executable":
            image = load_image(str(program.path))
            stretches = compare_tables(
                read_table(image, "sframe"), read_table(image, "cfi"), code_of(image, image)
            )
            assert any(s.kind == "differs" and s.second and s.second.outermost for s in stretches)
