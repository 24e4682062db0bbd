"""One step over hand-written stacks, on all machines: values, then every reason to stop.

Checks stand in the order of Linux's unwind_user_next: outermost, base, CFA, growth,
alignment, RA, FP; a row that breaks two rules is stopped by the earlier one.
"""

import pytest

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.aarch64 import AARCH64
from arch.row import KEEP, UNKNOWN
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.memory import PAGE, READ, WRITE
from emu.unwind.step import ALIGNMENT, BASE, GROWTH, IN_TURN, STRICT, USUAL
from emu.verdict import Verdict
from tests.support.stack import STACK, Stepped, stack_of, take_step

CALLER = 0x401234
OLD_FP = 0x7000_0ABC
HIGH = 0xFFFF_FFFF_FFFF_FFF0
NOWHERE = 0x1000


def at(offset: int) -> RegRule:
    """Loaded from CFA + offset."""
    return RegRule(RuleKind.AT_CFA, offset=offset)


def register(number: int, offset: int = 0) -> RegRule:
    """The value of a register plus an offset."""
    return RegRule(RuleKind.REGISTER, number, offset)


def at_register(number: int, offset: int = 0) -> RegRule:
    """Loaded from register + offset."""
    return RegRule(RuleKind.AT_REGISTER, number, offset)


# ---- frames of real code


def test_x86_frame_with_pushed_rbp() -> None:
    """After push %rbp; mov %rsp, %rbp; sub $16, %rsp: CFA=fp+16 RA=c-8 FP=c-16."""
    memory = stack_of(
        X86_64,
        [
            0x1111,  # 0(%rsp)
            0x2222,
            OLD_FP,  # saved %rbp, at 0(%rbp)
            CALLER,  # pushed by the call
            0x3333,  # the caller's own: its SP
        ],
    )
    row = Row(CfaRule(6, 16), at(-8), at(-16), 0)
    assert take_step(X86_64, row, memory, fp=STACK + 16) == Stepped(
        Verdict.EXACT, STACK + 32, CALLER, OLD_FP, STACK + 32
    )


def test_aarch64_frame_record() -> None:
    """After stp x29, x30, [sp, -32]!: CFA=sp+32 RA=c-24 FP=c-32."""
    memory = stack_of(
        AARCH64,
        [
            OLD_FP,  # x29
            CALLER,  # x30
            0x1111,
            0x2222,
            0x3333,  # the caller's own: its SP
        ],
    )
    row = Row(CfaRule(31, 32), at(-24), at(-32), 0)
    assert take_step(AARCH64, row, memory, fp=0x99) == Stepped(
        Verdict.EXACT, STACK + 32, CALLER, OLD_FP, STACK + 32
    )


