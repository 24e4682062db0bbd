"""Hand-written stacks: guest memory from literal words, and one step over it."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arch import Arch, Row
from emu.memory import PAGE, READ, WRITE, Memory
from emu.unwind.packed import pack
from emu.unwind.step import CFA, DONE, FP, RA, RESULT_WORDS, SP, USUAL, step
from emu.verdict import Verdict

STACK = 0x7000_0000
"""Where the tests' stacks begin."""
MASK = (1 << 64) - 1


def stack_of(arch: Arch, words: Sequence[int], at: int = STACK, pages: int = 1) -> Memory:
    """Memory of some pages from `at`, which begin with these words in the machine's order."""
    memory = Memory(1 << 24)
    memory.map(at, pages * PAGE, READ | WRITE)
    order = "<" if arch.byte_order == "little" else ">"
    memory.write(at, struct.pack(f"{order}{len(words)}Q", *words))
    return memory


@dataclass(frozen=True)
class Stepped:
    """What a step gave; values are unsigned, those that it did not reach are None."""

    verdict: Verdict
    cfa: int | None
    ra: int | None
    fp: int | None
    sp: int | None


def take_step(
    arch: Arch,
    row: Row,
    memory: Memory,
    sp: int = STACK,
    fp: int = 0,
    registers: Mapping[int, int] | None = None,
    topmost: bool = True,
    checks: int = USUAL,
) -> Stepped:
    """Follow a row from hand-written registers."""
    words = pack(row, arch)
    file = np.zeros(128, np.int64)
    for number, value in (registers or {}).items():
        file[number] = signed(value)
    result = np.zeros(RESULT_WORDS, np.int64)
    found = step(
        words.ctypes.data, signed(sp), signed(fp), file.ctypes.data, memory.header.ctypes.data,
        int(arch.byte_order == "big"), topmost, result.ctypes.data, checks,
    )  # fmt: skip
    done = int(result[DONE // 8])
    values = [int(result[at // 8]) & MASK for at in (CFA, RA, FP, SP)]
    return Stepped(
        Verdict(found),
        values[0] if done > 0 else None,
        values[1] if done > 1 else None,
        values[2] if done > 2 else None,
        values[3] if done > 0 else None,
    )


def signed(value: int) -> int:
    """A 64-bit number as the compiled code takes it."""
    value &= MASK
    return value - (1 << 64) if value >> 63 else value
