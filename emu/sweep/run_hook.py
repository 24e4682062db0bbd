"""Faults judged in a real run: called before each instruction, behind the check itself."""

import numba
from numba import types

from emu.check import state as s
from emu.check.code import find_range, read_register, record_at
from emu.check.judge import judge
from emu.native import address_of, load32, load64, signed, store32, store64
from emu.sweep.faults import ENTRY_BYTES, judge_all
from emu.truth import shadow as t
from emu.unwind.packed import ROW_BYTES

# Words of the block: the check's state; where the lists of faults of each place are, and how
# often it was judged; entries, rows and outcomes of the faults.
STATE, START, END, SHIFT, FIRST, VISITS, ENTRIES, ROWS, OUTCOMES, WORDS = range(10)

_MOST_VISITS = 64
"""Executions of one instruction that are judged: later ones are all but the same."""


@numba.cfunc(types.void(types.voidptr, types.uint64, types.uint32, types.voidptr), cache=True)
def run_hook(engine: object, address: int, length: int, user: object) -> None:
    """Judge what faults put at the instruction that is about to execute.

    `user` is the address of a block of this module's words.
    """
    block = address_of(user)
    pc = signed(address)
    start = load64(block + 8 * START)
    if not start <= pc < load64(block + 8 * END):
        return
    place = (pc - start) >> load64(block + 8 * SHIFT)
    first = load32(load64(block + 8 * FIRST) + 4 * place)
    visits = load64(block + 8 * VISITS) + 4 * place
    count = load32(visits)
    if first == 0 or count >= _MOST_VISITS:
        return
    store32(visits, count + 1)
    state = load64(block + 8 * STATE)
    span = find_range(state, pc)
    if span == 0:
        return
    truth = load64(state + 8 * s.TRUTH)
    depth = load64(truth + 8 * t.DEPTH)
    sp = read_register(state, load64(state + 8 * s.SP_PLACE), load64(state + 8 * s.SP_NUMBER))
    fp = read_register(state, load64(state + 8 * s.FP_PLACE), load64(state + 8 * s.FP_NUMBER))
    # To judge a row that ends the stack is to believe it where a stack begins.
    bottom = load64(truth + 8 * t.BOTTOM)
    code = load32(record_at(span, pc) + s.C_CODE)
    if code < 0:
        verdict = -code
    else:
        verdict = judge(state, load64(span + s.R_ROWS) + ROW_BYTES * code, depth, sp, fp, True)
    judge_all(
        state, load64(block + 8 * ENTRIES) + ENTRY_BYTES * first, load64(block + 8 * ROWS), 0,
        load64(block + 8 * OUTCOMES), verdict, depth, sp, fp,
    )  # fmt: skip
    store64(truth + 8 * t.BOTTOM, bottom)
