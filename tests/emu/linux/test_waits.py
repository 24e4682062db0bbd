"""poll(2) and select(2): one line to read, two outputs, and nothing that could ever happen."""

import struct
from pathlib import Path

import pytest

from arch import ALL, Arch
from emu.linux.calls import CallError, Errno, RunEndedError
from emu.linux.clock import Clock
from emu.linux.guest import Guest
from emu.linux.waits import Waits
from tests.emu.linux.kernel_parts import (
    DATA,
    NOWHERE,
    READ_ONLY,
    Calls,
    make_files,
    make_guest,
)
from tests.emu.linux.programs import DATA as PROGRAM_DATA
from tests.emu.linux.programs import call, exit_with_result, make

SECOND = 10**9
READ, WRITE, EXCEPT, TIME, MASK = (DATA + 256 * n for n in range(5))
FOR_EVER = (1 << 64) - 1


class Parts:
    """A process of three pipes."""

    def __init__(self, byte_order: str = "little", stdin: bytes = b"line\n") -> None:
        self.guest: Guest = make_guest(byte_order)
        self.clock = Clock(1, lambda: 0)
        files = make_files(self.guest, self.clock, stdin)
        self.files = Calls(files.calls())
        self.waits = Waits(self.guest, files.find, self.clock)

    def sets(self, read: int, write: int = 0, exceptional: int = 0) -> None:
        """Fill the three sets."""
        for place, bits in ((READ, read), (WRITE, write), (EXCEPT, exceptional)):
            self.guest.store(place, "2Q", bits & (1 << 64) - 1, bits >> 64)

    def answers(self) -> tuple[int, ...]:
        """What the sets hold now."""
        return tuple(self.guest.unpack("Q", place)[0] for place in (READ, WRITE, EXCEPT))


@pytest.fixture
def parts() -> Parts:
    """A line to read."""
    return Parts()


