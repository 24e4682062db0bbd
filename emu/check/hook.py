"""The compiled check, called by the emulator before each instruction.

Induction: a caller's frame does not change while its callee runs. So one step from the
live registers is compared with the top of the shadow stack at every instruction, and
the row of the return address is checked once, when its call is made.
"""

import numba
from numba import types

from arch import RuleKind
from arch.descriptor import InstructionKind
from emu.check.state import (
    BREAK,
    C_CALLER_CODE,
    C_CALLS,
    C_CODE,
    C_COUNT,
    C_FLAGS,
    C_KIND,
    C_SIZE,
    CALLER_KNOWN,
    CALLER_ROLE,
    CALLER_VERDICTS,
    E_COUNT,
    E_DONE,
    E_FIRST,
    E_GOT_CFA,
    E_GOT_FP,
    E_GOT_RA,
    E_KEY,
    E_NEXT,
    E_PC,
    E_ROW,
    E_SIZE,
    E_WANT_CFA,
    E_WANT_FP,
    E_WANT_RA,
    ENGINE,
    ENTRY,
    EVENT_BYTES,
    EVENT_CAPACITY,
    EVENT_COUNT,
    EVENTS,
    EVENTS_LOST,
    EXECUTED,
    FP_NUMBER,
    FP_PLACE,
    HEAD_COUNT,
    HEADS,
    HIT_STOPPED,
    HIT_WANTED,
    HITS,
    LAST_SP,
    LIMIT,
    MEMO_ANY_FP,
    MEMO_CHANGES,
    MEMO_FP,
    MEMO_FP_PLACE,
    MEMO_RA,
    MEMO_RA_PLACE,
    MEMO_ROW,
    MEMO_SAVED_FP,
    MEMORY,
    PREPARED,
    R_BIAS,
    R_END,
    R_FUNCTION_COUNT,
    R_FUNCTIONS,
    R_RECORDS,
    R_ROWS,
    R_SHIFT,
    R_START,
    R_TABLE,
    RANGE,
    RANGE_BYTES,
    RANGE_COUNT,
    RANGES,
    RECOGNISER,
    RECORD_BYTES,
    REG_READ,
    REGISTER_NUMBERS,
    REGISTER_PLACES,
    REGISTERS,
    REPLAY,
    RESULT,
    RETURN_BACK,
    RETURN_SITE,
    SP_NUMBER,
    SP_PLACE,
    STOP,
    SWAP,
    TRUTH,
    VERDICTS,
    ZERO,
)
from emu.memory import BUFFER, CHANGES, find_mapping
from emu.native import (
    address_of,
    call_reg_read,
    call_stop,
    load8,
    load32,
    load64,
    signed,
    store8,
    store32,
    store64,
)
from emu.truth.classify import classify
from emu.truth.shadow import (
    CALLER_SP,
    DEPTH,
    FRAME_BYTES,
    FRAMES,
    NEXT_PC,
    PREVIOUS_FP,
    PREVIOUS_KIND,
    PREVIOUS_PC,
    jump,
    place,
    push,
    stays,
)
from emu.truth.shadow import CFA as FRAME_CFA
from emu.truth.shadow import FP as FRAME_FP
from emu.truth.shadow import RA as FRAME_RA
from emu.unwind.lookup import lookup
from emu.unwind.packed import (
    BASE_SP,
    CFA_DEREF,
    CFA_REGISTER,
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
_CALL = int(InstructionKind.CALL)
_KEEP = int(RuleKind.KEEP)
_AT_CFA = int(RuleKind.AT_CFA)
_REGISTER = int(RuleKind.REGISTER)
_UNKNOWN = int(RuleKind.UNKNOWN)


@numba.njit(cache=True)
def _read(state: int, place: int, number: int) -> int:
    """A register of the live machine: from host memory, or through the emulator."""
    if place:
        return load64(place)
    result = load64(state + 8 * RESULT)
    call_reg_read(
        load64(state + 8 * REG_READ), load64(state + 8 * ENGINE), number, result
    )
    return load64(result)


@numba.njit(cache=True)
def _fetch(state: int, register: int) -> None:
    """Bring one register into the register file that the step reads."""
    if register >= 0:
        value = _read(
            state,
            load64(load64(state + 8 * REGISTER_PLACES) + 8 * register),
            load64(load64(state + 8 * REGISTER_NUMBERS) + 8 * register),
        )
        store64(load64(state + 8 * REGISTERS) + 8 * register, value)


@numba.njit(cache=True)
def _find_range(state: int, pc: int) -> int:
    """The range that holds the PC, or 0."""
    span = load64(state + 8 * RANGES)
    for _ in range(load64(state + 8 * RANGE_COUNT)):
        if load64(span + R_START) <= pc < load64(span + R_END):
            store64(state + 8 * RANGE, span)
            return span
        span += RANGE_BYTES
    return 0


@numba.njit(cache=True)
def _record(span: int, pc: int) -> int:
    """The record of an address in a range."""
    return load64(span + R_RECORDS) + RECORD_BYTES * (
        (pc - load64(span + R_START)) >> load64(span + R_SHIFT)
    )


@numba.njit(cache=True)
def _follow(truth: int, pc: int, size: int, kind: int, fp: int) -> None:
    """Keep what the next instruction must know of this one."""
    store64(truth + 8 * PREVIOUS_PC, pc)
    store64(truth + 8 * NEXT_PC, pc + size)
    store64(truth + 8 * PREVIOUS_KIND, kind)
    store64(truth + 8 * PREVIOUS_FP, fp)


@numba.njit(cache=True)
def _function_start(span: int, address: int) -> int:
    """Start of the function that holds a link-time address, or -1."""
    functions = load64(span + R_FUNCTIONS)
    low = 0
    high = load64(span + R_FUNCTION_COUNT)
    while low < high:
        middle = (low + high) >> 1
        if load64(functions + 16 * middle) <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0 or address >= load64(functions + 16 * (low - 1) + 8):
        return -1
    return load64(functions + 16 * (low - 1))


@numba.njit(cache=True)
def _kind_at(state: int, pc: int) -> int:
    mapping = find_mapping(load64(state + 8 * MEMORY), pc)
    if mapping == 0:
        return 0
    code = load64(load64(state + 8 * MEMORY) + 8 * BUFFER) + load64(mapping + 16)
    return classify(load64(state + 8 * RECOGNISER), code + pc - load64(mapping))


@numba.njit(cache=True)
def _prepare(state: int, span: int, record: int, pc: int, size: int) -> int:
    """First execution of an instruction: what it is, and its row."""
    address = pc - load64(span + R_BIAS)
    store32(record + C_CODE, lookup(load64(span + R_TABLE), address))
    store8(record + C_KIND, _kind_at(state, pc))
    store8(record + C_SIZE, size)
    flags = load8(record + C_FLAGS) | PREPARED
    if _function_start(span, address) == address:
        flags |= ENTRY
    store8(record + C_FLAGS, flags)
    return flags


@numba.njit(cache=True)
def _same_function(state: int, one: int, other: int) -> bool:
    """Two runtime addresses lie in the same function."""
    span = _find_range(state, one)
    if span == 0 or not load64(span + R_START) <= other < load64(span + R_END):
        return False
    bias = load64(span + R_BIAS)
    start = _function_start(span, one - bias)
    return start >= 0 and start == _function_start(span, other - bias)


@numba.njit(cache=True)
def _judge(state: int, row: int, depth: int, sp: int, fp: int, topmost: int) -> int:
    """One step from (sp, fp), compared with frame `depth` - 1 of the shadow stack."""
    result = load64(state + 8 * RESULT)
    if topmost and load64(row + NEEDS):
        _fetch(state, load64(row + CFA_REGISTER))
        _fetch(state, load64(row + RA_REGISTER))
        _fetch(state, load64(row + FP_REGISTER))
    found = step(
        row, sp, fp, load64(state + 8 * REGISTERS), load64(state + 8 * MEMORY),
        load64(state + 8 * SWAP), topmost, result,
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
    truth = load64(state + 8 * TRUTH)
    frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1)
    if load64(result + CFA) != load64(frame + FRAME_CFA):
        return _WRONG_CFA
    if load64(result + RA) != load64(frame + FRAME_RA):
        return _WRONG_RA
    if load64(result + FP) != load64(frame + FRAME_FP) and load64(row + FP_KIND) != _UNKNOWN:
        return _WRONG_FP
    return _EXACT


@numba.njit(cache=True)
def _memo_place(state: int, kind: int, register: int, slot: int) -> int:
    """Where the word that a rule's value rests on lies in host memory, or 0."""
    if kind == _AT_CFA:
        return slot
    if kind == _REGISTER and register >= 0:
        return load64(load64(state + 8 * REGISTER_PLACES) + 8 * register)
    return 0


@numba.njit(cache=True)
def _memorise(state: int, row: int, fp: int) -> None:
    """Keep what the last exact verdict rested on.

    A step is a function of the row, SP, FP and two words, in memory or in registers.
    While these stay what they were, and the frame on top of the shadow stack stays the
    same one, its verdict stays too and need not be worked out again. Rows that rest on
    more, or on registers that cannot be read directly, are not kept.
    """
    result = load64(state + 8 * RESULT)
    ra_kind = load64(row + RA_KIND)
    ra_register = load64(row + RA_REGISTER)
    if ra_kind == _KEEP:
        ra_kind = _REGISTER
    ra_place = _memo_place(state, ra_kind, ra_register, load64(result + RA_SLOT))
    fp_kind = load64(row + FP_KIND)
    if fp_kind == _KEEP:
        fp_place = state + 8 * ZERO
    else:
        fp_place = _memo_place(
            state, fp_kind, load64(row + FP_REGISTER), load64(result + FP_SLOT)
        )
    base = load64(row + CFA_REGISTER)
    if ra_place == 0 or fp_place == 0 or base >= 0 or load64(row + CFA_DEREF):
        store64(state + 8 * MEMO_ROW, 0)
        return
    store64(state + 8 * MEMO_ROW, row)
    store64(state + 8 * MEMO_FP, fp)
    # Where nothing rests on FP it may serve other purposes and change freely.
    store64(state + 8 * MEMO_ANY_FP, base == BASE_SP and fp_kind != _KEEP)
    store64(state + 8 * MEMO_RA_PLACE, ra_place)
    store64(state + 8 * MEMO_RA, load64(ra_place))
    store64(state + 8 * MEMO_FP_PLACE, fp_place)
    store64(state + 8 * MEMO_SAVED_FP, load64(fp_place))
    store64(state + 8 * MEMO_CHANGES, load64(load64(state + 8 * MEMORY) + 8 * CHANGES))


@numba.njit(cache=True)
def _note(state: int, pc: int, size: int, key: int, code: int, depth: int, computed: int) -> None:
    """Count an event; the first of its kind keeps what was wanted and what was got."""
    heads = load64(state + 8 * HEADS)
    head = heads + 4 * (((pc ^ (key << 20)) * -7046029254386353131 >> 48) & (HEAD_COUNT - 1))
    events = load64(state + 8 * EVENTS)
    number = load32(head)
    while number:
        event = events + EVENT_BYTES * number
        if load64(event + E_PC) == pc and load64(event + E_KEY) == key:
            store64(event + E_COUNT, load64(event + E_COUNT) + 1)
            return
        number = load64(event + E_NEXT)
    number = load64(state + 8 * EVENT_COUNT) + 1
    if number >= load64(state + 8 * EVENT_CAPACITY):
        store64(state + 8 * EVENTS_LOST, load64(state + 8 * EVENTS_LOST) + 1)
        return
    store64(state + 8 * EVENT_COUNT, number)
    event = events + EVENT_BYTES * number
    store64(event + E_PC, pc)
    store64(event + E_KEY, key)
    store64(event + E_COUNT, 1)
    store64(event + E_NEXT, load32(head))
    store64(event + E_ROW, code)
    store64(event + E_SIZE, size)
    store64(event + E_FIRST, load64(state + 8 * EXECUTED))
    store32(head, number)
    result = load64(state + 8 * RESULT)
    store64(event + E_DONE, (load64(result + DONE) if computed else 0) | (depth > 0) << 8)
    if computed:
        store64(event + E_GOT_CFA, load64(result + CFA))
        store64(event + E_GOT_RA, load64(result + RA))
        store64(event + E_GOT_FP, load64(result + FP))
    if depth > 0:
        truth = load64(state + 8 * TRUTH)
        frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1)
        store64(event + E_WANT_CFA, load64(frame + FRAME_CFA))
        store64(event + E_WANT_RA, load64(frame + FRAME_RA))
        store64(event + E_WANT_FP, load64(frame + FRAME_FP))


