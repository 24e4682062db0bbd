"""What stands at an address: module range, record, kind of instruction, function, word.

Also the calls that are made by a jump; and the events that are noted of an address.
"""

import numba

from emu.check import state as s
from emu.memory import BUFFER, WRITE, find_mapping, host_address
from emu.native import call_reg_read, load8, load32, load64, store8, store32, store64, swap64
from emu.truth import shadow as t
from emu.truth.classify import add_frame, classify
from emu.unwind.lookup import lookup
from emu.unwind.step import CFA, DONE, FP, RA


@numba.njit(cache=True)
def find_range(state: int, pc: int) -> int:
    """The range that holds the PC, or 0."""
    ranges = load64(state + 8 * s.RANGES)
    low = 0
    high = load64(state + 8 * s.RANGE_COUNT)
    while low < high:
        middle = (low + high) >> 1
        if load64(ranges + s.RANGE_BYTES * middle + s.R_START) <= pc:
            low = middle + 1
        else:
            high = middle
    span = ranges + s.RANGE_BYTES * (low - 1)
    if low == 0 or pc >= load64(span + s.R_END):
        return 0
    store64(state + 8 * s.RANGE, span)
    return span


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


@numba.njit(cache=True, forceinline=True)
def frame_at(truth: int, depth: int) -> int:
    """Address of frame `depth` - 1 of the current stack."""
    return load64(truth + 8 * t.FRAMES) + t.FRAME_BYTES * (depth - 1)


@numba.njit(cache=True)
def read_register(state: int, place: int, number: int) -> int:
    """A register of the live machine: from host memory, or through the emulator."""
    if place:
        return load64(place)
    result = load64(state + 8 * s.RESULT)
    call_reg_read(load64(state + 8 * s.REG_READ), load64(state + 8 * s.ENGINE), number, result)
    return load64(result)


@numba.njit(cache=True)
def entered_with(state: int, sp: int) -> int:
    """The return address of a function that is entered with this SP; -1: it cannot be read."""
    truth = load64(state + 8 * s.TRUTH)
    if load64(truth + 8 * t.RA_IN_REGISTER):
        register = load64(truth + 8 * t.RA_NUMBER)
        return read_register(
            state,
            load64(load64(state + 8 * s.REGISTER_PLACES) + 8 * register),
            load64(load64(state + 8 * s.REGISTER_NUMBERS) + 8 * register),
        )
    slot = host_address(load64(state + 8 * s.MEMORY), sp)
    if slot == 0:
        return -1
    return swap64(load64(slot)) if load64(state + 8 * s.SWAP) else load64(slot)


@numba.njit(cache=True)
def push_linked(state: int, sp: int, ra: int) -> int:
    """A function is entered by a jump out of the one that it is to return to: that is a call.

    Its return address was stored or loaded by other means. It is certain (2) where that is
    the address behind the jump. Elsewhere in the function that jumps it may be what a call
    has left in the register, unless SP is that of a function that has no frame (1). At the
    bottom of the stack it may be in any function; but a register may hold there what a call
    has left, to where that has returned, or an argument, which on s390x is a function to
    call at exit (zSeries ABI, process initialization).
    """
    truth = load64(state + 8 * s.TRUTH)
    cfa = sp + load64(truth + 8 * t.ENTRY_CFA)
    depth = load64(truth + 8 * t.DEPTH)
    owner = load64(truth + 8 * t.PREVIOUS_OWNER)
    behind = ra != 0 and ra == load64(truth + 8 * t.NEXT_PC)
    if not behind:
        frame = frame_at(truth, depth)
        if depth > 0 and (load64(frame + t.CFA) != cfa or load64(frame + t.RA) == ra):
            return 0
        span = find_range(state, ra)
        function = function_at(span, ra - load64(span + s.R_BIAS)) if span else 0
        if function == 0:
            return 0
        if depth > 0 and load64(function + 16) != owner:
            return 0
        if depth == 0 and load64(truth + 8 * t.RA_IN_REGISTER):
            entry = load64(function) == ra - load64(span + s.R_BIAS)
            if entry or load64(record_at(span, ra) + s.C_COUNT) > 0:
                return 0
    store64(truth + 8 * t.CALLS, load64(truth + 8 * t.CALLS) + 1)
    add_frame(truth, ra, cfa, load64(truth + 8 * t.PREVIOUS_FP), owner)
    return 2 if behind else 1


@numba.njit(cache=True)
def note(state: int, pc: int, size: int, key: int, code: int, depth: int, computed: int) -> None:
    """Count an event, of frame `depth` - 1 if there is one."""
    frame = frame_at(load64(state + 8 * s.TRUTH), depth) if depth > 0 else 0
    note_frame(state, pc, size, key, code, frame, computed, load64(state + 8 * s.EXECUTED))


@numba.njit(cache=True)
def note_frame(
    state: int, pc: int, size: int, key: int, code: int, frame: int, computed: int, executed: int
) -> None:
    """Count an event; the first of its kind keeps what was wanted and what was got.

    Args:
        frame: what was wanted, or 0.
        computed: there is something that was got.
        executed: number of the instruction.
    """
    heads = load64(state + 8 * s.HEADS)
    head = heads + 4 * (((pc ^ (key << 20)) * -7046029254386353131 >> 48) & (s.HEAD_COUNT - 1))
    events = load64(state + 8 * s.EVENTS)
    number = load32(head)
    while number:
        event = events + s.EVENT_BYTES * number
        if load64(event + s.E_PC) == pc and load64(event + s.E_KEY) == key:
            store64(event + s.E_COUNT, load64(event + s.E_COUNT) + 1)
            return
        number = load64(event + s.E_NEXT)
    number = load64(state + 8 * s.EVENT_COUNT) + 1
    if number >= load64(state + 8 * s.EVENT_CAPACITY):
        store64(state + 8 * s.EVENTS_LOST, load64(state + 8 * s.EVENTS_LOST) + 1)
        return
    store64(state + 8 * s.EVENT_COUNT, number)
    event = events + s.EVENT_BYTES * number
    store64(event + s.E_PC, pc)
    store64(event + s.E_KEY, key)
    store64(event + s.E_COUNT, 1)
    store64(event + s.E_NEXT, load32(head))
    store64(event + s.E_ROW, code)
    store64(event + s.E_SIZE, size)
    store64(event + s.E_FIRST, executed)
    store32(head, number)
    result = load64(state + 8 * s.RESULT)
    store64(event + s.E_DONE, (load64(result + DONE) if computed else 0) | (frame != 0) << 8)
    if computed:
        store64(event + s.E_GOT_CFA, load64(result + CFA))
        store64(event + s.E_GOT_RA, load64(result + RA))
        store64(event + s.E_GOT_FP, load64(result + FP))
    if frame:
        store64(event + s.E_WANT_CFA, load64(frame + t.CFA))
        store64(event + s.E_WANT_RA, load64(frame + t.RA))
        store64(event + s.E_WANT_FP, load64(frame + t.FP))


@numba.njit(cache=True)
def count(counters: int, verdict: int) -> None:
    """One more of a verdict."""
    store64(counters + 8 * verdict, load64(counters + 8 * verdict) + 1)