def refusal(call: object, *arguments: int) -> Errno:
    with pytest.raises(CallError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value.number


# ---- poll


def test_poll(parts: Parts) -> None:
    """Data or the end of it, room for output, and a closed descriptor."""
    parts.guest.store(DATA, "ihhihhihhihh", 0, 1, 0, 1, 4, 0, 9, 1, 0, -1, 1, 0)
    assert parts.waits.poll(DATA, 4, 0) == 3
    assert parts.guest.unpack("6xh6xh6xh6xh", DATA) == (1, 4, 0x20, 0)
    parts.files.read(0, DATA + 256, 100)
    parts.waits.poll(DATA, 1, 0)
    assert parts.guest.unpack("6xh", DATA) == (0x10,)


def test_poll_for_ever_ends_the_run(parts: Parts) -> None:
    """Nothing can happen any more, so it does not hang."""
    with pytest.raises(RunEndedError, match="poll"):
        parts.waits.poll(DATA, 0, FOR_EVER)
    assert parts.waits.poll(DATA, 0, 50) == 0


def test_ppoll_wants_a_whole_signal_set(parts: Parts) -> None:
    """A mask of another size is EINVAL; none is no mistake, whatever its size."""
    parts.guest.store(TIME, "qq", 0, 0)
    assert refusal(parts.waits.ppoll, DATA, 0, TIME, MASK, 4) is Errno.EINVAL
    assert parts.waits.ppoll(DATA, 0, TIME, 0, 4) == 0


# ---- select


@pytest.mark.parametrize("order", ["little", "big"])
def test_select_tells_who_is_ready(order: str) -> None:
    """The input has data, the outputs have room, nothing is exceptional; all bits count."""
    parts = Parts(order)
    parts.sets(read=0b111, write=0b111, exceptional=0b111)
    assert parts.waits.select(3, READ, WRITE, EXCEPT, 0) == 3
    assert parts.answers() == (0b001, 0b110, 0)


def test_select_at_the_end_of_the_input(parts: Parts) -> None:
    """A pipe that has ended is readable: read(2) would not wait."""
    parts.files.read(0, DATA + 2048, 100)
    parts.sets(read=1)
    assert parts.waits.select(1, READ, 0, 0, 0) == 1
    assert parts.answers()[0] == 1


def test_select_looks_at_the_first_descriptors_only(parts: Parts) -> None:
    """Bits from the count on are no mistake, though closed, and cleared in the last word."""
    parts.sets(read=1 | 1 << 40 | 1 << 70)
    assert parts.waits.select(1, READ, 0, 0, 0) == 1
    assert parts.guest.unpack("2Q", READ) == (1, 1 << 6)


def test_select_of_a_closed_descriptor(parts: Parts) -> None:
    """EBADF, and the sets stay as they were."""
    parts.sets(read=0b1001)
    assert refusal(parts.waits.select, 4, READ, 0, 0, 0) is Errno.EBADF
    assert parts.answers()[0] == 0b1001


def test_select_beyond_one_word(parts: Parts) -> None:
    """Descriptor 100 is bit 36 of the second long."""
    parts.files.dup2(1, 100)
    parts.sets(read=0, write=1 << 100)
    assert parts.waits.select(101, READ, WRITE, 0, 0) == 1
    assert parts.guest.unpack("2Q", WRITE) == (0, 1 << 36)


def test_select_passes_its_time(parts: Parts) -> None:
    """Without anything ready the time-out passes at once, the sets are empty, none is left."""
    parts.sets(read=0b110)
    parts.guest.store(TIME, "qq", 2, 1_500_000)
    before = parts.clock.monotonic
    assert parts.waits.select(3, READ, 0, 0, TIME) == 0
    assert parts.clock.monotonic - before == 3 * SECOND + SECOND // 2
    assert parts.answers()[0] == 0
    assert parts.guest.unpack("qq", TIME) == (0, 0)


def test_select_tells_the_time_that_is_left(parts: Parts) -> None:
    """What is ready at once leaves all of it; where that cannot be told, nobody minds."""
    parts.sets(read=1)
    parts.guest.store(TIME, "qq", 2, 5)
    assert parts.waits.select(1, READ, 0, 0, TIME) == 1
    assert parts.guest.unpack("qq", TIME) == (2, 5)
    assert parts.waits.select(1, READ, 0, 0, READ_ONLY) == 1


@pytest.mark.parametrize("count", [0, 3])
def test_select_for_ever_ends_the_run(parts: Parts, count: int) -> None:
    """A wait for an output to become readable never ends."""
    parts.sets(read=0b110)
    with pytest.raises(RunEndedError, match="select"):
        parts.waits.select(count, READ, 0, 0, 0)


@pytest.mark.parametrize(
    ("seconds", "microseconds"), [(-1, 0), (0, -1), (1, -1), ((1 << 63) - 1, 1_000_000)]
)
def test_select_refuses_times_that_cannot_be(parts: Parts, seconds: int, microseconds: int) -> None:
    """poll_select_set_timeout wants no negative part."""
    parts.guest.store(TIME, "qq", seconds, microseconds)
    assert refusal(parts.waits.select, 0, 0, 0, 0, TIME) is Errno.EINVAL


def test_select_refuses_bad_arguments(parts: Parts) -> None:
    """A negative count and pointers to nowhere."""
    assert refusal(parts.waits.select, (1 << 64) - 1, 0, 0, 0, 0) is Errno.EINVAL
    assert refusal(parts.waits.select, 1, NOWHERE, 0, 0, 0) is Errno.EFAULT
    assert refusal(parts.waits.select, 1, 0, 0, 0, NOWHERE) is Errno.EFAULT
    assert refusal(parts.waits.pselect6, 1, 0, 0, 0, 0, NOWHERE) is Errno.EFAULT


def test_pselect6(parts: Parts) -> None:
    """Nanoseconds, which must be below a second, and the address and size of a mask."""
    parts.sets(read=1)
    parts.guest.store(TIME, "qq", 1, 999_999_999)
    parts.guest.store(MASK, "QQ", DATA + 2048, 8)
    assert parts.waits.pselect6(1, READ, 0, 0, TIME, MASK) == 1
    assert parts.guest.unpack("qq", TIME) == (1, 999_999_999)
    parts.guest.store(MASK, "QQ", DATA + 2048, 4)
    assert refusal(parts.waits.pselect6, 1, READ, 0, 0, TIME, MASK) is Errno.EINVAL
    parts.guest.store(TIME, "qq", 1, SECOND)
    assert refusal(parts.waits.pselect6, 1, READ, 0, 0, TIME, 0) is Errno.EINVAL


@pytest.mark.compiled
@pytest.mark.parametrize("arch", ALL, ids=lambda arch: arch.name)
def test_a_program_that_selects(arch: Arch, tmp_path: Path) -> None:
    """By the call that the machine's C library uses: its input and one output are ready."""
    order = "<" if arch.byte_order == "little" else ">"
    name = "select" if "select" in arch.syscalls else "pselect6"
    data = struct.pack(order + "2Q", 0b111, 0b010)
    code = call(arch, name, 3, PROGRAM_DATA, PROGRAM_DATA + 8, 0, 0, 0) + exit_with_result(arch)
    process = make(tmp_path, arch, code, data, stdin=b"x")
    process.run()
    assert (process.exit_status, dict(process.unsupported)) == (2, {})
    assert process.memory.read_word(PROGRAM_DATA, arch.byte_order) == 1