@numba.njit(cache=True)
def _count(counters: int, verdict: int) -> None:
    store64(counters + 8 * verdict, load64(counters + 8 * verdict) + 1)


@numba.njit(cache=True)
def _check_caller(state: int, fp: int) -> None:
    """A call was made: does the row of its return address describe the caller?"""
    truth = load64(state + 8 * TRUTH)
    depth = load64(truth + 8 * DEPTH)
    frame = load64(truth + 8 * FRAMES) + FRAME_BYTES * (depth - 1)
    call = load64(truth + 8 * PREVIOUS_PC)
    ra = load64(frame + FRAME_RA)
    span = _find_range(state, call)
    rows = 0
    code = -_NO_MODULE
    if span:
        record = _record(span, call)
        store64(record + C_CALLS, load64(record + C_CALLS) + 1)
        rows = load64(span + R_ROWS)
        flags = load8(record + C_FLAGS)
        if flags & CALLER_KNOWN:
            code = load32(record + C_CALLER_CODE)
        else:
            address = ra - load64(state + 8 * RETURN_BACK) - load64(span + R_BIAS)
            code = lookup(load64(span + R_TABLE), address)
            store32(record + C_CALLER_CODE, code)
            store8(record + C_FLAGS, flags | CALLER_KNOWN)
        if load64(span + R_START) <= ra < load64(span + R_END):
            site = _record(span, ra)
            store8(site + C_FLAGS, load8(site + C_FLAGS) | RETURN_SITE)
    if code < 0:
        verdict = -code
    else:
        caller = load64(frame + FRAME_CFA) + load64(truth + 8 * CALLER_SP)
        verdict = _judge(state, rows + ROW_BYTES * code, depth - 1, caller, fp, False)
    _count(load64(state + 8 * CALLER_VERDICTS), verdict)
    if verdict != _EXACT and verdict != _OUTERMOST:
        _note(state, call, ra - call, verdict | CALLER_ROLE, code, depth - 1, code >= 0)


