"""Calls that take a file name: the guest sees no file of the host.

Only /proc/self/exe leads somewhere. The others are counted as refused by design, not as
unsupported.
"""

from collections.abc import Callable, Mapping

from emu.linux.calls import CallError, CallTable, Errno, int32
from emu.linux.guest import Guest

O_CREAT = 0o100

# Calls that take a file name: the argument with the name, and the result.
_BY_NAME: Mapping[str, tuple[int, Errno]] = {
    "open": (0, Errno.ENOENT), "openat2": (1, Errno.ENOENT),
    "stat": (0, Errno.ENOENT), "lstat": (0, Errno.ENOENT), "access": (0, Errno.ENOENT),
    "faccessat": (1, Errno.ENOENT), "faccessat2": (1, Errno.ENOENT), "chdir": (0, Errno.ENOENT),
    "statfs": (0, Errno.ENOENT), "truncate": (0, Errno.ENOENT), "chmod": (0, Errno.ENOENT),
    "fchmodat": (1, Errno.ENOENT), "chown": (0, Errno.ENOENT), "utimensat": (1, Errno.ENOENT),
    "execve": (0, Errno.ENOENT), "execveat": (1, Errno.ENOENT),
    "unlink": (0, Errno.ENOENT), "unlinkat": (1, Errno.ENOENT), "rmdir": (0, Errno.ENOENT),
    "rename": (0, Errno.ENOENT), "renameat": (1, Errno.ENOENT), "renameat2": (1, Errno.ENOENT),
    "creat": (0, Errno.EROFS), "mkdir": (0, Errno.EROFS), "mkdirat": (1, Errno.EROFS),
    "mknod": (0, Errno.EROFS), "mknodat": (1, Errno.EROFS), "symlink": (1, Errno.EROFS),
    "symlinkat": (2, Errno.EROFS), "link": (0, Errno.ENOENT), "linkat": (1, Errno.ENOENT),
}  # fmt: skip


class Names:
    """The file system as one process sees it.

    Args:
        guest: memory of the caller.
        program: what /proc/self/exe shows.
    """

    def __init__(self, guest: Guest, program: bytes) -> None:
        self._guest = guest
        self._program = program
        self._umask = 0o022

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        table: CallTable = {
            "openat": (3, self.openat),
            "readlink": (3, self.readlink),
            "readlinkat": (4, self.readlinkat),
            "getcwd": (2, self.getcwd),
            "umask": (1, self.umask),
        }
        for name, (argument, number) in _BY_NAME.items():
            table[name] = (argument + 1, self._refusal(argument, number))
        return table

    def openat(self, directory: int, name: int, flags: int) -> int:
        """openat(2): the guest sees no file."""
        self._guest.path(name)
        raise CallError(Errno.EROFS if flags & O_CREAT else Errno.ENOENT, refused=True)

    def readlink(self, name: int, result: int, size: int) -> int:
        """readlink(2): /proc/self/exe is the one link."""
        if int32(size) <= 0:
            raise CallError(Errno.EINVAL)
        if self._guest.path(name) != b"/proc/self/exe":
            raise CallError(Errno.ENOENT, refused=True)
        target = self._program[: int32(size)]
        self._guest.write(result, target)
        return len(target)

    def readlinkat(self, directory: int, name: int, result: int, size: int) -> int:
        """readlinkat(2)."""
        return self.readlink(name, result, size)

    def getcwd(self, result: int, size: int) -> int:
        """getcwd(2): the root."""
        if size < 2:
            raise CallError(Errno.ERANGE)
        self._guest.write(result, b"/\0")
        return 2

    def umask(self, mask: int) -> int:
        """umask(2)."""
        old, self._umask = self._umask, mask & 0o777
        return old

    def _refusal(self, argument: int, number: Errno) -> Callable[..., int]:
        """A call that only looks at the name in one of its arguments."""

        def refuse(*arguments: int) -> int:
            self._guest.path(arguments[argument])
            raise CallError(number, refused=True)

        return refuse
