"""The guest's clock: it advances with executed instructions, never with the host's time."""

from collections.abc import Callable
from random import Random

from emu.linux.calls import CallError, CallTable, Errno, int32, int64
from emu.linux.guest import Guest

SECOND = 10**9
CALL_TIME = 200
"""Nanoseconds that a system call takes, so that a loop which only asks for the time ends."""

_EARLIEST = 1_900_000_000
"""In 2030: later than the files of a root, whose times make(1) and others compare with it. Those
stay as they are, since Python keeps them in its compiled modules."""
_YEARS = 5 * 365 * 86400
_LONGEST = 1 << 62
"""Nanoseconds of all waits together; the clock's words hold no more (Linux KTIME_MAX)."""
_TICK = SECOND // 100
"""Nanoseconds of a clock tick (AT_CLKTCK is 100)."""

# clock_gettime(2): ids that show the date, the time since boot, and the time of the process.
_REALTIME = (0, 5, 8, 11)
_MONOTONIC = (1, 4, 6, 7, 9)
_PROCESS = (2, 3)
_TIMER_ABSTIME = 1


class Clock:
    """Time of the process, in nanoseconds: one for each instruction.

    Args:
        seed: chooses the date and the time since boot at which the process starts.
        instructions: tells how many have been executed.
    """

    def __init__(self, seed: int, instructions: Callable[[], int]) -> None:
        random = Random(f"clock {seed}")
        self._instructions = instructions
        self._epoch = (_EARLIEST + random.randrange(_YEARS)) * SECOND + random.randrange(SECOND)
        self._uptime = random.randrange(60 * SECOND, 86400 * SECOND)
        self._calls = 0
        self._slept = 0

    def count_call(self) -> None:
        """Let the time of one system call pass."""
        self._calls += 1

    def sleep(self, duration: int) -> None:
        """Let time pass in which the process does nothing."""
        self._slept = min(self._slept + max(duration, 0), _LONGEST)

    @property
    def process(self) -> int:
        """Time that the process has used."""
        return self._instructions() + self._calls * CALL_TIME

    @property
    def monotonic(self) -> int:
        """Time since boot."""
        return self._uptime + self.process + self._slept

    @property
    def realtime(self) -> int:
        """Time since 1970."""
        return self._epoch + self.process + self._slept

    def read(self, clock: int) -> int:
        """The clock of clock_gettime(2) with this id; CallError(EINVAL) if there is none."""
        if clock in _REALTIME:
            return self.realtime
        if clock in _MONOTONIC:
            return self.monotonic
        # Negative ids name the CPU clock of a process or thread: there is only one.
        if clock in _PROCESS or clock < 0:
            return self.process
        raise CallError(Errno.EINVAL)


class TimeCalls:
    """System calls about time.

    Args:
        guest: memory of the caller.
        clock: the only source of time.
    """

    def __init__(self, guest: Guest, clock: Clock) -> None:
        self._guest = guest
        self._clock = clock

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "clock_gettime": (2, self.clock_gettime),
            "clock_getres": (2, self.clock_getres),
            "clock_nanosleep": (3, self.clock_nanosleep),
            "nanosleep": (1, self.nanosleep),
            "gettimeofday": (2, self.gettimeofday),
            "time": (1, self.time),
            "times": (1, self.times),
            "getrusage": (2, self.getrusage),
        }

    def duration(self, address: int) -> int:
        """Nanoseconds of a struct timespec in guest memory."""
        seconds, nanoseconds = self._guest.unpack("qq", address)
        if seconds < 0 or not 0 <= nanoseconds < SECOND:
            raise CallError(Errno.EINVAL)
        return int(seconds) * SECOND + int(nanoseconds)

    def clock_gettime(self, clock: int, result: int) -> int:
        """clock_gettime(2)."""
        self._guest.store(result, "qq", *divmod(self._clock.read(int32(clock)), SECOND))
        return 0

    def clock_getres(self, clock: int, result: int) -> int:
        """clock_getres(2): one nanosecond."""
        self._clock.read(int32(clock))
        if result:
            self._guest.store(result, "qq", 0, 1)
        return 0

    def nanosleep(self, request: int) -> int:
        """nanosleep(2): the clock advances, nothing waits."""
        self._clock.sleep(self.duration(request))
        return 0

    def clock_nanosleep(self, clock: int, flags: int, request: int) -> int:
        """clock_nanosleep(2)."""
        now = self._clock.read(int32(clock))
        wanted = self.duration(request)
        self._clock.sleep(wanted - now if int32(flags) & _TIMER_ABSTIME else wanted)
        return 0

    def gettimeofday(self, result: int, zone: int) -> int:
        """gettimeofday(2): the zone is UTC."""
        seconds, nanoseconds = divmod(self._clock.realtime, SECOND)
        if result:
            self._guest.store(result, "qq", seconds, nanoseconds // 1000)
        if zone:
            self._guest.store(zone, "ii", 0, 0)
        return 0

    def time(self, result: int) -> int:
        """time(2)."""
        seconds = self._clock.realtime // SECOND
        if result:
            self._guest.store(result, "q", seconds)
        return seconds

    def times(self, result: int) -> int:
        """times(2): all time is user time."""
        if result:
            self._guest.store(result, "4q", self._clock.process // _TICK, 0, 0, 0)
        return self._clock.monotonic // _TICK

    def getrusage(self, who: int, result: int) -> int:
        """getrusage(2): user time and nothing else."""
        if int64(who) not in (0, 1, -1):
            raise CallError(Errno.EINVAL)
        used = self._clock.process if int64(who) >= 0 else 0
        seconds, nanoseconds = divmod(used, SECOND)
        self._guest.store(result, "18q", seconds, nanoseconds // 1000, *[0] * 16)
        return 0
