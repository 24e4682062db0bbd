"""Bytes of a fault-free .sframe section -> the arrays that a look-up searches, compiled.

A table (`table`) is made of objects for functions and rows, of which a big program has a
million. Here one compiled loop finds the functions, their rows, and which rows have the same
bytes; what the bytes mean, `stored` and `table` say, once for each different content. The
loop trusts nothing, but it explains nothing either: at the first thing that `decode` would
call a fault it gives up, and the section has to be read that way.
"""

import numpy as np
import numpy.typing as npt

from arch import Row
from emu.errors import SFrameError
from emu.image import Image
from emu.sframe import bulk
from emu.sframe.container import find_section
from emu.sframe.decode import Decoded, Fde
from emu.sframe.header import Header, read_header
from emu.sframe.layout import (
    FDE_FUNC_START_PCREL,
    FDE_SORTED,
    INFO_RESERVED,
    PAUTH_KEY_B,
    SIGNAL,
)
from emu.sframe.rows import Rows
from emu.sframe.stored import BadRow, Dialect, read_row, word_limits
from emu.sframe.table import fde_rows, row_meaning
from emu.tables import NoRow, PackedTable

_WHOLES = 8
"""Ways in which a function can have no usable rows."""
_LEAST_KNOWN = 1 << 11
_AREA_PER_KNOWN = 128
"""How many different contents are read this way: by bytes of the FRE area. Sections that
anybody made have far fewer; in a hostile one they may all be different."""


def packed_table(image: Image) -> PackedTable | None:
    """What `sframe_table` says of an image; None where only that can say it.

    Raises:
        ImageError: the file around the section is damaged.
    """
    if image.kind == "rel":
        return None
    contained = find_section(image)
    if contained is None or not contained.data:
        return None
    try:
        header = read_header(contained.data, image.byte_order)
    except SFrameError:
        return None
    if header.arch.elf_machine != image.machine:
        return None
    return pack_section(contained.data, header, contained.address)


