"""The shadow stack's rules, one short program for each; every rule has a case that needs it."""

import pytest

from arch import Arch
from arch.aarch64 import AARCH64
from arch.descriptor import InstructionKind
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.truth import shadow
from emu.truth.classify import push
from emu.truth.shadow import ShadowStacks, place
from tests.support.truth import BASE, MAIN_SIZE, TOP, Driver

MAIN, F, G, H = 0x1000, 0x2000, 0x3000, 0x4000
FAR = 0x5000_0000
MEGABYTE = 1 << 20

link_register = pytest.mark.parametrize("arch", [AARCH64, S390X], ids=lambda arch: arch.name)


# ---- calls and returns


def test_nothing_is_called_at_first(arch: Arch) -> None:
    """The bottom of the stack is the program's own start."""
    assert ShadowStacks(arch, TOP, BASE, MAIN_SIZE).frames() == []


@pytest.mark.parametrize(("arch", "cfa"), [(X86_64, TOP), (AARCH64, TOP), (S390X, TOP + 160)])
def test_a_call_pushes_a_frame(arch: Arch, cfa: int) -> None:
    """(return address, CFA, caller's FP): what the caller's registers are."""
    program = Driver(arch)
    program.call(MAIN, fp=0x77)
    assert program.stacks.frames() == [(MAIN + 5, cfa, 0x77)]


def test_a_return_pops_it(arch: Arch) -> None:
    """PC is the return address and SP the caller's."""
    program = Driver(arch)
    program.back(program.call(MAIN))
    assert program.returns_to == []
    assert program.counts() == (1, 1, 0)


def test_frames_are_listed_innermost_first(arch: Arch) -> None:
    """Three calls, each from a frame of 64 bytes."""
    program = Driver(arch)
    for site in (MAIN, F, G):
        program.call(site)
        program.move(-64)
    assert program.returns_to == [G + 5, F + 5, MAIN + 5]


def test_returns_undo_calls_one_by_one(arch: Arch) -> None:
    """Down three levels and up again, with frames in between."""
    program = Driver(arch)
    addresses = []
    for site in (MAIN, F, G):
        addresses.append(program.call(site))
        program.move(-64)
    for level in range(3):
        program.move(64)
        program.back(addresses.pop())
        assert program.returns_to == addresses[::-1], level
    assert program.counts() == (3, 3, 0)


def test_recursion(arch: Arch) -> None:
    """The same return address many times; one return pops one frame."""
    program = Driver(arch)
    for _ in range(50):
        program.call(F)
        program.move(-32)
    program.move(32)
    program.back(F + 5)
    assert program.returns_to == [F + 5] * 49


def test_a_jump_inside_a_function_changes_nothing(arch: Arch) -> None:
    """Loops and branches, at the SP of the entry and below it."""
    program = Driver(arch)
    program.call(MAIN)
    program.go(F + 0x20)
    program.move(-64)
    program.go(F + 0x40)
    assert program.returns_to == [MAIN + 5]


def test_a_tail_call_keeps_the_frame(arch: Arch) -> None:
    """g runs in f's place and returns to f's caller."""
    program = Driver(arch)
    ra = program.call(MAIN)
    program.move(-64)
    program.move(64)
    program.go(G)
    assert program.returns_to == [MAIN + 5]
    program.back(ra)
    assert program.returns_to == []


def test_a_return_needs_the_callers_sp(arch: Arch) -> None:
    """Jumping to the return address from deeper in the stack is no return."""
    program = Driver(arch)
    ra = program.call(MAIN)
    program.move(-64)
    program.go(ra)
    assert program.returns_to == [MAIN + 5]


def test_a_return_that_pops_arguments() -> None:
    """ret $16 leaves SP above the caller's SP: the frame is gone all the same."""
    program = Driver(X86_64)
    program.call(MAIN)
    program.go(MAIN + 5, TOP + 16)
    assert program.returns_to == []


def test_a_popped_return_address_on_x86_64() -> None:
    """pop %r10; loop inside the function; push %r10; ret: the frame is there all the time."""
    program = Driver(X86_64)
    ra = program.call(MAIN)
    program.go(F + 8, kind=InstructionKind.PLAIN)
    program.move(8)
    for _ in range(3):
        program.go(F + 0x20, kind=InstructionKind.PLAIN)
        assert program.returns_to == [MAIN + 5]
    program.move(-8)
    program.back(ra)
    assert program.returns_to == []


