"""One instruction's verdict: a step, compared with the shadow stack; and what is kept of it."""

import numba

from arch import RuleKind
from arch.descriptor import InstructionKind
from emu.check import state as s
from emu.check.code import count, find_range, frame_at, note_frame, record_at
from emu.check.code import note as note
from emu.check.code import read_register as read_register
from emu.memory import CHANGES
from emu.native import add64, load8, load32, load64, store8, store32, store64, swap64
from emu.truth import shadow as t
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
    RA_MASK,
    RA_OFFSET,
    RA_REGISTER,
    ROW_BYTES,
)
from emu.unwind.step import CFA, DONE, FP, FP_SLOT, RA, RA_SLOT, base_value, step
from emu.verdict import Verdict

_EXACT = int(Verdict.EXACT)
_OUTERMOST = int(Verdict.OUTERMOST)
_WRONG_CFA = int(Verdict.WRONG_CFA)
_WRONG_RA = int(Verdict.WRONG_RA)
_WRONG_FP = int(Verdict.WRONG_FP)
_WRONG_END = int(Verdict.WRONG_END)
_REFUSED = int(Verdict.REFUSED)
_NO_MODULE = int(Verdict.NO_MODULE)
_RETURN = int(InstructionKind.RETURN)
_KEEP = int(RuleKind.KEEP)
_AT_CFA = int(RuleKind.AT_CFA)
_REGISTER = int(RuleKind.REGISTER)
_UNKNOWN = int(RuleKind.UNKNOWN)


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
def follow(state: int, row: int, sp: int, fp: int, topmost: int) -> int:
    """One step from (sp, fp)."""
    if topmost and load64(row + NEEDS):
        fetch(state, load64(row + CFA_REGISTER))
        fetch(state, load64(row + RA_REGISTER))
        fetch(state, load64(row + FP_REGISTER))
    return step(
        row, sp, fp, load64(state + 8 * s.REGISTERS), load64(state + 8 * s.MEMORY),
        load64(state + 8 * s.SWAP), topmost, load64(state + 8 * s.RESULT),
    )  # fmt: skip


@numba.njit(cache=True, forceinline=True)
def against(state: int, row: int, frame: int) -> int:
    """A step that has succeeded, compared with a frame."""
    result = load64(state + 8 * s.RESULT)
    if load64(result + CFA) != load64(frame + t.CFA) and load64(row + FLAGS) & CFA_IS_BOUND == 0:
        return _WRONG_CFA
    if load64(result + RA) != load64(frame + t.RA):
        return _WRONG_RA
    if load64(result + FP) != load64(frame + t.FP) and load64(row + FP_KIND) != _UNKNOWN:
        return _WRONG_FP
    return _EXACT


@numba.njit(cache=True)
def _fetched(state: int, row: int) -> bool:
    """The row takes for a call what seems to be a fetch of the PC, and may be right."""
    truth = load64(state + 8 * s.TRUTH)
    for number in range(load64(truth + 8 * t.FETCH_COUNT)):
        if against(state, row, truth + 8 * (t.FETCHES + t.FETCH_WORDS * number)) == _EXACT:
            return True
    return False


@numba.njit(cache=True, forceinline=True)
def _ends(state: int, found: int) -> bool:
    """By a step the stack ends here: it says so, or what it yields has no caller."""
    none = found == _EXACT and load64(load64(state + 8 * s.RESULT) + RA) == 0
    return none or found == _OUTERMOST


@numba.njit(cache=True, forceinline=True)
def compare(state: int, row: int, found: int, depth: int) -> int:
    """The verdict of a step, by frame `depth` - 1 of the shadow stack."""
    truth = load64(state + 8 * s.TRUTH)
    if found == _REFUSED:
        return found
    if depth > 0 and found == _EXACT:
        verdict = against(state, row, frame_at(truth, depth))
    elif depth > 0 and found != _OUTERMOST:
        return found
    elif depth == 1 and load64(truth + 8 * t.BOTTOM) >= t.ENTERED:
        # The first function of a stack may say that nothing has called it.
        store64(truth + 8 * t.BOTTOM, t.MARKED)
        return _OUTERMOST
    elif depth == 0 and _ends(state, found):
        return _OUTERMOST
    else:
        unknown = depth == 0 and load64(truth + 8 * t.BOTTOM) == t.UNKNOWN
        verdict = _REFUSED if unknown else _WRONG_END
    if verdict != _EXACT and found == _EXACT and load64(truth + 8 * t.FETCH_COUNT):
        return _EXACT if _fetched(state, row) else verdict
    return verdict


@numba.njit(cache=True)
def _unsigned(state: int, row: int, sp: int, fp: int) -> bool:
    """What a step has read as the return address carries no signature."""
    slot = load64(load64(state + 8 * s.RESULT) + RA_SLOT)
    if slot:
        ra = load64(slot)
        if load64(state + 8 * s.SWAP):
            ra = swap64(ra)
    else:
        ra = base_value(load64(row + RA_REGISTER), sp, fp, load64(state + 8 * s.REGISTERS))
        if load64(row + RA_KIND) != _KEEP:
            ra = add64(ra, load64(row + RA_OFFSET))
    return ra & load64(row + RA_MASK) == 0


@numba.njit(cache=True, forceinline=True)
def check_signature(state: int, row: int, verdict: int, sp: int, fp: int) -> int:
    """The verdict, by what the row says of the signature of a right return address, too.

    Where a row says that there is one, unwinders authenticate (libgcc: AADWARF64, section 5.3,
    RA_SIGN_STATE), and an address that carries none comes out spoilt.
    """
    if verdict == _EXACT and load64(row + RA_MASK) and load64(state + 8 * s.SIGNS):
        return _WRONG_RA if _unsigned(state, row, sp, fp) else verdict
    return verdict