def test_s390x_save_area() -> None:
    """After stmg %r11,%r15,88(%r15); lay %r15,-160(%r15): CFA=sp+320 RA=c-48 FP=c-72.

    The caller's save area begins at its SP, 160 bytes below the CFA; r11 is stored at 88
    and r14 at 112 of it.
    """
    own_frame = [0] * 20
    caller_area = [0] * 20
    caller_area[88 // 8] = OLD_FP
    caller_area[112 // 8] = CALLER
    memory = stack_of(S390X, own_frame + caller_area)
    row = Row(CfaRule(15, 320), at(-48), at(-72), -160)
    assert take_step(S390X, row, memory, fp=0x99) == Stepped(
        Verdict.EXACT, STACK + 320, CALLER, OLD_FP, STACK + 160
    )


def test_first_instruction(arch: Arch) -> None:
    """Where a function begins nothing is saved yet, but for the pushed return address."""
    memory = stack_of(arch, [CALLER])  # read on x86-64 only
    ra = KEEP if arch.ra_in_register else at(-8)
    row = Row(CfaRule(arch.sp, arch.entry_cfa_offset), ra, KEEP, arch.sp_offset)
    registers = {arch.ra: CALLER} if arch.ra_in_register else {}
    found = take_step(arch, row, memory, fp=OLD_FP, registers=registers)
    caller_sp = {"x86_64": STACK + 8, "aarch64": STACK, "s390x": STACK}[arch.name]
    cfa = {"x86_64": STACK + 8, "aarch64": STACK, "s390x": STACK + 160}[arch.name]
    assert found == Stepped(Verdict.EXACT, cfa, CALLER, OLD_FP, caller_sp)


def test_words_are_in_the_byte_order_of_the_machine() -> None:
    """The same bytes mean different return addresses."""
    little = take_step(X86_64, Row(CfaRule(7, 8), at(-8), KEEP, 0), stack_of(X86_64, [0x12]))
    big = take_step(
        S390X, Row(CfaRule(15, 168), at(-168), KEEP, -160), stack_of(X86_64, [0x12])
    )
    assert (little.ra, big.ra) == (0x12, 0x12 << 56)


# ---- the back chain


def back_chain() -> Row:
    """The convention of s390x."""
    assert S390X.back_chain_row is not None
    return S390X.back_chain_row


def test_back_chain() -> None:
    """The word at SP is the caller's SP; r14 stands at 112 there; r11 is not known."""
    words = [0] * 40
    words[0] = STACK + 160
    words[(160 + 112) // 8] = CALLER
    assert take_step(S390X, back_chain(), stack_of(S390X, words), fp=7) == Stepped(
        Verdict.EXACT, STACK + 320, CALLER, 7, STACK + 160
    )


def test_back_chain_of_zero_ends() -> None:
    """A zero word is the end of the stack, not a CFA of 160."""
    found = take_step(S390X, back_chain(), stack_of(S390X, [0, 1]))
    assert found == Stepped(Verdict.OUTERMOST, None, None, None, None)


def test_back_chain_that_points_back() -> None:
    """The caller's SP lies below SP."""
    memory = stack_of(S390X, [STACK - 160])
    assert take_step(S390X, back_chain(), memory).verdict is Verdict.WRONG_WAY


def test_back_chain_to_itself_further_up() -> None:
    """A loop of one is no progress."""
    found = take_step(S390X, back_chain(), stack_of(S390X, [STACK]), topmost=False)
    assert found.verdict is Verdict.NO_PROGRESS


def test_back_chain_in_no_memory() -> None:
    """SP itself is bad."""
    found = take_step(S390X, back_chain(), stack_of(S390X, [1]), sp=NOWHERE)
    assert found == Stepped(Verdict.UNREADABLE, None, None, None, None)


# ---- rules


def test_loaded_cfa(arch: Arch) -> None:
    """CFA=(fp-8): the word there is the CFA."""
    memory = stack_of(arch, [CALLER, STACK + 320])
    row = Row(CfaRule(arch.fp, -8, deref=True), at(-320), KEEP, arch.sp_offset)
    found = take_step(arch, row, memory, fp=STACK + 16)
    assert (found.cfa, found.ra) == (STACK + 320, CALLER)


def test_loaded_cfa_of_zero_is_a_value(arch: Arch) -> None:
    """Only the back chain ends at a zero; elsewhere it is an address below SP."""
    row = Row(CfaRule(arch.sp, 0, deref=True), at(-8), KEEP, 0)
    assert take_step(arch, row, stack_of(arch, [0])).verdict is Verdict.WRONG_WAY


@pytest.mark.parametrize(("arch", "number"), [(X86_64, 10), (AARCH64, 9), (S390X, 1)])
def test_cfa_in_a_register(arch: Arch, number: int) -> None:
    """The topmost frame has every register."""
    row = Row(CfaRule(number, -64), at(-8), KEEP, 0)
    memory = stack_of(arch, [0, CALLER])
    found = take_step(arch, row, memory, registers={number: STACK + 80})
    assert (found.verdict, found.cfa, found.ra) == (Verdict.EXACT, STACK + 16, CALLER)


def test_return_address_in_a_floating_point_register() -> None:
    """s390x leaves park r14 in f2, DWARF number 17."""
    row = Row(CfaRule(15, 160), register(17), KEEP, -160)
    found = take_step(S390X, row, stack_of(S390X, []), registers={17: CALLER})
    assert (found.verdict, found.ra) == (Verdict.EXACT, CALLER)


def test_register_plus_offset(arch: Arch) -> None:
    """RA=fp+4, FP=sp+24: values, nothing is loaded."""
    row = Row(CfaRule(arch.sp, 320), register(arch.fp, 4), register(arch.sp, 24), arch.sp_offset)
    found = take_step(arch, row, stack_of(arch, []), fp=CALLER - 4)
    assert (found.ra, found.fp) == (CALLER, STACK + 24)


def test_loaded_from_a_register(arch: Arch) -> None:
    """RA=(fp+8), FP=(sp+0): both words are on the stack."""
    memory = stack_of(arch, [OLD_FP, 0, 0, CALLER])
    row = Row(CfaRule(arch.sp, 320), at_register(arch.fp, 8), at_register(arch.sp), arch.sp_offset)
    found = take_step(arch, row, memory, fp=STACK + 16)
    assert (found.ra, found.fp) == (CALLER, OLD_FP)


def test_rules_use_the_frames_own_fp() -> None:
    """FP=(fp+0) and CFA=fp+16 are both of the frame, whatever order they are worked out in."""
    memory = stack_of(X86_64, [OLD_FP, CALLER])
    row = Row(CfaRule(6, 16), at_register(6, 8), at_register(6), 0)
    found = take_step(X86_64, row, memory, fp=STACK)
    assert (found.cfa, found.ra, found.fp) == (STACK + 16, CALLER, OLD_FP)


@pytest.mark.parametrize("rule", [KEEP, UNKNOWN], ids=["keep", "unknown"])
def test_fp_without_a_rule_passes_through(arch: Arch, rule: RegRule) -> None:
    """The caller has the same FP, or nothing is said of it."""
    row = Row(CfaRule(arch.sp, 320), register(arch.fp), rule, arch.sp_offset)
    assert take_step(arch, row, stack_of(arch, []), fp=0x55).fp == 0x55


def test_signature_is_stripped() -> None:
    """Bits 63 to 56 and 54 to 48 of the loaded word; bit 55 and the address stay."""
    memory = stack_of(AARCH64, [0, 0xFFFF_0000_0040_1234])
    row = Row(CfaRule(31, 16), at(-8), KEEP, 0, ra_signed=True)
    assert take_step(AARCH64, row, memory).ra == 0x0080_0000_0040_1234


def test_signature_of_the_register_is_stripped() -> None:
    """A leaf signs the address and keeps it in x30."""
    row = Row(CfaRule(31, 0), KEEP, KEEP, 0, ra_signed=True)
    registers = {30: 0x2B7C_0000_0040_1234}
    assert take_step(AARCH64, row, stack_of(AARCH64, []), registers=registers).ra == CALLER


def test_signature_stays_without_the_mark() -> None:
    """A row that does not say so gives the word as it is."""
    memory = stack_of(AARCH64, [0, 0x2B7C_0000_0040_1234])
    row = Row(CfaRule(31, 16), at(-8), KEEP, 0)
    assert take_step(AARCH64, row, memory).ra == 0x2B7C_0000_0040_1234


def test_upper_half_values_are_unsigned(arch: Arch) -> None:
    """A word with its highest bit set comes back as it is."""
    memory = stack_of(arch, [HIGH, HIGH + 1])
    row = Row(CfaRule(arch.sp, 320), at(-320), at(-312), arch.sp_offset)
    found = take_step(arch, row, memory)
    assert (found.ra, found.fp) == (HIGH, HIGH + 1)


# ---- growth of the caller's SP


@pytest.mark.parametrize("arch", [AARCH64, S390X], ids=lambda arch: arch.name)
def test_a_leaf_may_stand_still(arch: Arch) -> None:
    """In the topmost frame the caller's SP may equal SP."""
    row = Row(CfaRule(arch.sp, arch.entry_cfa_offset), KEEP, KEEP, arch.sp_offset)
    found = take_step(arch, row, stack_of(arch, []), registers={arch.ra: CALLER})
    assert (found.verdict, found.sp) == (Verdict.EXACT, STACK)


def test_a_caller_may_not_stand_still(arch: Arch) -> None:
    """Further up an equal SP would be a loop."""
    row = Row(CfaRule(arch.sp, -arch.sp_offset), at(-8), KEEP, arch.sp_offset)
    found = take_step(arch, row, stack_of(arch, [CALLER]), topmost=False)
    assert found.verdict is Verdict.NO_PROGRESS


def test_growth_is_of_the_callers_sp_not_of_the_cfa() -> None:
    """CFA=sp+152 on s390x is above SP, but the caller's SP lies 8 below it."""
    row = Row(CfaRule(15, 152), KEEP, KEEP, -160)
    found = take_step(S390X, row, stack_of(S390X, []))
    assert found == Stepped(Verdict.WRONG_WAY, STACK + 152, None, None, STACK - 8)


def test_caller_below_sp(arch: Arch) -> None:
    """A CFA that would make the stack grow upwards."""
    row = Row(CfaRule(arch.sp, -arch.sp_offset - 8), at(-8), KEEP, arch.sp_offset)
    assert take_step(arch, row, stack_of(arch, [])).verdict is Verdict.WRONG_WAY


def test_addresses_of_the_upper_half_are_above() -> None:
    """FP = 2^64-16: CFA is far above SP, so the stop is the missing slot."""
    row = Row(CfaRule(6, 8), at(-8), KEEP, 0)
    found = take_step(X86_64, row, stack_of(X86_64, []), fp=HIGH)
    assert found == Stepped(Verdict.UNREADABLE, HIGH + 8, None, None, HIGH + 8)


def test_sp_of_the_upper_half() -> None:
    """SP = 2^64-16 and a CFA on the stack: the wrong way."""
    row = Row(CfaRule(6, 16), at(-8), KEEP, 0)
    found = take_step(X86_64, row, stack_of(X86_64, []), sp=HIGH, fp=STACK)
    assert found.verdict is Verdict.WRONG_WAY


def test_cfa_wraps_around() -> None:
    """2^64-16 + 32 is 16, which lies below SP; nothing overflows."""
    row = Row(CfaRule(6, 32), at(-8), KEEP, 0)
    found = take_step(X86_64, row, stack_of(X86_64, []), fp=HIGH)
    assert found == Stepped(Verdict.WRONG_WAY, 16, None, None, 16)


# ---- alignment


@pytest.mark.parametrize("skew", [1, 2, 4, 7])
def test_caller_sp_is_a_multiple_of_eight(arch: Arch, skew: int) -> None:
    """Anything less is misaligned, on all machines."""
    row = Row(CfaRule(arch.sp, 320 + skew), at(-8), KEEP, arch.sp_offset)
    found = take_step(arch, row, stack_of(arch, []))
    assert (found.verdict, found.cfa, found.ra) == (Verdict.MISALIGNED, STACK + 320 + skew, None)


def test_eight_is_enough(arch: Arch) -> None:
    """A multiple of 8 that is none of 16 passes."""
    row = Row(CfaRule(arch.sp, 328), register(arch.fp), KEEP, arch.sp_offset)
    assert take_step(arch, row, stack_of(arch, [])).verdict is Verdict.EXACT


# ---- slots


def test_return_address_in_no_memory(arch: Arch) -> None:
    """The CFA is known, the return address is not."""
    row = Row(CfaRule(arch.sp, 320), at(0x100000), at(-8), arch.sp_offset)
    found = take_step(arch, row, stack_of(arch, []))
    assert (found.verdict, found.cfa, found.ra) == (Verdict.UNREADABLE, STACK + 320, None)


def test_fp_in_no_memory(arch: Arch) -> None:
    """Return address and CFA are known, the caller's FP is not."""
    row = Row(CfaRule(arch.sp, 320), at(-320), at_register(arch.fp), arch.sp_offset)
    found = take_step(arch, row, stack_of(arch, [CALLER]), fp=0)
    assert (found.verdict, found.ra, found.fp) == (Verdict.UNREADABLE, CALLER, None)


@pytest.mark.parametrize(("offset", "verdict"), [(-8, Verdict.EXACT), (-7, Verdict.UNREADABLE)])
def test_a_slot_must_be_whole(offset: int, verdict: Verdict) -> None:
    """The last word of the stack's memory is readable, one byte further it is not."""
    row = Row(CfaRule(7, PAGE), at(offset), KEEP, 0)
    assert take_step(X86_64, row, stack_of(X86_64, [])).verdict is verdict


def test_a_slot_without_permission() -> None:
    """Memory that the guest may not read is not read for it."""
    memory = stack_of(X86_64, [0, CALLER])
    memory.protect(STACK, PAGE, WRITE)
    row = Row(CfaRule(7, 16), at(-8), KEEP, 0)
    assert take_step(X86_64, row, memory).verdict is Verdict.UNREADABLE
    memory.protect(STACK, PAGE, READ)
    assert take_step(X86_64, row, memory).verdict is Verdict.EXACT


# ---- what only the topmost frame may do


@pytest.mark.parametrize("arch", [AARCH64, S390X], ids=lambda arch: arch.name)
def test_return_address_still_in_its_register_further_up(arch: Arch) -> None:
    """The callee has overwritten it."""
    row = Row(CfaRule(arch.sp, 320), KEEP, KEEP, arch.sp_offset)
    found = take_step(arch, row, stack_of(arch, []), registers={arch.ra: CALLER}, topmost=False)
    assert (found.verdict, found.ra) == (Verdict.LOST_REGISTER, None)


@pytest.mark.parametrize(
    "row",
    [
        Row(CfaRule(1, 320), at(-8), KEEP, 0),
        Row(CfaRule(1, 0, deref=True), at(-8), KEEP, 0),
        Row(CfaRule(15, 320), register(5), KEEP, 0),
        Row(CfaRule(15, 320), at_register(5), KEEP, 0),
        Row(CfaRule(15, 320), at(-8), register(5), 0),
        Row(CfaRule(15, 320), at(-8), at_register(5), 0),
    ],
    ids=["cfa", "loaded-cfa", "ra", "loaded-ra", "fp", "loaded-fp"],
)
def test_other_registers_further_up(row: Row) -> None:
    """No unwinder that tracks three registers can follow it: refused, before anything else."""
    memory = stack_of(S390X, [STACK] * 64)
    registers = {1: STACK, 5: STACK}
    found = take_step(S390X, row, memory, registers=registers, topmost=False)
    assert found == Stepped(Verdict.REFUSED, None, None, None, None)


def test_sp_and_fp_further_up(arch: Arch) -> None:
    """Every frame has these two."""
    memory = stack_of(arch, [CALLER, OLD_FP])
    row = Row(CfaRule(arch.fp, 320), at_register(arch.sp), at_register(arch.sp, 8), arch.sp_offset)
    found = take_step(arch, row, memory, fp=STACK, topmost=False)
    assert (found.verdict, found.ra, found.fp) == (Verdict.EXACT, CALLER, OLD_FP)


# ---- order

GOOD = CfaRule(15, 320)
BROKEN_RA, BROKEN_FP = at(0x100000), at(0x200000)
STAND_STILL, BELOW, SKEWED = CfaRule(15, 160), CfaRule(15, 153), CfaRule(15, 321)


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (Row(CfaRule(1, 0), BROKEN_RA, BROKEN_FP, -160, outermost=True), Verdict.OUTERMOST),
        (Row(CfaRule(1, NOWHERE, deref=True), BROKEN_RA, BROKEN_FP, -160), Verdict.REFUSED),
        (Row(CfaRule(11, 0, deref=True), BROKEN_RA, BROKEN_FP, -160), Verdict.UNREADABLE),
        (Row(BELOW, KEEP, BROKEN_FP, -160), Verdict.WRONG_WAY),
        (Row(STAND_STILL, KEEP, BROKEN_FP, -160), Verdict.NO_PROGRESS),
        (Row(SKEWED, KEEP, BROKEN_FP, -160), Verdict.MISALIGNED),
        (Row(GOOD, KEEP, BROKEN_FP, -160), Verdict.LOST_REGISTER),
        (Row(GOOD, BROKEN_RA, BROKEN_FP, -160), Verdict.UNREADABLE),
        (Row(GOOD, at(-320), BROKEN_FP, -160), Verdict.UNREADABLE),
        (Row(GOOD, at(-320), at(-312), -160), Verdict.EXACT),
    ],
)
def test_the_earlier_reason_wins(row: Row, verdict: Verdict) -> None:
    """Each row breaks its own rule and those that come later."""
    memory = stack_of(S390X, [CALLER, OLD_FP])
    assert take_step(S390X, row, memory, fp=NOWHERE, topmost=False).verdict is verdict


def test_outermost_wins_in_the_topmost_frame(arch: Arch) -> None:
    """An outermost row is followed nowhere."""
    row = Row(CfaRule(arch.sp, -1), BROKEN_RA, BROKEN_FP, arch.sp_offset, outermost=True)
    found = take_step(arch, row, stack_of(arch, []))
    assert found == Stepped(Verdict.OUTERMOST, None, None, None, None)


def test_no_progress_before_alignment() -> None:
    """SP itself is odd and the caller's SP is the same."""
    row = Row(CfaRule(7, 0), at(-8), KEEP, 0)
    found = take_step(X86_64, row, stack_of(X86_64, [1]), sp=STACK + 9, topmost=False)
    assert found.verdict is Verdict.NO_PROGRESS


def test_which_read_failed_is_told() -> None:
    """CFA unreadable: nothing known; RA: the CFA; FP: both."""
    memory = stack_of(S390X, [CALLER])
    known = [
        take_step(S390X, row, memory, fp=NOWHERE)
        for row in (
            Row(CfaRule(11, 0, deref=True), at(-320), KEEP, -160),
            Row(GOOD, BROKEN_RA, KEEP, -160),
            Row(GOOD, at(-320), BROKEN_FP, -160),
        )
    ]
    assert [(f.verdict, f.cfa, f.ra, f.fp) for f in known] == [
        (Verdict.UNREADABLE, None, None, None),
        (Verdict.UNREADABLE, STACK + 320, None, None),
        (Verdict.UNREADABLE, STACK + 320, CALLER, None),
    ]


# ---- checks of other revisions


def test_without_checks_everything_is_followed(arch: Arch) -> None:
    """Growth and alignment are bits; without them the words decide."""
    memory = stack_of(arch, [CALLER, CALLER])
    row = Row(CfaRule(arch.sp, -12), at(12), KEEP, 0)
    assert take_step(arch, row, memory, checks=0).ra == CALLER
    assert take_step(arch, row, memory, checks=ALIGNMENT).verdict is Verdict.MISALIGNED
    assert take_step(arch, row, memory, checks=USUAL).verdict is Verdict.WRONG_WAY


def test_strict_growth_is_of_the_topmost_frame_too(arch: Arch) -> None:
    """SP may not stay, whatever frame it is."""
    memory = stack_of(arch, [CALLER])
    row = Row(CfaRule(arch.sp, 0), at(0), KEEP, 0)
    assert take_step(arch, row, memory).verdict is Verdict.EXACT
    strict = take_step(arch, row, memory, checks=USUAL | STRICT)
    assert strict.verdict is Verdict.NO_PROGRESS
    assert take_step(arch, row, memory, topmost=False, checks=0).verdict is Verdict.EXACT


def test_base_fp_below_sp(arch: Arch) -> None:
    """Stopped before the CFA is known; SP as the base is not meant."""
    memory = stack_of(arch, [0, CALLER, 0, 0])
    row = Row(CfaRule(arch.fp, 32), at(-24), KEEP, 0)
    assert take_step(arch, row, memory, sp=STACK + 16, fp=STACK).verdict is Verdict.EXACT
    below = take_step(arch, row, memory, sp=STACK + 16, fp=STACK, checks=USUAL | BASE)
    assert below == Stepped(Verdict.WRONG_WAY, None, None, None, None)
    equal = take_step(arch, row, memory, sp=STACK, fp=STACK, checks=USUAL | BASE)
    assert equal.verdict is Verdict.EXACT


def test_registers_in_their_turn(arch: Arch) -> None:
    """A register that is not known stops at its rule, behind growth and alignment."""
    memory = stack_of(arch, [CALLER])
    checks = GROWTH | ALIGNMENT | IN_TURN
    other = 1 if arch.sp != 1 else 2
    row = Row(CfaRule(arch.sp, 12), register(other), KEEP, 0)
    first = take_step(arch, row, memory, topmost=False)
    assert (first.verdict, first.cfa) == (Verdict.REFUSED, None)
    later = take_step(arch, row, memory, topmost=False, checks=checks)
    assert later.verdict is Verdict.MISALIGNED
    row = Row(CfaRule(arch.sp, 8), at(-8), register(other), 0)
    last = take_step(arch, row, memory, topmost=False, checks=checks)
    assert (last.verdict, last.ra) == (Verdict.REFUSED, CALLER)
    row = Row(CfaRule(other, 8), at(-8), KEEP, 0)
    base = take_step(arch, row, memory, topmost=False, checks=checks)
    assert (base.verdict, base.cfa) == (Verdict.REFUSED, None)
