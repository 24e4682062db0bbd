"""The same system calls on the host's kernel, as an ordinary user in an empty directory.

Steps are made of numbers, byte strings, results of earlier steps, and a buffer; what comes
back is the result of each and what it left in the buffer. Only where the host is of the
same machine as the guest are numbers of calls and structures equal.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from arch import by_name
from tests.emu.linux.caller import Caller

OWNER = 1000
ROOM_SIZE = 1 << 16
SAME_MACHINE = sys.platform == "linux" and platform.machine() == "x86_64"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The result of an earlier step."""

    step: int


@dataclass(frozen=True, slots=True)
class Room:
    """The address of the buffer, plus an offset."""

    offset: int = 0


Argument = int | bytes | Earlier | Room


@dataclass(frozen=True, slots=True)
class Step:
    """A system call, and how many bytes of the buffer to look at; -1: as many as it returns.

    `fill` goes into the buffer before.
    """

    name: str
    arguments: tuple[Argument, ...]
    look: int = 0
    fill: bytes = b""


Outcome = tuple[int, bytes]


def run_natively(steps: list[Step], folder: Path) -> list[Outcome]:
    """What the host answers; the calls are made in `folder`, two levels below one of our own."""
    machine = by_name("x86_64")
    assert machine is not None
    for each in (folder, folder.parent, folder.parent.parent):
        each.chmod(0o755)
        if os.geteuid() == 0:
            os.chown(each, OWNER, OWNER)
    given = [
        [machine.syscalls[step.name], [_plain(each) for each in step.arguments], step.look,
         step.fill.hex()]
        for step in steps
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-I", "-c", _CHILD], input=json.dumps(given), text=True, cwd=folder,
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    return [(result, bytes.fromhex(data)) for result, data in json.loads(done.stdout)]


def run_here(steps: list[Step], caller: Caller) -> list[Outcome]:
    """What the guest's kernel answers."""
    outcomes: list[Outcome] = []
    for step in steps:
        caller.memory.write(caller.room, step.fill.ljust(ROOM_SIZE, b"\0"))
        arguments = [_here(each, caller, outcomes) for each in step.arguments]
        result = caller(step.name, *arguments)
        outcomes.append((result, caller.bytes(max(result, 0) if step.look < 0 else step.look)))
    return outcomes


def _plain(argument: Argument) -> object:
    if isinstance(argument, bytes):
        return {"bytes": argument.hex()}
    if isinstance(argument, Earlier):
        return {"step": argument.step}
    return {"room": argument.offset} if isinstance(argument, Room) else argument


def _here(argument: Argument, caller: Caller, outcomes: list[Outcome]) -> int | bytes:
    if isinstance(argument, Earlier):
        return outcomes[argument.step][0]
    return caller.room + argument.offset if isinstance(argument, Room) else argument


_CHILD = f"""
import ctypes, json, os, sys
os.umask(0o022)
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
room = ctypes.create_string_buffer({ROOM_SIZE})
outcomes = []
steps = json.load(sys.stdin)
os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
said, sys.stdout = os.dup(1), None
os.dup2(said, 1000)
os.closerange(3, 1000)
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid({OWNER})
    os.setuid({OWNER})
for number, arguments, look, fill in steps:
    ctypes.memset(room, 0, {ROOM_SIZE})
    ctypes.memmove(room, bytes.fromhex(fill), len(fill) // 2)
    words = []
    for each in arguments:
        if isinstance(each, dict):
            if "bytes" in each:
                words.append(ctypes.c_char_p(bytes.fromhex(each["bytes"])))
                continue
            each = outcomes[each["step"]][0] if "step" in each else (
                ctypes.addressof(room) + each["room"])
        words.append(ctypes.c_long(each - (1 << 64) if each >> 63 == 1 else each))
    result = libc.syscall(ctypes.c_long(number), *words)
    if result == -1:
        result = -ctypes.get_errno()
    size = max(result, 0) if look < 0 else look
    outcomes.append((result, room.raw[:size].hex()))
os.write(1000, json.dumps(outcomes).encode())
"""
