"""The machine's state kept and brought back: the work list, and the blocks behind us.

Kept are the registers that rows may name and the live part of the stack. Flags are not: no
branch of the code is ever evaluated.
"""

import ctypes

import numba

from emu.check import state as s
from emu.native import call_reg_read, load8, load64, store64
from emu.sweep import state as w


@numba.njit(cache=True)
def get_register(state: int, number: int) -> int:
    """A register by DWARF number."""
    place = load64(load64(state + 8 * s.REGISTER_PLACES) + 8 * number)
    if place:
        return load64(place)
    scratch = state + 8 * w.SCRATCH
    call_reg_read(
        load64(state + 8 * s.REG_READ), load64(state + 8 * s.ENGINE),
        load64(load64(state + 8 * s.REGISTER_NUMBERS) + 8 * number), scratch,
    )  # fmt: skip
    return load64(scratch)


@numba.njit(cache=True)
def set_register(state: int, number: int, value: int) -> None:
    """Change a register by DWARF number."""
    place = load64(load64(state + 8 * s.REGISTER_PLACES) + 8 * number)
    if place:
        store64(place, value)
        return
    scratch = state + 8 * w.SCRATCH
    store64(scratch, value)
    call_reg_read(
        load64(state + 8 * w.WRITE_PC), load64(state + 8 * s.ENGINE),
        load64(load64(state + 8 * s.REGISTER_NUMBERS) + 8 * number), scratch,
    )  # fmt: skip


@numba.njit(cache=True)
def redirect(state: int, pc: int) -> None:
    """Go on at another address instead of executing the instruction at hand."""
    scratch = state + 8 * w.SCRATCH
    store64(scratch, pc)
    call_reg_read(
        load64(state + 8 * w.WRITE_PC), load64(state + 8 * s.ENGINE),
        load64(state + 8 * w.PC_NUMBER), scratch,
    )  # fmt: skip


@numba.njit(cache=True)
def _copy(source: int, target: int, size: int) -> None:
    for at in range(0, size, 8):
        store64(target + at, load64(source + at))


@numba.njit(cache=True)
def keep(state: int, item: int) -> int:
    """Write registers and stack into an item; the address behind it."""
    sp = get_register(state, load64(state + 8 * w.SP_NUMBER))
    high = load64(state + 8 * w.ENTRY_SP) + w.ABOVE
    low = (sp - w.BELOW) & -8
    if not load64(state + 8 * w.STACK_LOW) <= low <= high:
        low = high - w.HIGH_PART
    low_size = high - low
    high_size = 0
    if low_size > w.LOW_PART + w.HIGH_PART:
        low_size = w.LOW_PART
        high_size = w.HIGH_PART
    store64(item + w.I_LOW, low)
    store64(item + w.I_LOW_SIZE, low_size)
    store64(item + w.I_HIGH, high - high_size)
    store64(item + w.I_HIGH_SIZE, high_size)
    at = item + w.I_REGISTERS
    numbers = load64(state + 8 * w.ALL)
    for index in range(load64(state + 8 * w.ALL_COUNT)):
        store64(at, get_register(state, load8(numbers + index)))
        at += 8
    host = load64(state + 8 * w.STACK_HOST) - load64(state + 8 * w.STACK_LOW)
    _copy(host + low, at, low_size)
    at += low_size
    _copy(host + high - high_size, at, high_size)
    return at + high_size


@numba.njit(cache=True)
def bring_back(state: int, item: int) -> None:
    """Set registers and stack to what an item holds."""
    at = item + w.I_REGISTERS
    numbers = load64(state + 8 * w.ALL)
    for index in range(load64(state + 8 * w.ALL_COUNT)):
        set_register(state, load8(numbers + index), load64(at))
        at += 8
    host = load64(state + 8 * w.STACK_HOST) - load64(state + 8 * w.STACK_LOW)
    _copy(at, host + load64(item + w.I_LOW), load64(item + w.I_LOW_SIZE))
    at += load64(item + w.I_LOW_SIZE)
    _copy(at, host + load64(item + w.I_HIGH), load64(item + w.I_HIGH_SIZE))


