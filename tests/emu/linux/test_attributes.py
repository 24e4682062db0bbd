"""Structures and flags that machines lay out differently, as their uapi headers have them."""

import os
from collections.abc import Callable
from pathlib import Path
from struct import calcsize

import pytest

from emu.linux.calls import Errno
from tests.emu.linux.caller import AT_FDCWD, NOWHERE, Caller

STAT = {
    # arch/x86/include/uapi/asm/stat.h
    "x86_64": ("QQQIII4xQqqqqQqQqQ24x", "dev ino nlink mode uid gid rdev size blksize blocks "
               "atime atime_nsec mtime mtime_nsec ctime ctime_nsec"),
    # include/uapi/asm-generic/stat.h
    "aarch64": ("QQIIIIQ8xqi4xqqQqQqQ8x", "dev ino mode nlink uid gid rdev size blksize blocks "
                "atime atime_nsec mtime mtime_nsec ctime ctime_nsec"),
    # arch/s390/include/uapi/asm/stat.h
    "s390x": ("QQQIII4xQQQQQQQQQq24x", "dev ino nlink mode uid gid rdev size atime atime_nsec "
              "mtime mtime_nsec ctime ctime_nsec blksize blocks"),
}  # fmt: skip
STATFS = {
    # include/uapi/asm-generic/statfs.h, where a word is a long
    "x86_64": ("7Q2iQQQ32x", "type bsize blocks bfree bavail files ffree fsid0 fsid1 namelen "
               "frsize flags"),
    # arch/s390/include/uapi/asm/statfs.h
    "s390x": ("II5Q2iIII20x", "type bsize blocks bfree bavail files ffree fsid0 fsid1 namelen "
              "frsize flags"),
}  # fmt: skip
STATFS["aarch64"] = STATFS["x86_64"]
DIRECTORY = {"x86_64": 0o200000, "aarch64": 0o40000, "s390x": 0o200000}
NOFOLLOW = {"x86_64": 0o400000, "aarch64": 0o100000, "s390x": 0o400000}
DIRECT = {"x86_64": 0o40000, "aarch64": 0o200000, "s390x": 0o40000}
LARGEFILE = {"x86_64": 0o100000, "aarch64": 0o400000, "s390x": 0o100000}
"""uapi/asm-generic/fcntl.h, and arch/arm64/include/uapi/asm/fcntl.h."""
SECOND = 10**9


def read_struct(call: Caller, layouts: dict[str, tuple[str, str]]) -> dict[str, int]:
    """The structure in the room, which must end where its layout does."""
    layout, names = layouts[call.arch.name]
    order = "<" if call.arch.byte_order == "little" else ">"
    assert call.bytes(1, calcsize(order + layout)) == b"\xff"
    return dict(zip(names.split(), call.get(layout), strict=True))


def test_stat(start: Callable[[], Caller], root: Path) -> None:
    """Every field of a file of the host, which belongs to the guest's user."""
    path = root / "f"
    path.write_bytes(b"x" * 5000)
    path.chmod(0o2640)
    os.utime(path, ns=(1, 1234567890_123456789))
    call = start()
    for name, arguments in (
        ("newfstatat", (AT_FDCWD, b"/f", call.room, 0)),
        ("fstat", (call.open(b"/f"), call.room)),
    ):
        call.memory.write(call.room, b"\xff" * 200)
        assert call(name, *arguments) == 0
        found = read_struct(call, STAT)
        assert (found["mode"], found["nlink"], found["size"]) == (0o102640, 1, 5000)
        assert (found["uid"], found["gid"], found["rdev"]) == (1000, 1000, 0)
        assert (found["mtime"], found["mtime_nsec"]) == (1234567890, 123456789)
        assert (found["blksize"], found["blocks"]) == (4096, 16)
        assert found["ino"] != path.stat().st_ino
    assert call("fstat", 1, NOWHERE) == -Errno.EFAULT


def test_files_are_older_than_the_clock(start: Callable[[], Caller], root: Path) -> None:
    """The guest's date is chosen by the seed, and its files have the times that they have here."""
    path = root / "f"
    path.write_text("x")
    call = start()
    found = call.stat(b"/f")
    modified = found["mtime"] * SECOND + found["mtime_nsec"]
    assert modified == path.stat().st_mtime_ns
    assert modified < call.process.clock.realtime


def test_times_move_as_linux_moves_them(call: Caller) -> None:
    """A write changes two of them, a chmod one, a read none (inode(7), and noatime)."""

    def times() -> tuple[int, int, int]:
        found = call.stat(b"/f")
        return tuple(  # type: ignore[return-value]
            found[name] * SECOND + found[name + "_nsec"] for name in ("atime", "mtime", "ctime")
        )

    call.make(b"/f", b"data")
    first = times()
    call.process.clock.sleep(5 * SECOND)
    assert call.contents(b"/f") == b"data"
    assert times() == first
    assert call("fchmodat", AT_FDCWD, b"/f", 0o600) == 0
    second = times()
    assert second[:2] == first[:2]
    assert second[2] - first[2] >= 5 * SECOND
    descriptor = call.open(b"/f", 1)
    call.process.clock.sleep(SECOND)
    assert call("write", descriptor, b"x", 1) == 1
    third = times()
    assert third[0] == first[0]
    assert third[1] == third[2] > second[2]
    call.put("qqqq", 7, 8, 9, 10)
    assert call("utimensat", AT_FDCWD, b"/f", call.room, 0) == 0
    assert times()[:2] == (7 * SECOND + 8, 9 * SECOND + 10)


