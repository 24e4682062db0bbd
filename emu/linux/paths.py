"""Where the names in a call's arguments lead: root, current directory and umask (fs_struct)."""

from emu.linux.calls import CallError, Errno, int32
from emu.linux.descriptors import Descriptors
from emu.linux.guest import Guest
from emu.linux.vfs.filesystem import FileSystem
from emu.linux.vfs.nodes import Directory
from emu.linux.vfs.walk import SEARCH, Found, allows, walk

AT_FDCWD = -100
AT_SYMLINK_NOFOLLOW, AT_EACCESS, AT_REMOVEDIR = 0x100, 0x200, 0x200
AT_SYMLINK_FOLLOW, AT_NO_AUTOMOUNT, AT_EMPTY_PATH = 0x400, 0x800, 0x1000


class Paths:
    """The part of a process that names depend on.

    Args:
        guest: memory of the caller.
        files: the tree.
        descriptors: which may stand for directories.
    """

    def __init__(self, guest: Guest, files: FileSystem, descriptors: Descriptors) -> None:
        self._guest = guest
        self.files = files
        self._descriptors = descriptors
        self.current = files.top
        self.umask = 0o022

    def at(
        self, directory: int, name: int, *, follow: bool = True, empty: bool = False,
        naming: bool = False, resolve: int = 0,
    ) -> Found:  # fmt: skip
        """Where a path argument leads, the last name included if it exists.

        Args:
            directory: descriptor, or AT_FDCWD.
            name: address of the path.
            follow: a link in the last place.
            empty: AT_EMPTY_PATH was given, so that no path means the descriptor itself.
            naming: the last name is to be made or removed.
            resolve: RESOLVE bits of openat2(2).

        Raises:
            CallError: as path_resolution(7) says; EFAULT, EBADF.
        """
        if empty and not name:
            path = b""
        else:
            path = self._guest.text(name, 4096)
            if len(path) == 4096:
                raise CallError(Errno.ENAMETOOLONG)
        if not path:
            if not empty:
                raise CallError(Errno.ENOENT)
            return self.of_descriptor(directory)
        start = self.current
        if not path.startswith(b"/"):
            start = self.start(directory)
        try:
            return walk(
                self.files.top, start, path, self.files.owner, follow=follow, naming=naming,
                resolve=resolve,
            )  # fmt: skip
        except CallError as error:
            raise self.missing_if(error) from error

    def existing(
        self, directory: int, name: int, *, follow: bool = True, empty: bool = False
    ) -> Found:
        """As `at`, of something that exists; CallError(ENOENT, ENOTDIR)."""
        found = self.at(directory, name, follow=follow, empty=empty)
        try:
            found.existing()
        except CallError as error:
            raise self.missing_if(error) from error
        return found

    def new(self, directory: int, name: int) -> Found:
        """As `at`, for a name to be made: without a root, there is nowhere to make any."""
        try:
            return self.at(directory, name, follow=False, naming=True)
        except CallError as error:
            if error.number is Errno.ENOENT and error.refused:
                raise CallError(Errno.EROFS, refused=True) from error
            raise

    def start(self, directory: int) -> Directory:
        """The directory that a descriptor stands for; CallError(EBADF, ENOTDIR)."""
        if int32(directory) == AT_FDCWD:
            return self.current
        node = self._descriptors.any(directory).node
        if not isinstance(node, Directory):
            raise CallError(Errno.ENOTDIR)
        return node

    def of_descriptor(self, directory: int) -> Found:
        """What a descriptor itself stands for, without a path."""
        if int32(directory) == AT_FDCWD:
            return Found(self.current, b".", self.current)
        node = self._descriptors.any(directory).node
        parent = node if isinstance(node, Directory) else self.files.top
        return Found(parent, b".", node)

    def change(self, node: object) -> None:
        """Make a directory the current one; CallError(ENOTDIR, EACCES)."""
        if not isinstance(node, Directory):
            raise CallError(Errno.ENOTDIR)
        if not allows(node, self.files.owner, SEARCH):
            raise CallError(Errno.EACCES)
        self.current = node

    def missing(self) -> CallError:
        """ENOENT; counted as refused where there is no root that could have the name."""
        return CallError(Errno.ENOENT, refused=self.files.root is None)

    def missing_if(self, error: CallError) -> CallError:
        """The error, counted as `missing` where it is ENOENT."""
        return self.missing() if error.number is Errno.ENOENT else error
