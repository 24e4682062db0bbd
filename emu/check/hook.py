"""The compiled check, called by the emulator before each instruction.

Induction: a caller's frame does not change while its callee runs. So one step from the
live registers is compared with the top of the shadow stack at every instruction, and
the row of the return address is checked once, when its call is made.
"""

import numba
from numba import types

from arch.descriptor import InstructionKind
from emu.check import state as s
from emu.check.code import find_range, kind_at, prepare, record_at
from emu.check.judge import check_caller, count, judge, memorise, note, read_register
from emu.memory import CHANGES
from emu.native import address_of, call_stop, load8, load32, load64, signed, store64
from emu.truth.shadow import (
    DEPTH,
    NEXT_PC,
    PREVIOUS_FP,
    PREVIOUS_KIND,
    PREVIOUS_OWNER,
    PREVIOUS_PC,
    PREVIOUS_SP,
    jump,
    place,
    push,
    stays,
)
from emu.unwind.packed import ROW_BYTES
from emu.verdict import Verdict

_EXACT = int(Verdict.EXACT)
_OUTERMOST = int(Verdict.OUTERMOST)
_NO_MODULE = int(Verdict.NO_MODULE)
_CALL = int(InstructionKind.CALL)
_CLOCK = int(InstructionKind.CLOCK)


@numba.njit(cache=True)
def _follow(truth: int, pc: int, size: int, kind: int, fp: int, owner: int) -> None:
    """Keep what the next instruction must know of this one."""
    store64(truth + 8 * PREVIOUS_PC, pc)
    store64(truth + 8 * NEXT_PC, pc + size)
    store64(truth + 8 * PREVIOUS_KIND, kind)
    store64(truth + 8 * PREVIOUS_FP, fp)
    store64(truth + 8 * PREVIOUS_OWNER, owner)


@numba.njit(cache=True)
def _check(state: int, pc: int, size: int) -> None:
    """The whole check of the instruction at `pc`, which is about to execute."""
    if load64(state + 8 * s.REPLAY):
        # The run was stopped after this instruction had been seen, before it executed.
        store64(state + 8 * s.REPLAY, 0)
        return
    truth = load64(state + 8 * s.TRUTH)
    sp = read_register(state, load64(state + 8 * s.SP_PLACE), load64(state + 8 * s.SP_NUMBER))
    fp = read_register(state, load64(state + 8 * s.FP_PLACE), load64(state + 8 * s.FP_NUMBER))
    executed = load64(state + 8 * s.EXECUTED) + 1
    store64(state + 8 * s.EXECUTED, executed)

    span = load64(state + 8 * s.RANGE)
    if not load64(span + s.R_START) <= pc < load64(span + s.R_END):
        span = find_range(state, pc)
    if span:
        record = record_at(span, pc)
        flags = load8(record + s.C_FLAGS)
        if not flags & s.PREPARED:
            flags = prepare(state, span, record, pc, size)
        store64(record + s.C_COUNT, load64(record + s.C_COUNT) + 1)
        kind = load8(record + s.C_KIND)
        owner = load32(record + s.C_OWNER)
        code = load32(record + s.C_CODE)
        rows = load64(span + s.R_ROWS)
    else:
        flags = 0
        owner = 0
        kind = kind_at(state, pc)
        code = -_NO_MODULE
        rows = 0

    if sp != load64(truth + 8 * PREVIOUS_SP):
        place(truth, sp, owner)
        store64(truth + 8 * PREVIOUS_SP, sp)
        store64(state + 8 * s.MEMO_ROW, 0)
    stop = False
    fell = pc == load64(truth + 8 * NEXT_PC)
    if load64(truth + 8 * PREVIOUS_KIND) == _CALL and (not fell or flags & s.ENTRY):
        # A call to elsewhere in the own function only fetches the PC.
        if flags & s.ENTRY or owner == 0 or owner != load64(truth + 8 * PREVIOUS_OWNER):
            store64(state + 8 * s.MEMO_ROW, 0)
            if push(truth, sp):
                check_caller(state, load64(truth + 8 * PREVIOUS_FP))
            else:
                stop = True
    elif not fell and jump(truth, pc, sp, owner, flags & s.ENTRY):
        store64(state + 8 * s.MEMO_ROW, 0)
    _follow(truth, pc, size, kind, fp, owner)

    if code < 0:
        count(load64(state + 8 * s.VERDICTS), -code)
        if span == 0:
            note(state, pc, size, -code, code, 0, False)
    else:
        row = rows + ROW_BYTES * code
        depth = load64(truth + 8 * DEPTH)
        verdict = judge(state, row, depth, sp, fp, True)
        if verdict == _EXACT:
            memorise(state, row, fp)
        else:
            store64(state + 8 * s.MEMO_ROW, 0)
            count(load64(state + 8 * s.VERDICTS), verdict)
            if verdict != _OUTERMOST:
                note(state, pc, size, verdict, code, depth, True)

    if kind == _CLOCK:
        store64(state + 8 * s.CLOCK_READ, size)
        stop = True
    if flags & s.BREAK:
        hits = load64(state + 8 * s.HITS) + 1
        store64(state + 8 * s.HITS, hits)
        if hits == load64(state + 8 * s.HIT_WANTED):
            store64(state + 8 * s.HIT_STOPPED, 1)
            stop = True
    if stop or executed >= load64(state + 8 * s.LIMIT):
        store64(state + 8 * s.REPLAY, 1)
        call_stop(load64(state + 8 * s.STOP), load64(state + 8 * s.ENGINE))


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
    span = load64(state + 8 * s.RANGE)
    sp_place = load64(state + 8 * s.SP_PLACE)
    executed = load64(state + 8 * s.EXECUTED) + 1
    if (
        load64(span + s.R_START) <= pc < load64(span + s.R_END)
        and executed < load64(state + 8 * s.LIMIT)
        and sp_place
        and load64(state + 8 * s.REPLAY) == 0
    ):
        record = record_at(span, pc)
        flags = load8(record + s.C_FLAGS)
        row = load64(span + s.R_ROWS) + ROW_BYTES * load32(record + s.C_CODE)
        truth = load64(state + 8 * s.TRUTH)
        sp = load64(sp_place)
        fp = load64(load64(state + 8 * s.FP_PLACE))
        if (
            flags & (s.PREPARED | s.BREAK) == s.PREPARED
            and row == load64(state + 8 * s.MEMO_ROW)
            and sp == load64(truth + 8 * PREVIOUS_SP)
            and (fp == load64(state + 8 * s.MEMO_FP) or load64(state + 8 * s.MEMO_ANY_FP))
            and load64(load64(state + 8 * s.MEMO_RA_PLACE)) == load64(state + 8 * s.MEMO_RA)
            and load64(load64(state + 8 * s.MEMO_FP_PLACE)) == load64(state + 8 * s.MEMO_SAVED_FP)
            and load64(load64(state + 8 * s.MEMORY) + 8 * CHANGES)
            == load64(state + 8 * s.MEMO_CHANGES)
            and load64(truth + 8 * PREVIOUS_KIND) != _CALL
            and load8(record + s.C_KIND) != _CLOCK
            and (
                pc == load64(truth + 8 * NEXT_PC)
                or stays(truth, pc, sp, load32(record + s.C_OWNER))
            )
        ):
            store64(state + 8 * s.EXECUTED, executed)
            store64(record + s.C_COUNT, load64(record + s.C_COUNT) + 1)
            _follow(
                truth, pc, signed(length), load8(record + s.C_KIND), fp,
                load32(record + s.C_OWNER),
            )  # fmt: skip
            return
    _check(state, pc, signed(length))
