from collections import Counter

import pytest

from emu.linux.calls import CallError, Errno, RunEndedError
from emu.linux.guest import Guest
from emu.linux.signals import Signals, signal_name
from tests.emu.linux.kernel_parts import DATA, NOWHERE, make_guest

PID = 1000
ABORT, KILL, USER1, CHILD, TERMINATE, STOP = 6, 9, 10, 17, 15, 19


@pytest.fixture
def guest() -> Guest:
    """A small address space."""
    return make_guest()


@pytest.fixture
def noted() -> Counter[str]:
    """What was counted as unsupported."""
    return Counter()


@pytest.fixture
def signals(guest: Guest, noted: Counter[str]) -> Signals:
    """Those of a new process."""
    return Signals(guest, PID, lambda name: noted.update([name]))


def refusal(call: object, *arguments: int) -> Errno:
    with pytest.raises(CallError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value.number


def test_default_action_kills(signals: Signals) -> None:
    """Whichever call sends it."""
    for call in (
        lambda: signals.kill(PID, ABORT),
        lambda: signals.tkill(PID, ABORT),
        lambda: signals.tgkill(PID, PID, ABORT),
    ):
        with pytest.raises(RunEndedError) as caught:
            call()
        assert caught.value.signal == "SIGABRT"


def test_some_are_ignored(signals: Signals, guest: Guest) -> None:
    """SIGCHLD by default, SIGTERM by choice, 0 is only a question."""
    guest.store(DATA, "4Q", 1, 0, 0, 0)
    signals.rt_sigaction(TERMINATE, DATA, 0, 8)
    for signal in (0, CHILD, TERMINATE):
        assert signals.kill(PID, signal) == 0


def test_blocked_signal_waits(signals: Signals, guest: Guest) -> None:
    """It is pending, and kills when it is unblocked."""
    guest.store(DATA, "Q", 1 << ABORT - 1)
    signals.rt_sigprocmask(0, DATA, 0, 8)
    assert signals.kill(PID, ABORT) == 0
    signals.rt_sigpending(DATA + 8, 8)
    assert guest.unpack("Q", DATA + 8) == (1 << ABORT - 1,)
    with pytest.raises(RunEndedError):
        signals.rt_sigprocmask(1, DATA, 0, 8)


def test_kill_cannot_be_blocked(signals: Signals, guest: Guest) -> None:
    """A mask with SIGKILL leaves it out, and its action cannot be changed."""
    guest.store(DATA, "Q", (1 << 64) - 1)
    signals.rt_sigprocmask(2, DATA, 0, 8)
    signals.rt_sigprocmask(2, 0, DATA, 8)
    assert guest.unpack("Q", DATA)[0] == (1 << 64) - 1 - (1 << KILL - 1) - (1 << STOP - 1)
    assert refusal(signals.rt_sigaction, KILL, DATA, 0, 8) is Errno.EINVAL


def test_action_is_remembered(signals: Signals, guest: Guest) -> None:
    """The old one comes back; new and old may be the same place."""
    guest.store(DATA, "4Q", 0x401000, 4, 0x402000, 6)
    signals.rt_sigaction(USER1, DATA, DATA, 8)
    assert guest.unpack("4Q", DATA) == (0, 0, 0, 0)
    signals.rt_sigaction(USER1, 0, DATA, 8)
    assert guest.unpack("4Q", DATA) == (0x401000, 4, 0x402000, 6)


def test_handler_is_counted(signals: Signals, guest: Guest, noted: Counter[str]) -> None:
    """Handlers are not called in this version, and the report says so."""
    guest.store(DATA, "4Q", 0x401000, 0, 0, 0)
    signals.rt_sigaction(USER1, DATA, 0, 8)
    assert signals.kill(PID, USER1) == 0
    assert noted == {"handler of SIGUSR1": 1}


@pytest.mark.parametrize(
    ("name", "arguments", "number"),
    [
        ("kill", (PID + 1, ABORT), Errno.ESRCH),
        ("kill", (PID, 65), Errno.EINVAL),
        ("tgkill", (PID, 0, ABORT), Errno.EINVAL),
        ("tgkill", (PID, PID + 1, ABORT), Errno.ESRCH),
        ("rt_sigaction", (0, 0, 0, 8), Errno.EINVAL),
        ("rt_sigaction", (USER1, 0, 0, 16), Errno.EINVAL),
        ("rt_sigaction", (USER1, NOWHERE, 0, 8), Errno.EFAULT),
        ("rt_sigprocmask", (7, DATA, 0, 8), Errno.EINVAL),
        ("rt_sigprocmask", (0, NOWHERE, 0, 8), Errno.EFAULT),
        ("sigaltstack", (NOWHERE, 0), Errno.EFAULT),
    ],
)
def test_refusals(signals: Signals, name: str, arguments: tuple[int, ...], number: Errno) -> None:
    """Each wrong argument has the error number of its manual page."""
    assert refusal(signals.calls()[name][1], *arguments) is number


def test_waiting_for_ever_ends_the_run(signals: Signals, guest: Guest) -> None:
    """Nothing can send the signal."""
    guest.store(DATA, "Q", 0)
    for call in (signals.pause, lambda: signals.rt_sigsuspend(DATA, 8)):
        with pytest.raises(RunEndedError, match="nothing can send"):
            call()


def test_stopping_ends_the_run(signals: Signals) -> None:
    """Nothing can continue a stopped process."""
    with pytest.raises(RunEndedError, match="SIGSTOP"):
        signals.kill(PID, STOP)


def test_pending_signal_is_taken(signals: Signals, guest: Guest) -> None:
    """Sigtimedwait returns its number once."""
    guest.store(DATA, "Q", 1 << USER1 - 1)
    signals.rt_sigprocmask(0, DATA, 0, 8)
    signals.kill(PID, USER1)
    assert signals.rt_sigtimedwait(DATA, DATA + 64, DATA, 8) == USER1
    assert refusal(signals.rt_sigtimedwait, DATA, 0, DATA, 8) is Errno.EAGAIN


def test_alternate_stack(signals: Signals, guest: Guest) -> None:
    """It is remembered; at first there is none, and a small one is refused."""
    signals.sigaltstack(0, DATA)
    assert guest.unpack("QI4xQ", DATA) == (0, 2, 0)
    guest.store(DATA, "QI4xQ", 0x5000, 0, 8192)
    signals.sigaltstack(DATA, 0)
    signals.sigaltstack(0, DATA)
    assert guest.unpack("QI4xQ", DATA) == (0x5000, 0, 8192)
    guest.store(DATA, "QI4xQ", 0x5000, 0, 100)
    assert refusal(signals.sigaltstack, DATA, 0) is Errno.ENOMEM


def test_names() -> None:
    """The classic ones, and numbers for the others."""
    assert [signal_name(n) for n in (1, 11, 31, 34, 64)] == [
        "SIGHUP", "SIGSEGV", "SIGSYS", "SIGRTMIN+2", "SIGRTMIN+32",
    ]  # fmt: skip
