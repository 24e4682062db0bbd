"""Calls into the function that makes them, which may only be there to fetch the PC.

What such a call would have pushed is kept, and both readings are allowed, until one is shown to
be right. SP at its CFA again: its return address was popped, or returned to. Another function
entered with its return address and SP, by a stub that jumps there to keep the processor from
speculating: a call. Another call, while the return address is still on the stack: a call as
well, such as those of hand-written code that is all one function to its table.
"""

import numba

from emu.check import state as s
from emu.check.judge import check_caller
from emu.memory import host_address
from emu.native import load64, store64, swap64
from emu.truth import shadow as t
from emu.truth.classify import add_frame

_CALL_PC = t.FRAME_BYTES
"""In a fetch, behind the frame that it would have pushed: where the call stands."""
_FETCH_BYTES = 8 * t.FETCH_WORDS
_WORD = 8
_SAVE_AREA = 32 * _WORD
"""Bytes below the CFA in which a function saves the return address that came in a register."""


@numba.njit(cache=True, forceinline=True)
def _fetch(truth: int, number: int) -> int:
    return truth + 8 * t.FETCHES + _FETCH_BYTES * number


@numba.njit(cache=True)
def drop_fetches(truth: int, sp: int) -> None:
    """SP has changed: those whose CFA it has reached are over."""
    count = load64(truth + 8 * t.FETCH_COUNT)
    while count > 0 and load64(_fetch(truth, count - 1) + t.CFA) <= sp:
        count -= 1
    store64(truth + 8 * t.FETCH_COUNT, count)


@numba.njit(cache=True)
def fetch_pc(state: int, sp: int) -> None:
    """The instruction before was a call into its own function: keep what it would have pushed."""
    truth = load64(state + 8 * s.TRUTH)
    cfa = sp + load64(truth + 8 * t.ENTRY_CFA)
    drop_fetches(truth, cfa)
    if load64(truth + 8 * t.FETCH_COUNT) == t.MOST_FETCHES:
        push_fetches(state, sp, t.MOST_FETCHES)
    count = load64(truth + 8 * t.FETCH_COUNT)
    at = _fetch(truth, count)
    store64(at + t.RA, load64(truth + 8 * t.NEXT_PC))
    store64(at + t.CFA, cfa)
    store64(at + t.FP, load64(truth + 8 * t.PREVIOUS_FP))
    store64(at + t.OWNER, load64(truth + 8 * t.PREVIOUS_OWNER))
    store64(at + _CALL_PC, load64(truth + 8 * t.PREVIOUS_PC))
    store64(truth + 8 * t.FETCH_COUNT, count + 1)


@numba.njit(cache=True)
def _is_kept(state: int, fetch: int, sp: int) -> bool:
    """The return address is on the stack: where the call has put it, or saved further down."""
    truth = load64(state + 8 * s.TRUTH)
    at = load64(fetch + t.CFA) - _WORD
    lowest = at
    if load64(truth + 8 * t.RA_IN_REGISTER):
        lowest = max(sp, at - _SAVE_AREA)
    while at >= lowest:
        slot = host_address(load64(state + 8 * s.MEMORY), at)
        if slot:
            word = load64(slot)
            if load64(state + 8 * s.SWAP):
                word = swap64(word)
            if word == load64(fetch + t.RA):
                return True
        at -= _WORD
    return False


@numba.njit(cache=True)
def push_fetches(state: int, sp: int, first: int) -> None:
    """Take the first so many for calls, if their return addresses are kept; forget the others."""
    truth = load64(state + 8 * s.TRUTH)
    store64(truth + 8 * t.FETCH_COUNT, 0)
    for number in range(first):
        if _is_kept(state, _fetch(truth, number), sp):
            _push(state, _fetch(truth, number))


@numba.njit(cache=True)
def _push(state: int, fetch: int) -> None:
    truth = load64(state + 8 * s.TRUTH)
    store64(state + 8 * s.MEMO_ROW, 0)
    store64(truth + 8 * t.CALLS, load64(truth + 8 * t.CALLS) + 1)
    pushed = add_frame(
        truth, load64(fetch + t.RA), load64(fetch + t.CFA), load64(fetch + t.FP),
        load64(fetch + t.OWNER),
    )  # fmt: skip
    if pushed:
        check_caller(state, load64(fetch + _CALL_PC), load64(fetch + t.FP), False)


@numba.njit(cache=True)
def enter_fetched(state: int, sp: int, ra: int) -> bool:
    """A function is entered with this state; whether a call that seemed to fetch the PC did so."""
    truth = load64(state + 8 * s.TRUTH)
    cfa = sp + load64(truth + 8 * t.ENTRY_CFA)
    number = load64(truth + 8 * t.FETCH_COUNT)
    while number > 0:
        number -= 1
        fetch = _fetch(truth, number)
        if load64(fetch + t.CFA) == cfa and load64(fetch + t.RA) == ra:
            push_fetches(state, sp, number)
            _push(state, fetch)
            return True
    return False
