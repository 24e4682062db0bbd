"""The first sketch (Rostedt, 14 September 2024): a global cookie, and everybody is called.

A tracer asks in an NMI and keeps the cookie; on the way to user space the stack is unwound once
and every registered callback gets it. Who did not ask ignores it.
"""

from dataclasses import dataclass
from errno import EINVAL
from typing import TYPE_CHECKING

from emu.deferred.design import Point, Trace, Work
from emu.deferred.tasks import Cpu, Task

if TYPE_CHECKING:
    from emu.deferred.kernel import Kernel

BUFFER_BYTES = 4096
"""Of the trace, in each task that was ever unwound; the sketch names no size."""
_NO_LIMIT = 1 << 30


@dataclass(slots=True, eq=False)
class Info:
    """What each task has."""

    cookie: int = 0
    pending: bool = False
    buffer: bool = False
    called: tuple[Work, ...] = ()
    """Who was called in the loop that runs now; the kernel of the sketch does not know."""


class Sketch:
    """Trigger and delivery of the sketch."""

    name = "sketch"
    layout = "global"
    each_queued = False
    unasked = True

    def __init__(self) -> None:
        self.works: list[Work] = []

    def attach(self, kernel: "Kernel") -> None:
        """Be the design of that kernel."""
        self._kernel = kernel

    def register(self, work: Work) -> int:
        """Put a client on the global list (register_unwinder)."""
        self.works.append(work)
        return 0

    def cancel(self, work: Work, task: Task | None = None) -> bool:
        """Take it off the list; the sketch itself has no such call."""
        if work not in self.works:
            return False
        self.works.remove(work)
        return any(other.info.pending for other in self._kernel.tasks.values())

    def created(self, task: Task) -> None:
        """Start without cookie and buffer."""
        task.info = Info()

    def entered(self, cpu: Cpu, task: Task) -> None:
        """Nothing is done on the way in."""

    def request(self, cpu: Cpu, work: Work) -> tuple[int, int]:
        """Get the cookie and have the stack unwound (unwinder_trigger): (0, cookie).

        A kernel thread, a task without mm and a client that is on no list get -EINVAL, which the
        sketch leaves open.
        """
        task = cpu.task
        if work not in self.works or task is None or task.kthread or not task.mm or task.exiting:
            return -EINVAL, 0
        info: Info = task.info
        if not info.cookie:
            cookie = self._kernel.take_cookie(cpu)
            self._kernel.reach(Point.COOKIE, cpu)
            # The second compare-exchange: an NMI in between wins, this number is skipped.
            info.cookie = info.cookie or cookie
        cookie = info.cookie
        self._kernel.reach(Point.MASK, cpu)
        if work in info.called:
            self._kernel.flaw("trigger-in-loop", cpu)
        if not info.pending:
            info.pending = True
            self._kernel.add_work(task, self._process)
        return 0, cookie

    def leaving(self, cpu: Cpu, task: Task) -> None:
        """Nothing: all is done in the task work."""
        self._kernel.reach(Point.RESET, cpu)

    def exiting(self, cpu: Cpu, task: Task) -> None:
        """Nothing: when the work runs no stack is to be had, and callbacks get none."""

    def bytes_of(self, task: Task) -> int:
        """Cookie, flag and buffer pointer; the buffer once used."""
        return 24 + (BUFFER_BYTES if task.info.buffer else 0)

    def _process(self, task: Task) -> None:
        kernel, info = self._kernel, task.info
        kernel.reach(Point.UNWIND, kernel.cpu_of(task))
        trace = Trace(None)
        if task.mm:
            info.buffer = True
            depths = [work.depth for work in self.works]
            deepest = _NO_LIMIT if -1 in depths else max(depths, default=0)
            trace = Trace(kernel.unwind(task, deepest))
        for work in tuple(self.works):
            info.called += (work,)
            kernel.call(work, task, trace, info.cookie)
        # Whatever was triggered meanwhile has this cookie, and its callback is over: the race
        # that the posting leaves open.
        info.cookie, info.pending, info.called = 0, False, ()
