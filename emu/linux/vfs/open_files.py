"""What a descriptor refers to: open file descriptions (open(2)).

They know bytes and positions, not the guest's memory. What would wait for ever, since
there is no other process, ends the run.
"""

from collections.abc import Callable

from emu.linux.calls import CallError, Errno
from emu.linux.vfs.nodes import Directory, Node, Regular

O_WRONLY, O_RDWR, O_ACCMODE = 1, 2, 3
O_APPEND, O_NONBLOCK, O_PATH = 0o2000, 0o4000, 0o10000000
POLLIN, POLLPRI, POLLOUT, POLLERR, POLLHUP, POLLNVAL = 1, 2, 4, 8, 0x10, 0x20
POLLRDNORM, POLLWRNORM = 0x40, 0x100
SEEK_SET, SEEK_CUR, SEEK_END, SEEK_DATA, SEEK_HOLE = 0, 1, 2, 3, 4
_MOST = (1 << 63) - 1


class OpenFile:
    """An open file.

    Args:
        node: its inode.
        flags: of the open call, as F_GETFL shows them.
        name: its path now, as a link in /proc/self/fd shows it.
    """

    seekable = False
    """It has a position, and pread(2) works."""
    pollable = True
    """epoll(7) takes it."""
    transfers = True
    """It can be read or written at all."""

    def __init__(self, node: Node, flags: int, name: Callable[[], bytes]) -> None:
        self.node = node
        self.flags = flags
        self.name = name
        self.references = 0
        """Descriptors that refer to it."""

    @property
    def readable(self) -> bool:
        """It was opened for reading."""
        return self.flags & O_ACCMODE in (0, O_RDWR) and not self.flags & O_PATH

    @property
    def writable(self) -> bool:
        """It was opened for writing."""
        return self.flags & O_ACCMODE in (O_WRONLY, O_RDWR) and not self.flags & O_PATH

    @property
    def waits(self) -> bool:
        """O_NONBLOCK is not set."""
        return not self.flags & O_NONBLOCK

    def read(self, size: int) -> bytes:
        """At most `size` bytes, none at the end. Who calls has looked at `readable`."""
        raise CallError(Errno.EINVAL)

    def write(self, data: bytes) -> int:
        """Take bytes; how many. Who calls has looked at `writable`."""
        raise CallError(Errno.EINVAL)

    def read_at(self, offset: int, size: int) -> bytes:
        """As read, leaving the position alone."""
        raise CallError(Errno.ESPIPE)

    def write_at(self, offset: int, data: bytes) -> int:
        """As write, leaving the position alone."""
        raise CallError(Errno.ESPIPE)

    def seek(self, offset: int, whence: int) -> int:
        """lseek(2): the new position."""
        raise CallError(Errno.ESPIPE)

    def ready(self) -> int:
        """POLL bits that hold."""
        return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM

    def waiting(self) -> int:
        """Bytes that can be read now (FIONREAD); CallError(ENOTTY): it cannot tell."""
        raise CallError(Errno.ENOTTY)

    def edges(self) -> int:
        """A number that changes when more comes to be read (epoll(7), EPOLLET)."""
        return 0

    def released(self) -> None:
        """The last descriptor was closed."""


class Positioned(OpenFile):
    """A file with a position.

    The position lies where the last read or write ended, and moves by lseek(2).
    """

    seekable = True

    def __init__(self, node: Node, flags: int, name: Callable[[], bytes]) -> None:
        super().__init__(node, flags, name)
        self.position = 0

    def read(self, size: int) -> bytes:
        """The bytes at the position."""
        data = self.read_at(self.position, size)
        self.position += len(data)
        return data

    def write(self, data: bytes) -> int:
        """Bytes go to the position."""
        done = self.write_at(self.position, data)
        self.position += done
        return done

    def seek(self, offset: int, whence: int) -> int:
        """From the start, the position or the end."""
        start = {SEEK_SET: 0, SEEK_CUR: self.position, SEEK_END: self.end()}.get(whence)
        if start is None or not 0 <= start + offset <= self.furthest():
            raise CallError(Errno.EINVAL)
        self.position = start + offset
        return self.position

    def end(self) -> int:
        """Where SEEK_END counts from."""
        return self.node.size

    def furthest(self) -> int:
        """The last position there may be."""
        return _MOST


