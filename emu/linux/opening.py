"""Calls that open a file by its name (open(2), openat2(2), fs/open.c, do_open of fs/namei.c)."""

import stat
from collections.abc import Callable

from arch.files import FileFacts
from emu.linux.calls import CallError, CallTable, Errno
from emu.linux.descriptors import O_CLOEXEC, Descriptors
from emu.linux.fifos import open_fifo
from emu.linux.guest import Guest
from emu.linux.paths import AT_FDCWD, Paths
from emu.linux.vfs.nodes import Directory, Link, Node, Regular, Special
from emu.linux.vfs.open_files import (
    O_ACCMODE,
    O_APPEND,
    O_NONBLOCK,
    O_PATH,
    O_WRONLY,
    open_node,
)
from emu.linux.vfs.walk import (
    READ,
    RESOLVE_BENEATH,
    RESOLVE_CACHED,
    RESOLVE_IN_ROOT,
    WRITE,
    Found,
    allows,
)

_O_CREAT, _O_EXCL, _O_NOCTTY, _O_TRUNC = 0o100, 0o200, 0o400, 0o1000
_O_DSYNC, _O_ASYNC, _O_NOATIME, _O_SYNC = 0o10000, 0o20000, 0o1000000, 0o4010000
_O_TMPFILE = 0o20000000
"""Without O_DIRECTORY, which belongs to it."""
_OPEN_HOW = 24
"""Bytes of struct open_how as it is now."""
_PAGE = 4096


