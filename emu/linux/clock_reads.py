"""Instructions that read a clock: they get the guest's own time, not the host's."""

from arch import Arch
from arch.descriptor import ClockRead
from emu.errors import MemoryFault
from emu.linux.clock import Clock
from emu.machine.engine import Engine
from emu.memory import Memory

_MASK = (1 << 64) - 1
_NO_REGISTER = 31


class ClockReads:
    """Executes the instructions of `Arch.clock_reads`.

    Args:
        arch: the machine.
        engine: its CPU.
        memory: its address space.
        clock: the time of the process.
    """

    def __init__(self, arch: Arch, engine: Engine, memory: Memory, clock: Clock) -> None:
        self._arch = arch
        self._engine = engine
        self._memory = memory
        self._clock = clock

    def execute(self, size: int) -> bool:
        """Execute the instruction of `size` bytes at the PC, and step over it.

        Returns:
            False: the guest may not store there; the PC stands at the instruction still.
        """
        pc = self._engine.pc
        code = self._memory.read(pc, size)
        prefixes = next((i for i, b in enumerate(code) if b not in self._arch.prefixes), 0)
        found = next(
            read
            for read in self._arch.clock_reads
            if _masked(code[prefixes:], read.mask) == read.value
        )
        try:
            self._deliver(found, code, self._time(found))
        except MemoryFault:
            return False
        self._engine.pc = pc + size
        return True

    def _time(self, read: ClockRead) -> int:
        if read.constant:
            return read.constant
        nanoseconds = self._clock.realtime if read.epoch else self._clock.monotonic
        return read.epoch + nanoseconds * read.scale[0] // read.scale[1]

    def _deliver(self, read: ClockRead, code: bytes, time: int) -> None:
        for register, shift, bits in read.registers:
            self._engine.write(register, time >> shift & ((1 << bits) - 1))
        if read.field:
            number = int.from_bytes(code, self._arch.byte_order) & 0x1F
            named = self._arch.register(number)
            if number != _NO_REGISTER and named is not None:
                self._engine.write(named.emulator, time)
        if read.stored:
            self._memory.write(
                self._operand(code), time.to_bytes(read.stored, self._arch.byte_order)
                if read.stored == 8
                # The extended form has the epoch index in front and the rest behind.
                else b"\0" + time.to_bytes(8, self._arch.byte_order) + bytes(read.stored - 9),
            )  # fmt: skip

    def _operand(self, code: bytes) -> int:
        """Address by the base register (0: none) and the displacement of the last two bytes."""
        field = int.from_bytes(code[-2:], self._arch.byte_order)
        base = self._arch.register(field >> 12)
        value = self._engine.read(base.emulator) if field >> 12 and base is not None else 0
        return (value + (field & 0xFFF)) & _MASK


def _masked(code: bytes, mask: bytes) -> bytes:
    return bytes(c & m for c, m in zip(code, mask, strict=False))
