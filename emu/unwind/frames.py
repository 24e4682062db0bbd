"""The frames of one stack, compiled: find the module, look up, step, repeat.

This is the loop around `lookup` and `step`. It fills a bounded block of frames and can be
called again to go on, so that no walk needs more memory than its caller gives it.
"""

import numba

from emu.native import add64, load64, store64
from emu.unwind.lookup import lookup
from emu.unwind.packed import FLAGS, ROW_BYTES, SIGNAL
from emu.unwind.step import FP, RA, SP, step
from emu.verdict import Verdict

# Words of a walk's block: where it stands, what it reads, where frames go.
(
    PC, STACK_POINTER, FRAME_POINTER, KIND, REGISTERS, MEMORY, SWAP, RETURN_BACK, MODULES,
    MODULE_COUNT, RESULT, FRAMES, CAPACITY, COUNT,
) = range(14)  # fmt: skip
WALK_WORDS = 14

SAMPLED, CALLER, INTERRUPTED = range(3)
"""How a frame's PC is to be taken, as in `FrameKind`."""

# Byte offsets in a module.
_START, _END, _BIAS, _TABLE, _ROWS = range(0, 40, 8)
MODULE_WORDS = 5

# Words of a frame; module and code are -1 where there is none.
F_PC, F_KIND, F_SP, F_FP, F_MODULE, F_CODE = range(6)
FRAME_WORDS = 6

GOES_ON = -1
"""The block of frames is full; no verdict has this number."""

_EXACT = int(Verdict.EXACT)
_OUTERMOST = int(Verdict.OUTERMOST)
_NO_MODULE = int(Verdict.NO_MODULE)


@numba.njit(cache=True)
def walk_frames(walk: int) -> int:
    """Walk on from where a block stands until the stack ends or the block is full.

    Args:
        walk: address of the block; COUNT frames are in it afterwards.

    Returns:
        Why the stack ended, as a number of emu.verdict, or GOES_ON.
    """
    pc = load64(walk + 8 * PC)
    sp = load64(walk + 8 * STACK_POINTER)
    fp = load64(walk + 8 * FRAME_POINTER)
    kind = load64(walk + 8 * KIND)
    registers = load64(walk + 8 * REGISTERS)
    memory = load64(walk + 8 * MEMORY)
    swap = load64(walk + 8 * SWAP)
    back = load64(walk + 8 * RETURN_BACK)
    modules = load64(walk + 8 * MODULES)
    module_count = load64(walk + 8 * MODULE_COUNT)
    result = load64(walk + 8 * RESULT)
    frame = load64(walk + 8 * FRAMES)
    capacity = load64(walk + 8 * CAPACITY)
    count = 0
    found = GOES_ON
    while count < capacity:
        count += 1
        store64(frame + 8 * F_PC, pc)
        store64(frame + 8 * F_KIND, kind)
        store64(frame + 8 * F_SP, sp)
        store64(frame + 8 * F_FP, fp)
        store64(frame + 8 * F_MODULE, -1)
        store64(frame + 8 * F_CODE, -1)
        at = add64(pc, -back) if kind == CALLER else pc
        number = 0
        module = modules
        while number < module_count and not (
            load64(module + _START) <= at < load64(module + _END)
        ):
            number += 1
            module += 8 * MODULE_WORDS
        if number == module_count:
            found = _NO_MODULE
            break
        store64(frame + 8 * F_MODULE, number)
        code = lookup(load64(module + _TABLE), add64(at, -load64(module + _BIAS)))
        if code < 0:
            found = -code
            break
        store64(frame + 8 * F_CODE, code)
        row = load64(module + _ROWS) + ROW_BYTES * code
        found = step(row, sp, fp, registers, memory, swap, kind == SAMPLED, result)
        if found != _EXACT:
            break
        pc = load64(result + RA)
        if pc == 0:
            found = _OUTERMOST
            break
        fp = load64(result + FP)
        sp = load64(result + SP)
        kind = INTERRUPTED if load64(row + FLAGS) & SIGNAL else CALLER
        frame += 8 * FRAME_WORDS
        found = GOES_ON
    store64(walk + 8 * COUNT, count)
    store64(walk + 8 * PC, pc)
    store64(walk + 8 * STACK_POINTER, sp)
    store64(walk + 8 * FRAME_POINTER, fp)
    store64(walk + 8 * KIND, kind)
    return found