@numba.njit(cache=True)
def _check(state: int, pc: int, size: int) -> None:
    """The whole check of the instruction at `pc`, which is about to execute."""
    if load64(state + 8 * REPLAY):
        # The run was stopped after this instruction had been seen, before it executed.
        store64(state + 8 * REPLAY, 0)
        return
    truth = load64(state + 8 * TRUTH)
    sp = _read(state, load64(state + 8 * SP_PLACE), load64(state + 8 * SP_NUMBER))
    fp = _read(state, load64(state + 8 * FP_PLACE), load64(state + 8 * FP_NUMBER))
    executed = load64(state + 8 * EXECUTED) + 1
    store64(state + 8 * EXECUTED, executed)

    span = load64(state + 8 * RANGE)
    if not load64(span + R_START) <= pc < load64(span + R_END):
        span = _find_range(state, pc)
    if span:
        record = _record(span, pc)
        flags = load8(record + C_FLAGS)
        if not flags & PREPARED:
            flags = _prepare(state, span, record, pc, size)
        store64(record + C_COUNT, load64(record + C_COUNT) + 1)
        kind = load8(record + C_KIND)
        code = load32(record + C_CODE)
        rows = load64(span + R_ROWS)
    else:
        flags = RETURN_SITE
        kind = _kind_at(state, pc)
        code = -_NO_MODULE
        rows = 0

    if sp != load64(state + 8 * LAST_SP):
        place(truth, sp)
        store64(state + 8 * LAST_SP, sp)
        store64(state + 8 * MEMO_ROW, 0)
    stop = False
    fell = pc == load64(truth + 8 * NEXT_PC)
    if load64(truth + 8 * PREVIOUS_KIND) == _CALL and (not fell or flags & ENTRY):
        previous = load64(truth + 8 * PREVIOUS_PC)
        if flags & ENTRY or not _same_function(state, previous, pc):
            store64(state + 8 * MEMO_ROW, 0)
            if push(truth, sp):
                _check_caller(state, load64(truth + 8 * PREVIOUS_FP))
            else:
                stop = True
    elif not fell and jump(truth, pc, sp, flags & RETURN_SITE):
        store64(state + 8 * MEMO_ROW, 0)
    _follow(truth, pc, size, kind, fp)

    if code < 0:
        _count(load64(state + 8 * VERDICTS), -code)
        if span == 0:
            _note(state, pc, size, -code, code, 0, False)
    else:
        row = rows + ROW_BYTES * code
        depth = load64(truth + 8 * DEPTH)
        verdict = _judge(state, row, depth, sp, fp, True)
        if verdict == _EXACT:
            _memorise(state, row, fp)
        else:
            store64(state + 8 * MEMO_ROW, 0)
            _count(load64(state + 8 * VERDICTS), verdict)
            if verdict != _OUTERMOST:
                _note(state, pc, size, verdict, code, depth, True)

    if flags & BREAK:
        hits = load64(state + 8 * HITS) + 1
        store64(state + 8 * HITS, hits)
        if hits == load64(state + 8 * HIT_WANTED):
            store64(state + 8 * HIT_STOPPED, 1)
            stop = True
    if stop or executed >= load64(state + 8 * LIMIT):
        store64(state + 8 * REPLAY, 1)
        call_stop(load64(state + 8 * STOP), load64(state + 8 * ENGINE))


