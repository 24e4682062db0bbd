import pytest

from emu.linux.calls import CallError, Errno
from emu.linux.guest import Guest
from emu.linux.names import Names
from tests.emu.linux.kernel_parts import DATA, NOWHERE, make_guest

HERE = (1 << 64) - 100
"""AT_FDCWD."""


@pytest.fixture
def guest() -> Guest:
    """A small address space."""
    return make_guest()


@pytest.fixture
def names(guest: Guest) -> Names:
    """Those of a program /prog."""
    return Names(guest, b"/prog")


def refusal(call: object, *arguments: int) -> CallError:
    with pytest.raises(CallError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value


def test_names_lead_nowhere(names: Names, guest: Guest) -> None:
    """Files of the host do not exist, and asking for one counts as refused."""
    guest.write(DATA, b"/etc/passwd\0")
    error = refusal(names.openat, HERE, DATA, 0)
    assert (error.number, error.refused) == (Errno.ENOENT, True)
    assert refusal(names.openat, HERE, DATA, 0o101).number is Errno.EROFS
    assert refusal(names.openat, HERE, NOWHERE, 0).number is Errno.EFAULT
    count, access = names.calls()["faccessat"]
    assert count == 2
    assert refusal(access, HERE, DATA).refused


def test_the_program_knows_its_name(names: Names, guest: Guest) -> None:
    """/proc/self/exe is cut to the buffer, without a zero."""
    guest.write(DATA, b"/proc/self/exe\0")
    guest.write(DATA + 256, b"\xff" * 8)
    assert names.readlink(DATA, DATA + 256, 3) == 3
    assert guest.read(DATA + 256, 4) == b"/pr\xff"
    assert names.readlinkat(HERE, DATA, DATA + 256, 100) == 5
    assert refusal(names.readlink, DATA, DATA, 0).number is Errno.EINVAL


def test_current_directory(names: Names, guest: Guest) -> None:
    """It is the root; one byte is too little for it."""
    assert names.getcwd(DATA, 10) == 2
    assert guest.read(DATA, 2) == b"/\0"
    assert refusal(names.getcwd, DATA, 1).number is Errno.ERANGE
