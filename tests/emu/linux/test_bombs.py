"""Guests that want all there is: memory, names, descriptors. Each meets a bound and an error."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.linux.calls import Errno, RunEndedError
from tests.emu.linux.caller import AT_FDCWD, ROOM, Caller

MIB = 1 << 20


def test_files_fill_the_budget(one: Caller) -> None:
    """ENOSPC behind 256 MiB, for a file and for a memfd alike; a removed file gives it back."""
    budget = one.process.filesystem.budget
    assert budget.size == 256 * MIB
    first, second = one.open(b"/f", 0o101), one("memfd_create", b"m", 0)
    written = 0
    while (done := one("write", second if written % (4 * MIB) else first, one.room, ROOM)) > 0:
        written += done
    assert done == -Errno.ENOSPC
    assert written <= budget.used == budget.size
    assert one("write", first, b"x", 1) in (1, -Errno.ENOSPC)
    assert one("ftruncate", second, 0) == 0
    assert one("write", first, one.room, ROOM) == ROOM
    assert one("close", second) == one("close", first) == one("unlink", b"/f") == 0
    assert budget.used == 0


def test_a_full_file_system_tells_how_far_it_came(one: Caller) -> None:
    """A write that only fits in part returns that part."""
    budget = one.process.filesystem.budget
    budget.size = 10 * 4096
    descriptor = one.open(b"/f", 0o102)
    assert one("write", descriptor, one.room, 64 * 1024) == 10 * 4096
    assert one("write", descriptor, one.room, 1) == -Errno.ENOSPC
    assert one("pwrite64", descriptor, b"over", 4, 0) == 4
    assert one("fallocate", descriptor, 0, 0, 10 * 4096) == 0
    assert one("fallocate", descriptor, 0, 0, 11 * 4096) == -Errno.ENOSPC


def test_names_fill_the_budget(one: Caller) -> None:
    """ENOSPC behind 65536 files, directories and links; a removed one gives its place back."""
    budget = one.process.filesystem.budget
    assert budget.nodes == 1 << 16
    budget.nodes = 3000
    made = 0
    while True:
        name = b"/tmp/%d" % made
        kind = made % 3
        if kind == 0:
            result = one("mkdirat", AT_FDCWD, name, 0o755)
        elif kind == 1:
            result = one("symlinkat", b"target", AT_FDCWD, name)
        else:
            result = one("mknodat", AT_FDCWD, name, 0o100644, 0)
        if result:
            break
        made += 1
    assert (result, made) == (-Errno.ENOSPC, 3000)
    assert one.open(b"/tmp/new", 0o101) == -Errno.ENOSPC
    assert one("memfd_create", b"m", 0) == -Errno.ENOSPC
    assert one("unlinkat", AT_FDCWD, b"/tmp/1", 0) == 0
    assert one.open(b"/tmp/new", 0o101) >= 0


def test_the_text_of_links_counts(one: Caller) -> None:
    """Long targets take of the same memory."""
    budget = one.process.filesystem.budget
    budget.size = 10 * 4000
    made = [one("symlinkat", b"t" * 4000, AT_FDCWD, b"/tmp/%d" % i) for i in range(11)]
    assert made == [0] * 10 + [-Errno.ENOSPC]


def test_pipes_end_at_the_limit(one: Caller) -> None:
    """A hundred thousand are EMFILE behind the first few hundred."""
    results = {one("pipe2", one.room, 0o4000) for _ in range(2000)}
    assert results == {0, -Errno.EMFILE}
    reader, writer = one.get("ii")
    assert one("write", writer, one.room, ROOM) == 65536
    assert one("write", writer, b"x", 1) == -Errno.EAGAIN
    assert one("read", reader, one.room, ROOM) == 65536


def test_a_pipe_that_nobody_reads(one: Caller) -> None:
    """A full pipe without O_NONBLOCK would wait for ever."""
    assert one("pipe2", one.room, 0) == 0
    reader, writer = one.get("ii")
    with pytest.raises(RunEndedError, match="pipe"):
        one("write", writer, one.room, ROOM)
    assert one("read", reader, one.room, ROOM) == 65536
    with pytest.raises(RunEndedError, match="pipe"):
        one("read", reader, one.room, ROOM)


def test_a_large_directory(start: Callable[[], Caller], root: Path) -> None:
    """Every name once, also where names come and go between two calls."""
    for number in range(1500):
        (root / f"host {number:04}").touch()
    call = start()
    for number in range(500):
        call.make(b"/own %04d" % number)
    names = call.names(b"/")
    assert len(names) == len(set(names)) == 2000 + 5  # with . .. dev proc tmp
    descriptor = call.open(b"/", call.arch.files.o_directory)
    first = call("getdents64", descriptor, call.room, 4096)
    assert first > 0
    for number in range(500):
        assert call("unlink", b"/own %04d" % number) == 0
    rest = 0
    while (size := call("getdents64", descriptor, call.room, ROOM)) > 0:
        rest += call.bytes(size).count(b"own ")
    assert (size, rest) == (0, 0)
    assert call("getdents64", descriptor, call.room, 10) == 0
    assert call("lseek", descriptor, 0, 0) == 0
    assert call("getdents64", descriptor, call.room, 10) == -Errno.EINVAL


def test_a_deep_tree(one: Caller) -> None:
    """Directories in directories: walks, names and moves do not depend on our stack."""
    for _ in range(5000):
        assert one("mkdirat", AT_FDCWD, b"d", 0o755) == 0
        assert one("chdir", b"d") == 0
    assert one("getcwd", one.room, ROOM) == -Errno.ENAMETOOLONG
    assert one("renameat2", AT_FDCWD, b"/d", AT_FDCWD, b"/d/d/x", 0) == -Errno.EINVAL
    assert one("renameat2", AT_FDCWD, b"/d", AT_FDCWD, b"/e", 0) == 0
    for _ in range(5000):
        assert one("chdir", b"..") == 0
    assert one("getcwd", one.room, ROOM) == 2
    assert one("unlinkat", AT_FDCWD, b"/e", 0x200) == -Errno.ENOTEMPTY


def test_copies_between_the_same_files_end(one: Caller) -> None:
    """splice(2) is refused, sendfile(2) into its own source is EINVAL or ends with the budget."""
    one.process.filesystem.budget.size = 4 * MIB
    descriptor = one.open(b"/f", 0o102)
    assert one("write", descriptor, one.room, 1000) == 1000
    other = one.open(b"/f", 2)
    assert one("lseek", other, 0, 2) == 1000
    one.put("Q", 0)
    done = one("sendfile", other, descriptor, one.room, 1 << 40)
    assert done == 4 * MIB - 1000 or 0 < done < 4 * MIB
    assert one("splice", descriptor, 0, other, 0, 1 << 40, 0) == -Errno.EINVAL
    assert one("copy_file_range", descriptor, 0, other, 0, 1 << 63, 0) < 0


def test_a_huge_read_holds_little(one: Caller) -> None:
    """A read of /dev/zero of gigabytes fills the caller's memory in parts."""
    descriptor = one.open(b"/dev/zero")
    tracemalloc.start()
    assert one("read", descriptor, one.room, 1 << 40) == ROOM
    assert one("pread64", descriptor, one.room, (1 << 63) - 1, 0) == ROOM
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MIB


def test_memory_of_mappings_is_bounded(one: Caller) -> None:
    """mmap(2) beyond the limit is ENOMEM, however it is asked for."""
    limit = one.memory.limit
    for size in (limit + 4096, 1 << 46, (1 << 63) - 4096, (1 << 64) - 4096):
        assert one("mmap", 0, size, 3, 0x22, -1, 0) == -Errno.ENOMEM
    held = 0
    while (place := one("mmap", 0, 64 * MIB, 3, 0x22, -1, 0)) > 0:
        held += 1
    assert place == -Errno.ENOMEM
    assert 10 < held <= limit // (64 * MIB)


def test_many_epoll_files_on_one(one: Caller) -> None:
    """Chains and circles of epoll files neither recurse without end nor hang."""
    files = [one("epoll_create1", 0) for _ in range(60)]
    one.memory.write(one.room, b"\1" + bytes(11))
    accepted = sum(one("epoll_ctl", a, 1, b, one.room) == 0 for a in files for b in files if a != b)
    assert accepted > 0
    assert one("epoll_pwait", files[0], one.room, 8, 0, 0, 8) == 0
