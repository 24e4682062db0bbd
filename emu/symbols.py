"""Which function an address belongs to.

Symbols overlap, nest, share addresses and often have no size. All of that is settled once,
when the look-up is made: the address space is cut into disjoint stretches, each with the one
symbol that names it, so that a look-up is a bisection.
"""

import heapq
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from emu.image import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_TLS,
    SHN_UNDEF,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STT_FUNC,
    STT_GNU_IFUNC,
    STT_NOTYPE,
    Image,
    Section,
    Symbol,
)

Int64Array = np.ndarray[tuple[int], np.dtype[np.int64]]

_FUNCTIONS = (STT_FUNC, STT_GNU_IFUNC)
_RANK = {STB_GLOBAL: 0, STB_WEAK: 1, STB_LOCAL: 2}
_MAPPING = ("$x", "$d", "$a", "$t")
"""Prefixes of the symbols that mark code and data inside a section (AAELF64, section 5.5.4)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where an address lies."""

    function: str | None
    """None: no symbol covers it."""
    start: int | None
    """Address of the function (as the one asked for: in a relocatable file an offset)."""
    section: str
    """Empty: in no section."""


@dataclass(frozen=True, slots=True)
class _Extent:
    """A symbol and the addresses that it may name; the least `order` names an address."""

    start: int
    end: int
    order: tuple[int, int, int]
    """Kind of claim, length, binding."""
    name: str


@dataclass(frozen=True, slots=True)
class _Group:
    """What is known of one address space, sorted: extents, and disjoint stretches of them."""

    extents: tuple[_Extent, ...]
    starts: list[int]
    ends: list[int]
    owners: list[_Extent]

    def owner(self, address: int) -> _Extent | None:
        at = bisect_right(self.starts, address) - 1
        return self.owners[at] if at >= 0 and address < self.ends[at] else None


_EMPTY = _Group((), [], [], [])


class FunctionNames:
    """Functions of one image by address.

    In a relocatable file addresses are offsets in a section, whose index must then be given
    as `section`; elsewhere leave it at -1.

    A function symbol with a size names the addresses it covers, the shortest one first, among
    equals a global before a weak before a local one. Where none does, a function symbol
    without size names the addresses up to the next symbol or the end of its section, and
    where there is none either, an untyped symbol in a section of instructions does so (hand
    assembly). Such a guess ends where a function is known to begin.

    Args:
        image: the file.
        known: where functions begin, by other knowledge than symbols; not for a relocatable file.
    """

    def __init__(self, image: Image, known: Iterable[int] = ()) -> None:
        self._image = image
        self._relocatable = image.kind == "rel"
        self._groups = _groups(image, sorted(known))
        self._sections = sorted(
            (
                section
                for section in image.sections
                if section.flags & SHF_ALLOC and not section.flags & SHF_TLS and section.size
            ),
            key=lambda section: section.addr,
        )
        self._section_starts = [section.addr for section in self._sections]

    def place(self, address: int, section: int = -1) -> Place:
        """Function and section of `address`."""
        owner = self._groups.get(section, _EMPTY).owner(address)
        name = self._section_name(address, section)
        if owner is None:
            return Place(None, None, name)
        return Place(owner.name, owner.start, name)

    def bounds(self, address: int, section: int = -1) -> tuple[int, int] | None:
        """Start and end (exclusive) of the function that covers `address`."""
        owner = self._groups.get(section, _EMPTY).owner(address)
        return None if owner is None else (owner.start, owner.end)

    def all_bounds(self, section: int = -1) -> tuple[Int64Array, Int64Array]:
        """Starts and ends (exclusive) of all functions, int64, ascending, without doubles."""
        extents = self._groups.get(section, _EMPTY).extents
        # Nothing that runs here lies in the upper half of the address space.
        pairs = sorted({(extent.start, extent.end) for extent in extents if extent.end < 1 << 63})
        table = np.array(pairs, np.int64).reshape(-1, 2)
        return table[:, 0].copy(), table[:, 1].copy()

    def find(self, name: str) -> int | None:
        """Address of the function or label `name`, with or without its symbol version."""
        best: tuple[int, int, int] | None = None
        for symbol in self._image.symbols:
            if symbol.section_index == SHN_UNDEF:
                continue
            exact = symbol.name == name
            if not exact and symbol.name.split("@", 1)[0] != name:
                continue
            rank = _RANK.get(symbol.binding, 3) + (0 if symbol.kind in _FUNCTIONS else 4)
            candidate = (0 if exact else 1, rank, symbol.value)
            best = candidate if best is None else min(best, candidate)
        return None if best is None else best[2]

    def _section_name(self, address: int, section: int) -> str:
        if self._relocatable:
            sections = self._image.sections
            return sections[section].name if 0 <= section < len(sections) else ""
        at = bisect_right(self._section_starts, address) - 1
        if at < 0 or address >= self._sections[at].addr + self._sections[at].size:
            return ""
        return self._sections[at].name


