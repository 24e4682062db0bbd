import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch import CfaRule, RegRule, RuleKind, by_sframe_abi
from emu.errors import SFrameError
from emu.sframe import scan
from emu.sframe.decode import Decoded, decode
from emu.sframe.stored import BadRow, Dialect, StoredRow, read_row
from tests.emu.sframe.section import Function, section

AMD64, AARCH64, AARCH64_BE, S390X = 3, 2, 1, 4

Text = tuple[int, str | None, str | None, str]


def rows(decoded: Decoded, fde: int) -> list[Text]:
    """Start, CFA, FP, RA of the rows that count."""
    entry, found = decoded.fdes[fde], decoded.rows
    texts = []
    for index in range(entry.first, entry.last):
        if found.contents[index] >= 0:
            row = found.stored[found.contents[index]]
            texts.append((found.starts[index], row.cfa_text, row.fp_text, row.ra_text))
    return texts


def offsets(decoded: Decoded) -> list[int]:
    return [fault.offset for fault in decoded.faults]


# Two functions of 16 bytes with the rows 0: SP+8 and 4: SP+16 each, not flagged sorted.
#
#                 FDE A  FDE B   rows of A    rows of B    end
#     V1           28     45      62, 65       68, 71       74
#     V2           28     48      68, 71       74, 77       80
#     V3           28     44    60: 65, 68   71: 76, 79     82     (attributes: rows)
PLAIN_ROWS = bytes.fromhex("000308 040310")
GOOD: list[Text] = [(0, "sp+8", "u", "f"), (4, "sp+16", "u", "f")]


BASE = {
    version: section(
        version,
        AMD64,
        [Function(0x100, 16, PLAIN_ROWS, 2), Function(0x200, 16, PLAIN_ROWS, 2)],
        fixed_ra=-8,
    )
    for version in (1, 2, 3)
}


def patch(data: bytes, offset: int, value: str) -> bytes:
    new = bytes.fromhex(value)
    return data[:offset] + new + data[offset + len(new) :]


# ---------------------------------------------------------------- nothing can be decoded


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize(
    ("offset", "value", "fault"),
    [
        (0, "deff", 0),
        (0, "dee2", 4),  # big-endian magic, little-endian ABI
        (2, "00", 2),
        (2, "04", 2),
        (3, "08", 3),
        (4, "00", 4),
        (4, "05", 4),
        (4, "01", 4),
        (7, "ff", 7),
        (8, "ffffffff", 8),
        (8, "03000000", 8),
        (20, "ffffff00", 20),
        (24, "ffffff7f", 24),
    ],
)
def test_unusable_header(version: int, offset: int, value: str, fault: int) -> None:
    """A header that cannot be used raises with the offset of the field."""
    with pytest.raises(SFrameError) as caught:
        decode(patch(BASE[version], offset, value))
    assert caught.value.offset == fault


@pytest.mark.parametrize(("version", "flag"), [(1, 4), (3, 2)])
def test_flag_that_the_version_lacks(version: int, flag: int) -> None:
    """V1 has no start relative to its field, V3 no frame-pointer flag."""
    with pytest.raises(SFrameError) as caught:
        decode(patch(BASE[version], 3, f"{flag:02x}"))
    assert caught.value.offset == 3


@pytest.mark.parametrize("size", [0, 1, 2, 4, 27])
def test_header_cut(size: int) -> None:
    """A section that ends inside the header names its end."""
    with pytest.raises(SFrameError) as caught:
        decode(BASE[3][:size])
    assert caught.value.offset == size


def test_byte_order_of_the_file() -> None:
    """The magic must be in the byte order of the file around it."""
    with pytest.raises(SFrameError) as caught:
        decode(BASE[3], 0, "big")
    assert caught.value.offset == 0


def test_fdes_cut() -> None:
    """A section that ends among its FDEs cannot hold the FREs behind them."""
    with pytest.raises(SFrameError) as caught:
        decode(BASE[2][:60])
    assert caught.value.offset in (8, 24, 60)


# ------------------------------------------------------- faults that leave something decoded


