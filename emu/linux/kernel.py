"""The kernel behind one process: all groups of system calls, and the state that they share."""

from collections.abc import Callable, Mapping

from emu.linux.address_space import AddressSpace
from emu.linux.clock import Clock, TimeCalls
from emu.linux.credentials import OWNER, PID, Credentials
from emu.linux.files import Files
from emu.linux.guest import Guest
from emu.linux.limits import Limits
from emu.linux.mappings import Mappings
from emu.linux.proc.tree import mount_proc
from emu.linux.proc.view import View, strings_of
from emu.linux.program import Program
from emu.linux.scheduling import Scheduling
from emu.linux.signals import Signals
from emu.linux.syscalls import Syscalls
from emu.linux.task import Task
from emu.linux.vfs.devices import mount_devices
from emu.linux.vfs.filesystem import FileSystem
from emu.linux.waits import Waits
from emu.machine.engine import Engine
from emu.machine.entry_stack import STACK_SIZE, EntryStack
from emu.machine.loader import Loaded
from emu.memory import EXECUTE, Memory

_Access = tuple[Callable[[int], None] | None, Callable[[], int] | None]


class Kernel:
    """What answers the system calls of a process that is loaded and has not run.

    Args:
        engine: its CPU.
        memory: its address space.
        program: what it runs.
        loaded: where that is.
        stack: as it starts.
        mappings: of the program's files.
        clock: its time.
        stdin: all that descriptor 0 holds.
        seed: of everything that could differ between two runs.
    """

    def __init__(
        self, engine: Engine, memory: Memory, program: Program, loaded: Loaded,
        stack: EntryStack, mappings: Mappings, clock: Clock, stdin: bytes, seed: int,
    ) -> None:  # fmt: skip
        arch = engine.arch
        guest = Guest(memory, arch.byte_order, engine)
        self.filesystem = FileSystem(program.root, OWNER, lambda: clock.realtime)
        """The tree of files that the guest sees."""
        mount_devices(self.filesystem, seed)
        task = Task(
            guest, clock, arch.name, program.name.rpartition(b"/")[2], seed, _segments(engine),
            arch.layout.user_end,
        )  # fmt: skip
        self.task = task
        """The one thread."""
        limits = Limits(guest, STACK_SIZE)
        scheduling = Scheduling(guest)
        signals = Signals(guest, PID, lambda name: self.syscalls.note(name))
        budget = self.filesystem.budget
        budget.largest, budget.exceeded = limits.file_size, signals.file_too_large
        self.files = Files(
            guest, arch, self.filesystem, clock, stdin, signals.broken_pipe, limits.open_files
        )
        addresses = AddressSpace(
            guest, arch.layout, loaded.brk, (stack.low, stack.high), mappings, self.files.to_map
        )
        view = View(
            arch, memory, mappings, addresses, stack, clock, task, limits, scheduling, signals,
            self.files.paths, program.path, _code(loaded), strings_of(arch, memory, stack),
            clock.monotonic, seed,
        )  # fmt: skip
        mount_proc(self.filesystem, view, self.files.descriptors)
        self.syscalls = Syscalls(
            arch.syscalls,
            (
                addresses.calls(), self.files.calls(),
                Waits(guest, self.files.find, clock).calls(), signals.calls(),
                TimeCalls(guest, clock).calls(), task.calls(), limits.calls(),
                Credentials(guest).calls(), scheduling.calls(),
            ),
        )  # fmt: skip


def _segments(engine: Engine) -> Mapping[int, _Access]:
    """The operations of arch_prctl(2)."""
    convention = engine.arch.syscall
    found: dict[int, _Access] = {}
    for operation, register in convention.segment_set.items():
        found[operation] = (_writer(engine, register), None)
    for operation, register in convention.segment_get.items():
        found[operation] = (None, _reader(engine, register))
    return found


def _writer(engine: Engine, register: int) -> Callable[[int], None]:
    return lambda value: engine.write(register, value)


def _reader(engine: Engine, register: int) -> Callable[[], int]:
    return lambda: engine.read(register)


def _code(loaded: Loaded) -> tuple[int, int]:
    """Start and end of what is executable of the program."""
    ranges = [each for each in loaded.ranges if each[2] & EXECUTE] or list(loaded.ranges)
    return min(start for start, _, _ in ranges), max(end for _, end, _ in ranges)