# ---- longjmp


def test_longjmp_drops_what_lies_below(arch: Arch) -> None:
    """From four frames deep back to the first one's body: three are abandoned."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    body = program.sp
    mark = program.call(F)  # setjmp, which returns
    program.back(mark)
    for site in (F + 0x10, G, H):
        program.call(site)
        program.move(-48)
    program.go(mark, body)
    assert program.returns_to == [MAIN + 5]
    assert program.counts()[2] == 3


def test_unwinding_to_a_landing_pad(arch: Arch) -> None:
    """An exception's handler is no return address; SP alone tells what is gone."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    body = program.sp
    for site in (F, G):
        program.call(site)
        program.move(-48)
    program.go(F + 0x100, body + 16)
    assert program.returns_to == [MAIN + 5]


def test_longjmp_from_a_level_frame_on_x86_64() -> None:
    """The callee's caller SP equals SP of the landing: that callee is gone."""
    program = Driver(X86_64)
    mark = program.call(MAIN)  # setjmp
    program.back(mark)
    program.call(MAIN + 0x10)
    program.go(mark, TOP)
    assert program.returns_to == []


@link_register
def test_longjmp_from_a_level_frame(arch: Arch) -> None:
    """A leaf's SP is its caller's SP; that setjmp returns again tells that the leaf is gone."""
    program = Driver(arch)
    mark = program.call(MAIN)  # setjmp
    program.back(mark)
    program.call(MAIN + 0x10)  # a leaf, which jumps
    program.go(mark)
    assert program.returns_to == []


@link_register
def test_longjmp_over_several_level_frames(arch: Arch) -> None:
    """Functions without a frame that keep their return address in another register."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    mark = program.call(F)  # setjmp
    program.back(mark)
    for site in (F + 0x10, G, H):
        program.call(site)
    program.go(mark)
    assert program.returns_to == [MAIN + 5]


@link_register
def test_a_live_leaf_may_jump_to_any_other_place(arch: Arch) -> None:
    """At equal SP a jump to what is no return address keeps the leaf."""
    program = Driver(arch)
    program.call(MAIN)
    program.go(F + 0x20)
    assert program.returns_to == [MAIN + 5]


@link_register
def test_a_loop_around_a_call(arch: Arch) -> None:
    """f jumps to the address that its own earlier call returned to: f is still there."""
    program = Driver(arch)
    program.call(MAIN)
    inner = program.call(F)
    program.back(inner)
    program.go(inner)
    assert program.returns_to == [MAIN + 5]


@link_register
def test_a_loop_that_has_not_called_this_time(arch: Arch) -> None:
    """f runs a second time and jumps behind its call without making it."""
    program = Driver(arch)
    first = program.call(MAIN)
    inner = program.call(F)
    program.back(inner)
    program.back(first)
    program.call(MAIN + 0x20)
    program.go(inner)
    assert program.returns_to == [MAIN + 0x25]


@link_register
def test_the_remembered_call_must_be_of_the_same_caller(arch: Arch) -> None:
    """f, now called by g at the same SP, jumps behind a call that another f made."""
    program = Driver(arch)
    first = program.call(MAIN)  # f
    inner = program.call(F)
    program.back(inner)
    program.back(first)
    program.call(MAIN + 0x20)  # g, without a frame
    program.call(G)  # f again, one level deeper, at the same SP
    program.go(inner)
    assert program.returns_to == [G + 5, MAIN + 0x25]


@link_register
def test_an_old_call_returns_to_the_newest_level(arch: Arch) -> None:
    """setjmp is called again before the jump: the same pair, remembered anew."""
    program = Driver(arch)
    for _ in range(3):
        mark = program.call(MAIN)
        program.back(mark)
        program.call(MAIN + 0x10)
        program.go(mark)
    assert program.returns_to == []
    assert program.counts() == (6, 3, 3)


@link_register
def test_a_landing_pad_at_the_level_of_the_callee(arch: Arch) -> None:
    """A handler is no return address; that control left a leaf for its caller's middle tells."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    program.call(F)
    program.go(G + 0x20)
    program.go(F + 0x100)
    assert program.returns_to == [MAIN + 5]
    assert program.counts() == (2, 0, 1)


