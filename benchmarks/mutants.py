"""Sections to mutate, and the mutants: the same seed and number give the same bytes.

Originals are the sections of the prebuilt programs, whole where they are small and some
functions of each, in every version that they can be converted to, and sections made here for
what no producer makes: FLEX rows of every machine, all row widths, repeated blocks, gaps,
auxiliary headers, big-endian aarch64.
"""

from __future__ import annotations

import itertools
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import arch as machines
from arch import ByteOrder
from emu.errors import ImageError, SFrameError
from emu.image import load_image
from emu.sframe import layout
from emu.sframe.container import find_section
from emu.sframe.convert import convert
from emu.sframe.decode import decode
from emu.sframe.encode import encode
from emu.sframe.form import Content, Form, FormFunction, FormRow, read_form
from emu.sframe.layout import VERSIONS
from emu.sframe.writer import Encoded
from testprogs.unpack import DEFAULT_DESTINATION, unpack

_WHOLE = 5000
"""Bytes up to which a section of a program is taken whole; parts of larger ones are enough."""
_PARTS = 2
_COUNTS = ("aux_len", "num_fdes", "num_fres", "fre_len", "fdeoff", "freoff")
_INTERESTING = (0x00, 0x01, 0x02, 0x03, 0x04, 0x0F, 0x10, 0x1F, 0x20, 0x40, 0x60, 0x7F, 0x80, 0xFF)


@dataclass(frozen=True, slots=True)
class Original:
    """A good section, with the place (offset, bytes) of each of its fields."""

    data: bytes
    big: bool
    fields: tuple[tuple[int, int], ...]
    counts: tuple[tuple[int, int], ...]
    """Counts, lengths and offsets of the header."""
    fres: tuple[tuple[int, int], ...]
    """The FRE offsets of the functions."""
    starts: tuple[int, ...]
    """Offsets of FDEs and rows."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A section to try, and how it was made."""

    data: bytes
    how: str
    relocated: bool
    """It is to be read as that of a relocatable file."""


def originals(destination: Path = DEFAULT_DESTINATION) -> list[Original]:
    """All originals, in an order that does not change; each is there once."""
    found: dict[bytes, Original] = {}
    for form in itertools.chain(_of_programs(destination), _made()):
        encoded = encode(form)
        found.setdefault(encoded.data, _original(encoded))
    return list(found.values())


def mutant(seed: int, number: int, known: Sequence[Original]) -> Mutant:
    """The mutant with a number."""
    choose = random.Random(f"{seed}:{number}")
    original = choose.choice(known)
    rounds = 1 if choose.random() < 0.6 else choose.randint(2, 5)
    data, names = bytearray(original.data), []
    for _ in range(rounds):
        mutate = choose.choice(_MUTATIONS)
        mutate(data, original, known, choose)
        names.append(mutate.__name__.strip("_"))
    relocated = choose.random() < 0.06
    return Mutant(bytes(data), "+".join(names) + ("/rel" if relocated else ""), relocated)


def relocations(data: bytes) -> dict[int, tuple[int, int]]:
    """Targets for some starts of a relocatable file, extremes among them."""
    choose = random.Random(data)
    values = (0, 0x40, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, -(1 << 63), (1 << 65) - 1)
    return {
        at: (choose.randrange(4), choose.choice(values))
        for at in range(layout.HEADER_SIZE, len(data))
        if choose.random() < 0.7
    }


# ---- originals


def _of_programs(destination: Path) -> Iterator[Form]:
    choose = random.Random(0)
    for entry in unpack(destination):
        try:
            contained = find_section(load_image(str(entry.path)))
            form = read_form(contained.data) if contained is not None else None
        except (ImageError, SFrameError):
            continue  # some programs have faults on purpose
        if form is None or contained is None:
            continue
        if len(contained.data) <= _WHOLE:
            yield form
        for _ in range(_PARTS):
            first = choose.randrange(max(1, len(form.functions)))
            functions = form.functions[first : first + choose.randint(1, 6)]
            part = replace(form, functions=functions, order=(), area_end=b"")
            yield part
            for abi in form.arch.sframe.abi_ids:
                if abi != form.abi:
                    yield replace(part, abi=abi)  # big-endian aarch64, which nobody makes
            for version in VERSIONS:
                if version != form.version:
                    yield read_form(convert(decode(encode(part).data), version).data)


