"""Descriptors and the calls on them: three pipes.

Descriptor 0 reads the bytes that the caller gives, 1 and 2 collect what the guest
writes. Names of files are a matter of emu.linux.names.
"""

from arch.descriptor import StatLayout
from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.guest import Guest
from emu.linux.pipes import OPEN_MAX, Input, OpenFile, Output

MAX_RW = 0x7FFF_F000
"""Most bytes of one read or write (Linux MAX_RW_COUNT)."""

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
O_CLOEXEC = 0o2000000
S_IFIFO, _PIPE_MODE = 0o010000, 0o600
F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC = 0, 1, 2, 3, 4, 1030
FIONREAD, FIONBIO = 0x541B, 0x5421
STATX_BASIC_STATS = 0x7FF


class Files:
    """The descriptor table.

    Args:
        guest: memory of the caller.
        stat: layout of struct stat.
        stdin: all that can be read from descriptor 0.
        owner: user and group of the pipes.
    """

    def __init__(self, guest: Guest, stat: StatLayout, stdin: bytes, owner: int) -> None:
        self._guest = guest
        self._stat = stat
        self._owner = owner
        self.stdout = Output(2)
        self.stderr = Output(3)
        self._open: dict[int, OpenFile] = {0: Input(stdin, 1), 1: self.stdout, 2: self.stderr}
        self._close_on_exec: set[int] = set()

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "read": (3, self.read), "write": (3, self.write),
            "readv": (3, self.readv), "writev": (3, self.writev),
            "pread64": (1, self.no_position), "pwrite64": (1, self.no_position),
            "lseek": (1, self.no_position), "preadv": (1, self.no_position),
            "pwritev": (1, self.no_position), "fadvise64": (1, self.no_position),
            "fsync": (1, self.no_storage), "fdatasync": (1, self.no_storage),
            "ftruncate": (1, self.no_storage), "getdents64": (1, self.no_directory),
            "fchdir": (1, self.no_directory),
            "close": (1, self.close), "close_range": (3, self.close_range),
            "dup": (1, self.dup), "dup2": (2, self.dup2), "dup3": (3, self.dup3),
            "fcntl": (3, self.fcntl), "ioctl": (3, self.ioctl),
            "fstat": (2, self.fstat), "newfstatat": (4, self.newfstatat), "statx": (5, self.statx),
        }  # fmt: skip

    # ---- data

    def read(self, descriptor: int, address: int, size: int) -> int:
        """read(2)."""
        return self._read(self._file(descriptor), address, size)

    def write(self, descriptor: int, address: int, size: int) -> int:
        """write(2)."""
        return self._write(self._file(descriptor), [(address, size)])

    def readv(self, descriptor: int, address: int, count: int) -> int:
        """readv(2)."""
        file = self._file(descriptor)
        done = 0
        for start, size in self._guest.parts(address, count):
            part = self._read(file, start, size)
            done += part
            if part < size:
                break
        return done

    def writev(self, descriptor: int, address: int, count: int) -> int:
        """writev(2)."""
        return self._write(self._file(descriptor), self._guest.parts(address, count))

    def _read(self, file: OpenFile, address: int, size: int) -> int:
        data = file.read(min(size, MAX_RW))
        self._guest.write(address, data)
        return len(data)

    def _write(self, file: OpenFile, parts: list[tuple[int, int]]) -> int:
        """Write until a part is unreadable; EFAULT only if nothing was written."""
        file.write(b"")
        done = 0
        for address, size in parts:
            left = min(size, MAX_RW - done)
            while left:
                data = self._guest.readable_part(address, left)
                if not data:
                    if done:
                        return done
                    raise CallError(Errno.EFAULT)
                file.write(data)
                done += len(data)
                address += len(data)
                left -= len(data)
        return done

    def no_position(self, descriptor: int) -> int:
        """lseek(2), pread(2) and the like: a pipe has no positions."""
        self._file(descriptor)
        raise CallError(Errno.ESPIPE)

    def no_storage(self, descriptor: int) -> int:
        """fsync(2), ftruncate(2): a pipe has nothing on a disk."""
        self._file(descriptor)
        raise CallError(Errno.EINVAL)

    def no_directory(self, descriptor: int) -> int:
        """getdents64(2), fchdir(2)."""
        self._file(descriptor)
        raise CallError(Errno.ENOTDIR)

    # ---- descriptors

    def close(self, descriptor: int) -> int:
        """close(2)."""
        self._file(descriptor)
        del self._open[int32(descriptor)]
        self._close_on_exec.discard(int32(descriptor))
        return 0

    def close_range(self, first: int, last: int, flags: int) -> int:
        """close_range(2)."""
        first, last = first & 0xFFFF_FFFF, last & 0xFFFF_FFFF
        if first > last or flags & ~6:
            raise CallError(Errno.EINVAL)
        for descriptor in [number for number in self._open if first <= number <= last]:
            if flags & 4:  # CLOSE_RANGE_CLOEXEC
                self._close_on_exec.add(descriptor)
            else:
                self.close(descriptor)
        return 0

    def dup(self, descriptor: int) -> int:
        """dup(2)."""
        return self._duplicate(self._file(descriptor), 0)

    def dup2(self, descriptor: int, target: int) -> int:
        """dup2(2)."""
        file = self._file(descriptor)
        target = int32(target)
        if not 0 <= target < OPEN_MAX:
            raise CallError(Errno.EBADF)
        self._open[target] = file
        return target

    def dup3(self, descriptor: int, target: int, flags: int) -> int:
        """dup3(2)."""
        if int32(descriptor) == int32(target) or flags & ~O_CLOEXEC:
            raise CallError(Errno.EINVAL)
        target = self.dup2(descriptor, target)
        if flags & O_CLOEXEC:
            self._close_on_exec.add(target)
        return target

    def fcntl(self, descriptor: int, command: int, argument: int) -> int:
        """fcntl(2): duplicates and flags."""
        file = self._file(descriptor)
        command, number = int32(command), int32(descriptor)
        if command in (F_DUPFD, F_DUPFD_CLOEXEC):
            if argument >= OPEN_MAX:
                raise CallError(Errno.EINVAL)
            copy = self._duplicate(file, argument)
            if command == F_DUPFD_CLOEXEC:
                self._close_on_exec.add(copy)
            return copy
        if command == F_GETFD:
            return int(number in self._close_on_exec)
        if command == F_SETFD:
            (self._close_on_exec.add if argument & 1 else self._close_on_exec.discard)(number)
            return 0
        if command == F_GETFL:
            return file.flags
        if command == F_SETFL:
            return 0
        raise CallError(Errno.EINVAL, unsupported=f"fcntl {command}")

    def ioctl(self, descriptor: int, request: int, argument: int) -> int:
        """ioctl(2): these are no terminals."""
        file = self._file(descriptor)
        if request == FIONREAD and isinstance(file, Input):
            left = len(file.data) - file.position
            self._guest.store(argument, "i", min(left, 0x7FFF_FFFF))
            return 0
        if request == FIONBIO:
            return 0
        raise CallError(Errno.ENOTTY)

    # ---- what they are

    def fstat(self, descriptor: int, result: int) -> int:
        """fstat(2)."""
        file = self._file(descriptor)
        data = bytearray(self._stat.size)
        values = {
            "dev": 13, "ino": file.number, "mode": S_IFIFO | _PIPE_MODE, "nlink": 1,
            "uid": self._owner, "gid": self._owner, "blksize": 4096,
        }  # fmt: skip
        for name, value in values.items():
            offset, size = self._stat.fields[name]
            data[offset : offset + size] = self._guest.pack("Q" if size == 8 else "I", value)
        self._guest.write(result, bytes(data))
        return 0

    def newfstatat(self, directory: int, name: int, result: int, flags: int) -> int:
        """newfstatat(2): of a descriptor only."""
        if self._is_descriptor(directory, name, flags):
            return self.fstat(directory, result)
        self._guest.path(name)
        raise CallError(Errno.ENOENT, refused=True)

    def statx(self, directory: int, name: int, flags: int, mask: int, result: int) -> int:
        """statx(2): of a descriptor only. The layout is the same on all machines."""
        if not self._is_descriptor(directory, name, flags):
            self._guest.path(name)
            raise CallError(Errno.ENOENT, refused=True)
        file = self._file(directory)
        head = self._guest.pack(
            "IIQIIIHHQ", STATX_BASIC_STATS, 4096, 0, 1, self._owner, self._owner,
            S_IFIFO | _PIPE_MODE, 0, file.number,
        )  # fmt: skip
        # The device numbers (stx_dev_major, stx_dev_minor) lie at 136.
        self._guest.write(result, head + bytes(136 - len(head)) + self._guest.pack("II", 0, 13)
                          + bytes(112))  # fmt: skip
        return 0

    def _is_descriptor(self, directory: int, name: int, flags: int) -> bool:
        """AT_EMPTY_PATH and no name: the descriptor itself is meant (name may be NULL)."""
        if not flags & AT_EMPTY_PATH or int32(directory) == AT_FDCWD:
            return False
        return not name or self._guest.read(name, 1) == b"\0"

    # ---- inside

    def find(self, descriptor: int) -> OpenFile | None:
        """What a descriptor refers to."""
        return self._open.get(descriptor)

    def _file(self, descriptor: int) -> OpenFile:
        file = self._open.get(int32(descriptor))
        if file is None:
            raise CallError(Errno.EBADF)
        return file

    def _duplicate(self, file: OpenFile, lowest: int) -> int:
        for number in range(lowest, OPEN_MAX):
            if number not in self._open:
                self._open[number] = file
                return number
        raise CallError(Errno.EMFILE)
