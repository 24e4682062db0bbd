"""Read-only access to one directory of the host, and to nothing outside it.

A path here is a tuple of names, none of them ``.``, ``..`` or a link: whoever walks the
guest's paths resolves links inside the root (emu.linux.vfs.walk). Every step opens one
name relative to the directory before it and refuses a link there (open(2), O_NOFOLLOW),
so that no change of names on the host can lead outside.
"""

import os
import stat
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from emu.errors import UsageError
from emu.linux.calls import CallError, Errno

HostPath = tuple[bytes, ...]

_KEPT_OPEN = 32
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_MOUNTS = "/proc/self/mountinfo"
_OF_THE_KERNEL = frozenset((
    "proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "debugfs", "tracefs", "bpf",
    "securityfs", "configfs", "pstore", "efivarfs", "mqueue", "binfmt_misc", "fusectl", "autofs",
    "rpc_pipefs", "selinuxfs", "nsfs",
))  # fmt: skip
"""File systems that show the running kernel: what is mounted below the root of these is hidden."""


@dataclass(frozen=True, slots=True)
class HostEntry:
    """What lstat(2) says of a name of the host, without what differs between two copies."""

    kind: int
    """S_IFMT bits."""
    permissions: int
    size: int
    modified: int
    """Nanoseconds since 1970."""
    links: int
    identity: tuple[int, int]
    """Device and inode of the host: to know the file again, never to be shown."""


class HostRoot:
    """A directory of the host as the guest's file system.

    Args:
        directory: may itself be reached through links.

    Raises:
        UsageError: it is no directory or cannot be opened.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = os.fspath(directory)
        try:
            self._top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(f"{self.directory}: {reason}") from error
        self._hidden = _devices_of_the_kernel()
        self._files: OrderedDict[HostPath, int] = OrderedDict()

    def close(self) -> None:
        """Give the host's descriptors back; also done when the object is dropped."""
        while self._files:
            os.close(self._files.popitem()[1])
        if self._top >= 0:
            os.close(self._top)
            self._top = -1

    def __del__(self) -> None:
        if hasattr(self, "_files"):
            self.close()

    def names(self, path: HostPath) -> dict[bytes, bool]:
        """Each name in a directory, and whether it is a directory itself.

        Raises:
            CallError: EACCES, or ENOENT where it has gone.
        """
        with self._directory(path) as descriptor:
            if os.fstat(descriptor).st_dev in self._hidden:
                return {}
            try:
                with os.scandir(descriptor) as entries:
                    return {
                        os.fsencode(entry.name): entry.is_dir(follow_symlinks=False)
                        for entry in entries
                    }
            except OSError as error:
                raise _failure(error) from error

    def entry(self, path: HostPath) -> HostEntry | None:
        """What a name is; None: it has gone, or it belongs to the kernel."""
        try:
            with self._directory(path[:-1]) as descriptor:
                found = os.stat(path[-1] if path else b".", dir_fd=descriptor,
                                follow_symlinks=False)  # fmt: skip
        except OSError:
            return None
        except CallError:
            return None
        if found.st_dev in self._hidden and not stat.S_ISDIR(found.st_mode):
            return None
        return HostEntry(
            kind=stat.S_IFMT(found.st_mode),
            permissions=stat.S_IMODE(found.st_mode),
            size=found.st_size,
            modified=found.st_mtime_ns,
            links=found.st_nlink,
            identity=(found.st_dev, found.st_ino),
        )

    def target(self, path: HostPath) -> bytes:
        """The text of a link; CallError if it cannot be read."""
        with self._directory(path[:-1]) as descriptor:
            try:
                return os.readlink(path[-1], dir_fd=descriptor)
            except OSError as error:
                raise _failure(error) from error

    def check_readable(self, path: HostPath, identity: tuple[int, int]) -> None:
        """CallError if `read` would fail: EACCES, or EIO where another file took its place."""
        self._file(path, identity)

    def read(self, path: HostPath, identity: tuple[int, int], offset: int, size: int) -> bytes:
        """Bytes of a regular file, fewer at its end.

        Raises:
            CallError: it cannot be read, or is no longer the file with that identity (EIO).
        """
        descriptor = self._file(path, identity)
        parts = []
        try:
            while size > 0:
                part = os.pread(descriptor, min(size, 1 << 30), offset)
                if not part:
                    break
                parts.append(part)
                offset += len(part)
                size -= len(part)
        except OSError as error:
            raise CallError(Errno.EIO) from error
        return b"".join(parts)

    def _file(self, path: HostPath, identity: tuple[int, int]) -> int:
        """A descriptor of the host, one of the few that are kept."""
        descriptor = self._files.get(path)
        if descriptor is None:
            descriptor = self._open_file(path, identity)
            self._files[path] = descriptor
            if len(self._files) > _KEPT_OPEN:
                os.close(self._files.popitem(last=False)[1])
        else:
            self._files.move_to_end(path)
        return descriptor

    def _open_file(self, path: HostPath, identity: tuple[int, int]) -> int:
        # Opening a device may do something to it, so it must be known before that it is none.
        before = self.entry(path)
        if before is None or before.kind != stat.S_IFREG or before.identity != identity:
            raise CallError(Errno.EIO)
        with self._directory(path[:-1]) as folder:
            try:
                descriptor = os.open(path[-1], _FILE, dir_fd=folder)
            except OSError as error:
                raise _failure(error) from error
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != identity or not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise CallError(Errno.EIO)
        return descriptor

    @contextmanager
    def _directory(self, path: HostPath) -> Iterator[int]:
        """A descriptor of a directory, for as long as it is needed."""
        descriptor = self._top
        try:
            for name in path:
                if name in (b"", b".", b"..") or b"/" in name or b"\0" in name:
                    raise CallError(Errno.ENOENT)
                try:
                    deeper = os.open(name, _DIRECTORY, dir_fd=descriptor)
                except OSError as error:
                    raise _failure(error) from error
                if descriptor != self._top:
                    os.close(descriptor)
                descriptor = deeper
            yield descriptor
        finally:
            if descriptor != self._top:
                os.close(descriptor)


def _failure(error: OSError) -> CallError:
    """What the guest may learn of a failure of the host: no access, or nothing there."""
    return CallError(Errno.EACCES if isinstance(error, PermissionError) else Errno.ENOENT)


def _devices_of_the_kernel() -> frozenset[int]:
    """st_dev of the host's mounted file systems that show its kernel (proc_pid_mountinfo(5))."""
    found = set()
    try:
        with open(_MOUNTS, "rb") as lines:
            for line in lines:
                front, _, behind = line.partition(b" - ")
                if behind.split(b" ", 1)[0].decode("ascii", "replace") in _OF_THE_KERNEL:
                    major, _, minor = front.split(b" ")[2].partition(b":")
                    found.add(os.makedev(int(major), int(minor)))
    except (OSError, IndexError, ValueError):
        # A host without /proc has nothing to hide that this list could name.
        return frozenset(found)
    return frozenset(found)
