"""What must be known of a machine's instructions: which are calls, which trap, which are ours.

Bytes are in memory order throughout; a pattern holds where ``bytes & mask == value``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, IntEnum


class InstructionKind(IntEnum):
    """What the shadow stack needs to know of an instruction."""

    PLAIN = 0
    CALL = 1
    RETURN = 2
    CLOCK = 3
    """Not left to the emulator: mostly it reads a clock (`Arch.handled`)."""
    INDIRECT = 4
    """Jumps to where a register or a word in memory says, as `Arch.flow` has it."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """Instruction bytes in memory order: those with ``bytes & mask == value``."""

    kind: InstructionKind
    value: bytes
    mask: bytes
    name: str


@dataclass(frozen=True, slots=True)
class Trap:
    """What Linux makes of an exception: a signal, and the reason in words."""

    signal: str
    reason: str


class Source(Enum):
    """What a handled instruction yields."""

    NOTHING = "nothing"
    """It is stepped over."""
    UPTIME = "uptime"
    """Nanoseconds since boot."""
    DATE = "date"
    """Nanoseconds since 1970."""
    RANDOM = "random"
    """64 bits that the seed decides."""
    CONSTANT = "constant"


class Operand(Enum):
    """Where an instruction names the general register that gets the value."""

    NONE = "none"
    LOW_FIVE = "low-five"
    """Its low five bits."""
    MODRM = "modrm"
    """The low three bits of the byte behind the opcode and bit 0 of a prefix 0x40 to 0x4F;
    bit 3 of that prefix means 64 bits, the prefix 0x66 means 16, else the value has 32."""


@dataclass(frozen=True, slots=True)
class Handled:
    """An instruction that the emulator must not execute, ``bytes & mask == value``.

    Either the emulator would take the host's clock or random numbers, or it would execute
    what traps on the machine, or the kernel emulates the instruction.
    """

    name: str
    value: bytes
    mask: bytes
    trap: Trap | None = None
    """It ends the process."""
    models: frozenset[str] | None = None
    """CPU models that have it; on others it is undefined. None: all."""
    source: Source = Source.NOTHING
    scale: tuple[int, int] = (1, 1)
    """Units of a clock in so many nanoseconds."""
    base: int = 0
    """Added to the value of the source: an epoch, or the constant itself."""
    registers: tuple[tuple[int, int, int], ...] = ()
    """(emulator register, shift, bits) of the value."""
    operand: Operand = Operand.NONE
    numbers: tuple[int, ...] = ()
    """DWARF numbers by the number that the operand names; negative: nothing is written."""
    stored: int = 0
    """Bytes stored, the value first, at the base and displacement in the last two bytes."""
    condition: tuple[int, int, int] | None = None
    """(emulator register, mask, bits): the condition code that it sets."""

    @property
    def encoding(self) -> Encoding:
        """For `Arch.encodings`, so that it is recognised before it executes."""
        return Encoding(InstructionKind.CLOCK, self.value, self.mask, self.name)


@dataclass(frozen=True, slots=True)
class OpcodeTrap:
    """The trap of a faulting instruction with ``bytes & mask == value``."""

    value: bytes
    mask: bytes
    trap: Trap


@dataclass(frozen=True, slots=True)
class Exceptions:
    """How the emulator's exceptions become signals (Linux arch/*/kernel/traps.c)."""

    numbers: Mapping[int, Trap]
    other: Trap
    """For a number that `numbers` does not have."""
    opcodes: tuple[OpcodeTrap, ...] = ()
    """Asked first: one number may stand for many exceptions."""
    status: tuple[int, int] | None = None
    """(emulator register, mask): any of these bits set means `status_trap`."""
    status_trap: Trap = Trap("SIGFPE", "data exception")
    misaligned_pc: str = ""
    """Signal for an instruction address that is no multiple of the unit."""
    executes: tuple[tuple[bytes, bytes], ...] = ()
    """(value, mask) of instructions that fetch and execute another one, elsewhere."""
    silent: tuple[tuple[int, int, int, str], ...] = ()
    """(emulator register, mask, bits, name): other bits there enable exceptions that the
    emulator never raises."""
    halt: str = ""
    """Signal for an instruction that halts the CPU; empty: Linux lets it pass as a hint."""
