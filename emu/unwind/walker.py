"""A full walk of one sample: the compiled loop of `frames`, with its words as objects."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from emu.sample import Sample
from emu.trace import Frame, FrameKind, Trace
from emu.unwind import frames as f
from emu.unwind.lookup import RowTable
from emu.unwind.step import RESULT_WORDS
from emu.verdict import Verdict

_MASK = (1 << 64) - 1
_REGISTERS = 128
_CHUNK = 1 << 10
"""Frames between two returns from the compiled loop."""
_KINDS = {
    f.SAMPLED: FrameKind.SAMPLED,
    f.CALLER: FrameKind.CALLER,
    f.INTERRUPTED: FrameKind.INTERRUPTED,
}
MOST_FRAMES = 1 << 21


@dataclass(frozen=True, slots=True)
class ModuleTable:
    """Executable memory of a module and its rows; `bias` is runtime minus link-time."""

    start: int
    end: int
    bias: int
    table: RowTable


class Walk:
    """One walk, stopped after any number of frames.

    Args:
        sample: where it begins.
        modules: where rows are found.
        return_back: as for `walk`.
        chunk: most frames at a time.
    """

    def __init__(
        self,
        sample: Sample,
        modules: Sequence[ModuleTable],
        return_back: int = 1,
        chunk: int = _CHUNK,
    ) -> None:
        arch = sample.arch
        self._modules = modules
        self._memory = sample.memory
        self._return_back = return_back
        self._registers = np.zeros(_REGISTERS, np.int64)
        for dwarf, value in sample.registers.items():
            self._registers[dwarf] = _signed(value)
        self._result = np.zeros(RESULT_WORDS, np.int64)
        self._frames = np.zeros((chunk, f.FRAME_WORDS), np.int64)
        self._places = np.array(
            [
                (m.start, m.end, _signed(m.bias & _MASK), m.table.block, m.table.rows_address)
                for m in modules
            ],
            np.int64,
        ).reshape(-1, f.MODULE_WORDS)
        self.words = np.zeros(f.WALK_WORDS, np.int64)
        """Where the walk stands, as in `frames`; `block` is the address."""
        for word, value in (
            (f.PC, sample.pc),
            (f.STACK_POINTER, sample.registers[arch.sp]),
            (f.FRAME_POINTER, sample.registers[arch.fp]),
            (f.KIND, f.SAMPLED),
            (f.REGISTERS, self._registers.ctypes.data),
            (f.MEMORY, sample.memory.header.ctypes.data),
            (f.SWAP, arch.byte_order == "big"),
            (f.RETURN_BACK, return_back),
            (f.MODULES, self._places.ctypes.data),
            (f.MODULE_COUNT, len(modules)),
            (f.RESULT, self._result.ctypes.data),
            (f.FRAMES, self._frames.ctypes.data),
        ):
            self.words[word] = _signed(int(value))
        self.block = int(self.words.ctypes.data)

    def advance(self, most: int) -> int:
        """Walk on for at most so many frames; why the stack ended, or `frames.GOES_ON`."""
        self.words[f.CAPACITY] = min(most, len(self._frames))
        return int(f.walk_frames(self.block))

    @property
    def count(self) -> int:
        """Frames of the last advance."""
        return int(self.words[f.COUNT])

    def frames(self) -> list[Frame]:
        """The frames of the last advance."""
        return [
            Frame(
                pc & _MASK, _KINDS[kind], sp & _MASK, fp & _MASK,
                None if code < 0 else self._modules[module].table.rows[code],
            )
            for pc, kind, sp, fp, module, code in self._frames[: self.count].tolist()
        ]  # fmt: skip

    def reason(self) -> str:
        """Why the table has no row for the last frame; empty where that was not the end."""
        frame = self._frames[self.count - 1]
        if frame[f.F_MODULE] < 0 or frame[f.F_CODE] >= 0:
            return ""
        module = self._modules[int(frame[f.F_MODULE])]
        back = self._return_back if frame[f.F_KIND] == f.CALLER else 0
        return module.table.reason(int(frame[f.F_PC]) - back - module.bias)


def walk(
    sample: Sample, modules: Sequence[ModuleTable], return_back: int = 1, most: int = MOST_FRAMES
) -> Trace:
    """Unwind a sample to its end.

    Args:
        sample: where to begin.
        modules: where rows are found.
        return_back: bytes subtracted from a return address before it is looked up;
            0 is what Linux does (kernel/unwind/user.c).
        most: longest walk; a longer one stops with NO_PROGRESS.
    """
    frames: list[Frame] = []
    going = Walk(sample, modules, return_back)
    while len(frames) < most:
        stop = going.advance(most - len(frames))
        frames += going.frames()
        if stop != f.GOES_ON:
            return Trace(tuple(frames), Verdict(stop), going.reason())
    return Trace(tuple(frames), Verdict.NO_PROGRESS, f"more than {most} frames")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 == 1 else value
