"""The true call stack: a shadow stack for each stack of the guest, in compiled code.

This module has the frames and the stacks; `emu.truth.classify` says what a transfer of
control does to them. At each instruction the check calls `place`, and then what belongs to
the instruction before. The rules of stacks (each one has a case that fails without it):

* SP outside [lowest SP seen - 1 MiB, base] of the current stack, or inside another known
  one, is a stack switch; the main stack may fall by its whole size at once.
* Who loads another stack's SP has a caller there that only its return or jump tells. Until
  then a window is open, of which the check judges nothing. Where SP is what it was when the
  same function left the stack, all should be as it was left; it is judged so if it is right,
  and else waits as well.
* SP above the frame of the running function, on the same stack, is such a load as well. What
  is right by the frame that was left is right there, too.
* SP that falls far at once may be a large frame, or another stack that lies below: the same.
* A new stack begins empty, and what lies below is not known until its first function is
  entered: that one's return address, whatever it is, then says how the stack ends.
"""

import mmap

import numba
import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.native import load64, store64

FETCH_WORDS, MOST_FETCHES = 5, 4

# Words of the truth block.
(
    FRAMES, DEPTH, LOW, HIGH, SLACK, MAIN_SIZE, CAPACITY, PREVIOUS_PC, NEXT_PC, PREVIOUS_KIND,
    PREVIOUS_FP, PREVIOUS_SP, PREVIOUS_OWNER, STACKS, STACK_COUNT, CURRENT, ENTRY_CFA, CALLER_SP,
    RA_IN_REGISTER, RA_NUMBER, CALLS, RETURNS, ABANDONED, SWITCHES, OVERFLOW, BOTTOM, WINDOW,
    WINDOW_DEPTH, WINDOW_SP, WINDOW_OWNER, WINDOW_FROM, WINDOW_LOW, WINDOW_LEFT, LANDED, _, _, _,
    FETCH_COUNT, FETCHES,
) = range(39)  # fmt: skip
WORDS = FETCHES + FETCH_WORDS * MOST_FETCHES

# A frame: what its caller's registers are, and which function called.
RA, CFA, FP, OWNER = 0, 8, 16, 24
FRAME_BYTES = 32

# How the current stack ends: for certain; not known; its lowest frame is what the first
# function was entered with; the same, and a row has said that nothing is there.
ENDS, UNKNOWN, ENTERED, MARKED = range(4)

# The window: closed; on another stack than before; there as it was left, as it seems; far
# below, and maybe on another stack.
CLOSED, SWITCHED, RESUMED, FELL = range(4)

# A stack that is not the current one; where and in which function it began and was left.
(
    _S_FRAMES, _S_DEPTH, _S_LOW, _S_HIGH, _S_CAPACITY, _S_FIRST_SP, _S_FIRST_OWNER, _S_LEFT_SP,
    _S_LEFT_OWNER, _S_LEFT_AT, _S_BOTTOM,
) = range(0, 88, 8)  # fmt: skip
_STACK_WORDS = 11
_STACK_BYTES = 8 * _STACK_WORDS
_MOST_STACKS = 1024

# What `place` says of SP where it is not the number of a known stack.
SAME, FAR, NEW = -1, -2, _MOST_STACKS

_SLACK = 1 << 20
"""Bytes that a stack may grow by at once without being taken for another one."""
_NEAR, _FAR = 1 << 8, 1 << 10
"""Bytes that SP falls by without coming to a known stack, and without a window."""
_HOME = 64
"""Bytes about the SP that a stack was left with, by one of which it may be resumed."""
_HEAD = 512
"""Bytes above the first SP of a stack that may turn out to belong to it."""
_MAIN_FRAMES, _OTHER_FRAMES = 1 << 21, 1 << 16


