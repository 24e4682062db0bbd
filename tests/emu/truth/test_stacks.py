"""The rules of stacks that are switched to, begun and used again, and of landings by a jump."""

import pytest

from arch import Arch
from arch.aarch64 import AARCH64
from arch.descriptor import InstructionKind
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.truth import shadow
from tests.support.truth import TOP, Driver

MAIN, F, G, H = 0x1000, 0x2000, 0x3000, 0x4000
FAR = 0x5000_0000
KILOBYTE = 1 << 10
PLAIN, RETURN = InstructionKind.PLAIN, InstructionKind.RETURN

link_register = pytest.mark.parametrize("arch", [AARCH64, S390X], ids=lambda arch: arch.name)


def entered(arch: Arch, sp: int, ra: int, fp: int = 0) -> tuple[int, int, int]:
    """The frame of a function that was entered with this SP and return address."""
    return (ra, sp + arch.entry_cfa_offset, fp)


def switched(arch: Arch) -> Driver:
    """A program with main calling f, which has loaded the SP of another stack."""
    program = Driver(arch)
    program.call(MAIN)
    program.go(F + 0x20)
    program.move(FAR - program.sp)
    return program


# ---- how a stack begins


def test_a_new_stack_is_empty(arch: Arch) -> None:
    """Until a function is entered nothing is known of it."""
    program = switched(arch)
    assert program.returns_to == []
    assert program.bottom == shadow.UNKNOWN


def test_the_first_function_has_the_caller_that_it_finds(arch: Arch) -> None:
    """Its return address, CFA and FP at entry are those of the frame below."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234, fp=0x77)
    assert program.stacks.frames() == [entered(arch, FAR, 0x1234, 0x77)]
    assert program.bottom == shadow.ENTERED


@pytest.mark.parametrize(("ra", "bottom"), [(0, shadow.ENDS), (-1, shadow.UNKNOWN)])
def test_the_first_function_has_no_caller(ra: int, bottom: int, arch: Arch) -> None:
    """A return address of 0 ends the stack; what cannot be read says nothing."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=ra)
    assert (program.returns_to, program.bottom) == ([], bottom)


def test_a_row_may_end_the_stack_there(arch: Arch) -> None:
    """When a row has said that nothing is below, the frame is not listed."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    program.call(G)
    program.stacks.words[shadow.BOTTOM] = shadow.MARKED
    assert program.returns_to == [G + 5]


def test_the_first_function_returns(arch: Arch) -> None:
    """To another one, which is then the first, with what it finds."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=H)
    program.go(H, FAR + program.pushed, RETURN, ra=0x5678)
    assert program.returns_to == [0x5678]


@link_register
def test_the_first_function_goes_on_to_another(arch: Arch) -> None:
    """By a jump, with what its last call has left in the register."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=G)
    program.go(H, ra=G + 8)
    assert program.returns_to == [G + 8]


def test_a_tail_call_of_the_first_function(arch: Arch) -> None:
    """The same return address: the frame is as it was, FP too."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234, fp=0x77)
    program.go(H, ra=0x1234, fp=0x88)
    assert program.stacks.frames() == [entered(arch, FAR, 0x1234, 0x77)]


def test_a_direct_jump_of_the_switch_is_no_entry(arch: Arch) -> None:
    """The function that switches may go on in another one before it leaves."""
    program = switched(arch)
    program.go(G, kind=PLAIN, ra=0x1234)
    assert program.bottom == shadow.UNKNOWN
    program.go(H, kind=RETURN, ra=0x5678)
    assert program.returns_to == [0x5678]


def test_the_first_function_returns_into_another(arch: Arch) -> None:
    """Nothing has called that one: the stack ends there."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=H + 0x20)
    program.go(H + 0x20, FAR + program.pushed, RETURN)
    assert (program.returns_to, program.bottom) == ([], shadow.ENDS)


def test_the_first_function_is_left_without_a_return(arch: Arch) -> None:
    """A jump to above its frame: what it was entered with is gone, and nothing else known."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    program.go(H + 0x20, FAR + 64)
    assert (program.returns_to, program.bottom) == ([], shadow.UNKNOWN)


# ---- how it goes on


def leave(program: Driver) -> tuple[int, int]:
    """The first function g calls h, which switches back to main; (SP there, SP of the call)."""
    program.go(G, kind=RETURN, ra=0x1234)
    program.move(-64)
    caller = program.sp
    program.call(G)
    program.go(H + 0x20)
    program.move(-32)
    left = program.sp
    program.move(TOP - 64 - program.sp)
    return left, caller


