import pytest

from arch.x86_64 import X86_64
from emu.cfi.entries import read_entries, read_lsda
from emu.cfi.functions import read_functions
from emu.cfi.reading import EhFrame, Pointer, Target
from emu.errors import CfiError
from emu.tables import NoRow
from emu.verdict import Verdict
from tests.emu.cfi.section import ADDRESS, DATA, START, cie, entry, fde, initial, read, section

ORDER = X86_64.byte_order
ENTRY = initial(X86_64)


def test_a_cie_and_its_function():
    """Every field of the two headers, read from bytes written by hand."""
    data = (
        b"\x14\0\0\0" b"\0\0\0\0" b"\x01" b"zR\0" b"\x02\x7c\x10" b"\x01\x1b"
        b"\x0c\x07\x08\x90\x01\0\0"
        b"\x10\0\0\0" b"\x1c\0\0\0" b"\xe0\x9f\xff\xff" b"\x34\x12\0\0" b"\0" b"\0\0\0"
    )  # fmt: skip
    found = read_entries(EhFrame(data, ADDRESS, "little"))
    (function,) = found.functions
    assert found.faults == []
    assert (function.offset, function.size) == (0x18, 0x1234)
    assert function.location.value == ADDRESS + 0x20 - 0x6020
    assert (function.cie.code_factor, function.cie.data_factor) == (2, -4)
    assert (function.cie.return_column, function.cie.encoding) == (16, 0x1B)
    assert not function.cie.signal
    assert data[function.start : function.end] == b"\0\0\0"


@pytest.mark.parametrize(
    ("augmentation", "data"),
    [
        (b"zR", b"\x1b"), (b"zRS", b"\x1b"), (b"zRB", b"\x1b"), (b"zBRG", b"\x1b"),
        (b"zPLR", b"\x9b\1\2\3\4\x1b\x1b"), (b"zPR", b"\x00" + bytes(8) + b"\x1b"),
        (b"zLR", b"\xff\x1b"), (b"zPR", b"\xff\x1b"), (b"zR", b"\x1b\xee\xee"),
    ],
)  # fmt: skip
def test_augmentations_that_change_no_row(augmentation: bytes, data: bytes):
    """Personality, LSDA, keys and trailing data are skipped in the order of the letters."""
    first = cie(ORDER, ENTRY, column=16, augmentation=augmentation, data=data)
    reading = read(X86_64, first + fde(ORDER, len(first), b""))
    (function,) = reading.functions
    assert (function.start, function.size) == (START, 64)
    assert function.rows[0].signal == (b"S" in augmentation)


@pytest.mark.parametrize("augmentation", [b"z", b""])
def test_without_an_encoding_addresses_are_plain_words(augmentation: bytes):
    """No letter R means DW_EH_PE_absptr; no letter z means no augmentation length."""
    first = cie(ORDER, ENTRY, column=16, augmentation=augmentation, data=b"")
    body = (len(first) + 4).to_bytes(4, ORDER) + (0x3000).to_bytes(8, ORDER)
    body += (16).to_bytes(8, ORDER) + (b"\0" if augmentation else b"") + b"\x0e\x18"
    (function,) = read(X86_64, first + entry(body, ORDER)).functions
    assert (function.start, function.size) == (0x3000, 16)
    assert function.rows[0].cfa.offset == 24


@pytest.mark.parametrize("version", [1, 3, 4])
def test_cie_versions(version: int):
    """Version 3 has a LEB128 return column, version 4 an address size before the factors."""
    first = cie(ORDER, ENTRY, column=16, version=version)
    if version == 4:
        body = first[4:].replace(b"zR\0", b"zR\0\x08\0", 1)
        first = entry(body, ORDER)
    (function,) = read(X86_64, first + fde(ORDER, len(first), b"")).functions
    assert function.rows[0].ra.offset == -8


def test_an_unknown_letter_refuses_the_functions():
    """It may change how to unwind, so its functions are gaps with that reason."""
    first = cie(ORDER, ENTRY, column=16, augmentation=b"zR?", data=b"\x1b")
    (function,) = read(X86_64, first + fde(ORDER, len(first), b"")).functions
    assert function.rows == (NoRow(Verdict.REFUSED, "unknown augmentation 'zR?'"),)


def test_another_return_column_refuses_the_function():
    """Its rows speak of another register than the one we would read."""
    first = cie(ORDER, ENTRY, column=15)
    (function,) = read(X86_64, first + fde(ORDER, len(first), b"")).functions
    assert function.rows == (NoRow(Verdict.REFUSED, "the return address is in column 15"),)


def test_terminators_in_the_middle_are_stepped_over():
    """Linkers join sections that end in one."""
    data = section(X86_64, b"") + bytes(4)
    data += fde(ORDER, len(data), b"", start=START + 0x100)
    assert [function.start for function in read(X86_64, data).functions] == [START, START + 0x100]


