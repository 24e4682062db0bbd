"""Which code a process has mapped."""

from emu.export.address_spaces import AddressSpaces
from emu.export.files import MappedCode

_WHOLE = MappedCode(0x1000, 0x9000, 0x100000, "/a")


def spans(spaces: AddressSpaces, pid: int) -> list[tuple[int, int, int, str]]:
    """(start, end, offset, path) of each mapping."""
    return [(c.start, c.end, c.offset, c.path) for c in spaces.code(pid)]


def test_a_mapping_over_the_middle_of_another() -> None:
    """What is left of the old one keeps its place in the file."""
    spaces = AddressSpaces()
    spaces.map(1, _WHOLE)
    spaces.map(1, MappedCode(0x3000, 0x5000, 0, "/b"))
    assert spans(spaces, 1) == [
        (0x1000, 0x3000, 0x100000, "/a"),
        (0x3000, 0x5000, 0, "/b"),
        (0x5000, 0x9000, 0x104000, "/a"),
    ]


def test_a_mapping_over_several() -> None:
    """Those that it covers are gone."""
    spaces = AddressSpaces()
    for start in (0x1000, 0x3000, 0x5000, 0x7000):
        spaces.map(1, MappedCode(start, start + 0x1000, 0, f"/{start:x}"))
    spaces.map(1, MappedCode(0x1800, 0x5800, 0, "/new"))
    assert spans(spaces, 1) == [
        (0x1000, 0x1800, 0, "/1000"),
        (0x1800, 0x5800, 0, "/new"),
        (0x5800, 0x6000, 0x800, "/5000"),
        (0x7000, 0x8000, 0, "/7000"),
    ]


def test_a_child_begins_with_what_its_parent_has() -> None:
    """And neither sees what the other maps later."""
    spaces = AddressSpaces()
    spaces.map(1, _WHOLE)
    spaces.fork(1, 2)
    spaces.map(1, MappedCode(0xA000, 0xB000, 0, "/parent"))
    spaces.map(2, MappedCode(0xC000, 0xD000, 0, "/child"))
    assert [each[3] for each in spans(spaces, 1)] == ["/a", "/parent"]
    assert [each[3] for each in spans(spaces, 2)] == ["/a", "/child"]


def test_another_program() -> None:
    """An exec leaves nothing."""
    spaces = AddressSpaces()
    spaces.map(1, _WHOLE)
    spaces.forget(1)
    assert spans(spaces, 1) == []
    assert spans(spaces, 99) == []
