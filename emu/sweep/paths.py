"""One path of an exploration: where it is, how it stops, and what it gives back at its end."""

import numba

from emu.check import state as s
from emu.memory import host_address
from emu.native import call_stop, load8, load32, load64, store8, store64, swap64
from emu.sweep import state as w
from emu.sweep.items import get_register, pop, redirect


@numba.njit(cache=True)
def site_at(state: int, pc: int) -> int:
    """Address of the site that begins at a runtime address, or 0."""
    span = load64(state + 8 * w.SPAN)
    if not load64(span + w.P_START) <= pc < load64(span + w.P_END):
        spans = load64(state + 8 * w.SPANS)
        low = 0
        high = load64(state + 8 * w.SPAN_COUNT)
        while low < high:
            middle = (low + high) >> 1
            if load64(spans + w.SPAN_BYTES * middle + w.P_START) <= pc:
                low = middle + 1
            else:
                high = middle
        span = spans + w.SPAN_BYTES * (low - 1)
        if low == 0 or pc >= load64(span + w.P_END):
            return 0
        store64(state + 8 * w.SPAN, span)
    offset = pc - load64(span + w.P_START)
    shift = load64(span + w.P_SHIFT)
    if offset & ((1 << shift) - 1):
        return 0
    number = load32(load64(span + w.P_INDEX) + 4 * (offset >> shift))
    if number == 0:
        return 0
    return load64(span + w.P_SITES) + w.SITE_BYTES * (number - 1)


@numba.njit(cache=True)
def stop(state: int, why: int, pc: int) -> None:
    """Back to Python; the instruction at hand is not executed."""
    store64(state + 8 * w.STOPPED_BY, why)
    store64(state + 8 * w.STOP_PC, pc)
    call_stop(load64(state + 8 * s.STOP), load64(state + 8 * s.ENGINE))


@numba.njit(cache=True)
def count_one(state: int, word: int) -> None:
    """One more of something."""
    store64(state + 8 * word, load64(state + 8 * word) + 1)


@numba.njit(cache=True)
def end_path(state: int) -> None:
    """This path is done: take up the next one."""
    pc = pop(state)
    if pc:
        redirect(state, pc)
    else:
        stop(state, w.DONE, 0)


@numba.njit(cache=True)
def gives_back(state: int) -> bool:
    """SP and the return address are what the function was given."""
    sp = get_register(state, load64(state + 8 * w.SP_NUMBER))
    right = sp == load64(state + 8 * w.ENTRY_SP)
    number = load64(state + 8 * w.RA_NUMBER)
    if right:
        if number >= 0:
            ra = get_register(state, number)
        else:
            slot = host_address(load64(state + 8 * s.MEMORY), sp)
            ra = 0 if slot == 0 else load64(slot)
            if load64(state + 8 * s.SWAP):
                ra = swap64(ra)
        right = ra & ~load64(state + 8 * w.RA_MASK) == load64(state + 8 * w.ENTRY_RA)
    return right


@numba.njit(cache=True)
def _keeps(state: int) -> bool:
    """All callee-saved registers have their values of the entry again."""
    numbers = load64(state + 8 * w.SAVED)
    truth = load64(state + 8 * w.SAVED_TRUTH)
    for index in range(load64(state + 8 * w.KEPT_COUNT)):
        if get_register(state, load8(numbers + index)) != load64(truth + 8 * index):
            return False
    return True


@numba.njit(cache=True)
def mark_candidate(state: int, bits: int) -> None:
    """Note how a way of the present candidate came out."""
    place = load64(state + 8 * w.CANDIDATES) + load64(state + 8 * w.CANDIDATE)
    store8(place, load8(place) | bits)


@numba.njit(cache=True)
def judge_return(state: int) -> None:
    """The path returns here, or leaves by a tail call: does it give back what it was given?"""
    right = gives_back(state)
    count_one(state, w.RETURNED if right else w.GIVEN_UP)
    candidate = load64(state + 8 * w.CANDIDATE)
    if candidate:
        if not right:
            mark_candidate(state, w.HANDED_OVER)
            return
        fp = get_register(state, load64(state + 8 * w.FP_NUMBER))
        lost = 0 if _keeps(state) else w.NOT_KEPT
        lost |= 0 if fp == load64(state + 8 * w.ENTRY_FP) else w.FP_LOST
        mark_candidate(state, w.CONFIRMED | lost)
