"""Calls that make, remove and follow names of files (fs/namei.c, fs/open.c)."""

import stat

from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.descriptors import Descriptors
from emu.linux.guest import Guest
from emu.linux.paths import (
    AT_EACCESS,
    AT_EMPTY_PATH,
    AT_FDCWD,
    AT_REMOVEDIR,
    AT_SYMLINK_FOLLOW,
    AT_SYMLINK_NOFOLLOW,
    Paths,
)
from emu.linux.vfs.filesystem import RENAME_EXCHANGE, RENAME_NOREPLACE
from emu.linux.vfs.nodes import Link, Regular
from emu.linux.vfs.walk import SEARCH, WRITE, allows

_RENAME_WHITEOUT = 4
_PATH_MAX = 4096


class Names:
    """Names of files.

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
        here = AT_FDCWD
        return {
            "access": (2, lambda name, mode: self.faccessat2(here, name, mode, 0)),
            "faccessat": (3, lambda at, name, mode: self.faccessat2(at, name, mode, 0)),
            "faccessat2": (4, self.faccessat2),
            "readlink": (3, lambda name, to, size: self.readlinkat(here, name, to, size)),
            "readlinkat": (4, self.readlinkat),
            "getcwd": (2, self.getcwd), "chdir": (1, self.chdir), "fchdir": (1, self.fchdir),
            "chroot": (1, self.chroot), "umask": (1, self.umask),
            "mkdir": (2, lambda name, mode: self.mkdirat(here, name, mode)),
            "mkdirat": (3, self.mkdirat),
            "mknod": (3, lambda name, mode, device: self.mknodat(here, name, mode, device)),
            "mknodat": (4, self.mknodat),
            "unlink": (1, lambda name: self.unlinkat(here, name, 0)),
            "rmdir": (1, lambda name: self.unlinkat(here, name, AT_REMOVEDIR)),
            "unlinkat": (3, self.unlinkat),
            "rename": (2, lambda old, new: self.renameat2(here, old, here, new, 0)),
            "renameat": (4, lambda at, old, to, new: self.renameat2(at, old, to, new, 0)),
            "renameat2": (5, self.renameat2),
            "link": (2, lambda old, new: self.linkat(here, old, here, new, 0)),
            "linkat": (5, self.linkat),
            "symlink": (2, lambda target, name: self.symlinkat(target, here, name)),
            "symlinkat": (3, self.symlinkat),
            "execve": (1, lambda name: self.execveat(here, name, 0, 0, 0)),
            "execveat": (5, self.execveat),
        }  # fmt: skip

    # ---- looking

    def faccessat2(self, directory: int, name: int, mode: int, flags: int) -> int:
        """faccessat2(2): real and effective ids are the same."""
        mode, flags = mode & 0xFFFF_FFFF, flags & 0xFFFF_FFFF
        if mode & ~7 or flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
            raise CallError(Errno.EINVAL)
        found = self._paths.existing(
            directory, name, follow=not flags & AT_SYMLINK_NOFOLLOW,
            empty=bool(flags & AT_EMPTY_PATH),
        )  # fmt: skip
        node = found.existing()
        if not allows(node, self._files.owner, mode):
            raise CallError(Errno.EACCES)
        if mode & WRITE and node.attributes.read_only:
            raise CallError(Errno.EROFS)
        return 0

    def readlinkat(self, directory: int, name: int, result: int, size: int) -> int:
        """readlink(2): cut to the buffer, without a zero."""
        if int32(size) <= 0:
            raise CallError(Errno.EINVAL)
        unnamed = not self._guest.text(name, 1)
        node = self._paths.existing(directory, name, follow=False, empty=True).existing()
        if not isinstance(node, Link):
            raise CallError(Errno.ENOENT if unnamed else Errno.EINVAL)
        target = node.target[: int32(size)]
        self._guest.write(result, target)
        return len(target)

    # ---- where the process is

    def getcwd(self, result: int, size: int) -> int:
        """getcwd(2): the length, zero included."""
        current = self._paths.current
        if current.removed:
            raise CallError(Errno.ENOENT)
        path = current.where() + b"\0"
        if len(path) > _PATH_MAX:
            raise CallError(Errno.ENAMETOOLONG)
        if size < len(path):
            raise CallError(Errno.ERANGE)
        self._guest.write(result, path)
        return len(path)

    def chdir(self, name: int) -> int:
        """chdir(2)."""
        self._paths.change(self._paths.existing(AT_FDCWD, name).node)
        return 0

    def fchdir(self, descriptor: int) -> int:
        """fchdir(2)."""
        self._paths.change(self._descriptors.any(descriptor).node)
        return 0

    def chroot(self, name: int) -> int:
        """chroot(2): not for an ordinary user."""
        self._paths.existing(AT_FDCWD, name)
        raise CallError(Errno.EPERM)

    def umask(self, mask: int) -> int:
        """umask(2)."""
        old, self._paths.umask = self._paths.umask, mask & 0o777
        return old

    # ---- making

    def mkdirat(self, directory: int, name: int, mode: int) -> int:
        """mkdir(2)."""
        found = self._paths.new(directory, name)
        self._files.make_directory(found, mode & ~self._paths.umask & 0o1777)
        return 0

    def mknodat(self, directory: int, name: int, mode: int, device: int) -> int:
        """mknod(2): an ordinary user makes no device, but for the one with number 0."""
        kind, permissions = stat.S_IFMT(mode & 0xFFFF), mode & ~self._paths.umask & 0o7777
        if kind == stat.S_IFDIR:
            raise CallError(Errno.EPERM)
        if kind not in (0, stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFCHR, stat.S_IFBLK):
            raise CallError(Errno.EINVAL)
        found = self._paths.new(directory, name)
        if kind == stat.S_IFBLK or (kind == stat.S_IFCHR and device & 0xFFFF_FFFF):
            raise CallError(Errno.EEXIST if found.node is not None else Errno.EPERM)
        if kind in (0, stat.S_IFREG):
            self._files.create(found, permissions)
        else:
            self._files.make_special(found, kind, permissions)
        return 0

    def symlinkat(self, target: int, directory: int, name: int) -> int:
        """symlink(2)."""
        text = self._guest.path(target)
        self._files.make_link(self._paths.new(directory, name), text)
        return 0

    def linkat(self, old_directory: int, old: int, new_directory: int, new: int, flags: int) -> int:
        """link(2); a file of O_TMPFILE gets its first name so."""
        flags &= 0xFFFF_FFFF
        if flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH):
            raise CallError(Errno.EINVAL)
        node = self._paths.existing(
            old_directory, old, follow=bool(flags & AT_SYMLINK_FOLLOW),
            empty=bool(flags & AT_EMPTY_PATH),
        ).existing()  # fmt: skip
        self._files.link(node, self._paths.new(new_directory, new))
        return 0

    # ---- removing and moving

    def unlinkat(self, directory: int, name: int, flags: int) -> int:
        """unlink(2), rmdir(2)."""
        flags &= 0xFFFF_FFFF
        if flags & ~AT_REMOVEDIR:
            raise CallError(Errno.EINVAL)
        found = self._paths.at(directory, name, follow=False, naming=True)
        if found.node is None:
            raise self._paths.missing()
        if flags:
            self._files.remove_directory(found)
        else:
            self._files.unlink(found)
        return 0

    def renameat2(
        self, old_directory: int, old: int, new_directory: int, new: int, flags: int
    ) -> int:
        """rename(2)."""
        flags &= 0xFFFF_FFFF
        if flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE | _RENAME_WHITEOUT) or (
            flags & RENAME_EXCHANGE and flags != RENAME_EXCHANGE
        ):
            raise CallError(Errno.EINVAL)
        source = self._paths.at(old_directory, old, follow=False, naming=True)
        target = self._paths.at(new_directory, new, follow=False, naming=True)
        if flags & _RENAME_WHITEOUT:
            raise CallError(Errno.EPERM)
        try:
            self._files.rename(source, target, flags)
        except CallError as error:
            raise self._paths.missing_if(error) from error
        return 0

    # ---- running

    def execveat(self, directory: int, name: int, _: int, __: int, flags: int) -> int:
        """execve(2): what can be found is said, but nothing is run yet."""
        node = self._paths.existing(
            directory, name, empty=bool(flags & AT_EMPTY_PATH)
        ).existing()  # fmt: skip
        if not isinstance(node, Regular) or not allows(node, self._files.owner, SEARCH):
            raise CallError(Errno.EACCES)
        raise CallError(Errno.ENOSYS, unsupported="execve")
