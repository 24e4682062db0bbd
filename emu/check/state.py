"""The layout of the blocks that the compiled check works on."""

import mmap

import numpy as np
import numpy.typing as npt

# Words of the state block.
(
    ENGINE, STOP, REG_READ, MEMORY, SWAP, TRUTH, RECOGNISER, RETURN_BACK, EXECUTED, LIMIT, REPLAY,
    RANGE, RANGES, RANGE_COUNT, SP_PLACE, FP_PLACE, SP_NUMBER, FP_NUMBER, REGISTERS,
    REGISTER_PLACES, REGISTER_NUMBERS, RA_REGISTER, VERDICTS, CALLER_VERDICTS, EVENTS, EVENT_COUNT,
    EVENT_CAPACITY, EVENTS_LOST, HEADS, RESULT, HITS, HIT_WANTED, HIT_STOPPED, CLOCK_READ,
    MEMO_ROW, MEMO_FP, MEMO_ANY_FP, MEMO_RA_PLACE, MEMO_RA, MEMO_FP_PLACE, MEMO_SAVED_FP,
    MEMO_CHANGES, ZERO, WINDOW_END, SIGNS, SEEN_COUNT, SEEN,
) = range(47)  # fmt: skip

# A step that was seen while the window was open (emu.truth.shadow): its verdict comes later.
V_PC, V_SIZE, V_CODE, V_ROW, V_FOUND, V_NUMBER, V_RESULT = range(0, 56, 8)
SEEN_BYTES = V_RESULT + 40
MOST_SEEN = 128
WORDS = SEEN + MOST_SEEN * SEEN_BYTES // 8

# A range of executable module memory.
(
    R_START, R_END, R_RECORDS, R_SHIFT, R_BIAS, R_TABLE, R_ROWS, R_FUNCTIONS, R_FUNCTION_COUNT,
) = range(0, 72, 8)  # fmt: skip
RANGE_BYTES = 72
FUNCTION_BYTES = 24

# A record: what is known of the instruction at one place.
(
    C_COUNT, C_CODE, C_CALLER_CODE, C_KIND, C_FLAGS, C_SIZE, C_OWNER, C_CALLS,
) = (0, 8, 12, 16, 17, 18, 20, 24)  # fmt: skip
RECORD_BYTES = 32
PREPARED, ENTRY, BREAK, CALLER_KNOWN = 1, 2, 4, 8

# An event: an execution whose verdict is neither exact nor fixed by the address alone.
(
    E_PC, E_KEY, E_COUNT, E_NEXT, E_ROW, E_DONE, E_WANT_CFA, E_WANT_RA, E_WANT_FP, E_GOT_CFA,
    E_GOT_RA, E_GOT_FP, E_SIZE, E_FIRST,
) = range(0, 112, 8)  # fmt: skip
EVENT_BYTES = 112
EVENT_CAPACITY_DEFAULT = 1 << 22
EVENT = np.dtype(
    {
        "names": [
            "pc", "key", "count", "next", "row", "done", "want_cfa", "want_ra", "want_fp",
            "got_cfa", "got_ra", "got_fp", "size", "first",
        ],
        "formats": ["<i8"] * 14,
        "offsets": list(range(0, EVENT_BYTES, 8)),
        "itemsize": EVENT_BYTES,
    }
)  # fmt: skip
"""An event as numpy sees it; the low byte of `done` counts the values in `got`, bit 8 says
that there are values wanted."""
HEAD_COUNT = 1 << 16
CALLER_ROLE = 1 << 8
"""Bit of an event's key: the row of a return address; the low bits are the verdict."""

_MAP_NORESERVE = 0x4000
RECORD = np.dtype(
    {
        "names": ["count", "code", "caller_code", "kind", "flags", "size", "owner", "calls"],
        "formats": ["<i8", "<i4", "<i4", "u1", "u1", "u1", "<i4", "<i8"],
        "offsets": [
            C_COUNT,
            C_CODE,
            C_CALLER_CODE,
            C_KIND,
            C_FLAGS,
            C_SIZE,
            C_OWNER,
            C_CALLS,
        ],
        "itemsize": RECORD_BYTES,
    }
)
"""A record as numpy sees it."""


def lazy_bytes(size: int) -> tuple[mmap.mmap, npt.NDArray[np.uint8]]:
    """Zeroed host memory that costs nothing until it is touched."""
    memory = mmap.mmap(
        -1, max(size, 4096), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
    )
    return memory, np.frombuffer(memory, np.uint8)
