"""The inodes of a directory of the host, made when the guest first comes to their names."""

import stat
from typing import Protocol

from emu.linux.calls import CallError
from emu.linux.vfs.budget import Budget
from emu.linux.vfs.content import Content
from emu.linux.vfs.host import HostPath, HostRoot
from emu.linux.vfs.nodes import Attributes, Directory, Link, Node, Regular, Special

_MERGED = (b"bin", b"sbin", b"lib", b"lib64")
"""Names that distributions supply as links into /usr outside of their packages."""


class NewAttributes(Protocol):
    """Makes what a new inode has, with the next number."""

    def __call__(self, permissions: int, *, modified: int) -> Attributes:
        """Of these twelve bits and this time."""


class HostTree:
    """Inodes of the host.

    Args:
        root: the host's directory.
        attributes: of a new inode.
        budget: what the guest's changes to these files count against.
    """

    def __init__(self, root: HostRoot, attributes: NewAttributes, budget: Budget) -> None:
        self.root = root
        self._attributes = attributes
        self._budget = budget
        # Files of the host with several names are one inode.
        self._linked: dict[tuple[int, int], Node] = {}

    def top(self) -> Directory:
        """The directory itself."""
        entry = self.root.entry(())
        permissions, modified = (entry.permissions, entry.modified) if entry else (0o755, 0)
        attributes = self._attributes(permissions, modified=modified)
        top = Directory(attributes, b"/", _HostFiller(self, ()))
        self._supply_links(top)
        return top

    def make(self, host: HostPath, path: bytes) -> Node | None:
        """The inode of a name of the host that the guest comes to as `path`; None: it has gone."""
        entry = self.root.entry(host)
        if entry is None:
            return None
        if (known := self._linked.get(entry.identity)) is not None:
            return known
        attributes = self._attributes(entry.permissions, modified=entry.modified)
        node: Node
        if entry.kind == stat.S_IFDIR:
            return Directory(attributes, path, _HostFiller(self, host))
        if entry.kind == stat.S_IFREG:
            source = HostFile(self.root, host, entry.identity)
            node = Regular(attributes, path, Content(self._budget, source, entry.size))
        elif entry.kind == stat.S_IFLNK:
            try:
                node = Link(attributes, path, self.root.target(host))
            except CallError:
                return None
        else:
            node = Special(attributes, path, entry.kind)
        node.links = entry.links
        if entry.links > 1:
            self._linked[entry.identity] = node
        return node

    def _supply_links(self, top: Directory) -> None:
        usr = child(top, b"usr")
        if not isinstance(usr, Directory):
            return
        for name in _MERGED:
            target = child(usr, name)
            if isinstance(target, Directory) and child(top, name) is None:
                attributes = self._attributes(0o777, modified=target.attributes.modified)
                top.cover(name, Link(attributes, b"/" + name, b"usr/" + name))


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

    def __init__(self, tree: HostTree, path: HostPath) -> None:
        self._tree = tree
        self._path = path

    def names(self) -> dict[bytes, bool]:
        """As the host has them."""
        return self._tree.root.names(self._path)

    def make(self, parent: Directory, name: bytes) -> Node | None:
        """The inode of one of them."""
        return self._tree.make((*self._path, name), parent.place_of(name))


def child(directory: Directory, name: bytes) -> Node | None:
    """What a name leads to; None also where the directory cannot be read."""
    try:
        return directory.find(name)
    except CallError:
        return None