@numba.njit(cache=True)
def known(truth: int, sp: int) -> int:
    """Number of the stack that holds SP, other than the current one; -1: none.

    Where memory has been of several, it is of the one that was left with about this SP, or
    that was left last.
    """
    stacks = load64(truth + 8 * STACKS)
    current = load64(truth + 8 * CURRENT)
    best = last = -1
    for number in range(1, load64(truth + 8 * STACK_COUNT)):
        other = stacks + _STACK_BYTES * number
        if number != current and load64(other + _S_LOW) <= sp <= load64(other + _S_HIGH):
            left = load64(other + _S_LEFT_AT)
            if -_HOME <= sp - load64(other + _S_LEFT_SP) <= _HOME:
                left += 1 << 60
            if left > last:
                best, last = number, left
    # The main stack comes last: others may lie inside it.
    low = load64(stacks + _S_LOW) - load64(truth + 8 * MAIN_SIZE)
    if best < 0 and current and low <= sp <= load64(stacks + _S_HIGH):
        return 0
    return best


@numba.njit(cache=True, forceinline=True)
def place(truth: int, sp: int, owner: int) -> int:
    """The stack that SP is on, in the function `owner`; called first whenever SP has changed.

    SAME, FAR (the same, or one that lies below), NEW or its number; these two for `switch`.
    """
    if load64(truth + 8 * LOW) <= sp <= load64(truth + 8 * HIGH):
        return SAME
    return _place_outside(truth, sp, owner)


@numba.njit(cache=True)
def _place_outside(truth: int, sp: int, owner: int) -> int:
    """SP is not where the current stack is known to be: it grows, or is another one."""
    number = known(truth, sp)
    low = load64(truth + 8 * LOW)
    high = load64(truth + 8 * HIGH)
    if low - load64(truth + 8 * SLACK) <= sp < low:
        fall = load64(truth + 8 * PREVIOUS_SP) - sp
        if number >= 0 and fall >= _NEAR and _as_left(truth, number, sp, owner):
            return number
        store64(truth + 8 * LOW, sp)
        if load64(truth + 8 * WINDOW) == CLOSED and fall >= _FAR:
            store64(truth + 8 * WINDOW_LOW, low)
            return FAR
        if load64(truth + 8 * WINDOW) == CLOSED:
            _forget(truth, sp)
        return SAME
    if number >= 0:
        return number
    if high < sp <= high + _HEAD and load64(truth + 8 * CURRENT) != 0:
        store64(truth + 8 * HIGH, sp)
        return SAME
    return NEW


@numba.njit(cache=True)
def _as_left(truth: int, number: int, sp: int, owner: int) -> bool:
    """A stack was left with this SP, by this function."""
    stack = load64(truth + 8 * STACKS) + _STACK_BYTES * number
    return sp == load64(stack + _S_LEFT_SP) and owner == load64(stack + _S_LEFT_OWNER)


@numba.njit(cache=True)
def _forget(truth: int, sp: int) -> None:
    """The current stack has grown over another one, which therefore is in use no more."""
    number = known(truth, sp)
    if number > 0:
        store64(load64(truth + 8 * STACKS) + _STACK_BYTES * number + _S_HIGH, 0)
        store64(load64(truth + 8 * STACKS) + _STACK_BYTES * number + _S_LEFT_AT, -1)


@numba.njit(cache=True)
def close_window(truth: int) -> None:
    """SP is on the stack that it seems to be on."""
    if load64(truth + 8 * WINDOW) == FELL:
        _forget(truth, load64(truth + 8 * WINDOW_SP))
    store64(truth + 8 * WINDOW, CLOSED)


@numba.njit(cache=True)
def open_window(truth: int, kind: int, sp: int, owner: int) -> None:
    """Who called the running function on this stack, or on which one it is, is not known yet."""
    store64(truth + 8 * WINDOW, kind)
    store64(truth + 8 * WINDOW_DEPTH, load64(truth + 8 * DEPTH))
    store64(truth + 8 * WINDOW_SP, sp)
    store64(truth + 8 * WINDOW_OWNER, owner)
    store64(truth + 8 * WINDOW_FROM, load64(truth + 8 * PREVIOUS_SP))
    store64(truth + 8 * WINDOW_LEFT, 0)


