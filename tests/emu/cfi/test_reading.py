import pytest

from emu.cfi.reading import EhFrame, Pointer, Target, sleb, uleb
from emu.errors import CfiError


@pytest.mark.parametrize(
    ("stored", "value"),
    [(b"\x02", 2), (b"\x7f", 127), (b"\x80\x01", 128), (b"\x81\x01", 129), (b"\xb9\x64", 12857)],
)
def test_unsigned_leb_of_the_standard(stored: bytes, value: int):
    """The examples of DWARF 5 figure 54."""
    assert uleb(stored + b"\xff", 0, len(stored)) == (value, len(stored))


@pytest.mark.parametrize(
    ("stored", "value"),
    [
        (b"\x02", 2), (b"\x7e", -2), (b"\xff\x00", 127), (b"\x81\x7f", -127),
        (b"\x80\x01", 128), (b"\x80\x7f", -128), (b"\x81\x01", 129), (b"\xff\x7e", -129),
    ],
)  # fmt: skip
def test_signed_leb_of_the_standard(stored: bytes, value: int):
    """The examples of DWARF 5 figure 56."""
    assert sleb(stored + b"\xff", 0, len(stored)) == (value, len(stored))


@pytest.mark.parametrize("read", [uleb, sleb])
@pytest.mark.parametrize(
    ("stored", "end"), [(b"", 0), (b"\x80", 1), (b"\x80\x01", 1), (b"\x80" * 60 + b"\1", 61)]
)
def test_leb_never_leaves_its_bounds(read, stored: bytes, end: int):
    """A number that is cut off, or that would need a big integer, is refused."""
    with pytest.raises(CfiError, match="offset 0x0"):
        read(stored, 0, end)


def test_leb_of_more_than_64_bits_is_refused():
    """Ten bytes can hold 70 bits."""
    with pytest.raises(CfiError):
        uleb(b"\xff" * 9 + b"\x02", 0, 10)
    assert uleb(b"\xff" * 9 + b"\x01", 0, 10)[0] == (1 << 64) - 1
    assert sleb(b"\x80" * 9 + b"\x7f", 0, 10)[0] == -(1 << 63)


@pytest.mark.parametrize(
    ("encoding", "stored", "value"),
    [
        (0x00, bytes(6) + b"\x12\x34", 0x1234),
        (0x02, b"\xfe\xdc", 0xFEDC),
        (0x03, b"\x00\x00\xfe\xdc", 0xFEDC),
        (0x04, bytes(6) + b"\xfe\xdc", 0xFEDC),
        (0x0A, b"\x7f\xff", 0x7FFF),
        (0x0B, b"\xff\xff\xff\xff", (1 << 64) - 1),
        (0x10, bytes(7) + b"\x10", 0x5010),
        (0x12, b"\x00\x10", 0x5010),
        (0x13, b"\x00\x00\x00\x10", 0x5010),
        (0x1A, b"\xff\xf0", 0x4FF0),
        (0x1B, b"\xff\xff\xff\xf0", 0x4FF0),
        (0x1C, b"\xff" * 7 + b"\xf0", 0x4FF0),
        (0x1B, bytes(4), 0),
    ],
)
def test_pointer_encodings(encoding: int, stored: bytes, value: int):
    """Width, sign and base of each encoding; a stored 0 is the null pointer."""
    frame = EhFrame(stored, 0x5000, "big")
    assert frame.pointer(0, len(stored), encoding) == (Pointer(value), len(stored))


@pytest.mark.parametrize("encoding", [0x20, 0x3B, 0x40, 0x50, 0x9B, 0x0F, 0x05, 0xFF])
def test_pointers_without_a_known_base_are_refused(encoding: int):
    """Data- and text-relative, aligned, indirect, omitted and unknown formats."""
    with pytest.raises(CfiError, match="encoding"):
        EhFrame(bytes(16), 0, "little").pointer(0, 16, encoding)


def test_object_pointers_come_from_relocations_alone():
    """The bytes of a relocated field say nothing; an unrelocated one has no place."""
    frame = EhFrame(b"\1" * 8, 0, "little", relocatable=True, targets={4: Target(3, 0x40)})
    assert frame.pointer(4, 8, 0x1B) == (Pointer(0x40, 3), 8)
    with pytest.raises(CfiError, match="relocation"):
        frame.pointer(0, 8, 0x1B)
