"""One thread on one CPU: policies, priorities and affinity (kernel/sched, sched(7))."""

from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.credentials import OWNER, PID
from emu.linux.guest import Guest

_OTHER, _FIFO, _RR, _BATCH, _IDLE, _DEADLINE = 0, 1, 2, 3, 5, 6
_RESET_ON_FORK = 0x4000_0000
_REAL_TIME_MOST = 99
_SLICE = 4 * 10**6
"""Nanoseconds of a time slice, as sched_rr_get_interval(2) tells it."""
_ATTRIBUTES = 48
"""Bytes of the first struct sched_attr."""
_OF_PROCESS, _OF_GROUP, _OF_USER = 0, 1, 2
_NICEST = 19


class Scheduling:
    """What the process may ask of the scheduler.

    Args:
        guest: memory of the caller.
    """

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self._policy = _OTHER
        self._nice = 0

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "sched_yield": (0, lambda: 0), "getcpu": (2, self.getcpu),
            "sched_getaffinity": (3, self.sched_getaffinity),
            "sched_setaffinity": (3, self.sched_setaffinity),
            "sched_getscheduler": (1, self.sched_getscheduler),
            "sched_setscheduler": (3, self.sched_setscheduler),
            "sched_getparam": (2, self.sched_getparam), "sched_setparam": (2, self.sched_setparam),
            "sched_get_priority_max": (1, lambda policy: self._priority(policy, _REAL_TIME_MOST)),
            "sched_get_priority_min": (1, lambda policy: self._priority(policy, 1)),
            "sched_rr_get_interval": (2, self.sched_rr_get_interval),
            "sched_getattr": (4, self.sched_getattr),
            "getpriority": (2, self.getpriority), "setpriority": (3, self.setpriority),
            "ioprio_get": (2, self.ioprio_get), "ioprio_set": (3, self.ioprio_set),
        }  # fmt: skip

    @property
    def nice(self) -> int:
        """The nice value."""
        return self._nice

    # ---- CPUs

    def getcpu(self, cpu: int, node: int) -> int:
        """getcpu(2)."""
        for address in (cpu, node):
            if address:
                self._guest.store(address, "I", 0)
        return 0

    def sched_getaffinity(self, pid: int, size: int, mask: int) -> int:
        """sched_getaffinity(2): CPU 0; the result is the number of bytes written."""
        if size & 0xFFFF_FFFF < 8 or size & 7:
            raise CallError(Errno.EINVAL)
        self._this(pid)
        self._guest.store(mask, "Q", 1)
        return 8

    def sched_setaffinity(self, pid: int, size: int, mask: int) -> int:
        """sched_setaffinity(2): CPU 0 must be among them."""
        (cpus,) = self._guest.unpack("Q", mask)
        self._this(pid)
        if size & 0xFFFF_FFFF < 8 or not cpus & 1:
            raise CallError(Errno.EINVAL)
        return 0

    # ---- policies

    def sched_getscheduler(self, pid: int) -> int:
        """sched_getscheduler(2)."""
        self._this(pid)
        return self._policy

    def sched_setscheduler(self, pid: int, policy: int, parameter: int) -> int:
        """sched_setscheduler(2): real time is not for an ordinary user."""
        policy = int32(policy) & ~_RESET_ON_FORK
        if int32(policy) < 0 or int32(pid) < 0 or not parameter:
            raise CallError(Errno.EINVAL)
        (priority,) = self._guest.unpack("i", parameter)
        self._this(pid)
        if policy in (_FIFO, _RR):
            raise CallError(Errno.EPERM if 1 <= priority <= _REAL_TIME_MOST else Errno.EINVAL)
        if policy not in (_OTHER, _BATCH, _IDLE) or priority:
            raise CallError(Errno.EINVAL)
        self._policy = policy
        return 0

    def sched_getparam(self, pid: int, result: int) -> int:
        """sched_getparam(2): the static priority is 0."""
        if not result or int32(pid) < 0:
            raise CallError(Errno.EINVAL)
        self._this(pid)
        self._guest.store(result, "i", 0)
        return 0

    def sched_setparam(self, pid: int, parameter: int) -> int:
        """sched_setparam(2)."""
        return self.sched_setscheduler(pid, self._policy, parameter)

    def _priority(self, policy: int, of_real_time: int) -> int:
        if int32(policy) in (_FIFO, _RR):
            return of_real_time
        if int32(policy) not in (_OTHER, _BATCH, _IDLE, _DEADLINE):
            raise CallError(Errno.EINVAL)
        return 0

    def sched_rr_get_interval(self, pid: int, result: int) -> int:
        """sched_rr_get_interval(2)."""
        if int32(pid) < 0:
            raise CallError(Errno.EINVAL)
        self._this(pid)
        self._guest.store(result, "qq", 0, _SLICE)
        return 0

    def sched_getattr(self, pid: int, result: int, size: int, flags: int) -> int:
        """sched_getattr(2)."""
        size &= 0xFFFF_FFFF
        if not result or int32(pid) < 0 or not _ATTRIBUTES <= size <= 4096 or int32(flags):
            raise CallError(Errno.EINVAL)
        self._this(pid)
        self._guest.store(result, "IIQiIQQQ", _ATTRIBUTES, self._policy, 0, self._nice, 0, 0, 0, 0)
        return 0

    # ---- priorities

    def getpriority(self, which: int, who: int) -> int:
        """getpriority(2): 20 minus the nice value."""
        self._only_this(which, who)
        return 20 - self._nice

    def setpriority(self, which: int, who: int, value: int) -> int:
        """setpriority(2): an ordinary user may only be nicer."""
        self._only_this(which, who)
        nice = max(-20, min(int32(value), _NICEST))
        if nice < self._nice:
            raise CallError(Errno.EACCES)
        self._nice = nice
        return 0

    def ioprio_get(self, which: int, who: int) -> int:
        """ioprio_get(2): no class."""
        self._only_this(int32(which) - 1, who)
        return 0

    def ioprio_set(self, which: int, who: int, value: int) -> int:
        """ioprio_set(2): best effort and idle are for everybody."""
        kind, level = int32(value) >> 13 & 7, int32(value) & 7
        if kind > 3 or (kind == 0 and level):
            raise CallError(Errno.EINVAL)
        if kind == 1:
            raise CallError(Errno.EPERM)
        self._only_this(int32(which) - 1, who)
        return 0

    def _only_this(self, which: int, who: int) -> None:
        """The process itself, as process, group or user; CallError(EINVAL, ESRCH)."""
        which, who = int32(which), int32(who)
        if which not in (_OF_PROCESS, _OF_GROUP, _OF_USER):
            raise CallError(Errno.EINVAL)
        if who not in (0, OWNER if which == _OF_USER else PID):
            raise CallError(Errno.ESRCH)

    @staticmethod
    def _this(pid: int) -> None:
        if int32(pid) not in (0, PID):
            raise CallError(Errno.ESRCH)
