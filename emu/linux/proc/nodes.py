"""The kinds of inodes below /proc (proc(5), fs/proc)."""

import stat
from collections.abc import Callable

from emu.linux.calls import CallError, Errno
from emu.linux.descriptors import Descriptors
from emu.linux.vfs.nodes import Attributes, Directory, Node
from emu.linux.vfs.open_files import GeneratedFile, OpenFile, VirtualNode
from emu.linux.vfs.walk import Found, MagicLink

_SHOWN_SIZE = 64
"""st_size of a link of /proc/PID/fd (tid_fd_update_inode)."""


class Generated(VirtualNode):
    """A file whose text is made each time it is opened.

    Args:
        attributes: its own.
        path: its name.
        text: makes it.
        store: takes what is written, or None.
    """

    kind = stat.S_IFREG

    def __init__(
        self, attributes: Attributes, path: bytes, text: Callable[[], bytes],
        store: Callable[[bytes], None] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(attributes, path)
        self._text = text
        self._store = store

    def open(self, flags: int, name: Callable[[], bytes]) -> OpenFile:
        """Its text as it is now."""
        return GeneratedFile(self, flags, name, self._text(), self._store)


class Pointer(MagicLink):
    """A link that leads to an inode itself.

    Args:
        attributes: its own.
        path: its name.
        top: what stands for the directory of a file that may have none.
        name: what readlink(2) shows.
        lead: where it leads; None: nowhere.
    """

    def __init__(
        self, attributes: Attributes, path: bytes, top: Directory, name: Callable[[], bytes],
        lead: Callable[[], Node | None],
    ) -> None:  # fmt: skip
        super().__init__(attributes, path, b"")
        self._top = top
        self._name = name
        self._lead = lead

    @property
    def target(self) -> bytes:
        """What it shows now."""
        return self._name()

    def destination(self) -> Found:
        """The inode; CallError(ENOENT)."""
        node = self._lead()
        if node is None:
            raise CallError(Errno.ENOENT)
        return Found(node if isinstance(node, Directory) else self._top, b".", node)


class DescriptorPointer(Pointer):
    """A link of /proc/PID/fd; its mode tells how the file was opened."""

    @property
    def size(self) -> int:
        """A constant, whatever it shows."""
        return _SHOWN_SIZE


class ByDescriptor(Directory):
    """A directory with a name for each open descriptor.

    Args:
        attributes: its own.
        path: its name.
        descriptors: the open files.
        make: the inode of a descriptor.
    """

    def __init__(
        self, attributes: Attributes, path: bytes, descriptors: Descriptors,
        make: Callable[[int, OpenFile], Node],
    ) -> None:  # fmt: skip
        super().__init__(attributes, path)
        self._descriptors = descriptors
        self._make = make
        self._made: dict[int, tuple[OpenFile, Node]] = {}

    def find(self, name: bytes) -> Node | None:
        """The inode of a descriptor, the same for as long as it refers to the same file."""
        if not name.isdigit() or (name.startswith(b"0") and name != b"0") or len(name) > 10:
            return None
        number = int(name)
        file = self._descriptors.find(number)
        if file is None:
            self._made.pop(number, None)
            return None
        made = self._made.get(number)
        if made is None or made[0] is not file:
            made = self._made[number] = (file, self._make(number, file))
        return made[1]

    def names(self) -> list[bytes]:
        """The descriptors, ascending."""
        return [b"%d" % number for number in self._descriptors.numbers()]

    def is_empty(self) -> bool:
        """It cannot be removed."""
        return False


def link_mode(file: OpenFile) -> int:
    """Permissions of a link of /proc/PID/fd."""
    return (0o500 if file.readable else 0) | (0o300 if file.writable else 0)