@numba.njit(cache=True, forceinline=True)
def judge(state: int, row: int, depth: int, sp: int, fp: int, topmost: int) -> int:
    """One step from (sp, fp), compared with frame `depth` - 1 of the shadow stack."""
    verdict = compare(state, row, follow(state, row, sp, fp, topmost), depth)
    return check_signature(state, row, verdict, sp, fp)


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
def check_caller(state: int, call: int, fp: int, unsure: int) -> None:
    """A call was made: does the row of its return address describe the caller?

    Args:
        call: address of the call.
        fp: FP before it.
        unsure: what the caller's frame is cannot be told.
    """
    truth = load64(state + 8 * s.TRUTH)
    depth = load64(truth + 8 * t.DEPTH)
    frame = frame_at(truth, depth)
    ra = load64(frame + t.RA)
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
        caller = load64(frame + t.CFA) + load64(truth + 8 * t.CALLER_SP)
        verdict = judge(state, rows + ROW_BYTES * code, depth - 1, caller, fp, False)
        if unsure and verdict != _EXACT and verdict != _OUTERMOST:
            verdict = _REFUSED
    count(load64(state + 8 * s.CALLER_VERDICTS), verdict)
    if verdict != _EXACT and verdict != _OUTERMOST:
        note(state, call, ra - call, verdict | s.CALLER_ROLE, code, depth - 1, code >= 0)


@numba.njit(cache=True)
def see(state: int, pc: int, size: int, code: int, row: int, found: int) -> None:
    """Keep a step until its verdict is known; so long it counts as one not to be followed."""
    number = load64(state + 8 * s.SEEN_COUNT)
    store64(state + 8 * s.SEEN_COUNT, number + 1)
    seen = state + 8 * s.SEEN + s.SEEN_BYTES * number
    store64(seen + s.V_PC, pc)
    store64(seen + s.V_SIZE, size)
    store64(seen + s.V_CODE, code)
    store64(seen + s.V_ROW, row)
    store64(seen + s.V_FOUND, found)
    store64(seen + s.V_NUMBER, load64(state + 8 * s.EXECUTED))
    for word in range(0, DONE + 8, 8):
        store64(seen + s.V_RESULT + word, load64(load64(state + 8 * s.RESULT) + word))
    count(load64(state + 8 * s.VERDICTS), _REFUSED)
    if number + 1 == s.MOST_SEEN:
        settle(state, False)


@numba.njit(cache=True)
def settle(state: int, landed: bool) -> None:
    """Give the steps that were seen while the window was open their verdicts.

    If control has `landed`, by what the truth block has under LANDED, and where that is on the
    same stack by the frame that was left, too; else by the frames, or not at all, as on a stack
    that was switched to the frame cannot be told.
    """
    truth = load64(state + 8 * s.TRUTH)
    counters = load64(state + 8 * s.VERDICTS)
    depth = load64(truth + 8 * t.WINDOW_DEPTH)
    left = load64(truth + 8 * t.WINDOW_LEFT)
    frame = frame_at(truth, depth) if depth else 0
    if landed and not left:
        frame = truth + 8 * t.LANDED
    for number in range(load64(state + 8 * s.SEEN_COUNT)):
        seen = state + 8 * s.SEEN + s.SEEN_BYTES * number
        row = load64(seen + s.V_ROW)
        found = load64(seen + s.V_FOUND)
        for word in range(0, DONE + 8, 8):
            store64(load64(state + 8 * s.RESULT) + word, load64(seen + s.V_RESULT + word))
        if landed:
            verdict = _after_landing(state, row, found)
            if left and verdict != _EXACT and verdict != _OUTERMOST:
                verdict = compare(state, row, found, depth)
        elif left or load64(truth + 8 * t.WINDOW) != t.SWITCHED:
            verdict = compare(state, row, found, depth)
        elif found == _EXACT and depth > 0 and against(state, row, frame) == _EXACT:
            verdict = _EXACT
        else:
            verdict = _OUTERMOST if _ends(state, found) else _REFUSED
        store64(counters + 8 * _REFUSED, load64(counters + 8 * _REFUSED) - 1)
        if verdict != _EXACT:
            count(counters, verdict)
            if verdict != _OUTERMOST:
                note_frame(
                    state, load64(seen + s.V_PC), load64(seen + s.V_SIZE), verdict,
                    load64(seen + s.V_CODE), frame, True, load64(seen + s.V_NUMBER),
                )  # fmt: skip
    store64(state + 8 * s.SEEN_COUNT, 0)


@numba.njit(cache=True)
def _after_landing(state: int, row: int, found: int) -> int:
    """The verdict of a step in the function that control has left for what is under LANDED."""
    truth = load64(state + 8 * s.TRUTH)
    entry = load64(truth + 8 * t.LANDED + t.OWNER)
    if found == _OUTERMOST:
        return _OUTERMOST if entry or load64(truth + 8 * t.WINDOW_DEPTH) == 0 else _WRONG_END
    if found != _EXACT:
        return found
    verdict = against(state, row, truth + 8 * t.LANDED)
    depth = load64(truth + 8 * t.DEPTH)
    if verdict != _EXACT and entry and depth and load64(truth + 8 * t.PREVIOUS_KIND) != _RETURN:
        # It may have been a tail call.
        return _EXACT if against(state, row, frame_at(truth, depth)) == _EXACT else verdict
    return verdict


@numba.njit(cache=True)
def close(state: int) -> None:
    """Nothing more can be learnt of what was seen while the window was open."""
    truth = load64(state + 8 * s.TRUTH)
    if load64(truth + 8 * t.WINDOW):
        settle(state, False)
        t.close_window(truth)
