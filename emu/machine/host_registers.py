"""Where the emulator keeps the guest's registers in host memory, found by trial.

A compiled hook that loads a register from there saves a call through the emulator's
interface for each.
"""

import itertools
import os
import struct
from collections.abc import Callable, Mapping

_trials = itertools.count(1)
_HEAD, _BLOCK = 0x1000, 0x10000
"""Bytes of the emulator's object that are searched for pointers, and behind each of these."""


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
    try:
        for _ in range(2):
            # Values that no other engine, and no trial before, has left in memory.
            seed = 0x5AA5_0000_0000_0000 + (next(_trials) << 20)
            values = {dwarf: seed + 0x1010 * (dwarf + 1) for dwarf in saved}
            write(values)
            found = found or _search(handle, values)
            if not found or any(_peek(a, 8) != _word(values[d]) for d, a in found.items()):
                return {}
    finally:
        write(saved)
    return found


def _search(handle: int, values: Mapping[int, int]) -> dict[int, int]:
    head = _peek(handle, _HEAD)
    for at in range(0, len(head) - 7, 8):
        candidate = struct.unpack_from("=Q", head, at)[0]
        if candidate < _BLOCK or candidate >> 47:
            continue
        block = _peek(candidate, _BLOCK)
        # Nearly all candidates lack the first value already.
        if all(block.count(_word(value)) == 1 for value in values.values()):
            return {d: candidate + block.find(_word(value)) for d, value in values.items()}
    return {}


def _word(value: int) -> bytes:
    return struct.pack("=Q", value)


def _peek(address: int, size: int) -> bytes:
    """Host memory as far as it is readable; never a crash on a wild pointer."""
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        while size >= 0x1000:
            try:
                return os.pread(memory.fileno(), size, address)
            except (OSError, OverflowError):
                size >>= 1
        try:
            return os.pread(memory.fileno(), size, address)
        except (OSError, OverflowError):
            return b""
