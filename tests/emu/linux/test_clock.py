import pytest

from emu.linux.calls import CallError, Errno
from emu.linux.clock import CALL_TIME, SECOND, Clock, TimeCalls
from emu.linux.guest import Guest
from tests.emu.linux.kernel_parts import DATA, NOWHERE, make_guest


class Counter:
    """Instructions executed so far."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> int:
        """The count."""
        return self.count


def parts(seed: int = 1) -> tuple[Counter, Clock, Guest, TimeCalls]:
    counter = Counter()
    clock = Clock(seed, counter)
    guest = make_guest()
    return counter, clock, guest, TimeCalls(guest, clock)


def test_one_instruction_is_a_nanosecond() -> None:
    """All clocks advance with instructions, and a call takes its time."""
    counter, clock, _, _ = parts()
    real, boot = clock.realtime, clock.monotonic
    counter.count = 1000
    clock.count_call()
    assert clock.realtime - real == clock.monotonic - boot == clock.process == 1000 + CALL_TIME


def test_seed_chooses_the_date() -> None:
    """Equal seeds start at equal times, others do not."""
    assert parts(1)[1].realtime == parts(1)[1].realtime != parts(2)[1].realtime


def test_sleep_advances() -> None:
    """Nanosleep passes at once and counts for the clock, not as used time."""
    _, clock, guest, calls = parts()
    before = clock.monotonic
    guest.store(DATA, "qq", 2, 5)
    assert calls.nanosleep(DATA) == 0
    assert clock.monotonic - before == 2 * SECOND + 5
    assert clock.process == 0


def test_sleep_until() -> None:
    """TIMER_ABSTIME names a moment; one that has passed is no wait."""
    _, clock, guest, calls = parts()
    guest.store(DATA, "qq", *divmod(clock.monotonic + SECOND, SECOND))
    target = clock.monotonic + SECOND
    calls.clock_nanosleep(1, 1, DATA)
    calls.clock_nanosleep(1, 1, DATA)
    assert clock.monotonic == target


def test_clocks_in_memory() -> None:
    """Seconds and nanoseconds of the clock that was asked for."""
    _, clock, guest, calls = parts()
    assert calls.clock_gettime(0, DATA) == 0
    seconds, nanoseconds = guest.unpack("qq", DATA)
    assert seconds * SECOND + nanoseconds == clock.realtime
    calls.gettimeofday(DATA, 0)
    assert guest.unpack("qq", DATA) == (seconds, nanoseconds // 1000)
    assert calls.time(DATA) == seconds
    assert guest.unpack("q", DATA) == (seconds,)
    assert calls.clock_getres(1, DATA) == 0
    assert guest.unpack("qq", DATA) == (0, 1)


@pytest.mark.parametrize("seconds", [-1, 1 << 62])
def test_times_that_cannot_be(seconds: int) -> None:
    """A negative wait is refused, a very long one passes."""
    _, _, guest, calls = parts()
    guest.store(DATA, "qq", seconds, 0)
    if seconds < 0:
        with pytest.raises(CallError):
            calls.nanosleep(DATA)
    else:
        assert calls.nanosleep(DATA) == 0
        assert calls.clock_gettime(1, DATA) == 0


def test_errors() -> None:
    """Unknown clocks and bad pointers."""
    calls = parts()[3]
    for call, number in (
        (lambda: calls.clock_gettime(99, DATA), Errno.EINVAL),
        (lambda: calls.clock_gettime(0, NOWHERE), Errno.EFAULT),
        (lambda: calls.getrusage(5, DATA), Errno.EINVAL),
        (lambda: calls.nanosleep(NOWHERE), Errno.EFAULT),
    ):
        with pytest.raises(CallError) as caught:
            call()
        assert caught.value.number is number


def test_used_time() -> None:
    """Rusage and times show instructions."""
    counter, _, guest, calls = parts()
    counter.count = 3 * SECOND
    assert calls.getrusage(0, DATA) == 0
    assert guest.unpack("qq", DATA) == (3, 0)
    calls.times(DATA)
    assert guest.unpack("q", DATA) == (300,)
