"""Files that are only descriptors: counters of eventfd(2), and the inode that such files have."""

from emu.linux.calls import CallError, Errno, RunEndedError
from emu.linux.vfs.nodes import Attributes
from emu.linux.vfs.open_files import (
    O_RDWR,
    POLLIN,
    POLLOUT,
    POLLRDNORM,
    POLLWRNORM,
    OpenFile,
    VirtualNode,
)

ANONYMOUS_DEVICE = 14
"""st_dev of these files."""
_COUNTER_MOST = (1 << 64) - 2


class AnonymousNode(VirtualNode):
    """The inode of files that are only descriptors (anon_inode); it has no type."""

    kind = 0


def anonymous_node(owner: int, now: int) -> AnonymousNode:
    """The inode of a counter and the like."""
    return AnonymousNode(Attributes(1, ANONYMOUS_DEVICE, 0o600, owner, now, now, now), b"")


class EventCounter(OpenFile):
    """eventfd(2).

    Args:
        value: it starts with.
        semaphore: a read takes one, not all.
        byte_order: of the guest, in which the numbers are.
    """

    def __init__(
        self, node: AnonymousNode, flags: int, value: int, semaphore: bool, byte_order: str
    ) -> None:
        super().__init__(node, flags | O_RDWR, lambda: b"anon_inode:[eventfd]")
        self._value = value
        self._edges = 0
        self._semaphore = semaphore
        self._order = byte_order

    def seek(self, offset: int, whence: int) -> int:
        """There is no position, and that is no error (noop_llseek)."""
        return 0

    def read(self, size: int) -> bytes:
        """The counter, which becomes 0; or 1 of it."""
        if size < 8:
            raise CallError(Errno.EINVAL)
        if not self._value:
            if self.waits:
                raise RunEndedError(reason="read waits for ever: nobody else counts the eventfd up")
            raise CallError(Errno.EAGAIN)
        taken = 1 if self._semaphore else self._value
        self._value -= taken
        return taken.to_bytes(8, "little" if self._order == "little" else "big")

    def write(self, data: bytes) -> int:
        """Add a number."""
        if len(data) != 8:
            raise CallError(Errno.EINVAL)
        added = int.from_bytes(data, "little" if self._order == "little" else "big")
        if added > _COUNTER_MOST:
            raise CallError(Errno.EINVAL)
        if self._value + added > _COUNTER_MOST:
            if self.waits:
                raise RunEndedError(reason="write waits for ever: nobody else reads the eventfd")
            raise CallError(Errno.EAGAIN)
        self._value += added
        self._edges += 1
        return 8

    def edges(self) -> int:
        """One for each number."""
        return self._edges

    def ready(self) -> int:
        """Readable unless 0, writable unless full."""
        return (POLLIN | POLLRDNORM if self._value else 0) | (
            POLLOUT | POLLWRNORM if self._value < _COUNTER_MOST else 0
        )
