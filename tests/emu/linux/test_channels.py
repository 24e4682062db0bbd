"""Files without a name, and pipes with one: pipe(7), fifo(7), eventfd(2), memfd_create(2)."""

import pytest

from emu.linux.calls import Errno, RunEndedError
from tests.emu.linux.caller import AT_FDCWD, NOWHERE, Caller

NONBLOCK = 0o4000
FIONREAD = 0x541B
FIFO = 0o010600


def pipe(call: Caller, flags: int = NONBLOCK) -> tuple[int, int]:
    """A new one."""
    assert call("pipe2", call.room, flags) == 0
    reader, writer = call.get("ii")
    return reader, writer


def test_a_pipe_gives_what_it_got(call: Caller) -> None:
    """In order; empty it is EAGAIN, ended it is its end, without readers SIGPIPE or EPIPE."""
    reader, writer = pipe(call)
    assert call("write", writer, b"abc", 3) == 3
    assert call("ioctl", reader, FIONREAD, call.room) == 0
    assert call.get("i") == (3,)
    assert call("read", reader, call.room, 2) == 2
    assert call("read", reader, call.room + 2, 9) == 1
    assert call.bytes(3) == b"abc"
    assert call("read", reader, call.room, 1) == -Errno.EAGAIN
    assert call("close", writer) == 0
    assert call("read", reader, call.room, 1) == 0
    reader, writer = pipe(call)
    assert call("close", reader) == 0
    call.put("QQQQ", 1, 0, 0, 0)
    assert call("rt_sigaction", 13, call.room, 0, 8) == 0
    assert call("write", writer, b"x", 1) == -Errno.EPIPE
    call.put("ihh", writer, 4, 0)
    call.put("qq", 0, 0, at=64)
    assert call("ppoll", call.room, 1, call.room + 64, 0, 8) == 1
    assert call.get("6xh") == (4 | 8,)
    call.put("QQQQ", 0, 0, 0, 0)
    assert call("rt_sigaction", 13, call.room, 0, 8) == 0
    with pytest.raises(RunEndedError, match="SIGPIPE"):
        call("write", writer, b"x", 1)


def test_a_pipe_that_cannot_be_told_is_not_made(call: Caller) -> None:
    """EFAULT leaves no descriptor open."""
    assert call("pipe2", NOWHERE, 0) == -Errno.EFAULT
    assert call("pipe2", call.room, 1) == -Errno.EINVAL
    assert call("dup", 0) == 3


def test_fifos(call: Caller) -> None:
    """Both ends in one process need O_NONBLOCK or O_RDWR; alone, an end waits for ever."""
    assert call("mknodat", AT_FDCWD, b"/p", FIFO, 0) == 0
    assert call.stat(b"/p")["mode"] == FIFO
    assert call.open(b"/p", 1 | NONBLOCK) == -Errno.ENXIO
    for flags in (0, 1):
        with pytest.raises(RunEndedError, match="fifo"):
            call.open(b"/p", flags)
    reader = call.open(b"/p", NONBLOCK)
    assert call("read", reader, call.room, 1) == 0
    writer = call.open(b"/p", 1)
    assert call("read", reader, call.room, 1) == -Errno.EAGAIN
    assert call("write", writer, b"ab", 2) == 2
    assert call("close", writer) == 0
    assert call("read", reader, call.room, 9) == 2
    assert call.bytes(2) == b"ab"
    assert call("read", reader, call.room, 9) == 0
    assert call("close", reader) == 0
    both = call.open(b"/p", 2)
    assert call("write", both, b"xyz", 3) == 3
    assert call("read", both, call.room, 2) == 2
    assert call("close", both) == 0
    both = call.open(b"/p", 2 | NONBLOCK)
    assert call("read", both, call.room, 1) == -Errno.EAGAIN
    assert call("lseek", both, 0, 1) == -Errno.ESPIPE


@pytest.mark.parametrize("semaphore", [0, 1])
def test_counters(call: Caller, semaphore: int) -> None:
    """eventfd(2): a read takes all or one, in the machine's byte order; it overflows never."""
    counter = call("eventfd2", 3, NONBLOCK | semaphore)
    assert call("read", counter, call.room, 7) == -Errno.EINVAL
    assert call("read", counter, call.room, 8) == 8
    assert call.get("Q") == (1 if semaphore else 3,)
    call.put("Q", (1 << 64) - 1)
    assert call("write", counter, call.room, 8) == -Errno.EINVAL
    call.put("Q", (1 << 64) - 2)
    again = call("write", counter, call.room, 8)
    assert again == (-Errno.EAGAIN if semaphore else 8)
    call.put("Q", 1)
    assert call("write", counter, call.room, 8) == (8 if semaphore else -Errno.EAGAIN)
    assert call("eventfd2", 0, 2) == -Errno.EINVAL


