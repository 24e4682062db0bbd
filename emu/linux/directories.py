"""getdents(2): the names in a directory (fs/readdir.c)."""

import stat

from emu.linux.calls import CallError, CallTable, Errno
from emu.linux.descriptors import Descriptors
from emu.linux.guest import Guest
from emu.linux.vfs.nodes import Node
from emu.linux.vfs.open_files import DirectoryFile

_HEAD = 18
"""Bytes before the name: inode, position of the next entry, length of this one."""
_MOST = 1 << 20
"""Bytes of one answer; a caller with a larger buffer calls again."""


class Directories:
    """Reads directories.

    Args:
        guest: memory of the caller.
        descriptors: the open files.
    """

    def __init__(self, guest: Guest, descriptors: Descriptors) -> None:
        self._guest = guest
        self._descriptors = descriptors

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {"getdents": (3, self.getdents), "getdents64": (3, self.getdents64)}

    def getdents64(self, descriptor: int, result: int, size: int) -> int:
        """getdents64(2): the type of a file stands before its name."""
        return self._fill(descriptor, result, size, type_first=True)

    def getdents(self, descriptor: int, result: int, size: int) -> int:
        """getdents(2): the type is the last byte of an entry."""
        return self._fill(descriptor, result, size, type_first=False)

    def _fill(self, descriptor: int, result: int, size: int, *, type_first: bool) -> int:
        file = self._descriptors.get(descriptor)
        if not isinstance(file, DirectoryFile):
            raise CallError(Errno.ENOTDIR)
        if file.directory.removed:
            raise CallError(Errno.ENOENT)
        size = min(size & 0xFFFF_FFFF, _MOST)
        data = b""
        start = file.position
        while (found := file.entry()) is not None:
            entry = self._entry(*found, file.position + 1, type_first)
            if len(data) + len(entry) > size:
                if not data:
                    raise CallError(Errno.EINVAL)
                break
            data += entry
            file.position += 1
        try:
            self._guest.write(result, data)
        except CallError:
            file.position = start
            raise
        return len(data)

    def _entry(self, name: bytes, node: Node, following: int, type_first: bool) -> bytes:
        kind = bytes((stat.S_IFMT(node.mode) >> 12,))
        length = (_HEAD + len(name) + 2 + 7) & -8
        head = self._guest.pack("QQH", node.number, following, length)
        if type_first:
            return (head + kind + name).ljust(length, b"\0")
        return (head + name).ljust(length - 1, b"\0") + kind
