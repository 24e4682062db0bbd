"""Calls about the storage of files: its size, and that it is safe on a disk (fs/open.c, fs/sync.c).

There is no disk, so what only asks for safety has nothing to do.
"""

import stat

from emu.linux.calls import CallError, CallTable, Errno, int32, int64
from emu.linux.descriptors import Descriptors
from emu.linux.paths import AT_FDCWD, Paths
from emu.linux.transfers import for_reading
from emu.linux.vfs.filesystem import MEMORY_DEVICE
from emu.linux.vfs.nodes import Directory, Node, Regular
from emu.linux.vfs.open_files import OpenFile, RegularFile
from emu.linux.vfs.walk import WRITE, allows

_KEEP_SIZE, _PUNCH_HOLE, _ZERO_RANGE = 1, 2, 0x10
_KNOWN_MODES = 0xFF
"""FALLOC_FL_MODE_MASK and FALLOC_FL_KEEP_SIZE."""
_MODES = (0, _KEEP_SIZE, _PUNCH_HOLE | _KEEP_SIZE, _ZERO_RANGE, _ZERO_RANGE | _KEEP_SIZE)
_LAST_ADVICE = 7
"""POSIX_FADV_NOREUSE; which number it and DONTNEED have, machines see differently."""


class Storage:
    """Sizes, and calls that only a disk could answer differently.

    Args:
        paths: where names lead.
        descriptors: the open files.
    """

    def __init__(self, paths: Paths, descriptors: Descriptors) -> None:
        self._paths = paths
        self._files = paths.files
        self._descriptors = descriptors

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "truncate": (2, self.truncate), "ftruncate": (2, self.ftruncate),
            "fallocate": (4, self.fallocate),
            "fsync": (1, self.fsync), "fdatasync": (1, self.fsync),
            "sync": (0, lambda: 0), "syncfs": (1, self.syncfs),
            "sync_file_range": (4, self.sync_file_range),
            "fadvise64": (4, self.fadvise64), "readahead": (3, self.readahead),
        }  # fmt: skip

    def truncate(self, name: int, size: int) -> int:
        """truncate(2)."""
        if int64(size) < 0:
            raise CallError(Errno.EINVAL)
        node = self._paths.existing(AT_FDCWD, name).existing()
        if isinstance(node, Directory):
            raise CallError(Errno.EISDIR)
        if not isinstance(node, Regular):
            raise CallError(Errno.EINVAL)
        if not allows(node, self._files.owner, WRITE):
            raise CallError(Errno.EACCES)
        if node.attributes.read_only:
            raise CallError(Errno.EROFS)
        return self._resize(node, size)

    def ftruncate(self, descriptor: int, size: int) -> int:
        """ftruncate(2)."""
        if int64(size) < 0:
            raise CallError(Errno.EINVAL)
        file = self._descriptors.get(descriptor)
        if not isinstance(file, RegularFile) or not file.writable:
            raise CallError(Errno.EINVAL)
        return self._resize(file.file, size)

    def _resize(self, node: Regular, size: int) -> int:
        node.content.resize(size)
        self._written(node)
        return 0

    def _written(self, node: Node) -> None:
        own = node.attributes
        own.modified = own.changed = self._files.now()
        own.permissions &= ~(0o6000 if own.permissions & 0o10 else 0o4000)

    def fallocate(self, descriptor: int, mode: int, offset: int, size: int) -> int:
        """fallocate(2): room, holes and zeros. Room is checked, not held."""
        mode = int32(mode)
        file = self._descriptors.get(descriptor)
        if int64(offset) < 0 or int64(size) <= 0:
            raise CallError(Errno.EINVAL)
        if mode & ~_KNOWN_MODES or (mode & _PUNCH_HOLE and not mode & _KEEP_SIZE):
            raise CallError(Errno.EOPNOTSUPP)
        if not file.writable:
            raise CallError(Errno.EBADF)
        if not isinstance(file, RegularFile):
            raise CallError(
                Errno.ESPIPE if stat.S_ISFIFO(file.node.mode)
                else Errno.EISDIR if stat.S_ISDIR(file.node.mode) else Errno.ENODEV
            )  # fmt: skip
        content = file.file.content
        if offset + size > content.largest:
            raise CallError(Errno.EFBIG)
        in_memory = file.node.device == MEMORY_DEVICE
        if mode not in _MODES or (mode & _ZERO_RANGE and in_memory):
            raise CallError(Errno.EOPNOTSUPP)
        if mode & _PUNCH_HOLE or mode & _ZERO_RANGE:
            content.clear(offset, size)
        elif not content.has_room(offset, size):
            raise CallError(Errno.ENOSPC)
        if not mode & _KEEP_SIZE:
            content.resize(max(content.size, offset + size))
        self._written(file.file)
        return 0

    # ---- nothing to do

    def fsync(self, descriptor: int) -> int:
        """fsync(2), fdatasync(2)."""
        self._stored(descriptor, Errno.EINVAL)
        return 0

    def syncfs(self, descriptor: int) -> int:
        """syncfs(2)."""
        self._descriptors.get(descriptor)
        return 0

    def sync_file_range(self, descriptor: int, offset: int, size: int, flags: int) -> int:
        """sync_file_range(2)."""
        self._descriptors.get(descriptor)
        if flags & 0xFFFF_FFFF & ~7 or int64(offset) < 0 or int64(offset + size) < offset:
            raise CallError(Errno.EINVAL)
        self._stored(descriptor, Errno.ESPIPE)
        return 0

    def fadvise64(self, descriptor: int, offset: int, size: int, advice: int) -> int:
        """posix_fadvise(2)."""
        file = self._descriptors.get(descriptor)
        if stat.S_ISFIFO(file.node.mode):
            raise CallError(Errno.ESPIPE)
        if int64(size) < 0 or not 0 <= int32(advice) <= _LAST_ADVICE:
            raise CallError(Errno.EINVAL)
        return 0

    def readahead(self, descriptor: int, offset: int, size: int) -> int:
        """readahead(2)."""
        if not isinstance(for_reading(self._descriptors, descriptor), RegularFile):
            raise CallError(Errno.EINVAL)
        return 0

    def _stored(self, descriptor: int, otherwise: Errno) -> OpenFile:
        file = self._descriptors.get(descriptor)
        if not isinstance(file.node, Regular | Directory):
            raise CallError(otherwise)
        return file
