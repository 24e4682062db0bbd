"""/proc: made from the guest's own state (proc(5) and its parts)."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from emu.linux.calls import Errno
from tests.emu.linux.caller import AT_FDCWD, Caller

PID = 1000
PAGE = 4096


def fields(text: bytes) -> dict[str, str]:
    """`name: value` lines."""
    lines = (line.split(":", 1) for line in text.decode().splitlines())
    return {name.strip(): value.strip() for name, value in lines}


def maps(call: Caller) -> list[tuple[int, int, str, int, str]]:
    """Start, end, permissions, offset and name of each line of maps."""
    found = []
    for line in call.contents(b"/proc/self/maps").decode().splitlines():
        parts = re.fullmatch(
            r"([0-9a-f]{8,})-([0-9a-f]{8,}) ([r-][w-][x-][ps]) ([0-9a-f]{8}) "
            r"[0-9a-f]{2}:[0-9a-f]{2} \d+ (?: *(\S.*))?", line,
        )  # fmt: skip
        assert parts, line
        start, end, allowed, offset, name = parts.groups()
        found.append((int(start, 16), int(end, 16), allowed, int(offset, 16), name or ""))
    return found


def test_self_is_the_process(call: Caller) -> None:
    """Links and the directory of the only process; there is no other."""
    assert call.link_text(b"/proc/self") == b"1000"
    assert call.link_text(b"/proc/thread-self") == b"1000/task/1000"
    assert call.names(b"/proc/self/task") == [b".", b"..", b"1000"]
    assert call.open(b"/proc/1") == -Errno.ENOENT
    assert call.open(b"/proc/1001/maps") == -Errno.ENOENT
    numbers = [name for name in call.names(b"/proc") if name.isdigit()]
    assert numbers == [b"1000"]


def test_what_it_was_started_with(call: Caller) -> None:
    """Arguments and environment are read from its memory, so it may change them."""
    assert call.contents(b"/proc/self/cmdline") == b"/prog\0one\0"
    assert call.contents(b"/proc/self/environ") == b"HOME=/h\0"
    stack = call.process.stack
    first = call.memory.read_word(stack.pointer + 8, call.arch.byte_order)
    call.memory.write(first, b"/PROG")
    assert call.contents(b"/proc/self/cmdline") == b"/PROG\0one\0"
    order = "<" if call.arch.byte_order == "little" else ">"
    words = memoryview(call.contents(b"/proc/self/auxv"))
    types = [int.from_bytes(words[i : i + 8], "little" if order == "<" else "big")
             for i in range(0, len(words), 16)]  # fmt: skip
    assert types == [int(kind) for kind, _ in stack.auxiliary]
    assert types[-1] == 0


def test_exe_leads_to_the_program(tmp_path: Path, root: Path) -> None:
    """Also when its name is gone, which the link's text then says."""
    from arch import ALL

    (root / "prog").write_bytes(b"the program")
    for arch in ALL:
        call = Caller(tmp_path, arch, root)
        assert call.contents(b"/proc/self/exe") == b"the program"
        assert call("unlink", b"/prog") == 0
        assert call.link_text(b"/proc/self/exe") == b"/prog (deleted)"
        assert call.contents(b"/proc/self/exe") == b"the program"


def test_descriptors(call: Caller) -> None:
    """Each has a link that leads to the file itself, whatever became of its name."""
    call.make(b"/f", b"data")
    descriptor = call.open(b"/f", 2)
    link = b"/proc/self/fd/%d" % descriptor
    assert call.names(b"/proc/self/fd") == [b".", b"..", b"0", b"1", b"2", b"3", b"4"]
    assert call.link_text(link) == b"/f"
    assert call.stat(link, 0x100)["mode"] == 0o120700
    assert call.stat(link)["mode"] == 0o100644
    assert call("rename", b"/f", b"/g") == 0
    assert call.link_text(link) == b"/g"
    assert call("unlink", b"/g") == 0
    assert call.link_text(link) == b"/g (deleted)"
    assert call.contents(link) == b"data"
    assert call.open(link, call.arch.files.o_nofollow) == -Errno.ELOOP
    information = fields(call.contents(b"/proc/self/fdinfo/%d" % descriptor))
    assert information["pos"] == "0"
    large = call.arch.files.o_largefile
    assert int(information["flags"], 8) == 2 | large
    assert call("close", descriptor) == 0
    assert call.open(link) == -Errno.ENOENT
    for name in (b"x", b"03", b"99", b"-1", b"9" * 30):
        assert call.open(b"/proc/self/fd/" + name) == -Errno.ENOENT