class RegularFile(Positioned):
    """An open regular file."""

    pollable = False

    def __init__(self, node: Regular, flags: int, name: Callable[[], bytes],
                 now: Callable[[], int]) -> None:  # fmt: skip
        super().__init__(node, flags, name)
        self.file = node
        self._now = now

    def read_at(self, offset: int, size: int) -> bytes:
        """Bytes of the file."""
        return self.file.read(offset, size)

    def write(self, data: bytes) -> int:
        """Under O_APPEND bytes go to the end."""
        if self.flags & O_APPEND:
            self.position = self.file.size
        return super().write(data)

    def write_at(self, offset: int, data: bytes) -> int:
        """Bytes into the file; pwrite(2) under O_APPEND appends too, as Linux does."""
        done = self.file.write(self.file.size if self.flags & O_APPEND else offset, data)
        if data:
            own = self.file.attributes
            own.modified = own.changed = self._now()
            # Writing takes these bits away (file_remove_privs); of group execution depends S_ISGID.
            own.permissions &= ~0o6000 if own.permissions & 0o10 else ~0o4000
        return done

    def seek(self, offset: int, whence: int) -> int:
        """Also to data and to holes."""
        if whence not in (SEEK_DATA, SEEK_HOLE):
            return super().seek(offset, whence)
        if not 0 <= offset < self.file.size:
            raise CallError(Errno.ENXIO)
        content = self.file.content
        found = content.next_data(offset) if whence == SEEK_DATA else content.next_hole(offset)
        if found is None:
            raise CallError(Errno.ENXIO)
        self.position = found
        return found

    def furthest(self) -> int:
        """A position behind the largest file is an error already."""
        return self.file.content.largest

    def waiting(self) -> int:
        """What is left from the position on."""
        return self.file.size - self.position


class GeneratedFile(Positioned):
    """A file of /proc: its text is made when it is opened (proc(5)).

    Args:
        text: to be read.
        store: takes what is written; None: that is EIO, as without a write function.
    """

    def __init__(
        self, node: Node, flags: int, name: Callable[[], bytes], text: bytes,
        store: Callable[[bytes], None] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(node, flags, name)
        self._text = text
        self._store = store

    def write_at(self, offset: int, data: bytes) -> int:
        """All of it at once."""
        if self._store is None:
            raise CallError(Errno.EIO)
        self._store(data)
        return len(data)

    def read_at(self, offset: int, size: int) -> bytes:
        """A part of the text."""
        return self._text[offset : offset + size]

    def end(self) -> int:
        """It has no end to seek from."""
        raise CallError(Errno.EINVAL)

    def seek(self, offset: int, whence: int) -> int:
        """From the start and the position only."""
        start = {SEEK_SET: 0, SEEK_CUR: self.position}.get(whence)
        if start is None or not 0 <= start + offset <= _MOST:
            raise CallError(Errno.EINVAL)
        self.position = start + offset
        return self.position


class DirectoryFile(Positioned):
    """An open directory: its names as they were when reading began."""

    pollable = False

    def __init__(self, node: Directory, flags: int, name: Callable[[], bytes]) -> None:
        super().__init__(node, flags, name)
        self.directory = node
        self._names: list[bytes] | None = None

    def read(self, size: int) -> bytes:
        """Refuse."""
        raise CallError(Errno.EISDIR)

    def read_at(self, offset: int, size: int) -> bytes:
        """Refuse."""
        raise CallError(Errno.EISDIR)

    def entry(self) -> tuple[bytes, Node] | None:
        """The name at the position, and its inode; None at the end. The position stays."""
        if self._names is None or self.position == 0:
            self._names = [b".", b"..", *self.directory.names()]
        while self.position < len(self._names):
            name = self._names[self.position]
            node = self._special(name) or self.directory.find(name)
            if node is not None:
                return name, node
            self.position += 1
        return None

    def seek(self, offset: int, whence: int) -> int:
        """To a position that getdents64(2) told; the start reads the names again."""
        if whence == SEEK_END:
            raise CallError(Errno.EINVAL)
        return super().seek(offset, whence)

    def _special(self, name: bytes) -> Node | None:
        if name == b".":
            return self.directory
        return self.directory.parent if name == b".." else None


class VirtualNode(Node):
    """An inode that the kernel itself is behind."""

    def open(self, flags: int, name: Callable[[], bytes]) -> OpenFile:
        """An open file of it; CallError(ENXIO) where there can be none."""
        raise CallError(Errno.ENXIO)


def open_node(
    node: Node, flags: int, name: Callable[[], bytes], now: Callable[[], int]
) -> OpenFile:
    """An open file of any inode; permissions are not looked at.

    Raises:
        CallError: ENXIO, nothing is behind a device of the host; EACCES, the host's file
            cannot be read.
    """
    if flags & O_PATH:
        return OpenFile(node, flags, name)
    if isinstance(node, Regular):
        if flags & O_ACCMODE != O_WRONLY:
            node.content.check()
        return RegularFile(node, flags, name, now)
    if isinstance(node, Directory):
        node.fill()
        return DirectoryFile(node, flags, name)
    if isinstance(node, VirtualNode):
        return node.open(flags, name)
    raise CallError(Errno.ENXIO)
