"""Two tables compared by what they mean at each address, not by their bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arch import Row
from emu.image import PF_X, SHF_EXECINSTR, Image
from emu.tables import NoRow, Table
from emu.unwind.spans import Span, spans


@dataclass(frozen=True, slots=True)
class Code:
    """Executable bytes with one kind of address: of a linked file, or of one section."""

    name: str
    """Of the section in a relocatable file, else empty."""
    first: int
    second: int
    """Index of the section in the two files; -1 in linked ones."""
    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Addresses at which the two tables say one thing each; None: no row, for any reason."""

    section: str
    start: int
    end: int
    first: Row | None
    second: Row | None

    @property
    def kind(self) -> str:
        """``equal``, ``differs``, ``only_first``, ``only_second`` or ``neither``."""
        if self.first is None:
            return "neither" if self.second is None else "only_second"
        if self.second is None:
            return "only_first"
        return "equal" if _same(self.first, self.second) else "differs"


def _same(first: Row, second: Row) -> bool:
    """Of one meaning: the rules of a row that ends the stack are never followed."""
    if first.outermost and second.outermost:
        return first.signal == second.signal
    return first == second


KINDS = ("equal", "differs", "only_first", "only_second", "neither")


def code_of(first: Image, second: Image) -> list[Code]:
    """Executable sections of both files; of relocatable ones those with the same name."""
    if first.kind != "rel":
        return [Code("", -1, -1, code_ranges(first, second))]
    others = {s.name: s for s in second.sections if s.flags & SHF_EXECINSTR}
    return [
        Code(s.name, s.index, others[s.name].index, ((0, max(s.size, others[s.name].size)),))
        for s in first.sections
        if s.flags & SHF_EXECINSTR and s.name in others and s.size
    ]


def code_ranges(*images: Image) -> tuple[tuple[int, int], ...]:
    """Addresses of the code of linked files, in order and apart from each other."""
    return tuple(_disjoint({each for image in images for each in _ranges(image)}))


def _ranges(image: Image) -> Iterator[tuple[int, int]]:
    """The code of a linked file: its sections, or where it has no such its segments."""
    sections = [s for s in image.sections if s.flags & SHF_EXECINSTR and s.size]
    if sections:
        yield from ((s.addr, s.addr + s.size) for s in sections)
    else:
        parts = (s for s in image.segments if s.flags & PF_X and s.filesz)
        yield from ((s.vaddr, s.vaddr + s.filesz) for s in parts)


def _disjoint(ranges: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    low, high = -1, -1
    for start, end in sorted(ranges):
        if start > high:
            if high > low:
                yield low, high
            low, high = start, end
        else:
            high = max(high, end)
    if high > low:
        yield low, high


def compare_tables(
    first: Table | None, second: Table | None, code: Sequence[Code]
) -> Iterator[Stretch]:
    """Every executable byte once, in stretches as long as both meanings last."""
    for part in code:
        ranges = part.ranges
        ones = list(spans(first, part.first, ranges)) if first else []
        others = list(spans(second, part.second, ranges)) if second else []
        for low, high in ranges:
            yield from _merge(part.name, low, high, ones, others)


def _merge(
    section: str, low: int, high: int, first: list[Span], second: list[Span]
) -> Iterator[Stretch]:
    """Walk two lists of spans side by side over [low, high)."""
    cursors = [_Cursor(first, low), _Cursor(second, low)]
    last: Stretch | None = None
    at = low
    while at < high:
        (one, one_end), (other, other_end) = (cursor.at(at) for cursor in cursors)
        end = min(one_end, other_end, high)
        if last is not None and (last.first, last.second) == (one, other):
            last = Stretch(section, last.start, end, one, other)
        else:
            if last is not None:
                yield last
            last = Stretch(section, at, end, one, other)
        at = end
    if last is not None:
        yield last


class _Cursor:
    """A position in ascending spans that only moves forward."""

    def __init__(self, items: list[Span], low: int) -> None:
        self._items = items
        self._index = 0
        while self._index < len(items) and items[self._index].end <= low:
            self._index += 1

    def at(self, address: int) -> tuple[Row | None, int]:
        """The row at an address, and where that changes."""
        items = self._items
        while self._index < len(items) and items[self._index].end <= address:
            self._index += 1
        if self._index == len(items):
            return None, 1 << 64
        span = items[self._index]
        if address < span.start:
            return None, span.start
        return (None if isinstance(span.row, NoRow) else span.row), span.end