def test_descriptors_of_directories_and_pipes(call: Caller) -> None:
    """A directory can be walked through, a pipe opened again, a stream written to."""
    assert call("mkdir", b"/d", 0o755) == 0
    call.make(b"/d/f", b"x")
    directory = call.open(b"/d", call.arch.files.o_directory)
    assert call.contents(b"/proc/self/fd/%d/f" % directory) == b"x"
    assert call.contents(b"/proc/self/fd/%d/../d/f" % directory) == b"x"
    assert call("pipe2", call.room, 0) == 0
    reader, writer = call.get("ii")
    again = call.open(b"/proc/self/fd/%d" % reader, 1)
    assert call("write", again, b"ab", 2) == 2
    assert call("read", reader, call.room, 10) == 2
    assert re.fullmatch(rb"pipe:\[\d+\]", call.link_text(b"/proc/self/fd/%d" % writer))
    shown = call.open(b"/dev/stdout", 1)
    assert call("write", shown, b"out", 3) == 3
    assert call.process.stdout == b"out"


def test_a_nameless_file_gets_a_name(call: Caller) -> None:
    """As open(2) shows it: linkat of /proc/self/fd/N with AT_SYMLINK_FOLLOW."""
    facts = call.arch.files
    descriptor = call.open(b"/tmp", 0o20000002 | facts.o_directory)
    assert call("write", descriptor, b"late", 4) == 4
    link = b"/proc/self/fd/%d" % descriptor
    assert call.link_text(link).endswith(b" (deleted)")
    assert call("linkat", AT_FDCWD, link, AT_FDCWD, b"/tmp/named", 0x400) == 0
    assert call.contents(b"/tmp/named") == b"late"


def test_maps(call: Caller) -> None:
    """The program, what it maps, the heap and the stack, in order and without overlap."""
    call.make(b"/lib x", b"y" * 2 * PAGE)
    descriptor = call.open(b"/lib x")
    place = call("mmap", 0, 4 * PAGE, 5, 2, descriptor, PAGE)
    assert place > 0
    start = call("brk", 0)
    assert call("brk", start + 100) == start + 100
    found = maps(call)
    assert found == sorted(found)
    assert all(a[1] <= b[0] for a, b in pairwise(found))
    named = {line[4]: line for line in found if line[4]}
    assert named["/lib x"] == (place, place + 4 * PAGE, "r-xp", PAGE, "/lib x")
    assert named["[heap]"] == (start, start + PAGE, "rw-p", 0, "[heap]")
    stack = call.process.stack
    assert named["[stack]"][:2] == (stack.low, stack.high)
    assert named["/prog"][2] == "r-xp"
    assert sum(end - start for start, end, *_ in found) == call.memory.mapped


def test_maps_joins_what_mprotect_made_one_again(call: Caller) -> None:
    """A line is as long as it is alike; shared mappings have an s."""
    call.make(b"/f", b"z" * 3 * PAGE)
    descriptor = call.open(b"/f", 2)
    place = call("mmap", 0, 3 * PAGE, 3, 1, descriptor, 0)
    assert call("mprotect", place + PAGE, PAGE, 1) == 0
    three = [line[2] for line in maps(call) if line[4] == "/f"]
    assert three == ["rw-s", "r--s", "rw-s"]
    assert call("mprotect", place + PAGE, PAGE, 3) == 0
    assert [line[:3] for line in maps(call) if line[4] == "/f"] == [
        (place, place + 3 * PAGE, "rw-s")
    ]
    assert call("unlink", b"/f") == 0
    assert call("munmap", place, 3 * PAGE) == 0
    assert not [line for line in maps(call) if line[4].startswith("/f")]


