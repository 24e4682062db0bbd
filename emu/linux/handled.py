"""Instructions that the emulator is not left to execute (`Arch.handled`).

Some would read the host's clock or its random numbers, and get the guest's own; some the
emulator would execute though they trap for user code; some are the kernel's to emulate.
"""

from random import Random

from arch import Arch
from arch.descriptor import Handled, InstructionKind, Operand, Source, Trap
from emu.errors import MemoryFault
from emu.linux.clock import Clock
from emu.machine.engine import Engine, EngineStop, StopKind
from emu.memory import PAGE, Memory

_MASK = (1 << 64) - 1
_UNDEFINED = Trap("SIGILL", "undefined instruction")
_EXTENSIONS = range(0x40, 0x50)
"""Prefixes of Operand.MODRM that widen an instruction: bit 3 the operand, bit 0 its register."""
_HALF = 0x66


def code_at(arch: Arch, memory: Memory, address: int) -> bytes:
    """As many bytes of an instruction as can be read."""
    size = arch.longest_instruction
    while size:
        try:
            return memory.read(address, size)
        except MemoryFault:
            size -= 1
    return b""


def opcode_of(arch: Arch, code: bytes) -> bytes:
    """The instruction behind its prefixes."""
    return code[next((i for i, byte in enumerate(code) if byte not in arch.prefixes), 0) :]


def matches(opcode: bytes, value: bytes, mask: bytes) -> bool:
    """The bytes of an instruction begin with a pattern."""
    return len(opcode) >= len(mask) and all(
        byte & bits == wanted for byte, bits, wanted in zip(opcode, mask, value, strict=False)
    )


def find_handled(arch: Arch, model: str, code: bytes) -> Handled | None:
    """The entry for an instruction of that kind; None: it is another one, or the model has none.

    `Arch.encodings` decides, as it does for the check: some patterns there come first.
    """
    opcode = opcode_of(arch, code)
    first = next((e for e in arch.encodings if matches(opcode, e.value, e.mask)), None)
    if first is None or first.kind is not InstructionKind.CLOCK:
        return None
    return next(
        (
            entry
            for entry in arch.handled
            if (entry.models is None or model in entry.models)
            and matches(opcode, entry.value, entry.mask)
        ),
        None,
    )


class HandledInstructions:
    """Executes them, or says why the process ends there.

    Args:
        engine: the CPU.
        memory: its address space.
        clock: the time of the process.
        seed: of the random numbers.
    """

    def __init__(self, engine: Engine, memory: Memory, clock: Clock, seed: int) -> None:
        self._arch = engine.arch
        self._engine = engine
        self._memory = memory
        self._clock = clock
        self._random = Random(f"instructions {seed}")
        self._known: dict[bytes, Handled | None] = {}
        self._end: Trap | EngineStop | None = None

    def execute(self, size: int) -> bool:
        """Execute the instruction of `size` bytes at the PC, and step over it.

        Returns:
            False: it traps, `take_end` says how; the PC stands at the instruction still.
        """
        pc = self._engine.pc
        # Of an instruction that it does not know the emulator knows no size.
        undefined = size > self._arch.longest_instruction
        try:
            code = self._memory.read(pc, self._arch.longest_instruction if undefined else size)
        except MemoryFault:
            code = code_at(self._arch, self._memory, pc)
        if code not in self._known:
            self._known[code] = find_handled(self._arch, self._engine.cpu, code)
        found = self._known[code]
        trap = found.trap if found is not None else _UNDEFINED
        if found is None or trap is not None or undefined:
            self._end = trap or _UNDEFINED
            return False
        try:
            self._deliver(found, code, self._value(found))
        except MemoryFault as fault:
            self._end = EngineStop(StopKind.MEMORY, fault.address & -PAGE, "write")
            return False
        self._engine.pc = pc + size
        return True

    def take_end(self) -> Trap | EngineStop | None:
        """Why the last instruction was not executed; asking clears it."""
        end, self._end = self._end, None
        return end

    def _value(self, entry: Handled) -> int:
        if entry.source is Source.RANDOM:
            return self._random.getrandbits(64)
        if entry.source in (Source.UPTIME, Source.DATE):
            clock = self._clock
            time = clock.monotonic if entry.source is Source.UPTIME else clock.realtime
            return entry.base + time * entry.scale[0] // entry.scale[1]
        return entry.base

    def _deliver(self, entry: Handled, code: bytes, value: int) -> None:
        if entry.stored:
            data = (value & _MASK).to_bytes(8, self._arch.byte_order)
            if entry.stored > 8:
                # The extended form has the epoch index in front and the rest behind.
                data = b"\0" + data + bytes(entry.stored - 9)
            self._memory.write(self._address(code), data)
        for register, shift, bits in entry.registers:
            self._engine.write(register, value >> shift & ((1 << bits) - 1))
        if entry.operand is Operand.LOW_FIVE:
            number = int.from_bytes(code, self._arch.byte_order) & 0x1F
            self._write(entry.numbers[number], value)
        elif entry.operand is Operand.MODRM:
            self._write_modrm(entry, code, value)
        if entry.condition is not None:
            register, mask, bits = entry.condition
            self._engine.write(register, self._engine.read(register) & ~mask | bits)

    def _write_modrm(self, entry: Handled, code: bytes, value: int) -> None:
        opcode = opcode_of(self._arch, code)
        prefixes = code[: len(code) - len(opcode)]
        # Only the last prefix before the opcode extends it.
        last = prefixes[-1] if prefixes and prefixes[-1] in _EXTENSIONS else 0
        number = entry.numbers[opcode[len(entry.value) - 1] & 7 | (last & 1) << 3]
        if last & 8:
            self._write(number, value)
        elif _HALF in prefixes:
            self._write(number, self._read(number) & ~0xFFFF | value & 0xFFFF)
        else:
            self._write(number, value & 0xFFFF_FFFF)

    def _address(self, code: bytes) -> int:
        """Address by the base register (0: none) and the displacement of the last two bytes."""
        field = int.from_bytes(code[-2:], self._arch.byte_order)
        base = self._read(field >> 12) if field >> 12 else 0
        return (base + (field & 0xFFF)) & _MASK

    def _read(self, number: int) -> int:
        register = self._arch.register(number)
        return 0 if register is None else self._engine.read(register.emulator)

    def _write(self, number: int, value: int) -> None:
        register = self._arch.register(number)
        if register is not None:
            self._engine.write(register.emulator, value)
