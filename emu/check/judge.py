"""One instruction's verdict: a step, compared with the shadow stack; and what is kept of it."""

import numba

from arch import RuleKind
from emu.check import state as s
from emu.check.code import find_range, record_at
from emu.memory import CHANGES
from emu.native import call_reg_read, load8, load32, load64, store8, store32, store64
from emu.truth.shadow import CALLER_SP, DEPTH, FRAME_BYTES, FRAMES, PREVIOUS_PC
from emu.truth.shadow import CFA as FRAME_CFA
from emu.truth.shadow import FP as FRAME_FP
from emu.truth.shadow import RA as FRAME_RA
from emu.unwind.lookup import lookup
from emu.unwind.packed import (
    BASE_SP,
    CFA_DEREF,
    CFA_IS_BOUND,
    CFA_REGISTER,
    FLAGS,
    FP_KIND,
    FP_REGISTER,
    NEEDS,
    RA_KIND,
    RA_REGISTER,
    ROW_BYTES,
)
from emu.unwind.step import CFA, DONE, FP, FP_SLOT, RA, RA_SLOT, step
from emu.verdict import Verdict

_EXACT = int(Verdict.EXACT)
_OUTERMOST = int(Verdict.OUTERMOST)
_WRONG_CFA = int(Verdict.WRONG_CFA)
_WRONG_RA = int(Verdict.WRONG_RA)
_WRONG_FP = int(Verdict.WRONG_FP)
_WRONG_END = int(Verdict.WRONG_END)
_REFUSED = int(Verdict.REFUSED)
_NO_MODULE = int(Verdict.NO_MODULE)
_KEEP = int(RuleKind.KEEP)
_AT_CFA = int(RuleKind.AT_CFA)
_REGISTER = int(RuleKind.REGISTER)
_UNKNOWN = int(RuleKind.UNKNOWN)


@numba.njit(cache=True)
def read_register(state: int, place: int, number: int) -> int:
    """A register of the live machine: from host memory, or through the emulator."""
    if place:
        return load64(place)
    result = load64(state + 8 * s.RESULT)
    call_reg_read(load64(state + 8 * s.REG_READ), load64(state + 8 * s.ENGINE), number, result)
    return load64(result)


@numba.njit(cache=True)
def fetch(state: int, register: int) -> None:
    """Bring one register into the register file that the step reads."""
    if register >= 0:
        value = read_register(
            state,
            load64(load64(state + 8 * s.REGISTER_PLACES) + 8 * register),
            load64(load64(state + 8 * s.REGISTER_NUMBERS) + 8 * register),
        )
        store64(load64(state + 8 * s.REGISTERS) + 8 * register, value)


@numba.njit(cache=True, forceinline=True)
def judge(state: int, row: int, depth: int, sp: int, fp: int, topmost: int) -> int:
    """One step from (sp, fp), compared with frame `depth` - 1 of the shadow stack."""
    result = load64(state + 8 * s.RESULT)
    if topmost and load64(row + NEEDS):
        fetch(state, load64(row + CFA_REGISTER))
        fetch(state, load64(row + RA_REGISTER))
        fetch(state, load64(row + FP_REGISTER))
    found = step(
        row, sp, fp, load64(state + 8 * s.REGISTERS), load64(state + 8 * s.MEMORY),
        load64(state + 8 * s.SWAP), topmost, result,
    )  # fmt: skip
    if found == _REFUSED:
        return found
    if depth == 0:
        # The truth has ended; so must the row, or what it yields has no caller.
        if found == _OUTERMOST or (found == _EXACT and load64(result + RA) == 0):
            return _OUTERMOST
        return _WRONG_END
    if found == _OUTERMOST:
        return _WRONG_END
    if found != _EXACT:
        return found
    truth = load64(state + 8 * s.TRUTH)
    frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1)
    if (
        load64(result + CFA) != load64(frame + FRAME_CFA)
        and load64(row + FLAGS) & CFA_IS_BOUND == 0
    ):
        return _WRONG_CFA
    if load64(result + RA) != load64(frame + FRAME_RA):
        return _WRONG_RA
    if load64(result + FP) != load64(frame + FRAME_FP) and load64(row + FP_KIND) != _UNKNOWN:
        return _WRONG_FP
    return _EXACT


@numba.njit(cache=True, forceinline=True)
def _memo_place(state: int, kind: int, register: int, slot: int) -> int:
    """Where the word that a rule's value rests on lies in host memory, or 0."""
    if kind == _AT_CFA:
        return slot
    if kind == _REGISTER and register >= 0:
        return load64(load64(state + 8 * s.REGISTER_PLACES) + 8 * register)
    return 0