_SIGNATURE = types.void(types.voidptr, types.uint64, types.uint32, types.voidptr)


@numba.cfunc(_SIGNATURE, cache=True)
def check_hook(engine: object, address: int, length: int, user: object) -> None:
    """Give the instruction that is about to execute its verdict; `user` is the state block.

    Most instructions follow the one before, or jump within their function, and change
    nothing that the last exact verdict rested on. They are only counted, here; all
    others get the whole check.
    """
    state = address_of(user)
    pc = signed(address)
    span = load64(state + 8 * RANGE)
    sp_place = load64(state + 8 * SP_PLACE)
    executed = load64(state + 8 * EXECUTED) + 1
    if (
        load64(span + R_START) <= pc < load64(span + R_END)
        and executed < load64(state + 8 * LIMIT)
        and sp_place
        and load64(state + 8 * REPLAY) == 0
    ):
        record = _record(span, pc)
        flags = load8(record + C_FLAGS)
        row = load64(span + R_ROWS) + ROW_BYTES * load32(record + C_CODE)
        truth = load64(state + 8 * TRUTH)
        sp = load64(sp_place)
        fp = load64(load64(state + 8 * FP_PLACE))
        if (
            flags & (PREPARED | BREAK) == PREPARED
            and row == load64(state + 8 * MEMO_ROW)
            and sp == load64(state + 8 * LAST_SP)
            and (fp == load64(state + 8 * MEMO_FP) or load64(state + 8 * MEMO_ANY_FP))
            and load64(load64(state + 8 * MEMO_RA_PLACE)) == load64(state + 8 * MEMO_RA)
            and load64(load64(state + 8 * MEMO_FP_PLACE)) == load64(state + 8 * MEMO_SAVED_FP)
            and load64(load64(state + 8 * MEMORY) + 8 * CHANGES)
            == load64(state + 8 * MEMO_CHANGES)
            and load64(truth + 8 * PREVIOUS_KIND) != _CALL
            and (
                pc == load64(truth + 8 * NEXT_PC)
                or stays(truth, pc, sp, flags & RETURN_SITE)
            )
        ):
            store64(state + 8 * EXECUTED, executed)
            store64(record + C_COUNT, load64(record + C_COUNT) + 1)
            _follow(truth, pc, signed(length), load8(record + C_KIND), fp)
            return
    _check(state, pc, signed(length))