class Opening:
    """Opens files by name.

    Args:
        guest: memory of the caller.
        facts: flags of the machine.
        paths: where names lead.
        descriptors: where open files go.
        broken: sends SIGPIPE.
    """

    def __init__(
        self, guest: Guest, facts: FileFacts, paths: Paths, descriptors: Descriptors,
        broken: Callable[[], None],
    ) -> None:  # fmt: skip
        self._guest = guest
        self._facts = facts
        self._paths = paths
        self._descriptors = descriptors
        self._broken = broken

    def calls(self) -> CallTable:
        """Name -> (number of arguments, implementation)."""
        return {
            "open": (3, self.open), "openat": (4, self.openat), "openat2": (4, self.openat2),
            "creat": (2, self.creat),
        }  # fmt: skip

    def open(self, name: int, flags: int, mode: int) -> int:
        """open(2)."""
        return self.openat(AT_FDCWD, name, flags, mode)

    def creat(self, name: int, mode: int) -> int:
        """creat(2)."""
        return self.openat(AT_FDCWD, name, _O_CREAT | O_WRONLY | _O_TRUNC, mode)

    def openat(self, directory: int, name: int, flags: int, mode: int) -> int:
        """openat(2): flags that the kernel does not know are ignored."""
        facts = self._facts
        flags &= 0xFFFF_FFFF & self._known()
        if flags & O_PATH:
            flags &= facts.o_directory | facts.o_nofollow | O_PATH | O_CLOEXEC
        if not flags & (_O_CREAT | _O_TMPFILE):
            mode = 0
        return self._open(directory, name, flags, mode & 0o7777, 0)

    def openat2(self, directory: int, name: int, how: int, size: int) -> int:
        """openat2(2): everything that is not known is an error."""
        if size < _OPEN_HOW:
            raise CallError(Errno.EINVAL)
        if size > _PAGE:
            raise CallError(Errno.E2BIG)
        flags, mode, resolve = self._guest.unpack("QQQ", how)
        if any(self._guest.read(how + _OPEN_HOW, size - _OPEN_HOW)):
            raise CallError(Errno.E2BIG)
        facts = self._facts
        creates = flags & (_O_CREAT | _O_TMPFILE)
        of_paths = facts.o_directory | facts.o_nofollow | O_PATH | O_CLOEXEC
        if (
            flags & ~self._known()
            or mode & ~(0o7777 if creates else 0)
            or (flags & O_PATH and flags & ~of_paths)
            or resolve & ~0x3F
            or (resolve & RESOLVE_BENEATH and resolve & RESOLVE_IN_ROOT)
        ):
            raise CallError(Errno.EINVAL)
        if resolve & RESOLVE_CACHED and flags & (_O_CREAT | _O_TRUNC | _O_TMPFILE):
            raise CallError(Errno.EAGAIN)
        return self._open(directory, name, flags, mode, resolve)

    def _known(self) -> int:
        facts = self._facts
        return (
            O_ACCMODE | _O_CREAT | _O_EXCL | _O_NOCTTY | _O_TRUNC | O_APPEND | O_NONBLOCK
            | _O_SYNC | _O_DSYNC | _O_ASYNC | facts.o_direct | facts.o_largefile
            | facts.o_directory | facts.o_nofollow | _O_NOATIME | O_CLOEXEC | O_PATH | _O_TMPFILE
        )  # fmt: skip

    def _open(self, directory: int, name: int, flags: int, mode: int, resolve: int) -> int:
        facts = self._facts
        access = {0: READ, O_WRONLY: WRITE}.get(flags & O_ACCMODE, READ | WRITE)
        temporary = bool(flags & _O_TMPFILE)
        if temporary and (not flags & facts.o_directory or flags & _O_CREAT or not access & WRITE):
            raise CallError(Errno.EINVAL)
        if flags & _O_CREAT and flags & facts.o_directory:
            raise CallError(Errno.EINVAL)
        if flags & _O_TRUNC:
            access |= WRITE
        if flags & O_PATH:
            access = 0
        if not flags & O_PATH:
            # As on every 64-bit kernel (force_o_largefile).
            flags |= facts.o_largefile
        creates = bool(flags & _O_CREAT)
        follow = not flags & facts.o_nofollow and not (creates and flags & _O_EXCL)
        self._descriptors.free()
        try:
            found = self._paths.at(directory, name, follow=follow, naming=creates, resolve=resolve)
        except CallError as error:
            if creates and error.number is Errno.ENOENT and error.refused:
                raise CallError(Errno.EROFS, refused=True) from error
            raise
        mode &= ~self._paths.umask
        if temporary:
            node: Node = self._temporary(found, mode)
            node.linkable = not flags & _O_EXCL
        elif found.node is None and creates:
            if found.slash:
                raise CallError(Errno.EISDIR)
            node = self._paths.files.create(found, mode)
            found = Found(found.parent, found.name, node)
        else:
            node = self._existing(found, flags, access)
        shown = flags & ~(_O_CREAT | _O_EXCL | _O_NOCTTY | _O_TRUNC | O_CLOEXEC)
        namer = self._namer(found, node)
        if isinstance(node, Special) and stat.S_ISFIFO(node.mode) and not flags & O_PATH:
            file = open_fifo(node, shown, namer, self._broken)
        else:
            file = open_node(node, shown, namer, self._paths.files.now)
        return self._descriptors.add(file, close_on_exec=bool(flags & O_CLOEXEC))

    def _existing(self, found: Found, flags: int, access: int) -> Node:
        """What exists, checked and truncated (do_open, may_open)."""
        node = found.node
        if node is None:
            raise self._paths.missing()
        directory = isinstance(node, Directory)
        if flags & _O_CREAT:
            if flags & _O_EXCL:
                raise CallError(Errno.EISDIR if found.slash else Errno.EEXIST)
            if found.slash or directory:
                raise CallError(Errno.EISDIR)
        if isinstance(node, Link) and not flags & O_PATH:
            raise CallError(Errno.ENOTDIR if flags & self._facts.o_directory else Errno.ELOOP)
        if not directory and (found.slash or flags & self._facts.o_directory):
            raise CallError(Errno.ENOTDIR)
        if directory and access & WRITE:
            raise CallError(Errno.EISDIR)
        if access & WRITE and isinstance(node, Regular) and node.attributes.read_only:
            raise CallError(Errno.EROFS)
        owner = self._paths.files.owner
        if not allows(node, owner, access):
            raise CallError(Errno.EACCES)
        if flags & _O_NOATIME and node.attributes.owner != owner:
            raise CallError(Errno.EPERM)
        if flags & _O_TRUNC and isinstance(node, Regular):
            node.content.resize(0)
            node.attributes.modified = node.attributes.changed = self._paths.files.now()
        return node

    def _temporary(self, found: Found, mode: int) -> Node:
        """A file without a name in that directory's file system."""
        parent = found.existing()
        if not isinstance(parent, Directory):
            raise CallError(Errno.ENOTDIR)
        if parent.attributes.read_only:
            raise CallError(Errno.EROFS, refused=self._paths.files.root is None)
        if not allows(parent, self._paths.files.owner, WRITE | 1):
            raise CallError(Errno.EACCES)
        files = self._paths.files
        path = parent.where().rstrip(b"/") + b"/#%d (deleted)"
        node = files.nameless(mode, b"", parent.attributes.device)
        node.path = path % node.number
        return node

    def _namer(self, found: Found, node: Node) -> Callable[[], bytes]:
        """The path of an open file whenever it is asked for."""
        if isinstance(node, Directory):
            return lambda: node.where() + (b" (deleted)" if node.removed else b"")
        if not found.is_name or found.node is not node:
            return lambda: node.path
        return self._paths.files.places.get(found.parent, found.name).path
