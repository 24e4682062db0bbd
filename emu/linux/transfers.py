"""Calls that move bytes between files and memory (fs/read_write.c)."""

from typing import Protocol

from emu.linux.calls import CallError, CallTable, Errno, int32, int64
from emu.linux.descriptors import Descriptors
from emu.linux.guest import Guest
from emu.linux.vfs.open_files import O_APPEND, POLLIN, OpenFile

MAX_RW = 0x7FFF_F000
"""Most bytes of one read or write (Linux MAX_RW_COUNT)."""
PART = 1 << 16
"""Bytes that are held at a time."""
_RWF_APPEND, _RWF_KNOWN = 0x10, 0x1F
_PARTS = list[tuple[int, int]]


class Bytes(Protocol):
    """Where the next bytes come from or go to: an open file, or a place in one."""

    def read(self, size: int) -> bytes:
        """Bytes, none at the end."""

    def write(self, data: bytes) -> int:
        """Take bytes; how many."""


class Place:
    """A place in a file, apart from the file's own position.

    Raises:
        CallError: EINVAL, ESPIPE.
    """

    def __init__(self, file: OpenFile, offset: int) -> None:
        if int64(offset) < 0:
            raise CallError(Errno.EINVAL)
        if not file.seekable:
            raise CallError(Errno.ESPIPE)
        self._file = file
        self.offset = offset

    def read(self, size: int) -> bytes:
        """The bytes there; the place moves behind them."""
        data = self._file.read_at(self.offset, size)
        self.offset += len(data)
        return data

    def write(self, data: bytes) -> int:
        """Bytes go there; the place moves behind them."""
        done = self._file.write_at(self.offset, data)
        self.offset += done
        return done


