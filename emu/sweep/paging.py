"""The TLB-fill hook of a sweep: no access to data ever faults, and every write is known.

On a path that no real run takes, pointers are junk. A page that is not mapped therefore
becomes one of a small pool; only fetches and a runaway stack fault. Pages that are written
are listed, so that the next function finds memory as the file has it.
"""

import numba
from numba import types

from emu.machine.paging import FILL_FETCH, FILL_WRITE
from emu.memory import (
    BUFFER,
    EXECUTE,
    FAULT_ACCESS,
    FAULT_ADDRESS,
    FILLS,
    PAGE,
    READ,
    WRITE,
    find_mapping,
)
from emu.native import address_of, load64, signed, store32, store64

# Words of the block.
HEADER, POOL, POOL_MASK, GUARD_LOW, GUARD_HIGH, DIRTY, DIRTY_COUNT, DIRTY_LIMIT, PRISTINE, WORDS = (
    range(10)
)

_SIGNATURE = types.boolean(types.voidptr, types.uint64, types.int32, types.voidptr, types.voidptr)


@numba.cfunc(_SIGNATURE, cache=True)
def fill_anything(engine: object, page: int, access: int, entry: object, user: object) -> bool:
    """Set entry = (uint64 physical, uint32 permissions); False is a fault.

    `user` is the address of a block of this module's words.
    """
    block = address_of(user)
    header = load64(block + 8 * HEADER)
    result = address_of(entry)
    address = signed(page)
    store64(header + 8 * FILLS, load64(header + 8 * FILLS) + 1)
    row = find_mapping(header, address)
    if row == 0:
        low = load64(block + 8 * GUARD_LOW)
        if access == FILL_FETCH or low <= address < load64(block + 8 * GUARD_HIGH):
            store64(header + 8 * FAULT_ADDRESS, address)
            store64(header + 8 * FAULT_ACCESS, signed(access))
            return False
        physical = load64(block + 8 * POOL) + (address & load64(block + 8 * POOL_MASK))
        permissions = READ | WRITE
    else:
        physical = load64(row + 16) + address - load64(row)
        permissions = load64(row + 24)
    needed = EXECUTE if access == FILL_FETCH else WRITE if access == FILL_WRITE else READ
    if permissions & needed == 0:
        store64(header + 8 * FAULT_ADDRESS, address)
        store64(header + 8 * FAULT_ACCESS, signed(access))
        return False
    if access == FILL_WRITE:
        count = load64(block + 8 * DIRTY_COUNT)
        if count >= load64(block + 8 * DIRTY_LIMIT):
            return False
        store64(load64(block + 8 * DIRTY) + 8 * count, physical)
        store64(block + 8 * DIRTY_COUNT, count + 1)
    else:
        # Until it is written to, so that the first write comes here, too.
        permissions &= ~WRITE
    if access != FILL_FETCH:
        permissions &= ~EXECUTE
    store64(result, physical)
    store32(result + 8, permissions)
    return True


@numba.njit(cache=True)
def restore_pages(block: int) -> int:
    """Give every page that was written its first content again; how many there were.

    The emulator must forget its translations afterwards.
    """
    buffer = load64(load64(block + 8 * HEADER) + 8 * BUFFER)
    pristine = load64(block + 8 * PRISTINE)
    count = load64(block + 8 * DIRTY_COUNT)
    for index in range(count):
        at = load64(load64(block + 8 * DIRTY) + 8 * index)
        for word in range(0, PAGE, 8):
            store64(buffer + at + word, load64(pristine + at + word))
    store64(block + 8 * DIRTY_COUNT, 0)
    return count