def _made() -> Iterator[Form]:
    for machine in machines.ALL:
        for abi, version in itertools.product(machine.sframe.abi_ids, VERSIONS):
            base = Form(version, 0, abi, 0, 0, ())
            yield base
            for row_type in (0, 1, 2):
                plain = _function(row_type, 0, _default_rows())
                spare = replace(plain, start=0x400, before=b"\0\xff", mask=True)
                if VERSIONS[version].rep_size:
                    spare = replace(spare, rep_size=16)
                if machine.sframe.pauth:
                    spare = replace(spare, key_b=True)
                flags = layout.FDE_SORTED
                if version == 2:
                    flags |= layout.FDE_FUNC_START_PCREL
                yield replace(
                    base, flags=flags, functions=(plain, spare), aux=b"aux", before_fdes=b"\1",
                    before_fres=b"\2\3", area_end=b"\4" * 5, behind=b"\5" * 9,
                )  # fmt: skip
                fixed = tuple(
                    replace(plain, start=0x100 * n, rows=plain.rows[:2]) for n in range(4)
                )
                yield replace(base, fixed_ra=-8, fixed_fp=-16, functions=fixed, order=(3, 1, 2, 0))
            if version == 3:
                for fixed_ra in (0, -8):
                    functions = tuple(
                        _function(
                            row_type, layout.FLEX, _flex_rows(machine.sp, machine.fp, fixed_ra)
                        )
                        for row_type in (0, 1, 2)
                    )
                    signal = replace(functions[0], start=0x900, signal=True)
                    empty = replace(plain, start=0xA00, rows=())
                    yield replace(
                        base, fixed_ra=fixed_ra, functions=(*functions, signal, plain, empty)
                    )


def _function(row_type: int, kind: int, contents: Sequence[Content]) -> FormFunction:
    rows = tuple(FormRow(4 * at, content) for at, content in enumerate(contents))
    return FormFunction(0x100 + row_type * 0x100, 0x80, rows, row_type, kind=kind)


def _default_rows() -> list[Content]:
    return [
        Content(True, False, (8,)),
        Content(True, False, (16, -8)),
        Content(False, True, (0x1234, -16)),
        Content(False, False, ()),
        Content(True, False, (0x123456, -24)),
    ]


def _flex_rows(sp: int, fp: int, fixed_ra: int) -> list[Content]:
    register, deref = layout.CONTROL_REGISTER, layout.CONTROL_DEREF
    sp, fp = sp << layout.CONTROL_NUMBER_SHIFT, fp << layout.CONTROL_NUMBER_SHIFT
    ra = (0,) if fixed_ra else (deref, -8)
    return [
        Content(False, False, words)
        for words in (
            (sp | register, 8),
            (fp | register | deref, -16, *ra),
            (10 << 3 | register, 16, *ra, deref, -16),
            (fp | register, 0x4000, 14 << 3 | register, 0, fp | register | deref, -8),
            (sp | register, 0x400000, 0, deref, -16),
            (),
            (127 << 3 | register, 0, *ra),
        )
    ]


def _original(encoded: Encoded) -> Original:
    fields = encoded.fields()
    return Original(
        encoded.data,
        encoded.form.byte_order == "big",
        tuple(fields.values()),
        tuple(place for field, place in fields.items() if field.name in _COUNTS),
        tuple(place for field, place in fields.items() if field.name == "fre"),
        tuple(
            place.offset for field, place in fields.items() if field.name in ("start", "num_fres")
        ),
    )


