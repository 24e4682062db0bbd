"""Names: walks, links, and what the guest can never reach (path_resolution(7), symlink(7))."""

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from arch import ALL
from emu.linux.calls import Errno, RunEndedError
from tests.emu.linux.caller import AT_FDCWD, NOWHERE, Caller

NOFOLLOW, EMPTY = 0x100, 0x1000
SECRET = "of the host\n"
Start = Callable[[], Caller]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A file beside the root, which no guest may see."""
    path = tmp_path / "secret"
    path.write_text(SECRET)
    return path


# ---- without a root


def test_names_lead_nowhere(tmp_path: Path) -> None:
    """Files of the host do not exist, and asking for one counts as refused."""
    for arch in ALL:
        call = Caller(tmp_path, arch)
        assert call.open(b"/etc/passwd") == -Errno.ENOENT
        assert call("faccessat", AT_FDCWD, b"/etc/passwd", 0) == -Errno.ENOENT
        assert call.open(b"/new", 0o101) == -Errno.EROFS
        assert call("openat", AT_FDCWD, NOWHERE, 0) == -Errno.EFAULT
        assert call.refused == {"openat": 2, "faccessat": 1}


def test_the_program_knows_its_name(tmp_path: Path) -> None:
    """/proc/self/exe is cut to the buffer, without a zero."""
    call = Caller(tmp_path, ALL[0])
    call.put("8s", b"\xff" * 8)
    assert call("readlinkat", AT_FDCWD, b"/proc/self/exe", call.room, 3) == 3
    assert call.bytes(4) == b"/pr\xff"
    assert call.link_text(b"/proc/self/exe") == b"/prog"
    assert call("readlinkat", AT_FDCWD, b"/proc/self/exe", call.room, 0) == -Errno.EINVAL


def test_current_directory(call: Caller) -> None:
    """It is the root; one byte is too little for it."""
    assert call("getcwd", call.room, 10) == 2
    assert call.bytes(2) == b"/\0"
    assert call("getcwd", call.room, 1) == -Errno.ERANGE
    assert call("mkdir", b"/d", 0o755) == 0
    assert call("chdir", b"d") == 0
    assert call("getcwd", call.room, 10) == 3
    assert call("rmdir", b"/d") == 0
    assert call("getcwd", call.room, 10) == -Errno.ENOENT


# ---- the tree ends at its top


@pytest.mark.parametrize(
    "path",
    [
        b"/../secret", b"/../../../../../../secret", b"../secret", b"d/../../secret",
        b"/proc/self/root/../secret", b"/proc/self/cwd/../secret", b"/up/secret", b"/out",
        b"/absolute", b"/proc/1/root/secret", b"/proc/self/fd/../../../../secret",
        b"/proc/self/task/../../../secret",
    ],
)  # fmt: skip
def test_nothing_above_the_top(tmp_path: Path, root: Path, outside: Path, path: bytes) -> None:
    """Dots, links and magic links of all kinds stay inside, whatever they say."""
    (root / "d").mkdir()
    (root / "up").symlink_to("..")
    (root / "out").symlink_to("../secret")
    (root / "absolute").symlink_to(outside)
    for arch in ALL:
        call = Caller(tmp_path, arch, root)
        assert call.open(path) == -Errno.ENOENT
        assert call("newfstatat", AT_FDCWD, path, call.room, 0) == -Errno.ENOENT


def test_links_to_the_host_lead_inside(start: Start, root: Path) -> None:
    """An absolute link starts at the guest's top: /etc/passwd is the guest's own, or none."""
    (root / "link").symlink_to("/etc/passwd")
    call = start()
    assert call.open(b"/link") == -Errno.ENOENT
    assert call("mkdir", b"/etc", 0o755) == 0
    call.make(b"/etc/passwd", b"own\n")
    assert call.contents(b"/link") == b"own\n"
    assert call.link_text(b"/link") == b"/etc/passwd"
    assert not (root / "etc").exists()


def test_a_link_that_appears_while_the_guest_runs(start: Start, root: Path, outside: Path) -> None:
    """A directory that becomes a link to the host is not followed: what it held is gone."""
    (root / "d").mkdir()
    (root / "d" / "f").write_text("mine")
    (root / "d" / "g").write_text("mine")
    call = start()
    assert call.contents(b"/d/f") == b"mine"
    (root / "d").rename(root / "old")
    (root / "d").symlink_to(outside.parent)
    (outside.parent / "g").write_text(SECRET)
    assert call.open(b"/d/g") in (-Errno.ENOENT, -Errno.EIO)
    assert call.open(b"/d/secret") == -Errno.ENOENT


def test_a_file_that_is_replaced_while_the_guest_runs(
    start: Start, root: Path, outside: Path
) -> None:
    """Another file or a link under the same name is EIO, never another's bytes."""
    for name in ("f", "l"):
        (root / name).write_text("mine")
    call = start()
    for name in (b"f", b"l"):
        assert call.stat(b"/" + name)["size"] == 4
    (root / "new").write_text(SECRET)
    (root / "new").rename(root / "f")
    (root / "l").unlink()
    (root / "l").symlink_to(outside)
    for name in (b"/f", b"/l"):
        assert call.open(name) == -Errno.EIO
    assert call.stat(b"/f")["size"] == 4


