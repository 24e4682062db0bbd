"""The tree of files that the guest sees, and every change to it (fs/namei.c, vfs_*).

Below the top lie the files of a host directory, or none. Changes alter the inodes in
memory; the host's files are only ever read. Without a root the top takes no changes.
"""

import itertools
from collections.abc import Callable

from emu.linux.calls import CallError, Errno
from emu.linux.vfs.budget import Budget, Share
from emu.linux.vfs.content import LARGEST, Content
from emu.linux.vfs.host import HostRoot
from emu.linux.vfs.host_tree import HostTree, child
from emu.linux.vfs.nodes import (
    LINK_MAX,
    Attributes,
    Directory,
    Link,
    Node,
    Regular,
    Special,
)
from emu.linux.vfs.places import Places
from emu.linux.vfs.walk import SEARCH, WRITE, Found, allows, is_above, walk

ROOT_DEVICE, MEMORY_DEVICE = 0x801, 0x19
"""st_dev of the tree, and of files without a name (memfd_create(2))."""
RENAME_NOREPLACE, RENAME_EXCHANGE = 1, 2

_IN_MEMORY = (1 << 63) - 1
"""Most bytes of a file of tmpfs."""
_BYTES = 256 << 20
_NODES = 1 << 16


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
        self.places = Places()
        """Names of open files."""
        self._numbers = itertools.count(2)
        if root is None:
            self.top = Directory(self.attributes(0o755, read_only=True), b"/")
        else:
            self.top = HostTree(root, self.attributes, self.budget).top()
        if child(self.top, b"tmp") is None:
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
        largest = _IN_MEMORY if device == MEMORY_DEVICE else LARGEST
        node = Regular(attributes, path, Content(self.budget, largest=largest), share)
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
        self.places.remove(found.parent, found.name)
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
        if is_above(old.node, new.parent):
            raise CallError(Errno.EINVAL)
        if new.node is not None and is_above(new.node, old.parent):
            raise CallError(Errno.EINVAL if exchange else Errno.ENOTEMPTY)
        if old.node is new.node:
            return
        self._may_move(old, new, exchange)
        self.places.move((old.parent, old.name), (new.parent, new.name), exchange=exchange)
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
