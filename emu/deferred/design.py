"""What every design of deferral offers to tracers and to the kernel around it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from errno import EEXIST
from typing import TYPE_CHECKING, Protocol

from emu.deferred.tasks import Cpu, Stack, Task

if TYPE_CHECKING:
    from emu.deferred.kernel import Kernel


class Point(StrEnum):
    """Places inside the kernel where something else may come between."""

    COOKIE = "cookie"
    """The cookie is computed and not yet stored."""
    MASK = "mask"
    """The request has its cookie and has not yet marked itself as pending."""
    UNWIND = "unwind"
    """On the way to user space, before the stack is unwound."""
    CALLBACK = "callback"
    """In the first callback of a delivery."""
    RESET = "reset"
    """On the way to user space, the work done and the entry's state half cleared."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a callback gets.

    Args:
        ips: empty: the unwinder failed; None: the callback gets a null pointer.
        uninitialised: the callback gets memory that nobody wrote.
    """

    ips: Stack | None
    uninitialised: bool = False


Callback = Callable[[Task, Trace, int], None]
"""func(current, trace, cookie): in task context, on the way to user space."""


@dataclass(slots=True, eq=False)
class Work:
    """A tracer's registration (struct unwind_work).

    Args:
        name: of the tracer.
        callback: called once for each delivery.
        depth: frames that the tracer wants at most, -1 for all; only the sketch asks.
    """

    name: str
    callback: Callback
    depth: int = -1
    bit: int = -1
    """Merged form: its place in the masks, -1 when cancelled."""
    pending: Task | None = None
    """v4: the task whose task work holds it."""


class Design(Protocol):
    """One design over the events of a kernel."""

    name: str
    layout: str
    """The cookie layout that goes with it."""
    each_queued: bool
    """Whether every request that was queued gets a callback of its own."""
    unasked: bool
    """Whether callbacks also come to tracers that did not ask."""
    works: list[Work]
    """Who is registered."""

    def attach(self, kernel: "Kernel") -> None:
        """Be the design of that kernel."""

    def register(self, work: Work) -> int:
        """Add a tracer: 0 or a negative errno."""

    def cancel(self, work: Work, task: Task | None) -> bool:
        """Remove a tracer, or its work in one task; whether anything was waiting."""

    def created(self, task: Task) -> None:
        """Give a new task its state, zeroed."""

    def entered(self, cpu: Cpu, task: Task) -> None:
        """The kernel is entered from user mode."""

    def request(self, cpu: Cpu, work: Work) -> tuple[int, int]:
        """Ask for the user stack of the current task: (status, cookie)."""

    def leaving(self, cpu: Cpu, task: Task) -> None:
        """All task work is done, user code is next."""

    def exiting(self, cpu: Cpu, task: Task) -> None:
        """The task exits: its mm is still there, and it is marked as exiting."""

    def bytes_of(self, task: Task) -> int:
        """Bytes of kernel memory that this task needs because of the design, on 64-bit."""


def promises(status: int) -> bool:
    """Whether a request's status says that a callback with this cookie will come or came."""
    return status >= 0 or status == -EEXIST
