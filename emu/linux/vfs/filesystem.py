"""The tree of files that the guest sees, and every change to it (fs/namei.c, vfs_*).

Below the top lie the files of a host directory, or none. Changes alter the inodes in
memory; the host's files are only ever read. Without a root the top takes no changes.
"""

import itertools
import stat
from collections.abc import Callable

from emu.linux.calls import CallError, Errno
from emu.linux.vfs.content import Budget, Content, Share
from emu.linux.vfs.host import HostPath, HostRoot
from emu.linux.vfs.nodes import (
    LINK_MAX,
    Attributes,
    Directory,
    Link,
    Node,
    Regular,
    Special,
)
from emu.linux.vfs.walk import SEARCH, WRITE, Found, allows, walk

ROOT_DEVICE, MEMORY_DEVICE = 0x801, 0x19
"""st_dev of the tree, and of files without a name (memfd_create(2))."""
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2

_BYTES = 256 << 20
_NODES = 1 << 16
_MERGED = (b"bin", b"sbin", b"lib", b"lib64")
"""Names that distributions supply as links into /usr outside of their packages."""


class FileSystem:
    """The tree.

    Args:
        root: of the host, or None.
        owner: user and group of the process, to which all files belong.
        now: the guest's date in nanoseconds.
    """

    def __init__(self, root: HostRoot | None, owner: int, now: Callable[[], int]) -> None:
        self.root = root
        self.owner = owner
        self.now = now
        self.budget = Budget(_BYTES, _NODES)
        self._numbers = itertools.count(2)
        # Files of the host with several names are one inode.
        self._linked: dict[tuple[int, int], Node] = {}
        if root is None:
            self.top = Directory(self.attributes(0o755, read_only=True), b"/")
        else:
            self.top = Directory(self.attributes(0o755), b"/", _HostFiller(self, root, ()))
            entry = root.entry(())
            if entry is not None:
                own = self.top.attributes
                own.permissions = entry.permissions
                own.accessed = own.modified = own.changed = entry.modified
            self._supply_links()
        if self._child(self.top, b"tmp") is None:
            self.top.cover(b"tmp", Directory(self.attributes(0o1777), b"/tmp"))

    def attributes(
        self, permissions: int, *, device: int = ROOT_DEVICE, owner: int | None = None,
        modified: int | None = None, read_only: bool = False,
    ) -> Attributes:  # fmt: skip
        """Those of a new inode with the next number; its times are now, or `modified`."""
        time = self.now() if modified is None else modified
        return Attributes(
            next(self._numbers), device, permissions, self.owner if owner is None else owner,
            time, time, time, read_only,
        )  # fmt: skip

    # ---- looking

    def lookup(self, path: bytes) -> Node:
        """The inode at a path from the top, all links followed; its own path is in it.

        Raises:
            CallError: as stat(2).
        """
        return walk(self.top, self.top, path, self.owner).existing()

    # ---- making

    def create(self, found: Found, permissions: int) -> Regular:
        """A new empty file at a free name."""
        name = self._free(found)
        share = Share(self.budget, 1)
        node = Regular(self._new(found, permissions), found.where(), Content(self.budget), share)
        self._add(found.parent, name, node)
        return node

    def nameless(self, permissions: int, path: bytes, device: int = MEMORY_DEVICE) -> Regular:
        """A new file that no name leads to (memfd_create(2), O_TMPFILE)."""
        share = Share(self.budget, 1)
        attributes = self.attributes(permissions, device=device)
        node = Regular(attributes, path, Content(self.budget), share)
        node.links = 0
        return node

    def make_directory(self, found: Found, permissions: int) -> Directory:
        """mkdir(2)."""
        name = self._free(found, directory=True)
        share = Share(self.budget, 1)
        node = Directory(self._new(found, permissions), found.where(), None, share)
        self._add(found.parent, name, node)
        return node

    def make_link(self, found: Found, target: bytes) -> Link:
        """symlink(2)."""
        name = self._free(found)
        share = Share(self.budget, 1)
        if not share.take(len(target)):
            raise CallError(Errno.ENOSPC)
        node = Link(self._new(found, 0o777), found.where(), target, share)
        self._add(found.parent, name, node)
        return node

    def make_special(self, found: Found, kind: int, permissions: int) -> Special:
        """mknod(2) of a fifo or a socket."""
        name = self._free(found)
        share = Share(self.budget, 1)
        node = Special(self._new(found, permissions), found.where(), kind, share)
        self._add(found.parent, name, node)
        return node

    def link(self, node: Node, found: Found) -> None:
        """link(2): one more name, or the first of a nameless file that may have one."""
        if found.node is not None or not found.is_name:
            raise CallError(Errno.EEXIST)
        if node.attributes.device != found.parent.attributes.device:
            raise CallError(Errno.EXDEV)
        name = self._free(found)
        if isinstance(node, Directory):
            raise CallError(Errno.EPERM)
        if not node.links and not node.linkable:
            raise CallError(Errno.ENOENT)
        if node.links >= LINK_MAX:
            raise CallError(Errno.EMLINK)
        node.links += 1
        node.linkable = False
        node.attributes.changed = self.now()
        self._add(found.parent, name, node)

    # ---- removing

    def unlink(self, found: Found) -> None:
        """unlink(2)."""
        if not found.is_name:
            raise CallError(Errno.EISDIR)
        node = found.node
        if node is None:
            raise CallError(Errno.ENOENT)
        if found.slash:
            raise CallError(Errno.EISDIR if isinstance(node, Directory) else Errno.ENOTDIR)
        self._may_change(found.parent)
        if isinstance(node, Directory):
            raise CallError(Errno.EISDIR)
        self._remove(found)

    def remove_directory(self, found: Found) -> None:
        """rmdir(2)."""
        if not found.is_name:
            wrong = {b".": Errno.EINVAL, b"..": Errno.ENOTEMPTY}
            raise CallError(wrong.get(found.name, Errno.EBUSY))
        node = found.node
        if node is None:
            raise CallError(Errno.ENOENT)
        self._may_change(found.parent)
        if not isinstance(node, Directory):
            raise CallError(Errno.ENOTDIR)
        self._not_mounted(node)
        if not node.is_empty():
            raise CallError(Errno.ENOTEMPTY)
        self._remove(found)

    def rename(self, old: Found, new: Found, flags: int = 0) -> None:
        """renameat2(2); the errors in the order of do_renameat2 and vfs_rename."""
        if old.parent.attributes.device != new.parent.attributes.device:
            raise CallError(Errno.EXDEV)
        if not old.is_name:
            raise CallError(Errno.EBUSY)
        if not new.is_name:
            raise CallError(Errno.EEXIST if flags & RENAME_NOREPLACE else Errno.EBUSY)
        if old.node is None:
            raise CallError(Errno.ENOENT)
        if new.node is not None and flags & RENAME_NOREPLACE:
            raise CallError(Errno.EEXIST)
        if new.node is None and flags & RENAME_EXCHANGE:
            raise CallError(Errno.ENOENT)
        exchange = bool(flags & RENAME_EXCHANGE)
        if exchange and new.slash and not isinstance(new.node, Directory):
            raise CallError(Errno.ENOTDIR)
        if not isinstance(old.node, Directory) and (old.slash or (new.slash and not exchange)):
            raise CallError(Errno.ENOTDIR)
        if _is_above(old.node, new.parent):
            raise CallError(Errno.EINVAL)
        if new.node is not None and _is_above(new.node, old.parent):
            raise CallError(Errno.EINVAL if exchange else Errno.ENOTEMPTY)
        if old.node is new.node:
            return
        self._may_move(old, new, exchange)
        if exchange:
            self._exchange(old, new)
            return
        if new.node is not None:
            self._remove(new)
        old.parent.remove(old.name)
        new.parent.add(new.name, old.node)
        self._changed(old.node, old.parent, new.parent)

    def _may_move(self, old: Found, new: Found, exchange: bool) -> None:
        assert old.node is not None
        self._may_change(old.parent)
        self._may_change(new.parent)
        pairs = [(old, new), (new, old)] if exchange else [(old, new)]
        for source, target in pairs:
            if isinstance(source.node, Directory):
                if not exchange and not isinstance(target.node, Directory | None):
                    raise CallError(Errno.ENOTDIR)
                # Its own ".." changes.
                if source.parent is not target.parent and not allows(
                    source.node, self.owner, WRITE
                ):
                    raise CallError(Errno.EACCES)
                self._not_mounted(source.node)
            elif isinstance(target.node, Directory) and not exchange:
                raise CallError(Errno.EISDIR)
        if isinstance(new.node, Directory):
            self._not_mounted(new.node)
            if not exchange and not new.node.is_empty():
                raise CallError(Errno.ENOTEMPTY)

    def _exchange(self, old: Found, new: Found) -> None:
        assert old.node is not None
        assert new.node is not None
        old.parent.remove(old.name)
        new.parent.remove(new.name)
        old.parent.add(old.name, new.node)
        new.parent.add(new.name, old.node)
        self._changed(old.node, new.node, old.parent, new.parent)

    # ---- inside

    def _new(self, found: Found, permissions: int) -> Attributes:
        return self.attributes(permissions, device=found.parent.attributes.device)

    def _free(self, found: Found, *, directory: bool = False) -> bytes:
        """The name, if something may be made there (filename_create)."""
        if found.node is not None or not found.is_name:
            raise CallError(Errno.EEXIST)
        if found.slash and not directory:
            raise CallError(Errno.ENOENT)
        self._may_change(found.parent)
        return found.name

    def _may_change(self, directory: Directory) -> None:
        """Names in it may be made and removed."""
        if directory.removed:
            raise CallError(Errno.ENOENT)
        if directory.attributes.read_only:
            raise CallError(Errno.EROFS, refused=self.root is None)
        if not allows(directory, self.owner, WRITE | SEARCH):
            raise CallError(Errno.EACCES)

    def _not_mounted(self, node: Directory) -> None:
        if node.attributes.device != node.parent.attributes.device:
            raise CallError(Errno.EBUSY)

    def _add(self, parent: Directory, name: bytes, node: Node) -> None:
        parent.add(name, node)
        attributes = parent.attributes
        attributes.modified = attributes.changed = self.now()

    def _remove(self, found: Found) -> None:
        assert found.node is not None
        found.parent.remove(found.name)
        if isinstance(found.node, Directory):
            found.node.removed = True
        else:
            found.node.links -= 1
        self._changed(found.node, found.parent)

    def _changed(self, node: Node, *directories: Node) -> None:
        now = self.now()
        node.attributes.changed = now
        for each in directories:
            each.attributes.changed = now
            if isinstance(each, Directory):
                each.attributes.modified = now

    @staticmethod
    def _child(directory: Directory, name: bytes) -> Node | None:
        try:
            return directory.find(name)
        except CallError:
            return None

    def _supply_links(self) -> None:
        usr = self._child(self.top, b"usr")
        if not isinstance(usr, Directory):
            return
        for name in _MERGED:
            target = self._child(usr, name)
            if isinstance(target, Directory) and self._child(self.top, name) is None:
                attributes = self.attributes(0o777, modified=target.attributes.modified)
                self.top.cover(name, Link(attributes, b"/" + name, b"usr/" + name))

    def of_the_host(self, root: HostRoot, host: HostPath, path: bytes) -> Node | None:
        """The inode of a name of the host that the guest comes to as `path`."""
        entry = root.entry(host)
        if entry is None:
            return None
        if (known := self._linked.get(entry.identity)) is not None:
            return known
        attributes = self.attributes(entry.permissions, modified=entry.modified)
        node: Node
        if entry.kind == stat.S_IFDIR:
            return Directory(attributes, path, _HostFiller(self, root, host))
        if entry.kind == stat.S_IFREG:
            source = HostFile(root, host, entry.identity)
            node = Regular(attributes, path, Content(self.budget, source, entry.size))
        elif entry.kind == stat.S_IFLNK:
            try:
                node = Link(attributes, path, root.target(host))
            except CallError:
                return None
        else:
            node = Special(attributes, path, entry.kind)
        node.links = entry.links
        if entry.links > 1:
            self._linked[entry.identity] = node
        return node


class HostFile:
    """Where the bytes of a regular file of the host come from."""

    def __init__(self, root: HostRoot, path: HostPath, identity: tuple[int, int]) -> None:
        self._root = root
        self._path = path
        self._identity = identity

    def read(self, offset: int, size: int) -> bytes:
        """Bytes, fewer at the end; CallError(EACCES, EIO)."""
        return self._root.read(self._path, self._identity, offset, size)

    def check(self) -> None:
        """CallError if it cannot be read."""
        self._root.check_readable(self._path, self._identity)


class _HostFiller:
    """The names of one directory of the host."""

    def __init__(self, files: FileSystem, root: HostRoot, path: HostPath) -> None:
        self._files = files
        self._root = root
        self._path = path

    def names(self) -> dict[bytes, bool]:
        """As the host has them."""
        return self._root.names(self._path)

    def make(self, parent: Directory, name: bytes) -> Node | None:
        """The inode of one of them."""
        return self._files.of_the_host(self._root, (*self._path, name), parent.place_of(name))


def _is_above(node: Node, directory: Directory) -> bool:
    """A directory is that inode, or lies below it."""
    here = directory
    while here is not node:
        if here.parent is here:
            return False
        here = here.parent
    return True
