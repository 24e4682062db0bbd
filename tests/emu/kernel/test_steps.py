"""One step as each revision makes it: checks in the kernel's order, and the state after it.

Sections 3 to 5 of the facts. A check shows by what is read, and by the reason, since all answer
EINVAL.
"""

from errno import EINVAL

import pytest

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.aarch64 import AARCH64
from arch.row import KEEP
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.kernel.events import Crash, Name, Refusal
from emu.kernel.frame import Frame
from emu.kernel.methods import fp_frame
from emu.kernel.policy import MAINLINE, POSTING_V2, SERIES_V13, Policy
from emu.kernel.reader import V3
from emu.kernel.state import State
from emu.memory import PAGE
from tests.emu.kernel.tasks import STACK, F, at, look, memory_of, state_of, task_of

CALLER, OLD_FP = 0x40_1234, STACK + 0x800
NOWHERE = 0x1000
X86_FRAME = Row(CfaRule(6, 16), at(-8), at(-16), 0)


def start(
    words: list[int], *, sp: int = STACK, fp: int = 0, arch: Arch = X86_64, topmost: bool = True,
    others: dict[int, int] | None = None,
) -> State:  # fmt: skip
    """A state over a stack that begins with these words."""
    task = task_of(memory_of(stack=words, arch=arch), sp=sp, fp=fp, arch=arch, others=others)
    state = state_of(task)
    state.topmost = topmost
    return state


def refuses(state: State, frame: Row | Frame, policy: Policy) -> tuple[str, int]:
    """The reason for which a step fails, and the words that it has read; nothing changes."""
    before = state.ip, state.sp, state.fp, state.topmost, state.done
    with pytest.raises(Refusal) as caught:
        state.advance(frame if isinstance(frame, Frame) else Frame(frame), policy.checks)
    assert caught.value.errno == EINVAL
    assert (state.ip, state.sp, state.fp, state.topmost, state.done) == before
    return caught.value.reason, state.memory.reads


def goes(state: State, frame: Row | Frame, policy: Policy) -> tuple[int, int, int]:
    """ip, SP and FP after a step that succeeds."""
    state.advance(frame if isinstance(frame, Frame) else Frame(frame), policy.checks)
    assert not state.topmost
    return state.ip, state.sp, state.fp


# ---- merged, by frame pointer


def test_step_state_after() -> None:
    """ip = RA, SP = CFA, FP as loaded, and the frame is not topmost any more."""
    state = start([1, 2, OLD_FP, CALLER], fp=STACK + 16)
    assert goes(state, X86_FRAME, MAINLINE) == (CALLER, STACK + 32, OLD_FP)
    assert (state.memory.reads, state.memory.bytes) == (2, 16)


def test_step_base_fp_not_below_sp() -> None:
    """A frame pointer below SP, even where the CFA would lie above; equal is allowed."""
    assert refuses(start([], sp=STACK + 16, fp=STACK + 8), X86_FRAME, MAINLINE) == ("wrong-way", 0)
    equal = start([OLD_FP, CALLER], fp=STACK)
    assert goes(equal, X86_FRAME, MAINLINE) == (CALLER, STACK + 16, OLD_FP)


def test_step_cfa_offset() -> None:
    """CFA = base + offset, SP or FP."""
    state = start([0, 0, CALLER])
    assert goes(state, Row(CfaRule(7, 24), at(-8), KEEP, 0), MAINLINE) == (CALLER, STACK + 24, 0)


def test_step_growth() -> None:
    """The CFA must be greater than SP, also in the topmost frame."""
    for offset, reason in ((0, "no-progress"), (-8, "wrong-way")):
        row = Row(CfaRule(7, offset), at(8), KEEP, 0)
        assert refuses(start([CALLER]), row, MAINLINE) == (reason, 0)
        assert refuses(start([CALLER], topmost=False), row, MAINLINE) == (reason, 0)


def test_step_alignment() -> None:
    """To a word; checked before anything is loaded."""
    row = Row(CfaRule(7, 12), at(-12), KEEP, 0)
    assert refuses(start([CALLER]), row, MAINLINE) == ("misaligned", 0)


def test_step_growth_before_alignment() -> None:
    """A CFA that breaks both is stopped for its direction."""
    row = Row(CfaRule(7, -4), at(4), KEEP, 0)
    assert refuses(start([CALLER]), row, MAINLINE) == ("wrong-way", 0)


