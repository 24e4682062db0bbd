"""Signals of one process: dispositions and masks are remembered, default actions happen.

Handlers are not called in this version; a signal that has one is counted as
unsupported when it comes (kernel/signal.c, signal(7)).
"""

from collections.abc import Callable

from emu.linux.calls import CallError, CallTable, Errno, RunEndedError, int32
from emu.linux.guest import Guest

NAMES = (
    "SIGHUP", "SIGINT", "SIGQUIT", "SIGILL", "SIGTRAP", "SIGABRT", "SIGBUS", "SIGFPE", "SIGKILL",
    "SIGUSR1", "SIGSEGV", "SIGUSR2", "SIGPIPE", "SIGALRM", "SIGTERM", "SIGSTKFLT", "SIGCHLD",
    "SIGCONT", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGXCPU", "SIGXFSZ",
    "SIGVTALRM", "SIGPROF", "SIGWINCH", "SIGIO", "SIGPWR", "SIGSYS",
)  # fmt: skip
SIGKILL, SIGPIPE, SIGSTOP, SIGXFSZ, LAST = 9, 13, 19, 25, 64
_IGNORED = frozenset((17, 18, 23, 28))
"""SIGCHLD, SIGCONT, SIGURG, SIGWINCH: the default is to do nothing."""
_STOPPING = frozenset((19, 20, 21, 22))

