from collections import Counter
from collections.abc import Mapping

import pytest

from arch import Row
from emu.image import load_image
from emu.sframe.container import decode_contained, find_section
from emu.sframe.convert import HeaderLoss, convert
from emu.sframe.decode import Decoded, decode
from emu.sframe.encode import Reason
from emu.sframe.layout import FDE_SORTED, FRAME_POINTER
from emu.sframe.table import function_rows
from testprogs.unpack import Prebuilt
from tests.emu.sframe.section import Function, section

AMD64, AARCH64, AARCH64_BE, S390X = 3, 2, 1, 4
MASK, SIGNAL, KEY_B, FLEX = 0x10, 0x80, 0x20, 1


def meanings(decoded: Decoded, relocatable: bool = False) -> dict[tuple[int, int, int], Row]:
    """Rows that say something, by section and range of addresses (or in a block of one)."""
    found = {}
    for function in function_rows(decoded, relocatable):
        ends = (*function.starts[1:], function.size)[: len(function.rows)]
        for start, end, row in zip(function.starts, ends, function.rows, strict=True):
            if isinstance(row, Row) and (start < end or function.rep_size):
                base = function.start
                found[function.section, base + start, base + end] = row
    return found


@pytest.mark.parametrize("version", [1, 2, 3])
def test_prebuilt_sections(version: int, prebuilt: Mapping[tuple[str, str], Prebuilt]) -> None:
    """In each version every row is there and means the same, or is named as lost."""
    losses: Counter[Reason] = Counter()
    for entry in prebuilt.values():
        image = load_image(str(entry.path))
        contained = find_section(image)
        assert contained is not None
        if image.kind == "rel":
            continue
        old = decode_contained(image, contained)
        conversion = convert(old, version, address=contained.address)
        new = decode(conversion.data, contained.address)
        assert new.faults == ()
        before, after = meanings(old), meanings(new)
        lost = {
            (-1, old.fdes[loss.entry].start + loss.row, old.fdes[loss.entry].start + loss.end)
            for loss in conversion.losses
            if loss.row is not None and loss.end is not None
        }
        assert len(lost) == len(conversion.losses)
        assert {key: row for key, row in before.items() if key not in lost} == after
        losses.update(loss.misfit.reason for loss in conversion.losses)
        if version == old.header.version.number:
            assert conversion.losses == ()
    assert (version == 3) == (not losses)
    assert bool(losses[Reason.OUTERMOST]) == (version == 1)


def test_relocatable_file(prebuilt: Mapping[tuple[str, str], Prebuilt]) -> None:
    """Starts are left to the relocations, everything else is as in a linked file."""
    image = load_image(str(prebuilt["x86_64", "flow-v1-object"].path))
    contained = find_section(image)
    assert contained is not None
    old = decode_contained(image, contained)
    conversion = convert(old, 3, address=None)
    assert conversion.losses == ()
    assert [fde.start for fde in decode(conversion.data, 0, None, {}).fdes] == [0] * len(old.fdes)
    assert conversion.encoding.starts == tuple(fde.start for fde in old.fdes)


ROWS = bytes.fromhex("000308 040310")


@pytest.mark.parametrize("old", [1, 2, 3])
@pytest.mark.parametrize("new", [1, 2, 3])
@pytest.mark.parametrize("abi", [AMD64, AARCH64, AARCH64_BE, S390X])
def test_plain_rows(old: int, new: int, abi: int) -> None:
    """What all versions have survives every conversion, in each byte order, sorted or not."""
    fixed = -8 if abi == AMD64 else 0
    functions = [Function(0x200, 16, ROWS, 2), Function(0x100, 0, b"", 0)]
    for flags in (0, FDE_SORTED):
        given = functions[::-1] if flags else functions
        data = section(old, abi, given, flags=flags, fixed_ra=fixed)
        conversion = convert(decode(data), new)
        back = convert(decode(conversion.data), old, errata=False)
        assert conversion.losses == back.losses == ()
        first, last = decode(data), decode(back.data)
        assert [(f.start, f.size) for f in last.fdes] == [(f.start, f.size) for f in first.fdes]
        assert meanings(last) == meanings(first)
        assert last.header.flags & FDE_SORTED == flags


def test_registers_in_offsets_become_flex_and_back() -> None:
    """V2 names a register by an odd word, V3 by a control word."""
    rows = bytes.fromhex("00072c2523")
    data = section(2, S390X, [Function(0x100, 16, rows, 1)])
    conversion = convert(decode(data), 3)
    assert conversion.data.endswith(bytes.fromhex("0001 00 01 00 00 0c 792c91008900"))
    back = convert(decode(conversion.data), 2, errata=False)
    assert back.data == data


