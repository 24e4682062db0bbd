"""How much memory files may take that exist in memory only, and how large a file may become."""

from collections.abc import Callable

from emu.linux.calls import CallError, Errno


class Budget:
    """Memory and number of all files that exist in memory only.

    Args:
        size: bytes.
        nodes: inodes.
    """

    largest: Callable[[], int] = staticmethod(lambda: 1 << 64)
    """The most bytes to which the process may let a file grow (RLIMIT_FSIZE)."""
    exceeded: Callable[[], None] = staticmethod(lambda: None)
    """Called before EFBIG for that reason, to send SIGXFSZ."""

    def __init__(self, size: int, nodes: int) -> None:
        self.size = size
        self.nodes = nodes
        self.used = 0
        self.used_nodes = 0


class Share:
    """What one file takes of a budget; given back when nobody holds the file any more.

    Args:
        budget: of the file system.
        nodes: 1 for a new inode.

    Raises:
        CallError: ENOSPC.
    """

    def __init__(self, budget: Budget, nodes: int = 0) -> None:
        self._budget = budget
        self._size = 0
        self._nodes = 0
        if budget.used_nodes + nodes > budget.nodes:
            raise CallError(Errno.ENOSPC)
        self._nodes = nodes
        budget.used_nodes += nodes

    def take(self, size: int) -> bool:
        """Take that many bytes more; False: they are not left. Negative: give back."""
        if size > 0 and self._budget.used + size > self._budget.size:
            return False
        self._budget.used += size
        self._size += size
        return True

    @property
    def left(self) -> int:
        """Bytes that nobody has taken."""
        return self._budget.size - self._budget.used

    def __del__(self) -> None:
        self._budget.used -= self._size
        self._budget.used_nodes -= self._nodes