@pytest.mark.parametrize(
    ("version", "offset", "value", "fault", "first"),
    [
        # Header fields: all rows stay.
        (1, 12, "05000000", 12, GOOD),
        (2, 12, "ffffffff", 12, GOOD),
        (3, 12, "05000000", 12, GOOD),
        (1, 16, "ff000000", 16, GOOD),
        (2, 16, "0d000000", 16, GOOD),
        (3, 16, "ffffffff", 16, GOOD),
        # FRE offset (V3: attributes) outside the area.
        (1, 36, "0c000000", 36, []),
        (2, 36, "ffffffff", 36, []),
        (3, 40, "12000000", 40, []),
        (3, 40, "16000000", 40, []),
        # More FREs than the header has.
        (1, 40, "05000000", 40, []),
        (2, 40, "ffffffff", 40, []),
        (3, 60, "0500", 60, []),
        # FRE type, FDE type.
        (1, 44, "03", 44, []),
        (2, 44, "0f", 44, []),
        (3, 62, "03", 62, []),
        (3, 63, "02", 63, []),
        # Reserved bits: bit 6, bit 7 before V3, bit 5 off aarch64, bits of info2.
        (1, 44, "40", 44, GOOD),
        (1, 44, "80", 44, GOOD),
        (2, 44, "80", 44, GOOD),
        (2, 44, "20", 44, GOOD),
        (3, 62, "40", 62, GOOD),
        (3, 62, "20", 62, GOOD),
        (3, 63, "20", 63, GOOD),
        # Repeated rows without a size.
        (2, 44, "10", 45, GOOD),
        (3, 62, "10", 64, GOOD),
        # Size code 3, and word counts that a DEFAULT row of amd64 cannot have.
        (1, 66, "63", 66, GOOD[:1]),
        (2, 69, "63", 69, []),
        (3, 69, "67", 69, GOOD[:1]),
        (2, 72, "07", 72, GOOD[:1]),
        (3, 66, "1f", 66, []),
        # Starts: equal, behind the function.
        (1, 65, "00", 65, [GOOD[0], (0, "sp+16", "u", "f")]),
        (2, 71, "11", 71, [GOOD[0], (17, "sp+16", "u", "f")]),
        (3, 68, "00", 68, [GOOD[0], (0, "sp+16", "u", "f")]),
    ],
)
def test_one_fault(version: int, offset: int, value: str, fault: int, first: list[Text]) -> None:
    """A fault is named by its offset, and the other function stays whole."""
    decoded = decode(patch(BASE[version], offset, value))
    assert offsets(decoded) == [fault]
    assert rows(decoded, 0) == first
    assert rows(decoded, 1) == GOOD


@pytest.mark.parametrize(("version", "end", "fault"), [(1, 73, 71), (2, 78, 77), (3, 81, 79)])
def test_area_cut(version: int, end: int, fault: int) -> None:
    """Where the section ends inside a row, that row is missing, those before it are there."""
    decoded = decode(BASE[version][:end])
    assert offsets(decoded) == [16, fault]
    assert rows(decoded, 0) == GOOD
    assert rows(decoded, 1) == GOOD[:1]


@pytest.mark.parametrize(("version", "fre_field", "fault"), [(1, 53, 53), (2, 56, 56), (3, 56, 56)])
def test_rows_of_another_function(version: int, fre_field: int, fault: int) -> None:
    """The later of two functions that name the same rows has none."""
    decoded = decode(patch(BASE[version], fre_field, "00000000"))
    assert fault in offsets(decoded)
    assert rows(decoded, 0) == GOOD
    assert rows(decoded, 1) == []
    assert decoded.fdes[1].no_rows


def test_count_that_runs_into_the_next_function() -> None:
    """One row too many is the fault of the function that claims it, not of its neighbour."""
    decoded = decode(patch(BASE[1], 40, "03000000"))
    assert offsets(decoded) == [12, 68]
    assert rows(decoded, 1) == GOOD


