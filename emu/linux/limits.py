"""Limits of the process (getrlimit(2), kernel/sys.c).

Those of descriptors and of the size of files hold; the others are remembered.
"""

from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.credentials import PID
from emu.linux.guest import Guest

INFINITY = (1 << 64) - 1
FSIZE, STACK, CORE, NOFILE = 1, 3, 4, 7
NAMES = (
    ("Max cpu time", "seconds"), ("Max file size", "bytes"), ("Max data size", "bytes"),
    ("Max stack size", "bytes"), ("Max core file size", "bytes"), ("Max resident set", "bytes"),
    ("Max processes", "processes"), ("Max open files", "files"),
    ("Max locked memory", "bytes"), ("Max address space", "bytes"), ("Max file locks", "locks"),
    ("Max pending signals", "signals"), ("Max msgqueue size", "bytes"), ("Max nice priority", ""),
    ("Max realtime priority", ""), ("Max realtime timeout", "us"),
)  # fmt: skip
"""By number, as /proc/PID/limits shows them (lnames of fs/proc/base.c)."""
_OPEN_MOST = 1 << 20
"""Most descriptors that a hard limit may allow (fs.nr_open)."""


class Limits:
    """The limits of one process.

    Args:
        guest: memory of the caller.
        stack_size: bytes, for RLIMIT_STACK.
    """

    def __init__(self, guest: Guest, stack_size: int) -> None:
        self._guest = guest
        self._limits: dict[int, tuple[int, int]] = {
            STACK: (stack_size, INFINITY), CORE: (0, INFINITY), NOFILE: (1024, 4096),
        }  # fmt: skip

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "getrlimit": (2, lambda resource, result: self.prlimit64(0, resource, 0, result)),
            "setrlimit": (2, lambda resource, new: self.prlimit64(0, resource, new, 0)),
            "prlimit64": (4, self.prlimit64),
        }

    def get(self, resource: int) -> tuple[int, int]:
        """Soft and hard limit."""
        return self._limits.get(resource, (INFINITY, INFINITY))

    def open_files(self) -> int:
        """First descriptor that cannot be."""
        return self.get(NOFILE)[0]

    def file_size(self) -> int:
        """Most bytes of a file that grows."""
        return self.get(FSIZE)[0]

    def prlimit64(self, pid: int, resource: int, new: int, old: int) -> int:
        """prlimit(2)."""
        resource &= 0xFFFF_FFFF
        wanted = self._guest.unpack("QQ", new) if new else None
        if int32(pid) not in (0, PID):
            raise CallError(Errno.ESRCH)
        if resource >= len(NAMES):
            raise CallError(Errno.EINVAL)
        before = self.get(resource)
        if wanted is not None:
            soft, hard = wanted
            if soft > hard:
                raise CallError(Errno.EINVAL)
            if hard > before[1] or (resource == NOFILE and hard > _OPEN_MOST):
                raise CallError(Errno.EPERM)
            self._limits[resource] = (soft, hard)
        if old:
            self._guest.store(old, "QQ", *before)
        return 0