def pack_section(data: bytes, header: Header, address: int = 0) -> PackedTable | None:
    """Pack a section linked to `address`; None: `decode` would find faults in it."""
    most_rows = header.num_fres
    area_size = min(header.fre_len, len(data) - header.fres_at)
    # A row has at least two bytes.
    if header.fre_len > area_size or most_rows > area_size // 2:
        return None
    section = np.frombuffer(data, np.uint8)
    functions = np.empty((header.num_fdes, 5), np.int64)
    # The FRE bytes of each function.
    claimed = np.empty((header.num_fdes, 2), np.int64)
    starts = np.empty(most_rows + _WHOLES, np.int64)
    codes = np.empty(most_rows + _WHOLES, np.int32)
    bits = min(most_rows, max(_LEAST_KNOWN, area_size // _AREA_PER_KNOWN)).bit_length()
    known = np.empty((1 << bits, 4), np.int64)
    found = bulk.read(
        _facts(section, header, address), _fields(header), functions, claimed,
        starts[:most_rows], codes, np.full(2 << bits, -1, np.int32), known,
    )  # fmt: skip
    if found < 0 or _overlap(claimed):
        return None
    rows: dict[Row, int] = {}
    meanings = _meanings(data, header, known[:found, : bulk.WORD].tolist(), rows)
    if meanings is None:
        return None
    bulk.translate(codes[:most_rows], meanings)
    _mark_wholes(header, functions, starts, codes)
    return PackedTable(_by_address(functions), starts, codes, tuple(rows))


def _fields(header: Header) -> npt.NDArray[np.int64]:
    """Of each field: whether it is one of the attributes, its offset, its bytes."""
    version = header.version
    fields = np.zeros((len(bulk.FIELDS), 3), np.int64)
    for number, name in enumerate(bulk.FIELDS):
        for kind in (version.fde, version.attributes):
            if kind is not None and name in (kind.names or ()):
                fields[number] = (*version.field_at(name), kind[name].itemsize)
    return fields


def _facts(
    section: npt.NDArray[np.uint8], header: Header, address: int
) -> npt.NDArray[np.int64]:
    version, sframe = header.version, header.arch.sframe
    signals = SIGNAL if version.number >= 3 else 0
    facts = np.zeros(bulk.FACTS, np.int64)
    for word, value in (
        (bulk.ADDRESS, section.ctypes.data),
        (bulk.LENGTH, len(section)),
        (bulk.BIG, header.byte_order == "big"),
        (bulk.FDES_AT, header.fdes_at),
        (bulk.FDE_SIZE, version.fde_size),
        (bulk.NUM_FDES, header.num_fdes),
        (bulk.AREA_AT, header.fres_at),
        (bulk.AREA_SIZE, header.fre_len),
        (bulk.ATTRIBUTES_SIZE, version.attributes_size),
        (bulk.BASE, (address + (1 << 63)) % (1 << 64) - (1 << 63)),
        (bulk.PCREL, bool(header.flags & FDE_FUNC_START_PCREL)),
        (bulk.SORTED, bool(header.flags & FDE_SORTED)),
        (bulk.INFO_MUST_NOT, INFO_RESERVED | SIGNAL ^ signals | PAUTH_KEY_B * (not sframe.pauth)),
        (bulk.SIGNAL_BIT, signals),
        (bulk.STORES_REP_SIZE, version.rep_size),
        (bulk.FIXED_REP_SIZE, sframe.v1_rep_size),
    ):
        facts[word] = value
    facts[bulk.FEWEST : bulk.MOST + 1] = word_limits(flex=False, fixed_ra=header.fixed_ra)
    facts[bulk.FLEX_FEWEST : bulk.FLEX_MOST + 1] = word_limits(flex=True, fixed_ra=header.fixed_ra)
    return facts


def _overlap(claimed: npt.NDArray[np.int64]) -> bool:
    """Two functions claim the same byte."""
    if (claimed[1:, 0] >= claimed[:-1, 1]).all():
        return False
    filled = claimed[claimed[:, 1] > claimed[:, 0]]
    filled = filled[np.argsort(filled[:, 0])]
    return bool((filled[1:, 0] < filled[:-1, 1]).any())


def _meanings(
    data: bytes, header: Header, contents: list[list[int]], rows: dict[Row, int]
) -> npt.NDArray[np.int32] | None:
    """The code of each content; new rows get a number in `rows`. None: one is wrong.

    Args:
        data: the section.
        header: of it.
        contents: offset, bytes and tag of each.
        rows: numbers of the rows so far.
    """
    dialects = [
        Dialect(
            header.arch, header.version.number, header.byte_order, header.fixed_fp,
            header.fixed_ra, flex=flex,
        )
        for flex in (False, True)
    ]  # fmt: skip
    codes = np.empty(len(contents), np.int32)
    for number, (at, size, tag) in enumerate(contents):
        stored = read_row(data[at : at + size], dialects[bool(tag & bulk.IS_FLEX)])
        if isinstance(stored, BadRow):
            return None
        meaning = row_meaning(stored, header.arch, bool(tag & bulk.IS_SIGNAL))
        if isinstance(meaning, NoRow):
            codes[number] = -meaning.verdict
        else:
            codes[number] = rows.setdefault(meaning, len(rows))
    return codes


def _mark_wholes(
    header: Header,
    functions: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int32],
) -> None:
    """Give functions without usable rows, whose first row is ~why, one row that says so."""
    lacking = np.flatnonzero(functions[:, 3] < 0)
    whys = ~functions[lacking, 3]
    starts[-_WHOLES:] = 0
    codes[-_WHOLES:] = [
        _whole(header, why) if (whys == why).any() else 0 for why in range(_WHOLES)
    ]
    functions[lacking, 2] = 0
    functions[lacking, 3] = whys + (len(codes) - _WHOLES)
    functions[lacking, 4] = 1


def _whole(header: Header, why: int) -> int:
    """The code of a function without usable rows, as `table` judges it."""
    fde = Fde(
        offset=0, start=0, size=1, mask=bool(why & bulk.WHOLE_MASK), kind=0,
        rep_size=1 if header.version.rep_size else None, signal=bool(why & bulk.WHOLE_SIGNAL),
        pauth_key=None, section=-1, first=0, last=int(bool(why & bulk.WHOLE_ROWS)), cut=None,
        no_rows="", disordered=False,
    )  # fmt: skip
    (row,) = fde_rows(fde, Decoded(header, (), Rows((), (), (), (), ()), ()), {}).rows
    assert isinstance(row, NoRow)
    return -row.verdict


def _by_address(functions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Records in the order of (start, size), without those that no address is in."""
    start, end = functions[:, 0], functions[:, 1]
    # An end that wrapped lies below its start: nothing runs in the upper half.
    usable = (start >= 0) & (end > start)
    if not usable.all():
        functions = functions[usable]
        start, end = functions[:, 0], functions[:, 1]
    if (start[1:] > start[:-1]).all():
        return functions
    return functions[np.lexsort((end, start))]
