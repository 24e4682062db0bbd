import pytest

from arch import ALL, Arch
from emu.linux.calls import CallError, Errno
from emu.linux.files import Files
from emu.linux.guest import Guest
from emu.linux.pipes import KEPT
from tests.emu.linux.kernel_parts import DATA, DATA_SIZE, HIGH, NOWHERE, make_guest

HERE = (1 << 64) - 100
"""AT_FDCWD."""


@pytest.fixture
def guest() -> Guest:
    """A small address space."""
    return make_guest()


@pytest.fixture
def files(guest: Guest) -> Files:
    """Three pipes, the first with a line to read."""
    return Files(guest, ALL[0].stat, b"line\n", 7)


def refusal(call: object, *arguments: int) -> CallError:
    with pytest.raises(CallError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value


def test_input_is_read_to_its_end(files: Files, guest: Guest) -> None:
    """Short reads continue where the last one stopped, then there is nothing."""
    assert files.read(0, DATA, 3) == 3
    assert guest.read(DATA, 3) == b"lin"
    assert files.read(0, DATA, 100) == 2
    assert files.read(0, DATA, 100) == 0


def test_readv_fills_parts_in_turn(files: Files, guest: Guest) -> None:
    """The second part gets what the first had no room for."""
    guest.store(DATA, "4Q", DATA + 256, 2, DATA + 512, 100)
    assert files.readv(0, DATA, 2) == 5
    assert guest.read(DATA + 256, 2) + guest.read(DATA + 512, 3) == b"line\n"


def test_output_is_collected(files: Files, guest: Guest) -> None:
    """Write and writev on 1 and 2."""
    guest.write(DATA + 256, b"hello")
    guest.store(DATA, "4Q", DATA + 256, 5, DATA + 256, 2)
    assert files.write(1, DATA + 256, 5) == 5
    assert files.writev(2, DATA, 2) == 7
    assert (bytes(files.stdout.kept), bytes(files.stderr.kept)) == (b"hello", b"hellohe")


def test_output_is_bounded(files: Files, guest: Guest) -> None:
    """Beyond 16 MiB bytes are only counted."""
    for _ in range(KEPT // DATA_SIZE + 1):
        files.write(1, DATA, DATA_SIZE)
    assert len(files.stdout.kept) == KEPT
    assert files.stdout.dropped == DATA_SIZE


def test_write_up_to_a_hole(files: Files) -> None:
    """What is readable is written; EFAULT only if nothing is."""
    assert files.write(1, DATA + DATA_SIZE - 3, 1 << 40) == 3
    assert refusal(files.write, 1, NOWHERE, 1).number is Errno.EFAULT
    assert refusal(files.write, 1, HIGH, 100).number is Errno.EFAULT
    assert files.write(1, NOWHERE, 0) == 0


def test_wrong_direction_and_closed(files: Files) -> None:
    """Reading an output, writing the input, or using what is closed is EBADF."""
    assert refusal(files.read, 1, DATA, 1).number is Errno.EBADF
    assert refusal(files.write, 0, DATA, 1).number is Errno.EBADF
    files.close(1)
    assert refusal(files.write, 1, DATA, 1).number is Errno.EBADF
    assert refusal(files.close, 1).number is Errno.EBADF


def test_duplicates_share(files: Files, guest: Guest) -> None:
    """Dup gives the lowest free number, dup2 the wanted one."""
    assert files.dup(1) == 3
    files.close(1)
    assert files.fcntl(2, 0, 0) == 1
    assert files.dup2(3, 9) == 9
    guest.write(DATA, b"x")
    files.write(9, DATA, 1)
    assert bytes(files.stdout.kept) == b"x"
    assert refusal(files.dup2, 3, 5000).number is Errno.EBADF
    assert refusal(files.dup3, 3, 3, 0).number is Errno.EINVAL


def test_descriptors_run_out(files: Files) -> None:
    """After 1024 there is no more."""
    for _ in range(1021):
        files.dup(0)
    assert refusal(files.dup, 0).number is Errno.EMFILE


def test_no_terminal_and_no_position(files: Files) -> None:
    """What a C library asks to choose its buffering."""
    assert refusal(files.ioctl, 1, 0x5401, DATA).number is Errno.ENOTTY
    assert refusal(files.ioctl, 1, 0x5413, DATA).number is Errno.ENOTTY
    assert refusal(files.no_position, 0).number is Errno.ESPIPE


@pytest.mark.parametrize("arch", ALL, ids=lambda arch: arch.name)
def test_fstat_says_pipe(arch: Arch) -> None:
    """The mode stands where this machine has it, and nothing behind the structure is touched."""
    guest = make_guest(arch.byte_order)
    files = Files(guest, arch.stat, b"", 7)
    guest.write(DATA, b"\xff" * 200)
    assert files.fstat(1, DATA) == 0
    offset, _ = arch.stat.fields["mode"]
    assert guest.unpack("I", DATA + offset) == (0o010600,)
    assert guest.read(DATA + arch.stat.size, 1) == b"\xff"
    assert refusal(files.fstat, 1, NOWHERE).number is Errno.EFAULT


def test_stat_of_a_descriptor_by_empty_name(files: Files, guest: Guest) -> None:
    """AT_EMPTY_PATH with an empty name or none means the descriptor."""
    guest.write(DATA, b"\0")
    assert files.newfstatat(1, DATA, DATA + 256, 0x1000) == 0
    assert files.newfstatat(1, 0, DATA + 256, 0x1000) == 0
    assert files.statx(1, DATA, 0x1000, 0x7FF, DATA + 1024) == 0
    assert guest.unpack("H", DATA + 1024 + 28) == (0o010600,)


def test_stat_of_a_name_is_refused(files: Files, guest: Guest) -> None:
    """No file exists."""
    guest.write(DATA, b"/etc\0")
    for error in (
        refusal(files.newfstatat, HERE, DATA, DATA + 256, 0),
        refusal(files.statx, HERE, DATA, 0, 0x7FF, DATA + 256),
    ):
        assert (error.number, error.refused) == (Errno.ENOENT, True)
