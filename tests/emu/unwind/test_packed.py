"""Rows as words: what each field of a row becomes."""

import pytest

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.aarch64 import AARCH64
from arch.row import KEEP, UNKNOWN
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.unwind.packed import (
    BASE_FP,
    BASE_SP,
    CFA_ADDEND,
    CFA_DEREF,
    CFA_OFFSET,
    CFA_REGISTER,
    FLAGS,
    FP_KIND,
    FP_OFFSET,
    FP_REGISTER,
    NEEDS,
    NEEDS_OTHER,
    NEEDS_RA,
    OUTERMOST,
    RA_KIND,
    RA_MASK,
    RA_OFFSET,
    RA_REGISTER,
    ROW_BYTES,
    SIGNAL,
    SP_OFFSET,
    WORDS,
    ZERO_ENDS,
    pack,
)

AT_CFA = RegRule(RuleKind.AT_CFA, offset=-8)


def words(row: Row, arch: Arch) -> dict[int, int]:
    """The words of a packed row by byte offset, those that are not 0."""
    return {8 * at: int(value) for at, value in enumerate(pack(row, arch)) if value}


def test_a_row_is_sixteen_words() -> None:
    """Row n of an array lies 128 bytes times n further."""
    assert pack(Row(CfaRule(7, 8), AT_CFA, KEEP, 0), X86_64).nbytes == ROW_BYTES == 8 * WORDS == 128


def test_a_plain_row() -> None:
    """CFA=sp+16 RA=c-8 FP=c-16; SP and FP are no registers of the file."""
    row = Row(CfaRule(7, 16), AT_CFA, RegRule(RuleKind.AT_CFA, offset=-16), 0)
    assert words(row, X86_64) == {
        CFA_REGISTER: BASE_SP, CFA_OFFSET: 16, RA_KIND: 1, RA_OFFSET: -8, FP_KIND: 1,
        FP_OFFSET: -16,
    }  # fmt: skip


def test_kept_return_address() -> None:
    """RA=u of aarch64 is register 30, which only the topmost frame knows."""
    row = Row(CfaRule(29, 0), KEEP, KEEP, 0)
    assert words(row, AARCH64) == {CFA_REGISTER: BASE_FP, RA_REGISTER: 30, NEEDS: NEEDS_RA}


@pytest.mark.parametrize(
    "row",
    [
        Row(CfaRule(1, 0), AT_CFA, KEEP, -160),
        Row(CfaRule(15, 160), RegRule(RuleKind.REGISTER, 17), KEEP, -160),
        Row(CfaRule(15, 160), AT_CFA, RegRule(RuleKind.AT_REGISTER, 16), -160),
    ],
    ids=["cfa", "ra", "fp"],
)
def test_any_other_register_is_a_need(row: Row) -> None:
    """A register in any of the three rules is one that callers do not know."""
    assert words(row, S390X)[NEEDS] == NEEDS_OTHER


def test_sp_and_fp_in_rules_are_no_needs() -> None:
    """Every frame knows them: RA=sp+8, FP=(fp+0)."""
    row = Row(
        CfaRule(15, 160), RegRule(RuleKind.REGISTER, 15, 8), RegRule(RuleKind.AT_REGISTER, 11), -160
    )
    found = words(row, S390X)
    assert NEEDS not in found
    assert (found[RA_REGISTER], found[FP_REGISTER]) == (BASE_SP, BASE_FP)


def test_both_needs_at_once() -> None:
    """A CFA in x10 and a return address that is still in x30."""
    assert words(Row(CfaRule(10, 0), KEEP, KEEP, 0), AARCH64)[NEEDS] == NEEDS_OTHER | NEEDS_RA


def test_back_chain_row() -> None:
    """CFA = *(sp) + 160, and a word of 0 ends the stack."""
    assert S390X.back_chain_row is not None
    assert words(S390X.back_chain_row, S390X) == {
        FLAGS: ZERO_ENDS, CFA_REGISTER: BASE_SP, CFA_DEREF: 1, CFA_ADDEND: 160, SP_OFFSET: -160,
        RA_KIND: 1, RA_OFFSET: -48, FP_KIND: 4,
    }  # fmt: skip


def test_signed_return_address() -> None:
    """The mask is 0xff7f000000000000, as a signed word."""
    row = Row(CfaRule(31, 0), KEEP, KEEP, 0, ra_signed=True)
    assert words(row, AARCH64)[RA_MASK] == 0xFF7F_0000_0000_0000 - (1 << 64)


def test_signal_row() -> None:
    """The mark travels with the row."""
    row = Row(CfaRule(7, 8), AT_CFA, UNKNOWN, 0, signal=True)
    assert words(row, X86_64)[FLAGS] == SIGNAL


def test_outermost_row_has_nothing_else() -> None:
    """Its rules are not followed and not kept."""
    row = Row(CfaRule(10, 8), KEEP, KEEP, -160, outermost=True)
    assert words(row, S390X) == {FLAGS: OUTERMOST}
