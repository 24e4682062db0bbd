"""Random calls on files, made here and by the host's own kernel: every result is the same.

The host's answers are those of an ordinary user in an empty directory of its file system.
What differs between kernels, file systems and limits of users is not asked.
"""

import stat
import struct
from pathlib import Path
from random import Random

import pytest

from arch import by_name
from tests.emu.linux.caller import AT_FDCWD, Caller
from tests.emu.linux.native import (
    SAME_MACHINE,
    Argument,
    Earlier,
    Outcome,
    Room,
    Step,
    run_here,
    run_natively,
)

pytestmark = pytest.mark.skipif(not SAME_MACHINE, reason="the host is another machine")
STEPS = 80
NAMES = (
    b"a", b"b", b"d", b"d/x", b"d/y", b"e", b"e/f", b"e/f/g", b"l", b"m", b"d/l", b"a/", b"d/",
    b"b/", b"l/", b".", b"..", b"d/..", b"d/.", b"e/..", b"a/..", b"", b"d/x/y", b"n" * 255,
    b"l/x", b"m/f", b"./a", b"d//x", b"d/../a", b"loop", b"p", b"new/", b"zz",
)  # fmt: skip
TARGETS = (b"a", b"d", b"e", b"d/x", b"none", b"loop", b"../a", b".", b"", b"l", b"a/", b"d/",
           b"t" * 4095, b"t" * 4096)  # fmt: skip
SIZES = (0, 1, 5, 10, 100, 4095, 4096, 4097, 5000, 12288)
OFFSETS = (*SIZES, 1 << 31, (1 << 44) - 4096, 1 << 44, 1 << 62, (1 << 63) - 1, 1 << 63,
           (1 << 64) - 1)  # fmt: skip
MODES = (0o644, 0o600, 0, 0o777, 0o4755, 0o444, 0o7777)
OPEN_FLAGS = (0o100, 0o200, 0o1000, 0o2000, 0o4000, 0o200000, 0o400000, 0o10000000, 0o2000000,
              0o1000000)  # fmt: skip
MAKES_DESCRIPTOR = {"openat", "creat", "openat2", "dup", "dup3", "memfd_create", "eventfd2",
                    "epoll_create1"}  # fmt: skip


