"""The compiled TLB-fill hook: a guest page, looked up in the page table of emu.memory."""

import numba
from numba import types

from emu.memory import (
    EXECUTE,
    FAULT_ACCESS,
    FAULT_ADDRESS,
    FILLS,
    READ,
    WRITE,
    find_mapping,
)
from emu.native import address_of, load64, signed, store32, store64

FILL_READ, FILL_WRITE, FILL_FETCH = 16, 17, 18
"""Kinds of access, as the emulator passes them."""

_SIGNATURE = types.boolean(types.voidptr, types.uint64, types.int32, types.voidptr, types.voidptr)


@numba.cfunc(_SIGNATURE, cache=True)
def fill_tlb(engine: object, page: int, access: int, entry: object, user: object) -> bool:
    """Set entry = (uint64 physical, uint32 permissions); False is a fault of the guest.

    `user` is the address of the memory's header block.
    """
    header = address_of(user)
    result = address_of(entry)
    address = signed(page)
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