@numba.njit(cache=True)
def push(state: int, pc: int, function: int, branch: int, tag: int) -> None:
    """A place to go on at later, with the machine as it stands.

    Args:
        state: the state block.
        pc, function: the place and its function's number.
        branch: address of the instruction that leads there, for the record of decisions.
        tag: how.
    """
    item = load64(state + 8 * w.ITEMS)
    if item + w.ITEM_LIMIT > load64(state + 8 * w.ITEMS_END):
        store64(state + 8 * w.DROPPED, load64(state + 8 * w.DROPPED) + 1)
        return
    oldest = load64(state + 8 * w.ORDER) == w.OLDEST
    if oldest and load64(state + 8 * w.TOP):
        store64(load64(state + 8 * w.LAST_ITEM) + w.I_PREVIOUS, item)
        store64(item + w.I_PREVIOUS, 0)
    else:
        store64(item + w.I_PREVIOUS, load64(state + 8 * w.TOP))
        store64(state + 8 * w.TOP, item)
    store64(state + 8 * w.LAST_ITEM, item)
    store64(item + w.I_PC, pc)
    store64(item + w.I_FUNCTION, function)
    store64(item + w.I_CANDIDATE, load64(state + 8 * w.CANDIDATE))
    store64(item + w.I_HISTORY, load64(state + 8 * w.HISTORY))
    store64(item + w.I_TAG, tag)
    node = load64(state + 8 * w.NODE_COUNT) + 1
    if node < load64(state + 8 * w.NODE_CAPACITY):
        store64(state + 8 * w.NODE_COUNT, node)
        store64(load64(state + 8 * w.NODES) + 16 * node, branch)
        store64(load64(state + 8 * w.NODES) + 16 * node + 8, load64(state + 8 * w.NODE))
    else:
        node = load64(state + 8 * w.NODE)
    store64(item + w.I_NODE, node)
    store64(state + 8 * w.ITEMS, keep(state, item))


@numba.njit(cache=True)
def pop(state: int) -> int:
    """Take up the last item: the machine is as it was there. Its address, or 0: none is left."""
    item = load64(state + 8 * w.TOP)
    if item == 0:
        return 0
    store64(state + 8 * w.TOP, load64(item + w.I_PREVIOUS))
    if load64(state + 8 * w.ORDER) != w.OLDEST:
        store64(state + 8 * w.ITEMS, item)
    bring_back(state, item)
    candidate = load64(item + w.I_CANDIDATE)
    store64(state + 8 * w.CANDIDATE, candidate)
    store64(state + 8 * w.MODE, w.TAINTED if candidate else w.CLEAN)
    store64(state + 8 * w.CURRENT, load64(item + w.I_FUNCTION))
    store64(state + 8 * w.NODE, load64(item + w.I_NODE))
    store64(state + 8 * w.TAG, load64(item + w.I_TAG))
    store64(state + 8 * w.HISTORY, load64(item + w.I_HISTORY))
    store64(state + 8 * w.NEW_BLOCK, 1)
    store64(state + 8 * w.RECENT_COUNT, 0)
    store64(state + 8 * w.FREE_LEFT, 0)
    return load64(item + w.I_PC)


@numba.njit(cache=True)
def keep_block(state: int, pc: int) -> None:
    """Remember the machine at the start of a block; indirect jumps are looked at from there."""
    item = load64(state + 8 * w.HISTORY_NEXT)
    if item + w.ITEM_LIMIT > load64(state + 8 * w.HISTORY_END):
        store64(state + 8 * w.DROPPED, load64(state + 8 * w.DROPPED) + 1)
        return
    store64(item + w.I_PREVIOUS, load64(state + 8 * w.HISTORY))
    store64(item + w.I_PC, pc)
    store64(state + 8 * w.HISTORY_NEXT, keep(state, item))
    store64(state + 8 * w.HISTORY, item)


def peek(address: int) -> int:
    """The word at a host address, for Python."""
    return ctypes.c_int64.from_address(address).value


def poke(address: int, value: int) -> None:
    """Store a word at a host address, for Python."""
    ctypes.c_int64.from_address(address).value = value
