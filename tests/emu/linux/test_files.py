"""Reading and writing: streams, files, positions and vectors (read(2), write(2), lseek(2))."""

from pathlib import Path

import pytest

from arch import ALL
from emu.linux.calls import Errno
from emu.linux.pipes import KEPT
from tests.emu.linux.caller import NOWHERE, ROOM, Caller

HUGE = (0, 1, 1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1)


@pytest.fixture(params=ALL, ids=lambda arch: arch.name)
def streams(request: pytest.FixtureRequest, tmp_path: Path) -> Caller:
    """No root, and a line to read."""
    return Caller(tmp_path, request.param, None, b"line\n")


def test_input_is_read_to_its_end(streams: Caller) -> None:
    """Short reads continue where the last one stopped, then there is nothing."""
    assert streams("read", 0, streams.room, 3) == 3
    assert streams.bytes(3) == b"lin"
    assert streams("read", 0, streams.room, 100) == 2
    assert streams("read", 0, streams.room, 100) == 0


def test_readv_fills_parts_in_turn(streams: Caller) -> None:
    """The second part gets what the first had no room for."""
    room = streams.room
    streams.put("4Q", room + 256, 2, room + 512, 100)
    assert streams("readv", 0, room, 2) == 5
    assert streams.bytes(2, 256) + streams.bytes(3, 512) == b"line\n"


def test_output_is_collected(streams: Caller) -> None:
    """Write and writev on 1 and 2."""
    room = streams.room
    streams.memory.write(room + 256, b"hello")
    streams.put("4Q", room + 256, 5, room + 256, 2)
    assert streams("write", 1, room + 256, 5) == 5
    assert streams("writev", 2, room, 2) == 7
    assert (streams.process.stdout, streams.process.stderr) == (b"hello", b"hellohe")


