"""The rules of callee-saved registers other than FP, against the values at entry."""

import numba

from arch import RuleKind
from emu.check import state as s
from emu.memory import host_address
from emu.native import add64, load8, load64, store64, swap64
from emu.sweep import state as w
from emu.sweep.items import get_register

_KEEP = int(RuleKind.KEEP)
_AT_CFA = int(RuleKind.AT_CFA)
_REGISTER = int(RuleKind.REGISTER)
_UNKNOWN = int(RuleKind.UNKNOWN)


@numba.njit(cache=True)
def wrong_register(state: int, rules: int, cfa: int) -> bool:
    """A rule gives another value than the register had at entry.

    `rules` is the address of a set. Which register, what was got and where it was loaded from
    is left in the state block.
    """
    numbers = load64(state + 8 * w.SAVED)
    truth = load64(state + 8 * w.SAVED_TRUTH)
    for index in range(load64(state + 8 * w.SAVED_COUNT)):
        rule = rules + 8 * w.RULE_WORDS * index
        kind = load64(rule)
        slot = 0
        if kind == _UNKNOWN:
            continue
        if kind == _KEEP:
            value = get_register(state, load8(numbers + index))
        else:
            if kind == _AT_CFA:
                value = add64(cfa, load64(rule + 16))
            else:
                value = add64(get_register(state, load64(rule + 8)), load64(rule + 16))
            if kind != _REGISTER:
                slot = host_address(load64(state + 8 * s.MEMORY), value)
                if slot:
                    value = load64(slot)
                    if load64(state + 8 * s.SWAP):
                        value = swap64(value)
        wanted = load64(truth + 8 * index)
        if value != wanted or (slot == 0 and kind != _KEEP and kind != _REGISTER):
            store64(state + 8 * w.BAD_REGISTER, index)
            store64(state + 8 * w.BAD_SLOT, slot)
            store64(state + 8 * w.BAD_VALUE, value)
            return True
    return False
