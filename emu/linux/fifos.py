"""Pipes with a name (fifo(7), fs/pipe.c fifo_open). No other process could open the other end."""

from collections.abc import Callable

from emu.linux.calls import CallError, Errno, RunEndedError
from emu.linux.pipes import Pipe, PipeReader, PipeWriter
from emu.linux.vfs.nodes import Special
from emu.linux.vfs.open_files import O_ACCMODE, O_NONBLOCK, O_RDWR, O_WRONLY, OpenFile


class FifoBoth(OpenFile):
    """A fifo that was opened for reading and writing: both ends at once."""

    def __init__(self, reader: PipeReader, writer: PipeWriter, flags: int) -> None:
        super().__init__(reader.node, flags, reader.name)
        self._reader = reader
        self._writer = writer

    def read(self, size: int) -> bytes:
        """As the reading end."""
        self._reader.flags = self.flags
        return self._reader.read(size)

    def write(self, data: bytes) -> int:
        """As the writing end."""
        self._writer.flags = self.flags
        return self._writer.write(data)

    def ready(self) -> int:
        """What holds of both ends."""
        return self._reader.ready() | self._writer.ready()

    def waiting(self) -> int:
        """What is in the fifo."""
        return self._reader.waiting()

    def edges(self) -> int:
        """One for each change."""
        return self._reader.edges() + self._writer.edges()

    def released(self) -> None:
        """Both ends are closed."""
        self._reader.released()
        self._writer.released()


def open_fifo(
    node: Special, flags: int, name: Callable[[], bytes], broken: Callable[[], None]
) -> OpenFile:
    """An end of a fifo, or both.

    Args:
        node: its inode; what lies in it is forgotten when nobody has it open.
        flags: of the open call.
        name: its path.
        broken: sends SIGPIPE.

    Raises:
        CallError: ENXIO, it is opened for writing without waiting, and nobody reads.
        RunEndedError: it would wait for ever for somebody to open the other end.
    """
    pipe = node.state
    if not isinstance(pipe, Pipe) or not pipe.readers + pipe.writers:
        pipe = Pipe(readers=0, writers=0)
    access = flags & O_ACCMODE
    waits = not flags & O_NONBLOCK
    if access == O_WRONLY and not pipe.readers and not waits:
        raise CallError(Errno.ENXIO)
    if access != O_RDWR and waits and not (pipe.readers if access else pipe.writers):
        raise RunEndedError(reason="open waits for ever: nobody else opens the fifo")
    node.state = pipe
    pipe.readers += access != O_WRONLY
    pipe.writers += access != 0
    reader = PipeReader(node, flags, pipe, name)
    writer = PipeWriter(node, flags, pipe, broken, name)
    if access == O_RDWR:
        return FifoBoth(reader, writer, flags)
    return writer if access else reader
