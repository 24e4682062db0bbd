"""Where instructions begin: lengths by a table, or by Capstone where there is no such table.

Both ways fill `sizes` (bytes of the instruction that begins there, 0: none does), one
element for each place at which an instruction may begin, and mark as BAD what is none.
"""

import ctypes
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import capstone as _capstone
import numba
import numpy as np
import numpy.typing as npt

from arch import Arch
from arch.flow import Flow
from emu.native import call_next, load8, load64, store64

capstone: Any = _capstone

ByteArray = npt.NDArray[np.uint8]
WordArray = npt.NDArray[np.int64]

_BAD = int(Flow.BAD)
_INVALID = ".byte"
"""Capstone's mnemonic of a byte that begins no instruction."""
_SIZE, _NAME = (getattr(capstone._cs_insn, name).offset for name in ("size", "mnemonic"))


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
        bounds = np.array(list(parts), np.int64).reshape(-1, 2)
        engine = _Disassembler(self, bounds)
        part = 0
        while part < len(bounds):
            part, doubtful = engine.cut(part)
            if doubtful:
                self._repair(engine.engine, doubtful, int(bounds[part - 1, 1]))

    def join(self, parts: Iterable[tuple[int, int]]) -> None:
        """Cut parts, each only up to where an instruction begins already."""
        if self.arch.instruction_lengths:
            self._measure(parts, True)
            return
        engine = _engine(*self.arch.disassembler)
        for first, last in parts:
            self._step(engine, first, last)

    def _measure(self, parts: Iterable[tuple[int, int]], join: bool) -> None:
        bounds = np.array(list(parts), np.int64).reshape(-1, 2)
        lengths = np.array(self.arch.instruction_lengths, np.int64)
        code = np.frombuffer(self.code, np.uint8)
        _measure(code, bounds, lengths, self.shift, join, self.sizes, self.kinds)

    def _repair(self, engine: Any, doubtful: list[int], last: int) -> None:
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

    def _step(self, engine: Any, at: int, last: int, replace: bool = False) -> int:
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

    def _lookalike(self, engine: Any, code: bytes) -> int:
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


class _Disassembler:
    """Capstone, called by compiled code: with an object for each line it takes five times as long.

    Args:
        begins: what is to be cut.
        bounds: (first offset, offset behind) of its parts.
    """

    def __init__(self, begins: Begins, bounds: WordArray) -> None:
        self.engine = _engine(*begins.arch.disassembler)
        self._begins, self._bounds = begins, bounds
        longest = int((bounds[:, 1] - bounds[:, 0]).max(initial=0))
        self._doubtful: WordArray = np.zeros(longest, np.int64)
        self._line = capstone._cs_insn()
        self._place: WordArray = np.zeros(3, np.int64)
        self._code = np.frombuffer(begins.code or b"\0", np.uint8)
        self._names = np.array([_beginning(n) for n in (_INVALID, *begins.arch.misread)], np.int64)
        self._function = ctypes.cast(capstone._cs.cs_disasm_iter, ctypes.c_void_p).value or 0

    def cut(self, part: int) -> tuple[int, list[int]]:
        """Cut parts from a number on, up to one with instructions whose lengths are doubtful.

        Returns:
            The number of the next part, and those instructions of the last.
        """
        begins = self._begins
        part, count = _cut(
            self._function, self.engine.csh.value, self._code.ctypes.data, self._bounds,
            part, self._place.ctypes.data, ctypes.addressof(self._line), _SIZE, _NAME, self._names,
            begins.sizes, begins.kinds, self._doubtful,
        )  # fmt: skip
        return part, self._doubtful[:count].tolist()


def _beginning(name: str) -> tuple[int, int]:
    """(mask, value) of the word that a mnemonic of at most seven letters begins with."""
    text = name.encode() + b"\0"
    mask = b"\xff" * len(text)
    return int.from_bytes(mask, "little", signed=len(mask) == 8), int.from_bytes(text, "little")


@functools.cache
def _engine(machine: int, mode: int) -> Any:
    engine = capstone.Cs(machine, mode)
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


@numba.njit(cache=True)
def _cut(
    function: int,
    handle: int,
    code: int,
    bounds: WordArray,
    part: int,
    place: int,
    line: int,
    size_offset: int,
    name_offset: int,
    names: WordArray,
    sizes: ByteArray,
    kinds: ByteArray,
    doubtful: WordArray,
) -> tuple[int, int]:
    """Cut parts by the disassembler, up to one with doubtful instructions, which are listed.

    Args:
        function, handle: of the disassembler; it decodes one instruction.
        code: address of the first byte.
        bounds: (first offset, offset behind) of the parts.
        part: number of the first one.
        place: address of three words: what the disassembler has left to do.
        line: address of what it writes; size and name stand at the offsets given.
        names: (mask, value) of names that are doubtful; the first is that of what is none.
        sizes, kinds, doubtful: to be filled.
    """
    count = 0
    while part < len(bounds) and count == 0:
        at = bounds[part, 0]
        store64(place, code + at)
        store64(place + 8, bounds[part, 1] - at)
        store64(place + 16, at)
        while load64(place + 8) > 0 and call_next(function, handle, place, line):
            size = load8(line + size_offset)
            sizes[at] = size
            word = load64(line + name_offset)
            for number in range(len(names)):
                if word & names[number, 0] == names[number, 1]:
                    if number == 0:
                        kinds[at] = _BAD
                    doubtful[count] = at
                    count += 1
            at += size
        part += 1
    return part, count
