"""System calls about the process itself: its end, its thread, the machine, randomness."""

from collections.abc import Callable, Mapping
from random import Random

from emu.linux.calls import CallError, CallTable, Errno, RunEndedError, int32
from emu.linux.clock import SECOND, Clock, TimeCalls
from emu.linux.credentials import PID
from emu.linux.guest import Guest

UTSNAME = 65
"""Bytes of each of the six strings of struct utsname."""
RELEASE, VERSION = b"6.12.0", b"#1 SMP"
HOST_NAME = b"unwindlab"

_FUTEX_WAIT, _FUTEX_WAKE, _FUTEX_REQUEUE, _FUTEX_CMP_REQUEUE, _FUTEX_WAKE_OP = 0, 1, 3, 4, 5
_FUTEX_WAIT_BITSET, _FUTEX_WAKE_BITSET = 9, 10
_FUTEX_CLOCK_REALTIME = 256
_ROBUST_HEAD = 24

_PR_SET_PDEATHSIG, _PR_GET_DUMPABLE, _PR_SET_DUMPABLE, _PR_SET_NAME, _PR_GET_NAME = 1, 3, 4, 15, 16
_PR_SET_VMA = 0x53564D41
_TASK_NAME = 16

_RANDOM_MOST = 0x7FFF_FFFF >> 6
"""Most bytes of one getrandom(2)."""
_PART = 1 << 16


