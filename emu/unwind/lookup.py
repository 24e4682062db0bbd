"""Address -> row: a module's table packed into arrays, and the compiled search in them."""

from bisect import bisect_right

import numba
import numpy as np

from arch import Arch, Row
from emu.native import load32, load64
from emu.tables import FunctionRows, NoRow, Table
from emu.unwind.packed import WORDS, pack
from emu.verdict import Verdict

# Words of a table's block.
_COUNT, _FUNCTIONS, _STARTS, _CODES, _OTHERWISE = range(5)
# Byte offsets in a function's record.
_START, _END, _REP, _FIRST, _ROWS = range(0, 40, 8)
_FUNCTION_BYTES = 40

_NO_FRE = int(Verdict.NO_FRE)
_TOP = 1 << 63


@numba.njit(cache=True)
def lookup(table: int, address: int) -> int:
    """The row for a link-time address: its number, or minus a verdict where there is none.

    `table` is the address of a block made by `RowTable`. Both searches are binary: the
    last function that starts at or below the address, then its last row that does.
    """
    functions = load64(table + 8 * _FUNCTIONS)
    low = 0
    high = load64(table + 8 * _COUNT)
    while low < high:
        middle = (low + high) >> 1
        if load64(functions + _FUNCTION_BYTES * middle + _START) <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return load64(table + 8 * _OTHERWISE)
    function = functions + _FUNCTION_BYTES * (low - 1)
    if address >= load64(function + _END):
        return load64(table + 8 * _OTHERWISE)
    offset = address - load64(function + _START)
    rep = load64(function + _REP)
    if rep:
        offset = offset % rep
    first = load64(function + _FIRST)
    low = first
    high = first + load64(function + _ROWS)
    starts = load64(table + 8 * _STARTS)
    while low < high:
        middle = (low + high) >> 1
        if load64(starts + 8 * middle) <= offset:
            low = middle + 1
        else:
            high = middle
    if low == first:
        return -_NO_FRE
    return load32(load64(table + 8 * _CODES) + 4 * (low - 1))


class RowTable:
    """A table ready for `lookup`; equal rows are stored once.

    Args:
        table: the functions of a module; None: the module has no such table.
        arch: whose registers the rows name.
    """

    def __init__(self, table: Table | None, arch: Arch) -> None:
        self.table = table
        functions: list[FunctionRows] = []
        if table is not None:
            functions = sorted(
                # Nothing runs in the upper half of the address space.
                (f for f in table.functions if f.size > 0 <= f.start < _TOP - f.size),
                key=lambda f: (f.start, f.size),
            )
        self._functions = functions
        self._function_starts = [f.start for f in functions]
        self.rows: list[Row] = []
        numbers: dict[Row, int] = {}
        records = np.zeros((len(functions) + 1, 5), np.int64)
        starts: list[int] = []
        codes: list[int] = []
        for index, function in enumerate(functions):
            records[index] = (
                function.start, function.start + function.size, function.rep_size, len(starts),
                len(function.starts),
            )  # fmt: skip
            starts += function.starts
            for row in function.rows:
                if isinstance(row, NoRow):
                    codes.append(-row.verdict)
                else:
                    number = numbers.setdefault(row, len(numbers))
                    if number == len(self.rows):
                        self.rows.append(row)
                    codes.append(number)
        if table is None:
            otherwise = Verdict.NO_TABLE
        else:
            otherwise = Verdict.CORRUPT if table.corrupt else Verdict.NO_FDE
        self._records = records
        self._starts = np.array([*starts, 0], np.int64)
        self._codes = np.array([*codes, 0], np.int32)
        self._packed = np.zeros((len(self.rows) + 1, WORDS), np.int64)
        for number, row in enumerate(self.rows):
            self._packed[number] = pack(row, arch)
        self._block = np.array(
            [
                len(functions), records.ctypes.data, self._starts.ctypes.data,
                self._codes.ctypes.data, -otherwise,
            ],
            np.int64,
        )  # fmt: skip

    @property
    def block(self) -> int:
        """Address of the block that `lookup` takes; valid as long as this object."""
        return int(self._block.ctypes.data)

    @property
    def rows_address(self) -> int:
        """Address of the packed rows; row n is `packed.ROW_BYTES` * n further."""
        return int(self._packed.ctypes.data)

    @property
    def function_bounds(self) -> list[tuple[int, int]]:
        """(start, end) of each function, ascending."""
        return [(f.start, f.start + f.size) for f in self._functions]

    def reason(self, address: int) -> str:
        """Why there is no row at a link-time address, in the table reader's words."""
        if self.table is not None and self.table.corrupt:
            return self.table.corrupt
        index = bisect_right(self._function_starts, address) - 1
        if index < 0 or address >= self._functions[index].start + self._functions[index].size:
            return ""
        function = self._functions[index]
        offset = address - function.start
        if function.rep_size:
            offset %= function.rep_size
        row = bisect_right(function.starts, offset) - 1
        found = function.rows[row] if row >= 0 else None
        return found.reason if isinstance(found, NoRow) else ""