def test_functions_that_share_rows_are_not_read_again_and_again() -> None:
    """Many functions over one long chain of rows take time linear in the bytes."""
    number = 2000
    chain = b"".join(struct.pack("<IB", start, 0) for start in range(number))
    fdes = b"".join(
        struct.pack("<iIIIB", 0, 1 << 31, 5 * start, number, 2) for start in reversed(range(number))
    )
    header = struct.pack(
        "<HBBBbbBIIIII", 0xDEE2, 1, 0, 3, 0, -8, 0, number, 1 << 31, len(chain), 0, len(fdes)
    )
    decoded = decode(header + fdes + chain)
    assert len(decoded.rows.starts) <= 2 * number


def test_unsorted() -> None:
    """In a table flagged sorted the later of two functions out of order is at fault."""
    functions = [Function(start, 16, PLAIN_ROWS, 2) for start in (0x100, -0x80, 0x200, 0x200)]
    decoded = decode(section(2, AMD64, functions, flags=1, fixed_ra=-8))
    assert offsets(decoded) == [48, 88]
    assert [fde.disordered for fde in decoded.fdes] == [False, True, False, False]
    assert decode(section(2, AMD64, functions, fixed_ra=-8)).faults == ()


def test_overlap() -> None:
    """A function that reaches into the next one is a fault of the next; size 0 is none."""
    functions = [
        Function(0x100, 17, PLAIN_ROWS, 2),
        Function(0x108, 0, b"", 0),
        Function(0x110, 16, PLAIN_ROWS, 2),
        Function(0x120, 16, PLAIN_ROWS, 2),
    ]
    decoded = decode(section(2, AMD64, functions, flags=1, fixed_ra=-8))
    assert offsets(decoded) == [68]
    assert not any(fde.disordered for fde in decoded.fdes)


def test_missing_relocation() -> None:
    """In a relocatable file each start needs a relocation; the others keep theirs."""
    decoded = decode(BASE[3], relocations={44: (5, 0x30)})
    assert offsets(decoded) == [28]
    assert (decoded.fdes[1].section, decoded.fdes[1].start) == (5, 0x30)
    assert decoded.fdes[0].section == -1
    assert rows(decoded, 0) == GOOD


def test_machine_of_the_file() -> None:
    """A section made for another machine than the file is decoded, and says so."""
    assert offsets(decode(BASE[3], machine=183)) == [4]
    assert offsets(decode(BASE[3], machine=62)) == []


# Two FLEX rows of amd64; the first one's info byte stands at 50, its words from 51 on.
@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("04 00 00", 51),  # CFA: filler
        ("04 02 10", 51),  # CFA on itself
        ("04 3d 10", 51),  # reserved bit
        ("08 39 10 06 f0", 53),  # reserved bit in the RA rule
        ("08 39 10 00 02", 54),  # FP rule without an offset
        ("46 41080000 10000000 00000000", 51),  # register 264
        ("0a 39 10 00 00 00", 50),  # one word more than CFA and two fillers
    ],
)
def test_bad_flex_row(content: str, fault: int) -> None:
    """A FLEX row with a wrong control word is dropped alone."""
    row = bytes.fromhex(content)
    good = bytes.fromhex("08 04 39 08")
    data = section(3, AMD64, [Function(0x100, 16, b"\0" + row + good, 2, info2=1)], fixed_ra=-8)
    decoded = decode(data)
    assert offsets(decoded) == [fault]
    assert rows(decoded, 0) == [(8, "sp+8", "u", "f")]


@pytest.mark.parametrize("words", [1, 7, 15])
def test_flex_word_count(words: int) -> None:
    """FLEX rows have two to six words; with any other number the rest is lost."""
    row = bytes((0, words << 1)) + bytes((0x39, 0x10)) * 8
    data = section(3, AMD64, [Function(0x100, 16, row, 1, info2=1)], fixed_ra=-8)
    assert offsets(decode(data)) == [50]


# ------------------------------------------------------------------------ good sections

