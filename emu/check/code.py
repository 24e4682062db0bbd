"""What stands at an address: module range, record, kind of instruction, function."""

import numba

from emu.check import state as s
from emu.memory import BUFFER, WRITE, find_mapping
from emu.native import load8, load64, store8, store32, store64
from emu.truth.classify import classify
from emu.unwind.lookup import lookup


@numba.njit(cache=True)
def find_range(state: int, pc: int) -> int:
    """The range that holds the PC, or 0."""
    span = load64(state + 8 * s.RANGES)
    for _ in range(load64(state + 8 * s.RANGE_COUNT)):
        if load64(span + s.R_START) <= pc < load64(span + s.R_END):
            store64(state + 8 * s.RANGE, span)
            return span
        span += s.RANGE_BYTES
    return 0


@numba.njit(cache=True)
def record_at(span: int, pc: int) -> int:
    """The record of an address in a range."""
    return load64(span + s.R_RECORDS) + s.RECORD_BYTES * (
        (pc - load64(span + s.R_START)) >> load64(span + s.R_SHIFT)
    )


@numba.njit(cache=True)
def function_at(span: int, address: int) -> int:
    """Address of the entry (start, end, owner) that holds a link-time address, or 0."""
    functions = load64(span + s.R_FUNCTIONS)
    low = 0
    high = load64(span + s.R_FUNCTION_COUNT)
    while low < high:
        middle = (low + high) >> 1
        if load64(functions + s.FUNCTION_BYTES * middle) <= address:
            low = middle + 1
        else:
            high = middle
    function = functions + s.FUNCTION_BYTES * (low - 1)
    if low == 0 or address >= load64(function + 8):
        return 0
    return function


@numba.njit(cache=True)
def kind_at(state: int, pc: int) -> int:
    """The InstructionKind of what stands at an address; PLAIN where nothing does."""
    mapping = find_mapping(load64(state + 8 * s.MEMORY), pc)
    if mapping == 0:
        return 0
    code = load64(load64(state + 8 * s.MEMORY) + 8 * BUFFER) + load64(mapping + 16)
    return classify(load64(state + 8 * s.RECOGNISER), code + pc - load64(mapping))


@numba.njit(cache=True)
def prepare(state: int, span: int, record: int, pc: int, size: int) -> int:
    """First execution of an instruction: what it is, its function, and its row.

    Where memory can be written the instruction may be another one the next time, so what
    is found there is not kept.
    """
    address = pc - load64(span + s.R_BIAS)
    store32(record + s.C_CODE, lookup(load64(span + s.R_TABLE), address))
    store8(record + s.C_KIND, kind_at(state, pc))
    store8(record + s.C_SIZE, size)
    flags = load8(record + s.C_FLAGS)
    function = function_at(span, address)
    owner = 0
    if function:
        owner = load64(function + 16)
        if load64(function) == address:
            flags |= s.ENTRY
    store32(record + s.C_OWNER, owner)
    mapping = find_mapping(load64(state + 8 * s.MEMORY), pc)
    if mapping and load64(mapping + 24) & WRITE == 0:
        flags |= s.PREPARED
    store8(record + s.C_FLAGS, flags)
    return flags