def test_step_ra_always() -> None:
    """RA is loaded whatever its offset, 0 too; where it cannot be, FP is not tried."""
    assert goes(start([0, CALLER]), Row(CfaRule(7, 8), at(0), KEEP, 0), MAINLINE)[0] == CALLER
    row = Row(CfaRule(7, 8), at(NOWHERE - STACK - 8), at(-8), 0)
    assert refuses(start([CALLER]), row, MAINLINE) == ("unreadable", 1)


def test_step_fp_if_it_has_an_offset() -> None:
    """FP is loaded after RA, or stays."""
    row = Row(CfaRule(7, 8), at(-8), at(NOWHERE - STACK - 8), 0)
    assert refuses(start([CALLER]), row, MAINLINE) == ("unreadable", 2)
    kept = start([CALLER], fp=0x55)
    assert goes(kept, Row(CfaRule(7, 8), at(-8), KEEP, 0), MAINLINE) == (CALLER, STACK + 8, 0x55)


def test_step_failure_leaves_state() -> None:
    """A method that fails leaves the next one a clean state, whatever it had loaded."""
    state = start([CALLER], fp=STACK)
    refuses(state, Row(CfaRule(7, 8), at(-8), at(NOWHERE - STACK - 8), 0), MAINLINE)
    assert goes(state, Row(CfaRule(7, 8), at(-8), KEEP, 0), MAINLINE) == (CALLER, STACK + 8, STACK)


# ---- 2024


def test_step_2024_makes_no_checks() -> None:
    """CFA below SP, not aligned, a frame pointer below SP: all are followed."""
    state = start([0, CALLER, OLD_FP], sp=STACK + 64, fp=STACK)
    assert goes(state, X86_FRAME, POSTING_V2) == (CALLER, STACK + 16, 0)
    odd = start([CALLER << 32, CALLER >> 32], sp=STACK + 4)
    assert goes(odd, Row(CfaRule(7, 8), at(-8), KEEP, 0), POSTING_V2)[1] == STACK + 12
    same = start([CALLER])
    assert goes(same, Row(CfaRule(7, 0), at(0), KEEP, 0), POSTING_V2) == (CALLER, STACK, 0)


def test_step_2024_ra_unset() -> None:
    """Without a slot for RA the next ip is a variable that was never set."""
    row = Row(CfaRule(7, 8), RegRule(RuleKind.REGISTER, 7), KEEP, 0)
    with pytest.raises(Crash) as caught:
        start([CALLER]).advance(Frame(row, ra_unset=True), POSTING_V2.checks)
    assert caught.value.event.name is Name.UNINITIALISED_RA
    # FP is loaded before that shows.
    bad = Row(CfaRule(7, 8), RegRule(RuleKind.REGISTER, 7), at(NOWHERE - STACK - 8), 0)
    assert refuses(start([1]), Frame(bad, ra_unset=True), POSTING_V2) == ("unreadable", 1)


# ---- 2026


def test_v3_outermost() -> None:
    """Done, and nothing is read."""
    state = start([CALLER])
    row = Row(CfaRule(7, 8), at(-8), KEEP, 0, outermost=True)
    state.advance(Frame(row), SERIES_V13.checks)
    assert (state.done, state.memory.reads) == (True, 0)


def test_v3_base() -> None:
    """SP; FP not below SP; a register in the topmost frame only, before anything is read."""
    assert goes(start([CALLER]), Row(CfaRule(7, 8), at(-8), KEEP, 0), SERIES_V13)[0] == CALLER
    below = start([], sp=STACK + 16, fp=STACK + 8)
    assert refuses(below, X86_FRAME, SERIES_V13) == ("wrong-way", 0)
    row = Row(CfaRule(3, 8, deref=True), at(-8), KEEP, 0)
    words = [STACK + 32, 0, 0, CALLER]
    assert goes(start(words, others={3: STACK - 8}), row, SERIES_V13)[:2] == (CALLER, STACK + 32)
    further_up = start(words, others={3: STACK - 8}, topmost=False)
    assert refuses(further_up, row, SERIES_V13) == ("refused", 0)


def test_v3_base_without_a_case() -> None:
    """A rule that the switch does not know warns."""
    state = start([CALLER])
    frame = Frame(Row(CfaRule(6, -8, deref=True), at(-8), KEEP, 0), cfa_warns=True)
    assert refuses(state, frame, SERIES_V13)[1] == 0
    assert [event.name for event in state.events] == [Name.WARN]


