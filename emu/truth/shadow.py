"""The true call stack: a shadow stack for each stack of the guest, in compiled code.

At each instruction `advance` is told the PC, SP and FP and what the instruction before
was. The rules (each one has a case that fails without it):

* A call that did not fall through pushes (return address, CFA, FP before the call).
  One that falls through onto the start of a function is a call too; one that lands in
  its own function, but not at its start, only fetches the PC.
* Any other jump pops the top frame if PC is its return address and SP its caller's SP,
  and drops each frame whose caller's SP is below SP (longjmp, unwinding). Opcodes do
  not count: some machines return by conditional branches, and code can return by a jump.
* Where the return address travels in a register, a leaf's SP equals its caller's SP, so
  SP cannot tell a live leaf from one that was abandoned at that level. There a jump from
  one function into the middle of another, from which the frame was called, has abandoned
  the frame: it is the landing of a longjmp or of an exception.
* SP outside [lowest SP seen - 1 MiB, base] of the current stack, or inside another known
  one, is a stack switch; the main stack may fall by its whole size at once. A new stack
  begins empty; a known one is found as it was, unless it begins again.
"""

import mmap

import numba
import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.native import load64, store64

# Words of the truth block.
(
    FRAMES, DEPTH, LOW, HIGH, SLACK, MAIN_SIZE, CAPACITY, PREVIOUS_PC, NEXT_PC, PREVIOUS_KIND,
    PREVIOUS_FP, PREVIOUS_SP, PREVIOUS_OWNER, STACKS, STACK_COUNT, CURRENT, ENTRY_CFA, CALLER_SP,
    RA_IN_REGISTER, CALLS, RETURNS, ABANDONED, SWITCHES, OVERFLOW, WORDS,
) = range(25)  # fmt: skip

# A frame: what its caller's registers are, and which function called.
RA, CFA, FP, OWNER = 0, 8, 16, 24
FRAME_BYTES = 32

# A stack that is not the current one; where and in which function it began.
_S_FRAMES, _S_DEPTH, _S_LOW, _S_HIGH, _S_CAPACITY, _S_FIRST_SP, _S_FIRST_OWNER = range(0, 56, 8)
_STACK_WORDS = 7
_STACK_BYTES = 8 * _STACK_WORDS
_MOST_STACKS = 1024

_SLACK = 1 << 20
"""Bytes that a stack may grow by at once without being taken for another one."""
_HEAD = 512
"""Bytes above the first SP of a stack that may turn out to belong to it."""

_MAIN_FRAMES = 1 << 21
_OTHER_FRAMES = 1 << 16


@numba.njit(cache=True)
def _known(truth: int, sp: int) -> int:
    """Number of the stack that holds SP, other than the current one; -1: none."""
    stacks = load64(truth + 8 * STACKS)
    current = load64(truth + 8 * CURRENT)
    # The main stack comes last: others may lie inside it.
    number = load64(truth + 8 * STACK_COUNT) - 1
    while number >= 0:
        other = stacks + _STACK_BYTES * number
        low = load64(other + _S_LOW)
        if number == 0:
            low -= load64(truth + 8 * MAIN_SIZE)
        if number != current and low <= sp <= load64(other + _S_HIGH):
            return number
        number -= 1
    return -1


@numba.njit(cache=True)
def _new(truth: int, sp: int, owner: int) -> int:
    """A stack that begins at SP, in the function `owner`."""
    stacks = load64(truth + 8 * STACKS)
    number = load64(truth + 8 * STACK_COUNT)
    if number < _MOST_STACKS:
        store64(truth + 8 * STACK_COUNT, number + 1)
    else:
        # Another one but the main stack gives its place, in turn.
        number = 1 + load64(truth + 8 * SWITCHES) % (_MOST_STACKS - 1)
    new = stacks + _STACK_BYTES * number
    store64(new + _S_DEPTH, 0)
    store64(new + _S_LOW, sp)
    store64(new + _S_HIGH, sp)
    store64(new + _S_FIRST_SP, sp)
    store64(new + _S_FIRST_OWNER, owner)
    return number


@numba.njit(cache=True)
def _leave(truth: int) -> None:
    """Put the current stack away."""
    here = load64(truth + 8 * STACKS) + _STACK_BYTES * load64(truth + 8 * CURRENT)
    store64(here + _S_DEPTH, load64(truth + 8 * DEPTH))
    store64(here + _S_LOW, load64(truth + 8 * LOW))
    store64(here + _S_HIGH, load64(truth + 8 * HIGH))


