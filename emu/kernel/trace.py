"""What a walk by a policy gives."""

from dataclasses import dataclass

from emu.kernel.events import CRASHES, Event
from emu.kernel.policy import Support


@dataclass(frozen=True, slots=True)
class Failure:
    """A method that could not lead on from an ip."""

    method: str
    ip: int
    errno: int
    reason: str


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """A user call chain as the kernel would store it."""

    ips: tuple[int, ...]
    """The interrupted one first."""
    status: int
    """What the revision's function returns: 0 or a negative errno."""
    support: Support
    methods: tuple[str, ...] = ()
    """By step: what led on."""
    failures: tuple[Failure, ...] = ()
    """All, in order; the last ones are why the walk ended, if it was not `most` or the end."""
    events: tuple[Event, ...] = ()
    reads: int = 0
    bytes: int = 0
    page_faults: int = 0
    longest_lookup: int = 0
    """Reads of the look-up that needed most."""

    @property
    def crashed(self) -> bool:
        """What the kernel would have done next is undefined."""
        return any(event.name in CRASHES for event in self.events)
