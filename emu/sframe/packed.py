"""Bytes of a fault-free .sframe section -> the arrays that a look-up searches, compiled.

The table of a section (`table`) is made of an object for each function and row; a big
program has a million. Here the rows are read by one compiled loop that knows only where they
lie and which have the same bytes; what the bytes mean, `stored` and `table` say, once for each
different content. The loop trusts nothing, but it explains nothing either: at the first thing
that is not as it should be it gives up, and the section has to be read by `decode`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from arch import Row
from emu.errors import SFrameError
from emu.image import Image
from emu.sframe import layout
from emu.sframe.container import find_section
from emu.sframe.decode import Decoded, Fde
from emu.sframe.faults import Fault
from emu.sframe.fdes import (
    Column,
    Fdes,
    Flags,
    Relocations,
    check_counts,
    check_info,
    check_order,
    place_functions,
    read_fdes,
)
from emu.sframe.header import Header, read_header
from emu.sframe.layout import (
    WORD_COUNT_MASK,
    WORD_COUNT_SHIFT,
    WORD_SIZE_MASK,
    WORD_SIZE_SHIFT,
)
from emu.sframe.rows import Rows, to_scan
from emu.sframe.stored import BadRow, Dialect, read_row
from emu.sframe.table import fde_rows, row_meaning, sframe_table
from emu.tables import NoRow, Table

_LAST_ADDRESS = (1 << 63) - 1
_FIRST_SLOTS = 1 << 12
_FLEX, _SIGNAL = 1, 2
"""Bits of a tag: what the meaning of a row depends on besides its bytes and the header."""


@dataclass(frozen=True, slots=True)
class PackedTable:
    """The functions of a section by address, and their rows."""

    functions: npt.NDArray[np.int64]
    """int64[n, 5]: start, end, bytes of the repeated block or 0, first row, number of rows."""
    starts: npt.NDArray[np.int64]
    """By row: offset in its function or block."""
    codes: npt.NDArray[np.int32]
    """By row: index in `rows`, or minus the verdict of a stretch without a row."""
    rows: Sequence[Row]
    """The different ones."""
    size: int
    """Bytes of the section."""


def packed_table(image: Image) -> PackedTable | None:
    """What `sframe_table` says of an image, or None where only that can say it.

    Raises:
        ImageError: the file around the section is damaged.
    """
    contained = find_section(image)
    if contained is None or not contained.data:
        return None
    try:
        header = read_header(contained.data, image.byte_order)
    except SFrameError:
        return None
    if header.arch.elf_machine != image.machine:
        return None
    return pack_section(contained.data, header, contained.address, contained.relocations)


def pack_section(
    data: bytes, header: Header, address: int = 0, relocations: Relocations | None = None
) -> PackedTable | None:
    """Pack a section, as `decode` would read it; None: it has faults."""
    faults: list[Fault] = []
    fdes = read_fdes(data, header)
    if header.fre_len > len(fdes.area):
        return None
    starts, sections = place_functions(fdes, address, relocations, faults)
    check_order(fdes, starts, sections, faults)
    check_info(fdes, faults)
    check_counts(fdes, faults)
    if faults or int(fdes.num_fres.sum()) > len(fdes.area):
        return None
    rows = _find_rows(fdes)
    if rows is None:
        return None
    meanings = _meanings(fdes, rows)
    if meanings is None:
        return None
    different, codes = meanings
    ...
