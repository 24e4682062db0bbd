"""What a walk reads: registers and memory at one moment. There is no truth in it."""

from collections.abc import Mapping
from dataclasses import dataclass

from arch import Arch
from emu.memory import Memory


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment of one task.

    `registers` has the readable ones by DWARF number, unsigned; `pc` is the sampled PC.
    """

    arch: Arch
    pc: int
    registers: Mapping[int, int]
    memory: Memory
