"""What an instruction does to the flow of control, as data that a machine's file fills in.

`InstructionKind` (arch/descriptor.py) is what the shadow stack must know of an instruction
that is executed. `Flow` is what must be known of one before it is executed: where it may go.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Literal


class Flow(IntEnum):
    """Where control goes behind an instruction, and whether the emulator may execute it."""

    PLAIN = 0
    """To the next instruction."""
    CALL = 1
    """To its target; comes back by the return-address register or slot."""
    CALL_INDIRECT = 2
    """A call whose target stands in a register or in memory."""
    BRANCH = 3
    """To its target or to the next instruction."""
    JUMP = 4
    JUMP_INDIRECT = 5
    RETURN = 6
    RETURN_IF = 7
    """Returns or goes on."""
    BRANCH_INDIRECT = 8
    """Goes on, or to an address in a register or memory that is not the return address."""
    SYSCALL = 9
    HALT = 10
    """Never comes to an end here, or goes somewhere for good: traps, returns of a kernel."""
    SKIP = 11
    """Goes on, but must not be executed: the emulator cannot, user code must not, or its
    length is a register's value."""
    LINK = 12
    """Sets a register that does not hold return addresses to the next address, and jumps."""
    BAD = 13
    """No instruction."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a displacement stands in an instruction, and what it counts from.

    A number of `size` bytes at `offset`, in the byte order of the code, is shifted right by
    `shift`; its low `bits` bits times `scale` are the displacement.
    """

    offset: int
    """Bytes from the start of the instruction; negative: from its end."""
    size: int
    bits: int
    shift: int = 0
    scale: int = 1
    signed: bool = True
    from_end: bool = False
    """Counts from the end of the instruction, else from its start."""

    def read(self, code: bytes, byte_order: Literal["little", "big"]) -> int:
        """The displacement in an instruction, or in a row of them, with these bytes."""
        at = self.offset if self.offset >= 0 else len(code) + self.offset
        value = int.from_bytes(code[at : at + self.size], byte_order) >> self.shift
        value &= (1 << self.bits) - 1
        if self.signed and value >> (self.bits - 1):
            value -= 1 << self.bits
        return value * self.scale


@dataclass(frozen=True, slots=True)
class RegisterField:
    """Where the number of a general register stands in the bytes of an encoding."""

    byte: int
    """Offset of the lowest byte from the start of the encoding."""
    shift: int
    """Bits below the number, in that byte and the next one as a little-endian number."""
    numbers: tuple[int, ...]
    """DWARF numbers by the number there; a power of two of them, so that it tells the width."""


@dataclass(frozen=True, slots=True)
class FlowEncoding:
    """Instruction bytes in memory order, behind prefixes: those with ``bytes & mask == value``."""

    flow: Flow
    value: bytes
    mask: bytes
    name: str
    target: Target | None = None
    """Of an indirect flow: of the word in memory that holds the address to go to."""
    register: RegisterField | None = None
    """The register that holds the address to go to."""
    prefixes: bytes = b""
    """One of these must be among the prefixes; empty: whatever they are."""


@dataclass(frozen=True, slots=True)
class Stub:
    """Instructions that load an address from a word and jump there: an entry of a PLT.

    Found at bytes with ``bytes & mask == value``. The word lies at the sum of the fields,
    counted from that place rounded down to a multiple of `align`.
    """

    value: bytes
    mask: bytes
    fields: tuple[Target, ...]
    align: int = 1


@dataclass(frozen=True, slots=True)
class Lookalike:
    """An instruction that the disassembler may not know, and one as long that it does.

    Bytes with ``bytes & mask == value`` are as long as ``bytes & keep | put``.
    """

    value: bytes
    mask: bytes
    keep: bytes
    put: bytes