def test_a_file_that_shrinks_reads_as_zeros_there(start: Start, root: Path) -> None:
    """The size is the one that stat(2) has told."""
    (root / "f").write_bytes(b"x" * 100)
    one = start()
    assert one.stat(b"/f")["size"] == 100
    (root / "f").write_bytes(b"yy")
    assert one.contents(b"/f") == b"yy" + bytes(98)


# ---- loops and lengths


def test_loops_end(start: Start, root: Path) -> None:
    """Forty links are followed, one more is ELOOP."""
    (root / "self").symlink_to("self")
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    (root / "0").write_text("end")
    for number in range(1, 42):
        (root / str(number)).symlink_to(str(number - 1))
    call = start()
    for path in (b"/self", b"/a", b"/self/x", b"/41"):
        assert call.open(path) == -Errno.ELOOP
    assert call.contents(b"/40") == b"end"
    assert call.stat(b"/self", NOFOLLOW)["size"] == 4
    assert call.open(b"/a", call.arch.files.o_nofollow) == -Errno.ELOOP


def test_lengths(call: Caller) -> None:
    """A name has at most 255 bytes, a path 4095, and a chain of directories no end."""
    assert call("mkdir", b"n" * 255, 0o755) == 0
    assert call("mkdir", b"n" * 256, 0o755) == -Errno.ENAMETOOLONG
    assert call.open(b"/" + b"./" * 2045 + b"/tmp") >= 0  # 4096 with its zero
    assert call.open(b"/" + b"./" * 2046 + b"tmp") == -Errno.ENAMETOOLONG
    for _ in range(300):
        assert call("mkdir", b"n" * 255, 0o755) in (0, -Errno.EEXIST)
        assert call("chdir", b"n" * 255) == 0
    assert call("getcwd", call.room, 1 << 20) == -Errno.ENAMETOOLONG
    call.make(b"f", b"deep")
    assert call.contents(b"f") == b"deep"
    assert call("symlink", b"t" * 4096, b"l") == -Errno.ENAMETOOLONG


def test_names_are_bytes(start: Start, root: Path) -> None:
    """New lines and bytes that are no UTF-8, made here or by the host."""
    strange = b"new\nline \xff\xfe\x80 \t\\"
    (root / os.fsdecode(b"host" + strange)).write_bytes(b"h")
    call = start()
    call.make(b"/guest" + strange, b"g")
    assert call.contents(b"/host" + strange) == b"h"
    assert {b"host" + strange, b"guest" + strange} <= set(call.names(b"/"))
    descriptor = call.open(b"/guest" + strange)
    assert call.link_text(b"/proc/self/fd/%d" % descriptor) == b"/guest" + strange


# ---- what is no file


