"""epoll(7): levels, edges, one shot, nesting, and how the structure lies in memory."""

from itertools import pairwise

import pytest

from emu.linux.calls import Errno, RunEndedError
from tests.emu.linux.caller import NOWHERE, Caller

IN, OUT, ERR, HUP = 1, 4, 8, 0x10
ONESHOT, EDGE, EXCLUSIVE = 1 << 30, 1 << 31, 1 << 28
ADD, DEL, MOD = 1, 2, 3
NONBLOCK = 0o4000
DATA = 0x1122334455667788


class Polled:
    """An epoll file, a pipe, and shortcuts."""

    def __init__(self, call: Caller) -> None:
        self.call = call
        self.epoll = call("epoll_create1", 0)
        assert call("pipe2", call.room, NONBLOCK) == 0
        self.reader, self.writer = call.get("ii")
        # Linux packs the structure on x86-64 only (EPOLL_PACKED).
        self.layout = "IQ" if call.arch.name == "x86_64" else "I4xQ"
        self.size = 12 if call.arch.name == "x86_64" else 16

    def ctl(self, operation: int, descriptor: int, events: int, data: int = DATA) -> int:
        """epoll_ctl(2)."""
        if self.size == 12:
            self.call.memory.write(self.call.room, events.to_bytes(4, "little"))
            self.call.memory.write(self.call.room + 4, data.to_bytes(8, "little"))
        else:
            self.call.put(self.layout, events, data)
        return self.call("epoll_ctl", self.epoll, operation, descriptor, self.call.room)

    def wait(self, most: int = 8) -> list[tuple[int, int]]:
        """What epoll_pwait(2) tells at once."""
        room = self.call.room
        self.call.memory.write(room, b"\xff" * self.size * (most + 1))
        count = self.call("epoll_pwait", self.epoll, room, most, 0, 0, 8)
        assert count >= 0, count
        assert self.call.bytes(self.size, self.size * count) == b"\xff" * self.size
        order = "little" if self.call.arch.byte_order == "little" else "big"
        found = []
        for index in range(count):
            event = self.call.bytes(self.size, self.size * index)
            found.append((int.from_bytes(event[:4], order), int.from_bytes(event[-8:], order)))
        return found

    def write(self) -> None:
        """A byte into the pipe."""
        assert self.call("write", self.writer, b"x", 1) == 1

    def read(self) -> None:
        """A byte out of it."""
        assert self.call("read", self.reader, self.call.room + 512, 1) == 1


@pytest.fixture
def polled(call: Caller) -> Polled:
    """Nothing is watched yet."""
    return Polled(call)


def test_levels(polled: Polled) -> None:
    """What is ready is told each time, with the caller's data, in the machine's layout."""
    assert polled.ctl(ADD, polled.reader, IN) == 0
    assert polled.wait() == []
    polled.write()
    assert polled.wait() == [(IN, DATA)]
    assert polled.wait() == [(IN, DATA)]
    polled.read()
    assert polled.wait() == []
    assert polled.ctl(MOD, polled.reader, OUT, 5) == 0
    polled.write()
    assert polled.wait() == []
    assert polled.ctl(DEL, polled.reader, 0) == 0
    assert polled.ctl(DEL, polled.reader, 0) == -Errno.ENOENT


def test_edges(polled: Polled) -> None:
    """Told once, and again when more comes (epoll(7))."""
    assert polled.ctl(ADD, polled.reader, IN | EDGE) == 0
    polled.write()
    polled.write()
    assert polled.wait() == [(IN, DATA)]
    assert polled.wait() == []
    polled.read()
    assert polled.wait() == []
    polled.write()
    assert polled.wait() == [(IN, DATA)]
    assert polled.ctl(MOD, polled.reader, IN | EDGE) == 0
    assert polled.wait() == [(IN, DATA)]


def test_one_shot(polled: Polled) -> None:
    """Told once until it is switched on again."""
    polled.write()
    assert polled.ctl(ADD, polled.reader, IN | ONESHOT) == 0
    assert polled.wait() == [(IN, DATA)]
    polled.write()
    assert polled.wait() == []
    assert polled.ctl(MOD, polled.reader, IN | ONESHOT) == 0
    assert polled.wait() == [(IN, DATA)]


def test_ends_are_always_told(polled: Polled) -> None:
    """EPOLLHUP and EPOLLERR need not be asked for."""
    call = polled.call
    assert polled.ctl(ADD, polled.reader, 0, 1) == 0
    assert polled.ctl(ADD, polled.writer, 0, 2) == 0
    assert polled.wait() == []
    other = call("dup", polled.writer)
    assert call("close", polled.writer) == 0
    assert polled.wait() == []
    assert call("close", other) == 0
    assert polled.wait() == [(HUP, 1)]


