"""Where the emulator keeps the guest's registers in host memory, found by trial.

A compiled hook that loads a register from there saves a call through the emulator's
interface for each.
"""

import itertools
import os
import struct
from collections.abc import Callable, Mapping

import numpy as np

_trials = itertools.count(1)
_HEAD, _BLOCK = 0x1000, 0x10000
"""Bytes of the emulator's object that are searched for pointers, and behind each of these."""
_STEP = 0x1010
"""Between the values of a trial."""
_pointers: set[int] = set()
"""Where the emulator's object had the right pointer before in this process: tried first."""


def find_registers(
    handle: int, saved: Mapping[int, int], write: Callable[[Mapping[int, int]], None]
) -> dict[int, int]:
    """Host addresses of the registers by DWARF number; empty if they cannot be found.

    Distinct values are written to all registers, looked for in the CPU's object, changed,
    and looked at again. Anything unexpected means no addresses.

    Args:
        handle: address of the emulator's object.
        saved: the values that the registers have, and keep.
        write: sets all registers.
    """
    found: dict[int, int] = {}
    memory = os.open("/proc/self/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        for _ in range(2):
            # Values that no other engine, and no trial before, has left in memory.
            seed = 0x5AA5_0000_0000_0000 + (next(_trials) << 20)
            values = {dwarf: seed + _STEP * (dwarf + 1) for dwarf in saved}
            write(values)
            found = found or _search(memory, handle, values)
            if not found or not _hold(memory, found, values):
                return {}
    finally:
        os.close(memory)
        write(saved)
    return found


def _search(memory: int, handle: int, values: Mapping[int, int]) -> dict[int, int]:
    wanted = {value: dwarf for dwarf, value in values.items()}
    low, high = min(wanted), max(wanted)
    head = _peek(memory, handle, _HEAD)
    for at in (*_pointers, *range(0, len(head) - 7, 8)):
        (candidate,) = struct.unpack_from("=Q", head, at)
        if candidate < _BLOCK or candidate >> 47:
            continue
        block = _peek(memory, candidate, _BLOCK)
        words = np.frombuffer(block, np.uint64, len(block) // 8)
        places = np.flatnonzero((words >= low) & (words <= high))
        pairs = zip(words[places].tolist(), (candidate + 8 * places).tolist(), strict=True)
        found = {wanted[value]: address for value, address in pairs if value in wanted}
        # Each exactly once.
        if len(found) == len(places) == len(wanted):
            _pointers.add(at)
            return found
    return {}


def _hold(memory: int, places: Mapping[int, int], values: Mapping[int, int]) -> bool:
    """Each place holds its value."""
    start = min(places.values())
    block = _peek(memory, start, max(places.values()) + 8 - start)
    return all(
        block[address - start : address - start + 8] == struct.pack("=Q", values[dwarf])
        for dwarf, address in places.items()
    )


def _peek(memory: int, address: int, size: int) -> bytes:
    """Host memory as far as it is readable; never a crash on a wild pointer.

    Args:
        memory: the open file of this process's memory.
    """
    while size >= 0x1000:
        try:
            return os.pread(memory, size, address)
        except (OSError, OverflowError):
            size >>= 1
    try:
        return os.pread(memory, size, address)
    except (OSError, OverflowError):
        return b""
