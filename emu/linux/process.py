"""One process: a program in memory, its registers, and the kernel that it calls.

The engine runs; `Process` answers its system calls and says how the run ended. Whoever
drives the engine (a check, a recording) looks at `finished` when the engine comes back,
and hands any other stop to `fault`. `run` is the simplest such driver.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from arch.descriptor import Trap
from emu.errors import MemoryFault
from emu.linux.calls import Errno, RunEndedError
from emu.linux.clock import Clock
from emu.linux.credentials import OWNER
from emu.linux.faults import Fault, classify
from emu.linux.handled import HandledInstructions
from emu.linux.kernel import Kernel
from emu.linux.mappings import Mappings, file_mappings
from emu.linux.program import Program, ProgramFile
from emu.linux.vfs.filesystem import FileSystem
from emu.machine.engine import Engine, EngineStop, StopKind
from emu.machine.entry_stack import build_stack
from emu.machine.loader import load, load_interpreter
from emu.memory import Memory


class Process:
    """A program that is loaded and ready to `start`.

    Args:
        program: what is run, and the root directory of its files.
        engine: a CPU of its machine in its boot state.
        memory: the engine's, still empty.
        arguments: those behind the program in argv.
        environment: names and values.
        stdin: all that descriptor 0 holds.
        seed: of everything that could differ between two runs.
        instructions: how many have been executed; it drives the clock.

    Raises:
        ImageError: the program cannot be loaded.
        UsageError: arguments are too long.
    """

    def __init__(
        self,
        program: Program,
        engine: Engine,
        memory: Memory,
        arguments: Sequence[str | bytes] = (),
        environment: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        seed: int = 0,
        instructions: Callable[[], int] = lambda: 0,
    ) -> None:
        self.engine = engine
        self.memory = memory
        self._arch = engine.arch
        self.mappings = Mappings()
        self.loaded = load(program.image, memory)
        """The program itself."""
        self.file = ProgramFile(program.path, program.image)
        """What the program's mappings are of."""
        self.mappings.add(*file_mappings(program.image, self.loaded, self.file))
        self._entry, self._base = self.loaded.entry, 0
        if program.interpreter is not None:
            interpreter = load_interpreter(program.interpreter, memory)
            self._entry, self._base = interpreter.entry, interpreter.bias
            file = ProgramFile(program.interpreter.path.encode(), program.interpreter)
            self.mappings.add(*file_mappings(program.interpreter, interpreter, file))
        self.stack = build_stack(
            self._arch,
            memory,
            self.loaded,
            program=program.name,
            base=self._base,
            arguments=[*program.arguments, *map(_bytes, arguments)],
            environment=[_bytes(f"{k}={v}") for k, v in (environment or {}).items()],
            owner=OWNER,
            seed=seed,
        )
        self.clock = Clock(seed, instructions)
        self.clock_reads = HandledInstructions(engine, memory, self.clock, seed)
        """For who drives the engine and sees them come: `run` does not."""
        self.exit_status: int | None = None
        self.killed_by = ""
        """Name of the signal that ended it."""
        self.reason = ""
        """In words, where the process ended in another way than by exit."""
        self.last_fault: Fault | None = None
        self.finished = False
        self.after_call: Callable[[], None] | None = None
        """Called behind each system call: a guest in a loop of calls is hard to stop else."""
        self.kernel = Kernel(
            engine, memory, program, self.loaded, self.stack, self.mappings, self.clock, stdin, seed
        )
        """What answers its system calls."""
        self._syscalls = self.kernel.syscalls
        engine.hook_syscalls(self._on_call)

    @property
    def dynamic(self) -> bool:
        """It has a program interpreter, so libraries may come."""
        return bool(self._base)

    # ---- what a report asks for

    @property
    def filesystem(self) -> FileSystem:
        """The tree of files that the guest sees."""
        return self.kernel.filesystem

    @property
    def stdout(self) -> bytes:
        """What it wrote to its standard output, at most 16 MiB."""
        return bytes(self.kernel.files.stdout.kept)

    @property
    def stderr(self) -> bytes:
        """What it wrote to its standard error, at most 16 MiB."""
        return bytes(self.kernel.files.stderr.kept)

    @property
    def dropped(self) -> int:
        """Bytes of output beyond those kept."""
        return self.kernel.files.stdout.dropped + self.kernel.files.stderr.dropped

    @property
    def unsupported(self) -> Counter[str]:
        """System calls that are not implemented, by name or ``#N``."""
        return self._syscalls.unsupported

    @property
    def refused(self) -> Counter[str]:
        """System calls that fail by design, by name."""
        return self._syscalls.refused

    # ---- running

    def start(self) -> int:
        """Set SP and PC as execve(2) leaves them; the entry address."""
        stack_register = self._arch.register(self._arch.sp)
        assert stack_register is not None
        self.engine.write(stack_register.emulator, self.stack.pointer)
        self.engine.pc = self._entry
        return self._entry

    def run(self) -> None:
        """Start, and drive the engine until the process has ended."""
        address = self.start()
        while not self.finished:
            stop = self.engine.run(address)
            address = self.engine.pc
            halts = stop.kind is StopKind.STOPPED and not self._arch.exceptions.halt
            if not self.finished and not halts:
                self.fault(stop)

    def fault(self, stop: EngineStop) -> Fault:
        """Let the process die of what the engine met."""
        end = self.clock_reads.take_end()
        if isinstance(end, Trap):
            fault = Fault(end.signal, self.engine.pc, None, end.reason)
        else:
            fault = classify(
                self.engine, end or stop, (self.stack.low, self.stack.high), self.mappings
            )
        self.last_fault = fault
        self._end(RunEndedError(signal=fault.signal, reason=fault.reason))
        return fault

    def _on_call(self) -> None:
        """Answer the system call at the engine's PC."""
        engine, convention = self.engine, self._arch.syscall
        pc = engine.pc
        number = engine.read(convention.number) & convention.number_mask
        if convention.immediate:
            number = self.memory.read(pc, 2)[1] or number
        arguments = [engine.read(register) for register in convention.arguments]
        if convention.pc_advance:
            engine.pc = pc + convention.pc_advance
        self.clock.count_call()
        try:
            result = self._answer(self._syscalls.name(number), arguments)
        except RunEndedError as end:
            self._end(end)
            engine.stop()
            return
        if convention.next_pc_register:
            engine.write(convention.next_pc_register, pc + convention.next_pc)
        if convention.flags_register:
            engine.write(convention.flags_register, engine.read(self._arch.flags_emulator))
        engine.write(convention.result, result)
        if self.after_call is not None:
            self.after_call()

    def _answer(self, name: str, arguments: list[int]) -> int:
        if name == "mmap" and self._arch.syscall.mmap_block:
            order = self._arch.byte_order
            try:
                block = [self.memory.read_word(arguments[0] + 8 * i, order) for i in range(6)]
            except MemoryFault:
                return -Errno.EFAULT
            arguments = block
        return self._syscalls.call(name, arguments)

    def _end(self, end: RunEndedError) -> None:
        self.finished = True
        for register, mask, bits, name in self._arch.exceptions.silent:
            if self.engine.read(register) & mask != bits:
                self._syscalls.note(name)
        self.exit_status = end.status
        self.killed_by = end.signal
        self.reason = end.reason


def _bytes(text: str | bytes) -> bytes:
    """As the host's command line gives it: undecodable bytes come back as they were."""
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")
