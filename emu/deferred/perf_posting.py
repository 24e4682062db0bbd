"""perf as posted in September 2024 (patch 11): no cookie, a flag and task work for each event.

The sample's chain ends in a marker; if no chain of the *event* is pending, interrupt work is
queued, which adds task work, which writes one record on the way to user space. All samples of the
event until then share that record.
"""

from emu.deferred.events import Kind
from emu.deferred.kernel import Kernel
from emu.deferred.perf import EventAttr, chain_text, hit_user, kernel_stack
from emu.deferred.records import (
    CONTEXT_KERNEL,
    CONTEXT_USER,
    CONTEXT_USER_DEFERRED,
    POSTING_2024,
    Chain,
    Deferred,
    Sample,
)
from emu.deferred.ring import Ring
from emu.deferred.tasks import Cpu, Task, atomic_stack, deferred_stack

MOST_IPS = 127
"""Addresses of a record: it is built in a buffer on the stack."""


class PostingEvent:
    """One event of the posting; arguments as of `PerfEvent`."""

    def __init__(self, kernel: Kernel, attr: EventAttr, ring: Ring) -> None:
        self.name = attr.name
        self.attr = attr
        self.ring = ring
        self.pending = False
        """Set for the event, whatever task it was set in."""
        self._kernel = kernel

    def sample(self, cpu: Cpu) -> tuple[int, int] | None:
        """Take a sample of what runs; there is no request with an answer."""
        task, attr = cpu.task, self.attr
        if task is None:
            return None
        wanted = attr.user and attr.task in ("", task.name)
        chain = Chain(attr.max_stack, attr.max_contexts)
        if attr.kernel and not hit_user(cpu):
            chain.context(CONTEXT_KERNEL)
            chain.addresses(kernel_stack(cpu))
        if wanted and task.mm and attr.defer_callchain:
            chain.context(CONTEXT_USER_DEFERRED)
        elif wanted and task.mm:
            chain.context(CONTEXT_USER)
            chain.addresses(atomic_stack(task, attr.max_stack))
        entries = tuple(chain.entries)
        waits = entries[-1:] == (CONTEXT_USER_DEFERRED,)
        sample = Sample(
            self._kernel.time, task.tid, task.pid, 0, entries, attr.name, waits, task.serial,
            task.entry,
        )  # fmt: skip
        if self.ring.write(sample):
            self._kernel.tell(Kind.SAMPLE, cpu, who=attr.name, text=chain_text(entries, False))
        # No test for an mm here: a kernel thread, which got no marker, is asked for as well.
        if wanted and attr.defer_callchain and not self.pending:
            self.pending = True
            self._kernel.queue_irq_work(cpu, self._irq_work)
        return None

    def _irq_work(self, cpu: Cpu) -> None:
        """Add the task work (perf_pending_irq)."""
        if self.attr.software:
            # Software events take the ordinary path in both work functions: nobody clears
            # pending, so every later sample has the marker and no record ever comes.
            self._kernel.flaw("software-event-never-cleared", cpu)
            return
        if cpu.task is not None:
            # Whether that worked is not looked at.
            self._kernel.add_work(cpu.task, self._task_work)

    def _task_work(self, task: Task) -> None:
        """Write the record (perf_pending_task); a full buffer loses it and clears pending too."""
        if task.mm:
            ips = deferred_stack(task, min(self.attr.max_stack, MOST_IPS))
            tid, pid = (task.tid, task.pid) if self.attr.sample_id_all else (-1, -1)
            record = Deferred(
                self._kernel.time, tid, pid, 0, (CONTEXT_USER, *ips), POSTING_2024, task.serial,
                task.entry,
            )  # fmt: skip
            if self.ring.write(record):
                self._kernel.tell(
                    Kind.RECORD, self._kernel.cpu_of(task), who=self.name, ips=ips
                )  # fmt: skip
        self.pending = False
