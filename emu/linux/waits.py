"""Calls that wait for descriptors: poll(2) and select(2) in all forms (fs/select.c).

Nothing happens while the process waits: what is not ready at once never will be, and a
time-out passes at once. Signal masks are not looked at.
"""

from collections.abc import Callable

from emu.linux.calls import CallError, CallTable, Errno, RunEndedError, int32
from emu.linux.clock import SECOND, Clock, TimeCalls
from emu.linux.guest import Guest
from emu.linux.vfs.open_files import (
    POLLERR,
    POLLHUP,
    POLLIN,
    POLLNVAL,
    POLLOUT,
    POLLRDNORM,
    POLLWRNORM,
    OpenFile,
)

_MICROSECOND = 1000
OPEN_MAX = 1024
_SIGNAL_SET = 8
"""Bytes of a signal set."""
_READY = (POLLIN | POLLRDNORM | POLLHUP | POLLERR, POLLOUT | POLLWRNORM | POLLERR, 0)
"""What counts for the sets to read, to write, and of exceptions; pipes have none of these."""


class Waits:
    """System calls that wait.

    Args:
        guest: memory of the caller.
        find: the open file of a descriptor, or None.
        clock: where time-outs pass.
    """

    def __init__(self, guest: Guest, find: Callable[[int], OpenFile | None], clock: Clock) -> None:
        self._guest = guest
        self._find = find
        self._clock = clock
        self._time = TimeCalls(guest, clock)

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "poll": (3, self.poll),
            "ppoll": (5, self.ppoll),
            "select": (5, self.select),
            "pselect6": (6, self.pselect6),
        }

    # ---- poll

    def poll(self, address: int, count: int, timeout: int) -> int:
        """poll(2)."""
        milliseconds = int32(timeout)
        return self._poll(address, count, None if milliseconds < 0 else milliseconds * 10**6)

    def ppoll(self, address: int, count: int, timeout: int, mask: int, size: int) -> int:
        """ppoll(2)."""
        wait = self._time.duration(timeout) if timeout else None
        if mask and size != _SIGNAL_SET:
            raise CallError(Errno.EINVAL)
        return self._poll(address, count, wait)

    def _poll(self, address: int, count: int, timeout: int | None) -> int:
        if count > OPEN_MAX:
            raise CallError(Errno.EINVAL)
        found = 0
        for place in range(address, address + 8 * count, 8):
            descriptor, wanted, _ = self._guest.unpack("ihh", place)
            answer = 0
            if descriptor >= 0:
                file = self._find(descriptor)
                answer = file.ready() & (wanted | POLLERR | POLLHUP) if file else POLLNVAL
            self._guest.store(place + 6, "h", answer)
            found += bool(answer)
        if not found:
            self._pass(timeout, "poll")
        return found

    # ---- select

    def select(self, count: int, read: int, write: int, except_: int, timeout: int) -> int:
        """select(2)."""
        wait = None
        if timeout:
            seconds, microseconds = self._guest.unpack("qq", timeout)
            wait = self._duration(seconds, microseconds * _MICROSECOND, microseconds >= 0)
        found = self._select(int32(count), (read, write, except_), wait)
        if wait is not None:
            self._store_rest(timeout, _MICROSECOND, wait if found else 0)
        return found

    def pselect6(
        self, count: int, read: int, write: int, except_: int, timeout: int, mask: int
    ) -> int:
        """pselect6(2); the last argument points to a signal set's address and size."""
        wait = self._time.duration(timeout) if timeout else None
        if mask:
            place, size = self._guest.unpack("QQ", mask)
            if place and size != _SIGNAL_SET:
                raise CallError(Errno.EINVAL)
        found = self._select(int32(count), (read, write, except_), wait)
        if wait is not None:
            self._store_rest(timeout, 1, wait if found else 0)
        return found

    def _select(self, count: int, places: tuple[int, int, int], timeout: int | None) -> int:
        if count < 0:
            raise CallError(Errno.EINVAL)
        count = min(count, OPEN_MAX)
        words = (count + 63) // 64
        wanted = [self._bits(place, words) & (1 << count) - 1 for place in places]
        files: dict[int, OpenFile] = {}
        for descriptor in range(count):
            if any(bits >> descriptor & 1 for bits in wanted):
                file = self._find(descriptor)
                if file is None:
                    raise CallError(Errno.EBADF)
                files[descriptor] = file
        found = 0
        answers = []
        for bits, ready in zip(wanted, _READY, strict=True):
            answer = sum(
                1 << descriptor
                for descriptor, file in files.items()
                if bits >> descriptor & 1 and file.ready() & ready
            )
            found += answer.bit_count()
            answers.append(answer)
        if not found:
            self._pass(timeout, "select")
        for place, answer in zip(places, answers, strict=True):
            if place:
                self._guest.store(
                    place, f"{words}Q", *(answer >> 64 * i & (1 << 64) - 1 for i in range(words))
                )
        return found

    def _bits(self, place: int, words: int) -> int:
        """A set of descriptors: longs, in which descriptor n is the bit of value 2^(n % 64)."""
        values = self._guest.unpack(f"{words}Q", place) if place else ()
        return sum(int(value) << 64 * i for i, value in enumerate(values))

    # ---- time

    @staticmethod
    def _duration(seconds: int, nanoseconds: int, valid: bool) -> int:
        """As poll_select_set_timeout takes it: too many microseconds are seconds."""
        total = seconds * SECOND + nanoseconds
        if not valid or not 0 <= total < SECOND << 63:
            raise CallError(Errno.EINVAL)
        return total

    def _pass(self, timeout: int | None, name: str) -> None:
        if timeout is None:
            raise RunEndedError(reason=f"{name} waits for something that cannot happen")
        self._clock.sleep(timeout)

    def _store_rest(self, place: int, unit: int, rest: int) -> None:
        """Linux tells the time that is left; it does not mind if it cannot."""
        seconds, nanoseconds = divmod(rest, SECOND)
        try:
            self._guest.store(place, "qq", seconds, nanoseconds // unit)
        except CallError:
            return
