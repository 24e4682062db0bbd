"""The descriptor table of a process, and the calls on descriptors alone (fs/file.c, fcntl.c)."""

from collections.abc import Callable

from emu.linux.calls import CallError, CallTable, Errno, RunEndedError, int32
from emu.linux.guest import Guest
from emu.linux.vfs.open_files import O_APPEND, O_NONBLOCK, O_PATH, OpenFile, Positioned

O_CLOEXEC = 0o2000000
_O_ASYNC, _O_NOATIME = 0o20000, 0o1000000

_F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_SETFL = 0, 1, 2, 3, 4
_F_GETLK, _F_SETLK, _F_SETLKW, _F_SETOWN, _F_GETOWN = 5, 6, 7, 8, 9
_F_OFD_GETLK, _F_OFD_SETLK, _F_OFD_SETLKW = 36, 37, 38
_F_DUPFD_CLOEXEC, _F_SETPIPE_SZ, _F_GETPIPE_SZ, _F_ADD_SEALS, _F_GET_SEALS = (
    1030, 1031, 1032, 1033, 1034
)  # fmt: skip
_OF_PATHS = (_F_DUPFD, _F_DUPFD_CLOEXEC, _F_GETFD, _F_SETFD, _F_GETFL)
"""What fcntl(2) does with a descriptor of O_PATH."""
_F_RDLCK, _F_WRLCK, _F_UNLCK = 0, 1, 2
_FLOCK = "hh4xqqi4x"
"""struct flock: type, whence, start, length, pid."""
_FIONREAD, _FIONBIO, _FIONCLEX, _FIOCLEX, _FIOASYNC = 0x541B, 0x5421, 0x5450, 0x5451, 0x5452
_CLOSE_RANGE_UNSHARE, _CLOSE_RANGE_CLOEXEC = 2, 4
_LOCK_SH, _LOCK_EX, _LOCK_NB, _LOCK_UN = 1, 2, 4, 8


