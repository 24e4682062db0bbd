"""What a walk says: frames, innermost first, and the one reason why it ended."""

from dataclasses import dataclass
from enum import Enum

from arch import Row
from emu.verdict import Verdict


class FrameKind(Enum):
    """How a frame's PC is to be taken."""

    SAMPLED = "sampled"
    """The instruction at the PC has not executed yet."""
    CALLER = "caller"
    """The PC is a return address; the call lies before it."""
    INTERRUPTED = "interrupted"
    """The PC was interrupted by a signal; it is exact."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One level; addresses are runtime ones."""

    pc: int
    kind: FrameKind
    sp: int
    fp: int
    row: Row | None = None
    """The row that leads to its caller, where one was found."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A walk; `stop` is OUTERMOST for the only good end."""

    frames: tuple[Frame, ...]
    stop: Verdict
    reason: str = ""

    @property
    def return_addresses(self) -> list[int]:
        """PCs of all frames but the sampled one."""
        return [frame.pc for frame in self.frames[1:]]