def test_turns(polled: Polled) -> None:
    """With room for one answer, all that is ready gets its turn."""
    counters = [polled.call("eventfd2", 1, NONBLOCK) for _ in range(3)]
    for counter in counters:
        assert polled.ctl(ADD, counter, IN, counter) == 0
    told = [polled.wait(1) for _ in range(6)]
    assert [each[0][1] for each in told] == counters * 2


def test_closing_ends_it(polled: Polled) -> None:
    """Only the last descriptor of a file does (epoll(7), Q6)."""
    call = polled.call
    polled.write()
    assert polled.ctl(ADD, polled.reader, IN) == 0
    other = call("dup", polled.reader)
    assert call("close", polled.reader) == 0
    assert polled.wait() == [(IN, DATA)]
    assert call("close", other) == 0
    assert polled.wait() == []


def test_epoll_of_epoll(polled: Polled) -> None:
    """An epoll file is readable when it would tell something; circles are ELOOP."""
    call = polled.call
    inner = polled.epoll
    assert polled.ctl(ADD, polled.reader, IN) == 0
    outer = call("epoll_create1", 0)
    polled.epoll = outer
    assert polled.ctl(ADD, inner, IN, 7) == 0
    assert polled.wait() == []
    polled.write()
    assert polled.wait() == [(IN, 7)]
    polled.epoll = inner
    assert polled.ctl(ADD, outer, IN) == -Errno.ELOOP
    assert polled.ctl(ADD, inner, IN) == -Errno.EINVAL


@pytest.mark.parametrize("upwards", [True, False])
def test_depth_is_bounded(polled: Polled, upwards: bool) -> None:
    """A chain of five, no more, in whatever order it is made."""
    chain = [polled.call("epoll_create1", 0) for _ in range(6)]
    results = []
    for below, above in pairwise(chain if upwards else chain[::-1]):
        polled.epoll = above if upwards else below
        results.append(polled.ctl(ADD, below if upwards else above, IN))
    assert results == [0, 0, 0, 0, -Errno.ELOOP]


def test_errors(polled: Polled) -> None:
    """epoll_ctl(2) and epoll_wait(2), ERRORS."""
    call, epoll, room = polled.call, polled.epoll, polled.call.room
    call.make(b"/f")
    file = call.open(b"/f")
    assert polled.ctl(ADD, polled.reader, IN) == 0
    assert polled.ctl(ADD, polled.reader, IN) == -Errno.EEXIST
    assert polled.ctl(MOD, polled.writer, IN) == -Errno.ENOENT
    assert polled.ctl(MOD, polled.reader, IN | EXCLUSIVE) == -Errno.EINVAL
    assert polled.ctl(ADD, file, IN) == -Errno.EPERM
    assert polled.ctl(ADD, 99, IN) == -Errno.EBADF
    assert polled.ctl(9, polled.writer, IN) == -Errno.EINVAL
    assert call("epoll_ctl", epoll, ADD, polled.writer, NOWHERE) == -Errno.EFAULT
    assert call("epoll_ctl", polled.reader, ADD, polled.writer, room) == -Errno.EINVAL
    assert call("epoll_create1", 1) == -Errno.EINVAL
    for most in (0, -1, 1 << 31):
        assert call("epoll_pwait", epoll, room, most, 0, 0, 8) == -Errno.EINVAL
    assert call("epoll_pwait", polled.reader, room, 1, 0, 0, 8) == -Errno.EINVAL
    assert call("epoll_pwait", 99, room, 1, 0, 0, 8) == -Errno.EBADF
    assert call("epoll_pwait", epoll, room, 1, 0, room, 4) == -Errno.EINVAL
    polled.write()
    assert call("epoll_pwait", epoll, NOWHERE, 1, 0, 0, 8) == -Errno.EFAULT
    assert call("read", epoll, room, 8) == -Errno.EINVAL


def test_waits_end(polled: Polled) -> None:
    """A time-out passes at once; a wait without one for what cannot happen ends the run."""
    call, clock = polled.call, polled.call.process.clock
    before = clock.monotonic
    assert call("epoll_pwait", polled.epoll, call.room, 1, 1500, 0, 8) == 0
    call.put("qq", 2, 5)
    assert call("epoll_pwait2", polled.epoll, call.room + 64, 1, call.room, 0, 8) == 0
    assert clock.monotonic - before == 3_500_000_005
    with pytest.raises(RunEndedError, match="epoll"):
        call("epoll_pwait", polled.epoll, call.room, 1, -1, 0, 8)