class Transfers:
    """read(2), write(2) and their relatives.

    Args:
        guest: memory of the caller.
        descriptors: the open files.
    """

    def __init__(self, guest: Guest, descriptors: Descriptors) -> None:
        self._guest = guest
        self._descriptors = descriptors

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "read": (3, self.read), "write": (3, self.write),
            "readv": (3, self.readv), "writev": (3, self.writev),
            "pread64": (4, self.pread64), "pwrite64": (4, self.pwrite64),
            "preadv": (4, self.preadv), "pwritev": (4, self.pwritev),
            "preadv2": (6, self.preadv2), "pwritev2": (6, self.pwritev2),
            "lseek": (3, self.lseek),
        }  # fmt: skip

    def read(self, descriptor: int, address: int, size: int) -> int:
        """read(2)."""
        file = for_reading(self._descriptors, descriptor)
        return self._read(file, file, [(address, _count(size))])

    def write(self, descriptor: int, address: int, size: int) -> int:
        """write(2)."""
        file = for_writing(self._descriptors, descriptor)
        return self._write(file, [(address, _count(size))])

    def readv(self, descriptor: int, address: int, count: int) -> int:
        """readv(2)."""
        file = for_reading(self._descriptors, descriptor)
        return self._read_parts(file, file, address, count, 0)

    def writev(self, descriptor: int, address: int, count: int) -> int:
        """writev(2)."""
        file = for_writing(self._descriptors, descriptor)
        return self._write_parts(file, file, address, count, 0)

    def pread64(self, descriptor: int, address: int, size: int, offset: int) -> int:
        """pread(2)."""
        file, place = self._place(descriptor, offset)
        _refuse(not file.readable)
        _check_end(offset, size)
        return self._read(file, place, [(address, _count(size))])

    def pwrite64(self, descriptor: int, address: int, size: int, offset: int) -> int:
        """pwrite(2)."""
        file, place = self._place(descriptor, offset)
        _refuse(not file.writable)
        _check_end(offset, size)
        return self._write(place, [(address, _count(size))])

    def preadv(self, descriptor: int, address: int, count: int, offset: int) -> int:
        """preadv(2): a long holds the whole offset."""
        return self.preadv2(descriptor, address, count, offset, 0, 0, current=False)

    def pwritev(self, descriptor: int, address: int, count: int, offset: int) -> int:
        """pwritev(2)."""
        return self.pwritev2(descriptor, address, count, offset, 0, 0, current=False)

    def preadv2(
        self, descriptor: int, address: int, count: int, offset: int, high: int, flags: int,
        *, current: bool = True,
    ) -> int:  # fmt: skip
        """preadv2(2); offset -1 is the position, if that is `current`ly wanted."""
        if current and int64(offset) == -1:
            file = for_reading(self._descriptors, descriptor)
            source: Bytes = file
        else:
            file, source = self._place(descriptor, offset)
            _refuse(not file.readable)
            _check_end(offset, sum(size for _, size in self._guest.parts(address, count)))
        return self._read_parts(file, source, address, count, flags)

    def pwritev2(
        self, descriptor: int, address: int, count: int, offset: int, high: int, flags: int,
        *, current: bool = True,
    ) -> int:  # fmt: skip
        """pwritev2(2)."""
        if current and int64(offset) == -1:
            file = for_writing(self._descriptors, descriptor)
            target: Bytes = file
        else:
            file, target = self._place(descriptor, offset)
            _refuse(not file.writable)
            _check_end(offset, sum(size for _, size in self._guest.parts(address, count)))
        return self._write_parts(file, target, address, count, flags)

    def lseek(self, descriptor: int, offset: int, whence: int) -> int:
        """lseek(2)."""
        file = self._descriptors.get(descriptor)
        if not 0 <= int32(whence) <= 4:
            raise CallError(Errno.EINVAL)
        return file.seek(int64(offset), int32(whence))

    # ---- inside

    def _place(self, descriptor: int, offset: int) -> tuple[OpenFile, Place]:
        if int64(offset) < 0:
            raise CallError(Errno.EINVAL)
        file = self._descriptors.get(descriptor)
        return file, Place(file, offset)

    def _read_parts(
        self, file: OpenFile, source: Bytes, address: int, count: int, flags: int
    ) -> int:
        """A file is not even asked for nothing (vfs_readv)."""
        parts = self._parts(file, address, count, flags)
        return self._read(file, source, parts) if parts else 0

    def _write_parts(
        self, file: OpenFile, target: Bytes, address: int, count: int, flags: int
    ) -> int:
        parts = self._parts(file, address, count, flags)
        before = file.flags
        if flags & _RWF_APPEND:
            file.flags |= O_APPEND
        try:
            return self._write(target, parts) if parts else 0
        finally:
            file.flags = before

    def _parts(self, file: OpenFile, address: int, count: int, flags: int) -> _PARTS:
        """Those that are not empty."""
        found = [part for part in self._guest.parts(address, count) if part[1]]
        if not file.transfers:
            raise CallError(Errno.EINVAL)
        if found:
            _check_flags(flags)
        return found

    def _read(self, file: OpenFile, source: Bytes, parts: _PARTS) -> int:
        """Fill the parts in turn; EFAULT only if nothing was read, and never a second wait."""
        done = 0
        for address, size in parts or [(0, 0)]:
            left = min(size, MAX_RW - done)
            while left or not done:
                if done and file.pollable and not file.ready() & POLLIN:
                    return done
                room = self._guest.writable_part(address, min(left, PART))
                if left and not room:
                    if done:
                        return done
                    # A file that cannot be read at all says so first.
                    source.read(0)
                    raise CallError(Errno.EFAULT)
                try:
                    data = source.read(room)
                except CallError:
                    if done:
                        return done
                    raise
                self._guest.write(address, data)
                done += len(data)
                address += len(data)
                left -= len(data)
                if len(data) < room:
                    return done
                if not left:
                    break
        return done

    def _write(self, target: Bytes, parts: _PARTS) -> int:
        """Write until a part is unreadable or the file full; an error only if nothing went."""
        done = 0
        if not any(size for _, size in parts):
            return target.write(b"")
        for address, size in parts:
            left = min(size, MAX_RW - done)
            while left:
                data = self._guest.readable_part(address, left)
                if not data:
                    if done:
                        return done
                    raise CallError(Errno.EFAULT)
                try:
                    written = target.write(data)
                except CallError:
                    if done:
                        return done
                    raise
                done += written
                address += written
                left -= written
                if written < len(data):
                    return done
        return done


def for_reading(descriptors: Descriptors, descriptor: int) -> OpenFile:
    """The open file to read from; CallError(EBADF)."""
    file = descriptors.get(descriptor)
    _refuse(not file.readable)
    return file


def for_writing(descriptors: Descriptors, descriptor: int) -> OpenFile:
    """The open file to write to; CallError(EBADF)."""
    file = descriptors.get(descriptor)
    _refuse(not file.writable)
    return file


def _refuse(wrong: bool) -> None:
    if wrong:
        raise CallError(Errno.EBADF)


def _count(size: int) -> int:
    """A size that a signed long can hold (rw_verify_area)."""
    if int64(size) < 0:
        raise CallError(Errno.EINVAL)
    return size


def _check_end(offset: int, size: int) -> None:
    """The last byte has a position (rw_verify_area)."""
    if offset + size >> 63:
        raise CallError(Errno.EINVAL)


def _check_flags(flags: int) -> None:
    if flags & 0xFFFF_FFFF & ~_RWF_KNOWN:
        raise CallError(Errno.EOPNOTSUPP)
