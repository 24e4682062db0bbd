"""The merged form (kernel/unwind/deferred.c, Linux 7.1): a bit per tracer, one cached trace.

A task's mask says who asked since the kernel was entered; one task work serves them all. On the
way to user space the stack is unwound once, into a cache that later tracers of the same entry
get again, and every callback fires, with an empty trace if need be.
"""

from dataclasses import dataclass
from errno import EBUSY, EINVAL, ENOMEM, ESRCH
from typing import TYPE_CHECKING

from emu.deferred.design import Point, Trace, Work
from emu.deferred.tasks import Cpu, Stack, Task

if TYPE_CHECKING:
    from emu.deferred.kernel import Kernel

PENDING = 1 << 0
"""Task work is queued and has not run (UNWIND_PENDING)."""
USED = 1 << 1
"""The cache was filled since the kernel was entered (UNWIND_USED)."""
FIRST_BIT, BITS = 2, 64
TRACERS = BITS - FIRST_BIT
"""Tracers that fit into the mask of a 64-bit kernel."""
CACHE_BYTES, CACHE_HEADER, WORD = 4096, 16, 8
CAPACITY = (CACHE_BYTES - CACHE_HEADER) // WORD
"""Entries of a cached trace (UNWIND_MAX_ENTRIES)."""
INFO_BYTES = 8 + 8 + 16 + 8
"""struct unwind_task_info: mask, pointer to the cache, struct callback_head, cookie."""


@dataclass(slots=True, eq=False)
class _Cache:
    """struct unwind_cache."""

    ips: Stack = ()
    completed: int = 0


@dataclass(slots=True, eq=False)
class Info:
    """What each task has (struct unwind_task_info)."""

    mask: int = 0
    cookie: int = 0
    cache: _Cache | None = None