class Descriptors:
    """Open files by number.

    Args:
        guest: memory of the caller.
        limit: how many there may be (RLIMIT_NOFILE).
        o_direct: the machine's O_DIRECT.
    """

    def __init__(self, guest: Guest, limit: Callable[[], int], o_direct: int) -> None:
        self._guest = guest
        self._limit = limit
        self._changeable = O_APPEND | O_NONBLOCK | _O_ASYNC | _O_NOATIME | o_direct
        self._open: dict[int, OpenFile] = {}
        self._close_on_exec: set[int] = set()
        self._locked: dict[OpenFile, int] = {}

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "close": (1, self.close), "close_range": (3, self.close_range),
            "dup": (1, self.dup), "dup2": (2, self.dup2), "dup3": (3, self.dup3),
            "fcntl": (3, self.fcntl), "ioctl": (3, self.ioctl), "flock": (2, self.flock),
        }  # fmt: skip

    # ---- the table

    @property
    def limit(self) -> int:
        """First number that cannot be."""
        return self._limit()

    def numbers(self) -> list[int]:
        """The open ones, ascending."""
        return sorted(self._open)

    def find(self, descriptor: int) -> OpenFile | None:
        """What a descriptor refers to."""
        return self._open.get(descriptor)

    def get(self, descriptor: int) -> OpenFile:
        """The open file of a call's argument; CallError(EBADF), also for one of O_PATH."""
        file = self.any(descriptor)
        if file.flags & O_PATH:
            raise CallError(Errno.EBADF)
        return file

    def any(self, descriptor: int) -> OpenFile:
        """As get, O_PATH included."""
        file = self._open.get(int32(descriptor))
        if file is None:
            raise CallError(Errno.EBADF)
        return file

    def free(self, lowest: int = 0) -> int:
        """The lowest number that is free; CallError(EMFILE)."""
        for number in range(lowest, self._limit()):
            if number not in self._open:
                return number
        raise CallError(Errno.EMFILE)

    def add(self, file: OpenFile, *, close_on_exec: bool = False, lowest: int = 0) -> int:
        """Give an open file the lowest free number; CallError(EMFILE)."""
        number = self.free(lowest)
        self._set(number, file, close_on_exec)
        return number

    def _set(self, number: int, file: OpenFile, close_on_exec: bool) -> None:
        file.references += 1
        self._open[number] = file
        (self._close_on_exec.add if close_on_exec else self._close_on_exec.discard)(number)

    def _drop(self, number: int) -> None:
        file = self._open.pop(number)
        self._close_on_exec.discard(number)
        file.references -= 1
        if not file.references:
            self._locked.pop(file, None)
            file.released()

    # ---- calls

    def close(self, descriptor: int) -> int:
        """close(2)."""
        self.any(descriptor)
        self._drop(int32(descriptor))
        return 0

    def close_range(self, first: int, last: int, flags: int) -> int:
        """close_range(2)."""
        first, last = first & 0xFFFF_FFFF, last & 0xFFFF_FFFF
        if first > last or flags & 0xFFFF_FFFF & ~(_CLOSE_RANGE_UNSHARE | _CLOSE_RANGE_CLOEXEC):
            raise CallError(Errno.EINVAL)
        for descriptor in [number for number in self.numbers() if first <= number <= last]:
            if flags & _CLOSE_RANGE_CLOEXEC:
                self._close_on_exec.add(descriptor)
            else:
                self._drop(descriptor)
        return 0

    def dup(self, descriptor: int) -> int:
        """dup(2)."""
        return self.add(self.any(descriptor))

    def dup2(self, descriptor: int, target: int) -> int:
        """dup2(2)."""
        if int32(descriptor) == int32(target):
            self.any(descriptor)
            return int32(target)
        return self.dup3(descriptor, target, 0)

    def dup3(self, descriptor: int, target: int, flags: int) -> int:
        """dup3(2)."""
        number = int32(target)
        if int32(descriptor) == number or flags & 0xFFFF_FFFF & ~O_CLOEXEC:
            raise CallError(Errno.EINVAL)
        if not 0 <= number < self._limit():
            raise CallError(Errno.EBADF)
        file = self.any(descriptor)
        file.references += 1
        if number in self._open:
            self._drop(number)
        file.references -= 1
        self._set(number, file, bool(flags & O_CLOEXEC))
        return number

    def fcntl(self, descriptor: int, command: int, argument: int) -> int:
        """fcntl(2): duplicates, flags, and locks, which nobody else could hold."""
        file = self.any(descriptor)
        command, number = int32(command), int32(descriptor)
        if file.flags & O_PATH and command not in _OF_PATHS:
            raise CallError(Errno.EBADF)
        if command in (_F_DUPFD, _F_DUPFD_CLOEXEC):
            if not 0 <= int32(argument) < self._limit():
                raise CallError(Errno.EINVAL)
            return self.add(file, close_on_exec=command == _F_DUPFD_CLOEXEC, lowest=int32(argument))
        if command == _F_GETFD:
            return int(number in self._close_on_exec)
        if command == _F_SETFD:
            (self._close_on_exec.add if argument & 1 else self._close_on_exec.discard)(number)
            return 0
        if command == _F_GETFL:
            return file.flags
        if command == _F_SETFL:
            file.flags = file.flags & ~self._changeable | argument & self._changeable
            return 0
        if command in (_F_GETLK, _F_SETLK, _F_SETLKW, _F_OFD_GETLK, _F_OFD_SETLK, _F_OFD_SETLKW):
            return self._lock(file, command, argument)
        if command == _F_GETOWN:
            return 0
        if command in (_F_SETOWN, _F_ADD_SEALS, _F_GET_SEALS, _F_SETPIPE_SZ, _F_GETPIPE_SZ):
            raise CallError(Errno.EINVAL, unsupported=f"fcntl {command}")
        raise CallError(Errno.EINVAL)

    def _lock(self, file: OpenFile, command: int, place: int) -> int:
        kind, whence, start, length, pid = self._guest.unpack(_FLOCK, place)
        if command >= _F_OFD_GETLK and pid:
            raise CallError(Errno.EINVAL)
        asks = command in (_F_GETLK, _F_OFD_GETLK)
        unlocks = command != _F_GETLK
        wanted = (_F_RDLCK, _F_WRLCK, _F_UNLCK) if unlocks else (_F_RDLCK, _F_WRLCK)
        if whence not in (0, 1, 2) or kind not in wanted:
            raise CallError(Errno.EINVAL)
        if whence and isinstance(file, Positioned):
            start += file.position if whence == 1 else file.node.size
        if start >> 63 > 0 or (length > 0 and start + length - 1 >> 63):
            raise CallError(Errno.EOVERFLOW)
        if start < 0 or start + min(length, 0) < 0:
            raise CallError(Errno.EINVAL)
        if asks:
            self._guest.store(place, "h", _F_UNLCK)
        elif (kind == _F_RDLCK and not file.readable) or (kind == _F_WRLCK and not file.writable):
            raise CallError(Errno.EBADF)
        return 0

    def flock(self, descriptor: int, operation: int) -> int:
        """flock(2): in the way is only another open file of the same process."""
        kind = int32(operation) & ~_LOCK_NB
        if kind not in (_LOCK_SH, _LOCK_EX, _LOCK_UN):
            raise CallError(Errno.EINVAL)
        file = self.get(descriptor)
        self._locked.pop(file, None)
        if kind == _LOCK_UN:
            return 0
        if not file.readable and not file.writable:
            raise CallError(Errno.EBADF)
        if any(
            other.node is file.node and _LOCK_EX in (kind, held)
            for other, held in self._locked.items()
        ):
            if operation & _LOCK_NB:
                raise CallError(Errno.EAGAIN)
            raise RunEndedError(reason="flock waits for ever: the process holds the lock itself")
        self._locked[file] = kind
        return 0

    def ioctl(self, descriptor: int, request: int, argument: int) -> int:
        """ioctl(2): what every file knows, and how many bytes wait; nothing is a terminal."""
        file = self.get(descriptor)
        request &= 0xFFFF_FFFF
        if request in (_FIOCLEX, _FIONCLEX):
            change = self._close_on_exec.add if request == _FIOCLEX else self._close_on_exec.discard
            change(int32(descriptor))
            return 0
        if request == _FIONBIO:
            (wanted,) = self._guest.unpack("i", argument)
            file.flags = file.flags | O_NONBLOCK if wanted else file.flags & ~O_NONBLOCK
            return 0
        if request == _FIONREAD and file.transfers:
            left = min(file.waiting(), 0x7FFF_FFFF)
            self._guest.store(argument, "i", max(left, -0x8000_0000))
            return 0
        raise CallError(Errno.ENOTTY if file.transfers else Errno.EINVAL)