def test_v3_cfa_deref() -> None:
    """The offset comes first, then the load; a failing one ends the step."""
    row = Row(CfaRule(3, 16, deref=True), at(-8), KEEP, 0)
    state = start([CALLER, STACK + 8], others={3: STACK - 8})
    assert goes(state, row, SERIES_V13)[:2] == (CALLER, STACK + 8)
    assert refuses(start([], others={3: NOWHERE}), row, SERIES_V13) == ("unreadable", 1)


def test_v3_growth() -> None:
    """The topmost frame may have CFA == SP, as a leaf has; no other one, and none below."""
    leaf = Row(CfaRule(31, 0), KEEP, KEEP, 0)
    top = start([], arch=AARCH64, others={30: CALLER})
    assert goes(top, leaf, SERIES_V13) == (CALLER, STACK, 0)
    again = Row(CfaRule(31, 0), at(0), KEEP, 0)
    up = start([CALLER], arch=AARCH64, topmost=False)
    assert refuses(up, again, SERIES_V13) == ("no-progress", 0)
    below = Row(CfaRule(31, -8), KEEP, KEEP, 0)
    assert refuses(start([], arch=AARCH64), below, SERIES_V13) == ("wrong-way", 0)


def test_v3_alignment() -> None:
    """To a word, after growth and before RA."""
    row = Row(CfaRule(31, 4), KEEP, KEEP, 0)
    assert refuses(start([], arch=AARCH64, topmost=False), row, SERIES_V13) == ("misaligned", 0)


def test_v3_ra() -> None:
    """Retained, or of a register, in the topmost frame only; loaded from the CFA in any."""
    register = Row(CfaRule(15, 320), RegRule(RuleKind.REGISTER, 17, 2), KEEP, -160)
    top = start([], arch=S390X, others={17: CALLER - 2})
    assert goes(top, register, SERIES_V13)[0] == CALLER
    up = start([], arch=S390X, others={17: CALLER}, topmost=False)
    assert refuses(up, register, SERIES_V13) == ("refused", 0)
    slot = Row(CfaRule(15, 320), at(-320), KEEP, -160)
    assert goes(start([CALLER], arch=S390X, topmost=False), slot, SERIES_V13)[0] == CALLER


def test_v3_ra_is_refused_in_its_turn() -> None:
    """A register that is not there shows after growth and alignment, not before."""
    row = Row(CfaRule(15, 156), RegRule(RuleKind.REGISTER, 17), KEEP, -160)
    assert refuses(start([], arch=S390X, topmost=False), row, SERIES_V13)[0] == "wrong-way"
    odd = Row(CfaRule(15, 324), RegRule(RuleKind.REGISTER, 17), KEEP, -160)
    assert refuses(start([], arch=S390X, topmost=False), odd, SERIES_V13)[0] == "misaligned"


def test_v3_senseless_ra_and_fp() -> None:
    """CFA + offset as a value warns when its turn comes, and not if something else fails before."""
    for bits, reads in (({"ra_warns": True}, 0), ({"fp_warns": True}, 1)):
        state = start([CALLER])
        frame = Frame(Row(CfaRule(7, 8), at(-8), KEEP, 0), **bits)
        assert refuses(state, frame, SERIES_V13) == ("refused", reads)
        assert [event.name for event in state.events] == [Name.WARN]
        early = start([CALLER])
        frame = Frame(Row(CfaRule(7, 12), at(-8), KEEP, 0), **bits)
        assert refuses(early, frame, SERIES_V13) == ("misaligned", 0)
        assert early.events == []


def test_v3_fp() -> None:
    """Retained, loaded from the CFA, or of a register in the topmost frame only, FP itself too."""
    own = Row(CfaRule(7, 24), at(-8), RegRule(RuleKind.AT_REGISTER, 6, 0), 0)
    words = [OLD_FP, 0, CALLER]
    assert goes(start(words, fp=STACK), own, SERIES_V13) == (CALLER, STACK + 24, OLD_FP)
    up = start(words, fp=STACK, topmost=False)
    assert refuses(up, own, SERIES_V13) == ("refused", 1)
    slot = Row(CfaRule(7, 24), at(-8), at(-24), 0)
    assert goes(start(words, topmost=False), slot, SERIES_V13)[2] == OLD_FP


