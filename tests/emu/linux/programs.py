"""Tiny hand-assembled programs, and a process that runs them."""

import struct
from collections.abc import Sequence
from pathlib import Path

from arch import Arch, by_name
from emu.linux.process import Process
from emu.linux.program import alone
from emu.machine.engine import Engine
from emu.memory import Memory
from tests.emu.machine.elf_program import BASE, R, Segment, W, code_program

LIMIT = 64 << 20
DATA = BASE + 0x3000
READ_ONLY = BASE + 0x5000


def machine(name: str) -> Arch:
    """The machine of that name."""
    arch = by_name(name)
    assert arch is not None
    return arch


def make(
    folder: Path, arch: Arch, code: bytes, data: bytes = b"data", *, cpu: str = "",
    keys: tuple[int, ...] | None = None, arguments: Sequence[str] = (), stdin: bytes = b"",
) -> Process:  # fmt: skip
    """A process of a page of code, 8 KiB at DATA and a page at READ_ONLY."""
    program = code_program(
        arch,
        code,
        Segment(DATA, data, R | W, 0x2000, memsz=0x2000),
        Segment(READ_ONLY, b"const", R, 0x4000),
    )
    memory = Memory(LIMIT)
    engine = Engine(arch, memory, cpu, keys)
    return Process(alone(program.image(folder)), engine, memory, arguments, None, stdin, 1)


# ---- assemblers of the few instructions that the tests need


def x86_load(register: int, value: int) -> bytes:
    """``movabs $value, %register``; 0 rax, 2 rdx, 6 rsi, 7 rdi, 8 to 15 r8 to r15."""
    return bytes((0x48 | register >> 3, 0xB8 | register & 7)) + struct.pack("<Q", value % (1 << 64))


def arm_load(register: int, value: int) -> bytes:
    """``movz`` and three ``movk``."""
    words = [0xD2800000 | (value & 0xFFFF) << 5 | register]
    for half in (1, 2, 3):
        words.append(0xF2800000 | half << 21 | (value >> 16 * half & 0xFFFF) << 5 | register)
    return struct.pack("<4I", *words)


def z_load(register: int, value: int) -> bytes:
    """``iihf`` and ``iilf``."""
    value %= 1 << 64
    return struct.pack(">BBIBBI", 0xC0, register << 4 | 8, value >> 32, 0xC0, register << 4 | 9,
                       value & 0xFFFF_FFFF)  # fmt: skip


_ORDER = {
    "x86_64": (x86_load, 0, (7, 6, 2, 10, 8, 9), b"\x0f\x05"),
    "aarch64": (arm_load, 8, (0, 1, 2, 3, 4, 5), b"\x01\x00\x00\xd4"),
    "s390x": (z_load, 1, (2, 3, 4, 5, 6, 7), b"\x0a\x00"),
}


def call(arch: Arch, name: str, *arguments: int) -> bytes:
    """Code of one system call."""
    load, number, registers, enter = _ORDER[arch.name]
    code = load(number, arch.syscalls[name])
    for register, value in zip(registers, arguments, strict=False):
        code += load(register, value)
    return code + enter


def exit_with_result(arch: Arch) -> bytes:
    """``exit_group`` with the last call's result as status."""
    load, number, _, enter = _ORDER[arch.name]
    move = b"\x48\x89\xc7" if arch.name == "x86_64" else b""
    return move + load(number, arch.syscalls["exit_group"]) + enter