class Merged:
    """Requests, delivery and reset of the merged form."""

    name = "merged"
    layout = "union"
    each_queued = False
    unasked = False

    def __init__(self) -> None:
        self.works: list[Work] = []
        self._free = list(range(FIRST_BIT, BITS))

    def attach(self, kernel: "Kernel") -> None:
        """Be the design of that kernel."""
        self._kernel = kernel

    def register(self, work: Work) -> int:
        """Take the lowest free bit (unwind_deferred_init): 0, or -EBUSY if there is none."""
        if not self._free:
            return -EBUSY
        work.bit = self._free.pop(0)
        self.works.append(work)
        return 0

    def cancel(self, work: Work, task: Task | None = None) -> bool:
        """Take the bit back and clear it in every task (unwind_deferred_cancel)."""
        if work.bit < 0:
            return False
        bit, work.bit = work.bit, -1
        self.works.remove(work)
        waiting = False
        for other in self._kernel.tasks.values():
            info: Info = other.info
            # Bits of those already served say nothing about waiting.
            done = info.cache.completed if info.cache else 0
            waiting |= bool(info.mask & ~done & 1 << bit)
            info.mask &= ~(1 << bit)
            if info.cache is not None:
                info.cache.completed &= ~(1 << bit)
        self._free = sorted([*self._free, bit])
        return waiting

    def created(self, task: Task) -> None:
        """Start zeroed (unwind_task_init)."""
        task.info = Info()

    def entered(self, cpu: Cpu, task: Task) -> None:
        """Nothing is done on the way in."""

    def request(self, cpu: Cpu, work: Work) -> tuple[int, int]:
        """Ask for a trace (unwind_deferred_request).

        Returns:
            (0, cookie): it will be delivered; (1, cookie): it is pending or was delivered in this
            entry; another positive status: an NMI of the same tracer came first; (-EINVAL, 0): a
            kernel thread, an exiting task or a cancelled tracer; (-ESRCH, cookie): not queued.
        """
        task = cpu.task
        if task is None or task.kthread or task.exiting or work.bit < 0:
            # The kernel's own test of a cancelled bit is on an unsigned value and never fires;
            # a mask without a bit has no meaning here, so the model does what was meant.
            return -EINVAL, 0
        info: Info = task.info
        cookie = info.cookie or self._take(cpu, info)
        own = 1 << work.bit
        if info.mask & own:
            return 1, cookie
        if self._kernel.at:
            self._kernel.reach(Point.MASK, cpu)
        old = info.mask
        info.mask = old | PENDING | own
        if old & (PENDING | own):
            return old & own, cookie
        if not self._kernel.add_work(task, self._process):
            # All bits go, also those of tracers that were served in this entry.
            info.mask = 0
            self._kernel.flaw("queue-error-clears-all", cpu)
            return -ESRCH, cookie
        return 0, cookie

    def leaving(self, cpu: Cpu, task: Task) -> None:
        """Forget the entry (unwind_reset_info)."""
        info: Info = task.info
        mask = info.mask
        if not mask or mask & PENDING:
            if not mask and info.cookie:
                # Asked, but no bit is left: the tracer was cancelled and the unwind had no
                # memory to set USED, or task work was refused. The next entry has this cookie.
                self._kernel.flaw("entry-not-reset", cpu)
            return
        info.mask = 0
        if self._kernel.at:
            self._kernel.reach(Point.RESET, cpu)
            if info.mask:
                self._kernel.flaw("nmi-in-reset", cpu)
        info.cookie = 0
        if info.cache is not None:
            info.cache.ips = ()
            info.cache.completed = 0

    def exiting(self, cpu: Cpu, task: Task) -> None:
        """Serve what is pending while there is an mm (unwind_deferred_task_exit)."""
        info: Info = task.info
        if info.mask & PENDING:
            self._process(task)
            # task_work_cancel(); from here on requests are refused.
            task.works = [work for work in task.works if work != self._process]

    def unwind_now(self, task: Task) -> tuple[int, Stack]:
        """Unwind from faultable context (unwind_user_faultable): (0 or a negative errno, trace)."""

        info: Info = task.info
        if not task.mm:
            return -EINVAL, ()
        if info.cache is None:
            if self._kernel.no_memory:
                self._kernel.no_memory = False
                return -ENOMEM, ()
            info.cache = _Cache()
        if not info.cache.ips:
            info.cache.ips = self._kernel.unwind(task, CAPACITY)
            info.mask |= USED
        return 0, info.cache.ips

    def bytes_of(self, task: Task) -> int:
        """The fields in each task, and the cache of a task that was ever unwound."""
        return INFO_BYTES + (CACHE_BYTES if task.info.cache is not None else 0)

    def _take(self, cpu: Cpu, info: Info) -> int:
        """Make the entry's cookie (get_cookie), or take that of an NMI that came first."""
        kernel = self._kernel
        if kernel.at and Point.COOKIE in kernel.at:
            # The compare-exchange fails if an NMI stored one, and the counter stays as the
            # NMI left it.
            kernel.reach(Point.COOKIE, cpu)
            if info.cookie:
                return info.cookie
        info.cookie = kernel.take_cookie(cpu)
        return info.cookie

    def _process(self, task: Task) -> None:
        """Unwind and call back (process_unwind_deferred)."""
        kernel, info = self._kernel, task.info
        asked = info.mask
        info.mask = asked & ~PENDING
        if kernel.at:
            kernel.reach(Point.UNWIND, kernel.cpu_of(task))
        _, ips = self.unwind_now(task)
        cache = info.cache
        if cache is not None:
            asked &= ~cache.completed
        cookie = info.cookie
        trace = Trace(ips)
        for work in tuple(self.works):
            if work.bit >= 0 and asked >> work.bit & 1:
                kernel.call(work, task, trace, cookie)
                if cache is not None:
                    cache.completed |= 1 << work.bit
                else:
                    # Nowhere to note that it is served.
                    kernel.flaw("completed-without-cache", kernel.cpu_of(task))
