"""The verdict of an instruction: the check's own judge, and the rules of callee-saved registers."""

import numba

from emu.check import state as s
from emu.check.judge import judge
from emu.native import load32, load64
from emu.sweep import state as w
from emu.sweep.items import get_register
from emu.sweep.saved import wrong_register
from emu.truth.shadow import DEPTH
from emu.unwind.packed import ROW_BYTES
from emu.unwind.step import CFA
from emu.verdict import Verdict

_EXACT = int(Verdict.EXACT)
_WRONG_REG = int(Verdict.WRONG_REG)
_OUTERMOST = int(Verdict.OUTERMOST)
_NO_MODULE = int(Verdict.NO_MODULE)
_REFUSED = int(Verdict.REFUSED)


@numba.njit(cache=True)
def verdict_of(state: int, site: int) -> int:
    """The verdict of the instruction at hand, by the table under check."""
    code = load32(site + w.S_ROW)
    if code < 0:
        return -code
    sp = get_register(state, load64(state + 8 * w.SP_NUMBER))
    fp = get_register(state, load64(state + 8 * w.FP_NUMBER))
    depth = load64(load64(state + 8 * s.TRUTH) + 8 * DEPTH)
    verdict = judge(state, load64(state + 8 * w.ROWS) + ROW_BYTES * code, depth, sp, fp, True)
    saved = load32(site + w.S_SAVED)
    if verdict == _EXACT and saved >= 0 and depth:
        rules = load64(state + 8 * w.SAVED_RULES)
        rules += 8 * w.RULE_WORDS * load64(state + 8 * w.SAVED_COUNT) * saved
        if wrong_register(state, rules, load64(load64(state + 8 * s.RESULT) + CFA)):
            return _WRONG_REG
    return verdict


@numba.njit(cache=True)
def is_wrong(verdict: int) -> bool:
    """Neither right nor a gap."""
    return verdict > _OUTERMOST and not _NO_MODULE <= verdict <= _REFUSED
