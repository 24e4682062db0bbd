"""System calls by name, on a whole kernel that no CPU drives."""

import struct
from collections import Counter
from pathlib import Path
from typing import Any

from arch import Arch
from emu.linux.process import Process
from emu.linux.program import Program
from emu.linux.vfs.host import HostRoot
from emu.machine.engine import Engine
from emu.memory import READ, WRITE, Memory
from tests.emu.linux.programs import call as code_of_call
from tests.emu.machine.elf_program import code_program

LIMIT = 1 << 30
AT_FDCWD = -100
ROOM = 2 << 20
"""Bytes of memory for results."""
NOWHERE = 0x66_0000
"""An address where nothing is."""
_STRINGS = 1 << 20
_BASE = 0x6000_0000
_WORD = 1 << 64


class Caller:
    """A process that has not run, and memory for the arguments of its calls.

    Args:
        folder: for the program's file.
        arch: the machine.
        root: what the guest sees as /, or None.
        stdin: what descriptor 0 holds.
    """

    def __init__(
        self, folder: Path, arch: Arch, root: Path | None = None, stdin: bytes = b""
    ) -> None:
        image = code_program(arch, code_of_call(arch, "exit", 0)).image(folder)
        host = None if root is None else HostRoot(root)
        program = Program(image, b"/prog", b"/prog", (b"/prog", b"one"), None, host)
        self.arch = arch
        self.memory = Memory(LIMIT)
        engine = Engine(arch, self.memory)
        self.process = Process(program, engine, self.memory, (), {"HOME": "/h"}, stdin, 1)
        self.restore()
        self.room = _BASE + _STRINGS
        """Where results may go."""
        self._order = "<" if arch.byte_order == "little" else ">"

    def __call__(self, name: str, *arguments: int | bytes) -> int:
        """The result, negative for an error; bytes are passed as the address of a copy."""
        if name not in self.arch.syscalls:
            name, arguments = _newer(name, arguments)
        place = _BASE
        words = []
        for argument in arguments:
            if isinstance(argument, bytes):
                self.memory.write(place, argument + b"\0")
                words.append(place)
                place += len(argument) + 8 & -8
            else:
                words.append(argument % _WORD)
        return self.process.kernel.syscalls.call(name, words + [0] * (6 - len(words)))

    def restore(self) -> None:
        """Map the memory for arguments and results, which a call may have unmapped."""
        if any(row[3] != READ | WRITE for row in self.memory.inside(_BASE, _STRINGS + ROOM)) or (
            not self.memory.is_mapped(_BASE, _STRINGS + ROOM)
        ):
            self.memory.map(_BASE, _STRINGS + ROOM, READ | WRITE)

    def put(self, layout: str, *values: Any, at: int = 0) -> int:
        """Store a structure in the room; its address."""
        self.memory.write(self.room + at, struct.pack(self._order + layout, *values))
        return self.room + at

    def get(self, layout: str, at: int = 0) -> tuple[Any, ...]:
        """A structure in the room."""
        size = struct.calcsize(self._order + layout)
        return struct.unpack(self._order + layout, self.memory.read(self.room + at, size))

    def bytes(self, size: int, at: int = 0) -> bytes:
        """What lies in the room."""
        return self.memory.read(self.room + at, size)

    # ---- what most tests begin with

    def open(self, path: bytes, flags: int = 0, mode: int = 0o644) -> int:
        """openat(2)."""
        return self("openat", AT_FDCWD, path, flags, mode)

    def contents(self, path: bytes) -> bytes:
        """All of a file."""
        descriptor = self.open(path)
        assert descriptor >= 0, (path, descriptor)
        found = b""
        while (size := self("read", descriptor, self.room, ROOM)) > 0:
            found += self.bytes(size)
        assert size == 0
        self("close", descriptor)
        return found

    def make(self, path: bytes, data: bytes = b"") -> None:
        """A new file with that content."""
        descriptor = self.open(path, 0o1101)
        assert descriptor >= 0, (path, descriptor)
        assert self("write", descriptor, data, len(data)) == len(data)
        self("close", descriptor)

    def link_text(self, path: bytes) -> bytes:
        """readlink(2)."""
        size = self("readlinkat", AT_FDCWD, path, self.room, 4096)
        assert size >= 0, (path, size)
        return self.bytes(size)

    def stat(self, path: bytes, flags: int = 0) -> dict[str, int]:
        """fstatat(2): the fields by name."""
        result = self("newfstatat", AT_FDCWD, path, self.room, flags)
        assert result == 0, (path, result)
        found = {}
        for name, (offset, size) in self.arch.stat.fields.items():
            (found[name],) = self.get("Q" if size == 8 else "I", offset)
        return found

    def names(self, path: bytes) -> list[bytes]:
        """What getdents64(2) tells of a directory, in its order."""
        descriptor = self.open(path, self.arch.files.o_directory)
        assert descriptor >= 0, (path, descriptor)
        found = []
        while (size := self("getdents64", descriptor, self.room, 4096)) > 0:
            at = 0
            while at < size:
                _, _, length = self.get("QQH", at)
                found.append(self.bytes(length - 19, at + 19).partition(b"\0")[0])
                at += length
        assert size == 0
        self("close", descriptor)
        return found

    @property
    def unsupported(self) -> Counter[str]:
        """What the report would name."""
        return self.process.unsupported

    @property
    def refused(self) -> Counter[str]:
        """What was refused by design."""
        return self.process.refused


def _newer(name: str, arguments: tuple[int | bytes, ...]) -> tuple[str, tuple[int | bytes, ...]]:
    """A call that only older machines have, as the C library of a newer one makes it."""
    here = AT_FDCWD
    return {
        "open": lambda: ("openat", (here, *arguments)),
        "stat": lambda: ("newfstatat", (here, *arguments, 0)),
        "lstat": lambda: ("newfstatat", (here, *arguments, 0x100)),
        "access": lambda: ("faccessat", (here, *arguments)),
        "readlink": lambda: ("readlinkat", (here, *arguments)),
        "mkdir": lambda: ("mkdirat", (here, *arguments)),
        "mknod": lambda: ("mknodat", (here, *arguments)),
        "unlink": lambda: ("unlinkat", (here, *arguments, 0)),
        "rmdir": lambda: ("unlinkat", (here, *arguments, 0x200)),
        "rename": lambda: ("renameat2", (here, arguments[0], here, arguments[1], 0)),
        "renameat": lambda: ("renameat2", (*arguments, 0)),
        "link": lambda: ("linkat", (here, arguments[0], here, arguments[1], 0)),
        "symlink": lambda: ("symlinkat", (arguments[0], here, arguments[1])),
        "chmod": lambda: ("fchmodat", (here, *arguments)),
        "chown": lambda: ("fchownat", (here, *arguments, 0)),
        "lchown": lambda: ("fchownat", (here, *arguments, 0x100)),
        "dup2": lambda: ("dup3", (*arguments, 0)),
        "pipe": lambda: ("pipe2", (*arguments, 0)),
        "eventfd": lambda: ("eventfd2", (*arguments, 0)),
        "epoll_create": lambda: ("epoll_create1", (0,)),
        "epoll_wait": lambda: ("epoll_pwait", (*arguments, 0, 8)),
    }[name]()
