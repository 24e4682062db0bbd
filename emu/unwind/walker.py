"""A full walk of one sample: look up, step, repeat."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emu.sample import Sample
from emu.trace import Frame, FrameKind, Trace
from emu.unwind.lookup import RowTable, lookup
from emu.unwind.packed import ROW_BYTES
from emu.unwind.step import FP, RA, RESULT_WORDS, SP, step
from emu.verdict import Verdict

_MASK = (1 << 64) - 1
_REGISTERS = 128
MOST_FRAMES = 1 << 21


@dataclass(frozen=True, slots=True)
class ModuleTable:
    """Executable memory of a module and its rows; `bias` is runtime minus link-time."""

    start: int
    end: int
    bias: int
    table: RowTable


def walk(
    sample: Sample, modules: Sequence[ModuleTable], return_back: int = 1, most: int = MOST_FRAMES
) -> Trace:
    """Unwind a sample to its end.

    Args:
        modules: where rows are found.
        return_back: bytes subtracted from a return address before it is looked up;
            0 is what Linux does (kernel/unwind/user.c).
        most: longest walk; a longer one stops with NO_PROGRESS.
    """
    arch = sample.arch
    registers = np.zeros(_REGISTERS, np.int64)
    for dwarf, value in sample.registers.items():
        registers[dwarf] = _signed(value)
    result = np.zeros(RESULT_WORDS, np.int64)
    swap = int(arch.byte_order == "big")
    pc, kind = sample.pc, FrameKind.SAMPLED
    sp, fp = sample.registers[arch.sp], sample.registers[arch.fp]
    frames: list[Frame] = []
    while len(frames) < most:
        at = pc - return_back if kind is FrameKind.CALLER else pc
        module = next((m for m in modules if m.start <= at < m.end), None)
        if module is None:
            frames.append(Frame(pc, kind, sp, fp))
            return Trace(tuple(frames), Verdict.NO_MODULE)
        code = int(lookup(module.table.block, at - module.bias))
        if code < 0:
            frames.append(Frame(pc, kind, sp, fp))
            return Trace(
                tuple(frames), Verdict(-code), module.table.reason(at - module.bias)
            )
        row = module.table.rows[code]
        frames.append(Frame(pc, kind, sp, fp, row))
        found = Verdict(
            step(
                module.table.rows_address + ROW_BYTES * code, _signed(sp), _signed(fp),
                registers.ctypes.data, sample.memory.header.ctypes.data, swap,
                kind is FrameKind.SAMPLED, result.ctypes.data,
            )
        )  # fmt: skip
        if found is not Verdict.EXACT:
            return Trace(tuple(frames), found)
        pc, fp, sp = (int(result[at // 8]) & _MASK for at in (RA, FP, SP))
        if pc == 0:
            return Trace(tuple(frames), Verdict.OUTERMOST)
        kind = FrameKind.INTERRUPTED if row.signal else FrameKind.CALLER
    return Trace(tuple(frames), Verdict.NO_PROGRESS, f"more than {most} frames")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
