"""Forced execution, called by the emulator before each instruction.

Every instruction is checked by the same `judge` as in a run, then the way on is forced. What
needs a look at operands (indirect jumps, a wrong row) is left to Python: the run stops before
the instruction, with the reason.
"""

import numba
from numba import types

from arch.flow import Flow
from emu.check import state as s
from emu.check.code import note
from emu.native import address_of, load8, load32, load64, signed, store8, store32, store64
from emu.sweep import state as w
from emu.sweep.faults import ENTRY_BYTES, judge_all
from emu.sweep.items import bring_back, get_register, keep_block, redirect
from emu.sweep.paths import count_one, end_path, mark_candidate, site_at, stop
from emu.sweep.steer import decide
from emu.sweep.verdict import is_wrong, verdict_of
from emu.truth.shadow import DEPTH

_PLAIN = int(Flow.PLAIN)

_CHASE_LIMIT = 4000
"""Instructions that a path with a wrong row is followed for."""


@numba.njit(cache=True)
def _replay(state: int, pc: int) -> None:
    """Only run on: up to a place, or over the jump that stands there."""
    store64(state + 8 * w.PREVIOUS_PC, pc)
    if load64(state + 8 * w.LANDED):
        stop(state, w.LANDING, pc)
        return
    if pc == load64(state + 8 * w.STOP_AT):
        if load64(state + 8 * w.RUN_ON):
            store64(state + 8 * w.LANDED, 1)
        else:
            stop(state, w.REACHED, pc)
        return
    left = load64(state + 8 * w.CHASE_LEFT) - 1
    store64(state + 8 * w.CHASE_LEFT, left)
    if left <= 0:
        stop(state, w.TOO_LONG, pc)


@numba.njit(cache=True)
def _check(state: int, site: int, pc: int) -> bool:
    """Judge the instruction at hand; False: the run has been stopped, or the path ended."""
    epoch = load64(state + 8 * w.EPOCH)
    tainted = load64(state + 8 * w.MODE) == w.TAINTED
    verdict = verdict_of(state, site)
    if not is_wrong(verdict):
        faults = load32(site + w.S_FAULTS)
        if faults and not tainted:
            judge_all(
                state,
                load64(state + 8 * w.FAULTS) + ENTRY_BYTES * faults,
                load64(state + 8 * w.FAULT_ROWS),
                load64(state + 8 * w.FAULT_SETS),
                load64(state + 8 * w.OUTCOMES),
                verdict,
                load64(load64(state + 8 * s.TRUTH) + 8 * DEPTH),
                get_register(state, load64(state + 8 * w.SP_NUMBER)),
                get_register(state, load64(state + 8 * w.FP_NUMBER)),
            )
        how = w.R_TAINTED if tainted else w.R_CLEAN
        store8(site + w.S_REACHED, load8(site + w.S_REACHED) | how)
        if tainted:
            store32(site + w.S_TAINTED, epoch)
        else:
            store32(site + w.S_SEEN, epoch)
        return True
    if not tainted:
        store64(state + 8 * w.VERDICT, verdict)
        stop(state, w.MISMATCH, pc)
        return False
    store32(site + w.S_TAINTED, epoch)
    store8(site + w.S_REACHED, load8(site + w.S_REACHED) | w.R_TAINTED)
    sp = get_register(state, load64(state + 8 * w.SP_NUMBER))
    if not load64(state + 8 * w.STACK_LOW) <= sp <= load64(state + 8 * w.CALLER_SP):
        # Another stack, or nothing left of this frame: there is nothing to unwind.
        mark_candidate(state, w.HANDED_OVER)
    key = verdict | load64(state + 8 * w.CANDIDATE) << 16
    depth = load64(load64(state + 8 * s.TRUTH) + 8 * DEPTH)
    note(state, pc, load8(site + w.S_SIZE), key, load32(site + w.S_ROW), depth, True)
    return True


