"""The compiled check, called by the emulator before each instruction.

Induction: a caller's frame does not change while its callee runs. So one step from the
live registers is compared with the top of the shadow stack at every instruction, and
the row of the return address is checked once, when its call is made.
"""

import numba
from numba import types

from arch.descriptor import InstructionKind
from emu.check import state as s
from emu.check.code import (
    count,
    entered_with,
    find_range,
    kind_at,
    note,
    prepare,
    push_linked,
    read_register,
    record_at,
)
from emu.check.fetches import drop_fetches, enter_fetched, fetch_pc, push_fetches
from emu.check.judge import (
    check_caller,
    check_signature,
    close,
    compare,
    follow,
    memorise,
    see,
    settle,
)
from emu.memory import CHANGES
from emu.native import address_of, call_stop, load8, load32, load64, signed, store64
from emu.truth import shadow as t
from emu.truth.classify import enter_first, has_switched, jump, land, lands, push, stays
from emu.unwind.packed import ROW_BYTES
from emu.verdict import Verdict

_EXACT = int(Verdict.EXACT)
_OUTERMOST = int(Verdict.OUTERMOST)
_WRONG_END = int(Verdict.WRONG_END)
_NO_MODULE = int(Verdict.NO_MODULE)
_REFUSED = int(Verdict.REFUSED)
_CALL = int(InstructionKind.CALL)
_RETURN = int(InstructionKind.RETURN)
_CLOCK = int(InstructionKind.CLOCK)
_LEAVING = (_CALL, _RETURN, int(InstructionKind.INDIRECT))

_LONGEST = 128
"""Instructions after which a window that need not be open is closed."""


@numba.njit(cache=True)
def _keep(truth: int, pc: int, size: int, kind: int, fp: int, owner: int) -> None:
    """Keep what the next instruction must know of this one."""
    store64(truth + 8 * t.PREVIOUS_PC, pc)
    store64(truth + 8 * t.NEXT_PC, pc + size)
    store64(truth + 8 * t.PREVIOUS_KIND, kind)
    store64(truth + 8 * t.PREVIOUS_FP, fp)
    store64(truth + 8 * t.PREVIOUS_OWNER, owner)


@numba.njit(cache=True)
def _move(state: int, sp: int, owner: int) -> None:
    """SP has changed."""
    truth = load64(state + 8 * s.TRUTH)
    where = t.place(truth, sp, owner)
    if where == t.FAR:
        t.open_window(truth, t.FELL, sp, owner)
    elif where != t.SAME:
        close(state)
        t.switch(truth, where, sp, owner)
    elif load64(truth + 8 * t.WINDOW) == t.FELL and sp >= load64(truth + 8 * t.WINDOW_LOW):
        close(state)
    elif load64(truth + 8 * t.WINDOW) == t.CLOSED:
        t.leave_frame(truth, sp, owner)
    if where != t.SAME:
        store64(state + 8 * s.WINDOW_END, load64(state + 8 * s.EXECUTED) + _LONGEST)
    drop_fetches(truth, sp)
    store64(truth + 8 * t.PREVIOUS_SP, sp)
    store64(state + 8 * s.MEMO_ROW, 0)


@numba.njit(cache=True, forceinline=True)
def _window(truth: int) -> int:
    """The window, unless a call has been made since it was opened."""
    if load64(truth + 8 * t.DEPTH) != load64(truth + 8 * t.WINDOW_DEPTH):
        return t.CLOSED
    return load64(truth + 8 * t.WINDOW)


@numba.njit(cache=True)
def _call(state: int, sp: int) -> bool:
    """The instruction before was a call. False: the shadow stack is full."""
    truth = load64(state + 8 * s.TRUTH)
    window = _window(truth)
    if window:
        settle(state, False)
    store64(state + 8 * s.MEMO_ROW, 0)
    push_fetches(state, sp, load64(truth + 8 * t.FETCH_COUNT))
    if not push(truth, sp):
        return False
    call = load64(truth + 8 * t.PREVIOUS_PC)
    check_caller(state, call, load64(truth + 8 * t.PREVIOUS_FP), window == t.SWITCHED)
    return True