@numba.njit(cache=True)
def _enter(truth: int, number: int, sp: int, owner: int) -> None:
    """Make a stack the current one, without what is left over from an earlier use of it."""
    stack = load64(truth + 8 * STACKS) + _STACK_BYTES * number
    depth = load64(stack + _S_DEPTH)
    frames = load64(stack + _S_FRAMES)
    # A frame whose caller's SP is SP can be alive where the return address is in a
    # register: that of a leaf, by which the stack was left. But not where it began.
    level = load64(truth + 8 * RA_IN_REGISTER) != 0 and (
        sp != load64(stack + _S_FIRST_SP) or owner != load64(stack + _S_FIRST_OWNER)
    )
    while depth > 0:
        frame = frames + FRAME_BYTES * (depth - 1)
        caller = load64(frame + CFA) + load64(truth + 8 * CALLER_SP)
        if sp < caller or (sp == caller and level):
            break
        depth -= 1
    store64(truth + 8 * CURRENT, number)
    store64(truth + 8 * FRAMES, frames)
    store64(truth + 8 * DEPTH, depth)
    store64(truth + 8 * LOW, min(load64(stack + _S_LOW), sp))
    store64(truth + 8 * HIGH, load64(stack + _S_HIGH))
    store64(truth + 8 * CAPACITY, load64(stack + _S_CAPACITY))
    store64(truth + 8 * SLACK, _SLACK if number else load64(truth + 8 * MAIN_SIZE))
    store64(truth + 8 * SWITCHES, load64(truth + 8 * SWITCHES) + 1)


@numba.njit(cache=True, forceinline=True)
def place(truth: int, sp: int, owner: int) -> None:
    """Find the stack that SP is on; called first whenever SP has changed."""
    if not load64(truth + 8 * LOW) <= sp <= load64(truth + 8 * HIGH):
        _place_outside(truth, sp, owner)


@numba.njit(cache=True)
def _place_outside(truth: int, sp: int, owner: int) -> None:
    """SP is not where the current stack is known to be: it grows, or is another one."""
    number = _known(truth, sp)
    if number < 0:
        low = load64(truth + 8 * LOW)
        high = load64(truth + 8 * HIGH)
        if sp < low and sp >= low - load64(truth + 8 * SLACK):
            store64(truth + 8 * LOW, sp)
            return
        if sp > high and sp <= high + _HEAD and load64(truth + 8 * CURRENT) != 0:
            store64(truth + 8 * HIGH, sp)
            return
    _leave(truth)
    if number < 0:
        number = _new(truth, sp, owner)
    _enter(truth, number, sp, owner)


@numba.njit(cache=True)
def push(truth: int, sp: int) -> bool:
    """The instruction before was a call: one more frame. False: the shadow stack is full."""
    depth = load64(truth + 8 * DEPTH)
    if depth >= load64(truth + 8 * CAPACITY):
        store64(truth + 8 * OVERFLOW, 1)
        return False
    frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * depth
    store64(frame + RA, load64(truth + 8 * NEXT_PC))
    store64(frame + CFA, sp + load64(truth + 8 * ENTRY_CFA))
    store64(frame + FP, load64(truth + 8 * PREVIOUS_FP))
    store64(frame + OWNER, load64(truth + 8 * PREVIOUS_OWNER))
    store64(truth + 8 * DEPTH, depth + 1)
    store64(truth + 8 * CALLS, load64(truth + 8 * CALLS) + 1)
    return True


@numba.njit(cache=True, forceinline=True)
def stays(truth: int, pc: int, sp: int, owner: int) -> bool:
    """`jump` would leave the stack as it is; for the common jump inside a function."""
    depth = load64(truth + 8 * DEPTH)
    if depth == 0:
        return True
    frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1)
    caller = load64(frame + CFA) + load64(truth + 8 * CALLER_SP)
    if sp < caller:
        return True
    return (
        sp == caller
        and load64(truth + 8 * RA_IN_REGISTER) != 0
        and owner == load64(truth + 8 * PREVIOUS_OWNER)
        and pc != load64(frame + RA)
    )


