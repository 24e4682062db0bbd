"""A table as stretches of code with one meaning, in the order of addresses."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from arch import Row
from emu.tables import FunctionRows, NoRow, Table


@dataclass(frozen=True, slots=True)
class Span:
    """Addresses [start, end) with one row; None: the table has no entry there."""

    start: int
    end: int
    row: Row | NoRow | None


def spans(table: Table, section: int, ranges: Iterable[tuple[int, int]]) -> Iterator[Span]:
    """The stretches of `ranges` for which the table has an entry.

    Args:
        table: of one file.
        section: index of the section whose functions are wanted; -1 in a linked file.
        ranges: disjoint (start, end), ascending; what a table claims outside is left out,
            so the work is bounded by the code and the table together.
    """
    functions = sorted(
        (f for f in table.functions if f.section == section and f.size), key=lambda f: f.start
    )
    at = 0
    for low, high in ranges:
        while at and functions[at - 1].start + functions[at - 1].size > low:
            at -= 1
        while at < len(functions) and functions[at].start < high:
            function = functions[at]
            # As a look-up has it, the function that starts last is the one.
            following = functions[at + 1].start if at + 1 < len(functions) else high
            start = max(low, function.start)
            end = min(high, function.start + function.size, following)
            if start < end:
                yield from _of_function(function, start, end)
            at += 1


def _of_function(function: FunctionRows, start: int, end: int) -> Iterator[Span]:
    """The rows of one function between two addresses in it."""
    block = function.rep_size or function.size
    base = function.start + (start - function.start) // block * block
    while base < end:
        bounds = (*function.starts, block)
        if function.starts and function.starts[0] > 0:
            yield from _clip(base, base + function.starts[0], None, start, end)
        for number, row in enumerate(function.rows):
            low, high = base + bounds[number], base + min(bounds[number + 1], block)
            yield from _clip(low, high, row, start, end)
        if not function.starts:
            yield from _clip(base, base + block, None, start, end)
        base += block


def _clip(
    low: int, high: int, row: Row | NoRow | None, start: int, end: int
) -> Iterator[Span]:
    low, high = max(low, start), min(high, end)
    if low < high:
        yield Span(low, high, row)
