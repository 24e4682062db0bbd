"""Whole walks: which method leads on, when one gives way to the next, and what is returned.

Section 2 of the facts, and what section 14 says of it.
"""

from collections.abc import Sequence
from errno import EFAULT, EINVAL

import pytest

from arch import Arch, CfaRule, Row
from arch.aarch64 import AARCH64
from arch.row import KEEP
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.kernel.events import Name
from emu.kernel.policy import (
    MAINLINE,
    POSTING_V2,
    POSTING_V2_AS_SENT,
    SERIES_V11,
    SERIES_V13,
    TRUTH,
    Method,
    Policy,
    Support,
)
from emu.kernel.state import UserTask
from emu.kernel.trace import KernelTrace
from emu.kernel.walk import loop_of_2024, walk
from emu.tables import FunctionRows
from tests.emu.kernel.tasks import STACK, F, G, Values, at, memory_of, registered, task_of

BOTH = (POSTING_V2_AS_SENT, POSTING_V2)
OUTSIDE = 0x60_0000
"""No text."""


def fp_stack(*callers: int) -> list[int]:
    """Frames that frame pointers lead through, the first one at STACK; the last FP is 0."""
    words: list[int] = []
    for number, caller in enumerate(callers):
        last = number == len(callers) - 1
        words += [0 if last else STACK + 16 * (number + 1), caller]
    return words


def by_table(
    policy: Policy, stack: Sequence[int], values: Values | None = None, *, pc: int = F, fp: int = 0,
    functions: Sequence[FunctionRows] = (), most: int = 64, wanted: Method = Method.AUTO,
    arch: Arch = X86_64, faulting: bool = True, others: dict[int, int] | None = None,
) -> KernelTrace:  # fmt: skip
    """A walk in a task with a section for F and G."""
    memory, registry = registered(policy, values, arch, stack, functions)
    task = task_of(memory, registry, pc, fp=fp, arch=arch, others=others)
    return walk(policy, task, most, wanted=wanted, faulting=faulting, hypothetical=True)


def by_fp(policy: Policy, *callers: int, most: int = 64, pc: int = F) -> KernelTrace:
    """A walk in a task without sections, from a frame pointer at STACK."""
    return walk(policy, task_of(memory_of(stack=fp_stack(*callers)), pc=pc, fp=STACK), most)


# ---- machines that a revision does not serve


def test_machine_not_served_has_its_older_walker() -> None:
    """The generic unwinder is not there: perf walks as it always has."""
    words = [STACK + 32, 0x40_1234, 0, 0, 0, 0x40_5678]
    task = task_of(memory_of(stack=words, arch=AARCH64), arch=AARCH64, fp=STACK)
    for policy in (*BOTH, SERIES_V11, MAINLINE, SERIES_V13):
        trace = walk(policy, task, 64)
        assert trace.support is Support.OLDER
        assert trace.ips == (F, 0x40_1234, 0x40_5678)


