"""What the files of /proc are made from: the guest's own state, and nothing of the host's."""

import struct
from dataclasses import dataclass

from arch import Arch
from emu.errors import MemoryFault
from emu.linux.address_space import AddressSpace
from emu.linux.calls import CallError
from emu.linux.clock import Clock
from emu.linux.limits import Limits
from emu.linux.mappings import MappedFile, Mappings
from emu.linux.paths import Paths
from emu.linux.scheduling import Scheduling
from emu.linux.signals import Signals
from emu.linux.task import Task
from emu.linux.vfs.nodes import Node
from emu.machine.entry_stack import Aux, EntryStack
from emu.memory import PAGE, Memory


@dataclass(frozen=True, slots=True)
class View:
    """The parts of a process that its files of /proc show."""

    arch: Arch
    memory: Memory
    mappings: Mappings
    addresses: AddressSpace
    stack: EntryStack
    clock: Clock
    task: Task
    limits: Limits
    scheduling: Scheduling
    signals: Signals
    paths: Paths
    """With the tree."""
    program: bytes
    """The guest's path of it."""
    code: tuple[int, int]
    """Where its code is."""
    strings: tuple[int, int, int]
    """Start of the arguments on the stack, start of the environment, and its end."""
    born: int
    """Time since boot at which the process started, nanoseconds."""
    seed: int

    def node(self, path: bytes) -> Node | None:
        """The file of a path; None where the guest does not see it."""
        try:
            return self.paths.files.lookup(path)
        except CallError:
            return None

    def identity(self, file: MappedFile) -> tuple[bytes, int, int]:
        """Path, device and inode of what is mapped; the program itself was so before the tree."""
        node = None if file.number else self.node(file.path)
        known = node or file
        return known.path, known.device, known.number

    def read(self, start: int, end: int) -> bytes:
        """Memory as it is now, or nothing where it cannot be read."""
        try:
            return self.memory.read(start, end - start)
        except MemoryFault:
            return b""

    def words(self, *values: int) -> bytes:
        """Unsigned 64-bit words in the machine's order."""
        order = "<" if self.arch.byte_order == "little" else ">"
        return struct.pack(f"{order}{len(values)}Q", *values)

    @property
    def pages(self) -> int:
        """Pages that are mapped."""
        return self.memory.mapped // PAGE


def strings_of(arch: Arch, memory: Memory, stack: EntryStack) -> tuple[int, int, int]:
    """Where the strings of a new process are, before it can have changed anything."""

    def word(index: int) -> int:
        return memory.read_word(stack.pointer + 8 * index, arch.byte_order)

    end = dict(stack.auxiliary)[Aux.EXECFN]
    count = word(0)
    environment = word(count + 2) or end
    return (word(1) if count else environment), environment, end