def test_files_in_memory(call: Caller) -> None:
    """memfd_create(2): like a file, on a file system of its own."""
    descriptor = call("memfd_create", b"name", 1)
    assert call("fcntl", descriptor, 1, 0) == 1
    assert call("write", descriptor, b"data", 4) == 4
    assert call.link_text(b"/proc/self/fd/%d" % descriptor) == b"/memfd:name (deleted)"
    assert call.contents(b"/proc/self/fd/%d" % descriptor) == b"data"
    assert call("ftruncate", descriptor, (1 << 63) - 1) == 0
    target = call.open(b"/f", 0o101)
    assert call("copy_file_range", descriptor, 0, target, 0, 1, 0) == -Errno.EXDEV
    assert call("memfd_create", b"n" * 250, 0) == -Errno.EINVAL


def test_sockets_are_refused(call: Caller) -> None:
    """There is no network; what is no socket is called so."""
    assert call("socket", 2, 1, 0) == -Errno.EAFNOSUPPORT
    assert call("connect", 0, call.room, 16) == -Errno.ENOTSOCK
    assert call("sendto", 77, call.room, 1, 0, 0, 0) == -Errno.EBADF
    expected = {"socket": 1}
    if "socketcall" in call.arch.syscalls:
        call.put("QQQ", 2, 1, 0)
        assert call("socketcall", 1, call.room) == -Errno.EAFNOSUPPORT
        call.put("QQQ", 0, 0, 0)
        assert call("socketcall", 3, call.room) == -Errno.ENOTSOCK
        assert call("socketcall", 0, call.room) == -Errno.EINVAL
        assert call("socketcall", 1, NOWHERE) == -Errno.EFAULT
        expected["socketcall"] = 1
    assert call.refused == expected
    assert not call.unsupported


def test_locks(call: Caller) -> None:
    """In the way of flock(2) is only another open file; fcntl(2) locks are the process's own."""
    call.make(b"/f")
    first, second = call.open(b"/f", 2), call.open(b"/f", 2)
    assert call("flock", first, 2) == 0
    assert call("flock", second, 1 | 4) == -Errno.EAGAIN
    with pytest.raises(RunEndedError, match="flock"):
        call("flock", second, 1)
    same = call("dup", first)
    assert call("flock", same, 1) == 0
    assert call("flock", second, 1 | 4) == 0
    assert call("flock", first, 2 | 4) == -Errno.EAGAIN
    assert call("close", second) == 0
    assert call("flock", first, 2 | 4) == 0
    assert call("close", first) == call("close", same) == 0
    third = call.open(b"/f")
    assert call("flock", third, 2 | 4) == 0
    call.put("hh4xqqi4x", 1, 0, 0, 0, 0)
    assert call("fcntl", third, 6, call.room) == -Errno.EBADF
    call.put("hh4xqqi4x", 1, 0, 0, 0, 0)
    assert call("fcntl", third, 5, call.room) == 0
    assert call.get("h") == (2,)


def test_devices(call: Caller) -> None:
    """null(4), full(4), random(4): each as it is known; none of them is the host's."""
    kinds = {b"null": 3, b"zero": 5, b"full": 7, b"random": 8, b"urandom": 9}
    for name, minor in kinds.items():
        found = call.stat(b"/dev/" + name)
        assert (found["mode"] >> 12, found["rdev"]) == (0o02, 1 << 8 | minor)
    null, zero, full = (call.open(b"/dev/" + n, 2) for n in (b"null", b"zero", b"full"))
    assert call("write", null, b"x", 1) == call("write", zero, b"x", 1) == 1
    assert call("write", full, b"x", 1) == -Errno.ENOSPC
    assert call("read", null, call.room, 9) == 0
    call.put("9s", b"x" * 9)
    assert call("read", full, call.room, 9) == 9
    assert call.bytes(9) == bytes(9)
    assert call("lseek", zero, 5, 0) == 0
    random = call.open(b"/dev/urandom")
    assert call("read", random, call.room, 32) == call("read", random, call.room + 32, 32) == 32
    assert call.bytes(32) != call.bytes(32, 32)
    assert call.open(b"/dev/tty", 2) == -Errno.ENXIO
    assert call.names(b"/dev")[2:] == sorted(
        [*kinds, b"fd", b"pts", b"shm", b"stderr", b"stdin", b"stdout", b"tty"]
    )
    assert call.open(b"/dev/shm/x", 0o102) >= 0
    assert call.open(b"/dev/x", 0o102) == -Errno.EACCES
