"""A process made by hand, the same on every machine: a file, a stack, registers that differ."""

import io
from dataclasses import dataclass

from arch import Arch
from emu.export.core import Stopped, write_core
from emu.export.registers import Thread
from emu.linux.mappings import Mapping
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory

CODE, DATA, STACK, GUARD = 0x10000, 0x20000, 0x7F0000, 0x7E0000
PC = CODE + PAGE + 0x10
PID = 77
AUXILIARY = ((3, CODE + 64), (16, 5), (9, PC), (0, 0))
"""AT_PHDR, AT_HWCAP, AT_ENTRY."""


@dataclass(frozen=True)
class MadeFile:
    """What is mapped at CODE."""

    path: bytes = b"/bin/made"
    number: int = 1
    device: int = 0
    content: None = None
    in_memory: bool = False

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.data())

    def data(self) -> bytes:
        """Two pages and a bit."""
        return b"\x7fELF" + bytes(range(256)) * 33

    def read(self, offset: int, size: int) -> bytes:
        """Some of them."""
        return self.data()[offset : offset + size]


def value(dwarf: int) -> int:
    """What a register holds: eight different bytes, and others in each register."""
    return int.from_bytes(bytes(16 * (dwarf % 8) + n + 1 + dwarf // 8 for n in range(8)), "big")


def thread(arch: Arch, tid: int = PID, add: int = 0) -> Thread:
    """With all registers known."""
    numbers = {s.dwarf for note in arch.export.notes for s in note.slots} - {None}
    registers = {dwarf: value(dwarf) + add for dwarf in numbers if dwarf is not None}
    others = {
        slot.name: 0x11 * (n + 1)
        for note in arch.export.notes
        for n, slot in enumerate(note.slots)
        if slot.dwarf is None and slot.emulator
    }
    return Thread(tid, PC + add, registers | {arch.sp: STACK + 0x800}, others)


def stopped(arch: Arch, *more: Thread, signed: bool = False) -> Stopped:
    """The file's pages, writable data of it, one's own stack, and a guard page."""
    memory = Memory(1 << 30)
    file = MadeFile()
    data = file.data().ljust(3 * PAGE, b"\0")
    memory.map(CODE, 3 * PAGE, READ | EXECUTE)
    memory.write(CODE, data, force=True)
    memory.map(DATA, PAGE, READ | WRITE)
    memory.write(DATA, data[PAGE : 2 * PAGE])
    memory.map(GUARD, PAGE, 0)
    memory.map(STACK, 2 * PAGE, READ | WRITE)
    memory.write(STACK + 0x800, b"stack")
    mappings = [
        Mapping(CODE, CODE + 3 * PAGE, 0, READ | EXECUTE, file),
        Mapping(DATA, DATA + PAGE, PAGE, READ | WRITE, file),
    ]
    return Stopped(
        arch, memory, mappings, [thread(arch), *more], AUXILIARY, b"made", [b"/bin/made", b"-x"],
        PID, signed=signed,
    )  # fmt: skip


def core_bytes(process: Stopped) -> bytes:
    """The core as a whole."""
    file = io.BytesIO()
    write_core(file, process)
    return file.getvalue()
