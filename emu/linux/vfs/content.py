"""The bytes of regular files: those of the host's file, and above them pages in memory.

Only what was written takes memory, and all of it together is bounded. A read of what
was never written comes from the host's file, or is zeros. Pages that the guest has mapped
for sharing lie in the frames that its mappings show, so that both are always the same.
"""

from collections.abc import Callable
from typing import Protocol

from emu.frames import Frames
from emu.linux.calls import CallError, Errno
from emu.linux.vfs.budget import Budget, Share

PAGE = 4096
LARGEST = ((1 << 32) - 1) * PAGE
"""Most bytes of a file (ext4 with blocks of 4 KiB: s_maxbytes)."""
WHOLE = 1 << 30
"""Most bytes of a file that is wanted as a whole."""


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
        largest: the most bytes that it can have.
    """

    def __init__(
        self, budget: Budget, source: Source | None = None, size: int = 0, largest: int = LARGEST
    ) -> None:
        self.size = size
        """Bytes, holes included."""
        self.largest = largest
        self._pages: dict[int, bytearray | memoryview] = {}
        self._frames: Frames | None = None
        self._lent: list[tuple[int, int]] = []
        self._budget = budget
        self._share = Share(budget)
        self._source = source
        # Where in the buffer of frames a page is; such a page stays until the file goes.
        self._places: dict[int, int] = {}
        self.resized: Callable[[Content, int], None] | None = None
        """Told behind each change of the size, with the old one: for who has mapped the file."""
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
        if not data:
            return 0
        self._check_growth(offset + 1)
        done = 0
        wanted = min(len(data), min(self.largest, self._budget.largest()) - offset)
        while done < wanted:
            page, inside = divmod(offset + done, PAGE)
            part = min(wanted - done, PAGE - inside)
            own = self._own(page)
            if own is None:
                break
            own[inside : inside + part] = data[done : done + part]
            done += part
        if not done:
            raise CallError(Errno.ENOSPC)
        if offset + done > self.size:
            self._set_size(offset + done, offset)
        return done

    def resize(self, size: int) -> None:
        """ftruncate(2): cut, or append a hole. CallError(EFBIG)."""
        if size > self.size:
            self._check_growth(size)
        if size < self.size:
            self._drop(size, self.size)
        self._set_size(size, size)

    def _check_growth(self, size: int) -> None:
        """The file may have that many bytes (generic_write_checks, inode_newsize_ok)."""
        if size > self._budget.largest():
            self._budget.exceeded()
            raise CallError(Errno.EFBIG)
        if size > self.largest:
            raise CallError(Errno.EFBIG)

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

    def share(self, offset: int, size: int, frames: Frames) -> list[tuple[int, int]]:
        """Move whole pages into frames; (place in the buffer, bytes) of each contiguous part.

        Raises:
            CallError: ENOMEM, and nothing is moved.
        """
        first, last = offset // PAGE, (offset + size) // PAGE
        missing = [page for page in range(first, last) if page not in self._places]
        if not self._share.take(PAGE * sum(page not in self._pages for page in missing)):
            raise CallError(Errno.ENOMEM)
        self._frames = frames
        start = 0
        for index, page in enumerate(missing):
            if index + 1 == len(missing) or missing[index + 1] != page + 1:
                self._move(missing[start : index + 1], frames)
                start = index + 1
        parts: list[tuple[int, int]] = []
        for page in range(first, last):
            place = self._places[page]
            if parts and sum(parts[-1]) == place:
                parts[-1] = (parts[-1][0], parts[-1][1] + PAGE)
            else:
                parts.append((place, PAGE))
        return parts

    def _move(self, pages: list[int], frames: Frames) -> None:
        """Put consecutive pages into frames of their own."""
        place = frames.lend(PAGE * len(pages))
        self._lent.append((place, PAGE * len(pages)))
        for page in pages:
            own = self._pages.get(page) or self._below(page * PAGE, (page + 1) * PAGE)
            view = self._pages[page] = frames.view(place, PAGE)
            if any(own):
                view[:] = own
            self._places[page] = place
            place += PAGE

    def _set_size(self, size: int, written: int) -> None:
        """The file ends elsewhere; what a mapping left between its end and `written` is zeros."""
        old = self.size
        page, inside = divmod(old, PAGE)
        if size > old and page in self._places:
            end = min(PAGE, written - page * PAGE)
            if inside < end:
                self._pages[page][inside:end] = bytes(end - inside)
        self.size = size
        if self.resized is not None and size != old:
            self.resized(self, old)

    def __del__(self) -> None:
        # A mapping holds its file, so none shows these frames any more.
        self._pages.clear()
        if self._frames is not None:
            for place, size in self._lent:
                self._frames.take_back(place, size)

    def _own(self, page: int) -> bytearray | memoryview | None:
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
            if page in self._places:
                self._pages[page][:] = bytes(PAGE)
            else:
                del self._pages[page]
                self._share.take(-PAGE)
        self._shown = [
            part
            for low, high in self._shown
            for part in ((low, min(high, start)), (max(low, end), high))
            if part[0] < part[1]
        ]
