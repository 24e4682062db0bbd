"""The blocks that the compiled check works on: layout, and the Python objects that own them."""

import mmap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from emu.unwind.lookup import RowTable

# Words of the state block.
(
    ENGINE, STOP, REG_READ, MEMORY, SWAP, TRUTH, RECOGNISER, RETURN_BACK, EXECUTED, LIMIT, REPLAY,
    RANGE, RANGES, RANGE_COUNT, SP_PLACE, FP_PLACE, SP_NUMBER, FP_NUMBER, REGISTERS,
    REGISTER_PLACES, REGISTER_NUMBERS, RA_REGISTER, VERDICTS, CALLER_VERDICTS, EVENTS, EVENT_COUNT,
    EVENT_CAPACITY, EVENTS_LOST, HEADS, RESULT, HITS, HIT_WANTED, HIT_STOPPED, CLOCK_READ,
    MEMO_ROW, MEMO_FP, MEMO_ANY_FP, MEMO_RA_PLACE, MEMO_RA, MEMO_FP_PLACE, MEMO_SAVED_FP,
    MEMO_CHANGES, ZERO, WINDOW_END, SEEN_COUNT, SEEN,
) = range(46)  # fmt: skip

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


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Executable memory of a module: runtime range, its table and its functions.

    `bias` is runtime minus link-time address; `functions` are (start, end, owner), by
    link-time address. The owner is a number, the same for all parts of one function.
    """

    start: int
    end: int
    bias: int
    table: RowTable
    functions: npt.NDArray[np.int64]


class CodeMap:
    """Records of every executed instruction, and the ranges they belong to.

    Args:
        ranges: executable module memory, in any order.
        unit: bytes that instructions are multiples of.
    """

    def __init__(self, ranges: Sequence[CodeRange], unit: int) -> None:
        self.ranges = sorted(ranges, key=lambda r: r.start)
        self.shift = unit.bit_length() - 1
        self._kept: list[mmap.mmap] = []
        self.records: list[npt.NDArray[np.void]] = []
        self.block: npt.NDArray[np.int64] = np.zeros((len(ranges) + 1, 9), np.int64)
        for number, item in enumerate(self.ranges):
            count = (item.end - item.start) >> self.shift
            memory, data = lazy_bytes(RECORD_BYTES * (count + 1))
            self._kept.append(memory)
            self.records.append(data[: RECORD_BYTES * count].view(RECORD))
            self.block[number] = (
                item.start, item.end, data.ctypes.data, self.shift, item.bias, item.table.block,
                item.table.rows_address, item.functions.ctypes.data, len(item.functions),
            )  # fmt: skip

    def executed(self, number: int) -> npt.NDArray[np.bool_]:
        """Which places of a range have executed at least once."""
        executed: npt.NDArray[np.bool_] = self.records[number]["count"] > 0
        return executed

    def forget(self, start: int, end: int) -> None:
        """Code in a runtime range has changed: look at it anew when it executes."""
        for item, records in zip(self.ranges, self.records, strict=True):
            low, high = max(start, item.start), min(end, item.end)
            if low < high:
                flags = records["flags"]
                part = slice((low - item.start) >> self.shift, (high - item.start) >> self.shift)
                flags[part] &= 0xFF & ~(PREPARED | CALLER_KNOWN)

    def mark(self, address: int, flag: int) -> bool:
        """Set a flag on the instruction at a runtime address; False: no module there."""
        for item, records in zip(self.ranges, self.records, strict=True):
            if item.start <= address < item.end:
                records[(address - item.start) >> self.shift]["flags"] |= flag
                return True
        return False