SIG_DFL, SIG_IGN = 0, 1
SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK = 0, 1, 2
SS_ONSTACK, SS_DISABLE, SS_AUTODISARM = 1, 2, 1 << 31
MINSIGSTKSZ = 2048
_SET = 8
"""Bytes of a signal set."""
_ACTION = "QQQQ"
"""struct sigaction of the kernel: handler, flags, restorer, mask; equal on all machines here."""


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11, ``SIGRTMIN+2`` for 34."""
    return NAMES[number - 1] if number <= len(NAMES) else f"SIGRTMIN+{number - 32}"


class Signals:
    """Dispositions, mask and pending signals.

    Args:
        guest: memory of the caller.
        pid: of the process and of its only thread.
        note: counts what is not supported, by name.
    """

    def __init__(self, guest: Guest, pid: int, note: Callable[[str], None]) -> None:
        self._note = note
        self._guest = guest
        self._pid = pid
        self._actions: dict[int, tuple[int, int, int, int]] = {}
        self._mask = 0
        self._pending = 0
        self._stack = (0, SS_DISABLE, 0)

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "rt_sigaction": (4, self.rt_sigaction),
            "rt_sigprocmask": (4, self.rt_sigprocmask),
            "rt_sigpending": (2, self.rt_sigpending),
            "rt_sigsuspend": (2, self.rt_sigsuspend),
            "rt_sigtimedwait": (4, self.rt_sigtimedwait),
            "rt_sigqueueinfo": (2, self.kill),
            "rt_tgsigqueueinfo": (3, self.tgkill),
            "pause": (0, self.pause),
            "sigaltstack": (2, self.sigaltstack),
            "kill": (2, self.kill),
            "tkill": (2, self.tkill),
            "tgkill": (3, self.tgkill),
        }

    @property
    def mask(self) -> int:
        """Signals that are blocked."""
        return self._mask

    @property
    def pending(self) -> int:
        """Signals that have come and are blocked."""
        return self._pending

    @property
    def ignored(self) -> int:
        """Signals that the process ignores."""
        return sum(1 << n - 1 for n, action in self._actions.items() if action[0] == SIG_IGN)

    @property
    def caught(self) -> int:
        """Signals that have a handler."""
        return sum(1 << n - 1 for n, action in self._actions.items() if action[0] > SIG_IGN)

    def rt_sigaction(self, signal: int, action: int, old: int, size: int) -> int:
        """rt_sigaction(2)."""
        signal = int32(signal)
        if size != _SET or not 1 <= signal <= LAST:
            raise CallError(Errno.EINVAL)
        if action and signal in (SIGKILL, SIGSTOP):
            raise CallError(Errno.EINVAL)
        new = self._guest.unpack(_ACTION, action) if action else None
        if old:
            self._guest.store(old, _ACTION, *self._actions.get(signal, (SIG_DFL, 0, 0, 0)))
        if new is not None:
            handler, flags, restorer, mask = new
            self._actions[signal] = (handler, flags, restorer, mask)
        return 0

    def rt_sigprocmask(self, how: int, new: int, old: int, size: int) -> int:
        """rt_sigprocmask(2); what it unblocks happens before it returns."""
        if size != _SET:
            raise CallError(Errno.EINVAL)
        before = self._mask
        if new:
            (bits,) = self._guest.unpack("Q", new)
            if how == SIG_BLOCK:
                bits |= before
            elif how == SIG_UNBLOCK:
                bits = before & ~bits
            elif how != SIG_SETMASK:
                raise CallError(Errno.EINVAL)
            self._mask = bits & ~(1 << SIGKILL - 1 | 1 << SIGSTOP - 1)
        if old:
            self._guest.store(old, "Q", before)
        self._deliver()
        return 0

    def rt_sigpending(self, result: int, size: int) -> int:
        """rt_sigpending(2)."""
        if size > _SET:
            raise CallError(Errno.EINVAL)
        self._guest.write(result, self._guest.pack("Q", self._pending & self._mask)[:size])
        return 0

    def rt_sigsuspend(self, mask: int, size: int) -> int:
        """rt_sigsuspend(2): the signals that are already pending, or none ever."""
        if size != _SET:
            raise CallError(Errno.EINVAL)
        (self._mask,) = self._guest.unpack("Q", mask)
        self._deliver()
        return self.pause()

    def rt_sigtimedwait(self, wanted: int, information: int, timeout: int, size: int) -> int:
        """rt_sigtimedwait(2): a pending one, or none ever."""
        if size != _SET:
            raise CallError(Errno.EINVAL)
        found = self._pending & int(self._guest.unpack("Q", wanted)[0])
        if found:
            signal = (found & -found).bit_length()
            self._pending &= ~(1 << signal - 1)
            if information:
                head = self._guest.pack("iii", signal, 0, 0)
                self._guest.write(information, head.ljust(128, b"\0"))
            return signal
        if timeout:
            raise CallError(Errno.EAGAIN)
        return self.pause()

    def pause(self) -> int:
        """pause(2)."""
        raise RunEndedError(reason="it waits for a signal that nothing can send")

    def sigaltstack(self, new: int, old: int) -> int:
        """sigaltstack(2)."""
        before = self._stack
        if new:
            start, flags, size = self._guest.unpack("QI4xQ", new)
            if flags & ~(SS_ONSTACK | SS_DISABLE | SS_AUTODISARM):
                raise CallError(Errno.EINVAL)
            if not flags & SS_DISABLE and size < MINSIGSTKSZ:
                raise CallError(Errno.ENOMEM)
            self._stack = (0, SS_DISABLE, 0) if flags & SS_DISABLE else (start, 0, size)
        if old:
            self._guest.store(old, "QI4xQ", *before)
        return 0

    def kill(self, pid: int, signal: int) -> int:
        """kill(2): there is no process but this one."""
        if int32(pid) not in (self._pid, 0, -1, -self._pid):
            raise CallError(Errno.ESRCH)
        return self._send(int32(signal))

    def tkill(self, tid: int, signal: int) -> int:
        """tkill(2)."""
        return self.tgkill(self._pid, tid, signal)

    def tgkill(self, pid: int, tid: int, signal: int) -> int:
        """tgkill(2)."""
        if int32(pid) <= 0 or int32(tid) <= 0:
            raise CallError(Errno.EINVAL)
        if int32(pid) != self._pid or int32(tid) != self._pid:
            raise CallError(Errno.ESRCH)
        return self._send(int32(signal))

    def broken_pipe(self) -> None:
        """SIGPIPE, from a write that nobody can read (pipe(7))."""
        self._send(SIGPIPE)

    def file_too_large(self) -> None:
        """SIGXFSZ, from a file that would grow beyond its limit (setrlimit(2))."""
        self._send(SIGXFSZ)

    def _send(self, signal: int) -> int:
        if not 0 <= signal <= LAST:
            raise CallError(Errno.EINVAL)
        if signal:
            self._pending |= 1 << signal - 1
            self._deliver()
        return 0

    def _deliver(self) -> None:
        """Take the pending signals that are not blocked, lowest number first.

        Raises:
            RunEndedError: the action of one of them ends the process.
        """
        while self._pending & ~self._mask:
            bits = self._pending & ~self._mask
            signal = (bits & -bits).bit_length()
            self._pending &= ~(1 << signal - 1)
            handler = self._actions.get(signal, (SIG_DFL, 0, 0, 0))[0]
            name = signal_name(signal)
            if handler == SIG_IGN or (handler == SIG_DFL and signal in _IGNORED):
                continue
            if handler != SIG_DFL:
                self._note(f"handler of {name}")
                continue
            if signal in _STOPPING:
                raise RunEndedError(reason=f"stopped by {name}, and nothing can continue it")
            raise RunEndedError(signal=name)