def test_a_stack_is_as_it_was_left(arch: Arch) -> None:
    """The same SP in the same function: h returns to g."""
    program = switched(arch)
    left, caller = leave(program)
    program.go(H + 0x20, left)
    assert program.returns_to == [G + 5, 0x1234]
    program.go(G + 5, caller, RETURN)
    assert program.returns_to == [0x1234]


def test_a_stack_is_resumed_with_the_callers_sp(arch: Arch) -> None:
    """Another function loads the SP behind the call, and then returns there."""
    program = switched(arch)
    _, caller = leave(program)
    program.go(F + 0x20)
    program.move(caller - program.sp)
    assert program.returns_to == [G + 5, 0x1234]
    program.go(G + 5, kind=RETURN)
    assert program.returns_to == [0x1234]


@pytest.mark.parametrize("kind", [RETURN, InstructionKind.INDIRECT])
def test_a_stack_is_resumed_by_longjmp(kind: InstructionKind, arch: Arch) -> None:
    """To another place in g, at the SP of its call: the call is gone."""
    program = switched(arch)
    _, caller = leave(program)
    program.go(F + 0x20)
    program.move(caller - program.sp)
    # Where SP does not tell, that it was g that called does.
    program.go(G + 0x40, kind=kind)
    assert program.returns_to == [0x1234]


@pytest.mark.parametrize("distance", [-48, 0, 48])
def test_a_stack_is_begun_again(distance: int, arch: Arch) -> None:
    """Below, at or above the place of before: nothing is left of that."""
    program = switched(arch)
    leave(program)
    program.go(F + 0x20)
    program.move(FAR + distance - program.sp)
    program.go(H, kind=RETURN, ra=0x5678)
    assert program.stacks.frames() == [entered(arch, FAR + distance, 0x5678)]
    program.call(H)
    assert program.returns_to == [H + 5, 0x5678]


def test_a_stack_is_begun_again_in_the_middle_of_a_function(arch: Arch) -> None:
    """Above all that was there before: nothing is known of it any more."""
    program = switched(arch)
    leave(program)
    program.go(F + 0x20)
    program.move(FAR + 48 - program.sp)
    program.go(H + 0x20, kind=RETURN)
    assert (program.returns_to, program.bottom) == ([], shadow.UNKNOWN)


def test_a_stack_is_begun_again_by_a_call_on_x86_64() -> None:
    """The call overwrites the return address of another function that was called there."""
    program = switched(X86_64)
    program.call(F + 0x20)
    program.move(TOP - 64 - program.sp)
    program.go(H + 0x20)
    program.move(FAR - program.sp)
    program.call(H + 0x20)
    assert program.returns_to == [H + 0x25]


def test_a_stack_is_begun_again_with_the_sp_that_it_was_left_with(arch: Arch) -> None:
    """By the same function, even: what it leaves for tells."""
    program = switched(arch)
    left, _ = leave(program)
    program.go(H + 0x20, left)
    program.go(F, kind=RETURN, ra=0x5678)
    assert program.stacks.frames() == [entered(arch, left, 0x5678)]


def test_a_stack_is_begun_again_with_the_same_return_address(arch: Arch) -> None:
    """That of glibc's contexts is always the same; FP is what it is now."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234, fp=0x77)
    program.call(G)
    program.move(TOP - 64 - program.sp)
    program.go(F + 0x20)
    program.move(FAR - program.sp)
    program.go(G, kind=RETURN, ra=0x1234, fp=0x88)
    assert program.stacks.frames() == [entered(arch, FAR, 0x1234, 0x88)]


@link_register
def test_a_function_that_returns_to_its_own_start(arch: Arch) -> None:
    """A coroutine is entered by a return, so its start is in the register: no return to it."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=G)
    program.move(TOP - program.sp)
    program.go(F + 0x20)
    program.move(FAR - program.sp)
    program.go(G, kind=RETURN, ra=G)
    assert program.returns_to == [G]


def test_a_function_is_entered_over_a_live_frame(arch: Arch) -> None:
    """A hook that runs on a resumed stack and returns to where it was left."""
    program = switched(arch)
    _, caller = leave(program)
    program.go(F + 0x20)
    program.move(caller - program.pushed - program.sp)
    program.go(H, ra=G + 5)
    assert program.returns_to == [G + 5, 0x1234]


# ---- stacks within reach of each other


def test_a_stack_below_is_told_by_its_first_function(arch: Arch) -> None:
    """16 KiB further down may be a large frame, until another function is entered."""
    program = Driver(arch)
    program.call(MAIN)
    here = program.sp
    program.go(F + 0x20)
    program.move(-16 * KILOBYTE)
    program.move(64)
    assert (program.returns_to, program.switches) == ([MAIN + 5], 0)
    program.go(G, kind=RETURN, ra=0x1234)
    assert (program.returns_to, program.switches) == ([0x1234], 1)
    program.move(-32)
    there = program.sp
    program.go(F + 0x30, here)
    assert program.returns_to == [MAIN + 5]
    program.move(there - here)
    program.go(G + 0x20)
    assert program.returns_to == [0x1234]


