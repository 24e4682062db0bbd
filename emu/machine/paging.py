"""The compiled TLB-fill hook: a guest page, looked up in the page table of emu.memory."""

import numba
import numpy as np
import numpy.typing as npt
from numba import types

from emu.memory import (
    EXECUTE,
    FAULT_ACCESS,
    FAULT_ADDRESS,
    FILLS,
    READ,
    WRITE,
    Memory,
    find_mapping,
)
from emu.native import address_of, load64, signed, store32, store64

FILL_READ, FILL_WRITE, FILL_FETCH = 16, 17, 18
"""Kinds of access, as the emulator passes them."""

_SIGNATURE = types.boolean(types.voidptr, types.uint64, types.int32, types.voidptr, types.voidptr)


@numba.cfunc(_SIGNATURE, cache=True)
def fill_tlb(engine: object, page: int, access: int, entry: object, user: object) -> bool:
    """Set entry = (uint64 physical, uint32 permissions); False is a fault of the guest.

    `user` is the address of a `fill_block`.
    """
    header = load64(address_of(user))
    result = address_of(entry)
    address = signed(page)
    if address == load64(address_of(user) + 8) and access == FILL_READ:
        store64(result, 0)
        store32(result + 8, READ)
        return True
    store64(header + 8 * FILLS, load64(header + 8 * FILLS) + 1)
    row = find_mapping(header, address)
    permissions = 0 if row == 0 else load64(row + 24)
    needed = READ if access == FILL_READ else WRITE if access == FILL_WRITE else EXECUTE
    if permissions & needed == 0:
        store64(header + 8 * FAULT_ADDRESS, address)
        store64(header + 8 * FAULT_ACCESS, signed(access))
        return False
    # The emulator sends every store to an executable page down a path ten times as slow.
    # One page gets W or X, whichever was asked for; the other access fills it anew.
    if permissions & (WRITE | EXECUTE) == WRITE | EXECUTE:
        permissions &= ~WRITE if access == FILL_FETCH else ~EXECUTE
    store64(result, load64(row + 16) + address - load64(row))
    store32(result + 8, permissions)
    return True


def fill_block(memory: Memory, kernel_page: int | None = None) -> npt.NDArray[np.int64]:
    """What `fill_tlb` needs to know; it must live as long as the engine.

    Args:
        memory: the address space.
        kernel_page: an address of the kernel at which the CPU finds its own tables: the
            buffer's first page, which no mapping of the guest has.
    """
    none = 1  # No address of a page.
    page = none if kernel_page is None else kernel_page - (kernel_page >> 63 << 64)
    return np.array([memory.header.ctypes.data, page], np.int64)
