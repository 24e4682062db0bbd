"""Calls that change what inodes say of files: modes, owners, times, extended attributes.

fs/open.c, fs/utimes.c, fs/xattr.c.
"""

from functools import partial

from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.clock import SECOND
from emu.linux.descriptors import Descriptors
from emu.linux.guest import Guest
from emu.linux.paths import AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW, Paths
from emu.linux.vfs.nodes import Directory, Link, Node, Regular
from emu.linux.vfs.walk import READ, WRITE, allows

_UTIME_NOW, _UTIME_OMIT = (1 << 30) - 1, (1 << 30) - 2
_UNCHANGED = -1
_MICROSECOND = 1000
_XATTR_NAME_MAX = 255
_XATTR_CREATE, _XATTR_REPLACE = 1, 2
_Times = tuple[int | None, int | None]
"""Nanoseconds of access and modification, None to leave it."""


class Ownership:
    """What inodes say of files.

    Args:
        guest: memory of the caller.
        paths: where names lead.
        descriptors: the open files.
    """

    def __init__(self, guest: Guest, paths: Paths, descriptors: Descriptors) -> None:
        self._guest = guest
        self._paths = paths
        self._files = paths.files
        self._descriptors = descriptors

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        here, nofollow = AT_FDCWD, AT_SYMLINK_NOFOLLOW
        table: CallTable = {
            "chmod": (2, lambda name, mode: self.fchmodat2(here, name, mode, 0)),
            "fchmodat": (3, lambda at, name, mode: self.fchmodat2(at, name, mode, 0)),
            "fchmodat2": (4, self.fchmodat2), "fchmod": (2, self.fchmod),
            "chown": (3, lambda name, user, group: self.fchownat(here, name, user, group, 0)),
            "lchown": (
                3, lambda name, user, group: self.fchownat(here, name, user, group, nofollow)
            ),
            "fchownat": (5, self.fchownat), "fchown": (3, self.fchown),
            "utimensat": (4, self.utimensat), "utime": (2, self.utime),
            "utimes": (2, lambda name, times: self.futimesat(here, name, times)),
            "futimesat": (3, self.futimesat),
        }  # fmt: skip
        for prefix, follow in (("", True), ("l", False)):
            table |= {
                f"{prefix}getxattr": (4, partial(self._get, follow)),
                f"{prefix}setxattr": (5, partial(self._set, follow)),
                f"{prefix}removexattr": (2, partial(self._none, follow)),
                f"{prefix}listxattr": (1, partial(self._list, follow)),
            }
        table |= {
            "fgetxattr": (4, self.fgetxattr), "fsetxattr": (5, self.fsetxattr),
            "fremovexattr": (2, self.fremovexattr), "flistxattr": (1, self.flistxattr),
        }  # fmt: skip
        return table

    def _named(self, directory: int, name: int, flags: int) -> Node:
        flags &= 0xFFFF_FFFF
        if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
            raise CallError(Errno.EINVAL)
        follow, empty = not flags & AT_SYMLINK_NOFOLLOW, bool(flags & AT_EMPTY_PATH)
        return self._paths.existing(directory, name, follow=follow, empty=empty).existing()

    def _must_own(self, node: Node) -> None:
        if node.attributes.read_only:
            raise CallError(Errno.EROFS)
        if node.attributes.owner != self._files.owner:
            raise CallError(Errno.EPERM)

    # ---- modes

    def fchmodat2(self, directory: int, name: int, mode: int, flags: int) -> int:
        """chmod(2)."""
        return self._change_mode(self._named(directory, name, flags), mode)

    def fchmod(self, descriptor: int, mode: int) -> int:
        """fchmod(2)."""
        return self._change_mode(self._descriptors.get(descriptor).node, mode)

    def _change_mode(self, node: Node, mode: int) -> int:
        self._must_own(node)
        if isinstance(node, Link):
            raise CallError(Errno.EOPNOTSUPP)
        node.attributes.permissions = mode & 0o7777
        node.attributes.changed = self._files.now()
        return 0

    # ---- owners

    def fchownat(self, directory: int, name: int, user: int, group: int, flags: int) -> int:
        """chown(2)."""
        return self._change_owner(self._named(directory, name, flags), user, group)

    def fchown(self, descriptor: int, user: int, group: int) -> int:
        """fchown(2)."""
        return self._change_owner(self._descriptors.get(descriptor).node, user, group)

    def _change_owner(self, node: Node, user: int, group: int) -> int:
        """An ordinary user may give a file to nobody but itself, which changes little."""
        own = node.attributes
        if own.read_only:
            raise CallError(Errno.EROFS)
        wanted = {int32(user), int32(group)} - {_UNCHANGED}
        if wanted and (own.owner != self._files.owner or wanted != {own.owner}):
            raise CallError(Errno.EPERM)
        if not isinstance(node, Directory):
            own.permissions &= ~(0o6000 if own.permissions & 0o10 else 0o4000)
        own.changed = self._files.now()
        return 0

    # ---- times

    def utimensat(self, directory: int, name: int, times: int, flags: int) -> int:
        """utimensat(2); without a name it is of the descriptor."""
        words = self._guest.unpack("qqqq", times) if times else None
        if words and words[1] == words[3] == _UTIME_OMIT:
            return 0
        if not name and int32(directory) != AT_FDCWD:
            if flags & 0xFFFF_FFFF:
                raise CallError(Errno.EINVAL)
            node = self._descriptors.get(directory).node
        else:
            node = self._named(directory, name, flags)
        if words is None:
            return self._set_times(node, None, False)
        wanted = (self._time(*words[:2]), self._time(*words[2:]))
        return self._set_times(node, wanted, not words[1] == words[3] == _UTIME_NOW)

    def _time(self, seconds: int, nanoseconds: int) -> int | None:
        if nanoseconds == _UTIME_OMIT:
            return None
        if nanoseconds == _UTIME_NOW:
            return self._files.now()
        if not 0 <= nanoseconds < SECOND:
            raise CallError(Errno.EINVAL)
        return seconds * SECOND + nanoseconds

    def utime(self, name: int, times: int) -> int:
        """utime(2): whole seconds."""
        wanted = None
        if times:
            accessed, modified = self._guest.unpack("qq", times)
            wanted = (accessed * SECOND, modified * SECOND)
        return self._set_times(self._named(AT_FDCWD, name, 0), wanted, bool(times))

    def futimesat(self, directory: int, name: int, times: int) -> int:
        """utimes(2), futimesat(2): microseconds."""
        wanted = None
        if times:
            words = self._guest.unpack("qqqq", times)
            if not all(0 <= word < SECOND // _MICROSECOND for word in words[1::2]):
                raise CallError(Errno.EINVAL)
            wanted = (words[0] * SECOND + words[1] * _MICROSECOND,
                      words[2] * SECOND + words[3] * _MICROSECOND)  # fmt: skip
        if not name and int32(directory) != AT_FDCWD:
            node = self._descriptors.get(directory).node
        else:
            node = self._named(directory, name, 0)
        return self._set_times(node, wanted, bool(times))

    def _set_times(self, node: Node, times: _Times | None, explicit: bool) -> int:
        """Other times than now are for the owner, now also for who may write."""
        own = node.attributes
        owner = self._files.owner
        if own.read_only:
            raise CallError(Errno.EROFS)
        if own.owner != owner and (explicit or not allows(node, owner, WRITE)):
            raise CallError(Errno.EPERM if explicit else Errno.EACCES)
        now = self._files.now()
        accessed, modified = times or (now, now)
        own.accessed = own.accessed if accessed is None else accessed
        own.modified = own.modified if modified is None else modified
        own.changed = now
        return 0

    # ---- extended attributes: no file has any, and none can be given

    def _get(self, follow: bool, path: int, name: int, value: int, size: int) -> int:
        text = self._attribute(name)
        node = self._paths.existing(AT_FDCWD, path, follow=follow).existing()
        if (
            text.startswith(b"user.")
            and isinstance(node, Regular | Directory)
            and not allows(node, self._files.owner, READ)
        ):
            raise CallError(Errno.EACCES)
        raise CallError(Errno.ENODATA)

    def fgetxattr(self, descriptor: int, name: int, value: int, size: int) -> int:
        """fgetxattr(2)."""
        self._attribute(name)
        self._descriptors.get(descriptor)
        raise CallError(Errno.ENODATA)

    def _set(self, follow: bool, path: int, name: int, value: int, size: int, flags: int) -> int:
        self._check_flags(flags)
        self._attribute(name)
        self._paths.existing(AT_FDCWD, path, follow=follow)
        raise CallError(Errno.EOPNOTSUPP)

    def fsetxattr(self, descriptor: int, name: int, value: int, size: int, flags: int) -> int:
        """fsetxattr(2)."""
        self._check_flags(flags)
        self._attribute(name)
        self._descriptors.get(descriptor)
        raise CallError(Errno.EOPNOTSUPP)

    def _none(self, follow: bool, path: int, name: int) -> int:
        self._attribute(name)
        self._paths.existing(AT_FDCWD, path, follow=follow)
        raise CallError(Errno.ENODATA)

    def fremovexattr(self, descriptor: int, name: int) -> int:
        """fremovexattr(2)."""
        self._attribute(name)
        self._descriptors.get(descriptor)
        raise CallError(Errno.ENODATA)

    def _list(self, follow: bool, path: int) -> int:
        self._paths.existing(AT_FDCWD, path, follow=follow)
        return 0

    def flistxattr(self, descriptor: int) -> int:
        """flistxattr(2)."""
        self._descriptors.get(descriptor)
        return 0

    def _attribute(self, name: int) -> bytes:
        text = self._guest.text(name, _XATTR_NAME_MAX + 1)
        if not 0 < len(text) <= _XATTR_NAME_MAX:
            raise CallError(Errno.ERANGE)
        return text

    @staticmethod
    def _check_flags(flags: int) -> None:
        if flags & 0xFFFF_FFFF & ~(_XATTR_CREATE | _XATTR_REPLACE):
            raise CallError(Errno.EINVAL)