def test_states(call: Caller) -> None:
    """stat has 52 fields (proc_pid_stat(5)), status its lines; both agree with the calls."""
    text = call.contents(b"/proc/self/stat")
    head, _, rest = text.rpartition(b") ")
    assert head == b"1000 (prog"
    values = rest.split()
    assert len(values) == 50
    assert values[0] == b"R"
    assert int(values[1]) == call("getppid")
    assert int(values[20]) == call.memory.mapped
    status = fields(call.contents(b"/proc/self/status"))
    assert status["Uid"].split() == ["1000"] * 4
    assert (status["Pid"], status["PPid"], status["Threads"]) == ("1000", "1", "1")
    assert status["Umask"] == "0022"
    assert call("umask", 0o77) == 0o22
    assert fields(call.contents(b"/proc/self/status"))["Umask"] == "0077"
    assert call.contents(b"/proc/self/statm").split()[0] == b"%d" % (call.memory.mapped // PAGE)


def test_name_of_the_thread(call: Caller) -> None:
    """prctl(2) and comm see the same name, of at most 15 bytes."""
    descriptor = call.open(b"/proc/self/comm", 2)
    assert call("write", descriptor, b"a name that is too long\n", 24) == 24
    assert call.contents(b"/proc/self/comm") == b"a name that is \n"
    assert call("prctl", 16, call.room, 0, 0, 0) == 0
    assert call.bytes(16) == b"a name that is \0"


def test_limits(call: Caller) -> None:
    """Columns as the kernel aligns them, values as setrlimit(2) left them."""
    call.put("QQ", 64, 128)
    assert call("prlimit64", 0, 7, call.room, 0) == 0
    lines = call.contents(b"/proc/self/limits").decode().splitlines()
    assert lines[0] == f"{'Limit':26}{'Soft Limit':21}{'Hard Limit':21}Units     "
    assert "Max open files            64                   128                  files     " in lines
    assert len(lines) == 17


def test_the_machine(call: Caller) -> None:
    """Memory is what may be mapped, the CPU is one, names agree with uname(2)."""
    memory = fields(call.contents(b"/proc/meminfo"))
    assert memory["MemTotal"] == f"{call.memory.limit // 1024} kB"
    assert call("uname", call.room) == 0
    names = [call.bytes(65, 65 * i).partition(b"\0")[0] for i in range(3)]
    assert call.contents(b"/proc/sys/kernel/hostname") == names[1] + b"\n"
    assert call.contents(b"/proc/sys/kernel/osrelease") == names[2] + b"\n"
    assert names[2] in call.contents(b"/proc/version")
    assert re.fullmatch(rb"\d+\.\d\d \d+\.\d\d\n", call.contents(b"/proc/uptime"))
    assert re.fullmatch(rb"(\d\.\d\d ){3}1/1 \d+\n", call.contents(b"/proc/loadavg"))
    lines = call.contents(b"/proc/stat").splitlines()
    assert [line.split()[0] for line in lines if line.startswith(b"cpu")] == [b"cpu", b"cpu0"]
    assert b"processor" in call.contents(b"/proc/cpuinfo")
    assert call.contents(b"/proc/sys/kernel/ngroups_max") == b"65536\n"
    assert call.contents(b"/proc/sys/vm/overcommit_memory") == b"0\n"
    assert call.contents(b"/proc/mounts").startswith(b"/dev/root / ")


def test_random_names(call: Caller) -> None:
    """The boot has one, and every open of uuid gives another (RFC 9562, version 4)."""
    pattern = rb"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n"
    folder = b"/proc/sys/kernel/random/"
    boot = [call.contents(folder + b"boot_id") for _ in range(2)]
    other = [call.contents(folder + b"uuid") for _ in range(2)]
    assert boot[0] == boot[1]
    assert len({boot[0], *other}) == 3
    assert all(re.fullmatch(pattern, text) for text in (boot[0], *other))


def test_nothing_of_the_host(call: Caller) -> None:
    """No text has the host's name, kernel, or anything of its processes."""
    import platform

    for path in (b"/proc/version", b"/proc/sys/kernel/hostname", b"/proc/sys/kernel/osrelease"):
        text = call.contents(path).decode()
        assert platform.release() not in text
        assert platform.node() == "unwindlab" or platform.node() not in text


def test_a_text_is_made_at_open(call: Caller) -> None:
    """Reads of one descriptor go on in the same text; it seeks from the start only."""
    descriptor = call.open(b"/proc/self/status")
    assert call("umask", 0) == 0o22
    assert call("read", descriptor, call.room, 1 << 16) > 500
    assert b"Umask:\t0022" in call.bytes(64)
    assert call("lseek", descriptor, 0, 2) == -Errno.EINVAL
    assert call("lseek", descriptor, 6, 0) == 6
    assert call("read", descriptor, call.room, 4) == 4
    assert call.bytes(4) == b"prog"


@pytest.mark.parametrize(
    ("name", "arguments", "number"),
    [
        ("mkdir", (b"/proc/x", 0o755), Errno.EACCES),
        ("unlink", (b"/proc/version",), Errno.EACCES),
        ("unlink", (b"/proc/self/fd/0",), Errno.EACCES),
        ("rmdir", (b"/proc",), Errno.EBUSY),
        ("rename", (b"/proc", b"/x"), Errno.EBUSY),
        ("rename", (b"/proc/version", b"/x"), Errno.EXDEV),
        ("link", (b"/proc/version", b"/x"), Errno.EXDEV),
        ("chmod", (b"/proc/version", 0o666), Errno.EPERM),
        ("truncate", (b"/proc/version", 0), Errno.EINVAL),
    ],
)
def test_proc_cannot_be_changed(
    one: Caller, name: str, arguments: tuple[int | bytes, ...], number: Errno
) -> None:
    """An ordinary user has no right to, whatever it is."""
    assert one(name, *arguments) == -number
    assert one.open(b"/proc/version", 1) == -Errno.EACCES
    assert one.open(b"/proc/new", 0o101) == -Errno.EACCES
