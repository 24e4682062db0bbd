import pytest

from emu.linux.calls import CallError, Errno, RunEndedError
from emu.linux.clock import SECOND, Clock
from emu.linux.credentials import PID, Credentials
from emu.linux.guest import Guest
from emu.linux.limits import Limits
from emu.linux.scheduling import Scheduling
from emu.linux.task import Task
from tests.emu.linux.kernel_parts import DATA, DATA_SIZE, LIMIT, NOWHERE, Calls, make_guest

SET_BASE, GET_BASE = 0x1002, 0x1003


def make_task(guest: Guest, clock: Clock | None = None, seed: int = 1) -> Task:
    bases: list[int] = [0]

    def write(value: int) -> None:
        bases[0] = value

    segments = {SET_BASE: (write, None), GET_BASE: (None, lambda: bases[0])}
    clock = clock or Clock(1, lambda: 0)
    return Task(guest, clock, "machine", b"prog", seed, segments, 1 << 47)


@pytest.fixture
def guest() -> Guest:
    """A small address space."""
    return make_guest()


@pytest.fixture
def task(guest: Guest) -> Task:
    """The one thread."""
    return make_task(guest)


def refusal(call: object, *arguments: int) -> CallError:
    with pytest.raises(CallError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value


def test_exit_status_is_a_byte(task: Task) -> None:
    """As wait(2) would show it."""
    with pytest.raises(RunEndedError) as caught:
        task.exit(0x1_FFFF_FF02)
    assert caught.value.status == 2


def test_constant_answers(guest: Guest) -> None:
    """Ids that never change."""
    table = Credentials(guest).calls()
    assert table["getpid"][1]() == table["gettid"][1]() == PID
    assert table["getuid"][1]() == table["geteuid"][1]() == 1000


def test_random_bytes_come_from_the_seed(guest: Guest) -> None:
    """The same seed gives the same bytes, and they go on."""
    found = []
    for seed in (1, 1, 2):
        task = make_task(guest, seed=seed)
        task.getrandom(DATA, 16, 0)
        task.getrandom(DATA + 16, 16, 0)
        found.append(guest.read(DATA, 32))
    assert found[0] == found[1] != found[2]
    assert found[0][:16] != found[0][16:]


def test_random_bytes_are_bounded(task: Task) -> None:
    """A huge length ends at the first page that is missing; unknown flags are refused."""
    assert refusal(task.getrandom, DATA, (1 << 64) - 1, 0).number is Errno.EFAULT
    assert refusal(task.getrandom, DATA, 1, 8).number is Errno.EINVAL
    assert task.getrandom(DATA, DATA_SIZE, 0) == DATA_SIZE


def test_uname(task: Task, guest: Guest) -> None:
    """Six strings of 65 bytes."""
    task.uname(DATA)
    assert guest.text(DATA, 65) == b"Linux"
    assert guest.text(DATA + 4 * 65, 65) == b"machine"


def test_sysinfo(task: Task, guest: Guest) -> None:
    """Total memory is the limit, in units of one byte, in 112 bytes."""
    guest.write(DATA, b"\xff" * 120)
    task.sysinfo(DATA)
    assert guest.unpack("32xQ", DATA) == (LIMIT,)
    assert guest.unpack("104xI", DATA) == (1,)
    assert guest.read(DATA + 112, 1) == b"\xff"


def test_limits(guest: Guest) -> None:
    """The stack has 8 MiB; a new limit is remembered, a wider hard one is refused."""
    task = Calls(Limits(guest, 8 << 20).calls())
    task.getrlimit(3, DATA)
    assert guest.unpack("QQ", DATA) == (8 << 20, (1 << 64) - 1)
    guest.store(DATA, "QQ", 100, 200)
    task.prlimit64(0, 7, DATA, DATA + 16)
    assert guest.unpack("QQ", DATA + 16) == (1024, 4096)
    task.prlimit64(PID, 7, 0, DATA)
    assert guest.unpack("QQ", DATA) == (100, 200)
    guest.store(DATA, "QQ", 100, 300)
    assert refusal(task.setrlimit, 7, DATA).number is Errno.EPERM
    assert refusal(task.getrlimit, 16, DATA).number is Errno.EINVAL
    assert refusal(task.prlimit64, 5, 3, 0, DATA).number is Errno.ESRCH


def test_affinity_is_one_cpu(guest: Guest) -> None:
    """The result is the number of bytes written."""
    task = Scheduling(guest)
    assert task.sched_getaffinity(0, 128, DATA) == 8
    assert guest.unpack("Q", DATA) == (1,)
    assert refusal(task.sched_getaffinity, 0, 4, DATA).number is Errno.EINVAL


def test_futex(task: Task, guest: Guest) -> None:
    """Nobody to wake; a changed word is EAGAIN; an endless wait ends the run."""
    assert task.futex(DATA, 129, 1, 0, 0, 0) == 0
    assert refusal(task.futex, DATA, 128, 7, 0, 0, 0).number is Errno.EAGAIN
    assert refusal(task.futex, NOWHERE, 128, 7, 0, 0, 0).number is Errno.EFAULT
    with pytest.raises(RunEndedError, match="deadlock"):
        task.futex(DATA, 128, 0, 0, 0, 0)
    assert refusal(task.futex, DATA, 6, 0, 0, 0, 0).unsupported == "futex operation 6"


def test_futex_with_a_time_out(guest: Guest) -> None:
    """The time passes, then it is ETIMEDOUT."""
    clock = Clock(1, lambda: 0)
    before = clock.monotonic
    guest.store(DATA + 16, "qq", 3, 0)
    error = refusal(make_task(guest, clock).futex, DATA, 0, 0, DATA + 16, 0, 0)
    assert error.number is Errno.ETIMEDOUT
    assert clock.monotonic - before == 3 * SECOND


def test_rseq_is_refused_by_design(task: Task) -> None:
    """A C library copes with a kernel that lacks it."""
    error = refusal(task.rseq, DATA, 32, 0, 0)
    assert (error.number, error.refused) == (Errno.ENOSYS, True)


def test_segment_bases(task: Task, guest: Guest) -> None:
    """Set and get by the numbers of the descriptor; kernel addresses are refused."""
    assert task.arch_prctl(SET_BASE, 0x1234) == 0
    task.arch_prctl(GET_BASE, DATA)
    assert guest.unpack("Q", DATA) == (0x1234,)
    assert refusal(task.arch_prctl, SET_BASE, 1 << 63).number is Errno.EPERM
    assert refusal(task.arch_prctl, 0x3001, DATA).number is Errno.EINVAL


def test_thread_name(task: Task, guest: Guest) -> None:
    """Fifteen bytes of it are kept."""
    guest.write(DATA, b"a name that is too long\0")
    task.prctl(15, DATA, 0, 0, 0)
    task.prctl(16, DATA + 64, 0, 0, 0)
    assert guest.read(DATA + 64, 16) == b"a name that is \0"
    assert refusal(task.prctl, 99, 0, 0, 0, 0).unsupported == "prctl 99"