# Program P1 as objects, unrelocated: made with binutils 2.40, 2.44 and 2.47.50.
P1_ROWS = "000308 010510f0 040410f0 060508f0"
P1 = {
    1: "e2de0100 0300f800 02000000 07000000 1c000000 00000000 22000000"
    "00000000 07000000 00000000 04000000 00"
    "00000000 3b010000 0f000000 03000000 01" + P1_ROWS + "00000308 0700230801 3a010308",
    2: "e2de0200 0300f800 02000000 07000000 1c000000 00000000 28000000"
    "00000000 07000000 00000000 04000000 00 00 0000"
    "00000000 3b010000 0f000000 03000000 01 00 0000" + P1_ROWS + "00000308 0700230801 3a010308",
    3: "e2de0304 0300f800 02000000 07000000 26000000 00000000 20000000"
    "0000000000000000 07000000 00000000"
    "0000000000000000 3b010000 14000000"
    "0400000000" + P1_ROWS + "0300010000 00000308 0700230801 3a010308",
}


@pytest.mark.parametrize("version", [1, 2, 3])
def test_object_of_the_assembler(version: int) -> None:
    """Bytes that assemblers of three releases wrote give the rows of the source."""
    relocations = {28: (1, 0), {1: 45, 2: 48, 3: 44}[version]: (1, 7)}
    decoded = decode(bytes.fromhex(P1[version]), 0, "little", relocations, 62)
    assert decoded.faults == ()
    assert [(fde.start, fde.size, fde.section) for fde in decoded.fdes] == [(0, 7, 1), (7, 315, 1)]
    assert rows(decoded, 0) == [
        (0, "sp+8", "u", "f"),
        (1, "sp+16", "c-16", "f"),
        (4, "fp+16", "c-16", "f"),
        (6, "sp+8", "c-16", "f"),
    ]
    assert rows(decoded, 1) == [
        (0, "sp+8", "u", "f"), (7, "sp+264", "u", "f"), (314, "sp+8", "u", "f"),
    ]  # fmt: skip


def dialect(abi: int, version: int = 3, flex: bool = False) -> Dialect:
    arch = by_sframe_abi(abi)
    assert arch is not None
    return Dialect(arch, version, arch.sframe.abi_ids[abi], 0, arch.sframe.fixed_ra_offset, flex)


@pytest.mark.parametrize(
    ("abi", "version", "flex", "content", "texts"),
    [
        (AMD64, 3, True, "0a 33 f8 00 33 00", ("(fp-8)", "(fp+0)", "U")),
        (AMD64, 3, True, "0a 39 10 00 02 f0", ("sp+16", "c-16", "U")),
        (AMD64, 3, True, "08 39 00 09 00", ("sp+0", "u", "r1+0")),
        (AMD64, 3, True, "04 39 08", ("sp+8", "u", "f")),
        (AARCH64, 3, False, "87 20 e8 e0", ("sp+32", "c-32", "c-24")),
        (AARCH64, 3, True, "04 f9 10", ("sp+16", "u", "u")),
        (AARCH64, 3, True, "24 4101 1000", ("r40+16", "u", "u")),
        (AARCH64_BE, 3, True, "24 0141 0010", ("r40+16", "u", "u")),
        (S390X, 3, False, "07 16 d0 b8", ("sp+336", "c-72", "c-48")),
        (S390X, 3, False, "07 00 00 b8", ("sp+160", "c-72", "U")),
        (S390X, 3, False, "03 ec", ("sp+0", "u", "u")),
        (S390X, 3, True, "0c 79 00 91 00 89 00", ("sp+160", "r17+0", "r18+0")),
        (S390X, 3, True, "0c 79 00 02 d0 89 00", ("sp+160", "r17+0", "c-48")),
        (S390X, 2, False, "05 00 d0", ("sp+160", "u", "c-48")),
        (S390X, 2, False, "07 00 25 23", ("sp+160", "r17", "r18")),
        (S390X, 3, False, "07 00 25 23", ("sp+160", "c+35", "c+37")),
        (AMD64, 3, False, "00", (None, None, "undef")),
        (S390X, 3, True, "00", (None, None, "undef")),
    ],
)
def test_row_texts(
    abi: int, version: int, flex: bool, content: str, texts: tuple[str | None, str | None, str]
) -> None:
    """Rows of the assembler, readelf's text for each."""
    row = read_row(bytes.fromhex(content), dialect(abi, version, flex))
    assert isinstance(row, StoredRow)
    assert (row.cfa_text, row.fp_text, row.ra_text) == texts
    assert row.ra_signed == content.startswith("87")


