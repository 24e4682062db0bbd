"""Which code each process of a recording has mapped, kept as its records are played."""

from bisect import bisect_right
from dataclasses import dataclass

from emu.export.files import MappedCode

MOST_MAPPINGS = 1 << 20
"""Of all processes together; Linux allows one 65,530 by default."""


class TooManyError(ValueError):
    """Over `MOST_MAPPINGS`."""


@dataclass(slots=True)
class _Space:
    """Code of one process by address; a child shares its parent's until one of them changes."""

    shared: tuple[MappedCode, ...] = ()
    own: list[MappedCode] | None = None

    def snapshot(self) -> tuple[MappedCode, ...]:
        """All of it, as it is now."""
        if self.own is not None:
            self.shared, self.own = tuple(self.own), None
        return self.shared


class AddressSpaces:
    """The code of all processes, by their ids."""

    def __init__(self) -> None:
        self._spaces: dict[int, _Space] = {}
        self._kept = 0

    def code(self, pid: int) -> tuple[MappedCode, ...]:
        """What a process has mapped, by address."""
        space = self._spaces.get(pid)
        return () if space is None else space.snapshot()

    def map(self, pid: int, new: MappedCode) -> None:
        """Put a mapping in place of what was there.

        Raises:
            TooManyError: there are too many of them.
        """
        space = self._spaces.setdefault(pid, _Space())
        if space.own is None:
            space.own = list(space.shared)
            self._kept += len(space.own)
        code = space.own
        first = bisect_right(code, new.start, key=lambda each: each.start)
        if first and code[first - 1].end > new.start:
            first -= 1
        last = first
        while last < len(code) and code[last].start < new.end:
            last += 1
        parts = [new]
        if first < last and code[first].start < new.start:
            old = code[first]
            parts.insert(0, MappedCode(old.start, new.start, old.offset, old.path))
        if first < last and code[last - 1].end > new.end:
            old = code[last - 1]
            offset = old.offset + new.end - old.start
            parts.append(MappedCode(new.end, old.end, offset, old.path))
        code[first:last] = parts
        self._kept += len(parts) - (last - first)
        if self._kept > MOST_MAPPINGS:
            raise TooManyError(f"over {MOST_MAPPINGS} mappings")

    def fork(self, parent: int, child: int) -> None:
        """A new process begins with what its parent has."""
        self._spaces[child] = _Space(self.code(parent))

    def forget(self, pid: int) -> None:
        """A process ended, or runs another program."""
        self._spaces.pop(pid, None)
