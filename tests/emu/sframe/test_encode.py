from collections.abc import Mapping
from dataclasses import replace

import pytest

from arch import by_sframe_abi
from emu.errors import SFrameError
from emu.image import load_image
from emu.sframe.container import decode_contained, find_section
from emu.sframe.decode import decode
from emu.sframe.encode import Entry, Target, encode, encode_rows
from emu.sframe.form import Content, Form, FormError, FormFunction, FormRow, read_form
from emu.sframe.layout import FDE_FUNC_START_PCREL
from emu.sframe.table import function_rows
from emu.sframe.writer import Field, WordRange, write_content
from testprogs.unpack import Prebuilt
from tests.emu.sframe.section import Function, section

AMD64, AARCH64, AARCH64_BE, S390X = 3, 2, 1, 4


def row(start: int, *words: int, sp: bool = True, signed: bool = False) -> FormRow:
    return FormRow(start, Content(sp, signed, words))


# --------------------------------------------------------------- sections of real producers


def test_every_prebuilt_section_comes_back(prebuilt: Mapping[tuple[str, str], Prebuilt]) -> None:
    """Decoding and encoding gives the bytes that assembler and linker wrote."""
    wrong = []
    for key, entry in prebuilt.items():
        contained = find_section(load_image(str(entry.path)))
        assert contained is not None
        if encode(read_form(contained.data)).data != contained.data:
            wrong.append(key)
    assert len(prebuilt) >= 244
    assert wrong == []


def test_rows_give_the_functions_of_real_producers(
    prebuilt: Mapping[tuple[str, str], Prebuilt],
) -> None:
    """Encoding rows makes the same choices: FDE type, FRE type, words, their order and flags."""
    functions = 0
    wrong = []
    for key, entry in prebuilt.items():
        image = load_image(str(entry.path))
        contained = find_section(image)
        assert contained is not None
        decoded = decode_contained(image, contained)
        form = read_form(contained.data)
        relocatable = image.kind == "rel"
        entries = [
            Entry(rows, key_b=fde.pauth_key == "b", signal=fde.signal)
            for rows, fde in zip(function_rows(decoded, relocatable), decoded.fdes, strict=True)
        ]
        target = Target.of(form.arch, form.version, errata=bool(form.flags & FDE_FUNC_START_PCREL))
        address = None if relocatable else contained.address
        found = encode_rows(entries, target, address=address, sort=not relocatable)
        assert found.refusals == ()
        # The linker keeps rows in the order of its inputs, rows alone have no such order.
        made = replace(found.encoded.form, order=form.order, behind=form.behind)
        functions += len(made.functions)
        if made != form:
            wrong.append(key)
    assert functions > 10_000
    assert wrong == []


# One function `f` of 7 bytes with a frame pointer, one `g` of 315 bytes with a large frame, as
# the assembler writes them, not relocated: releases 2.40, 2.44 and 2.47.50 of binutils.
SMALL = (
    row(0, 8),
    row(1, 16, -16),
    row(4, 16, -16, sp=False),
    row(6, 8, -16),
)
LARGE = (row(0, 8), row(7, 264), row(0x13A, 8))
ROWS = "000308 010510f0 040410f0 060508f0", "00000308 0700230801 3a010308"
VECTORS = {
    1: "e2de0100 0300f800 02000000 07000000 1c000000 00000000 22000000"
    "00000000 07000000 00000000 04000000 00"
    f"00000000 3b010000 0f000000 03000000 01 {ROWS[0]} {ROWS[1]}",
    2: "e2de0200 0300f800 02000000 07000000 1c000000 00000000 28000000"
    "00000000 07000000 00000000 04000000 00 00 0000"
    f"00000000 3b010000 0f000000 03000000 01 00 0000 {ROWS[0]} {ROWS[1]}",
    3: "e2de0304 0300f800 02000000 07000000 26000000 00000000 20000000"
    "0000000000000000 07000000 00000000"
    "0000000000000000 3b010000 14000000"
    f"0400000000 {ROWS[0]} 0300010000 {ROWS[1]}",
}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_sections_of_the_assembler(version: int) -> None:
    """Two functions that the three assemblers were given."""
    functions = FormFunction(0, 7, SMALL, 0), FormFunction(0, 315, LARGE, 1)
    flags = FDE_FUNC_START_PCREL if version == 3 else 0
    form = Form(version, flags, AMD64, 0, -8, functions)
    wanted = bytes.fromhex(VECTORS[version])
    assert encode(form).data == wanted
    assert read_form(wanted) == form


