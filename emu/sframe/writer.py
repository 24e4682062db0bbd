"""A form -> bytes: sizes, counts and offsets by the rules that the assembler follows.

Words of a row have one size, the smallest that holds them all. Rows stand back to back, in
V3 behind five bytes of attributes for each function; the offset of a function without rows is
where its rows would stand.
"""

import struct
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from arch import ByteOrder
from emu.sframe import layout
from emu.sframe.form import Content, Form, FormError, FormFunction, words_size
from emu.sframe.layout import VERSIONS, Version, order_mark


class WordRange(Enum):
    """Offsets that one or two bytes hold, as GNU as sees it; a control word has all its bits."""

    SYMMETRIC = "symmetric"
    """-127..127 and -32767..32767: releases up to 2.44."""
    FULL = "full"
    """-128..127 and -32768..32767: from 2.46 on."""

    @property
    def lost(self) -> int:
        """How many of the lowest values are left unused."""
        return 1 if self is WordRange.SYMMETRIC else 0


def usual_range(version: int) -> WordRange:
    """What the releases do that write this version (the one between, 2.45, was not seen)."""
    return WordRange.FULL if version >= 3 else WordRange.SYMMETRIC


class Field(NamedTuple):
    """Name of a field of an encoded section."""

    entity: str
    """``header``, ``fde`` (with V3's attributes) or ``row``."""
    number: int
    """Of the FDE; of the row counted over all functions in the order of the FDEs."""
    name: str
    """As in `layout`; of a row ``start``, ``info``, ``word0``, ``word1`` and so on."""


class Place(NamedTuple):
    """Where a field is: bytes from the start of the section."""

    offset: int
    size: int


