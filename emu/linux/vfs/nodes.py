"""Inodes: what a file is, apart from its names (inode(7)).

A directory of the host is read when it is first looked at, a file of it when its name
is; every change after that alters only these objects.
"""

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol

from emu.linux.calls import CallError, Errno
from emu.linux.vfs.budget import Share
from emu.linux.vfs.content import WHOLE, Content

LINK_MAX = 65000
"""Most names of one file (ext4)."""


@dataclass(slots=True)
class Attributes:
    """What every inode has."""

    number: int
    device: int
    """st_dev of the file system that holds it."""
    permissions: int
    """The low twelve bits of the mode."""
    owner: int
    """User and group."""
    accessed: int
    modified: int
    changed: int
    """Nanoseconds since 1970."""
    read_only: bool = False
    """Its file system takes no changes."""


class Node:
    """An inode.

    Args:
        attributes: its own.
        path: the name by which the guest first came to it.
        share: what a file that exists in memory only takes of the budget.
    """

    kind: ClassVar[int]
    """S_IFMT bits."""

    def __init__(self, attributes: Attributes, path: bytes, share: Share | None = None) -> None:
        self.attributes = attributes
        self.path = path
        self.links = 1
        """Names of it; of a directory `nlink` tells more."""
        self.linkable = False
        """It has no name and may still get one (open(2), O_TMPFILE)."""
        self._share = share

    @property
    def number(self) -> int:
        """Inode number."""
        return self.attributes.number

    @property
    def device(self) -> int:
        """st_dev."""
        return self.attributes.device

    @property
    def mode(self) -> int:
        """st_mode."""
        return self.kind | self.attributes.permissions

    @property
    def size(self) -> int:
        """st_size, bytes."""
        return 0

    @property
    def allocated(self) -> int:
        """Bytes of storage, for st_blocks."""
        return 0

    @property
    def rdev(self) -> int:
        """st_rdev, as makedev(3) makes it."""
        return 0

    def nlink(self) -> int:
        """st_nlink."""
        return self.links


class Regular(Node):
    """A regular file."""

    kind = stat.S_IFREG

    def __init__(
        self, attributes: Attributes, path: bytes, content: Content, share: Share | None = None
    ) -> None:
        super().__init__(attributes, path, share)
        self.content = content

    @property
    def size(self) -> int:
        """Bytes, holes included."""
        return self.content.size

    @property
    def allocated(self) -> int:
        """Bytes without holes."""
        return self.content.allocated

    @property
    def in_memory(self) -> bool:
        """There is no file of the host behind it."""
        return self._share is not None

    def read(self, offset: int, size: int) -> bytes:
        """Bytes, fewer at the end; CallError(EIO) where the host's file has changed."""
        return self.content.read(offset, size)

    def write(self, offset: int, data: bytes) -> int:
        """Store bytes; how many there was room for. CallError(ENOSPC, EFBIG): none."""
        return self.content.write(offset, data)

    def data(self) -> bytes:
        """All of it; CallError(EFBIG) beyond 1 GiB, as no program is."""
        if self.size > WHOLE:
            raise CallError(Errno.EFBIG)
        return self.read(0, self.size)


class Link(Node):
    """A symbolic link."""

    kind = stat.S_IFLNK

    def __init__(
        self, attributes: Attributes, path: bytes, target: bytes, share: Share | None = None
    ) -> None:
        super().__init__(attributes, path, share)
        self._target = target

    @property
    def size(self) -> int:
        """Bytes of the target."""
        return len(self._target)

    @property
    def target(self) -> bytes:
        """Where it points, as readlink(2) shows it."""
        return self._target


class Special(Node):
    """A device or socket, behind which there is nothing (open(2), ENXIO), or a fifo."""

    kind = 0

    def __init__(self, attributes: Attributes, path: bytes, kind: int,
                 share: Share | None = None) -> None:  # fmt: skip
        super().__init__(attributes, path, share)
        self.special = kind
        self.state: object = None
        """Of a fifo: what lies in it while it is open."""

    @property
    def mode(self) -> int:
        """st_mode."""
        return self.special | self.attributes.permissions