@numba.njit(cache=True)
def jump(truth: int, pc: int, sp: int, owner: int, entry: int) -> bool:
    """Control came to `pc` neither by falling through nor by a call.

    Args:
        owner: number of the function that holds `pc`, 0 if none does.
        entry: not 0 where a function begins at `pc`: that is a tail call.

    Returns:
        Frames were taken off.
    """
    depth = load64(truth + 8 * DEPTH)
    if depth == 0:
        return False
    frames = load64(truth + 8 * FRAMES)
    distance = load64(truth + 8 * CALLER_SP)
    before = depth
    returned = 0
    while depth > 0:
        frame = frames + FRAME_BYTES * (depth - 1)
        caller = load64(frame + CFA) + distance
        if sp < caller:
            break
        if sp == caller:
            if pc == load64(frame + RA):
                depth -= 1
                returned = 1
                break
            if load64(truth + 8 * RA_IN_REGISTER):
                if owner and not entry and owner != load64(truth + 8 * PREVIOUS_OWNER):
                    depth = _land(truth, sp, owner, depth)
                break
        depth -= 1
    if depth == before:
        return False
    store64(truth + 8 * DEPTH, depth)
    store64(truth + 8 * RETURNS, load64(truth + 8 * RETURNS) + returned)
    store64(truth + 8 * ABANDONED, load64(truth + 8 * ABANDONED) + before - depth - returned)
    return True


@numba.njit(cache=True)
def _land(truth: int, sp: int, owner: int, depth: int) -> int:
    """The depth after a jump into the middle of a function: what it had called is gone."""
    frames = load64(truth + 8 * FRAMES)
    level = depth
    while level > 0:
        frame = frames + FRAME_BYTES * (level - 1)
        if load64(frame + CFA) + load64(truth + 8 * CALLER_SP) != sp:
            return depth
        level -= 1
        if load64(frame + OWNER) == owner:
            return level
    return depth


class ShadowStacks:
    """The truth block and the memory behind it.

    Args:
        arch: the machine.
        sp: the stack pointer at the start of the program.
        base: the end of its stack.
        size: bytes of its stack.
    """

    def __init__(self, arch: Arch, sp: int, base: int, size: int) -> None:
        frames = _MAIN_FRAMES + (_MOST_STACKS - 1) * _OTHER_FRAMES
        # Lazily filled: only the frames that are really used take host memory.
        self._memory = mmap.mmap(
            -1,
            FRAME_BYTES * frames,
            flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000,  # MAP_NORESERVE
        )
        self._bytes = np.frombuffer(self._memory, np.uint8)
        address = self._bytes.ctypes.data
        self._stacks: npt.NDArray[np.int64] = np.zeros((_MOST_STACKS, _STACK_WORDS), np.int64)
        for number in range(_MOST_STACKS):
            at = 0 if number == 0 else _MAIN_FRAMES + (number - 1) * _OTHER_FRAMES
            self._stacks[number, 0] = address + FRAME_BYTES * at
            self._stacks[number, 4] = _OTHER_FRAMES if number else _MAIN_FRAMES
        self._stacks[0, 2:4] = sp, base
        self.words: npt.NDArray[np.int64] = np.zeros(WORDS, np.int64)
        self.words[FRAMES] = address
        self.words[LOW] = sp
        self.words[HIGH] = base
        self.words[SLACK] = self.words[MAIN_SIZE] = size
        self.words[CAPACITY] = _MAIN_FRAMES
        self.words[STACKS] = self._stacks.ctypes.data
        self.words[STACK_COUNT] = 1
        self.words[ENTRY_CFA] = arch.entry_cfa_offset
        self.words[CALLER_SP] = arch.sp_offset
        self.words[RA_IN_REGISTER] = arch.ra_in_register

    @property
    def block(self) -> int:
        """Address of the block; valid as long as this object."""
        return int(self.words.ctypes.data)

    def frames(self) -> list[tuple[int, int, int]]:
        """(return address, CFA, caller's FP) of the current stack, innermost first."""
        depth = int(self.words[DEPTH])
        offset = int(self.words[FRAMES]) - self._bytes.ctypes.data
        rows = np.frombuffer(self._memory, np.int64, 4 * depth, offset).reshape(depth, 4)
        return [(int(ra), int(cfa), int(fp)) for ra, cfa, fp, _ in rows[::-1]]
