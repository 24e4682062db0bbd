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
  SP cannot tell a live leaf from frames that a longjmp abandoned. There each call is
  remembered as (return address, caller's SP) -> depth and parent; when control jumps to
  such a pair whose parent is still on the stack, what was pushed since is dropped.
* SP outside [lowest SP seen - 1 MiB, base] of the current stack, or inside another known
  one, is a stack switch. A new stack begins empty; a known one is found as it was.
"""

import mmap

import numba
import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.native import load64, store64

# Words of the truth block.
(
    FRAMES, DEPTH, LOW, HIGH, CAPACITY, SERIAL, PREVIOUS_PC, NEXT_PC, PREVIOUS_KIND,
    PREVIOUS_FP, STACKS, STACK_COUNT, CURRENT, PAIRS, ENTRY_CFA, CALLER_SP, RA_IN_REGISTER,
    CALLS, RETURNS, ABANDONED, SWITCHES, OVERFLOW, WORDS,
) = range(23)  # fmt: skip

# A frame: what its caller's registers are, and a number that no other frame has.
RA, CFA, FP, FRAME_SERIAL = 0, 8, 16, 24
FRAME_BYTES = 32

# A stack that is not the current one.
_S_FRAMES, _S_DEPTH, _S_LOW, _S_HIGH, _S_CAPACITY = range(0, 40, 8)
_STACK_BYTES = 40
_MOST_STACKS = 1024

_SLACK = 1 << 20
"""Bytes that a stack may grow by at once without being taken for another one."""
_HEAD = 512
"""Bytes above the first SP of a new stack that still belong to it."""

# A remembered call.
_P_RA, _P_SP, _P_PARENT, _P_DEPTH = range(0, 32, 8)
_PAIR_BYTES = 32
_WAYS = 4
_SETS = 1 << 16
_GONE = 1 << 40
"""Deeper than any stack."""

_CALL = 1
_MAIN_FRAMES = 1 << 21
_OTHER_FRAMES = 1 << 16


@numba.njit(cache=True)
def _parent(truth: int, depth: int) -> int:
    """Serial of the frame below a depth of the current stack; 0: the bottom."""
    if depth == 0:
        return 0
    return load64(load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1) + FRAME_SERIAL)


@numba.njit(cache=True)
def _remember(truth: int, ra: int, sp: int, depth: int) -> None:
    """Keep (ra, sp) -> depth.

    Where its set is full, a call whose parent is gone gives way; else the deepest does, it
    may be the new one: who jumps far, jumps to a frame near the bottom.
    """
    base = load64(truth + 8 * PAIRS) + _PAIR_BYTES * _WAYS * _set_of(ra, sp)
    place_of = 0
    deepest = depth
    for way in range(_WAYS):
        pair = base + _PAIR_BYTES * way
        kept = load64(pair + _P_DEPTH)
        if load64(pair + _P_RA) in (0, ra) and load64(pair + _P_SP) in (0, sp):
            place_of = pair
            break
        gone = kept > depth or load64(pair + _P_PARENT) != _parent(truth, kept)
        if gone:
            kept = _GONE
        if kept > deepest:
            deepest = kept
            place_of = pair
    if place_of == 0:
        return
    store64(place_of + _P_RA, ra)
    store64(place_of + _P_SP, sp)
    store64(place_of + _P_PARENT, _parent(truth, depth))
    store64(place_of + _P_DEPTH, depth)


@numba.njit(cache=True)
def _set_of(ra: int, sp: int) -> int:
    mixed = (ra ^ (sp << 13)) * -7046029254386353131
    return (mixed >> 40) & (_SETS - 1)


@numba.njit(cache=True)
def _land(truth: int, pc: int, sp: int, depth: int) -> int:
    """The depth after control came back to an old call at (pc, sp)."""
    base = load64(truth + 8 * PAIRS) + _PAIR_BYTES * _WAYS * _set_of(pc, sp)
    for way in range(_WAYS):
        pair = base + _PAIR_BYTES * way
        if load64(pair + _P_RA) == pc and load64(pair + _P_SP) == sp:
            old = load64(pair + _P_DEPTH)
            if old >= depth:
                return depth
            return old if _parent(truth, old) == load64(pair + _P_PARENT) else depth
    return depth


@numba.njit(cache=True)
def _switch(truth: int, sp: int) -> None:
    """Make the stack that holds SP the current one, a new one if none does."""
    stacks = load64(truth + 8 * STACKS)
    here = stacks + _STACK_BYTES * load64(truth + 8 * CURRENT)
    store64(here + _S_DEPTH, load64(truth + 8 * DEPTH))
    store64(here + _S_LOW, load64(truth + 8 * LOW))
    store64(here + _S_HIGH, load64(truth + 8 * HIGH))
    count = load64(truth + 8 * STACK_COUNT)
    number = -1
    for i in range(count):
        other = stacks + _STACK_BYTES * i
        if load64(other + _S_LOW) <= sp <= load64(other + _S_HIGH):
            number = i
    if number < 0:
        # The oldest but the first gives its place when the table is full.
        number = count if count < _MOST_STACKS else 1 + load64(truth + 8 * SWITCHES) % (count - 1)
        if number == count:
            store64(truth + 8 * STACK_COUNT, count + 1)
        new = stacks + _STACK_BYTES * number
        store64(new + _S_DEPTH, 0)
        store64(new + _S_LOW, sp)
        store64(new + _S_HIGH, sp + _HEAD)
    new = stacks + _STACK_BYTES * number
    depth = load64(new + _S_DEPTH)
    frames = load64(new + _S_FRAMES)
    # What lies below SP is left over from an earlier use of this memory.
    while depth > 0:
        frame = frames + FRAME_BYTES * (depth - 1)
        if sp <= load64(frame + CFA) + load64(truth + 8 * CALLER_SP):
            break
        depth -= 1
    store64(truth + 8 * CURRENT, number)
    store64(truth + 8 * FRAMES, frames)
    store64(truth + 8 * DEPTH, depth)
    store64(truth + 8 * LOW, min(load64(new + _S_LOW), sp))
    store64(truth + 8 * HIGH, load64(new + _S_HIGH))
    store64(truth + 8 * CAPACITY, load64(new + _S_CAPACITY))
    store64(truth + 8 * SWITCHES, load64(truth + 8 * SWITCHES) + 1)


@numba.njit(cache=True)
def _grow(truth: int, sp: int) -> None:
    """SP fell below the lowest seen: within reach, unless another stack lies there."""
    stacks = load64(truth + 8 * STACKS)
    current = load64(truth + 8 * CURRENT)
    for i in range(load64(truth + 8 * STACK_COUNT)):
        other = stacks + _STACK_BYTES * i
        if i != current and load64(other + _S_LOW) <= sp <= load64(other + _S_HIGH):
            _switch(truth, sp)
            return
    store64(truth + 8 * LOW, sp)


@numba.njit(cache=True, forceinline=True)
def place(truth: int, sp: int) -> None:
    """Find the stack that SP is on; called first at every instruction."""
    low = load64(truth + 8 * LOW)
    if sp > load64(truth + 8 * HIGH) or sp < low - _SLACK:
        _switch(truth, sp)
    elif sp < low:
        _grow(truth, sp)


@numba.njit(cache=True)
def push(truth: int, sp: int) -> bool:
    """The instruction before was a call: one more frame. False: the shadow stack is full."""
    depth = load64(truth + 8 * DEPTH)
    if depth >= load64(truth + 8 * CAPACITY):
        store64(truth + 8 * OVERFLOW, 1)
        return False
    frames = load64(truth + 8 * FRAMES)
    ra = load64(truth + 8 * NEXT_PC)
    cfa = sp + load64(truth + 8 * ENTRY_CFA)
    serial = load64(truth + 8 * SERIAL) + 1
    store64(truth + 8 * SERIAL, serial)
    if load64(truth + 8 * RA_IN_REGISTER):
        _remember(truth, ra, cfa + load64(truth + 8 * CALLER_SP), depth)
    frame = frames + FRAME_BYTES * depth
    store64(frame + RA, ra)
    store64(frame + CFA, cfa)
    store64(frame + FP, load64(truth + 8 * PREVIOUS_FP))
    store64(frame + FRAME_SERIAL, serial)
    store64(truth + 8 * DEPTH, depth + 1)
    store64(truth + 8 * CALLS, load64(truth + 8 * CALLS) + 1)
    return True


@numba.njit(cache=True, forceinline=True)
def stays(truth: int, pc: int, sp: int, return_site: int) -> bool:
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
        and not return_site
        and pc != load64(frame + RA)
    )


@numba.njit(cache=True)
def jump(truth: int, pc: int, sp: int, return_site: int) -> bool:
    """Control came to `pc` neither by falling through nor by a call.

    `return_site`: some call has `pc` as its return address. True: frames were taken off.
    """
    depth = load64(truth + 8 * DEPTH)
    if depth == 0:
        return False
    frames = load64(truth + 8 * FRAMES)
    distance = load64(truth + 8 * CALLER_SP)
    in_register = load64(truth + 8 * RA_IN_REGISTER)
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
            if in_register:
                if return_site:
                    depth = _land(truth, pc, sp, depth)
                break
        depth -= 1
    if depth == before:
        return False
    store64(truth + 8 * DEPTH, depth)
    store64(truth + 8 * RETURNS, load64(truth + 8 * RETURNS) + returned)
    store64(truth + 8 * ABANDONED, load64(truth + 8 * ABANDONED) + before - depth - returned)
    return True


class ShadowStacks:
    """The truth block and the memory behind it.

    Args:
        arch: the machine.
        sp: the stack pointer at the start of the program.
        base: the end of its stack.
    """

    def __init__(self, arch: Arch, sp: int, base: int) -> None:
        frames = _MAIN_FRAMES + (_MOST_STACKS - 1) * _OTHER_FRAMES
        # Lazily filled: only the frames that are really used take host memory.
        self._memory = mmap.mmap(
            -1,
            FRAME_BYTES * frames + _PAIR_BYTES * _WAYS * _SETS,
            flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000,  # MAP_NORESERVE
        )
        self._bytes = np.frombuffer(self._memory, np.uint8)
        address = self._bytes.ctypes.data
        self._stacks: npt.NDArray[np.int64] = np.zeros((_MOST_STACKS, 5), np.int64)
        for number in range(_MOST_STACKS):
            at = 0 if number == 0 else _MAIN_FRAMES + (number - 1) * _OTHER_FRAMES
            self._stacks[number, 0] = address + FRAME_BYTES * at
            self._stacks[number, 4] = _OTHER_FRAMES if number else _MAIN_FRAMES
        self._stacks[0, 2:4] = sp, base
        self.words: npt.NDArray[np.int64] = np.zeros(WORDS, np.int64)
        self.words[FRAMES] = address
        self.words[LOW] = sp
        self.words[HIGH] = base
        self.words[CAPACITY] = _MAIN_FRAMES
        self.words[STACKS] = self._stacks.ctypes.data
        self.words[STACK_COUNT] = 1
        self.words[PAIRS] = address + FRAME_BYTES * frames
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