class Filler(Protocol):
    """Where a directory has names from that nobody has looked at."""

    def names(self) -> dict[bytes, bool]:
        """Each name, and whether it is a directory; CallError(EACCES)."""

    def make(self, parent: "Directory", name: bytes) -> Node | None:
        """The inode of a name; None: it has gone."""


class Directory(Node):
    """A directory: names and what they lead to.

    Args:
        filler: where its first names come from; None: it begins empty.
    """

    kind = stat.S_IFDIR

    def __init__(
        self, attributes: Attributes, path: bytes, filler: Filler | None = None,
        share: Share | None = None,
    ) -> None:  # fmt: skip
        super().__init__(attributes, path, share)
        self.parent = self
        self.name = b""
        self._filler = filler
        self._unmade: dict[bytes, bool] | None = None if filler else {}
        self._entries: dict[bytes, Node] = {}
        self._folders = 0
        self.removed = False
        """It has no name any more: nothing can be made in it."""

    @property
    def size(self) -> int:
        """One block, however many names."""
        return 4096

    @property
    def allocated(self) -> int:
        """One block."""
        return 4096

    def nlink(self) -> int:
        """st_nlink: its name, its ``.``, and ``..`` of each directory in it."""
        if self.removed:
            return 0
        try:
            self.fill()
        except CallError:
            return 2
        return 2 + self._folders

    def fill(self) -> dict[bytes, bool]:
        """Read the names, at the first time; those of which there is no inode yet.

        Raises:
            CallError: EACCES, the host's directory cannot be read.
        """
        if self._unmade is None:
            assert self._filler is not None
            self._unmade = dict(self._filler.names())
            for name in self._entries:
                self._unmade.pop(name, None)
            self._folders += sum(self._unmade.values())
        return self._unmade

    def find(self, name: bytes) -> Node | None:
        """What a name leads to, or None."""
        found = self._entries.get(name)
        if found is None and name in (unmade := self.fill()):
            assert self._filler is not None
            folder = unmade.pop(name)
            found = self._filler.make(self, name)
            self._folders -= folder
            if found is not None:
                self.add(name, found)
        return found

    def names(self) -> list[bytes]:
        """All names, in the order of their bytes."""
        return sorted((*self.fill(), *self._entries))

    def items(self) -> Iterator[tuple[bytes, Node]]:
        """Names and inodes, in the order of the names' bytes."""
        for name in self.names():
            node = self.find(name)
            if node is not None:
                yield name, node

    def is_empty(self) -> bool:
        """There is no name in it."""
        return not self.fill() and not self._entries

    def add(self, name: bytes, node: Node) -> None:
        """Give an inode a name that is free here. Its count of names is the caller's."""
        self._entries[name] = node
        if isinstance(node, Directory):
            node.parent, node.name = self, name
            self._folders += 1

    def remove(self, name: bytes) -> None:
        """Take a name away that `find` has seen."""
        self._folders -= isinstance(self._entries.pop(name), Directory)

    def cover(self, name: bytes, node: Node) -> None:
        """Put an inode over whatever has that name, as mount(2) does."""
        if name in self._entries:
            self.remove(name)
        if self._unmade is not None and name in self._unmade:
            self._folders -= self._unmade.pop(name)
        self.add(name, node)

    def where(self) -> bytes:
        """Its path from the root of the tree."""
        parts = []
        here = self
        while here.parent is not here:
            parts.append(here.name)
            here = here.parent
        return b"/" + b"/".join(reversed(parts))

    def place_of(self, name: bytes) -> bytes:
        """The path of a name in it."""
        return self.where().rstrip(b"/") + b"/" + name
