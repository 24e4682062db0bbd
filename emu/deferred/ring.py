"""Ring buffers of bounded size, and the file that their reader makes."""

from emu.deferred.events import Kind
from emu.deferred.kernel import Kernel
from emu.deferred.records import Deferred, Entry, Lost, Round, Sample


class Ring:
    """A buffer that refuses what does not fit, and says later how much that was.

    Args:
        kernel: told of losses.
        name: for people.
        capacity: bytes.
    """

    def __init__(self, kernel: Kernel, name: str, capacity: int = 1 << 20) -> None:
        self.name = name
        self.capacity = capacity
        self.lost = 0
        """Entries refused, ever."""
        self._kernel = kernel
        self._entries: list[Entry] = []
        self._used = 0
        self._untold = 0

    def write(self, entry: Sample | Deferred) -> bool:
        """Add an entry, after a note of what was lost before it; False: it is lost too."""
        note = Lost(entry.time, self._untold) if self._untold else None
        size = entry.size + (note.size if note else 0)
        if self._used + size > self.capacity:
            self._untold += 1
            self.lost += 1
            what = "sample" if isinstance(entry, Sample) else "stack"
            self._kernel.tell(Kind.LOST, who=self.name, cookie=entry.cookie, text=what)
            return False
        if note is not None:
            self._entries.append(note)
            self._untold = 0
        self._entries.append(entry)
        self._used += size
        return True

    def fill(self) -> None:
        """Let other data fill it to the last byte, until it is read."""
        self._used = self.capacity
        self._kernel.tell(Kind.SET, who=self.name, text="is full")

    def read(self) -> list[Entry]:
        """Take everything out."""
        entries, self._entries, self._used = self._entries, [], 0
        return entries


def read_round(kernel: Kernel, rings: list[Ring], file: list[Entry]) -> None:
    """Read all buffers once, one after the other, as a recording tool does."""
    for ring in rings:
        file.extend(ring.read())
    file.append(Round())
    kernel.tell(Kind.READ, text=", ".join(ring.name for ring in rings))
