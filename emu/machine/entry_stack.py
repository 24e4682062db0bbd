"""The stack of a new process: strings, argv, envp and the auxiliary vector.

As Linux lays it out (fs/exec.c, create_elf_tables in fs/binfmt_elf.c), 8 MiB and fully
mapped. The space below it stays free, so that overflow faults.

    high  = layout.stack_top
            8 zero bytes
            name of the program (AT_EXECFN)
            environment strings, argument strings
            platform (AT_PLATFORM)
            16 random bytes (AT_RANDOM)
            padding to 16 bytes
            AT_NULL, 0
            ...
            auxiliary vector: (type, value) words
            0
            envp[]
            0
            argv[]
    SP ->   argc                      a multiple of 16 on every machine
            ...
    low   = high - 8 MiB
            free: the guard gap
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from random import Random

from arch import Arch
from emu.errors import ImageError, MemoryFault, UsageError
from emu.machine.loader import Loaded
from emu.memory import EXECUTE, READ, WRITE, Memory

STACK_SIZE = 8 << 20
LARGEST_STRINGS = STACK_SIZE // 4
"""Bytes of arguments and environment, pointers included (Linux: a quarter of the stack)."""
LARGEST_STRING = 32 * 4096
"""Bytes of one of them (Linux MAX_ARG_STRLEN)."""
_ALIGNMENT = 16
_PROGRAM_HEADER = 56
_CLOCK_TICKS = 100


class Aux(IntEnum):
    """Entries of the auxiliary vector (Linux include/uapi/linux/auxvec.h)."""

    NULL = 0
    PHDR = 3
    PHENT = 4
    PHNUM = 5
    PAGESZ = 6
    BASE = 7
    FLAGS = 8
    ENTRY = 9
    UID = 11
    EUID = 12
    GID = 13
    EGID = 14
    PLATFORM = 15
    HWCAP = 16
    CLKTCK = 17
    SECURE = 23
    RANDOM = 25
    HWCAP2 = 26
    EXECFN = 31


@dataclass(frozen=True, slots=True)
class EntryStack:
    """A stack that is ready; the initial stack pointer is `pointer`."""

    low: int
    high: int
    pointer: int
    auxiliary: tuple[tuple[Aux, int], ...]


def build_stack(
    arch: Arch,
    memory: Memory,
    loaded: Loaded,
    *,
    program: bytes,
    base: int = 0,
    arguments: Sequence[bytes],
    environment: Sequence[bytes],
    owner: int,
    seed: int,
) -> EntryStack:
    """Map the stack and write what a program finds there at its entry.

    Args:
        arch: the machine.
        memory: gets the stack.
        loaded: the program, for the auxiliary vector.
        program: the guest's name of it.
        base: where the interpreter is, or 0.
        arguments: argv.
        environment: ``NAME=VALUE`` strings.
        owner: user and group.
        seed: of the random bytes.

    Raises:
        UsageError: the strings are too long, or one has a zero byte.
        ImageError: the memory limit leaves no room.
    """
    _check(program, arguments, environment)
    high = arch.layout.stack_top
    low = high - STACK_SIZE
    allowed = READ | WRITE | (EXECUTE if loaded.executable_stack else 0)
    try:
        memory.map(low, STACK_SIZE, allowed)
    except MemoryFault as fault:
        raise ImageError(f"no room for the stack: {fault}") from fault
    writer = _Downwards(memory, high - 8)
    name = writer.string(program)
    environment_at = [writer.string(text) for text in reversed(environment)][::-1]
    arguments_at = [writer.string(text) for text in reversed(arguments)][::-1]
    platform = writer.string(arch.layout.platform)
    random = writer.put(Random(f"auxv {seed}").randbytes(16))
    auxiliary = (
        (Aux.HWCAP, arch.layout.hwcap),
        (Aux.PAGESZ, arch.layout.page_size),
        (Aux.CLKTCK, _CLOCK_TICKS),
        (Aux.PHDR, loaded.phdr),
        (Aux.PHENT, _PROGRAM_HEADER),
        (Aux.PHNUM, loaded.phnum),
        (Aux.BASE, base),
        (Aux.FLAGS, 0),
        (Aux.ENTRY, loaded.entry),
        (Aux.UID, owner),
        (Aux.EUID, owner),
        (Aux.GID, owner),
        (Aux.EGID, owner),
        (Aux.SECURE, 0),
        (Aux.RANDOM, random),
        (Aux.HWCAP2, arch.layout.hwcap2),
        (Aux.EXECFN, name),
        (Aux.PLATFORM, platform),
        (Aux.NULL, 0),
    )
    words = [len(arguments), *arguments_at, 0, *environment_at, 0]
    words += [word for entry in auxiliary for word in entry]
    order = "<" if arch.byte_order == "little" else ">"
    pointer = (writer.address - 8 * len(words)) & -_ALIGNMENT
    memory.write(pointer, struct.pack(f"{order}{len(words)}Q", *words))
    return EntryStack(low, high, pointer, auxiliary)


def _check(program: bytes, arguments: Sequence[bytes], environment: Sequence[bytes]) -> None:
    strings = [program, *arguments, *environment]
    if any(b"\0" in text for text in strings):
        raise UsageError("an argument or environment string contains a zero byte")
    if max(map(len, strings)) >= LARGEST_STRING:
        raise UsageError(f"an argument or environment string has {LARGEST_STRING} bytes or more")
    if sum(len(text) + 1 + 8 for text in strings) > LARGEST_STRINGS:
        raise UsageError(f"arguments and environment are over {LARGEST_STRINGS} bytes")


class _Downwards:
    """Writes from an address towards lower ones."""

    def __init__(self, memory: Memory, address: int) -> None:
        self._memory = memory
        self.address = address

    def put(self, data: bytes) -> int:
        """Put bytes below everything so far; their address."""
        self.address -= len(data)
        self._memory.write(self.address, data)
        return self.address

    def string(self, text: bytes) -> int:
        """Put a zero-terminated string; its address."""
        return self.put(text + b"\0")
