"""Memory of stored parts: exactly what was stored."""

import pytest

from emu.errors import MemoryFault
from emu.export.stored_memory import StoredMemory
from emu.memory import READ


@pytest.fixture
def memory() -> StoredMemory:
    """Two parts, neither of which fills a page."""
    made = StoredMemory(100)
    made.store(0x1008, bytes(range(24)))
    made.store(0x9000, b"x" * 8, READ)
    made.seal()
    return made


def test_parts(memory: StoredMemory) -> None:
    """Their bytes, wherever they begin."""
    assert memory.read(0x1008, 24) == bytes(range(24))
    assert memory.read_word(0x9000, "big") == 0x7878_7878_7878_7878


@pytest.mark.parametrize(
    ("address", "size"), [(0x1007, 1), (0x1000, 8), (0x1020, 1), (0x101C, 8), (0x8FFF, 2)]
)
def test_what_is_not_stored(memory: StoredMemory, address: int, size: int) -> None:
    """A read of anything else faults, though it may be on the same page."""
    with pytest.raises(MemoryFault):
        memory.read(address, size)


@pytest.mark.parametrize("address", [0x1000, 0x1008, 0x101F])
def test_over_another_part(memory: StoredMemory, address: int) -> None:
    """Nothing is stored twice."""
    with pytest.raises(MemoryFault, match="part"):
        memory.store(address, bytes(16))


def test_limits(memory: StoredMemory) -> None:
    """No more than was said, and no address that cannot be looked up."""
    with pytest.raises(MemoryFault, match="beyond 100 bytes"):
        memory.store(0, bytes(69))
    with pytest.raises(MemoryFault):
        memory.store((1 << 62) - 4, bytes(8))