@numba.njit(cache=True)
def _jump(state: int, pc: int, sp: int, fp: int, owner: int, entry: int) -> None:
    """Control came to `pc` neither by falling through nor by a call."""
    truth = load64(state + 8 * s.TRUTH)
    window = _window(truth)
    fetches = load64(truth + 8 * t.FETCH_COUNT)
    elsewhere = owner == 0 or owner != load64(truth + 8 * t.PREVIOUS_OWNER)
    enters = entry and elsewhere
    ra = 0
    if fetches or window or enters:
        ra = entered_with(state, sp)
    if fetches and (entry or elsewhere) and enter_fetched(state, sp, ra):
        return
    if window > t.SWITCHED and elsewhere:
        if not has_switched(truth, owner, entry):
            close(state)
        else:
            if window == t.FELL:
                t.split(truth, sp)
            window = t.SWITCHED
    if window == t.SWITCHED:
        if lands(truth, owner):
            store64(truth + 8 * t.LANDED + t.RA, pc)
            store64(truth + 8 * t.LANDED + t.CFA, sp - load64(truth + 8 * t.CALLER_SP))
            store64(truth + 8 * t.LANDED + t.FP, fp)
            store64(truth + 8 * t.LANDED + t.OWNER, entry)
            land(truth, pc, sp, fp, owner, entry, ra)
            settle(state, True)
            store64(state + 8 * s.MEMO_ROW, 0)
        return
    if jump(truth, pc, sp, owner, entry):
        store64(truth + 8 * t.FETCH_COUNT, 0)
        store64(state + 8 * s.MEMO_ROW, 0)
    if enters:
        store64(state + 8 * s.MEMO_ROW, 0)
        linked = push_linked(state, sp, ra)
        if linked == 2:
            check_caller(
                state, load64(truth + 8 * t.PREVIOUS_PC), load64(truth + 8 * t.PREVIOUS_FP), False
            )
        elif linked == 0:
            enter_first(truth, sp, ra, fp)


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

    if sp != load64(truth + 8 * t.PREVIOUS_SP):
        _move(state, sp, owner)
    stop = False
    entry = flags & s.ENTRY
    before = load64(truth + 8 * t.PREVIOUS_KIND)
    # What follows an instruction may be where it goes; functions are not fallen into.
    fell = pc == load64(truth + 8 * t.NEXT_PC) and not (entry and before in _LEAVING)
    if before == _CALL and not fell:
        if entry or owner == 0 or owner != load64(truth + 8 * t.PREVIOUS_OWNER):
            stop = not _call(state, sp)
        else:
            # A call to elsewhere in the own function only fetches the PC, as it seems.
            fetch_pc(state, sp)
            store64(state + 8 * s.MEMO_ROW, 0)
    elif not fell:
        if entry or load64(truth + 8 * t.WINDOW) or load64(truth + 8 * t.FETCH_COUNT):
            _jump(state, pc, sp, fp, owner, entry)
        elif jump(truth, pc, sp, owner, 0):
            store64(state + 8 * s.MEMO_ROW, 0)
    _keep(truth, pc, size, kind, fp, owner)

    if code < 0:
        count(load64(state + 8 * s.VERDICTS), -code)
        if span == 0:
            note(state, pc, size, -code, code, 0, False)
    else:
        row = rows + ROW_BYTES * code
        depth = load64(truth + 8 * t.DEPTH)
        window = _window(truth)
        if window > t.SWITCHED and executed >= load64(state + 8 * s.WINDOW_END):
            close(state)
            window = t.CLOSED
        found = follow(state, row, sp, fp, True)
        if window == t.SWITCHED:
            see(state, pc, size, code, row, found)
        else:
            verdict = compare(state, row, found, depth)
            if not window:
                verdict = check_signature(state, row, verdict, sp, fp)
            if verdict == _EXACT and not window and not load64(truth + 8 * t.FETCH_COUNT):
                memorise(state, row, fp)
            elif verdict != _EXACT:
                store64(state + 8 * s.MEMO_ROW, 0)
                if window and verdict != _OUTERMOST and verdict != _REFUSED:
                    see(state, pc, size, code, row, found)
                else:
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
            and sp == load64(truth + 8 * t.PREVIOUS_SP)
            and (fp == load64(state + 8 * s.MEMO_FP) or load64(state + 8 * s.MEMO_ANY_FP))
            and load64(load64(state + 8 * s.MEMO_RA_PLACE)) == load64(state + 8 * s.MEMO_RA)
            and load64(load64(state + 8 * s.MEMO_FP_PLACE)) == load64(state + 8 * s.MEMO_SAVED_FP)
            and load64(load64(state + 8 * s.MEMORY) + 8 * CHANGES)
            == load64(state + 8 * s.MEMO_CHANGES)
            and load64(truth + 8 * t.PREVIOUS_KIND) != _CALL
            and load8(record + s.C_KIND) != _CLOCK
            and (
                pc == load64(truth + 8 * t.NEXT_PC)
                or stays(truth, pc, sp, load32(record + s.C_OWNER))
            )
        ):
            store64(state + 8 * s.EXECUTED, executed)
            store64(record + s.C_COUNT, load64(record + s.C_COUNT) + 1)
            _keep(
                truth, pc, signed(length), load8(record + s.C_KIND), fp,
                load32(record + s.C_OWNER),
            )  # fmt: skip
            return
    _check(state, pc, signed(length))