class Writer:
    """Writes a random sequence."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.steps: list[Step] = []
        self.opened: list[int] = []

    def write(self, count: int) -> list[Step]:
        """So many steps."""
        for _ in range(count):
            step = self.random.choice((
                self._open, self._open, self._open, self._name, self._name, self._pair,
                self._look, self._look, self._attribute, self._size, self._move, self._move,
                self._move, self._descriptor, self._descriptor, self._made,
            ))()  # fmt: skip
            if step.name in MAKES_DESCRIPTOR:
                self.opened.append(len(self.steps))
            self.steps.append(step)
        return self.steps

    def _of(self, *values: int) -> int:
        return self.random.choice(values)

    def _path(self) -> bytes:
        return self.random.choice(NAMES)

    def _file(self) -> Argument:
        if self.opened and self.random.random() < 0.7:
            return Earlier(self.random.choice(self.opened))
        return self._of(-1, 99, AT_FDCWD, 3, 4, 5, 6, 7, 8, 9)

    def _at(self) -> Argument:
        if self.opened and self.random.random() < 0.2:
            return Earlier(self.random.choice(self.opened))
        return AT_FDCWD

    def _open(self) -> Step:
        flags = self._of(0, 1, 2, 3) | (0o100 if self.random.random() < 0.3 else 0)
        chosen = [flag for flag in OPEN_FLAGS if self.random.random() < 0.12 and not flag & flags]
        flags |= sum(chosen)
        if self.random.random() < 0.2:
            resolve = self._of(0, 2, 4, 8, 0x10, 0x18, 0x40)
            how = struct.pack("<QQQ", self._of(flags, 1 << 40), self._of(0, 0o644), resolve)
            size = self._of(24, 24, 24, 8, 32)
            return Step("openat2", (self._at(), self._path(), Room(), size), 0, how)
        return Step("openat", (self._at(), self._path(), flags, self._of(*MODES)))

    def _name(self) -> Step:
        at, path = self._at(), self._path()
        return self.random.choice((
            Step("mkdirat", (at, path, self._of(0o755, 0o777, 0o1777, 0, 0o500))),
            Step("mknodat", (at, path, self._of(0o100644, 0o644, 0o140600, 0o40755, 0o120777), 0)),
            Step("unlinkat", (at, path, self._of(0, 0, 0x200, 1))),
            Step("rmdir", (path,)),
            Step("symlink", (self.random.choice(TARGETS), path)),
            Step("chdir", (self.random.choice((b".", b".", b".", b"d", b"none", b"a")),)),
            Step("umask", (self._of(0o22, 0o77, 0),)),
        ))  # fmt: skip

    def _pair(self) -> Step:
        old, new = self._path(), self._path()
        return self.random.choice((
            Step("rename", (old, new)),
            Step("renameat2", (self._at(), old, self._at(), new, self._of(0, 1, 2, 3, 8))),
            Step("linkat", (self._at(), old, self._at(), new, self._of(0, 0x400, 0x100))),
        ))  # fmt: skip

    def _look(self) -> Step:
        path = self._path()
        return self.random.choice((
            Step("lstat", (path, Room()), 144),
            Step("stat", (path, Room()), 144),
            Step("newfstatat", (self._at(), path, Room(), self._of(0, 0x100, 0x1000, 1)), 144),
            Step("fstat", (self._file(), Room()), 144),
            Step("readlink", (path, Room(), self._of(100, 4096, 1, 0, -1)), -1),
            Step("access", (path, self._of(0, 1, 2, 3, 4, 7, 8))),
            Step("faccessat2", (self._at(), path, self._of(0, 1, 2), self._of(0, 0x100, 0x200, 1))),
            Step("statx", (self._at(), path, self._of(0, 0x100, 0x6000, 1), 0x7FF, Room())),
            Step("getxattr", (path, self.random.choice((b"user.x", b"")), Room(), 100)),
        ))  # fmt: skip

    def _attribute(self) -> Step:
        path = self._path()
        times = struct.pack("<qqqq", 1, self._of(0, 5, 10**9, (1 << 30) - 1, (1 << 30) - 2),
                            7, self._of(0, 9, -1, (1 << 30) - 2))  # fmt: skip
        return self.random.choice((
            Step("chmod", (path, self._of(*MODES))),
            Step("chown", (path, self._of(-1, 1000, 0), self._of(-1, 1000, 0))),
            Step("lchown", (path, self._of(-1, 1000, 0), self._of(-1, 1000, 0))),
            Step("utimensat", (self._at(), path, Room(), self._of(0, 0x100, 1)), 0, times),
        ))  # fmt: skip

    def _size(self) -> Step:
        size = self._of(*OFFSETS)
        return self.random.choice((
            Step("truncate", (self._path(), size)),
            Step("ftruncate", (self._file(), size)),
            Step("fallocate", (self._file(), self._of(0, 1, 2, 3, 0x10, 0x11),
                               self._of(0, 100, 4096, -1), self._of(1, 100, 8192, 0, -1))),
            Step("fsync", (self._file(),)),
            Step("fadvise64", (self._file(), 0, self._of(0, 100, -1), self._of(0, 1, 4, 9))),
            Step("sync_file_range", (self._file(), self._of(0, -1), 10, self._of(0, 8))),
        ))  # fmt: skip

    def _move(self) -> Step:
        file, size, offset = self._file(), self._of(*SIZES), self._of(*OFFSETS)
        data = self.random.randbytes(64)
        return self.random.choice((
            Step("write", (file, Room(), size), 0, data),
            Step("write", (file, Room(), size), 0, data),
            Step("read", (file, Room(), size), -1),
            Step("pread64", (file, Room(), size, offset), -1),
            Step("pwrite64", (file, Room(), size, offset), 0, data),
            Step("lseek", (file, offset, self._of(0, 0, 1, 2, 3, 4, 5))),
            Step("writev", (file, Room(), self._of(0, 1, -1, 1025))),
            Step("pwritev2", (file, Room(), 0, self._of(0, -1, -2), 0, self._of(0, 0x10, 0x40))),
            Step("preadv2", (file, Room(), 0, self._of(0, -1, -2), 0, self._of(0, 0x10, 0x40))),
            Step("sendfile", (file, self._file(), 0, self._of(0, 10, 5000))),
            Step("copy_file_range", (file, 0, self._file(), 0, self._of(0, 10), self._of(0, 0, 1))),
            Step("getdents64", (file, Room(), 30000), -1),
        ))  # fmt: skip

    def _descriptor(self) -> Step:
        file = self._file()
        lock = struct.pack("<hh4xqqi4x", self._of(0, 1, 2, 3), self._of(0, 0, 1, 3),
                           self._of(0, 5, -1), self._of(0, 10, -3), 0)  # fmt: skip
        return self.random.choice((
            Step("close", (file,)),
            Step("dup", (file,)),
            Step("dup3", (file, self._of(20, 21, -1), self._of(0, 0o2000000, 1))),
            Step("fcntl", (file, self._of(0, 1, 2, 3, 1030, 9, 77), self._of(0, 1, 10, 30, -1))),
            Step("fcntl", (file, 4, self._of(0o4000, 0o2000))),
            Step("fcntl", (file, self._of(5, 6, 7), Room()), 2, lock),
            Step("flock", (file, self._of(1, 2, 8, 6, 0, 3) | 4)),
            Step("fchdir", (file,)),
            Step("ioctl", (file, self._of(0x5401, 0x5421, 0x5451, 0x1234), Room()), 4),
            Step("poll", (Room(), 1, 0), 8, struct.pack("<ihh", self._of(3, 4, 5, 50, -1), 5, 0)),
        ))  # fmt: skip

    def _made(self) -> Step:
        return self.random.choice((
            Step("creat", (self._path(), 0o644)),
            Step("memfd_create", (self.random.choice((b"n", b"n" * 250)), self._of(0, 1, 64))),
            Step("eventfd2", (self._of(0, 5), self._of(0o4000, 0o4001, 2 | 0o4000))),
            Step("epoll_create1", (self._of(0, 0o2000000, 1),)),
            Step("pipe2", (Room(), self._of(0o4000, 0o44000, 1))),
        ))  # fmt: skip


def comparable(step: Step, outcome: Outcome) -> object:
    """The outcome without what file systems see differently."""
    result, data = outcome
    if result < 0 or not data:
        return result
    if step.name in ("lstat", "stat", "newfstatat", "fstat"):
        links, mode, size = (struct.unpack_from("<Q", data, 16)[0],
                             *struct.unpack_from("<I20xq", data, 24))  # fmt: skip
        return (mode,) if stat.S_ISDIR(mode) or not stat.S_IFMT(mode) else (mode, links, size)
    if step.name == "getdents64":
        found, at = set(), 0
        while at < result:
            (length,) = struct.unpack_from("<H", data, at + 16)
            found.add((data[at + 18], data[at + 19 : at + length].partition(b"\0")[0]))
            at += length
        return found
    return outcome


@pytest.mark.parametrize("seed", range(40))
def test_as_on_the_host(tmp_path: Path, root: Path, seed: int) -> None:
    """The same sequence, step by step, up to the first that differs."""
    machine = by_name("x86_64")
    assert machine is not None
    steps = Writer(seed).write(STEPS)
    (root / "middle" / "low").mkdir(parents=True)
    caller = Caller(tmp_path, machine, root)
    assert caller("chdir", b"/middle/low") == 0
    native = tmp_path / "native" / "middle" / "low"
    native.mkdir(parents=True)
    theirs = run_natively(steps, native)
    ours = run_here(steps, caller)
    for index, step in enumerate(steps):
        mine, other = comparable(step, ours[index]), comparable(step, theirs[index])
        assert mine == other, (index, step)