# ---- mutations: each changes a section in place


def _bits(data: bytearray, original: Original, known: Sequence[Original], r: random.Random) -> None:
    for _ in range(r.randint(1, 8)):
        if data:
            data[r.randrange(len(data))] ^= 1 << r.randrange(8)


def _bytes(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    for _ in range(r.randint(1, 8)):
        if data:
            data[r.randrange(len(data))] = r.choice(_INTERESTING)


def _field(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    for _ in range(r.randint(1, 3)):
        _set(data, r.choice(original.fields), original, r)


def _count(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    for place in r.sample(original.counts, r.randint(1, 3)):
        _set(data, place, original, r)


def _share(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    """Functions get the rows of others, or all the same ones."""
    for place in original.fres:
        at, size = r.choice(original.fres)
        if r.random() < 0.7:
            _put(data, place[0], original.data[at : at + size])


def _cut(data: bytearray, original: Original, known: Sequence[Original], r: random.Random) -> None:
    at = r.randrange(len(data) + 1)
    if r.random() < 0.5:
        at = r.choice(original.fields)[0] + r.randint(-1, 1)
    del data[max(0, at) :]


def _insert(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    at = r.randrange(len(data) + 1)
    data[at:at] = r.randbytes(r.randint(1, 16))


def _delete(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    at = r.randrange(len(data) + 1)
    del data[at : at + r.randint(1, 16)]


def _repeat(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    """A stretch many times over, such as one FDE or one row."""
    low, high = sorted((r.choice(original.starts or (28,)), r.choice(original.starts or (28,))))
    data[high:high] = data[low:high][:64] * r.randint(1, 12)


def _splice(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    """The beginning of one section, and the end of another."""
    other = r.choice(known).data
    data[r.randrange(len(data) + 1) :] = other[r.randrange(len(other)) :]


def _header(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    """The header of another section, all of it or only version and ABI."""
    other = r.choice(known).data
    end = r.choice((5, 8, layout.HEADER_SIZE))
    data[:end] = other[:end]


def _order(
    data: bytearray, original: Original, known: Sequence[Original], r: random.Random
) -> None:
    """Some fields, or all, in the other byte order."""
    share = r.choice((0.05, 0.5, 1.0))
    for at, size in original.fields:
        if r.random() < share and at + size <= len(data):
            data[at : at + size] = data[at : at + size][::-1]
    if share == 1.0 and len(data) > layout.ABI_AT and r.random() < 0.7:
        data[layout.ABI_AT] = r.choice([abi for m in machines.ALL for abi in m.sframe.abi_ids])


_Mutation = Callable[[bytearray, Original, Sequence[Original], random.Random], None]
_MUTATIONS: tuple[_Mutation, ...] = (
    _bits, _bytes, _field, _field, _field, _count, _share, _cut, _insert, _delete, _repeat,
    _splice, _header, _order,
)  # fmt: skip


def _set(data: bytearray, place: tuple[int, int], original: Original, r: random.Random) -> None:
    """An extreme, a neighbour of the old value, the size of something, or anything."""
    at, size = place
    order: ByteOrder = "big" if original.big else "little"
    bits = 8 * size
    old = int.from_bytes(data[at : at + size], order)
    value = r.choice(
        (
            0, 1, old + 1, old - 1, old ^ (1 << r.randrange(bits)), 2 * old, (1 << bits) - 1,
            1 << (bits - 1), (1 << (bits - 1)) - 1, len(data), len(data) - layout.HEADER_SIZE,
            r.getrandbits(bits), r.randrange(256),
        )
    )  # fmt: skip
    _put(data, at, (value % (1 << bits)).to_bytes(size, order))


def _put(data: bytearray, at: int, value: bytes) -> None:
    """Overwrite, without making the section longer."""
    room = data[at : at + len(value)]
    data[at : at + len(room)] = value[: len(room)]


# ---- sections that take as much time and memory for their bytes as is known to be possible


def _worst(fdes: bytes, area: bytes, version: int, num_fdes: int, num_fres: int) -> bytes:
    header = struct.pack(
        "<" + layout.HEADER, layout.MAGIC, version, layout.FDE_SORTED, 3, 0, -8, 0, num_fdes,
        num_fres & 0xFFFF_FFFF, len(area), 0, len(fdes),
    )  # fmt: skip
    return header + fdes + area


def _small_rows(size: int, step: int = 1) -> bytes:
    """Rows of two bytes; with step 0 every one of them has a start that is wrong."""
    number = size // 529
    area = bytes(byte for at in range(256) for byte in (at * step, 0)) * number
    fdes = b"".join(struct.pack("<iIIIB", 4096 * n, 255, 512 * n, 256, 0) for n in range(number))
    return _worst(fdes, area, 1, number, 256 * number)


def _read_twice(size: int) -> bytes:
    """A function astray goes through all rows before the functions that own them do."""
    number = size // 530
    area = bytes(2 * 256 * number)
    fdes = struct.pack("<iIIIB", 0, 255, 0, 256 * number, 0)
    fdes += b"".join(
        struct.pack("<iIIIB", 4096 * (n + 1), 255, 512 * n, 256, 0) for n in range(number)
    )
    return _worst(fdes, area, 1, number + 1, 512 * number)


def _different_rows(size: int, word: int = 0) -> bytes:
    """No two rows say the same; those of FLEX functions are all wrong."""
    number = size // 1557
    flex = bool(word)
    area = bytearray()
    for n in range(number):
        if flex:
            area += struct.pack("<HBBB", 255, 0, layout.FLEX, 0)
            area += b"".join(
                struct.pack("<BBHH", at, 4 | 1 << 5, word, (n << 8 | at) & 0xFFFF)
                for at in range(255)
            )
        else:
            area += b"".join(struct.pack("<BBI", at, 3 | 2 << 5, n << 8 | at) for at in range(256))
    if flex:
        fdes = b"".join(struct.pack("<qII", 4096 * n, 255, 1535 * n) for n in range(number))
        return _worst(fdes, bytes(area), 3, number, 255 * number)
    fdes = b"".join(struct.pack("<iIIIB", 4096 * n, 255, 1536 * n, 256, 0) for n in range(number))
    return _worst(fdes, bytes(area), 1, number, 256 * number)


def _no_rows(size: int) -> bytes:
    """Functions without a single row."""
    number = size // 17
    fdes = b"".join(struct.pack("<iIIIB", 512 * n, 255, 0, 0, 0) for n in range(number))
    return _worst(fdes, b"", 1, number, 0)


def _all_wrong(size: int) -> bytes:
    """Every field of every function is wrong, and all share one set of attributes."""
    number = size // 16
    fdes = b"".join(struct.pack("<qII", -512 * n, 255, 0 if n % 2 else 7) for n in range(number))
    return _worst(fdes, b"\xff\xff\xff\xff\0", 3, number, 5)


def _all_cut(size: int) -> bytes:
    """Functions whose first row does not fit, all at the same place."""
    number = size // 17
    fdes = b"".join(struct.pack("<iIIIB", -512 * n, 255, 2, 1, 0x70) for n in range(number))
    return _worst(fdes, b"\0\0\0", 1, number, 5)


WORST: dict[str, Callable[[int], bytes]] = {
    "rows of two bytes": _small_rows,
    "the same, every start wrong": lambda size: _small_rows(size, 0),
    "rows read twice": _read_twice,
    "no two rows the same": _different_rows,
    "the same, all wrong": lambda size: _different_rows(size, 0xFF00),
    "functions without rows": _no_rows,
    "every field wrong": _all_wrong,
    "every first row cut": _all_cut,
}
"""By name: makes a section of about so many bytes."""