@numba.njit(cache=True)
def leave_frame(truth: int, sp: int, owner: int) -> None:
    """Open the window if SP is above all that the running function had.

    It has loaded the SP of who comes next, which only its jump tells (longjmp, eh_return).
    """
    depth = load64(truth + 8 * DEPTH)
    frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1)
    if depth > 0 and sp > load64(frame + CFA) + load64(truth + 8 * CALLER_SP):
        open_window(truth, SWITCHED, sp, owner)
        store64(truth + 8 * WINDOW_LEFT, 1)


@numba.njit(cache=True)
def _leave(truth: int, sp: int, owner: int) -> None:
    """Put the current stack away, which was left with this SP by this function."""
    here = load64(truth + 8 * STACKS) + _STACK_BYTES * load64(truth + 8 * CURRENT)
    store64(here + _S_DEPTH, load64(truth + 8 * DEPTH))
    store64(here + _S_LOW, load64(truth + 8 * LOW))
    store64(here + _S_HIGH, load64(truth + 8 * HIGH))
    store64(here + _S_BOTTOM, load64(truth + 8 * BOTTOM))
    store64(here + _S_LEFT_AT, load64(truth + 8 * SWITCHES))
    store64(here + _S_LEFT_SP, sp)
    store64(here + _S_LEFT_OWNER, owner)


@numba.njit(cache=True)
def _new(truth: int, sp: int, owner: int) -> int:
    """A stack that begins at SP, in the function `owner`.

    It gets the place of one that is forgotten; if there is no room, that of the one that was
    left first, but for the main stack.
    """
    stacks = load64(truth + 8 * STACKS)
    count = load64(truth + 8 * STACK_COUNT)
    lefts = stacks + _S_LEFT_AT
    number = 1
    for each in range(2, count):
        if load64(lefts + _STACK_BYTES * each) < load64(lefts + _STACK_BYTES * number):
            number = each
    if count == 1 or (count < _MOST_STACKS and load64(lefts + _STACK_BYTES * number) >= 0):
        number = count
        store64(truth + 8 * STACK_COUNT, count + 1)
    new = stacks + _STACK_BYTES * number
    store64(new + _S_DEPTH, 0)
    store64(new + _S_LOW, sp)
    store64(new + _S_HIGH, sp)
    store64(new + _S_FIRST_SP, sp)
    store64(new + _S_FIRST_OWNER, owner)
    store64(new + _S_LEFT_SP, 0)
    store64(new + _S_BOTTOM, UNKNOWN)
    return number


@numba.njit(cache=True)
def switch(truth: int, number: int, sp: int, owner: int) -> None:
    """SP, in the function `owner`, has come to the stack `number` from another one."""
    _leave(truth, load64(truth + 8 * PREVIOUS_SP), load64(truth + 8 * PREVIOUS_OWNER))
    _enter(truth, _new(truth, sp, owner) if number == NEW else number, sp, owner)


@numba.njit(cache=True)
def split(truth: int, sp: int) -> None:
    """SP has fallen far, and control shows that it fell onto another stack."""
    store64(truth + 8 * LOW, load64(truth + 8 * WINDOW_LOW))
    first = load64(truth + 8 * WINDOW_SP)
    owner = load64(truth + 8 * WINDOW_OWNER)
    _leave(truth, load64(truth + 8 * WINDOW_FROM), owner)
    number = known(truth, first)
    _enter(truth, number if number > 0 else _new(truth, first, owner), first, owner)
    store64(truth + 8 * LOW, min(load64(truth + 8 * LOW), sp))