@pytest.mark.parametrize(
    ("abi", "flex", "content", "written"),
    [
        (AMD64, True, Content(False, False, (0x33, -8, 0, 0x33, 0)), "0a 33f8003300"),
        (AMD64, True, Content(False, False, (0x39, 16, 0, 2, -16)), "0a 39100002f0"),
        (AMD64, True, Content(False, False, (0x39, 0, 9, 0)), "08 39000900"),
        (AMD64, True, Content(False, False, (0xF9, 0)), "04 f900"),
        (AMD64, True, Content(False, False, (321, 16)), "24 41011000"),
        (AARCH64, False, Content(True, True, (32, -24, -32)), "87 20e8e0"),
        (AARCH64, False, Content(True, False, (16, -16)), "05 10f0"),
        (AARCH64_BE, False, Content(True, False, (512, -512)), "25 0200fe00"),
        (S390X, False, Content(True, False, (22, -48, -72)), "07 16d0b8"),
        (S390X, False, Content(True, False, (0, 0, -72)), "07 0000b8"),
        (S390X, True, Content(False, False, (0x79, 0, 0x91, 0, 0x89, 0)), "0c 790091008900"),
        (S390X, True, Content(False, False, (0x79, 0, 2, -48, 0x89, 0)), "0c 790002d08900"),
        (AMD64, False, Content(False, False, ()), "00"),
    ],
)
def test_rows_of_the_assembler(abi: int, flex: bool, content: Content, written: str) -> None:
    """Rows as the assembler wrote them, with words of the smallest size."""
    machine = by_sframe_abi(abi)
    assert machine is not None
    order = machine.sframe.abi_ids[abi]
    assert write_content(content, flex, order, WordRange.FULL) == bytes.fromhex(written)


@pytest.mark.parametrize(
    ("word", "symmetric", "full"),
    [
        (127, 1, 1), (128, 2, 2), (-127, 1, 1), (-128, 2, 1), (-129, 2, 2),
        (32767, 2, 2), (32768, 4, 4), (-32767, 2, 2), (-32768, 4, 2), (-32769, 4, 4),
        (-(1 << 31), 4, 4), ((1 << 31) - 1, 4, 4),
    ],
)  # fmt: skip
def test_word_size(word: int, symmetric: int, full: int) -> None:
    """Releases up to 2.44 do not use the lowest value that a word of one or two bytes has."""
    content = Content(True, False, (word,))
    for word_range, size in ((WordRange.SYMMETRIC, symmetric), (WordRange.FULL, full)):
        assert len(write_content(content, False, "little", word_range)) == 1 + size


@pytest.mark.parametrize(("version", "size"), [(1, 2), (2, 2), (3, 1)])
def test_word_range_follows_the_version(version: int, size: int) -> None:
    """V1 and V2 come from the releases that leave -128 out."""
    form = Form(version, 0, AARCH64, 0, 0, (FormFunction(0, 8, (row(0, 16, -128),), 0),))
    assert len(encode(form).data) == {1: 45, 2: 48, 3: 49}[version] + 2 + 2 * size


# ------------------------------------------------------------------------ what a form keeps


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("abi", [AMD64, AARCH64, AARCH64_BE, S390X])
def test_bytes_that_belong_to_nothing(version: int, abi: int) -> None:
    """An auxiliary header, gaps between the parts and bytes behind the end are kept."""
    functions = [Function(0x100, 16, bytes.fromhex("000308 040310"), 2), Function(0x200, 4, b"", 0)]
    data = section(version, abi, functions, aux=b"aux", gap=b"gap") + b"behind"
    form = read_form(data)
    assert (form.aux, form.before_fres, form.behind) == (b"aux", b"gap", b"behind")
    assert encode(form).data == data


@pytest.mark.parametrize("version", [1, 2, 3])
def test_order_of_rows_and_gaps_between_them(version: int) -> None:
    """Rows need not stand in the order of the FDEs, nor back to back."""
    functions = (
        FormFunction(0x100, 16, SMALL, 0, before=b"??"),
        FormFunction(0x200, 0x200, LARGE, 1),
        FormFunction(0x400, 8, (), 0),
    )
    form = Form(
        version, 1, AMD64, 0, -8, functions, order=(1, 0, 2), before_fdes=b"....", area_end=b"!"
    )
    data = encode(form).data
    assert read_form(data) == form
    assert encode(read_form(data)).data == data


