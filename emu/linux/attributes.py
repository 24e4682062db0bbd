"""What files are: stat(2), statx(2), statfs(2) in all forms (fs/stat.c, fs/statfs.c)."""

from arch.files import FileFacts, StatLayout
from emu.linux.calls import CallError, CallTable, Errno
from emu.linux.descriptors import Descriptors
from emu.linux.guest import Guest
from emu.linux.paths import (
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_NO_AUTOMOUNT,
    AT_SYMLINK_NOFOLLOW,
    Paths,
)
from emu.linux.vfs.content import PAGE
from emu.linux.vfs.nodes import Node

_SECOND = 10**9
_STATX_BASIC_STATS = 0x7FF
_STATX_RESERVED = 1 << 31
_AT_STATX_SYNC = 0x6000
_BLOCK = 512
_EXT4, _TMPFS = 0xEF53, 0x01021994
_TYPES = {0x15: 0x9FA0, 0x16: 0x62656572, 13: 0x50495045, 14: 0x09041934, 5: _TMPFS,
          0x17: _TMPFS, 0x18: 0x1CD1, 0x19: _TMPFS}  # fmt: skip
"""f_type by st_dev: proc, sysfs, pipes, counters, devices, and memory (linux/magic.h)."""
_NAME_MAX = 255
_ST_VALID, _ST_RELATIME = 0x20, 0x1000


class FileAttributes:
    """Calls that tell what a file is.

    Args:
        guest: memory of the caller.
        stat: layout of struct stat.
        facts: other layouts of the machine.
        paths: where names lead.
        descriptors: the open files.
    """

    def __init__(
        self, guest: Guest, stat: StatLayout, facts: FileFacts, paths: Paths,
        descriptors: Descriptors,
    ) -> None:  # fmt: skip
        self._guest = guest
        self._stat = stat
        self._statfs = facts.statfs
        self._paths = paths
        self._descriptors = descriptors

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "stat": (2, self.stat), "lstat": (2, self.lstat), "fstat": (2, self.fstat),
            "newfstatat": (4, self.newfstatat), "statx": (5, self.statx),
            "statfs": (2, self.statfs), "fstatfs": (2, self.fstatfs),
            "statfs64": (3, self.statfs64), "fstatfs64": (3, self.fstatfs64),
        }  # fmt: skip

    # ---- struct stat

    def stat(self, name: int, result: int) -> int:
        """stat(2)."""
        return self.newfstatat(AT_FDCWD, name, result, 0)

    def lstat(self, name: int, result: int) -> int:
        """lstat(2)."""
        return self.newfstatat(AT_FDCWD, name, result, AT_SYMLINK_NOFOLLOW)

    def fstat(self, descriptor: int, result: int) -> int:
        """fstat(2)."""
        return self._store_stat(self._descriptors.any(descriptor).node, result)

    def newfstatat(self, directory: int, name: int, result: int, flags: int) -> int:
        """fstatat(2)."""
        node = self._node(directory, name, flags, _AT_STATX_SYNC)
        return self._store_stat(node, result)

    def _node(self, directory: int, name: int, flags: int, others: int) -> Node:
        flags &= 0xFFFF_FFFF
        if flags & ~(AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH | others):
            raise CallError(Errno.EINVAL)
        follow, empty = not flags & AT_SYMLINK_NOFOLLOW, bool(flags & AT_EMPTY_PATH)
        return self._paths.existing(directory, name, follow=follow, empty=empty).existing()

    def _store_stat(self, node: Node, result: int) -> int:
        own = node.attributes
        values = {
            "dev": own.device, "ino": own.number, "mode": node.mode, "nlink": node.nlink(),
            "uid": own.owner, "gid": own.owner, "rdev": node.rdev, "size": node.size,
            "blksize": PAGE, "blocks": node.allocated // _BLOCK,
        }  # fmt: skip
        for name, time in (("atime", own.accessed), ("mtime", own.modified),
                           ("ctime", own.changed)):  # fmt: skip
            values[name], values[name + "_nsec"] = divmod(time, _SECOND)
        self._store(self._stat, values, result)
        return 0

    def _store(self, layout: StatLayout, values: dict[str, int], result: int) -> None:
        data = bytearray(layout.size)
        for name, value in values.items():
            offset, size = layout.fields[name]
            value &= (1 << 8 * size) - 1
            data[offset : offset + size] = self._guest.pack("Q" if size == 8 else "I", value)
        self._guest.write(result, bytes(data))

    def statx(self, directory: int, name: int, flags: int, mask: int, result: int) -> int:
        """statx(2). The layout is the same on all machines."""
        if mask & _STATX_RESERVED or flags & _AT_STATX_SYNC == _AT_STATX_SYNC:
            raise CallError(Errno.EINVAL)
        node = self._node(directory, name, flags, _AT_STATX_SYNC)
        own, pack = node.attributes, self._guest.pack
        data = pack(
            "IIQIIIH2xQQQQ", _STATX_BASIC_STATS, PAGE, 0, node.nlink(), own.owner, own.owner,
            node.mode, own.number, node.size, node.allocated // _BLOCK, 0,
        )  # fmt: skip
        # Times of access, of birth (unknown), of change, of modification.
        for time in (own.accessed, 0, own.changed, own.modified):
            data += pack("qI4x", *divmod(time, _SECOND))
        for device in (node.rdev, own.device):
            data += pack("II", device >> 8, device & 0xFF)
        self._guest.write(result, data.ljust(256, b"\0"))
        return 0

    # ---- struct statfs

    def statfs(self, name: int, result: int) -> int:
        """statfs(2)."""
        return self._store_statfs(self._paths.existing(AT_FDCWD, name).existing(), result)

    def fstatfs(self, descriptor: int, result: int) -> int:
        """fstatfs(2)."""
        return self._store_statfs(self._descriptors.any(descriptor).node, result)

    def statfs64(self, name: int, size: int, result: int) -> int:
        """statfs(2) that checks the size of the structure."""
        self._check_size(size)
        return self.statfs(name, result)

    def fstatfs64(self, descriptor: int, size: int, result: int) -> int:
        """fstatfs(2) that checks the size of the structure."""
        self._check_size(size)
        return self.fstatfs(descriptor, result)

    def _check_size(self, size: int) -> None:
        if size != self._statfs.size:
            raise CallError(Errno.EINVAL)

    def _store_statfs(self, node: Node, result: int) -> int:
        budget = self._paths.files.budget
        kind = _TYPES.get(node.attributes.device, _EXT4)
        blocks, free, nodes, free_nodes = 0, 0, 0, 0
        if kind in (_EXT4, _TMPFS):
            blocks, free = budget.size // PAGE, (budget.size - budget.used) // PAGE
            nodes, free_nodes = budget.nodes, budget.nodes - budget.used_nodes
        values = {
            "type": kind, "bsize": PAGE, "frsize": PAGE, "blocks": blocks, "bfree": free,
            "bavail": free, "files": nodes, "ffree": free_nodes,
            "fsid": node.attributes.device, "namelen": _NAME_MAX,
            "flags": _ST_VALID | _ST_RELATIME,
        }  # fmt: skip
        self._store(self._statfs, values, result)
        return 0