def test_row_rules() -> None:
    """Rules keep what is stored: register, unscaled offset, load."""
    row = read_row(bytes.fromhex("0c 7b 01 91 00 02 b8"), dialect(S390X, flex=True))
    assert isinstance(row, StoredRow)
    assert row.cfa == CfaRule(15, 168, deref=True)
    assert row.ra == RegRule(RuleKind.REGISTER, 18, 0)
    assert row.fp == RegRule(RuleKind.AT_CFA, offset=-72)


def test_value_relative_to_the_cfa_is_no_rule() -> None:
    """CFA + offset, not loaded, is printed as readelf prints it and has no rule."""
    row = read_row(bytes.fromhex("08 39 10 08 f0"), dialect(AMD64, flex=True))
    assert isinstance(row, StoredRow)
    assert (row.ra_text, row.ra) == ("c-16", None)


def test_register_bound() -> None:
    """Register 127 is read, register 128 is refused at its control word."""
    bound = dialect(AMD64, flex=True)
    row = read_row(bytes.fromhex("24 f903 1000"), bound)
    assert isinstance(row, StoredRow)
    assert row.cfa_text == "r127+16"
    refused = read_row(bytes.fromhex("24 0104 1000"), bound)
    assert isinstance(refused, BadRow)
    assert refused.offset == 1


def test_fixed_offsets() -> None:
    """Offsets of the header stand for words: FP always, RA so that FP is the second word."""
    function = Function(0x100, 16, bytes.fromhex("0005 20 e0"), 1)
    decoded = decode(section(3, AARCH64, [function], fixed_ra=-8))
    assert rows(decoded, 0) == [(0, "sp+32", "c-32", "f")]
    decoded = decode(section(3, AARCH64, [function], fixed_fp=-16))
    assert rows(decoded, 0) == [(0, "sp+32", "c-16", "c-32")]


@pytest.mark.parametrize(
    ("version", "flags", "starts"),
    [
        (1, 0, [0x100, 0x5000 - 0x40]),
        (2, 0, [0x100, 0x5000 - 0x40]),
        (2, 4, [0x100 + 28, 0x5000 - 0x40 + 48]),
        (3, 0, [0x100, 0x5000 - 0x40]),
        (3, 4, [0x100 + 28, 0x5000 - 0x40 + 44]),
    ],
)
def test_function_addresses(version: int, flags: int, starts: list[int]) -> None:
    """Starts count from the section, with the flag from their own field."""
    address = 0x5000
    functions = [
        Function(0x100 - address, 16, PLAIN_ROWS, 2), Function(-0x40, 16, PLAIN_ROWS, 2),
    ]  # fmt: skip
    decoded = decode(section(version, AMD64, functions, flags=flags, fixed_ra=-8), address)
    assert [fde.start for fde in decoded.fdes] == starts


def test_addresses_wrap() -> None:
    """At address 0 a function before the section has an address just below 2^64."""
    decoded = decode(section(3, AMD64, [Function(-16, 16, PLAIN_ROWS, 2)], fixed_ra=-8))
    assert decoded.fdes[0].start == (1 << 64) - 16
    assert decoded.faults == ()


def test_gaps_between_the_parts() -> None:
    """An auxiliary header and unused bytes are skipped; bytes behind the area are ignored."""
    function = Function(0x100, 16, PLAIN_ROWS, 2)
    data = section(2, AMD64, [function], fixed_ra=-8, aux=b"\xff" * 11, gap=b"\xff" * 5)
    decoded = decode(data + b"\xff" * 9)
    assert decoded.faults == ()
    assert rows(decoded, 0) == GOOD


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("width", [0, 1, 2])
@pytest.mark.parametrize("abi", [AARCH64, AARCH64_BE])
def test_widths_and_byte_orders(version: int, width: int, abi: int) -> None:
    """Row starts of one, two and four bytes, in both byte orders."""
    order = "little" if abi == AARCH64 else "big"
    content = b"".join(
        start.to_bytes(1 << width, order) + bytes((0x23,)) + offset.to_bytes(2, order)
        for start, offset in ((0, 0), (4, 0x120))
    )
    decoded = decode(section(version, abi, [Function(0x100, 300, content, 2, info=width)]))
    assert decoded.faults == ()
    assert rows(decoded, 0) == [(0, "sp+0", "u", "u"), (4, "sp+288", "u", "u")]