def test_facts_of_functions() -> None:
    """Repeated blocks, keys, signal frames and V2's padding are kept."""
    mask = FormFunction(0, 64, (row(0, 16),), 0, mask=True, rep_size=16, padding=0x1234)
    form = Form(2, 0, AMD64, 0, -8, (mask,))
    assert read_form(encode(form).data) == form
    key = FormFunction(0, 64, (row(0, 16, signed=True),), 0, key_b=True, signal=True)
    form = Form(3, FDE_FUNC_START_PCREL, AARCH64_BE, 0, 0, (key,))
    assert read_form(encode(form).data) == form


def test_starts_are_taken_as_stored() -> None:
    """A flag that the table is sorted is kept, whatever relocations will make of the starts."""
    functions = [Function(0x200, 16, b"", 0), Function(0x100, 16, b"", 0)]
    data = section(1, AMD64, functions, flags=1)
    assert decode(data).faults != ()
    assert encode(read_form(data)).data == data


def test_faults_have_no_form() -> None:
    """A section with a fault raises with its offset, and so does one that shares rows."""
    data = bytearray.fromhex(VECTORS[2])
    data[44] |= 0x40
    with pytest.raises(SFrameError) as caught:
        read_form(bytes(data))
    assert caught.value.offset == 44
    functions = [Function(0, 8, bytes.fromhex("000308 040310"), 2), Function(8, 8, b"", 0)]
    data = bytearray(section(2, AMD64, functions))
    data[56] = 3
    with pytest.raises(SFrameError) as caught:
        read_form(bytes(data))
    assert caught.value.offset == 56


# -------------------------------------------------------------------- wrong on request


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_byte_is_a_field(version: int) -> None:
    """The places of the fields cover the section without overlap."""
    encoded = encode(read_form(bytes.fromhex(VECTORS[version])))
    covered = sorted(
        at for offset, size in encoded.fields().values() for at in range(offset, offset + size)
    )
    assert covered == list(range(len(encoded.data)))


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        (("header", 0, "num_fres"), 8, "8 FREs, the functions have 7 in all"),
        (("fde", 1, "info"), 0x43, "reserved bits 0x40 are set"),
        (("fde", 0, "num_fres"), 200, "200 FREs, the header has 7 in all"),
        (("row", 2, "start"), 1, "the start is not above the one before, or behind the function"),
        (("row", 5, "info"), 0x63, "size code 3 for the data words"),
    ],
)
def test_wrong_field(version: int, field: tuple[str, int, str], value: int, reason: str) -> None:
    """A value put into one field after encoding is the fault that the decoder reports there."""
    encoded = encode(read_form(bytes.fromhex(VECTORS[version])))
    faults = decode(encoded.patched({field: value})).faults
    assert (encoded.fields()[Field(*field)].offset, reason) in faults


def test_negative_values_and_words() -> None:
    """Values are cut to the size of their field, in the section's byte order."""
    form = Form(3, 4, S390X, 0, 0, (FormFunction(0, 8, (row(0, 300, -48),), 0),))
    encoded = encode(form)
    data = encoded.patched({("row", 0, "word1"): -2, ("fde", 0, "start"): -1})
    assert data[28:36] == b"\xff" * 8
    assert data[-2:] == b"\xff\xfe"
    with pytest.raises(KeyError):
        encoded.patched({("row", 0, "word2"): 0})


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (Form(4, 0, AMD64, 0, -8, ()), "version 4"),
        (Form(3, 0, 9, 0, -8, ()), "ABI 9"),
        (Form(2, 0, AMD64, 0, -800, ()), "header"),
        (Form(2, 0, AMD64, 0, -8, (FormFunction(1 << 31, 8, (), 0),)), "0x80000000"),
        (Form(2, 0, AMD64, 0, -8, (FormFunction(0, 1 << 32, (), 0),)), "function at 0x0"),
        (Form(2, 0, AMD64, 0, -8, (FormFunction(0, 8, (row(256, 8),), 0),)), "function 0"),
        (Form(2, 0, AMD64, 0, -8, (FormFunction(0, 8, (row(0, 1 << 31),), 0),)), "four bytes"),
        (Form(2, 0, AMD64, 0, -8, (FormFunction(0, 8, (row(0, *[1] * 16),), 0),)), "16 words"),
        (
            Form(3, 0, AMD64, 0, -8, (FormFunction(0, 9, (row(0, 8),) * 65536, 0),)),
            "function 0",
        ),
        (Form(2, 0, AMD64, 0, -8, (FormFunction(0, 8, (), 0),), order=(1,)), "order"),
    ],
)
def test_values_that_no_field_holds(form: Form, words: str) -> None:
    """A form that has no bytes raises with the reason."""
    with pytest.raises(FormError, match=words):
        encode(form)