def test_the_stack_above_is_as_it_was_left(arch: Arch) -> None:
    """SP before it fell is that with which the stack was left."""
    program = Driver(arch)
    program.call(MAIN)
    here = program.sp
    program.go(F + 0x20)
    program.move(-16 * KILOBYTE)
    assert program.window == shadow.FELL
    program.go(G, kind=RETURN, ra=0x1234)
    program.go(F + 0x20)
    program.move(here - program.sp)
    assert (program.returns_to, program.window) == ([MAIN + 5], shadow.RESUMED)


def test_a_stack_below_is_told_by_a_return(arch: Arch) -> None:
    """Into the middle of a function, of which nothing is known."""
    program = Driver(arch)
    program.call(MAIN)
    program.go(F + 0x20)
    program.move(-16 * KILOBYTE)
    program.go(G + 0x20, kind=RETURN)
    assert (program.returns_to, program.bottom) == ([], shadow.UNKNOWN)


def test_a_stack_below_is_told_by_what_is_known(arch: Arch) -> None:
    """A jump into the middle of a function, with an SP at which another stack has been."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    program.move(-256)
    resumed = program.sp
    program.move(-256)
    program.move(FAR + 16 * KILOBYTE - program.sp)
    program.go(H, kind=RETURN, ra=0x5678)
    program.go(H + 0x20)
    program.move(resumed + 8 - program.sp)
    program.move(-8)
    assert program.returns_to == [0x5678]
    program.go(G + 0x20)
    assert program.returns_to == [0x1234]


def test_a_large_frame_with_a_jump_table(arch: Arch) -> None:
    """An indirect jump into an unknown part of the function: no other stack."""
    program = Driver(arch)
    program.call(MAIN)
    program.go(F + 0x20)
    program.move(-16 * KILOBYTE)
    program.go(G + 0x20)
    assert (program.returns_to, program.switches) == ([MAIN + 5], 0)


def test_a_large_frame_that_calls(arch: Arch) -> None:
    """The same distance, and a call: no other stack."""
    program = Driver(arch)
    program.call(MAIN)
    program.go(F + 0x20)
    program.move(-16 * KILOBYTE)
    program.call(F + 0x20)
    program.go(G, kind=RETURN, ra=0x1234)
    assert (program.returns_to, program.switches) == ([F + 0x25, MAIN + 5], 0)


@pytest.mark.parametrize(("before", "size"), [(64, 16), (64, 64), (600, 512)])
def test_memory_of_a_stack_that_was_used_otherwise(before: int, size: int, arch: Arch) -> None:
    """Begun again higher up it grows over what was another stack: that is no switch."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    for _ in range(4):
        program.call(G)
        program.move(-before)
    lowest = program.sp
    program.move(TOP - 64 - program.sp)
    program.go(F + 0x20)
    program.move(FAR + 256 - program.sp)
    program.go(G, kind=RETURN, ra=0x5678)
    depth = 0
    while program.sp > lowest:
        program.call(G)
        program.move(-size)
        depth += 1
    assert program.returns_to == [G + 5] * depth + [0x5678]


def test_a_large_frame_on_a_new_stack(arch: Arch) -> None:
    """Before it is known what is there; it is one stack."""
    program = switched(arch)
    program.move(-16 * KILOBYTE)
    program.go(G, kind=RETURN, ra=0x1234)
    assert (program.returns_to, program.switches) == ([0x1234], 1)


def test_a_step_to_where_a_stack_was_left(arch: Arch) -> None:
    """The same function, begun again higher up, comes to the very SP: that is no switch."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    program.go(F + 0x20)
    program.move(-64)
    left = program.sp
    program.move(TOP - 64 - program.sp)
    program.move(FAR + 64 - program.sp)
    program.go(G, kind=RETURN, ra=0x5678)
    program.go(F + 0x20)
    program.move(left - program.sp)
    assert (program.returns_to, program.switches) == ([0x5678], 3)


def test_two_tiny_stacks(arch: Arch) -> None:
    """512 bytes apart; the same function switches from one to the other."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    program.go(F + 0x20)
    program.move(-64)
    upper = program.sp
    program.move(TOP - 64 - program.sp)
    program.move(FAR - 512 - program.sp)
    program.go(H, kind=RETURN, ra=0x5678)
    program.go(F + 0x20)
    program.move(-64)
    lower = program.sp
    for _ in range(2):
        program.move(upper - lower)
        assert program.returns_to == [0x1234]
        program.move(lower - upper)
        assert program.returns_to == [0x5678]


