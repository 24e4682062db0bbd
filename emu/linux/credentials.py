"""Who the process is, and what it may therefore not do (kernel/sys.c, credentials(7)).

It runs as an ordinary user without further groups or capabilities, and leads its own
session, in which there is nobody else.
"""

from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.guest import Guest

PID = 1000
PARENT = 1
OWNER = 1000
"""User and group of the process."""
_UNCHANGED = -1
_CAPABILITIES = {0x19980330: 1, 0x20071026: 2, 0x20080522: 2}
"""Versions of capget(2), and how many words of each set they have."""
_NEWEST_CAPABILITIES = 0x20080522
_PRIVILEGED = {
    "acct": 1, "clock_settime": 2, "delete_module": 2, "finit_module": 3, "init_module": 3,
    "iopl": 1, "mount": 5, "pivot_root": 2, "reboot": 4, "setdomainname": 2, "setgroups": 2,
    "sethostname": 2, "settimeofday": 2, "swapoff": 1, "swapon": 2, "syslog": 3, "umount2": 2,
    "vhangup": 0,
}  # fmt: skip
"""Calls that an ordinary user may not make, whatever the arguments."""


class Credentials:
    """Ids of the process.

    Args:
        guest: memory of the caller.
    """

    def __init__(self, guest: Guest) -> None:
        self._guest = guest

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        table: CallTable = {
            "getresuid": (3, self.three_ids), "getresgid": (3, self.three_ids),
            "setuid": (1, self.set_id), "setgid": (1, self.set_id),
            "setreuid": (2, self.set_ids), "setregid": (2, self.set_ids),
            "setresuid": (3, self.set_ids), "setresgid": (3, self.set_ids),
            "setfsuid": (1, self.set_file_id), "setfsgid": (1, self.set_file_id),
            "getgroups": (2, self.getgroups),
            "getpgid": (1, self.of_this_process), "getsid": (1, self.of_this_process),
            "setpgid": (2, self.setpgid), "setsid": (0, self.setsid),
            "capget": (2, self.capget), "capset": (2, self.capset),
            "wait4": (3, self.wait4), "waitid": (4, self.waitid),
        }  # fmt: skip
        constants = {
            "getpid": PID, "gettid": PID, "getppid": PARENT, "getpgrp": PID,
            "getuid": OWNER, "geteuid": OWNER, "getgid": OWNER, "getegid": OWNER,
        }  # fmt: skip
        for name, value in constants.items():
            table[name] = (0, lambda value=value: value)
        for name, count in _PRIVILEGED.items():
            table[name] = (count, self.privileged)
        return table

    # ---- users and groups

    def three_ids(self, real: int, effective: int, saved: int) -> int:
        """getresuid(2), getresgid(2)."""
        for address in (real, effective, saved):
            self._guest.store(address, "I", OWNER)
        return 0

    def set_id(self, wanted: int) -> int:
        """setuid(2), setgid(2)."""
        if int32(wanted) == _UNCHANGED:
            raise CallError(Errno.EINVAL)
        return self.set_ids(wanted)

    def set_ids(self, *wanted: int) -> int:
        """setreuid(2), setresuid(2) and those of groups: only what it has already."""
        if any(int32(each) not in (OWNER, _UNCHANGED) for each in wanted):
            raise CallError(Errno.EPERM)
        return 0

    def set_file_id(self, wanted: int) -> int:
        """setfsuid(2), setfsgid(2): the old one, whether it worked or not."""
        return OWNER

    def getgroups(self, count: int, result: int) -> int:
        """getgroups(2): no further groups."""
        if int32(count) < 0:
            raise CallError(Errno.EINVAL)
        return 0

    # ---- process groups and sessions

    def of_this_process(self, pid: int) -> int:
        """getpgid(2), getsid(2)."""
        if int32(pid) not in (0, PID):
            raise CallError(Errno.ESRCH)
        return PID

    def setpgid(self, pid: int, group: int) -> int:
        """setpgid(2): not of who leads a session."""
        if int32(group) < 0:
            raise CallError(Errno.EINVAL)
        self.of_this_process(pid)
        raise CallError(Errno.EPERM)

    def setsid(self) -> int:
        """setsid(2): it leads a process group already."""
        raise CallError(Errno.EPERM)

    # ---- capabilities

    def capget(self, header: int, data: int) -> int:
        """capget(2): none."""
        words = self._capability_words(header, data)
        if data and words:
            self._guest.write(data, bytes(12 * words))
        return 0

    def capset(self, header: int, data: int) -> int:
        """capset(2): nothing can be added to none."""
        words = self._capability_words(header, data)
        if not words:
            raise CallError(Errno.EINVAL)
        if any(self._guest.read(data, 12 * words)):
            raise CallError(Errno.EPERM)
        return 0

    def _capability_words(self, header: int, data: int) -> int:
        """By the version that the caller names; 0: it only asks which one it should."""
        version, pid = self._guest.unpack("Ii", header)
        words = _CAPABILITIES.get(version)
        if words is None:
            self._guest.store(header, "I", _NEWEST_CAPABILITIES)
            if data:
                raise CallError(Errno.EINVAL)
            return 0
        if pid not in (0, PID):
            raise CallError(Errno.EINVAL if pid < 0 else Errno.ESRCH)
        return words

    def privileged(self, *_: int) -> int:
        """A call for the administrator."""
        raise CallError(Errno.EPERM)

    # ---- children, of which there are none

    def wait4(self, pid: int, status: int, options: int) -> int:
        """wait4(2)."""
        if int32(options) & ~0xE000000B:
            raise CallError(Errno.EINVAL)
        raise CallError(Errno.ECHILD)

    def waitid(self, kind: int, pid: int, result: int, options: int) -> int:
        """waitid(2)."""
        options = int32(options)
        if options & ~0xE100000F or not options & 0xE or not 0 <= int32(kind) <= 3:
            raise CallError(Errno.EINVAL)
        raise CallError(Errno.ECHILD)