@numba.njit(cache=True, forceinline=True)
def memorise(state: int, row: int, fp: int) -> None:
    """Keep what the last exact verdict rested on.

    A step is a function of the row, SP, FP and two words, in memory or in registers.
    While these stay what they were, and the frame on top of the shadow stack stays the
    same one, its verdict stays too and need not be worked out again. Rows that rest on
    more, or on registers that cannot be read directly, are not kept.
    """
    result = load64(state + 8 * s.RESULT)
    ra_kind = load64(row + RA_KIND)
    ra_register = load64(row + RA_REGISTER)
    if ra_kind == _KEEP:
        ra_kind = _REGISTER
    ra_place = _memo_place(state, ra_kind, ra_register, load64(result + RA_SLOT))
    fp_kind = load64(row + FP_KIND)
    if fp_kind == _KEEP:
        fp_place = state + 8 * s.ZERO
    else:
        fp_place = _memo_place(state, fp_kind, load64(row + FP_REGISTER), load64(result + FP_SLOT))
    base = load64(row + CFA_REGISTER)
    if ra_place == 0 or fp_place == 0 or base >= 0 or load64(row + CFA_DEREF):
        store64(state + 8 * s.MEMO_ROW, 0)
        return
    store64(state + 8 * s.MEMO_ROW, row)
    store64(state + 8 * s.MEMO_FP, fp)
    # Where nothing rests on FP it may serve other purposes and change freely.
    store64(state + 8 * s.MEMO_ANY_FP, base == BASE_SP and fp_kind != _KEEP)
    store64(state + 8 * s.MEMO_RA_PLACE, ra_place)
    store64(state + 8 * s.MEMO_RA, load64(ra_place))
    store64(state + 8 * s.MEMO_FP_PLACE, fp_place)
    store64(state + 8 * s.MEMO_SAVED_FP, load64(fp_place))
    store64(state + 8 * s.MEMO_CHANGES, load64(load64(state + 8 * s.MEMORY) + 8 * CHANGES))


@numba.njit(cache=True)
def note(state: int, pc: int, size: int, key: int, code: int, depth: int, computed: int) -> None:
    """Count an event; the first of its kind keeps what was wanted and what was got."""
    heads = load64(state + 8 * s.HEADS)
    head = heads + 4 * (((pc ^ (key << 20)) * -7046029254386353131 >> 48) & (s.HEAD_COUNT - 1))
    events = load64(state + 8 * s.EVENTS)
    number = load32(head)
    while number:
        event = events + s.EVENT_BYTES * number
        if load64(event + s.E_PC) == pc and load64(event + s.E_KEY) == key:
            store64(event + s.E_COUNT, load64(event + s.E_COUNT) + 1)
            return
        number = load64(event + s.E_NEXT)
    number = load64(state + 8 * s.EVENT_COUNT) + 1
    if number >= load64(state + 8 * s.EVENT_CAPACITY):
        store64(state + 8 * s.EVENTS_LOST, load64(state + 8 * s.EVENTS_LOST) + 1)
        return
    store64(state + 8 * s.EVENT_COUNT, number)
    event = events + s.EVENT_BYTES * number
    store64(event + s.E_PC, pc)
    store64(event + s.E_KEY, key)
    store64(event + s.E_COUNT, 1)
    store64(event + s.E_NEXT, load32(head))
    store64(event + s.E_ROW, code)
    store64(event + s.E_SIZE, size)
    store64(event + s.E_FIRST, load64(state + 8 * s.EXECUTED))
    store32(head, number)
    result = load64(state + 8 * s.RESULT)
    store64(event + s.E_DONE, (load64(result + DONE) if computed else 0) | (depth > 0) << 8)
    if computed:
        store64(event + s.E_GOT_CFA, load64(result + CFA))
        store64(event + s.E_GOT_RA, load64(result + RA))
        store64(event + s.E_GOT_FP, load64(result + FP))
    if depth > 0:
        truth = load64(state + 8 * s.TRUTH)
        frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1)
        store64(event + s.E_WANT_CFA, load64(frame + FRAME_CFA))
        store64(event + s.E_WANT_RA, load64(frame + FRAME_RA))
        store64(event + s.E_WANT_FP, load64(frame + FRAME_FP))


@numba.njit(cache=True)
def count(counters: int, verdict: int) -> None:
    """One more of a verdict."""
    store64(counters + 8 * verdict, load64(counters + 8 * verdict) + 1)


@numba.njit(cache=True)
def check_caller(state: int, fp: int) -> None:
    """A call was made: does the row of its return address describe the caller?"""
    truth = load64(state + 8 * s.TRUTH)
    depth = load64(truth + 8 * DEPTH)
    frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1)
    call = load64(truth + 8 * PREVIOUS_PC)
    ra = load64(frame + FRAME_RA)
    span = find_range(state, call)
    rows = 0
    code = -_NO_MODULE
    if span:
        record = record_at(span, call)
        store64(record + s.C_CALLS, load64(record + s.C_CALLS) + 1)
        rows = load64(span + s.R_ROWS)
        flags = load8(record + s.C_FLAGS)
        if flags & s.CALLER_KNOWN:
            code = load32(record + s.C_CALLER_CODE)
        else:
            address = ra - load64(state + 8 * s.RETURN_BACK) - load64(span + s.R_BIAS)
            code = lookup(load64(span + s.R_TABLE), address)
            store32(record + s.C_CALLER_CODE, code)
            store8(record + s.C_FLAGS, flags | s.CALLER_KNOWN)
    if code < 0:
        verdict = -code
    else:
        caller = load64(frame + FRAME_CFA) + load64(truth + 8 * CALLER_SP)
        verdict = judge(state, rows + ROW_BYTES * code, depth - 1, caller, fp, False)
    count(load64(state + 8 * s.CALLER_VERDICTS), verdict)
    if verdict != _EXACT and verdict != _OUTERMOST:
        note(state, call, ra - call, verdict | s.CALLER_ROLE, code, depth - 1, code >= 0)
