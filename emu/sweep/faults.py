"""Rows that planted faults put in place of the right ones, judged on the live machine."""

import numba

from emu.check import state as s
from emu.check.judge import judge
from emu.native import load8, load32, load64, store8
from emu.sweep import state as w
from emu.sweep.saved import wrong_register
from emu.sweep.verdict import is_wrong
from emu.unwind.packed import ROW_BYTES
from emu.unwind.step import CFA, FP, RA
from emu.verdict import Verdict

# An entry: number of the fault, what holds there. A list of them ends with fault 0.
_FAULT, _CODE = 0, 4
ENTRY_BYTES = 8
FIRST_SET = 1 << 28
"""A code from here on is the number of a set of rules of callee-saved registers."""
_EXACT = int(Verdict.EXACT)

# What is known of a fault.
JUDGED, DETECTED, DIFFERENT = 1, 2, 4
"""DIFFERENT: other values, but the same verdict."""


@numba.njit(cache=True)
def judge_all(
    state: int, entries: int, rows: int, sets: int, outcomes: int, verdict: int, depth: int,
    sp: int, fp: int,
) -> None:  # fmt: skip
    """Judge what each fault of a list puts in place of a row.

    Args:
        state: the state block; its result is that of the right row.
        entries: address of the list.
        rows: of packed rows, those of faults included.
        sets: of rules of callee-saved registers, where faults have any.
        outcomes: of a byte for each fault.
        verdict: of the right row.
        depth, sp, fp: as `judge` takes them.
    """
    result = load64(state + 8 * s.RESULT)
    cfa, ra, old_fp = load64(result + CFA), load64(result + RA), load64(result + FP)
    while load32(entries + _FAULT):
        place = outcomes + load32(entries + _FAULT)
        code = load32(entries + _CODE)
        found = JUDGED
        if code >= FIRST_SET:
            size = 8 * w.RULE_WORDS * load64(state + 8 * w.SAVED_COUNT)
            if verdict == _EXACT and wrong_register(state, sets + size * (code - FIRST_SET), cfa):
                found |= DETECTED
        elif code < 0:
            if -code != verdict:
                found |= DETECTED
        elif judge(state, rows + ROW_BYTES * code, depth, sp, fp, True) != verdict:
            found |= DETECTED
        elif depth:  # where there is no caller no values are right or wrong
            same = load64(result + CFA) == cfa and load64(result + RA) == ra
            if not same or load64(result + FP) != old_fp:
                # Where the right row is an error itself, its finding has other values then.
                found |= DETECTED if is_wrong(verdict) else DIFFERENT
        store8(place, load8(place) | found)
        entries += ENTRY_BYTES