def _groups(image: Image, known: list[int]) -> dict[int, _Group]:
    """By section index in a relocatable file, else all under -1."""
    members: dict[int, list[Symbol]] = {}
    for symbol in image.symbols:
        if symbol.section_index != SHN_UNDEF and _may_name_code(symbol, image.sections):
            key = symbol.section_index if image.kind == "rel" else -1
            members.setdefault(key, []).append(symbol)
    return {key: _group(symbols, image, known) for key, symbols in members.items()}


def _may_name_code(symbol: Symbol, sections: Sequence[Section]) -> bool:
    if symbol.kind in _FUNCTIONS:
        return True
    return (
        symbol.kind == STT_NOTYPE
        and symbol.section_index < len(sections)
        and bool(sections[symbol.section_index].flags & SHF_EXECINSTR)
        and symbol.name != ""
        and not symbol.name.startswith((".L", *_MAPPING))
    )


def _group(symbols: list[Symbol], image: Image, known: list[int]) -> _Group:
    """`symbols` come by ascending value."""
    sized = [
        _extent(symbol, symbol.value + symbol.size, 0)
        for symbol in symbols
        if symbol.kind in _FUNCTIONS and symbol.size
    ]
    starts, ends, owners = _stretches(sized)
    covered = _Group((), starts, ends, owners)
    values = [symbol.value for symbol in symbols]
    labels = []
    for symbol in symbols:
        if (symbol.kind in _FUNCTIONS and symbol.size) or covered.owner(symbol.value):
            continue
        end = _section_end(symbol, image)
        for borders in (values, known):
            following = bisect_right(borders, symbol.value)
            if following < len(borders):
                end = min(end, borders[following])
        if end > symbol.value:
            labels.append(_extent(symbol, end, 1 if symbol.kind in _FUNCTIONS else 2))
    if labels:
        starts, ends, owners = _stretches(sorted(sized + labels, key=lambda e: e.start))
    return _Group(tuple(sized + labels), starts, ends, owners)


def _extent(symbol: Symbol, end: int, claim: int) -> _Extent:
    order = (claim, end - symbol.value, _RANK.get(symbol.binding, 3))
    return _Extent(symbol.value, end, order, symbol.name)


def _section_end(symbol: Symbol, image: Image) -> int:
    """End of the symbol's section, or its own value where it has none."""
    if symbol.section_index >= len(image.sections):
        return symbol.value
    section = image.sections[symbol.section_index]
    start = 0 if image.kind == "rel" else section.addr
    return start + section.size if symbol.value >= start else symbol.value


def _stretches(extents: Iterable[_Extent]) -> tuple[list[int], list[int], list[_Extent]]:
    """Disjoint stretches, each with the extent that has the least order there.

    One pass over the borders with a heap of the extents that are open: n log n, however they
    overlap. `extents` come by ascending start.
    """
    starts: list[int] = []
    ends: list[int] = []
    owners: list[_Extent] = []
    heap: list[tuple[tuple[int, int, int], int, _Extent]] = []
    position = 0

    def emit(upto: int | None) -> None:
        """Fill from `position` to the next start."""
        nonlocal position
        while heap and (upto is None or position < upto):
            best = heap[0][2]
            if best.end <= position:
                heapq.heappop(heap)
                continue
            stop = best.end if upto is None else min(best.end, upto)
            if owners and owners[-1] is best and ends[-1] == position:
                ends[-1] = stop
            else:
                starts.append(position)
                ends.append(stop)
                owners.append(best)
            position = stop

    for number, extent in enumerate(extents):
        emit(extent.start)
        position = extent.start
        heapq.heappush(heap, (extent.order, number, extent))
    emit(None)
    return starts, ends, owners
