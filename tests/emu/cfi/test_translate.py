"""Expressions, repeated rows and the rule of SP."""

import pytest

from arch.aarch64 import AARCH64
from arch.row import CfaRule, RegRule, Row, RuleKind
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.cfi.expression import Location, Stepped, recognise
from emu.tables import NoRow
from emu.verdict import Verdict
from tests.emu.cfi.section import only, read, section

SP = X86_64.sp
PLT = bytes.fromhex("77088000 3f1a 3b2a 3324 22".replace(" ", ""))
"""rsp + 8 + ((rip & 15) >= 11) * 8, as linkers write it for .plt."""


@pytest.mark.parametrize(
    ("expression", "meaning"),
    [
        ("7708", Location(7, 8)),
        ("920708", Location(7, 8)),
        ("7678", Location(6, -8)),
        ("767806", Location(6, -8, deref=True)),
        ("77382308", Location(7, 64)),
        ("7738062308", Location(7, 56, deref=True, addend=8)),
        ("77088000 3f1a3b2a332422", Stepped(7, 8, 15, 11, 8)),
        ("77088000 3f1a392a332422", Stepped(7, 8, 15, 9, 8)),
        ("77088000 4f1a3b2a322422", Stepped(7, 8, 31, 11, 4)),
    ],
)
def test_known_shapes(expression: str, meaning: Location | Stepped):
    """The forms that compilers, linkers and hand-written assembly use."""
    assert recognise(bytes.fromhex(expression), 16) == meaning


@pytest.mark.parametrize(
    "expression",
    [
        "", "06", "3f", "77", "770806 06", "7708 7608 22", "77087600 3f1a3b2a332422",
        "77088001 3f1a3b2a332422", "77088000 3e1a3b2a332422", "77088000 3f1a3b2a3324",
        "77088000 3f1a3b2b332422", "7708f1",
    ],
)  # fmt: skip
def test_everything_else_is_unknown(expression: str):
    """Another register than the PC, a mask with holes, cut operands, unknown operations."""
    assert recognise(bytes.fromhex(expression), 16) is None


def test_a_realigned_stack_loads_its_cfa():
    """DRAP: the old SP was stored at a fixed distance from FP."""
    (row,) = only(X86_64, b"\x0f\x03\x76\x70\x06").rows
    assert row.cfa == CfaRule(6, -16, deref=True)


def test_the_procedure_linkage_table_becomes_repeated_rows():
    """PLT0 has rows of its own, each slot of 16 bytes a step at byte 11."""
    instructions = b"\x0e\x10\x46\x0e\x18\x4a\x0f\x0b" + PLT
    first, slots = read(X86_64, section(X86_64, instructions, size=0x230)).functions
    assert (first.start, first.size, first.starts, first.rep_size) == (0x2000, 16, (0, 6), 0)
    assert [row.cfa.offset for row in first.rows] == [16, 24]
    assert (slots.start, slots.size, slots.starts) == (0x2010, 0x220, (0, 11))
    assert slots.rep_size == 16
    assert [row.cfa for row in slots.rows] == [CfaRule(SP, 8), CfaRule(SP, 16)]
    assert all(row.ra == RegRule(RuleKind.AT_CFA, offset=-8) for row in slots.rows)


def test_rows_after_the_repeated_ones():
    """A third function begins where the expression ends."""
    pieces = read(X86_64, section(X86_64, b"\x0f\x0b" + PLT + b"\x60\x0c\x07\x20")).functions
    assert [(f.start, f.size, f.rep_size) for f in pieces] == [(0x2000, 32, 16), (0x2020, 32, 0)]
    assert pieces[1].rows[0].cfa.offset == 32


@pytest.mark.parametrize(("place", "start"), [(b"\x44", 0x2000), (b"", 0x2004)])
def test_repeated_rows_need_an_aligned_start(place: bytes, start: int):
    """The offset modulo 16 is the PC modulo 16 only there."""
    rows = only(X86_64, place + b"\x0f\x0b" + PLT, start=start).rows
    assert rows[-1] == NoRow(Verdict.REFUSED, "repeated rows that begin inside a block")


@pytest.mark.parametrize(
    ("arch", "instructions"),
    [
        (X86_64, b"\x14\x07\x00"),
        (X86_64, b"\x0c\x07\x00\x08\x07"),
        (X86_64, b"\x0c\x06\x00\x09\x07\x06"),
        (X86_64, b"\x16\x07\x02\x77\x08"),
        (X86_64, b"\x0f\x04\x77\xa0\x01\x06\x10\x07\x03\x77\xa0\x01"),
        (AARCH64, b"\x08\x1f"),
        (S390X, b"\x8f\x28"),
        (S390X, b"\x09\x0f\x10"),
        (S390X, b"\x14\x0f\x14"),
        (S390X, b"\x08\x0f"),
    ],
)
def test_rules_of_sp_that_say_what_every_row_says(arch, instructions: bytes):
    """The caller's SP is CFA + sp_offset: such a rule adds nothing."""
    (row,) = only(arch, instructions).rows
    assert isinstance(row, Row)
    assert row.sp_offset == arch.sp_offset


@pytest.mark.parametrize(
    ("arch", "instructions", "kind"),
    [
        (X86_64, b"\x09\x07\x08", "register"),
        (X86_64, b"\x87\x02", "offset"),
        (X86_64, b"\x14\x07\x02", "val_offset"),
        (X86_64, b"\x08\x07", "same_value"),
        (X86_64, b"\x16\x07\x02\x77\x10", "val_expression"),
        (X86_64, b"\x10\x07\x02\x77\x10", "expression"),
        (X86_64, b"\x07\x07", "undefined"),
        (AARCH64, b"\x09\x1f\x05", "register"),
        (S390X, b"\x14\x0f\x00", "val_offset"),
        (S390X, b"\x0e\xa8\x01\x08\x0f", "same_value"),
    ],
)
def test_any_other_rule_of_sp_is_refused(arch, instructions: bytes, kind: str):
    """longjmp, and contexts that are being switched."""
    (row,) = only(arch, instructions).rows
    assert row == NoRow(Verdict.REFUSED, f"SP of the caller has a rule of its own ({kind})")


def test_a_leaf_may_keep_registers_in_floating_point_ones():
    """s390x: FP in %f2 and RA in %f0 are registers like any other."""
    (row,) = only(S390X, b"\x09\x0b\x11\x09\x0e\x10").rows
    assert row.fp == RegRule(RuleKind.REGISTER, 17)
    assert row.ra == RegRule(RuleKind.REGISTER, 16)


def test_a_return_address_in_its_register_is_kept():
    """A register rule that names the register itself says nothing new."""
    (row,) = only(AARCH64, b"\x9e\x01\x09\x1e\x1e").rows
    assert row.ra.kind is RuleKind.KEEP
    (row,) = only(AARCH64, b"\x09\x1e\x0d").rows
    assert row.ra == RegRule(RuleKind.REGISTER, 13)
