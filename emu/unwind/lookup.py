"""Address -> row: a module's table packed into arrays, and the compiled search in them."""

from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property

import numba
import numpy as np
import numpy.typing as npt

from arch import Arch, Row
from emu.native import load32, load64
from emu.tables import FunctionRows, NoRow, PackedTable, Table
from emu.unwind.packed import WORDS, pack
from emu.verdict import Verdict

# Words of a table's block.
_COUNT, _KEYS, _FUNCTIONS, _STARTS, _CODES, _OTHERWISE = range(6)
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
    # Only the starts, since a cache line holds eight of them.
    keys = load64(table + 8 * _KEYS)
    low = 0
    high = load64(table + 8 * _COUNT)
    while low < high:
        middle = (low + high) >> 1
        if load64(keys + 8 * middle) <= address:
            low = middle + 1
        else:
            high = middle
    if low == 0:
        return load64(table + 8 * _OTHERWISE)
    function = load64(table + 8 * _FUNCTIONS) + _FUNCTION_BYTES * (low - 1)
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


@numba.njit(cache=True)
def look_up_all(
    table: int, addresses: npt.NDArray[np.int64], codes: npt.NDArray[np.int32]
) -> None:
    """`lookup` of each address, into `codes`."""
    for index in range(len(addresses)):
        codes[index] = lookup(table, addresses[index])


class RowTable:
    """A table ready for `lookup`; equal rows are stored once.

    Args:
        table: the functions of a module; None: the module has no such table.
        arch: whose registers the rows name.
        packed: what `table` holds, already in arrays; `table` is then only asked for reasons.
    """

    def __init__(
        self,
        table: Table | Callable[[], Table | None] | None,
        arch: Arch,
        packed: PackedTable | None = None,
    ) -> None:
        self._table = table
        self.corrupt = ""
        """Why nothing of the table can be used."""
        otherwise = Verdict.NO_FDE
        if packed is None:
            if self.table is None:
                otherwise = Verdict.NO_TABLE
            elif self.table.corrupt:
                self.corrupt = self.table.corrupt
                otherwise = Verdict.CORRUPT
            packed = flatten(self.table)
        self.rows = list(packed.rows)
        self.arrays = packed
        """What the block's addresses lead to."""
        self._keys = packed.functions[:, 0].copy()
        self._packed = np.zeros((len(self.rows), WORDS), np.int64)
        for number, row in enumerate(self.rows):
            self._packed[number] = pack(row, arch)
        self._block = np.array(
            [
                len(self._keys), self._keys.ctypes.data, packed.functions.ctypes.data,
                packed.starts.ctypes.data, packed.codes.ctypes.data, -otherwise,
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
        return [(start, end) for start, end in self.arrays.functions[:, :2].tolist()]

    def reason(self, address: int) -> str:
        """Why there is no row at a link-time address, in the table reader's words."""
        code = int(lookup(self.block, address))
        if code >= 0 or -code in (Verdict.NO_FDE, Verdict.NO_TABLE) or self.table is None:
            return ""
        if self.table.corrupt:
            return self.table.corrupt
        functions = self._ordered
        function = functions[bisect_right(functions, address, key=lambda f: f.start) - 1]
        offset = address - function.start
        if function.rep_size:
            offset %= function.rep_size
        row = bisect_right(function.starts, offset) - 1
        found = function.rows[row] if row >= 0 else None
        return found.reason if isinstance(found, NoRow) else ""

    @property
    def table(self) -> Table | None:
        """The functions of the module; None: it has no such table."""
        if callable(self._table):
            self._table = self._table()
        return self._table

    @cached_property
    def _ordered(self) -> list[FunctionRows]:
        return [] if self.table is None else _by_address(self.table)


def _by_address(table: Table) -> list[FunctionRows]:
    """The functions that an address can be in; of two at one address the longer one is last."""
    return sorted(
        # Nothing runs in the upper half of the address space.
        (f for f in table.functions if f.size > 0 <= f.start < _TOP - f.size),
        key=lambda f: (f.start, f.size),
    )


def flatten(table: Table | None) -> PackedTable:
    """The arrays of a table; of None the empty ones."""
    functions = [] if table is None else _by_address(table)
    numbers: dict[Row, int] = {}
    # By identity: readers make equal rows one object, and to hash a row takes long.
    known: dict[int, int] = {}
    records = np.zeros((len(functions), 5), np.int64)
    starts: list[int] = []
    codes: list[int] = []
    for index, function in enumerate(functions):
        records[index] = (
            function.start, function.start + function.size, function.rep_size, len(starts),
            len(function.starts),
        )  # fmt: skip
        starts += function.starts
        for row in function.rows:
            code = known.get(id(row))
            if code is None:
                if isinstance(row, NoRow):
                    code = -row.verdict
                else:
                    code = numbers.setdefault(row, len(numbers))
                known[id(row)] = code
            codes.append(code)
    return PackedTable(
        records, np.array(starts, np.int64), np.array(codes, np.int32), tuple(numbers)
    )
