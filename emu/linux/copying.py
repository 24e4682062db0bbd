"""Calls that move bytes from file to file (fs/splice.c, vfs_copy_file_range)."""

import stat

from emu.linux.calls import CallError, CallTable, Errno, int64
from emu.linux.descriptors import Descriptors
from emu.linux.guest import Guest
from emu.linux.transfers import MAX_RW, PART, Bytes, Place, for_reading, for_writing
from emu.linux.vfs.open_files import O_APPEND, OpenFile, RegularFile


class Copying:
    """sendfile(2), copy_file_range(2), and splice(2), which refuses.

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
            "sendfile": (4, self.sendfile), "copy_file_range": (6, self.copy_file_range),
            "splice": (1, self.not_moved), "tee": (1, self.not_moved),
            "vmsplice": (1, self.not_moved),
        }  # fmt: skip

    def sendfile(self, target: int, source: int, offset: int, size: int) -> int:
        """sendfile(2), from a file that has positions."""
        start = self._guest.unpack("Q", offset)[0] if offset else 0
        reader = for_reading(self._descriptors, source)
        if offset and not reader.seekable:
            raise CallError(Errno.ESPIPE)
        if int64(start) < 0 or int64(size) < 0:
            raise CallError(Errno.EINVAL)
        writer = for_writing(self._descriptors, target)
        if writer.flags & O_APPEND or stat.S_ISDIR(reader.node.mode):
            raise CallError(Errno.EINVAL)
        if not size:
            return 0
        if not reader.seekable or reader.pollable:
            raise CallError(Errno.EINVAL)
        if offset:
            done = _copy(Place(reader, start), writer, size)
            self._guest.store(offset, "Q", start + done)
            return done
        before = reader.seek(0, 1)
        done = _copy(Place(reader, before), writer, size)
        reader.seek(before + done, 0)
        return done

    def copy_file_range(
        self, source: int, source_offset: int, target: int, target_offset: int, size: int,
        flags: int,
    ) -> int:  # fmt: skip
        """copy_file_range(2), of regular files."""
        reader = self._descriptors.get(source)
        writer = self._descriptors.get(target)
        reading = self._start(reader, source_offset)
        writing = self._start(writer, target_offset)
        if flags & 0xFFFF_FFFF:
            raise CallError(Errno.EINVAL)
        if any(stat.S_ISDIR(file.node.mode) for file in (reader, writer)):
            raise CallError(Errno.EISDIR)
        if not isinstance(reader, RegularFile) or not isinstance(writer, RegularFile):
            raise CallError(Errno.EINVAL)
        if not reader.readable or not writer.writable or writer.flags & O_APPEND:
            raise CallError(Errno.EBADF)
        if reader.node.device != writer.node.device:
            raise CallError(Errno.EXDEV)
        if int64(reading) < 0 or int64(writing) < 0:
            raise CallError(Errno.EINVAL)
        if int64(reading + size) < reading or int64(writing + size) < writing:
            raise CallError(Errno.EOVERFLOW)
        size = min(size, max(0, reader.file.size - reading), MAX_RW)
        if reader.file is writer.file and abs(reading - writing) < size:
            raise CallError(Errno.EINVAL)
        done = _copy(Place(reader, reading), Place(writer, writing), size)
        for file, at, start in (
            (reader, source_offset, reading), (writer, target_offset, writing)
        ):  # fmt: skip
            if at:
                self._guest.store(at, "Q", start + done)
            else:
                file.seek(start + done, 0)
        return done

    def _start(self, file: OpenFile, at: int) -> int:
        """Where a file is read or written: at its position unless the caller says."""
        if at:
            return int(self._guest.unpack("Q", at)[0])
        return file.seek(0, 1) if isinstance(file, RegularFile) else 0

    def not_moved(self, descriptor: int) -> int:
        """splice(2), tee(2), vmsplice(2): pages cannot be moved; programs then copy."""
        self._descriptors.get(descriptor)
        raise CallError(Errno.EINVAL)


def _copy(source: Bytes, target: Bytes, size: int) -> int:
    """Move up to `size` bytes; an error counts only before the first of them."""
    done = 0
    size = min(size, MAX_RW)
    while done < size:
        wanted = min(PART, size - done)
        data = source.read(wanted)
        if not data:
            break
        try:
            written = target.write(data)
        except CallError:
            if done:
                break
            raise
        done += written
        if written < wanted:
            break
    return done
