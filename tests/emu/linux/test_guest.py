import pytest

from emu.linux.calls import CallError, Errno, int32, int64
from emu.linux.guest import IOV_MAX, PATH_MAX
from emu.memory import EXECUTE, READ, WRITE
from tests.emu.linux.kernel_parts import (
    DATA,
    DATA_SIZE,
    HIGH,
    NOWHERE,
    READ_ONLY,
    Translations,
    make_guest,
)


@pytest.mark.parametrize("address", [NOWHERE, HIGH, DATA + DATA_SIZE - 4, (1 << 63) - 4])
def test_bad_pointers_are_faults_of_the_guest(address: int) -> None:
    """Reading and writing eight bytes there is EFAULT, never our exception."""
    guest = make_guest()
    for call in (lambda: guest.read(address, 8), lambda: guest.write(address, bytes(8))):
        with pytest.raises(CallError) as caught:
            call()
        assert caught.value.number is Errno.EFAULT


def test_read_only_memory_is_not_written() -> None:
    """The kernel honours page permissions."""
    with pytest.raises(CallError):
        make_guest().write(READ_ONLY, b"x")


def test_readable_part_stops_at_the_hole() -> None:
    """The kernel tells how much it could copy."""
    assert len(make_guest().readable_part(DATA + DATA_SIZE - 5, 100)) == 5


def test_structures_are_in_the_byte_order_of_the_machine() -> None:
    """The same structure has its bytes reversed on a big-endian machine."""
    assert make_guest("little").pack("I", 1) == b"\1\0\0\0"
    assert make_guest("big").pack("I", 1) == b"\0\0\0\1"


def test_path_without_end() -> None:
    """A name of 4096 bytes is too long, an empty one names nothing."""
    guest = make_guest()
    guest.write(DATA, b"x" * PATH_MAX)
    with pytest.raises(CallError) as caught:
        guest.path(DATA)
    assert caught.value.number is Errno.ENAMETOOLONG
    with pytest.raises(CallError) as caught:
        guest.path(DATA + PATH_MAX)
    assert caught.value.number is Errno.ENOENT


def test_iovec_count_is_bounded() -> None:
    """More than 1024 parts are refused before anything is read."""
    with pytest.raises(CallError) as caught:
        make_guest().parts(DATA, IOV_MAX + 1)
    assert caught.value.number is Errno.EINVAL


def test_writing_over_code_forgets_its_translation() -> None:
    """A read(2) into an executable page changes instructions behind the emulator's back."""
    guest = make_guest()
    guest.memory.map(NOWHERE, 0x1000, READ | WRITE | EXECUTE)
    guest.write(NOWHERE + 16, b"code")
    assert isinstance(guest.translations, Translations)
    assert guest.translations.forgotten == [(NOWHERE + 16, NOWHERE + 20)]


def test_argument_widths() -> None:
    """The kernel sees an int in the low half, and a long in the whole register."""
    assert int32(0xFFFF_FFFF) == -1
    assert int32(0x1_0000_0005) == 5
    assert int64((1 << 64) - 2) == -2
