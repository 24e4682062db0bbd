"""The texts of /proc about the machine: one CPU, and the memory that the guest may map."""

from random import Random

from emu.linux.clock import SECOND
from emu.linux.credentials import PID
from emu.linux.proc.view import View
from emu.linux.task import HOST_NAME, RELEASE, VERSION

_TICK = SECOND // 100


def meminfo(view: View) -> bytes:
    """/proc/meminfo."""
    total = view.memory.limit >> 10
    free = view.memory.limit - view.memory.mapped >> 10
    values = {
        "MemTotal": total, "MemFree": free, "MemAvailable": free, "Buffers": 0, "Cached": 0,
        "SwapCached": 0, "Active": total - free, "Inactive": 0, "SwapTotal": 0, "SwapFree": 0,
        "Dirty": 0, "Writeback": 0, "AnonPages": total - free, "Mapped": 0, "Shmem": 0,
        "CommitLimit": total, "Committed_AS": total - free,
    }  # fmt: skip
    return "".join(f"{name + ':':<16}{value:8} kB\n" for name, value in values.items()).encode()


def cpuinfo(view: View) -> bytes:
    """/proc/cpuinfo."""
    return view.arch.files.cpuinfo


def uptime(view: View) -> bytes:
    """/proc/uptime."""
    up, idle = view.clock.monotonic, view.clock.monotonic - view.clock.process
    return b"%d.%02d %d.%02d\n" % (
        up // SECOND, up // _TICK % 100, idle // SECOND, idle // _TICK % 100
    )  # fmt: skip


def loadavg(_: View) -> bytes:
    """/proc/loadavg."""
    return b"0.00 0.00 0.00 1/1 %d\n" % PID


def stat(view: View) -> bytes:
    """/proc/stat."""
    used = view.clock.process // _TICK
    idle = view.clock.monotonic // _TICK - used
    booted = (view.clock.realtime - view.clock.monotonic) // SECOND
    times = b"%d 0 0 %d 0 0 0 0 0 0\n" % (used, idle)
    return (
        b"cpu  " + times + b"cpu0 " + times
        + b"intr 0\nctxt 0\nbtime %d\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n" % booted
        + b"softirq 0 0 0 0 0 0 0 0 0 0 0\n"
    )  # fmt: skip


def version(_: View) -> bytes:
    """/proc/version."""
    return b"Linux version %s (%s) %s\n" % (RELEASE, HOST_NAME, VERSION)


def filesystems(_: View) -> bytes:
    """/proc/filesystems."""
    return b"nodev\tproc\nnodev\ttmpfs\nnodev\tdevpts\nnodev\tpipefs\n\text4\n"


def settings() -> dict[bytes, bytes]:
    """/proc/sys: what does not change, by the path below it."""
    return {
        b"kernel/ostype": b"Linux", b"kernel/osrelease": RELEASE, b"kernel/version": VERSION,
        b"kernel/hostname": HOST_NAME, b"kernel/domainname": b"(none)",
        b"kernel/ngroups_max": b"65536", b"kernel/pid_max": b"4194304",
        b"kernel/threads-max": b"4096", b"kernel/cap_last_cap": b"40",
        b"kernel/overflowuid": b"65534", b"kernel/overflowgid": b"65534",
        b"kernel/core_pattern": b"core", b"kernel/randomize_va_space": b"0",
        b"kernel/random/poolsize": b"256", b"kernel/random/entropy_avail": b"256",
        b"vm/overcommit_memory": b"0", b"vm/max_map_count": b"65530",
        b"vm/mmap_min_addr": b"65536", b"fs/nr_open": b"1048576", b"fs/file-max": b"1048576",
        b"fs/pipe-max-size": b"1048576",
    }  # fmt: skip


def uuid(random: Random) -> bytes:
    """A random one (RFC 9562, version 4), as in kernel/random/uuid."""
    data = bytearray(random.randbytes(16))
    data[6] = data[6] & 0x0F | 0x40
    data[8] = data[8] & 0x3F | 0x80
    text = data.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:])).encode() + b"\n"
