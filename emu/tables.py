"""What every kind of table is turned into before it is looked up: functions with rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch.row import Row
from emu.verdict import Verdict


@dataclass(frozen=True, slots=True)
class NoRow:
    """A stretch of a function for which the table gives no row, and why.

    `verdict` is one of CORRUPT, NO_FRE, REFUSED.
    """

    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True)
class FunctionRows:
    """One function's entry: rows by ascending offset.

    Row k holds for offsets [starts[k], starts[k+1]), the last one up to the end of the
    function (or of the repeated block). Before starts[0] there is no row (NO_FRE).
    """

    start: int
    """Link-time address; in a relocatable object the offset in its section."""
    size: int
    starts: tuple[int, ...]
    rows: tuple[Row | NoRow, ...]
    rep_size: int = 0
    """Bytes of the repeated block that offsets are taken modulo of; 0: none."""
    section: int = -1
    """Relocatable objects: index of the section that `start` counts in."""


@dataclass(frozen=True, slots=True)
class Table:
    """All functions of one module's table; `corrupt` names why none can be used."""

    kind: str
    """``sframe``, ``cfi``, ``fp`` or ``backchain``."""
    functions: tuple[FunctionRows, ...]
    size: int
    """Bytes of the section."""
    corrupt: str = ""


@dataclass(frozen=True, slots=True)
class PackedTable:
    """The same in arrays, as a look-up searches them."""

    functions: npt.NDArray[np.int64]
    """int64[n, 5], by start and size: start, end, bytes of the repeated block or 0, index of
    the first row, number of rows."""
    starts: npt.NDArray[np.int64]
    """By row: offset in its function or block."""
    codes: npt.NDArray[np.int32]
    """By row: index in `rows`, or minus the verdict of a stretch without a row."""
    rows: Sequence[Row]
    """The different ones."""
