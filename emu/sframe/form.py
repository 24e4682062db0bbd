"""A section as the values it is made of: what a producer decides, and nothing that follows.

Kept are the header's facts, the order of the FDEs and that of their rows in the FRE area, the
FRE type of each function, the values of all words and bytes that belong to nothing. Counts,
offsets of parts, FRE offsets and word sizes are not: `encode` computes them, so that a
section which a known producer made comes back byte for byte.

                    in the section                                   here
    header | aux | ... FDEs ... | ... FREs ... | ...     aux, before_fdes, before_fres, behind
    FRE area: ... attributes (V3), rows ... | ...        order, Function.before, area_end
"""

import struct
from dataclasses import dataclass, replace
from typing import NamedTuple

from arch import Arch, ByteOrder, by_sframe_abi
from emu.errors import SFrameError, UnwindlabError
from emu.sframe import layout
from emu.sframe.decode import decode
from emu.sframe.fdes import Fdes, read_fdes
from emu.sframe.header import Header
from emu.sframe.layout import order_mark


class FormError(UnwindlabError):
    """A form with a value that its field cannot hold, or that contradicts itself."""


class Content(NamedTuple):
    """What a row says; equal contents are equal in bytes, so they can be made once."""

    base_sp: bool
    """Info bit 0: the CFA counts from SP; FLEX rows leave it clear."""
    signed: bool
    """Info bit 7: the return address is signed."""
    words: tuple[int, ...]
    """As stored, scaled and biased. In a FLEX row control words, which are not negative, come
    before their offsets; a control word 0 has none."""


class FormRow(NamedTuple):
    """A row; `start` counts bytes in the function or in the repeated block."""

    start: int
    content: Content


@dataclass(frozen=True, slots=True)
class FormFunction:
    """A FDE and its rows."""

    start: int
    """The field as stored: what it counts from, version and flags say."""
    size: int
    rows: tuple[FormRow, ...]
    row_type: int
    """FRE type 0, 1, 2: row starts of one, two, four bytes."""
    mask: bool = False
    key_b: bool = False
    signal: bool = False
    kind: int = 0
    """FDE type (V3)."""
    rep_size: int = 0
    padding: int = 0
    """V2's two spare bytes."""
    before: bytes = b""
    """Bytes of the FRE area between the rows before it and its own."""


@dataclass(frozen=True, slots=True)
class Form:
    """A section."""

    version: int
    flags: int
    abi: int
    fixed_fp: int
    fixed_ra: int
    functions: tuple[FormFunction, ...]
    """In the order of their FDEs."""
    order: tuple[int, ...] = ()
    """Indices of the functions in the order of their rows; empty: that of the FDEs."""
    aux: bytes = b""
    before_fdes: bytes = b""
    before_fres: bytes = b""
    area_end: bytes = b""
    """Unused bytes at the end of the FRE area, which the header counts."""
    behind: bytes = b""
    """Bytes behind the FRE area."""

    @property
    def arch(self) -> Arch:
        """The machine of the ABI.

        Raises:
            FormError: there is none.
        """
        arch = by_sframe_abi(self.abi)
        if arch is None:
            raise FormError(f"unknown ABI {self.abi}")
        return arch

    @property
    def byte_order(self) -> ByteOrder:
        """Of every value in the section."""
        return self.arch.sframe.abi_ids[self.abi]


def read_form(data: bytes) -> Form:
    """The form of a section without faults.

    Relocations that are still to be applied do not matter: starts are taken as stored, and
    whether they ascend in a table flagged sorted is not looked at.

    Raises:
        SFrameError: the first fault, or bytes that two functions share.
    """
    decoded = decode(_unsorted(data))
    if decoded.faults:
        raise SFrameError(*decoded.faults[0])
    header = replace(decoded.header, flags=data[layout.FLAGS_AT])
    reader = _Reader(data, header, read_fdes(data, header))
    functions, order, area_end = reader.functions()
    aux = data[layout.AUX_LEN_AT]
    fdes_at = layout.HEADER_SIZE + aux
    end = header.fdes_at + header.num_fdes * header.version.fde_size
    return Form(
        header.version.number,
        header.flags,
        header.abi,
        header.fixed_fp,
        header.fixed_ra,
        functions,
        order,
        aux=data[layout.HEADER_SIZE : fdes_at],
        before_fdes=data[fdes_at : header.fdes_at],
        before_fres=data[end : header.fres_at],
        area_end=area_end,
        behind=data[header.fres_at + header.fre_len :],
    )