@link_register
def test_a_tail_call_to_the_callers_start_is_no_landing(arch: Arch) -> None:
    """g ends with a jump to f, which called g: f runs in g's place and returns to f."""
    program = Driver(arch)
    program.call(MAIN)
    program.call(F)
    program.go(G + 0x20)
    program.go(F)
    assert program.returns_to == [F + 5, MAIN + 5]


@link_register
def test_a_jump_within_the_callee_is_no_landing(arch: Arch) -> None:
    """f has called itself at the same SP: what jumps inside f stays where it is."""
    program = Driver(arch)
    program.call(MAIN)
    program.call(F)
    program.go(F)
    program.go(F + 0x100)
    assert program.returns_to == [F + 5, MAIN + 5]


# ---- stacks


def test_switching_to_a_new_stack_and_back(arch: Arch) -> None:
    """A new stack begins empty; the old one is found as it was."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    here = program.sp
    program.go(G, FAR)
    assert program.returns_to == []
    program.call(G)
    assert program.returns_to == [G + 5]
    program.go(F + 0x30, here)
    assert program.returns_to == [MAIN + 5]
    assert program.switches == 2


def test_a_coroutine_is_found_as_it_was(arch: Arch) -> None:
    """Twice to and fro: both stacks keep their frames."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    here = program.sp
    program.go(G, FAR)
    program.call(G)
    program.move(-32)
    there = program.sp
    for _ in range(2):
        program.go(F + 0x30, here)
        assert program.returns_to == [MAIN + 5]
        program.go(H + 0x40, there)
        assert program.returns_to == [G + 5]
    assert program.switches == 5


def test_what_is_left_over_on_a_stack_is_dropped(arch: Arch) -> None:
    """A stack is used again from its top: frames that lie below SP are of its earlier use."""
    program = Driver(arch)
    program.go(G, FAR)
    program.move(-256)
    program.call(G)
    program.move(-64)
    program.go(F, TOP)
    program.go(H, FAR)
    assert program.returns_to == []


def test_left_over_frames_are_dropped_without_a_jump(arch: Arch) -> None:
    """The same where the new SP is only loaded, and the next instruction follows."""
    program = Driver(arch)
    program.go(G, FAR)
    program.move(-256)
    program.call(G)
    program.move(-64)
    program.go(F, TOP)
    program.move(FAR - TOP)
    assert program.returns_to == []


def test_growth_by_one_megabyte_is_the_same_stack(arch: Arch) -> None:
    """A large frame is no other stack."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-MEGABYTE + program.pushed)
    assert (program.returns_to, program.switches) == ([MAIN + 5], 0)


def test_growth_by_more_is_another_stack(arch: Arch) -> None:
    """One word further below the lowest SP seen."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-MEGABYTE - 8)
    assert (program.returns_to, program.switches) == ([], 1)


def test_growth_counts_from_the_lowest_sp_seen(arch: Arch) -> None:
    """Two frames of 600 KiB: each of them is within reach."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-600 * 1024)
    program.call(F)
    program.move(-600 * 1024)
    assert (program.returns_to, program.switches) == ([F + 5, MAIN + 5], 0)


def test_the_lowest_sp_is_remembered(arch: Arch) -> None:
    """What once belonged to the stack is not another one later."""
    program = Driver(arch)
    program.move(-800 * 1024)
    program.move(800 * 1024)
    program.move(-1600 * 1024)
    assert program.switches == 0


def test_up_to_the_base_is_the_same_stack(arch: Arch) -> None:
    """The program's arguments lie above its first SP."""
    program = Driver(arch)
    program.move(BASE - TOP)
    assert program.switches == 0


def test_above_the_base_is_another_stack(arch: Arch) -> None:
    """One word above the end of the stack."""
    program = Driver(arch)
    program.move(BASE - TOP + 8)
    assert program.switches == 1


