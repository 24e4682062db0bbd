"""The texts of /proc/PID (fs/proc/array.c, fs/proc/base.c)."""

from emu.linux.clock import SECOND
from emu.linux.credentials import OWNER, PARENT, PID
from emu.linux.limits import INFINITY, NAMES
from emu.linux.proc.view import View
from emu.linux.vfs.open_files import OpenFile, Positioned

_TICK = SECOND // 100
_MASK = "%016x"
_FLAGS = 0x40_0000
"""PF_RANDOMIZE, the one flag that an ordinary process has."""
_MOUNTS = (
    (20, b"8:1", b"/", b"ext4", b"/dev/root", b"rw,relatime"),
    (21, b"0:21", b"/proc", b"proc", b"proc", b"rw,nosuid,nodev,noexec,relatime"),
    (22, b"0:5", b"/dev", b"tmpfs", b"tmpfs", b"rw,nosuid"),
    (23, b"0:23", b"/dev/shm", b"tmpfs", b"tmpfs", b"rw,nosuid,nodev"),
    (24, b"0:24", b"/dev/pts", b"devpts", b"devpts", b"rw,nosuid,noexec"),
)
"""Number, device, place, type, source and options of each file system."""


def stat(view: View) -> bytes:
    """/proc/PID/stat: fields as proc_pid_stat(5) numbers them."""
    nice = view.scheduling.nice
    fields: dict[int, int] = {
        4: PARENT, 5: PID, 6: PID, 8: -1, 9: _FLAGS, 14: view.clock.process // _TICK,
        18: 20 + nice, 19: nice, 20: 1, 22: view.born // _TICK, 23: view.memory.mapped,
        24: view.pages, 25: INFINITY, 26: view.code[0], 27: view.code[1], 28: view.stack.pointer,
        31: view.signals.pending & 0x7FFF_FFFF, 32: view.signals.mask & 0x7FFF_FFFF,
        33: view.signals.ignored & 0x7FFF_FFFF, 34: view.signals.caught & 0x7FFF_FFFF,
        38: 17, 41: 0, 47: view.addresses.heap[0], 48: view.strings[0], 49: view.strings[1],
        50: view.strings[1], 51: view.strings[2],
    }  # fmt: skip
    rest = " ".join(str(fields.get(number, 0)) for number in range(4, 53))
    return b"%d (%s) R " % (PID, view.task.name) + rest.encode() + b"\n"


def status(view: View) -> bytes:
    """/proc/PID/status."""
    size = view.memory.mapped >> 10
    lines = [
        ("Umask", f"{view.paths.umask:04o}"), ("State", "R (running)"), ("Tgid", PID),
        ("Ngid", 0), ("Pid", PID), ("PPid", PARENT), ("TracerPid", 0),
        ("Uid", "\t".join([str(OWNER)] * 4)), ("Gid", "\t".join([str(OWNER)] * 4)),
        ("FDSize", 64), ("Groups", " "), ("NStgid", PID), ("NSpid", PID), ("NSpgid", PID),
        ("NSsid", PID), ("VmPeak", f"{size:8} kB"), ("VmSize", f"{size:8} kB"),
        ("VmLck", "       0 kB"), ("VmHWM", f"{size:8} kB"), ("VmRSS", f"{size:8} kB"),
        ("VmStk", f"{view.stack.high - view.stack.low >> 10:8} kB"),
        ("VmExe", f"{view.code[1] - view.code[0] >> 10:8} kB"), ("VmSwap", "       0 kB"),
        ("Threads", 1), ("SigQ", "0/4096"), ("SigPnd", _MASK % 0),
        ("ShdPnd", _MASK % view.signals.pending), ("SigBlk", _MASK % view.signals.mask),
        ("SigIgn", _MASK % view.signals.ignored), ("SigCgt", _MASK % view.signals.caught),
        ("CapInh", _MASK % 0), ("CapPrm", _MASK % 0), ("CapEff", _MASK % 0),
        ("CapBnd", _MASK % 0), ("CapAmb", _MASK % 0), ("NoNewPrivs", 0), ("Seccomp", 0),
        ("Cpus_allowed", 1), ("Cpus_allowed_list", 0), ("Mems_allowed", 1),
        ("Mems_allowed_list", 0), ("voluntary_ctxt_switches", 0),
        ("nonvoluntary_ctxt_switches", 0),
    ]  # fmt: skip
    name = view.task.name.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")
    return b"Name:\t" + name + b"\n" + "".join(f"{k}:\t{v}\n" for k, v in lines).encode()


def limits(view: View) -> bytes:
    """/proc/PID/limits."""
    text = f"{'Limit':<25} {'Soft Limit':<20} {'Hard Limit':<20} {'Units':<10}\n"
    for number, (name, unit) in enumerate(NAMES):
        soft, hard = (
            "unlimited" if value == INFINITY else str(value) for value in view.limits.get(number)
        )
        text += f"{name:<25} {soft:<20} {hard:<20} " + (f"{unit:<10}" if unit else "") + "\n"
    return text.encode()


def auxv(view: View) -> bytes:
    """/proc/PID/auxv."""
    return view.words(*(int(word) for entry in view.stack.auxiliary for word in entry))


def cmdline(view: View) -> bytes:
    """/proc/PID/cmdline: as the process has its arguments now."""
    return view.read(view.strings[0], view.strings[1])


def environ(view: View) -> bytes:
    """/proc/PID/environ."""
    return view.read(view.strings[1], view.strings[2])


def mounts(_: View) -> bytes:
    """/proc/PID/mounts."""
    return b"".join(
        b"%s %s %s %s 0 0\n" % (source, place, kind, options)
        for _, _, place, kind, source, options in _MOUNTS
    )


def mountinfo(_: View) -> bytes:
    """/proc/PID/mountinfo."""
    parents = {b"/": 1, b"/dev/shm": 22, b"/dev/pts": 22}
    return b"".join(
        b"%d %d %s / %s %s - %s %s rw\n"
        % (number, parents.get(place, 20), device, place, options, kind, source)
        for number, device, place, kind, source, options in _MOUNTS
    )


def descriptor(file: OpenFile) -> bytes:
    """/proc/PID/fdinfo/N."""
    position = file.position if isinstance(file, Positioned) else 0
    return b"pos:\t%d\nflags:\t0%o\nmnt_id:\t20\nino:\t%d\n" % (
        position, file.flags, file.node.number
    )  # fmt: skip