def test_what_the_host_has_beside_files_is_never_opened(start: Start, root: Path) -> None:
    """A fifo, a device, a socket: seen, not touched; opening the host's fifo would hang here."""
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as bound:
        old = os.getcwd()
        os.chdir(root)  # the path of a socket is short
        try:
            bound.bind("socket")
        finally:
            os.chdir(old)
        call = start()
        assert call.stat(b"/fifo")["mode"] >> 12 == 0o01
        assert call.stat(b"/socket")["mode"] >> 12 == 0o14
        assert call.open(b"/socket", 2) == -Errno.ENXIO
        assert call.open(b"/fifo", 0o4001) == -Errno.ENXIO
        with pytest.raises(RunEndedError, match="fifo"):
            call.open(b"/fifo")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a device")
def test_devices_of_the_host(start: Start, root: Path) -> None:
    """They are seen and cannot be opened; /dev of the root is not the guest's."""
    try:
        os.mknod(root / "zero", 0o20666, os.makedev(1, 5))
    except OSError:
        pytest.skip("no devices can be made here")
    (root / "dev").mkdir()
    (root / "dev" / "secret").write_text(SECRET)
    call = start()
    assert call.stat(b"/zero")["mode"] >> 12 == 0o02
    assert call.open(b"/zero") == -Errno.ENXIO
    assert call.open(b"/dev/secret") == -Errno.ENOENT


def test_unreadable_files(start: Start, root: Path) -> None:
    """The host's refusal is the guest's; for the administrator, who is refused nothing, its own."""
    (root / "f").write_text("x")
    (root / "f").chmod(0)
    call = start()
    assert call.open(b"/f") == -Errno.EACCES


def test_permissions_are_those_of_an_ordinary_user(start: Start, root: Path) -> None:
    """Files of the root belong to the guest, so that its mode decides."""
    (root / "f").write_text("x")
    (root / "f").chmod(0o044)
    call = start()
    assert call.open(b"/f") == -Errno.EACCES
    assert call("chmod", b"/f", 0o400) == 0
    assert call.contents(b"/f") == b"x"
    assert call.open(b"/f", 2) == -Errno.EACCES
    assert (root / "f").stat().st_mode & 0o777 == 0o044


def test_the_host_is_never_written(start: Start, root: Path) -> None:
    """Every kind of change, and the root is as it was."""
    (root / "d").mkdir()
    (root / "d" / "f").write_text("before")
    (root / "l").symlink_to("d/f")
    before = sorted((p.relative_to(root), p.lstat().st_mtime_ns) for p in root.rglob("*"))
    call = start()
    descriptor = call.open(b"/d/f", 2)
    assert call("write", descriptor, b"AFTER", 5) == 5
    assert call("ftruncate", descriptor, 3) == 0
    assert call("rename", b"/d/f", b"/d/g") == 0
    assert call("unlink", b"/l") == 0
    assert call("symlink", b"x", b"/d/l") == 0
    assert call("mkdir", b"/new", 0o755) == 0
    assert call("chmod", b"/d", 0o700) == 0
    assert call.contents(b"/d/g") == b"AFT"
    assert call.open(b"/l") == -Errno.ENOENT
    after = sorted((p.relative_to(root), p.lstat().st_mtime_ns) for p in root.rglob("*"))
    assert after == before
    assert (root / "d" / "f").read_text() == "before"


def test_execve_is_named(call: Caller) -> None:
    """What could be run is not, and the report says so; what could not has its error."""
    call.make(b"/tool", b"\x7fELF")
    assert call("execve", b"/tool", 0, 0) == -Errno.EACCES
    assert call("chmod", b"/tool", 0o755) == 0
    assert not call.unsupported
    assert call("execve", b"/tool", 0, 0) == -Errno.ENOSYS
    assert call("execve", b"/none", 0, 0) == -Errno.ENOENT
    assert call("clone", 0, 0, 0, 0, 0) == -Errno.ENOSYS
    assert call.unsupported == {"execve": 1, "clone": 1}