class Task:
    """The one thread of the process, and what it may ask about itself.

    Args:
        guest: its memory.
        clock: where waits pass.
        machine: as uname(2) shows it.
        name: of the thread, at most 15 bytes.
        seed: of all randomness.
        segments: arch_prctl(2) operation -> (write, read) of a segment base, either None.
        user_end: first address beyond user space.
    """

    def __init__(
        self, guest: Guest, clock: Clock, machine: str, name: bytes, seed: int,
        segments: Mapping[int, tuple[Callable[[int], None] | None, Callable[[], int] | None]],
        user_end: int,
    ) -> None:  # fmt: skip
        self._guest = guest
        self._clock = clock
        self._time = TimeCalls(guest, clock)
        self._machine = machine.encode()
        self._name = name[: _TASK_NAME - 1]
        self._random = Random(f"getrandom {seed}")
        self._segments = segments
        self._user_end = user_end
        self.other_prctl: Callable[..., int | None] | None = None
        """Answers operations that Linux does not have: 0 or a negative errno, None: nor has it."""

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        table: CallTable = {
            "exit": (1, self.exit), "exit_group": (1, self.exit),
            "set_tid_address": (1, self.set_tid_address),
            "set_robust_list": (2, self.set_robust_list), "rseq": (4, self.rseq),
            "uname": (1, self.uname), "sysinfo": (1, self.sysinfo),
            "futex": (6, self.futex), "getrandom": (3, self.getrandom),
            "prctl": (5, self.prctl), "personality": (1, self.personality),
        }  # fmt: skip
        if self._segments:
            table["arch_prctl"] = (2, self.arch_prctl)
        return table

    @property
    def name(self) -> bytes:
        """Of the thread."""
        return self._name

    def rename(self, name: bytes) -> None:
        """Set the name, cut to 15 bytes."""
        self._name = name[: _TASK_NAME - 1]

    def exit(self, status: int) -> int:
        """exit(2) and exit_group(2), the same for one thread."""
        raise RunEndedError(status=status & 0xFF)

    def set_tid_address(self, address: int) -> int:
        """set_tid_address(2): no one waits for the end of the only thread."""
        return PID

    def set_robust_list(self, head: int, size: int) -> int:
        """set_robust_list(2)."""
        if size != _ROBUST_HEAD:
            raise CallError(Errno.EINVAL)
        return 0

    def rseq(self, area: int, size: int, flags: int, signature: int) -> int:
        """rseq(2): refused by design, as by a kernel built without it."""
        raise CallError(Errno.ENOSYS, refused=True)

    # ---- the machine

    def uname(self, result: int) -> int:
        """uname(2)."""
        strings = (b"Linux", HOST_NAME, RELEASE, VERSION, self._machine, b"(none)")
        self._guest.write(result, b"".join(text.ljust(UTSNAME, b"\0") for text in strings))
        return 0

    def sysinfo(self, result: int) -> int:
        """sysinfo(2): the memory is what the guest may map."""
        memory = self._guest.memory
        free = memory.limit - memory.mapped
        self._guest.store(
            result, "q3QQQ4QH6xQQI4x", self._clock.monotonic // SECOND, 0, 0, 0, memory.limit, free,
            0, 0, 0, 0, 1, 0, 0, 1,
        )  # fmt: skip
        return 0

    def futex(
        self, address: int, operation: int, value: int, timeout: int, second: int, third: int
    ) -> int:
        """futex(2) of one thread: nobody is woken, and nobody can wake it."""
        command = operation & 0x7F
        if address % 4:
            raise CallError(Errno.EINVAL)
        if command in (_FUTEX_WAKE, _FUTEX_WAKE_BITSET, _FUTEX_REQUEUE, _FUTEX_WAKE_OP):
            return 0
        (found,) = self._guest.unpack("I", address)
        if command == _FUTEX_CMP_REQUEUE:
            if found != third & 0xFFFF_FFFF:
                raise CallError(Errno.EAGAIN)
            return 0
        if command not in (_FUTEX_WAIT, _FUTEX_WAIT_BITSET):
            raise CallError(Errno.ENOSYS, unsupported=f"futex operation {command}")
        if found != value & 0xFFFF_FFFF:
            raise CallError(Errno.EAGAIN)
        if not timeout:
            raise RunEndedError(reason=f"deadlock: it waits for a futex at {address:#x} for ever")
        wait = self._time.duration(timeout)
        if command == _FUTEX_WAIT_BITSET:
            clock = self._clock
            now = clock.realtime if operation & _FUTEX_CLOCK_REALTIME else clock.monotonic
            wait -= now
        self._clock.sleep(wait)
        raise CallError(Errno.ETIMEDOUT)

    # ---- others

    def getrandom(self, result: int, size: int, flags: int) -> int:
        """getrandom(2), from the seed."""
        if flags & 0xFFFF_FFFF & ~7 or flags & 6 == 6:
            raise CallError(Errno.EINVAL)
        size = min(size, _RANDOM_MOST)
        for done in range(0, size, _PART):
            self._guest.write(result + done, self._random.randbytes(min(_PART, size - done)))
        return size

    def prctl(self, option: int, first: int, second: int, third: int, fourth: int) -> int:
        """prctl(2): names, and what a C library asks at start."""
        option = int32(option)
        if option == _PR_SET_NAME:
            self.rename(self._guest.text(first, _TASK_NAME))
            return 0
        if option == _PR_GET_NAME:
            self._guest.write(first, self._name.ljust(_TASK_NAME, b"\0"))
            return 0
        if option in (_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE):
            return 0
        if option == _PR_GET_DUMPABLE:
            return 1
        if option == _PR_SET_VMA:
            # As a kernel without CONFIG_ANON_VMA_NAME.
            raise CallError(Errno.EINVAL)
        if self.other_prctl is not None:
            answer = self.other_prctl(option, first, second, third, fourth)
            if answer is not None:
                if answer < 0:
                    raise CallError(Errno(-answer))
                return answer
        raise CallError(Errno.EINVAL, unsupported=f"prctl {option}")

    def personality(self, persona: int) -> int:
        """personality(2): that of Linux, which stays."""
        return 0

    def arch_prctl(self, operation: int, address: int) -> int:
        """arch_prctl(2): segment bases."""
        write, read = self._segments.get(operation & 0xFFFF_FFFF, (None, None))
        if write is not None:
            if address >= self._user_end:
                raise CallError(Errno.EPERM)
            write(address)
        elif read is not None:
            self._guest.store(address, "Q", read())
        else:
            raise CallError(Errno.EINVAL)
        return 0
