"""Pipes, and the three streams whose other end is our caller."""

import stat
from collections.abc import Callable
from weakref import ref

from emu.linux.calls import CallError, Errno, RunEndedError
from emu.linux.vfs.nodes import Attributes, Node
from emu.linux.vfs.open_files import (
    O_ACCMODE,
    O_WRONLY,
    POLLERR,
    POLLHUP,
    POLLIN,
    POLLOUT,
    POLLRDNORM,
    POLLWRNORM,
    OpenFile,
    VirtualNode,
)

KEPT = 16 << 20
"""Bytes of output that are kept; the rest is only counted."""
CAPACITY = 65536
"""Bytes that a pipe holds (pipe(7))."""
PIPE_BUF = 4096
PIPE_DEVICE = 13
"""st_dev of pipes."""


class StreamNode(VirtualNode):
    """The inode of a pipe to our caller: opening it by /proc/self/fd is one more descriptor."""

    kind = stat.S_IFIFO

    def __init__(self, number: int, owner: int, now: int, stream: "Stream") -> None:
        super().__init__(Attributes(number, PIPE_DEVICE, 0o600, owner, now, now, now), b"")
        # The stream holds this inode, so it must not be held by it.
        self._stream = ref(stream)

    def open(self, flags: int, name: Callable[[], bytes]) -> OpenFile:
        """The end that there is."""
        stream = self._stream()
        if stream is None or flags & O_ACCMODE != stream.flags & O_ACCMODE:
            raise CallError(Errno.ENXIO)
        return stream


class PipeNode(VirtualNode):
    """The inode of a pipe.

    Args:
        pipe: what lies in it.
        broken: called before EPIPE, to send SIGPIPE.
    """

    kind = stat.S_IFIFO

    def __init__(
        self, number: int, owner: int, now: int, pipe: "Pipe", broken: Callable[[], None]
    ) -> None:
        super().__init__(Attributes(number, PIPE_DEVICE, 0o600, owner, now, now, now), b"")
        self._pipe = pipe
        self._broken = broken

    def open(self, flags: int, name: Callable[[], bytes]) -> OpenFile:
        """One more end of it, for reading or for writing."""
        if flags & O_ACCMODE == 0:
            self._pipe.readers += 1
            return PipeReader(self, flags, self._pipe)
        if flags & O_ACCMODE == O_WRONLY:
            self._pipe.writers += 1
            return PipeWriter(self, flags, self._pipe, self._broken)
        raise CallError(Errno.ENXIO)


class Stream(OpenFile):
    """One of the three descriptors that a process starts with: a pipe to our caller."""

    def __init__(self, number: int, owner: int, now: int, flags: int) -> None:
        node = StreamNode(number, owner, now, self)
        super().__init__(node, flags, lambda: b"pipe:[%d]" % number)


class Input(Stream):
    """The reading end of a pipe that holds `data` and then ends."""

    def __init__(self, data: bytes, number: int, owner: int, now: int) -> None:
        super().__init__(number, owner, now, 0)
        self.data = data
        self.position = 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        part = self.data[self.position : self.position + size]
        self.position += len(part)
        return part

    def ready(self) -> int:
        """Readable, or ended."""
        return POLLIN | POLLRDNORM if self.position < len(self.data) else POLLHUP

    def waiting(self) -> int:
        """What is left."""
        return len(self.data) - self.position


class Output(Stream):
    """The writing end of a pipe whose reader keeps the first 16 MiB."""

    def __init__(self, number: int, owner: int, now: int) -> None:
        super().__init__(number, owner, now, O_WRONLY)
        self.kept = bytearray()
        self.dropped = 0
        """Bytes beyond those kept."""

    def write(self, data: bytes) -> int:
        """Keep what there is room for."""
        part = data[: KEPT - len(self.kept)]
        self.kept += part
        self.dropped += len(data) - len(part)
        return len(data)

    def ready(self) -> int:
        """Always writable."""
        return POLLOUT | POLLWRNORM

    def waiting(self) -> int:
        """Nothing can be read here."""
        return 0


class Pipe:
    """What lies between the two ends of pipe(2)."""

    def __init__(self, readers: int = 1, writers: int = 1) -> None:
        self.data = bytearray()
        self.readers = readers
        self.writers = writers
        self.writes = 0
        self.reads = 0
        """How often something came and went: the edges for epoll(7)."""


class PipeReader(OpenFile):
    """The end to read from."""

    def __init__(
        self, node: Node, flags: int, pipe: Pipe, name: Callable[[], bytes] | None = None
    ) -> None:
        super().__init__(node, flags, name or (lambda: b"pipe:[%d]" % node.number))
        self._pipe = pipe

    def read(self, size: int) -> bytes:
        """What is there; nothing once the other end is closed.

        Raises:
            RunEndedError: it waits for what nobody will write.
        """
        data = self._pipe.data
        if not data and size and self._pipe.writers:
            if self.waits:
                raise RunEndedError(reason="read waits for ever: nobody else writes to the pipe")
            raise CallError(Errno.EAGAIN)
        part = bytes(data[:size])
        del data[:size]
        self._pipe.reads += 1
        return part

    def ready(self) -> int:
        """Data, or the end."""
        return (POLLIN | POLLRDNORM if self._pipe.data else 0) | (
            0 if self._pipe.writers else POLLHUP
        )

    def waiting(self) -> int:
        """What is in the pipe."""
        return len(self._pipe.data)

    def edges(self) -> int:
        """One for each write, and one where no writer is left."""
        return self._pipe.writes + (not self._pipe.writers)

    def released(self) -> None:
        """Writing fails from now on."""
        self._pipe.readers -= 1


class PipeWriter(OpenFile):
    """The end to write to.

    Args:
        broken: called before EPIPE, to send SIGPIPE.
    """

    def __init__(
        self, node: Node, flags: int, pipe: Pipe, broken: Callable[[], None],
        name: Callable[[], bytes] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(node, flags, name or (lambda: b"pipe:[%d]" % node.number))
        self._pipe = pipe
        self._broken = broken

    def write(self, data: bytes) -> int:
        """What there is room for; up to PIPE_BUF bytes stay together.

        Raises:
            CallError: EPIPE, nobody can read; EAGAIN.
            RunEndedError: it waits for room that nobody will make.
        """
        pipe = self._pipe
        if not pipe.readers:
            self._broken()
            raise CallError(Errno.EPIPE)
        room = CAPACITY - len(pipe.data)
        if len(data) > room:
            if self.waits:
                raise RunEndedError(reason="write waits for ever: nobody else reads the pipe")
            if not room or len(data) <= PIPE_BUF:
                raise CallError(Errno.EAGAIN)
        pipe.data += data[:room]
        pipe.writes += 1
        return min(len(data), room)

    def ready(self) -> int:
        """Room for PIPE_BUF bytes, or an error."""
        room = CAPACITY - len(self._pipe.data) >= PIPE_BUF
        return (POLLOUT | POLLWRNORM if room else 0) | (0 if self._pipe.readers else POLLERR)

    def edges(self) -> int:
        """One for each read, and one where no reader is left."""
        return self._pipe.reads + (not self._pipe.readers)

    def waiting(self) -> int:
        """What is in the pipe."""
        return len(self._pipe.data)

    def released(self) -> None:
        """Reading ends from now on."""
        self._pipe.writers -= 1