def _unsorted(data: bytes) -> bytes:
    """The section without the flag that its FDEs are sorted."""
    if len(data) <= layout.FLAGS_AT or layout.magic_order(data) is None:
        return data
    at = layout.FLAGS_AT
    return data[:at] + bytes((data[at] & ~layout.FDE_SORTED,)) + data[at + 1 :]


class _Reader:
    """Reads functions of which the decoder has said that they are whole."""

    def __init__(self, data: bytes, header: Header, fdes: Fdes) -> None:
        self._data, self._header, self._fdes = data, header, fdes
        self._known: dict[tuple[bytes, bool], Content] = {}

    def functions(self) -> tuple[tuple[FormFunction, ...], tuple[int, ...], bytes]:
        """Functions by FDE, their order in the FRE area, and what is left at its end."""
        fdes, version = self._fdes, self._header.version
        begins = fdes.fre.tolist()
        numbers = range(self._header.num_fdes)
        infos, kinds = fdes.info.tolist(), fdes.kind.tolist()
        found = [
            self._rows(begin + version.attributes_size, count, 1 << (info & 3), kind == layout.FLEX)
            for begin, count, info, kind in zip(
                begins, fdes.num_fres.tolist(), infos, kinds, strict=True
            )
        ]
        order = sorted(numbers, key=lambda fde: (begins[fde], found[fde][1]))
        before = [b""] * len(found)
        position = 0
        for fde in order:
            if begins[fde] < position:
                reason = f"FRE offset {begins[fde]:#x}, inside the rows of another function"
                raise SFrameError(fdes.place(fde, "fre"), reason)
            before[fde] = fdes.area[position : begins[fde]]
            position = found[fde][1]
        columns = zip(
            fdes.start.tolist(), fdes.size.tolist(), infos, kinds, fdes.rep_size.tolist(),
            self._paddings(), strict=True,
        )  # fmt: skip
        functions = tuple(
            FormFunction(
                start=start,
                size=size,
                rows=found[fde][0],
                row_type=info & layout.FRE_TYPE_MASK,
                mask=bool(info & layout.PC_MASK),
                key_b=bool(info & layout.PAUTH_KEY_B),
                signal=bool(info & layout.SIGNAL),
                kind=kind,
                rep_size=rep_size,
                padding=padding,
                before=before[fde],
            )
            for fde, (start, size, info, kind, rep_size, padding) in enumerate(columns)
        )
        return functions, () if order == list(numbers) else tuple(order), fdes.area[position:]

    def _paddings(self) -> list[int]:
        """V2's spare bytes by FDE; 0 in versions without such."""
        version = self._header.version
        if "padding" not in (version.fde.names or ()):
            return [0] * self._header.num_fdes
        _, at = version.field_at("padding")
        mark = order_mark(self._header.byte_order)
        return [
            struct.unpack_from(mark + "H", self._data, fde + at)[0]
            for fde in self._fdes.at.tolist()
        ]

    def _rows(self, at: int, count: int, width: int, flex: bool) -> tuple[tuple[FormRow, ...], int]:
        """`count` rows at a position in the FRE area, and where they end."""
        area, order = self._fdes.area, self._header.byte_order
        rows = []
        for _ in range(count):
            start = int.from_bytes(area[at : at + width], order)
            at += width
            end = at + 1 + words_size(area[at])
            raw = area[at:end]
            content = self._known.get((raw, flex))
            if content is None:
                content = self._known[raw, flex] = read_content(raw, flex, order)
            rows.append(FormRow(start, content))
            at = end
        return tuple(rows), at


def words_size(info: int) -> int:
    """Bytes of the words that a row's info byte announces."""
    count = info >> layout.WORD_COUNT_SHIFT & layout.WORD_COUNT_MASK
    return count << (info >> layout.WORD_SIZE_SHIFT & layout.WORD_SIZE_MASK)


def read_content(raw: bytes, flex: bool, order: ByteOrder) -> Content:
    """The content of a row from its info byte and words."""
    info = raw[0]
    size = 1 << (info >> layout.WORD_SIZE_SHIFT & layout.WORD_SIZE_MASK)
    words: list[int] = []
    control = flex
    for at in range(1, len(raw), size):
        word = int.from_bytes(raw[at : at + size], order, signed=not control)
        words.append(word)
        # An offset follows every control word but 0, and a control word every offset.
        control = flex and (not control or word == 0)
    return Content(bool(info & layout.BASE_SP), bool(info & layout.RA_SIGNED), tuple(words))
