"""What happens in a run, as values: the timeline prints them, the ledger judges them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from emu.deferred.tasks import Stack


class Kind(StrEnum):
    """Kinds of events."""

    RUN = "run"
    ENTER = "enter"
    """The kernel is entered from user mode."""
    NEST = "nest"
    """An interrupt or NMI hits the kernel."""
    UNNEST = "unnest"
    USER = "user"
    """User code runs again."""
    REQUEST = "request"
    UNWIND = "unwind"
    CALLBACK = "callback"
    SAMPLE = "sample"
    RECORD = "record"
    LOST = "lost"
    """A full ring buffer refuses an entry."""
    READ = "read"
    FORK = "fork"
    EXEC = "exec"
    EXIT = "exit"
    GONE = "gone"
    """The exiting task has left the CPU for good."""
    CANCEL = "cancel"
    REGISTER = "register"
    FLAW = "flaw"
    """The design does what its review, or a reading of it, calls wrong."""
    SET = "set"
    """The scenario changes something from outside."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event.

    Args:
        time: counts all events of a run from 1.
        cpu: -1 where no CPU has a part in it.
        depth: 0 in user mode, else the number of contexts on the CPU.
        task: name of the current task, or empty.
        serial: of that task.
        entry: number of that task's present stay in the kernel.
        who: tracer, event, ring or task that it is about.
        status: what a request returned.
        cookie: of a request, a callback, a sample or a record.
        ips: what was unwound; None: no trace.
        text: more for people.
    """

    kind: Kind
    time: int
    cpu: int = -1
    depth: int = 0
    task: str = ""
    serial: int = 0
    entry: int = 0
    who: str = ""
    status: int = 0
    cookie: int = 0
    ips: Stack | None = None
    text: str = ""


class Observer(Protocol):
    """Whoever wants to know what happens."""

    def tell(self, event: Event) -> None:
        """Take one event."""