def test_functions_are_sorted_and_empty_ones_left_out():
    """Neither size 0 nor, in a linked file, address 0 is a function."""
    data = section(X86_64, b"", start=0x5000)
    for start, size in ((0x4000, 8), (0x4800, 0), (0, 8), (0x3000, 8)):
        data += fde(ORDER, len(data), b"", start=start, size=size)
    assert [function.start for function in read(X86_64, data).functions] == [0x3000, 0x4000, 0x5000]


def test_code_at_address_zero_is_kept():
    """Where executable code lies at 0, an FDE there is no leftover."""
    first = cie(ORDER, ENTRY, column=16, data=b"\x04")
    body = (len(first) + 4).to_bytes(4, ORDER) + bytes(8) + (16).to_bytes(8, ORDER) + b"\0"
    frame = EhFrame(first + entry(body, ORDER), ADDRESS, ORDER)
    assert read_functions(frame, X86_64).functions == ()
    (function,) = read_functions(frame, X86_64, code_at_zero=True).functions
    assert (function.start, function.size) == (0, 16)


def test_a_long_length_is_followed():
    """LSB: a length of 0xffffffff is followed by the real one in eight bytes."""
    first = cie(ORDER, ENTRY, column=16)
    body = fde(ORDER, len(first) + 8, b"")[4:]
    body = (len(first) + 12).to_bytes(4, ORDER) + body[4:]
    data = first + b"\xff" * 4 + len(body).to_bytes(8, ORDER) + body
    (function,) = read(X86_64, data).functions
    assert function.start == START