HEADER_FIELDS = (
    "magic", "version", "flags", "abi", "fixed_fp", "fixed_ra", "aux_len", "num_fdes",
    "num_fres", "fre_len", "fdeoff", "freoff",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded section, and where each function's rows are."""

    data: bytes
    form: Form
    positions: tuple[int, ...]
    """By FDE: FRE offset, in the FRE area."""
    fdes_at: int
    fres_at: int

    def fields(self) -> dict[Field, Place]:
        """The place of every field."""
        version = VERSIONS[self.form.version]
        places: dict[Field, Place] = {}
        at = 0
        for name, code in zip(HEADER_FIELDS, layout.HEADER, strict=True):
            size = struct.calcsize("=" + code)
            places[Field("header", 0, name)] = Place(at, size)
            at += size
        number = 0
        for index, function in enumerate(self.form.functions):
            base = self.fdes_at + index * version.fde_size
            _place_all(places, index, version.fde, base)
            at = self.fres_at + self.positions[index]
            if version.attributes is not None:
                _place_all(places, index, version.attributes, at)
                at += version.attributes_size
            for row in function.rows:
                places[Field("row", number, "start")] = Place(at, 1 << function.row_type)
                at += 1 << function.row_type
                places[Field("row", number, "info")] = Place(at, 1)
                size = words_size(self.data[at]) // max(1, len(row.content.words))
                at += 1
                for word in range(len(row.content.words)):
                    places[Field("row", number, f"word{word}")] = Place(at, size)
                    at += size
                number += 1
        return places

    def patched(self, values: dict[tuple[str, int, str], int]) -> bytes:
        """The section with other values in some fields, right or wrong.

        Args:
            values: by `Field`; each is cut to the size of its field.

        Raises:
            KeyError: there is no such field.
        """
        data, places = bytearray(self.data), self.fields()
        for key, value in values.items():
            offset, size = places[Field(*key)]
            value &= (1 << 8 * size) - 1
            data[offset : offset + size] = value.to_bytes(size, self.form.byte_order)
        return bytes(data)


def _place_all(
    places: dict[Field, Place], index: int, dtype: "np.dtype[np.void]", base: int
) -> None:
    fields = dtype.fields
    assert fields is not None
    for name, (kind, at, *_) in fields.items():
        places[Field("fde", index, name)] = Place(base + at, kind.itemsize)


def write(form: Form, word_range: WordRange) -> Encoded:
    """Write a section.

    Raises:
        FormError: a value does not fit into its field.
    """
    version = VERSIONS.get(form.version)
    if version is None:
        raise FormError(f"unknown version {form.version}")
    order = form.order or tuple(range(len(form.functions)))
    if sorted(order) != list(range(len(form.functions))):
        raise FormError("the order of the rows does not name each function once")
    writer = _Writer(version, form.byte_order, word_range)
    positions = [0] * len(form.functions)
    for index in order:
        function = form.functions[index]
        writer.area += function.before
        positions[index] = len(writer.area)
        try:
            writer.put_function(function)
        except (struct.error, OverflowError) as error:
            raise FormError(f"function {index}: {error}") from error
    writer.area += form.area_end
    fdes = b"".join(map(writer.fde, form.functions, positions))
    fdes_at = layout.HEADER_SIZE + len(form.aux) + len(form.before_fdes)
    freoff = len(form.before_fdes) + len(fdes) + len(form.before_fres)
    try:
        header = struct.pack(
            order_mark(form.byte_order) + layout.HEADER, layout.MAGIC, form.version, form.flags,
            form.abi, form.fixed_fp, form.fixed_ra, len(form.aux), len(form.functions),
            sum(len(function.rows) for function in form.functions), len(writer.area),
            len(form.before_fdes), freoff,
        )  # fmt: skip
    except struct.error as error:
        raise FormError(f"header: {error}") from error
    parts = (header, form.aux, form.before_fdes, fdes, form.before_fres, writer.area, form.behind)
    fres_at = fdes_at + len(fdes) + len(form.before_fres)
    return Encoded(b"".join(parts), form, tuple(positions), fdes_at, fres_at)


class _Writer:
    """Makes the FRE area and the FDEs."""

    def __init__(self, version: Version, byte_order: ByteOrder, word_range: WordRange) -> None:
        self._version, self._order, self._range = version, byte_order, word_range
        self._mark = order_mark(byte_order)
        self._known: dict[tuple[Content, bool], bytes] = {}
        self.area = bytearray()

    def put_function(self, function: FormFunction) -> None:
        """Append a function's attributes and rows to the area."""
        area, order = self.area, self._order
        if self._version.attributes is not None:
            area += struct.pack(
                self._mark + "HBBB", len(function.rows), _info(function), function.kind,
                function.rep_size,
            )  # fmt: skip
        width, flex = 1 << function.row_type, function.kind == layout.FLEX
        for start, content in function.rows:
            made = self._known.get((content, flex))
            if made is None:
                made = write_content(content, flex, order, self._range)
                self._known[content, flex] = made
            area += start.to_bytes(width, order)
            area += made

    def fde(self, function: FormFunction, position: int) -> bytes:
        """A function's FDE (V3: its index entry)."""
        mark = self._mark
        try:
            if self._version.attributes is not None:
                return struct.pack(mark + "qII", function.start, function.size, position)
            plain = struct.pack(
                mark + "iIIIB", function.start, function.size, position, len(function.rows),
                _info(function),
            )  # fmt: skip
            if not self._version.rep_size:
                return plain
            return plain + struct.pack(mark + "BH", function.rep_size, function.padding)
        except struct.error as error:
            raise FormError(f"function at {function.start:#x}: {error}") from error


def _info(function: FormFunction) -> int:
    return (
        function.row_type
        | (layout.PC_MASK if function.mask else 0)
        | (layout.PAUTH_KEY_B if function.key_b else 0)
        | (layout.SIGNAL if function.signal else 0)
    )


def write_content(content: Content, flex: bool, order: ByteOrder, word_range: WordRange) -> bytes:
    """Info byte and words of a row.

    Raises:
        OverflowError: a word needs more than four bytes, or there are too many.
    """
    words = content.words
    if len(words) > layout.WORD_COUNT_MASK:
        raise OverflowError(f"{len(words)} words in a row")
    # Bits of the smallest signed word that holds all; a control word is unsigned.
    signs = _signs(words, flex)
    size = 1
    while not all(
        _fits(word, size, signed, word_range) for word, signed in zip(words, signs, strict=True)
    ):
        size *= 2
        if size > 4:
            raise OverflowError(f"words {words} do not fit into four bytes each")
    info = len(words) << layout.WORD_COUNT_SHIFT | (size >> 1) << layout.WORD_SIZE_SHIFT
    info |= layout.BASE_SP if content.base_sp else 0
    info |= layout.RA_SIGNED if content.signed else 0
    return bytes((info,)) + b"".join(
        word.to_bytes(size, order, signed=signed) for word, signed in zip(words, signs, strict=True)
    )


def _signs(words: tuple[int, ...], flex: bool) -> list[bool]:
    """By word: whether it is a signed offset."""
    if not flex:
        return [True] * len(words)
    signs = []
    control = True
    for word in words:
        signs.append(not control)
        control = not control or word == 0
    return signs


def _fits(word: int, size: int, signed: bool, word_range: WordRange) -> bool:
    if not signed:
        return 0 <= word < 1 << 8 * size
    half = 1 << (8 * size - 1)
    # The rule of older releases is about the two sizes that a larger one could replace.
    return -half + (word_range.lost if size < 4 else 0) <= word < half
