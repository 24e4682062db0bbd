"""Where the code is that the check knows: modules, their segments, and where these are mapped.

What is known of an instruction belongs to its module and link-time address. So it lasts when
the module is unmapped, and goes on being counted when it is mapped again, there or elsewhere.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from emu.check.state import (
    CALLER_KNOWN,
    PREPARED,
    RANGE_BYTES,
    RECORD,
    RECORD_BYTES,
    lazy_bytes,
)
from emu.image import Image
from emu.symbols import FunctionNames
from emu.unwind.lookup import RowTable

_FIRST_CAPACITY = 64


@dataclass(frozen=True, slots=True, eq=False)
class CheckedModule:
    """A file whose code is checked.

    `functions` are (start, end, owner), int64[n, 3], by link-time address. The owner is a
    number, the same for all parts of one function, and of no function of another module.
    """

    name: str
    """Last part of its path, or all of it where another module has that name."""
    image: Image
    names: FunctionNames
    table: RowTable
    functions: npt.NDArray[np.int64]
    segments: list["CodeSegment"] = field(default_factory=list)


class CodeSegment:
    """Records of the instructions in one segment of a module.

    Args:
        module: that it is of.
        start: first link-time address.
        end: first one behind it.
        shift: instructions stand at multiples of 1 << shift.
    """

    def __init__(self, module: CheckedModule, start: int, end: int, shift: int) -> None:
        self.module = module
        self.start = start
        self.end = end
        self.shift = shift
        count = (end - start) >> shift
        self._memory, self._data = lazy_bytes(RECORD_BYTES * (count + 1))
        self.records: npt.NDArray[np.void] = self._data[: RECORD_BYTES * count].view(RECORD)
        module.segments.append(self)

    @property
    def executed(self) -> npt.NDArray[np.bool_]:
        """Which places have executed at least once."""
        executed: npt.NDArray[np.bool_] = self.records["count"] > 0
        return executed

    def record_address(self, address: int) -> int:
        """Where the record of a link-time address lies."""
        base = int(self._data.ctypes.data)
        return base + RECORD_BYTES * ((address - self.start) >> self.shift)

    def slots(self, start: int, end: int) -> slice:
        """The records of link-time addresses [start, end)."""
        return slice((start - self.start) >> self.shift, (end - self.start) >> self.shift)


@dataclass(frozen=True, slots=True)
class CodeRange:
    """Executable memory, [start, end), that holds part of a segment."""

    start: int
    end: int
    bias: int
    """Runtime minus link-time address."""
    segment: CodeSegment

    @property
    def module(self) -> CheckedModule:
        """Whose code it is."""
        return self.segment.module

    def slots(self, start: int, end: int) -> slice:
        """The records of the runtime addresses [start, end) that lie in it."""
        low, high = max(start, self.start), min(end, self.end)
        return self.segment.slots(low - self.bias, max(low, high) - self.bias)


class CodeMap:
    """What is mapped now, as the compiled check searches it."""

    def __init__(self) -> None:
        self._ranges: list[CodeRange] = []
        self._starts: list[int] = []
        self.block: npt.NDArray[np.int64] = self._empty(_FIRST_CAPACITY)
        """A row for each range, by address, and a row of zeros, which holds nothing."""

    @staticmethod
    def _empty(capacity: int) -> npt.NDArray[np.int64]:
        return np.zeros((capacity, RANGE_BYTES // 8), np.int64)

    def __iter__(self) -> Iterator[CodeRange]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)

    def set(self, ranges: list[CodeRange]) -> None:
        """Exactly these are mapped. The block may have moved."""
        self._ranges = sorted(ranges, key=lambda item: item.start)
        self._starts = [item.start for item in self._ranges]
        if len(ranges) >= len(self.block):
            self.block = self._empty(2 * len(ranges))
        self.block[:] = 0
        for number, item in enumerate(self._ranges):
            module = item.module
            self.block[number] = (
                item.start, item.end, item.segment.record_address(item.start - item.bias),
                item.segment.shift, item.bias, module.table.block, module.table.rows_address,
                module.functions.ctypes.data, len(module.functions),
            )  # fmt: skip

    def find(self, address: int) -> CodeRange | None:
        """The range that holds a runtime address."""
        index = bisect_right(self._starts, address) - 1
        if index >= 0 and address < self._ranges[index].end:
            return self._ranges[index]
        return None

    def forget(self, start: int, end: int) -> None:
        """Code at runtime addresses has changed: look at it anew when it executes."""
        for item in self._ranges:
            item.segment.records["flags"][item.slots(start, end)] &= 0xFF & ~(
                PREPARED | CALLER_KNOWN
            )


def mark(segment: CodeSegment, address: int, flag: int) -> None:
    """Set a flag on the instruction at a link-time address."""
    segment.records["flags"][(address - segment.start) >> segment.shift] |= flag
