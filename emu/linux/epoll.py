"""epoll(7): calls that wait for many descriptors (fs/eventpoll.c).

As with poll(2), what is not ready at once never will be.
"""

from emu.linux.calls import CallError, CallTable, Errno, RunEndedError, int32
from emu.linux.clock import Clock, TimeCalls
from emu.linux.counters import anonymous_node
from emu.linux.descriptors import O_CLOEXEC, Descriptors
from emu.linux.guest import Guest
from emu.linux.vfs.epoll_file import EpollFile
from emu.linux.vfs.filesystem import FileSystem

_ADD, _DEL, _MOD = 1, 2, 3
_SIGNAL_SET = 8
_MILLISECOND = 10**6


class Epoll:
    """Calls on epoll files.

    Args:
        guest: memory of the caller.
        data: offset of the data in struct epoll_event, of which it is the last eight bytes.
        files: the tree, whose owner and date a new file has.
        descriptors: the open files.
        clock: where time-outs pass.
    """

    def __init__(
        self, guest: Guest, data: int, files: FileSystem, descriptors: Descriptors, clock: Clock
    ) -> None:
        self._guest = guest
        self._event = f"I{data - 4}xQ"
        self._size = data + 8
        self._files = files
        self._descriptors = descriptors
        self._clock = clock
        self._time = TimeCalls(guest, clock)

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "epoll_create": (1, self.epoll_create), "epoll_create1": (1, self.epoll_create1),
            "epoll_ctl": (4, self.epoll_ctl), "epoll_wait": (4, self.epoll_wait),
            "epoll_pwait": (6, self.epoll_pwait), "epoll_pwait2": (6, self.epoll_pwait2),
        }  # fmt: skip

    def epoll_create(self, size: int) -> int:
        """epoll_create(2): the size only must not be 0."""
        if int32(size) <= 0:
            raise CallError(Errno.EINVAL)
        return self.epoll_create1(0)

    def epoll_create1(self, flags: int) -> int:
        """epoll_create1(2)."""
        if int32(flags) & ~O_CLOEXEC:
            raise CallError(Errno.EINVAL)
        file = EpollFile(anonymous_node(self._files.owner, self._files.now()))
        return self._descriptors.add(file, close_on_exec=bool(flags & O_CLOEXEC))

    def epoll_ctl(self, epoll: int, operation: int, descriptor: int, event: int) -> int:
        """epoll_ctl(2)."""
        operation = int32(operation)
        events, data = (0, 0) if operation == _DEL else self._guest.unpack(self._event, event)
        file = self._descriptors.get(epoll)
        target = self._descriptors.get(descriptor)
        if not target.pollable:
            raise CallError(Errno.EPERM)
        if file is target or not isinstance(file, EpollFile):
            raise CallError(Errno.EINVAL)
        if operation == _ADD:
            file.add(int32(descriptor), target, events, data)
        elif operation == _MOD:
            file.modify(int32(descriptor), target, events, data)
        elif operation == _DEL:
            file.remove(int32(descriptor), target)
        else:
            raise CallError(Errno.EINVAL)
        return 0

    def epoll_wait(self, epoll: int, result: int, most: int, timeout: int) -> int:
        """epoll_wait(2)."""
        milliseconds = int32(timeout)
        return self._wait(
            epoll, result, most, None if milliseconds < 0 else milliseconds * _MILLISECOND
        )

    def epoll_pwait(
        self, epoll: int, result: int, most: int, timeout: int, mask: int, size: int
    ) -> int:
        """epoll_pwait(2): the signal mask makes no difference."""
        if mask and size != _SIGNAL_SET:
            raise CallError(Errno.EINVAL)
        return self.epoll_wait(epoll, result, most, timeout)

    def epoll_pwait2(
        self, epoll: int, result: int, most: int, timeout: int, mask: int, size: int
    ) -> int:
        """epoll_pwait2(2)."""
        wait = self._time.duration(timeout) if timeout else None
        if mask and size != _SIGNAL_SET:
            raise CallError(Errno.EINVAL)
        return self._wait(epoll, result, most, wait)

    def _wait(self, epoll: int, result: int, most: int, timeout: int | None) -> int:
        most = int32(most)
        if not 0 < most <= 0x7FFF_FFFF // self._size:
            raise CallError(Errno.EINVAL)
        file = self._descriptors.get(epoll)
        if not isinstance(file, EpollFile):
            raise CallError(Errno.EINVAL)
        room = self._guest.writable_part(result, most * self._size) // self._size
        if not room and file.ready():
            raise CallError(Errno.EFAULT)
        found = file.wait(min(most, room)) if room else []
        for index, (events, data) in enumerate(found):
            self._guest.store(result + index * self._size, self._event, events, data)
        if not found:
            self._pass(timeout)
        return len(found)

    def _pass(self, timeout: int | None) -> None:
        if timeout is None:
            raise RunEndedError(reason="epoll_wait waits for something that cannot happen")
        self._clock.sleep(timeout)