def test_legal_oddities() -> None:
    """A last row at the end of its function, a function without rows, and none at all."""
    functions = [
        Function(0x100, 4, PLAIN_ROWS, 2), Function(0x200, 8, b"", 0),
        Function(0x300, 8, b"", 0, info=0x80),
    ]  # fmt: skip
    decoded = decode(section(3, AMD64, functions, flags=1, fixed_ra=-8))
    assert decoded.faults == ()
    assert rows(decoded, 0) == GOOD
    assert [fde.signal for fde in decoded.fdes] == [False, False, True]
    assert decode(section(3, AMD64, [], flags=1)).fdes == ()


def test_attributes() -> None:
    """Signal frames, keys and repeated blocks, where the version has them."""
    functions = [Function(0x100, 64, bytes.fromhex("000308"), 1, info=0x30, rep_size=16)]
    decoded = decode(section(2, AARCH64, functions))
    assert decoded.faults == ()
    fde = decoded.fdes[0]
    assert (fde.mask, fde.rep_size, fde.pauth_key, fde.signal) == (True, 16, "b", False)
    old = decode(section(1, AARCH64, [Function(0x100, 64, b"\0\3\x08", 1, info=0x10)]))
    assert (old.fdes[0].mask, old.fdes[0].rep_size, old.faults) == (True, None, ())


@pytest.mark.compiled
def test_compiled_scan_finds_the_same() -> None:
    """The scan gives the same rows compiled and not."""
    area = bytes.fromhex(P1_ROWS + "000308 006308 000308 0003")

    def column(*values: int) -> scan.IntArray:
        return np.array(values, np.int64)

    functions = scan.Functions(
        position=column(0, 15, 18, 3, 21, 24),
        count=column(4, 1, 3, 2, 9, 1),
        width=column(1, 1, 1, 1, 1, 1),
        limit=column(7, 7, 7, 7, 7, 7),
        fewest=column(1, 1, 1, 1, 1, 1),
        most=column(2, 2, 2, 2, 2, 2),
        claims=column(0, 0, 0, 0, 0, 0),
    )
    plain = scan.scan(area, False, functions, 0, compile_from=1 << 60)
    assert scan.scan(area, False, functions, 0, compile_from=0) == plain
    assert list(plain.first) == [0, 4, 5, 5, 5, 6, 6]


# --------------------------------------------------------------------- any bytes at all


def check_decode(data: bytes) -> None:
    """Only SFrameError is raised, and every offset lies in the section."""
    try:
        decoded = decode(data)
    except SFrameError as error:
        assert 0 <= error.offset <= len(data)  # noqa: PT017 - either outcome is right
        return
    assert all(0 <= fault.offset <= len(data) for fault in decoded.faults)
    assert offsets(decoded) == sorted(offsets(decoded))
    assert len(decoded.fdes) == decoded.header.num_fdes
    assert len(decoded.rows.starts) == len(decoded.rows.contents) <= len(data)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=120), st.sampled_from((1, 2, 3)), st.sampled_from((1, 2, 3, 4)))
def test_random_bytes(tail: bytes, version: int, abi: int) -> None:
    """Random bytes behind a good preamble are decoded or refused."""
    magic = b"\xde\xe2" if abi in (1, 4) else b"\xe2\xde"
    check_decode(magic + bytes((version, 0, abi)) + tail)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_mutated_bytes(data: st.DataObject) -> None:
    """Good sections with some bytes changed or cut off are decoded or refused."""
    version = data.draw(st.sampled_from((1, 2, 3)))
    content = bytearray(bytes.fromhex(P1[version]))
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(8, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, 2 * len(content)))
    check_decode(bytes(content[: end or None]))
