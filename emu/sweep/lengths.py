"""Where instructions begin: lengths by a table, or by Capstone where there is no such table.

Both ways fill `sizes` (bytes of the instruction that begins there, 0: none does), one
element for each place at which an instruction may begin, and mark as BAD what is none.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import capstone
import numba
import numpy as np
import numpy.typing as npt

from arch import Arch
from arch.flow import Flow

ByteArray = npt.NDArray[np.uint8]
WordArray = npt.NDArray[np.int64]

_BAD = int(Flow.BAD)
_INVALID = ".byte"
"""Capstone's mnemonic of a byte that begins no instruction."""


@dataclass(frozen=True, slots=True, eq=False)
class Begins:
    """Code that is being cut into instructions; offsets count from its start."""

    arch: Arch
    code: bytes
    shift: int
    """Instructions begin at multiples of ``1 << shift`` bytes."""
    sizes: ByteArray
    kinds: ByteArray
    """`Flow.BAD` where an instruction is none."""

    def cut(self, parts: Iterable[tuple[int, int]]) -> None:
        """Cut parts (first offset, offset behind), each linearly from its start to its end."""
        if self.arch.instruction_lengths:
            self._measure(parts, False)
            return
        engine = _engine(self.arch)
        doubtful = (_INVALID, *self.arch.misread)
        for first, last in parts:
            code = self.code[first:last]
            lines = [(size, name) for _, size, name, _ in engine.disasm_lite(code, first)]
            size = np.array([size for size, _ in lines], np.int64)
            at = first + np.cumsum(size) - size
            self.sizes[at] = size
            self.kinds[at[[name == _INVALID for _, name in lines]]] = _BAD
            self._repair(engine, at[[name in doubtful for _, name in lines]].tolist(), last)

    def join(self, parts: Iterable[tuple[int, int]]) -> None:
        """Cut parts, each only up to where an instruction begins already."""
        if self.arch.instruction_lengths:
            self._measure(parts, True)
            return
        engine = _engine(self.arch)
        for first, last in parts:
            self._step(engine, first, last)

    def _measure(self, parts: Iterable[tuple[int, int]], join: bool) -> None:
        bounds = np.array(list(parts), np.int64).reshape(-1, 2)
        lengths = np.array(self.arch.instruction_lengths, np.int64)
        code = np.frombuffer(self.code, np.uint8)
        _measure(code, bounds, lengths, self.shift, join, self.sizes, self.kinds)

    def _repair(self, engine: capstone.Cs, doubtful: list[int], last: int) -> None:
        """Find the lengths of instructions that only Capstone does not know.

        What it has made of the bytes behind them goes, up to where both ways meet.
        """
        known = 0
        for at in doubtful:
            if at < known:
                continue
            size = self._lookalike(engine, self.code[at : min(last, at + self._longest)])
            if size == 0:
                continue
            self._set(at, size, 0)
            known = self._step(engine, at + size, last, replace=True)

    def _step(self, engine: capstone.Cs, at: int, last: int, replace: bool = False) -> int:
        """Cut one by one up to a known beginning, whose offset is the result, or to `last`."""
        while at < last and self.sizes[at] == 0:
            code = self.code[at : min(last, at + self._longest)]
            _, size, name, _ = next(engine.disasm_lite(code, at, 1))
            bad = name == _INVALID
            doubtful = bad or name in self.arch.misread
            if doubtful and (other := self._lookalike(engine, code)):
                size, bad = other, False
            if replace:
                self._set(at, size, _BAD if bad else 0)
            else:
                self.sizes[at] = size
                self.kinds[at] = _BAD if bad else 0
            at += size
        return at

    def _set(self, at: int, size: int, kind: int) -> None:
        """An instruction in whose middle none begins."""
        self.sizes[at : at + size] = 0
        self.kinds[at : at + size] = 0
        self.sizes[at] = size
        self.kinds[at] = kind

    def _lookalike(self, engine: capstone.Cs, code: bytes) -> int:
        """Length of an instruction by one that looks like it; 0: there is none."""
        for like in self.arch.lookalikes:
            head = code[: len(like.keep)]
            if len(head) < len(like.keep) or any(
                byte & mask != value
                for byte, mask, value in zip(code, like.mask, like.value, strict=False)
            ):
                continue
            put = bytes(b & k | p for b, k, p in zip(head, like.keep, like.put, strict=True))
            _, size, name, _ = next(engine.disasm_lite(put + code[len(put) :], 0, 1))
            if name != _INVALID:
                return int(size)
        return 0

    @property
    def _longest(self) -> int:
        return self.arch.longest_instruction


def _engine(arch: Arch) -> capstone.Cs:
    engine = capstone.Cs(*arch.disassembler)
    engine.skipdata = True
    return engine


@numba.njit(cache=True)
def _measure(
    code: ByteArray,
    bounds: WordArray,
    lengths: WordArray,
    shift: int,
    join: bool,
    sizes: ByteArray,
    kinds: ByteArray,
) -> None:
    """Lengths by the top two bits of the first byte."""
    for part in range(len(bounds)):
        at = bounds[part, 0]
        last = bounds[part, 1]
        while at < last and not (join and sizes[at >> shift]):
            size = lengths[code[at] >> 6]
            if at + size > last:
                size = 1 << shift
                kinds[at >> shift] = _BAD
            sizes[at >> shift] = size
            at += size
