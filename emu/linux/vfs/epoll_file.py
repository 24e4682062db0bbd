"""What an epoll descriptor refers to: the files that it watches (epoll(7), fs/eventpoll.c)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from weakref import WeakSet

from emu.linux.calls import CallError, Errno
from emu.linux.vfs.nodes import Node
from emu.linux.vfs.open_files import (
    O_RDWR,
    POLLERR,
    POLLHUP,
    POLLIN,
    POLLRDNORM,
    OpenFile,
)

EPOLLEXCLUSIVE, EPOLLWAKEUP, EPOLLONESHOT, EPOLLET = 1 << 28, 1 << 29, 1 << 30, 1 << 31
_PRIVATE = EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLONESHOT | EPOLLET
_DEEPEST = 5
"""Most epoll files that watch each other in a chain (EP_MAX_NESTS and the last one)."""


@dataclass(slots=True)
class Watched:
    """A file that is watched, under the descriptor by which it was added."""

    file: OpenFile
    events: int
    data: int
    seen: int = -1
    """Edges of the file when it was last reported, or -1."""

    def found(self, known: "dict[EpollFile, int]") -> int:
        """The events that hold now, and are to be reported.

        Args:
            known: what is known already of epoll files, each of which may be reached in many ways.
        """
        wanted = self.events & ~_PRIVATE
        if not wanted:
            # Switched off by EPOLLONESHOT.
            return 0
        file = self.file
        ready = file.ready_by(known) if isinstance(file, EpollFile) else file.ready()
        found = ready & (wanted | POLLERR | POLLHUP)
        if found and self.events & EPOLLET and self.seen == self.file.edges():
            return 0
        return found

    def reported(self) -> None:
        """Do what being reported does."""
        self.seen = self.file.edges()
        if self.events & EPOLLONESHOT:
            self.events &= _PRIVATE


class EpollFile(OpenFile):
    """A set of watched files."""

    transfers = False

    def __init__(self, node: Node) -> None:
        name: Callable[[], bytes] = lambda: b"anon_inode:[eventpoll]"  # noqa: E731
        super().__init__(node, O_RDWR, name)
        self._watched: dict[tuple[int, OpenFile], Watched] = {}
        # Those that watch this one, or did.
        self._above: WeakSet[EpollFile] = WeakSet()

    def add(self, descriptor: int, file: OpenFile, events: int, data: int) -> None:
        """EPOLL_CTL_ADD; CallError(EEXIST, ELOOP, EINVAL)."""
        if isinstance(file, EpollFile):
            if events & EPOLLEXCLUSIVE:
                raise CallError(Errno.EINVAL)
            depths: dict[EpollFile, int] = {}
            if file.depth(depths) + self._height({}) > _DEEPEST or self in depths:
                raise CallError(Errno.ELOOP)
        if (descriptor, file) in self._watched:
            raise CallError(Errno.EEXIST)
        if isinstance(file, EpollFile):
            file._above.add(self)
        self._watched[descriptor, file] = Watched(file, events | POLLERR | POLLHUP, data)

    def modify(self, descriptor: int, file: OpenFile, events: int, data: int) -> None:
        """EPOLL_CTL_MOD; CallError(ENOENT, EINVAL)."""
        watched = self._watched.get((descriptor, file))
        if events & EPOLLEXCLUSIVE:
            raise CallError(Errno.EINVAL)
        if watched is None:
            raise CallError(Errno.ENOENT)
        if watched.events & EPOLLEXCLUSIVE:
            raise CallError(Errno.EINVAL)
        watched.events, watched.data, watched.seen = events | POLLERR | POLLHUP, data, -1

    def remove(self, descriptor: int, file: OpenFile) -> None:
        """EPOLL_CTL_DEL; CallError(ENOENT)."""
        if self._watched.pop((descriptor, file), None) is None:
            raise CallError(Errno.ENOENT)

    def wait(self, most: int) -> list[tuple[int, int]]:
        """(events, data) of at most so many; those told go behind the others."""
        found = []
        known: dict[EpollFile, int] = {}
        for key, watched in list(self._live()):
            events = watched.found(known)
            if events:
                found.append((events, watched.data))
                watched.reported()
                self._watched[key] = self._watched.pop(key)
                if len(found) == most:
                    break
        return found

    def ready(self) -> int:
        """Readable if a wait would tell something."""
        return self.ready_by({})

    def ready_by(self, known: "dict[EpollFile, int]") -> int:
        """As `ready`; `known` gets the answer."""
        if self not in known:
            some = any(watched.found(known) for _, watched in self._live())
            known[self] = POLLIN | POLLRDNORM if some else 0
        return known[self]

    def seek(self, offset: int, whence: int) -> int:
        """There is no position, and that is no error (noop_llseek)."""
        return 0

    def released(self) -> None:
        """It watches nothing any more."""
        self._watched.clear()

    def depth(self, known: "dict[EpollFile, int]") -> int:
        """How many epoll files stand in the longest chain from here; `known` gets all of them."""
        if self not in known:
            known[self] = 1 + max((each.depth(known) for each in self._nested()), default=0)
        return known[self]

    def _height(self, known: "dict[EpollFile, int]") -> int:
        """How many epoll files stand in the longest chain up to here."""
        if self not in known:
            above = [each for each in self._above if self in each._nested()]
            known[self] = 1 + max((each._height(known) for each in above), default=0)
        return known[self]

    def _nested(self) -> Iterator["EpollFile"]:
        return (w.file for _, w in self._live() if isinstance(w.file, EpollFile))

    def _live(self) -> Iterator[tuple[tuple[int, OpenFile], Watched]]:
        """What is still open: closing the last descriptor of a file ends its being watched."""
        for key in [key for key in self._watched if not key[1].references]:
            del self._watched[key]
        return iter(self._watched.items())
