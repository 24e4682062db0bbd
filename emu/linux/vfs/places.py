"""Where an open file has its name now: it follows renames (d_path, fs/d_path.c)."""

from dataclasses import dataclass
from weakref import WeakValueDictionary

from emu.linux.vfs.nodes import Directory


@dataclass(slots=True, weakref_slot=True, eq=False)
class Place:
    """A name of a file."""

    parent: Directory
    name: bytes
    gone: bool = False
    """It was removed, or something else took its place."""

    def path(self) -> bytes:
        """The path, and what Linux appends to one that is gone."""
        return self.parent.place_of(self.name) + (b" (deleted)" if self.gone else b"")


class Places:
    """The places that somebody holds."""

    def __init__(self) -> None:
        self._held: WeakValueDictionary[tuple[Directory, bytes], Place] = WeakValueDictionary()

    def get(self, parent: Directory, name: bytes) -> Place:
        """That of an existing name."""
        place = self._held.get((parent, name))
        if place is None:
            place = self._held[parent, name] = Place(parent, name)
        return place

    def remove(self, parent: Directory, name: bytes) -> None:
        """The name leads nowhere any more."""
        place = self._held.pop((parent, name), None)
        if place is not None:
            place.gone = True

    def move(
        self, old: tuple[Directory, bytes], new: tuple[Directory, bytes], *, exchange: bool
    ) -> None:
        """A name has become another, or two were exchanged."""
        first = self._held.pop(old, None)
        second = self._held.pop(new, None)
        if first is not None:
            first.parent, first.name = new
            self._held[new] = first
        if second is not None and exchange:
            second.parent, second.name = old
            self._held[old] = second
        elif second is not None:
            second.gone = True
