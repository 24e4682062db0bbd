"""Groups of system calls over a small address space, without an emulator."""

from collections.abc import Callable
from dataclasses import dataclass, field

from arch import ALL, Arch
from emu.linux.calls import CallTable
from emu.linux.clock import Clock
from emu.linux.files import Files
from emu.linux.guest import Guest
from emu.linux.vfs.filesystem import FileSystem
from emu.memory import READ, WRITE, Memory

DATA = 0x20_0000
DATA_SIZE = 0x1_0000
READ_ONLY = 0x30_0000
NOWHERE = 0x66_0000
HIGH = (1 << 64) - 8
LIMIT = 64 << 20


@dataclass
class Translations:
    """Stands in for the engine and remembers what it was told."""

    flushes: int = 0
    forgotten: list[tuple[int, int]] = field(default_factory=list)

    def flush_tlb(self) -> None:
        """Count."""
        self.flushes += 1

    def forget_code(self, start: int, end: int) -> None:
        """Remember."""
        self.forgotten.append((start, end))


def make_guest(byte_order: str = "little") -> Guest:
    """64 KiB of data at DATA and a page at READ_ONLY."""
    memory = Memory(LIMIT)
    memory.map(DATA, DATA_SIZE, READ | WRITE)
    memory.map(READ_ONLY, 0x1000, READ)
    return Guest(memory, "little" if byte_order == "little" else "big", Translations())


class Calls:
    """The calls of a group as functions; `group.read(0, place, 5)`."""

    def __init__(self, table: CallTable) -> None:
        self._table = table

    def __getattr__(self, name: str) -> Callable[..., int]:
        return self._table[name][1]


def make_files(guest: Guest, clock: Clock, stdin: bytes = b"", arch: Arch = ALL[0]) -> Files:
    """Three streams, and a tree without a root."""
    tree = FileSystem(None, 1000, lambda: clock.realtime)
    return Files(guest, arch, tree, clock, stdin, lambda: None)