BAD = {
    "length past the end": b"\x40\0\0\0\0\0\0\0",
    "long length past the end": b"\xff\xff\xff\xff" + b"\xff" * 8,
    "no room for the kind": b"\x03\0\0\0abc",
    "cie version 9": entry(bytes(4) + b"\x09zR\0\1\x78\x10\1\x1b", "little"),
    "augmentation without end": entry(bytes(4) + b"\1zR", "little"),
    "augmentation of old compilers": entry(bytes(4) + b"\1eh\0" + bytes(12), "little"),
    "unknown letter before R": entry(bytes(4) + b"\1z?R\0\1\x78\x10\2\1\x1b", "little"),
    "augmentation data cut": entry(bytes(4) + b"\1zR\0\1\x78\x10\x7f\x1b", "little"),
    "its own cie": entry(b"\4\0\0\0" + bytes(12), "little"),
    "cie far before": entry(b"\xff\xff\0\0" + bytes(12), "little"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_a_bad_entry_is_one_fault(bad: bytes):
    """It has one line with its offset, and functions before it stay."""
    data = section(X86_64, b"")
    reading = read(X86_64, data + bad)
    assert len(reading.functions) == 1
    (fault,) = reading.faults
    assert f"{len(data):#x}" in fault


def test_a_bad_entry_does_not_hide_the_next():
    """Entries are framed by their length alone."""
    data = section(X86_64, b"") + BAD["its own cie"] + BAD["cie version 9"]
    data += fde(ORDER, len(data), b"", start=0x6000)
    reading = read(X86_64, data)
    assert [function.start for function in reading.functions] == [START, 0x6000]
    assert len(reading.faults) == 2


def test_functions_of_a_bad_cie_are_faults():
    """Without the CIE there is no encoding, so no range."""
    bad = BAD["cie version 9"]
    reading = read(X86_64, bad + fde(ORDER, len(bad), b""))
    assert reading.functions == ()
    assert "unknown CIE version 9" in reading.faults[1]


def test_a_range_past_the_address_space_is_a_fault():
    """Address plus size must be an address."""
    first = cie(ORDER, ENTRY, column=16, data=b"\x04")
    body = (len(first) + 4).to_bytes(4, ORDER) + b"\xf0" + b"\xff" * 7 + b"\x20" + bytes(8)
    assert "address space" in read(X86_64, first + entry(body, ORDER)).faults[0]


# ---- language-specific data area


def lsda(
    augmentation: bytes, encodings: bytes, data: bytes, targets: dict[int, Target] | None = None
) -> Pointer | None:
    """That of a function with these augmentation data; a target's key counts from them."""
    first = cie(ORDER, ENTRY, column=16, augmentation=augmentation, data=encodings)
    section = first + fde(ORDER, len(first), b"", data=data)
    at = len(first) + DATA
    relocated = {at + n: target for n, target in (targets or {}).items()}
    if targets is not None:
        relocated[at - 9] = Target(5, START)  # the function itself
    frame = EhFrame(section, ADDRESS - at, ORDER, targets is not None, relocated)
    (function,) = read_entries(frame).functions
    # Whatever the pointer is like, the function has its rows.
    assert read_functions(frame, X86_64).functions[0].size == 64
    return read_lsda(frame, function)


@pytest.mark.parametrize(
    ("encoding", "data", "address"),
    [
        (0x1B, "10000000", ADDRESS + 16), (0x1B, "f0ffffff", ADDRESS - 16),
        (0x1C, "f0ffffffffffffff", ADDRESS - 16), (0x1A, "f0ff", ADDRESS - 16),
        (0x03, "f0ffffff", 0xFFFF_FFF0), (0x00, "1000000001000000", 0x1_0000_0010),
        (0x01, "9001", 0x90), (0x19, "7f", ADDRESS - 1), (0x04, "1000000000000000ff", 16),
    ],
)  # fmt: skip
def test_encodings_of_the_data_area(encoding: int, data: str, address: int):
    """Formats and bases of LSB section 10.5, from the place of the pointer itself."""
    found = lsda(b"zLR", bytes([encoding, 0x1B]), bytes.fromhex(data))
    assert found == Pointer(address)


def test_the_data_area_whatever_letters_stand_around():
    """Only L has data in the function's entry."""
    for augmentation, encodings in (
        (b"zLPR", b"\x1b\x03\1\2\3\4\x1b"), (b"zPLR", b"\x03\1\2\3\4\x1b\x1b"),
        (b"zRBLS", b"\x1b\x1b"),
    ):  # fmt: skip
        assert lsda(augmentation, encodings, b"\4\0\0\0") == Pointer(ADDRESS + 4)


@pytest.mark.parametrize(
    ("augmentation", "encodings", "data"),
    [
        (b"zR", b"\x1b", b""), (b"zR", b"\x1b", b"\1\0\0\0"), (b"zLR", b"\xff\x1b", b""),
        (b"zLR", b"\x1b\x1b", bytes(4)), (b"zLR", b"\x9b\x1b", bytes(4)),
    ],
    ids=["no letter", "other data", "omitted", "null", "indirect null"],
)  # fmt: skip
def test_a_function_without_data_area(augmentation: bytes, encodings: bytes, data: bytes):
    """By its CIE, or by a null pointer, which is no distance."""
    assert lsda(augmentation, encodings, data) is None


@pytest.mark.parametrize(
    ("augmentation", "encodings", "data", "reason"),
    [
        (b"zLR", b"\x9b\x1b", b"\4\0\0\0", "indirect pointer encoding 0x9b"),
        (b"zLR", b"\x3b\x1b", b"\4\0\0\0", "pointer encoding 0x3b has no base"),
        (b"zLR", b"\x1d\x1b", b"\4\0\0\0", "unknown pointer encoding 0x1d"),
        (b"zLR", b"\x1b\x1b", b"\4\0", "4 bytes are cut off"),
        (b"zLR", b"\x1b\x1b", b"", "4 bytes are cut off"),
        (b"zLR?", b"\x1b\x1b", b"\4\0\0\0", "unknown augmentation 'zLR\\?'"),
    ],
)
def test_a_data_area_that_cannot_be_read(
    augmentation: bytes, encodings: bytes, data: bytes, reason: str
):
    """Nobody here looks into the file's data for an address; a pointer stays in its entry."""
    with pytest.raises(CfiError, match=reason):
        lsda(augmentation, encodings, data)


def test_the_data_area_in_a_relocatable_object():
    """The relocation alone says where it is: a section and an offset; without one it is null."""
    encodings, target = b"\x1b\x1b", Target(7, 0x30)
    assert lsda(b"zLR", encodings, bytes(4), {0: target}) == Pointer(0x30, 7)
    assert lsda(b"zLR", encodings, bytes(4), {}) is None
    with pytest.raises(CfiError, match="the pointer has no usable relocation"):
        lsda(b"zLR", encodings, b"\4\0\0\0", {})


@pytest.mark.parametrize(
    "instructions",
    [
        b"\x44\x0e\x10\x83\x02\x44\x0e\x18\x44\xc3\x0e\x08",
        b"\x44\x0e\x10\x44\x3e",
        b"\x44\x0e\x10\x01" + (-0x6000).to_bytes(4, ORDER, signed=True) + b"\x0e\x18",
        b"\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22",
    ],
    ids=["plain", "unknown", "set_loc", "repeated"],
)
def test_functions_with_the_same_bytes_are_read_as_if_each_were_alone(instructions: bytes):
    """Longer and shorter ones, aligned and not; what says the same everywhere is read once."""
    first = cie(ORDER, ENTRY, column=16)
    data, alone = first, []
    instructions += bytes(-(DATA + len(instructions)) % 4)  # to whole words
    for number, (start, size) in enumerate(((0, 64), (0, 6), (8, 13), (0, 64), (4, 12))):
        begin = START + 0x100 * number + start
        one = fde(ORDER, len(data), instructions, start=begin, size=size)
        # Words of zeros are terminators, which are stepped over.
        alone += read(X86_64, first + bytes(len(data) - len(first)) + one).functions
        data += one
    assert list(read(X86_64, data).functions) == alone