def test_v3_state_after() -> None:
    """As above: ip, SP = CFA, FP, and topmost is over."""
    state = start([OLD_FP, 0, CALLER])
    row = Row(CfaRule(7, 24), at(-8), at(-24), 0)
    assert goes(state, row, SERIES_V13) == (CALLER, STACK + 24, OLD_FP)


def test_step_zero_ra_is_not_looked_at() -> None:
    """It becomes the next ip like any other."""
    for policy in (MAINLINE, SERIES_V13, POSTING_V2):
        assert goes(start([0]), Row(CfaRule(7, 8), at(-8), KEEP, 0), policy)[0] == 0


def test_s390_checks_are_of_sp() -> None:
    """SP = CFA - 160 must grow and be aligned; the CFA alone may lie anywhere above."""
    row = Row(CfaRule(15, 160), KEEP, KEEP, -160)
    top = start([], arch=S390X, others={14: CALLER})
    assert goes(top, row, SERIES_V13) == (CALLER, STACK, 0)
    grown = Row(CfaRule(15, 168), at(-168), KEEP, -160)
    up = start([CALLER], arch=S390X, topmost=False)
    assert goes(up, grown, SERIES_V13) == (CALLER, STACK + 8, 0)
    same = start([CALLER], arch=S390X, topmost=False)
    assert refuses(same, Row(CfaRule(15, 160), at(-160), KEEP, -160), SERIES_V13) == (
        "no-progress", 0,
    )  # fmt: skip


# ---- topmost, section 4


def test_topmost_alone_has_registers() -> None:
    """Until the first step; the flag is in the state, not in the row."""
    state = start([0] * 60, arch=S390X, others={14: CALLER})
    leaf = Row(CfaRule(15, 160), KEEP, KEEP, -160)
    assert goes(state, leaf, SERIES_V13)[0] == CALLER
    assert refuses(state, leaf, SERIES_V13)[0] == "no-progress"


def test_retained_ra_further_up_is_an_error() -> None:
    """It is not "the same ip again", which would loop."""
    row = Row(CfaRule(31, 16), KEEP, KEEP, 0)
    up = start([], arch=AARCH64, others={30: CALLER}, topmost=False)
    assert refuses(up, row, SERIES_V13) == ("lost-register", 0)


# ---- the machines' hooks


def test_hook_fp_frame() -> None:
    """x86: CFA = fp + 2 words, RA and FP in the two words below it."""
    state = start([OLD_FP, CALLER], fp=STACK)
    assert fp_frame(state, MAINLINE).row == X86_FRAME
    arm = start([], arch=AARCH64)
    assert fp_frame(arm, MAINLINE).row == Row(CfaRule(29, 16), at(-8), at(-16), 0)


def test_hook_entry_frame() -> None:
    """Topmost and on a uprobe at a function's start: CFA = sp + a word, FP kept; never further up,
    and never in other revisions."""
    state = start([CALLER], fp=OLD_FP)
    state.task.at_entry = True
    assert goes(state, fp_frame(state, MAINLINE), MAINLINE) == (CALLER, STACK + 8, OLD_FP)
    assert fp_frame(state, MAINLINE).row == X86_FRAME
    early = start([CALLER], fp=OLD_FP)
    early.task.at_entry = True
    assert fp_frame(early, POSTING_V2).row == X86_FRAME


def test_hook_registers() -> None:
    """The DWARF numbers that a rule may name: x86 0 to 15; s390 0 to 15 and the floating ones."""
    assert (X86_64.kernel.registers, S390X.kernel.registers) == (range(16), range(32))
    # ABI table 1.19: 17 is f2, 18 is f4.
    names = {number: S390X.register(number) for number in (15, 17, 18)}
    assert [found.name for found in names.values() if found] == ["r15", "f2", "f4"]


def test_hook_sframe_numbers() -> None:
    """SP and FP are 7 and 6, 15 and 11; s390's RA register is r14."""
    assert (X86_64.sp, X86_64.fp, S390X.sp, S390X.fp, S390X.ra) == (7, 6, 15, 11, 14)


def test_hook_unreadable_register() -> None:
    """A CFA on a register that the hook does not know fails in the topmost frame too."""
    frame = Frame(Row(CfaRule(7, 8), at(-8), KEEP, 0), cfa_unreadable=True)
    assert refuses(start([CALLER]), frame, SERIES_V13)[1] == 0


# ---- s390: the back chain