def test_machine_not_served_hypothetical() -> None:
    """Asked for, the generic one takes its place and says so; s390 has no FP frame there."""
    words = [0, 0x40_1234]
    task = task_of(memory_of(stack=words, arch=AARCH64), arch=AARCH64, fp=STACK)
    trace = walk(MAINLINE, task, 64, hypothetical=True)
    assert (trace.support, trace.ips) == (Support.HYPOTHETICAL, (F, 0x40_1234))
    chain = [0] * 64
    chain[0], chain[(160 + 112) // 8] = STACK + 160, 0x40_1234
    other = task_of(memory_of(stack=chain, arch=S390X), arch=S390X)
    assert walk(MAINLINE, other, 64, hypothetical=True).ips == (F,)
    assert walk(SERIES_V13, other, 64).support is Support.SUPPORTED
    assert walk(SERIES_V13, other, 64).ips == (F, 0x40_1234)


def test_older_records() -> None:
    """(FP, LR) at FP, each above the last; SP has no part; signatures are stripped."""
    signed = 0x2B7C_0000_0040_1234
    words = [STACK + 16, signed, STACK + 16, 0x40_5678, 0, 0x40_9999]
    task = task_of(memory_of(stack=words, arch=AARCH64), arch=AARCH64, sp=STACK + 4096, fp=STACK)
    trace = walk(MAINLINE, task, 64)
    # The second record leads to itself: its address is stored before that is noticed.
    assert trace.ips == (F, 0x40_1234, 0x40_5678)
    assert trace.failures[-1].reason == "the next record is not above this one"
    odd = task_of(memory_of(stack=words, arch=AARCH64), arch=AARCH64, fp=STACK + 4)
    assert walk(MAINLINE, odd, 64).ips == (F,)


def test_older_chain() -> None:
    """The back chain without a look at growth; an odd or low address ends it."""
    words = [0] * 128
    words[0] = STACK + 160
    words[(160 + 112) // 8] = 0x40_1234
    words[160 // 8] = STACK + 320
    words[(320 + 112) // 8] = 0x40_5679
    task = task_of(memory_of(stack=words, arch=S390X), arch=S390X)
    assert walk(MAINLINE, task, 64).ips == (F, 0x40_1234)
    # One that leads to itself goes on until the trace is full.
    words[160 // 8] = STACK + 160
    task = task_of(memory_of(stack=words, arch=S390X), arch=S390X)
    assert len(walk(MAINLINE, task, 64).ips) == 64


def test_older_chain_in_vdso() -> None:
    """The wrapper's caller is entered at its own SP, so that none is skipped."""
    words = [0] * 128
    words[160 // 8] = 0x40_1234
    words[168 // 8] = STACK + 0x200
    words[(0x200 + 112) // 8] = 0x40_5678
    task = task_of(memory_of(stack=words, arch=S390X), arch=S390X)
    task.vdso = (F, F + 1)
    assert walk(MAINLINE, task, 64).ips == (F, 0x40_1234, 0x40_5678)
    assert walk(SERIES_V13, task, 64).ips == (F, 0x40_1234)


# ---- 2024


def test_types_of_2024_are_chosen_once() -> None:
    """AUTO is SFRAME if the mm has any section, even one of no use here; it never becomes FP."""
    for policy in BOTH:
        stack = fp_stack(0x40_1111)
        assert by_table(policy, stack, pc=OUTSIDE, fp=STACK).ips == (OUTSIDE,)
        assert by_fp(policy, 0x40_1111).ips == (F, 0x40_1111)


def test_failed_lookup_of_2024_ends_the_walk() -> None:
    """And returns the look-up's error; the frame pointer is not tried."""
    stack = [OUTSIDE, STACK + 16, 0, 0x40_1111]
    trace = by_table(POSTING_V2, stack, fp=STACK + 16)
    assert (trace.ips, trace.status) == ((F, OUTSIDE), -EINVAL)
    assert [failure.method for failure in trace.failures] == ["sframe"]


def test_start_of_2024_makes_the_first_step() -> None:
    """The loop yields callers only; perf stores the interrupted ip by hand."""
    memory, registry = registered(POSTING_V2, stack=[G + 1, OUTSIDE])
    task = task_of(memory, registry)
    assert loop_of_2024(POSTING_V2, task, 64, Method.AUTO).ips == (G + 1, OUTSIDE)
    assert walk(POSTING_V2, task, 64).ips == (F, G + 1, OUTSIDE)


def test_failing_first_step_of_2024_is_a_chain_of_one() -> None:
    """The loop is empty."""
    for policy in BOTH:
        assert by_table(policy, [], pc=OUTSIDE).ips == (OUTSIDE,)


def test_explicit_type_of_2024_is_never_stored() -> None:
    """As sent the first step hits BUG(); the repair stores it. Atomic walks ask for FP."""
    task = task_of(memory_of(stack=fp_stack(0x40_1111)), fp=STACK)
    sent = walk(POSTING_V2_AS_SENT, task, 64, wanted=Method.FP)
    assert sent.ips == (F,)
    assert [event.name for event in sent.events] == [Name.BUG_UNSET_TYPE]
    assert sent.crashed
    assert walk(POSTING_V2, task, 64, wanted=Method.FP).ips == (F, 0x40_1111)


def test_atomic_walk_of_2024_asks_for_fp() -> None:
    """Page faults off, and no table, although there is one."""
    trace = by_table(POSTING_V2, fp_stack(0x40_1111), fp=STACK, faulting=False)
    assert (trace.ips, trace.methods) == ((F, 0x40_1111), ("fp",))
    sent = by_table(POSTING_V2_AS_SENT, fp_stack(0x40_1111), fp=STACK, faulting=False)
    assert sent.events[0].name is Name.BUG_UNSET_TYPE


def test_explicit_sframe_of_2024_without_sections() -> None:
    """-EINVAL, but the walk is not over: an ip of 0 is yielded, and then BUG() comes."""
    for policy in BOTH:
        task = task_of(memory_of())
        trace = loop_of_2024(policy, task, 64, Method.SFRAME)
        assert trace.ips == (0,)
        names = [event.name for event in trace.events]
        assert names == [Name.START_NOT_DONE, Name.BUG_UNSET_TYPE]


def test_type_of_2024_in_a_bool() -> None:
    """perf's variable cannot hold SFRAME: it asks for FP."""
    trace = by_table(POSTING_V2, fp_stack(0x40_1111), fp=STACK, wanted=Method.SFRAME)
    assert trace.methods == ("fp",)
    assert trace.events[0].name is Name.TYPE_IN_BOOL


def test_failed_load_of_2024_returns_0_by_table() -> None:
    """The variable still has the look-up's 0; by frame pointer it is -EINVAL."""
    one = (FunctionRows(F, 0x40, (0,), (Row(CfaRule(7, -0x7000_0000), at(-8), KEEP, 0),)),)
    values: Values = {}
    trace = by_table(POSTING_V2, [], values, functions=one)
    assert (trace.ips, trace.status) == ((F,), 0)
    assert trace.events[-1].name is Name.FAILED_LOAD_RETURNS_0
    assert walk(POSTING_V2, task_of(memory_of(), fp=0x1000), 64).status == -EINVAL


def test_flaws_of_2024_end_the_model_by_name() -> None:
    """What would be undefined is an event, and the chain so far stays."""
    trace = by_table(POSTING_V2_AS_SENT, [F - 1])
    assert (trace.ips, trace.crashed) == ((F, F - 1), True)
    assert trace.events[-1].name is Name.UNINITIALISED_FDE


# ---- merged


def test_types_merged_mask() -> None:
    """One method: on its failure no next one is left, the walk is done and returns 0."""
    trace = by_fp(MAINLINE, 0x40_1111, 0x40_2222)
    assert (trace.ips, trace.status) == ((F, 0x40_1111, 0x40_2222), 0)
    assert trace.failures[-1].reason == "wrong-way"


def test_unwind_user_max_0() -> None:
    """-EINVAL, nothing stored."""
    for policy in (MAINLINE, SERIES_V11, SERIES_V13):
        trace = by_fp(policy, 0x40_1111, most=0)
        assert (trace.ips, trace.status) == ((), -EINVAL)


def test_unwind_user_kernel_thread() -> None:
    """0, with nothing stored."""
    for policy in (MAINLINE, SERIES_V13):
        task = UserTask(task_of(memory_of()).sample, kernel_thread=True)
        trace = walk(policy, task, 64)
        assert (trace.ips, trace.status) == ((), 0)


def test_unwind_user_stores_until_max() -> None:
    """The interrupted ip is the first entry; a truncated trace returns 0 as well."""
    trace = by_fp(MAINLINE, 0x40_1111, 0x40_2222, 0x40_3333, most=2)
    assert (trace.ips, trace.status) == ((F, 0x40_1111), 0)


def test_zero_ra_is_an_entry() -> None:
    """It ends the walk one step later, where nothing is found for it."""
    assert by_fp(MAINLINE, 0x40_1111, 0).ips == (F, 0x40_1111, 0)


# ---- SFRAME before FP, each frame anew


def test_start_needs_a_section_for_sframe() -> None:
    """Without one the method is not even tried."""
    trace = by_fp(SERIES_V13, 0x40_1111)
    assert trace.ips == (F, 0x40_1111)
    assert {failure.method for failure in trace.failures} == {"fp"}


@pytest.mark.parametrize("policy", [SERIES_V11, SERIES_V13], ids=lambda policy: policy.name)
def test_failed_lookup_gives_way_for_this_frame(policy: Policy) -> None:
    """FP for a frame without a row; SFRAME again for the next."""
    # F: by table (RA at SP). OUTSIDE: no text, so FP. G: by table again.
    stack = [OUTSIDE, 0, STACK + 48, G + 1, 0x40_1fff]
    trace = by_table(policy, stack, fp=STACK + 16)
    assert trace.ips[:4] == (F, OUTSIDE, G + 1, 0x40_1FFF)
    assert trace.methods[:3] == ("sframe", "fp", "sframe")


@pytest.mark.parametrize("policy", [SERIES_V11, SERIES_V13], ids=lambda policy: policy.name)
def test_failed_rule_is_final(policy: Policy) -> None:
    """A row that is found and cannot be followed ends the walk, FP or not."""
    one = (FunctionRows(F, 0x40, (0,), (Row(CfaRule(7, 12), at(-8), KEEP, 0),)),)
    trace = by_table(policy, fp_stack(0x40_1111), functions=one, fp=STACK)
    assert (trace.ips, trace.status) == ((F,), 0)
    assert [failure.method for failure in trace.failures] == ["sframe"]


def test_failed_fp_ends() -> None:
    """No method is left."""
    trace = by_table(SERIES_V13, [OUTSIDE], fp=0)
    assert trace.ips == (F, OUTSIDE)
    assert [failure.method for failure in trace.failures] == ["sframe", "fp"]


def test_outermost_row_adds_no_entry() -> None:
    """By design done with 0; as it is, the row is refused and FP tried, see its flaw."""
    outermost = Row(CfaRule(7, 8), KEEP, KEEP, 0, outermost=True)
    one = (FunctionRows(F, 0x40, (0,), (outermost,)),)
    trace = by_table(SERIES_V13, fp_stack(0x40_1111), functions=one, fp=0)
    assert (trace.ips, trace.status) == ((F,), 0)
    assert trace.events[0].name is Name.OUTERMOST_REFUSED
    # A frame pointer that is left over leads on, beyond the end of the stack.
    beyond = by_table(SERIES_V13, fp_stack(0x40_1111), functions=one, fp=STACK)
    assert beyond.ips == (F, 0x40_1111)


def test_back_chain_end_adds_no_entry() -> None:
    """The only outermost frame that works in this state of the code."""
    task = task_of(memory_of(arch=S390X), arch=S390X)
    trace = walk(SERIES_V13, task, 64)
    assert (trace.ips, trace.status, trace.failures) == ((F,), 0, ())


def test_backchain_is_the_fp_method() -> None:
    """s390 has it in place of the frame pointer, below SFRAME."""
    words = [0] * 64
    words[0], words[(160 + 112) // 8] = STACK + 160, OUTSIDE
    trace = by_table(SERIES_V13, words, arch=S390X, pc=OUTSIDE + 8)
    assert (trace.ips, trace.methods) == ((OUTSIDE + 8, OUTSIDE), ("fp",))


def test_section_is_removed_by_a_fault() -> None:
    """EFAULT out of a look-up: gone for good, and FP goes on; EINVAL keeps it."""
    for policy in (SERIES_V11, SERIES_V13):
        memory, registry = registered(policy, {("row", 1, "start"): 0}, stack=fp_stack(0x40_1111))
        task = task_of(memory, registry, F + 2, fp=STACK)
        trace = walk(policy, task, 64)
        assert trace.failures[0].errno == EFAULT
        assert trace.events[0].name is Name.SECTION_REMOVED
        assert (trace.ips, len(registry)) == ((F + 2, 0x40_1111), 0)
        memory, registry = registered(policy, stack=fp_stack(0x40_1111))
        walk(policy, task_of(memory, registry, F + 0x40, fp=STACK), 64)
        assert len(registry) == 1


def test_section_outside_user_space_is_kept() -> None:
    """The access window is refused before the function that removes is reached."""
    memory, registry = registered(SERIES_V13, stack=fp_stack(0x40_1111))
    (section,) = registry
    object.__setattr__(section, "end", X86_64.layout.user_end + 1)
    trace = walk(SERIES_V13, task_of(memory, registry, F, fp=STACK), 64)
    assert trace.failures[0].errno == EFAULT
    assert (trace.ips, trace.events, len(registry)) == ((F, 0x40_1111), (), 1)


# ---- section 5


@pytest.mark.parametrize(
    "policy", [POSTING_V2, SERIES_V11, SERIES_V13], ids=lambda policy: policy.name
)
def test_ip_is_looked_up_unchanged(policy: Policy) -> None:
    """A call that ends its function returns to the next one: that one's row is used."""
    entry, pushed = (Row(CfaRule(7, offset), at(-8), KEEP, 0) for offset in (8, 24))
    functions = (
        FunctionRows(F, 0x40, (0,), (entry,)),
        FunctionRows(F + 0x40, 0x40, (0, 4), (pushed, entry)),
        FunctionRows(G, 0x20, (0,), (entry,)),
    )
    # G was called by the last instruction of F, whose row would find RA at the next word.
    stack = [F + 0x40, 0x11, 0x22, 0x40_1FF0]
    trace = by_table(policy, stack, functions=functions, pc=G)
    assert trace.ips[:3] == (G, F + 0x40, 0x40_1FF0)


# ---- the truth


def test_truth_is_what_is_given() -> None:
    """The interrupted ip and the callers, up to the number of entries."""
    task = task_of(memory_of())
    assert walk(TRUTH, task, 3, truth=(1, 2, 3)).ips == (F, 1, 2)
    assert walk(TRUTH, task, 64, truth=(1, 2, 3)).support is Support.SUPPORTED
