"""From a path to an inode (path_resolution(7), fs/namei.c).

Links are resolved here, inside the tree: an absolute one starts at the tree's top, and
``..`` there stays there.
"""

from dataclasses import dataclass

from emu.linux.calls import CallError, Errno
from emu.linux.vfs.nodes import Directory, Link, Node

NAME_MAX = 255
PATH_MAX = 4096
MAXSYMLINKS = 40

RESOLVE_NO_XDEV, RESOLVE_NO_MAGICLINKS, RESOLVE_NO_SYMLINKS = 1, 2, 4
RESOLVE_BENEATH, RESOLVE_IN_ROOT, RESOLVE_CACHED = 8, 0x10, 0x20

READ, WRITE, SEARCH = 4, 2, 1
"""Bits of access(2)."""


class MagicLink(Link):
    """A link of /proc that leads to an inode itself, whatever its text says."""

    def destination(self) -> "Found":
        """Where it leads; CallError where that is nowhere."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Found:
    """Where a path has led."""

    parent: Directory
    """The directory that holds the last name."""
    name: bytes
    """The last name; ``.``, ``..`` or ``/`` where the path ends so."""
    node: Node | None
    """None: there is nothing of that name."""
    slash: bool = False
    """The path ends in a slash, so it must be a directory."""

    @property
    def is_name(self) -> bool:
        """The last name is one that could be made or removed."""
        return self.name not in (b".", b"..", b"/")

    def existing(self) -> Node:
        """The inode; CallError(ENOENT, ENOTDIR)."""
        if self.node is None:
            raise CallError(Errno.ENOENT)
        if self.slash and not isinstance(self.node, Directory):
            raise CallError(Errno.ENOTDIR)
        return self.node

    def where(self) -> bytes:
        """The path, without links."""
        if isinstance(self.node, Directory):
            return self.node.where()
        return self.parent.place_of(self.name)


def allows(node: Node, owner: int, wanted: int) -> bool:
    """The mode lets this user, whose group has the same number, do that."""
    shift = 6 if node.attributes.owner == owner else 0
    return node.attributes.permissions >> shift & wanted == wanted


def is_above(node: Node, directory: Directory) -> bool:
    """A directory is that inode, or lies below it."""
    here = directory
    while here is not node:
        if here.parent is here:
            return False
        here = here.parent
    return True


def walk(
    top: Directory, start: Directory, path: bytes, owner: int, *,
    follow: bool = True, naming: bool = False, resolve: int = 0,
) -> Found:  # fmt: skip
    """Follow a path.

    Args:
        top: the root directory of the process.
        start: where a relative path begins.
        path: of at least one byte.
        owner: user and group of the process.
        follow: also a link in the last place; one before a slash always.
        naming: the last name is to be made or removed: one before a slash is not followed.
        resolve: RESOLVE bits of openat2(2).

    Raises:
        CallError: as open(2) lists them; ENOENT only for a directory on the way.
    """
    return _Walk(top, start, owner, follow, naming, resolve).run(path)


class _Walk:
    """One walk; the names still to go are a stack, on which links put theirs."""

    def __init__(
        self, top: Directory, start: Directory, owner: int, follow: bool, naming: bool,
        resolve: int,
    ) -> None:  # fmt: skip
        self._start = start
        self._top = start if resolve & RESOLVE_IN_ROOT else top
        self._owner = owner
        self._follow = follow
        self._naming = naming
        self._resolve = resolve
        self._here = start
        self._slash = False
        self._followed = 0
        self._names: list[bytes] = []

    def run(self, path: bytes) -> Found:
        """Walk it."""
        if not path:
            raise CallError(Errno.ENOENT)
        if len(path) >= PATH_MAX:
            raise CallError(Errno.ENAMETOOLONG)
        self._push(path)
        found = Found(self._here, b"/", self._here)
        while self._names:
            found = self._step(self._names.pop())
            if not self._names:
                break
            if found.node is None:
                raise CallError(Errno.ENOENT)
            if not isinstance(found.node, Directory):
                raise CallError(Errno.ENOTDIR)
            self._here = found.node
        return Found(found.parent, found.name, found.node, self._slash)

    def _push(self, path: bytes) -> None:
        """Put the names of a path on the stack; an absolute one starts anew."""
        if path.startswith(b"/"):
            if self._resolve & RESOLVE_BENEATH:
                raise CallError(Errno.EXDEV)
            self._enter(self._top)
        if not self._names and path.endswith(b"/"):
            self._slash = True
        self._names += [name for name in reversed(path.split(b"/")) if name]

    def _enter(self, directory: Directory) -> None:
        self._check_device(directory)
        self._here = directory

    def _step(self, name: bytes) -> Found:
        """Where one name leads from here, links followed as far as they must be."""
        here = self._here
        if not allows(here, self._owner, SEARCH):
            raise CallError(Errno.EACCES)
        if len(name) > NAME_MAX:
            raise CallError(Errno.ENAMETOOLONG)
        if name == b".":
            return Found(here, name, here)
        if name == b"..":
            if self._resolve & RESOLVE_BENEATH and here is self._start:
                raise CallError(Errno.EXDEV)
            parent = here if here is self._top else here.parent
            self._check_device(parent)
            return Found(parent, name, parent)
        node = here.find(name)
        if isinstance(node, Link) and (self._names or self._follows()):
            return self._through(node)
        if node is not None:
            self._check_device(node)
        return Found(here, name, node)

    def _follows(self) -> bool:
        """A link in the last place."""
        if self._naming:
            return self._follow and not self._slash
        return self._follow or self._slash

    def _through(self, link: Link) -> Found:
        self._followed += 1
        if self._followed > MAXSYMLINKS or self._resolve & RESOLVE_NO_SYMLINKS:
            raise CallError(Errno.ELOOP)
        if isinstance(link, MagicLink):
            if self._resolve & RESOLVE_NO_MAGICLINKS:
                raise CallError(Errno.ELOOP)
            if self._resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT):
                raise CallError(Errno.EXDEV)
            found = link.destination()
            if found.node is not None:
                self._check_device(found.node)
            return found
        target = link.target
        if not target:
            raise CallError(Errno.ENOENT)
        self._push(target)
        if not self._names:
            # The target was the top itself.
            return Found(self._here, b"/", self._here)
        return self._step(self._names.pop())

    def _check_device(self, node: Node) -> None:
        device = self._start.attributes.device
        if self._resolve & RESOLVE_NO_XDEV and node.attributes.device != device:
            raise CallError(Errno.EXDEV)