def chain_state(words: list[int], *, vdso: bool = False) -> State:
    """A state of s390, in the vDSO or not."""
    state = start(words, arch=S390X, fp=7)
    if vdso:
        state.task.vdso = (state.ip & -PAGE, (state.ip & -PAGE) + PAGE)
    return state


def test_backchain_non_zero() -> None:
    """The word at SP is the caller's SP; RA is in its r14 slot; FP becomes 0."""
    words = [0] * 64
    words[0] = STACK + 160
    words[(160 + 112) // 8] = CALLER
    state = chain_state(words)
    frame = fp_frame(state, SERIES_V13)
    assert (frame.row.cfa, frame.row.ra) == (CfaRule(15, 320), at(-48))
    assert goes(state, frame, SERIES_V13) == (CALLER, STACK + 160, 0)
    assert state.memory.reads == 2


def test_backchain_zero_elsewhere() -> None:
    """The end of the stack."""
    state = chain_state([0, 1])
    state.advance(fp_frame(state, SERIES_V13), SERIES_V13.checks)
    assert (state.done, state.memory.reads) == (True, 1)


def test_backchain_zero_in_vdso() -> None:
    """One wrapper frame is skipped: RA from it, and SP from the chain word behind it."""
    words = [0] * 64
    words[160 // 8] = CALLER
    words[168 // 8] = STACK + 0x180
    state = chain_state(words, vdso=True)
    assert goes(state, fp_frame(state, SERIES_V13), SERIES_V13) == (CALLER, STACK + 0x180, 0)
    assert state.memory.reads == 3


def test_backchain_unreadable() -> None:
    """A word at SP that cannot be read, or is not aligned."""
    state = start([], sp=NOWHERE, arch=S390X)
    with pytest.raises(Refusal) as caught:
        fp_frame(state, SERIES_V13)
    assert caught.value.errno == EINVAL
    odd = chain_state([STACK + 164])
    assert refuses(odd, fp_frame(odd, SERIES_V13), SERIES_V13)[0] == "misaligned"


def test_backchain_skips_caller_in_prologue() -> None:
    """Before the topmost function has stored its frame, the chain is its caller's."""
    words = [0] * 128
    caller, further = STACK + 160, STACK + 480
    words[0] = caller
    words[(160 + 112) // 8] = CALLER  # where the caller returns to
    words[160 // 8] = further
    words[(480 + 112) // 8] = CALLER + 8
    # At the first instruction RA is in r14 and SP still the caller's.
    state = start(words, arch=S390X, others={14: 0x40_5678})
    assert goes(state, fp_frame(state, SERIES_V13), SERIES_V13)[0] == CALLER


def test_backchain_loses_fp() -> None:
    """A later row that counts from FP fails, as 0 is below SP."""
    words = [0] * 64
    words[0] = STACK + 160
    words[(160 + 112) // 8] = CALLER
    state = chain_state(words)
    goes(state, fp_frame(state, SERIES_V13), SERIES_V13)
    row = Row(CfaRule(11, 160), at(-48), KEEP, -160)
    assert refuses(state, row, SERIES_V13)[0] == "wrong-way"


def test_backchain_distance_in_32_bits() -> None:
    """Stacks more than 2 GiB apart: the CFA offset is cut, and the step goes elsewhere."""
    state = chain_state([STACK + (1 << 32) + 160])
    assert fp_frame(state, SERIES_V13).row.cfa == CfaRule(15, 320)


def test_backchain_is_a_hook_of_the_series_only() -> None:
    """Earlier revisions have nothing for the machine."""
    for policy in (POSTING_V2, MAINLINE):
        with pytest.raises(Refusal):
            fp_frame(chain_state([STACK + 160]), policy)


def test_v3_ra_register_of_x86() -> None:
    """A row without a place for RA: the generic hook warns; s390 reads r14, aarch64 x30."""
    for arch, warns in ((X86_64, True), (S390X, False), (AARCH64, False)):
        found = look(V3, ip=F, arch=arch, fixed_ra=0).answer
        assert isinstance(found, Frame)
        assert found.ra_warns is warns
        state = start([0] * 64, arch=arch, others={} if warns else {arch.ra: CALLER})
        if warns:
            assert refuses(state, found, SERIES_V13)[0] == "refused"
            assert [event.name for event in state.events] == [Name.WARN]
        else:
            assert goes(state, found, SERIES_V13)[0] == CALLER