@numba.njit(cache=True)
def _enter(truth: int, number: int, sp: int, owner: int) -> None:
    """Make a stack the current one, without what is left over from an earlier use of it."""
    stack = load64(truth + 8 * STACKS) + _STACK_BYTES * number
    depth = load64(stack + _S_DEPTH)
    frames = load64(stack + _S_FRAMES)
    # A frame whose caller's SP is SP can be alive: that of a function which has given its
    # frame back, and by which the stack was left. But not where the stack began.
    first = load64(stack + _S_FIRST_SP)
    begun = sp == first and owner == load64(stack + _S_FIRST_OWNER)
    while depth > 0:
        frame = frames + FRAME_BYTES * (depth - 1)
        caller = load64(frame + CFA) + load64(truth + 8 * CALLER_SP)
        if sp < caller or (sp == caller and not begun):
            break
        depth -= 1
    store64(truth + 8 * CURRENT, number)
    store64(truth + 8 * FRAMES, frames)
    store64(truth + 8 * DEPTH, depth)
    store64(truth + 8 * BOTTOM, load64(stack + _S_BOTTOM))
    store64(truth + 8 * LOW, min(load64(stack + _S_LOW), sp))
    store64(truth + 8 * HIGH, load64(stack + _S_HIGH))
    store64(truth + 8 * CAPACITY, load64(stack + _S_CAPACITY))
    store64(truth + 8 * SLACK, _SLACK if number else load64(truth + 8 * MAIN_SIZE))
    store64(truth + 8 * SWITCHES, load64(truth + 8 * SWITCHES) + 1)
    store64(truth + 8 * FETCH_COUNT, 0)
    open_window(truth, RESUMED if _as_left(truth, number, sp, owner) else SWITCHED, sp, owner)


@numba.njit(cache=True)
def clear(truth: int, sp: int) -> None:
    """The current stack is used anew from SP on: nothing of earlier times is left."""
    store64(truth + 8 * LOW, sp)
    store64(truth + 8 * HIGH, sp)
    store64(truth + 8 * DEPTH, 0)


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
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000  # MAP_NORESERVE
        self._memory = mmap.mmap(-1, FRAME_BYTES * frames, flags=flags)
        self._bytes = np.frombuffer(self._memory, np.uint8)
        address = self._bytes.ctypes.data
        self._stacks: npt.NDArray[np.int64] = np.zeros((_MOST_STACKS, _STACK_WORDS), np.int64)
        others = _MAIN_FRAMES + _OTHER_FRAMES * np.arange(_MOST_STACKS - 1)
        self._stacks[1:, 0] = address + FRAME_BYTES * others
        self._stacks[1:, 4] = _OTHER_FRAMES
        self._stacks[0, :5] = address, 0, sp, base, _MAIN_FRAMES
        self.words: npt.NDArray[np.int64] = np.zeros(WORDS, np.int64)
        for word, value in (
            (FRAMES, address), (LOW, sp), (HIGH, base), (PREVIOUS_SP, sp), (SLACK, size),
            (MAIN_SIZE, size), (CAPACITY, _MAIN_FRAMES), (STACKS, self._stacks.ctypes.data),
            (STACK_COUNT, 1), (ENTRY_CFA, arch.entry_cfa_offset), (CALLER_SP, arch.sp_offset),
            (RA_IN_REGISTER, arch.ra_in_register), (RA_NUMBER, arch.ra),
        ):  # fmt: skip
            self.words[word] = value

    @property
    def block(self) -> int:
        """Address of the block; valid as long as this object."""
        return int(self.words.ctypes.data)

    def push(self, ra: int, cfa: int, fp: int) -> None:
        """Put a frame on the current stack: where truth is known without a run."""
        depth = int(self.words[DEPTH])
        offset = int(self.words[FRAMES]) - self._bytes.ctypes.data + FRAME_BYTES * depth
        frame = self._bytes[offset : offset + FRAME_BYTES].view(np.int64)
        for at, value in ((RA, ra), (CFA, cfa), (FP, fp)):
            frame[at // 8] = value
        self.words[DEPTH] = depth + 1

    def frames(self) -> list[tuple[int, int, int]]:
        """(return address, CFA, caller's FP) of the current stack, innermost first."""
        depth = int(self.words[DEPTH])
        offset = int(self.words[FRAMES]) - self._bytes.ctypes.data
        rows = np.frombuffer(self._memory, np.int64, 4 * depth, offset).reshape(depth, 4)
        lowest = int(self.words[BOTTOM] == MARKED)
        return [(int(ra), int(cfa), int(fp)) for ra, cfa, fp, _ in rows[lowest:][::-1]]