@numba.njit(cache=True)
def _arrive(state: int, site: int, pc: int) -> bool:
    """Is there something to do at this instruction, on this path? False: the path is over."""
    flags = load8(site + w.S_FLAGS)
    function = load32(site + w.S_FUNCTION)
    if function != load64(state + 8 * w.CURRENT):
        # Not by a jump, which would have said so: the path ran over the end of its function.
        if (flags & w.START and flags & (w.ENTRY_ROW | w.BOTTOM)) or (
            function < 0 and flags & w.PADDING
        ):
            count_one(state, w.LEFT)
            end_path(state)
            return False
        store64(state + 8 * w.CURRENT, function)
    if load64(state + 8 * w.NEW_BLOCK):
        store64(state + 8 * w.NEW_BLOCK, 0)
        if flags & w.INDIRECTS:
            keep_block(state, pc)
    epoch = load64(state + 8 * w.EPOCH)
    mode = load64(state + 8 * w.MODE)
    if mode == w.CHASE:
        left = load64(state + 8 * w.CHASE_LEFT) - 1
        store64(state + 8 * w.CHASE_LEFT, left)
        if left <= 0:
            end_path(state)
            return False
        return True
    if load64(state + 8 * w.FREE_LEFT):
        return True
    seen = load32(site + w.S_SEEN) == epoch
    if mode == w.CLEAN:
        if seen and flags & w.REVISIT == 0:
            end_path(state)
            return False
        return True
    if seen or load32(site + w.S_TAINTED) == epoch:
        if load8(load64(state + 8 * w.CANDIDATES) + load64(state + 8 * w.CANDIDATE)):
            end_path(state)
            return False
        # What this path does is known from here on, but not whether it returns.
        store64(state + 8 * w.MODE, w.CHASE)
        store64(state + 8 * w.CHASE_LEFT, _CHASE_LIMIT)
    return True


@numba.njit(cache=True)
def _loop(state: int, pc: int) -> bool:
    """In a loop that runs for real: True while it does."""
    left = load64(state + 8 * w.FREE_LEFT)
    if not load64(state + 8 * w.FREE_LOW) <= pc <= load64(state + 8 * w.FREE_HIGH):
        store64(state + 8 * w.FREE_LEFT, 0)
        return False
    store64(state + 8 * w.FREE_LEFT, left - 1)
    if left == 1:
        # It does not end: a size that no caller would ask for. Leave it after the first round.
        count_one(state, w.FORCED)
        bring_back(state, load64(state + 8 * w.FREE_ITEM))
        redirect(state, load64(state + 8 * w.FREE_EXIT))
    return True


@numba.njit(cache=True)
def explore(state: int, pc: int) -> None:
    """The instruction at `pc` is about to execute."""
    if load64(state + 8 * w.MODE) == w.REPLAY:
        _replay(state, pc)
        return
    steps = load64(state + 8 * s.EXECUTED) + 1
    store64(state + 8 * s.EXECUTED, steps)
    if steps >= load64(state + 8 * w.STEP_LIMIT):
        stop(state, w.TOO_LONG, pc)
        return
    site = site_at(state, pc)
    if site == 0:
        count_one(state, w.LEFT)
        end_path(state)
        return
    if not _arrive(state, site, pc):
        return
    if load64(state + 8 * w.MODE) != w.CHASE and not _check(state, site, pc):
        return
    store64(state + 8 * w.PREVIOUS_PC, pc)
    if load64(state + 8 * w.FREE_LEFT) and _loop(state, pc):
        return
    kind = load8(site + w.S_KIND)
    if kind == _PLAIN:
        count = load64(state + 8 * w.RECENT_COUNT)
        place = load64(state + 8 * w.RECENT) + 16 * (count % w.RECENT_SIZE)
        store64(place, pc)
        store64(place + 8, get_register(state, load64(state + 8 * w.SP_NUMBER)))
        store64(state + 8 * w.RECENT_COUNT, count + 1)
        return
    decide(state, site, pc, kind)


_SIGNATURE = types.void(types.voidptr, types.uint64, types.uint32, types.voidptr)


@numba.cfunc(_SIGNATURE, cache=True)
def sweep_hook(engine: object, address: int, length: int, user: object) -> None:
    """Check the instruction that is about to execute, and force the way; `user` is the state."""
    explore(address_of(user), signed(address))
