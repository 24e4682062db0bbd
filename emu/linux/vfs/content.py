"""The bytes of regular files: those of the host's file, and above them pages in memory.

Only what was written takes memory, and all of it together is bounded. A read of what
was never written comes from the host's file, or is zeros.
"""

from typing import Protocol

from emu.linux.calls import CallError, Errno

PAGE = 4096
LARGEST = ((1 << 32) - 1) * PAGE
"""Most bytes of a file (ext4 with blocks of 4 KiB: s_maxbytes)."""
WHOLE = 1 << 30
"""Most bytes of a file that is wanted as a whole."""


class Budget:
    """Memory and number of all files that exist in memory only.

    Args:
        size: bytes.
        nodes: inodes.
    """

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


class Source(Protocol):
    """Where bytes come from that were never written."""

    def read(self, offset: int, size: int) -> bytes:
        """Bytes, fewer at the end; CallError if they cannot be read."""

    def check(self) -> None:
        """CallError if they cannot be read."""


class Given:
    """Bytes that are there already."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, offset: int, size: int) -> bytes:
        """A part of them."""
        return self._data[offset : offset + size]

    def check(self) -> None:
        """They can be read."""


class Content:
    """The bytes of one file.

    Args:
        budget: what pages in memory count against.
        source: the bytes to begin with, or None.
        size: of the source, in bytes.
    """

    def __init__(self, budget: Budget, source: Source | None = None, size: int = 0) -> None:
        self.size = size
        """Bytes, holes included."""
        self._share = Share(budget)
        self._source = source
        self._pages: dict[int, bytearray] = {}
        # Where the source shows through: ascending ranges of bytes.
        self._shown: list[tuple[int, int]] = [(0, size)] if source and size else []

    def check(self) -> None:
        """CallError(EACCES, EIO) if what was not written cannot be read."""
        if self._shown and self._source is not None:
            self._source.check()

    @property
    def allocated(self) -> int:
        """Bytes without the holes, in whole pages."""
        covered = sum(-(-end // PAGE) - start // PAGE for start, end in self._shown)
        hidden = sum(
            any(start < (page + 1) * PAGE and page * PAGE < end for start, end in self._shown)
            for page in self._pages
        )
        return (covered - hidden + len(self._pages)) * PAGE

    def read(self, offset: int, size: int) -> bytes:
        """Bytes, fewer at the end of the file. `size` is what the caller can hold."""
        end = min(offset + size, self.size)
        if offset >= end:
            return b""
        if not self._pages:
            return self._below(offset, end)
        parts = []
        start = offset
        while start < end:
            page, inside = divmod(start, PAGE)
            stop = min(end, start - inside + PAGE)
            own = self._pages.get(page)
            if own is not None:
                parts.append(bytes(own[inside : inside + stop - start]))
            else:
                parts.append(self._below(start, stop))
            start = stop
        return b"".join(parts)

    def write(self, offset: int, data: bytes) -> int:
        """Store bytes; how many there was memory for.

        Raises:
            CallError: EFBIG, ENOSPC: none could be stored.
        """
        if data and offset >= LARGEST:
            raise CallError(Errno.EFBIG)
        done = 0
        wanted = min(len(data), LARGEST - offset)
        while done < wanted:
            page, inside = divmod(offset + done, PAGE)
            part = min(wanted - done, PAGE - inside)
            own = self._own(page)
            if own is None:
                break
            own[inside : inside + part] = data[done : done + part]
            done += part
        if wanted and not done:
            raise CallError(Errno.ENOSPC)
        self.size = max(self.size, offset + done)
        return done

    def resize(self, size: int) -> None:
        """ftruncate(2): cut, or append a hole. CallError(EFBIG)."""
        if size > LARGEST:
            raise CallError(Errno.EFBIG)
        if size < self.size:
            self._drop(size, self.size)
        self.size = size

    def clear(self, offset: int, size: int) -> None:
        """fallocate(2), FALLOC_FL_PUNCH_HOLE: the range reads as zeros, its size stays."""
        end = min(offset + size, self.size)
        if offset < end:
            self._drop(offset, end)

    def has_room(self, offset: int, size: int) -> bool:
        """There is memory for the holes of a range."""
        first, last = offset // PAGE, -(-(offset + size) // PAGE)
        wanted = (last - first) * PAGE
        if wanted <= self._share.left:
            return True
        there = sum(first <= page < last for page in self._pages)
        shown = sum(
            max(0, min(last, -(-end // PAGE)) - max(first, start // PAGE))
            for start, end in self._shown
        )
        return wanted - (there + shown) * PAGE <= self._share.left

    def next_data(self, offset: int) -> int | None:
        """The first byte from `offset` on that is in no hole (lseek(2), SEEK_DATA)."""
        page = offset // PAGE
        found = [max(start, offset) for start, end in self._shown if end > offset]
        found += [max(own * PAGE, offset) for own in self._pages if own >= page]
        first = min(found, default=self.size)
        return first if first < self.size else None

    def next_hole(self, offset: int) -> int:
        """The first byte from `offset` on that is in a hole; the end counts as one."""
        while offset < self.size:
            if offset // PAGE in self._pages:
                offset = (offset // PAGE + 1) * PAGE
                continue
            end = next((end for start, end in self._shown if start <= offset < end), None)
            if end is None:
                return offset
            offset = -(-end // PAGE) * PAGE
        return self.size

    def _own(self, page: int) -> bytearray | None:
        """The page in memory, made from what lies below; None: no memory is left."""
        own = self._pages.get(page)
        if own is None:
            below = self._below(page * PAGE, (page + 1) * PAGE)
            if not self._share.take(PAGE):
                return None
            own = self._pages[page] = bytearray(below)
        return own

    def _below(self, start: int, end: int) -> bytes:
        """What the source shows of a range, and zeros."""
        parts = []
        for low, high in self._shown:
            low, high = max(low, start), min(high, end)
            if low >= high:
                continue
            assert self._source is not None
            parts.append(bytes(low - start))
            # The host's file may have become shorter meanwhile.
            parts.append(self._source.read(low, high - low).ljust(high - low, b"\0"))
            start = high
        parts.append(bytes(end - start))
        return b"".join(parts)

    def _drop(self, start: int, end: int) -> None:
        """Make a range read as zeros."""
        for border in {start, end - 1}:
            # A page in memory of which only a part goes.
            own = self._pages.get(border // PAGE)
            if own is not None:
                base = border // PAGE * PAGE
                low, high = max(start - base, 0), min(end - base, PAGE)
                own[low:high] = bytes(high - low)
        whole = range(-(-start // PAGE), end // PAGE if end < self.size else -(-end // PAGE))
        if len(whole) < len(self._pages):
            gone = [page for page in whole if page in self._pages]
        else:
            gone = [page for page in self._pages if page in whole]
        for page in gone:
            del self._pages[page]
        self._share.take(-PAGE * len(gone))
        self._shown = [
            part
            for low, high in self._shown
            for part in ((low, min(high, start)), (max(low, end), high))
            if part[0] < part[1]
        ]