@pytest.mark.parametrize("large", [False, True])
def test_what_was_grown_over_is_forgotten(large: bool, arch: Arch) -> None:
    """In small steps, or by a large frame that calls: its old places are those of the other."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    program.go(F + 0x20)
    program.move(-2 * KILOBYTE)
    left = program.sp
    program.move(TOP - 64 - program.sp)
    program.move(FAR + 256 - program.sp)
    program.go(G, kind=RETURN, ra=0x5678)
    while not large and program.sp > left - 256:
        program.move(-128)
    if large:
        program.move(left + 8 - program.sp)
    program.call(G)
    program.move(-256)
    program.move(TOP - 64 - program.sp)
    program.go(H + 0x20)
    program.move(left - program.sp)
    program.go(G + 0x40)
    assert program.returns_to == [G + 5] * large + [0x5678]


def test_forgotten_stacks_give_their_places(arch: Arch) -> None:
    """A stack that is begun higher and higher up needs no more than two."""
    program = switched(arch)
    for number in range(1, 30):
        program.go(G, kind=RETURN, ra=0x1234)
        for _ in range(4):
            program.move(-128)
        program.go(F + 0x20)
        program.move(TOP - 64 - program.sp)
        program.move(FAR + 256 * number - program.sp)
    assert program.stacks.words[shadow.STACK_COUNT] == 3


def test_a_stack_inside_another_that_is_older(arch: Arch) -> None:
    """Where both have been, SP is on the one that was left last."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    program.move(-1 * KILOBYTE)
    program.move(TOP - 64 - program.sp)
    program.move(FAR + 16 * KILOBYTE - program.sp)
    program.go(G, kind=RETURN, ra=0x5678)
    program.move(-32 * KILOBYTE)
    program.call(G)
    for inside in (FAR - 1 * KILOBYTE, FAR - 512):
        program.move(TOP - 64 - program.sp)
        program.go(F + 0x20)
        program.move(inside - program.sp)
        assert program.returns_to == [0x1234]


def test_a_stack_that_is_begun_again_may_be_smaller(arch: Arch) -> None:
    """What it once grew to has become another stack."""
    program = switched(arch)
    program.go(G, kind=RETURN, ra=0x1234)
    program.move(-8 * KILOBYTE)
    program.move(TOP - 64 - program.sp)
    program.go(F + 0x20)
    program.move(FAR - program.sp)
    program.go(G, kind=RETURN, ra=0x1234)
    program.go(G + 0x20)
    program.move(-4 * KILOBYTE)
    program.go(H, kind=RETURN, ra=0x5678)
    assert program.returns_to == [0x5678]


# ---- landings


@link_register
def test_a_direct_jump_is_no_landing(arch: Arch) -> None:
    """A leaf shares the last instructions of its caller, and returns to it."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    leaf = program.call(F)
    program.go(G + 0x20)
    program.go(F + 0x100, kind=PLAIN)
    assert program.returns_to == [F + 5, MAIN + 5]
    program.go(leaf, kind=RETURN)
    assert program.returns_to == [MAIN + 5]


@link_register
def test_longjmp_to_an_unknown_part(arch: Arch) -> None:
    """A return to what is no return address, in a part of f that has no such name."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    program.call(F)
    program.go(G + 0x20)
    program.go(H + 0x100, kind=RETURN)
    assert program.returns_to == [MAIN + 5]


@link_register
def test_a_landing_pad_in_an_unknown_part(arch: Arch) -> None:
    """Frames below the landing are gone; so is the leaf at its level that had called them."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    body = program.sp
    program.call(F)
    program.go(G + 0x20)
    program.move(-48)
    program.call(G)
    program.go(H + 0x100, body)
    assert program.returns_to == [MAIN + 5]


@link_register
def test_an_indirect_jump_to_another_function(arch: Arch) -> None:
    """Nothing tells a landing from a leaf that goes on elsewhere: it is live."""
    program = Driver(arch)
    program.call(MAIN)
    program.move(-64)
    program.call(F)
    program.go(G + 0x20)
    program.go(H + 0x100)
    assert program.returns_to == [F + 5, MAIN + 5]


def test_the_main_stack_is_never_begun_again() -> None:
    """Back on it, a function that is entered runs in place of what was there."""
    program = Driver(X86_64)
    program.call(MAIN)
    program.move(-64)
    here = program.sp
    program.call(F)
    program.go(G + 0x20)
    program.move(FAR - program.sp)
    program.go(H, kind=RETURN, ra=0x1234)
    program.move(here - program.sp)
    program.go(G, kind=RETURN, ra=0x5678)
    assert program.returns_to == [MAIN + 5]
