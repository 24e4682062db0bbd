"""Version 4, patch 28 of 39, of 21 January 2025: a work item for each user, with its flaws.

The flaws are those of the posting's code. Each is named where it shows (`Kernel.flaw`), and
docs/deferred.md says what they are.
"""

from dataclasses import dataclass
from errno import EEXIST, EINVAL, ESRCH
from typing import TYPE_CHECKING

from emu.deferred.design import Point, Trace, Work
from emu.deferred.tasks import Cpu, Task

if TYPE_CHECKING:
    from emu.deferred.kernel import Kernel

CAPACITY = 512
"""Entries of a trace (UNWIND_MAX_ENTRIES of the postings up to mid-2025)."""
INFO_BYTES = 8 + 8
"""struct unwind_task_info: cookie, pointer to the entries."""
WORK_BYTES = 16 + 8 + 8
"""struct unwind_work: struct callback_head, func, pending and its padding."""


@dataclass(slots=True, eq=False)
class Info:
    """What each task has."""

    cookie: int = 0
    entries: bool = False
    """Whether the memory for a trace is there."""


class PostingV4:
    """Requests, delivery and cancellation of v4."""

    name = "posting-v4"
    layout = "v4"
    each_queued = True
    unasked = False

    def __init__(self) -> None:
        self.works: list[Work] = []
        self._calling: Work | None = None

    def attach(self, kernel: "Kernel") -> None:
        """Be the design of that kernel."""
        self._kernel = kernel

    def register(self, work: Work) -> int:
        """Zero the work (unwind_deferred_init); there is no limit."""
        work.pending = None
        self.works.append(work)
        return 0

    def cancel(self, work: Work, task: Task | None = None) -> bool:
        """Take the work from one task (unwind_deferred_cancel); whether it was queued there."""
        if task is None or work.pending is not task:
            if work.pending is not None:
                self._kernel.flaw("cancel-leaves-other-task", self._kernel.cpus[0])
            return False
        task.works = [queued for queued in task.works if getattr(queued, "work", None) is not work]
        work.pending = None
        return True

    def created(self, task: Task) -> None:
        """Cookie and entries start zeroed."""
        task.info = Info()

    def entered(self, cpu: Cpu, task: Task) -> None:
        """The cookie ends with the entry before."""
        task.info.cookie = 0

    def request(self, cpu: Cpu, work: Work) -> tuple[int, int]:
        """Ask for a trace (unwind_deferred_request).

        Returns:
            (0, cookie): queued; (-EEXIST, cookie): said to be pending; (-EINVAL, 0): in an NMI or
            a kernel thread; (-ESRCH, cookie): not queued. The first request of an entry is told
            cookie 0 whatever was stored.
        """
        kernel, task = self._kernel, cpu.task
        if cpu.in_nmi:
            kernel.flaw("nmi-refused", cpu)
            return -EINVAL, 0
        if task is None or task.kthread or task.exiting:
            return -EINVAL, 0
        info: Info = task.info
        cookie = info.cookie
        if not cookie:
            # The maker returns what it read before it stored the new one.
            made = kernel.take_cookie(cpu)
            kernel.reach(Point.COOKIE, cpu)
            info.cookie = made
            if not info.cookie:
                kernel.flaw("cookie-wraps-to-0", cpu)
            kernel.flaw("first-cookie-0", cpu)
        kernel.reach(Point.MASK, cpu)
        if work.pending is not None:
            if work.pending is not task:
                kernel.flaw("pending-in-other-task", cpu)
            elif self._calling is work:
                kernel.flaw("pending-in-callback", cpu)
            return -EEXIST, cookie
        if not kernel.add_work(task, _Queued(self, work)):
            kernel.flaw("queue-error-keeps-cookie", cpu)
            return -ESRCH, cookie
        work.pending = task
        return 0, cookie

    def leaving(self, cpu: Cpu, task: Task) -> None:
        """Nothing: the cookie stays until the next entry."""
        self._kernel.reach(Point.RESET, cpu)

    def exiting(self, cpu: Cpu, task: Task) -> None:
        """Nothing: the task work runs when the mm is gone."""

    def bytes_of(self, task: Task) -> int:
        """The fields, the entries, and one work for each user.

        A work serves one task at a time, so a user of all tasks would need one in each.
        """
        entries = CAPACITY * 8 if task.info.entries else 0
        return INFO_BYTES + entries + WORK_BYTES * len(self.works)

    def run(self, work: Work, task: Task) -> None:
        """Unwind and call back (unwind_user_task_work)."""
        kernel, info, cpu = self._kernel, task.info, self._kernel.cpu_of(task)
        if work.pending is None:
            kernel.flaw("work-without-pending", cpu)
            return
        kernel.reach(Point.UNWIND, cpu)
        if not task.mm or (not info.entries and kernel.no_memory):
            kernel.no_memory = kernel.no_memory and not task.mm
            kernel.flaw("uninitialised-trace", cpu)
            trace = Trace(None, uninitialised=True)
        else:
            info.entries = True
            trace = Trace(kernel.unwind(task, CAPACITY))
        # Pending ends after the callback: a request from within is taken for a repetition.
        self._calling = work
        kernel.call(work, task, trace, info.cookie)
        self._calling = None
        work.pending = None


@dataclass(frozen=True, slots=True)
class _Queued:
    """The task work of one user."""

    design: PostingV4
    work: Work

    def __call__(self, task: Task) -> None:
        self.design.run(self.work, task)