def test_output_is_bounded(streams: Caller) -> None:
    """Beyond 16 MiB bytes are only counted."""
    for _ in range(KEPT // ROOM + 1):
        assert streams("write", 1, streams.room, ROOM) == ROOM
    assert len(streams.process.stdout) == KEPT
    assert streams.process.dropped == ROOM


def test_write_up_to_a_hole(streams: Caller) -> None:
    """What is readable is written; EFAULT only if nothing is; a size is a signed long."""
    end = streams.room + ROOM
    assert streams("write", 1, end - 3, 1 << 40) == 3
    assert streams("write", 1, NOWHERE, 1) == -Errno.EFAULT
    assert streams("write", 1, -8, 100) == -Errno.EFAULT
    assert streams("write", 1, NOWHERE, 0) == 0
    assert streams("write", 1, streams.room, 1 << 63) == -Errno.EINVAL


def test_wrong_direction_and_closed(streams: Caller) -> None:
    """Reading an output, writing the input, or using what is closed is EBADF."""
    assert streams("read", 1, streams.room, 1) == -Errno.EBADF
    assert streams("write", 0, streams.room, 1) == -Errno.EBADF
    assert streams("close", 1) == 0
    assert streams("write", 1, streams.room, 1) == -Errno.EBADF
    assert streams("close", 1) == -Errno.EBADF


def test_no_terminal_and_no_position(streams: Caller) -> None:
    """What a C library asks to choose its buffering."""
    assert streams("ioctl", 1, 0x5401, streams.room) == -Errno.ENOTTY
    assert streams("ioctl", 1, 0x5413, streams.room) == -Errno.ENOTTY
    assert streams("lseek", 0, 0, 0) == -Errno.ESPIPE
    assert streams("pread64", 0, streams.room, 1, 0) == -Errno.ESPIPE


def test_a_file_is_what_was_written(call: Caller) -> None:
    """Through the position, through offsets, with a hole that reads as zeros."""
    descriptor = call.open(b"/f", 0o102)
    assert call("write", descriptor, b"abc", 3) == 3
    assert call("pwrite64", descriptor, b"xyz", 3, 10) == 3
    assert call("lseek", descriptor, 0, 1) == 3
    assert call("write", descriptor, b"d", 1) == 1
    assert call.contents(b"/f") == b"abcd" + bytes(6) + b"xyz"
    assert call("pread64", descriptor, call.room, 4, 9) == 4
    assert call.bytes(4) == b"\0xyz"
    assert call("lseek", descriptor, 0, 2) == 13
    assert call("read", descriptor, call.room, 10) == 0


def test_append_always_goes_to_the_end(call: Caller) -> None:
    """Also with pwrite(2) (its BUGS section), and with RWF_APPEND for one call."""
    call.make(b"/f", b"12")
    descriptor = call.open(b"/f", 0o2001)
    assert call("lseek", descriptor, 0, 0) == 0
    assert call("write", descriptor, b"3", 1) == 1
    assert call("pwrite64", descriptor, b"4", 1, 0) == 1
    plain = call.open(b"/f", 1)
    call.memory.write(call.room + 64, b"5")
    call.put("2Q", call.room + 64, 1)
    assert call("pwritev2", plain, call.room, 1, 0, 0, 0x10) == 1
    assert call("write", plain, b"x", 1) == 1
    assert call.contents(b"/f") == b"x2345"


def test_vectors(call: Caller) -> None:
    """At most 1024 parts; a part of 2^63 bytes or a bad list is an error before anything."""
    descriptor = call.open(b"/f", 0o102)
    parts = [(call.room + 40000, 1)] * 1025
    call.put(f"{2 * len(parts)}Q", *(word for part in parts for word in part))
    assert call("writev", descriptor, call.room, 1025) == -Errno.EINVAL
    assert call("writev", descriptor, call.room, 1024) == 1024
    assert call("readv", descriptor, NOWHERE, 1) == -Errno.EFAULT
    assert call("readv", descriptor, NOWHERE, 0) == 0
    call.put("4Q", call.room + 40000, 1, call.room, 1 << 63)
    assert call("writev", descriptor, call.room, 2) == -Errno.EINVAL
    assert call.stat(b"/f")["size"] == 1024


@pytest.mark.parametrize("size", HUGE)
def test_huge_sizes(one: Caller, size: int) -> None:
    """A read or write takes what there is, at most to the end of the memory."""
    one.make(b"/f", b"data")
    descriptor = one.open(b"/f", 2)
    assert one("pread64", descriptor, one.room, size, 0) == min(size, 4)
    assert one("pread64", descriptor, one.room, size, 4) in (0, -Errno.EINVAL)
    assert one("pwrite64", descriptor, one.room + ROOM - 2, size, 4) in (min(size, 2), -22)
    assert one("pread64", descriptor, one.room, 1, -1 - size) == -Errno.EINVAL


def test_sparse_files_cost_nothing(one: Caller) -> None:
    """A byte behind 2^43 is one page; the largest size is that of ext4, one more is EFBIG."""
    budget = one.process.filesystem.budget
    descriptor = one.open(b"/f", 0o102)
    before = budget.used
    assert one("pwrite64", descriptor, b"x", 1, 1 << 43) == 1
    assert budget.used - before == 4096
    most = ((1 << 32) - 1) << 12
    assert one("ftruncate", descriptor, most) == 0
    assert one("ftruncate", descriptor, most + 1) == -Errno.EFBIG
    assert one("ftruncate", descriptor, 1 << 62) == -Errno.EFBIG
    assert one("ftruncate", descriptor, 1 << 63) == -Errno.EINVAL
    assert one("pwrite64", descriptor, b"x", 1, most) == -Errno.EFBIG
    assert one("pwrite64", descriptor, b"xy", 2, most - 1) == 1
    assert one.stat(b"/f")["blocks"] == 2 * 8
    assert one("lseek", descriptor, 0, 3) == 1 << 43  # SEEK_DATA
    assert one("lseek", descriptor, 1 << 43, 4) == (1 << 43) + 4096  # SEEK_HOLE


def test_holes_are_punched(call: Caller) -> None:
    """The range reads as zeros and its pages are free again; the size stays."""
    call.make(b"/f", b"x" * 3 * 4096)
    descriptor = call.open(b"/f", 2)
    assert call("fallocate", descriptor, 3, 100, 2 * 4096) == 0
    assert call.contents(b"/f") == b"x" * 100 + bytes(8192) + b"x" * (4096 - 100)
    assert call.stat(b"/f")["blocks"] == 2 * 8
    assert call("fallocate", descriptor, 2, 0, 1) == -Errno.EOPNOTSUPP


def test_copies(call: Caller) -> None:
    """copy_file_range(2) and sendfile(2) move their positions, or the one that is given."""
    call.make(b"/f", b"0123456789")
    source, target = call.open(b"/f", 2), call.open(b"/g", 0o102)
    assert call("copy_file_range", source, 0, target, 0, 4, 0) == 4
    call.put("Q", 8)
    assert call("sendfile", target, source, call.room, 100) == 2
    assert call.get("Q") == (10,)
    assert call("sendfile", target, source, 0, 3) == 3
    assert call.contents(b"/g") == b"012389456"
    call.put("QQ", 0, 2)
    same = call("copy_file_range", source, call.room, source, call.room + 8, 4, 0)
    assert same == -Errno.EINVAL


def test_file_size_limit(call: Caller) -> None:
    """RLIMIT_FSIZE cuts a write, and the next sends SIGXFSZ or, ignored, is EFBIG."""
    call.put("QQ", 10, 10)
    assert call("prlimit64", 0, 1, call.room, 0) == 0
    call.put("QQQQ", 1, 0, 0, 0)
    assert call("rt_sigaction", 25, call.room, 0, 8) == 0
    descriptor = call.open(b"/f", 0o102)
    assert call("write", descriptor, b"x" * 12, 12) == 10
    assert call("write", descriptor, b"x", 1) == -Errno.EFBIG
    assert call("ftruncate", descriptor, 11) == -Errno.EFBIG
    assert call("ftruncate", descriptor, 9) == 0