def test_fixed_fp_offset_becomes_words() -> None:
    """A header that fixes FP says the same as a word in each row."""
    data = section(2, AMD64, [Function(0x100, 16, ROWS, 2)], fixed_fp=-16, fixed_ra=-8)
    conversion = convert(decode(data), 3)
    assert conversion.data.endswith(bytes.fromhex("000508f0 040510f0"))
    assert conversion.losses == ()


@pytest.mark.parametrize(
    ("function", "version", "reasons"),
    [
        (Function(0x100, 64, ROWS, 2, MASK, 0, 16), 1, []),
        (Function(0x100, 64, ROWS, 2, MASK, 0, 8), 1, ["rep-size"]),
        (Function(0x100, 64, ROWS, 2, MASK, 0, 0), 2, ["corrupt"]),
        (Function(0x100, 16, ROWS, 2, SIGNAL), 2, ["signal"]),
        (Function(0x100, 16, b"", 0, SIGNAL), 2, ["signal"]),
        (Function(0x100, 16, b"", 0, SIGNAL), 3, []),
        (Function(0x100, 16, b"", 0), 1, []),
        (Function(0x100, 16, bytes.fromhex("0000 040310"), 2), 1, ["outermost"]),
        (Function(0x100, 16, bytes.fromhex("0000 040310"), 2), 2, []),
        (Function(0x100, 16, bytes.fromhex("0008390809f8"), 1, 0, FLEX), 2, ["ra-register"]),
        (Function(0x100, 16, bytes.fromhex("0008390800f8"), 1, 0, FLEX), 2, ["corrupt"]),
        (Function(0x100, 16, bytes.fromhex("000a39080004f8"), 1, 0, FLEX), 3, ["corrupt"]),
        (Function(0x100, 16, bytes.fromhex("000439080104 3910"), 2, 0, FLEX), 2, []),
        (Function(1 << 40, 16, ROWS, 2), 2, ["start-range"]),
        (Function(0x100, 16, ROWS + b"\x04\x03\x18", 3), 2, ["corrupt"]),
    ],
)
def test_losses(function: Function, version: int, reasons: list[str]) -> None:
    """What V3 says and the version asked for does not, each by its reason."""
    data = section(3, AMD64, [function], fixed_ra=-8)
    conversion = convert(decode(data), version)
    assert [loss.misfit.reason for loss in conversion.losses] == reasons
    assert conversion.reasons() == dict(Counter(reasons))
    new = decode(conversion.data)
    assert new.faults == ()
    if not reasons:
        assert meanings(new) == meanings(decode(data))


def test_good_rows_around_a_bad_one() -> None:
    """Rows before and behind a lost one stay, unless whole functions are to go."""
    rows = bytes.fromhex("00043908 040439f8 08083900 0900 0c043910".replace(" ", ""))
    data = section(3, AMD64, [Function(0x100, 16, rows, 4, 0, FLEX)], fixed_ra=-8)
    conversion = convert(decode(data), 2)
    assert [(loss.row, loss.end) for loss in conversion.losses] == [(8, 12)]
    assert [(f.start, f.size) for f in decode(conversion.data).fdes] == [(0x100, 8), (0x10C, 4)]
    conversion = convert(decode(data), 2, whole=True)
    assert [(loss.row, loss.end) for loss in conversion.losses] == [(8, None)]
    assert decode(conversion.data).fdes == ()


def test_key_of_signatures() -> None:
    """Key B and signed rows are in all versions."""
    rows = bytes.fromhex("008310 04872010f0")
    data = section(3, AARCH64, [Function(0x100, 16, rows, 2, KEY_B)])
    for version in (1, 2, 3):
        conversion = convert(decode(data), version)
        new = decode(conversion.data)
        assert conversion.losses == ()
        assert new.fdes[0].pauth_key == "b"
        assert meanings(new) == meanings(decode(data))


def test_header_losses() -> None:
    """The frame-pointer flag has no place in V3, an auxiliary header in no new section."""
    data = section(2, AMD64, [], flags=FRAME_POINTER, fixed_ra=-8, aux=b"aux")
    conversion = convert(decode(data), 3, aux=True)
    assert conversion.header_losses == (HeaderLoss.FRAME_POINTER, HeaderLoss.AUXILIARY)
    assert conversion.reasons() == {"frame-pointer-flag": 1, "auxiliary-header": 1}
    conversion = convert(decode(data), 1)
    assert conversion.header_losses == ()
    assert decode(conversion.data).header.flags == FRAME_POINTER