def test_a_known_stack_within_reach_is_another_one(arch: Arch) -> None:
    """Stacks that lie 64 KiB apart: growing into a known neighbour is a switch."""
    program = Driver(arch)
    program.go(H, FAR - 65536)
    program.call(H)
    lower = program.sp
    program.go(F, TOP)
    program.go(G, FAR)
    program.call(G)
    upper = program.sp
    program.go(MAIN + 0x40, lower)
    assert program.returns_to == [H + 5]
    program.go(MAIN + 0x40, upper)
    assert program.returns_to == [G + 5]


def test_a_stack_inside_the_memory_of_another(arch: Arch) -> None:
    """The upper stack jumps over the lower one; what lies between is still the lower one's."""
    program = Driver(arch)
    program.go(G, FAR)
    program.call(G)
    program.move(-MEGABYTE // 2)
    upper = program.sp
    program.go(F, TOP)
    # Not seen yet, and below all that the upper stack has used by now.
    inside = upper - MEGABYTE // 4
    program.go(H, inside)
    program.call(H)
    lower = program.sp
    program.go(F + 0x40, upper)
    program.move(-MEGABYTE // 2)  # over the lower stack
    assert program.returns_to == [G + 5]
    program.go(F, TOP)
    program.go(MAIN + 0x40, lower)
    assert program.returns_to == [H + 5]


def test_the_main_stack_outlives_any_number_of_others(arch: Arch) -> None:
    """When more stacks come than are kept, the first one stays."""
    program = Driver(arch)
    program.call(MAIN)
    here = program.sp
    for number in range(1500):
        program.go(G, FAR + 4 * MEGABYTE * number)
    program.go(F, here)
    assert program.returns_to == [MAIN + 5]


def test_a_used_stack_is_begun_again(arch: Arch) -> None:
    """A coroutine has ended at its top; the next one starts at the very same SP."""
    program = Driver(arch)
    program.go(F + 0x20, FAR)
    program.call(F + 0x20)
    program.go(G + 0x40)
    program.go(MAIN + 0x20, TOP)
    program.go(F + 0x20, FAR)
    assert program.returns_to == []


@link_register
def test_a_leaf_that_left_its_stack_comes_back(arch: Arch) -> None:
    """The switch is made by a leaf at its caller's SP: its frame is still there."""
    program = Driver(arch)
    program.go(F + 0x20, FAR)
    program.call(F + 0x20)
    program.go(G + 0x40)
    program.go(G + 0x44, TOP)
    program.go(G + 0x44, FAR)
    assert program.returns_to == [F + 0x25]


def test_a_small_stack_above_another_is_its_own(arch: Arch) -> None:
    """Two stacks of 256 bytes, the upper one used down to the lower one's first SP."""
    program = Driver(arch)
    program.go(F + 0x20, FAR)
    program.call(F + 0x20)
    lower = program.sp
    program.go(MAIN + 0x20, TOP)
    program.go(G + 0x20, FAR + 256)
    program.call(G + 0x20)
    program.move(-128)
    upper = program.sp
    program.go(MAIN + 0x20, TOP)
    program.go(H + 0x20, upper)
    assert program.returns_to == [G + 0x25]
    program.go(MAIN + 0x20, TOP)
    program.go(H + 0x20, lower)
    assert program.returns_to == [F + 0x25]


def test_the_main_stack_may_fall_by_its_whole_size() -> None:
    """A frame of 2 MiB on a main stack of 8 MiB."""
    program = Driver(X86_64)
    program.stacks = ShadowStacks(X86_64, TOP, BASE, 8 * MEGABYTE)
    program.call(MAIN)
    program.move(-2 * MEGABYTE)
    assert (program.returns_to, program.switches) == ([MAIN + 5], 0)


# ---- its end


def test_a_full_shadow_stack_says_so(arch: Arch) -> None:
    """A call beyond the capacity is not pushed, and noted."""
    stacks = ShadowStacks(arch, TOP, BASE, MAIN_SIZE)
    stacks.words[shadow.CAPACITY] = 2
    done = []
    for number in range(3):
        place(stacks.block, TOP - 64 * number, 1)
        done.append(bool(push(stacks.block, TOP - 64 * number)))
    assert done == [True, True, False]
    assert int(stacks.words[shadow.OVERFLOW]) == 1
    assert len(stacks.frames()) == 2
