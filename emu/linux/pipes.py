"""What a descriptor refers to: the two ends of pipes whose other end is our caller."""

from dataclasses import dataclass
from typing import Protocol

from emu.linux.calls import CallError, Errno

KEPT = 16 << 20
"""Bytes of output that are kept; the rest is only counted."""
OPEN_MAX = 1024
"""Descriptors of a process (RLIMIT_NOFILE)."""
O_WRONLY = 1
POLLIN, POLLOUT, POLLHUP, POLLNVAL = 1, 4, 0x10, 0x20
POLLRDNORM, POLLWRNORM = 0x40, 0x100


class OpenFile(Protocol):
    """What a descriptor refers to."""

    flags: int
    """Access mode, as F_GETFL shows it."""
    number: int
    """Inode."""

    def read(self, size: int) -> bytes:
        """At most `size` bytes, none at the end; CallError(EBADF) if it is not for reading."""

    def write(self, data: bytes) -> None:
        """Take all of the bytes; CallError(EBADF) if it is not for writing."""

    def ready(self) -> int:
        """POLL bits that hold."""


@dataclass(slots=True)
class Input:
    """The reading end of a pipe that holds `data` and then ends."""

    data: bytes
    number: int
    flags: int = 0
    position: int = 0

    def read(self, size: int) -> bytes:
        """The next bytes."""
        part = self.data[self.position : self.position + size]
        self.position += len(part)
        return part

    def write(self, data: bytes) -> None:
        """Refuse."""
        raise CallError(Errno.EBADF)

    def ready(self) -> int:
        """Readable, or ended."""
        return POLLIN | POLLRDNORM if self.position < len(self.data) else POLLHUP


class Output:
    """The writing end of a pipe whose reader keeps the first 16 MiB."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.flags = O_WRONLY
        self.kept = bytearray()
        self.dropped = 0
        """Bytes beyond those kept."""

    def read(self, size: int) -> bytes:
        """Refuse."""
        raise CallError(Errno.EBADF)

    def write(self, data: bytes) -> None:
        """Keep what there is room for."""
        part = data[: KEPT - len(self.kept)]
        self.kept += part
        self.dropped += len(data) - len(part)

    def ready(self) -> int:
        """Always writable."""
        return POLLOUT | POLLWRNORM