def test_statx(call: Caller) -> None:
    """The same on all machines but for the byte order (uapi/linux/stat.h)."""
    call.make(b"/f", b"x" * 9)
    call.memory.write(call.room, b"\xff" * 300)
    assert call("statx", AT_FDCWD, b"/f", 0, 0x7FF, call.room) == 0
    mask, blksize, _, nlink, uid, gid, mode, _, size, blocks = call.get("IIQIIIH2xQQQ")
    assert (mask, blksize, nlink, uid, gid) == (0x7FF, 4096, 1, 1000, 1000)
    assert (mode, size, blocks) == (0o100644, 9, 8)
    assert call.bytes(1, 256) == b"\xff"
    assert call("statx", AT_FDCWD, b"/f", 0x6000, 0x7FF, call.room) == -Errno.EINVAL
    assert call("statx", AT_FDCWD, b"/f", 0, 1 << 31, call.room) == -Errno.EINVAL


def test_statfs(call: Caller) -> None:
    """Sizes are those of the budget; each file system has its number (linux/magic.h)."""
    for path, magic in ((b"/", 0xEF53), (b"/proc", 0x9FA0), (b"/dev/shm", 0x01021994)):
        call.memory.write(call.room, b"\xff" * 200)
        assert call("statfs", path, call.room) == 0
        found = read_struct(call, STATFS)
        assert (found["type"], found["namelen"]) == (magic, 255)
    assert call("statfs", b"/", call.room) == 0
    before = call.get(STATFS[call.arch.name][0])
    call.make(b"/f", b"x" * 4096 * 3)
    assert call("statfs", b"/", call.room) == 0
    after = call.get(STATFS[call.arch.name][0])
    assert before[2] == after[2] == 256 * 256
    assert before[3] - after[3] == 3
    assert before[6] - after[6] == 1


def test_flags_of_open(call: Caller) -> None:
    """Each machine's own numbers, as fcntl(2) shows them again."""
    name = call.arch.name
    call.make(b"/f")
    assert call("symlinkat", b"f", AT_FDCWD, b"/l") == 0
    assert call.open(b"/f", DIRECTORY[name]) == -Errno.ENOTDIR
    assert call.open(b"/tmp", DIRECTORY[name]) >= 0
    assert call.open(b"/l", NOFOLLOW[name]) == -Errno.ELOOP
    assert call.open(b"/l", NOFOLLOW[name] | 0o10000000) >= 0
    descriptor = call.open(b"/f", 2 | 0o4000 | DIRECT[name] | 0o2000000)
    assert call("fcntl", descriptor, 3, 0) == 2 | 0o4000 | DIRECT[name] | LARGEFILE[name]
    assert call("fcntl", descriptor, 1, 0) == 1
    assert call("fcntl", descriptor, 4, 0o2000) == 0
    assert call("fcntl", descriptor, 3, 0) == 2 | 0o2000 | LARGEFILE[name]


def test_getdents(call: Caller) -> None:
    """struct linux_dirent64, and the old one, whose type is its last byte."""
    assert call("mkdirat", AT_FDCWD, b"/d", 0o755) == 0
    call.make(b"/d/file")
    assert call("symlinkat", b"x", AT_FDCWD, b"/d/link") == 0
    numbers = {name: call.stat(b"/d/" + name, 0x100)["ino"] for name in (b".", b"file", b"link")}
    kinds = {b".": 4, b"..": 4, b"file": 8, b"link": 10}
    for name in ("getdents64", "getdents"):
        if name not in call.arch.syscalls:
            continue
        descriptor = call.open(b"/d")
        size = call(name, descriptor, call.room, 1000)
        at, found = 0, {}
        while at < size:
            number, _, length = call.get("QQH", at)
            entry = call.bytes(length, at)
            old = name == "getdents"
            kind, text = entry[-1 if old else 18], entry[18 if old else 19 :].partition(b"\0")[0]
            found[text] = kind
            assert numbers.get(text, number) == number
            at += length
        assert found == kinds


@pytest.mark.parametrize("name", [b"user.x", b"security.capability", b"system.posix_acl_access"])
def test_no_extended_attributes(call: Caller, name: bytes) -> None:
    """ENODATA to ask, EOPNOTSUPP to set, an empty list (xattr(7))."""
    call.make(b"/f")
    assert call("getxattr", b"/f", name, call.room, 100) == -Errno.ENODATA
    assert call("setxattr", b"/f", name, b"v", 1, 0) == -Errno.EOPNOTSUPP
    assert call("listxattr", b"/f", call.room, 100) == 0
    assert call("getxattr", b"/none", name, call.room, 100) == -Errno.ENOENT
