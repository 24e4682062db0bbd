"""Ids, limits and the scheduler, as an ordinary process of one thread meets them."""

import pytest

from emu.linux.calls import Errno
from tests.emu.linux.caller import Caller

SAME = -1
USER = 1000


@pytest.mark.parametrize("kind", ["uid", "gid"])
def test_ids_can_only_stay(call: Caller, kind: str) -> None:
    """credentials(7): an ordinary user sets its ids to what they are, no more."""
    assert call("get" + kind) == call("gete" + kind) == USER
    assert call("set" + kind, USER) == 0
    assert call("set" + kind, 0) == -Errno.EPERM
    assert call("set" + kind, SAME) == -Errno.EINVAL
    assert call("setre" + kind, SAME, USER) == 0
    assert call("setre" + kind, 0, SAME) == -Errno.EPERM
    assert call("setres" + kind, SAME, SAME, SAME) == 0
    assert call("setres" + kind, USER, USER, 0) == -Errno.EPERM
    assert call("setfs" + kind, 0) == USER
    room = call.room
    assert call("getres" + kind, room, room + 4, room + 8) == 0
    assert call.get("III") == (USER, USER, USER)


def test_groups(call: Caller) -> None:
    """None beside the own one, and none can be had."""
    assert call("getgroups", 0, 0) == 0
    assert call("getgroups", -1, 0) == -Errno.EINVAL
    assert call("setgroups", 0, 0) == -Errno.EPERM


def test_session(call: Caller) -> None:
    """It leads its session, so it can start no other."""
    pid = call("getpid")
    assert call("getsid", 0) == call("getpgid", pid) == pid
    assert call("getpgid", 77) == -Errno.ESRCH
    assert call("setsid") == -Errno.EPERM
    assert call("setpgid", 0, 0) == -Errno.EPERM
    assert call("setpgid", 0, -5) == -Errno.EINVAL
    assert call("setpgid", 77, 0) == -Errno.ESRCH


def test_children(call: Caller) -> None:
    """There are none to wait for."""
    assert call("wait4", -1, 0, 0, 0) == -Errno.ECHILD
    assert call("wait4", -1, 0, 1 << 10, 0) == -Errno.EINVAL
    assert call("waitid", 0, 0, 0, 4, 0) == -Errno.ECHILD
    assert call("waitid", 0, 0, 0, 0, 0) == -Errno.EINVAL


def test_capabilities(call: Caller) -> None:
    """None; an unknown version is answered with the one to use."""
    call.put("Ii", 0x20080522, 0)
    call.put("6I", *[0xFFFF_FFFF] * 6, at=64)
    assert call("capget", call.room, call.room + 64) == 0
    assert call.get("6I", 64) == (0,) * 6
    assert call("capset", call.room, call.room + 64) == 0
    call.put("6I", 1, 0, 0, 0, 0, 0, at=64)
    assert call("capset", call.room, call.room + 64) == -Errno.EPERM
    call.put("Ii", 1, 0)
    assert call("capget", call.room, call.room + 64) == -Errno.EINVAL
    assert call.get("I") == (0x20080522,)


def test_what_only_the_administrator_may(call: Caller) -> None:
    """EPERM, whatever the arguments."""
    for name in ("mount", "umount2", "reboot", "sethostname", "settimeofday", "chroot"):
        arguments = (b"/",) if name == "chroot" else ()
        assert call(name, *arguments) == -Errno.EPERM
    assert not call.unsupported


def test_descriptors_end_at_the_limit(call: Caller) -> None:
    """RLIMIT_NOFILE is the first number that cannot be; what is open above it stays."""
    assert call("dup3", 1, 40, 0) == 40
    call.put("QQ", 5, 100)
    assert call("prlimit64", 0, 7, call.room, 0) == 0
    assert [call("dup", 1) for _ in range(3)] == [3, 4, -Errno.EMFILE]
    assert call.open(b"/tmp") == -Errno.EMFILE
    assert call("pipe2", call.room, 0) == -Errno.EMFILE
    assert call("dup3", 1, 5, 0) == -Errno.EBADF
    assert call("fcntl", 1, 0, 5) == -Errno.EINVAL
    assert call("write", 40, b"x", 1) == 1
    assert call("close", 3) == 0
    assert call("pipe2", call.room, 0) == -Errno.EMFILE
    assert call.names(b"/proc/self/fd")[2:] == [b"0", b"1", b"2", b"3", b"4", b"40"]


def test_limits_need_rights(call: Caller) -> None:
    """A hard limit only sinks; no limit is above its hard one (setrlimit(2))."""
    call.put("QQ", 3, 2)
    assert call("prlimit64", 0, 7, call.room, 0) == -Errno.EINVAL
    call.put("QQ", 1, (1 << 64) - 1)
    assert call("prlimit64", 0, 7, call.room, 0) == -Errno.EPERM
    call.put("QQ", 1, 1)
    assert call("prlimit64", 0, 16, call.room, 0) == -Errno.EINVAL
    assert call("prlimit64", 5, 7, call.room, 0) == -Errno.ESRCH
    assert call("prlimit64", 0, 7, 8, 0) == -Errno.EFAULT


def test_policies(call: Caller) -> None:
    """sched(7): three ordinary policies of priority 0; real time is not allowed."""
    call.put("i", 0)
    assert call("sched_getscheduler", 0) == 0
    for policy in (3, 5, 0):
        assert call("sched_setscheduler", 0, policy, call.room) == 0
        assert call("sched_getscheduler", 0) == policy
    call.put("i", 1)
    assert call("sched_setscheduler", 0, 1, call.room) == -Errno.EPERM
    assert call("sched_setscheduler", 0, 0, call.room) == -Errno.EINVAL
    assert call("sched_getparam", 0, call.room + 8) == 0
    assert call.get("i", 8) == (0,)
    ranges = [(call("sched_get_priority_min", p), call("sched_get_priority_max", p))
              for p in (0, 1, 2, 3, 5, 6, 99)]  # fmt: skip
    invalid = -Errno.EINVAL
    assert ranges == [(0, 0), (1, 99), (1, 99), (0, 0), (0, 0), (0, 0), (invalid, invalid)]
    assert call("sched_getscheduler", 77) == -Errno.ESRCH


def test_nice(call: Caller) -> None:
    """getpriority(2) tells 20 minus the nice value; only nicer is allowed."""
    assert call("getpriority", 0, 0) == 20
    assert call("setpriority", 0, 0, 5) == 0
    assert call("getpriority", 0, call("getpid")) == 15
    assert call("setpriority", 0, 0, 4) == -Errno.EACCES
    assert call("setpriority", 0, 0, 100) == 0
    assert call("getpriority", 0, 0) == 1
    assert call.contents(b"/proc/self/stat").rpartition(b") ")[2].split()[16] == b"19"
    assert call("getpriority", 3, 0) == -Errno.EINVAL


def test_one_cpu(call: Caller) -> None:
    """Affinity is CPU 0, and must keep it."""
    call.put("Q", 2)
    assert call("sched_setaffinity", 0, 8, call.room) == -Errno.EINVAL
    call.put("Q", 3)
    assert call("sched_setaffinity", 0, 8, call.room) == 0
    assert call("sched_getaffinity", 0, 128, call.room) == 8
    assert call.get("Q") == (1,)
    assert call("getcpu", call.room, call.room + 4, 0) == 0
    assert call.get("II") == (0, 0)
