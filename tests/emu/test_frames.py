"""The buffer behind mappings: what is taken, lent, and given back."""

import pytest

from emu.errors import MemoryFault
from emu.frames import PAGE, Frames
from emu.memory import READ, WRITE, Memory

PLACE = 0x10_0000


def test_what_is_taken_is_zero() -> None:
    """Also where somebody else has written before."""
    frames = Frames()
    first = frames.take(2 * PAGE)
    frames.view(first, 2 * PAGE)[:] = b"x" * 2 * PAGE
    frames.give_back(first, 2 * PAGE)
    second = frames.take(2 * PAGE)
    assert bytes(frames.view(second, 2 * PAGE)) == bytes(2 * PAGE)


def test_no_more_than_there_is() -> None:
    """The buffer is large, not endless."""
    frames = Frames()
    with pytest.raises(MemoryFault, match="room"):
        frames.take(len(frames.data))


def test_lent_pages_survive_their_mappings() -> None:
    """Two mappings show the same bytes, which stay when both are gone."""
    memory = Memory(1 << 24)
    lent = memory.frames.lend(2 * PAGE)
    assert memory.frames.is_lent(lent + 2 * PAGE - 1)
    assert not memory.frames.is_lent(lent + 2 * PAGE)
    memory.map(PLACE, 2 * PAGE, READ | WRITE, lent)
    memory.map(PLACE + 0x10000, PAGE, READ, lent + PAGE)
    memory.write(PLACE + PAGE, b"both")
    assert memory.read(PLACE + 0x10000, 4) == b"both"
    memory.unmap(PLACE, 0x20000)
    assert bytes(memory.frames.view(lent + PAGE, 4)) == b"both"
    assert memory.mapped == 0
    memory.frames.take_back(lent, 2 * PAGE)
    assert not memory.frames.is_lent(lent)


def test_lent_pages_join_no_neighbour() -> None:
    """A mapping that grows next to a lent one keeps pages of its own."""
    memory = Memory(1 << 24)
    lent = memory.frames.lend(PAGE)
    memory.map(PLACE, PAGE, READ | WRITE, lent)
    memory.map(PLACE + PAGE, PAGE, READ | WRITE)
    memory.map(PLACE - PAGE, PAGE, READ | WRITE)
    memory.write(PLACE - PAGE, b"a" * 3 * PAGE)
    memory.unmap(PLACE + PAGE, PAGE)
    memory.unmap(PLACE - PAGE, PAGE)
    assert bytes(memory.frames.view(lent, PAGE)) == b"a" * PAGE
    assert [row[:2] for row in memory.intervals] == [(PLACE, PLACE + PAGE)]


def test_rows_inside_a_range() -> None:
    """Those of which something lies in it."""
    memory = Memory(1 << 24)
    for number in (0, 2, 4):
        memory.map(PLACE + number * PAGE, PAGE, READ)
    starts = [row[0] for row in memory.inside(PLACE + PAGE - 1, 2 * PAGE)]
    assert starts == [PLACE, PLACE + 2 * PAGE]
    assert memory.inside(PLACE + PAGE, PAGE) == []
    assert len(memory.inside(0, 1 << 40)) == 3
