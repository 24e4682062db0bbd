"""perf as merged: one tracer for all events, chains that end in a cookie, records to who wants.

A sample's chain is made as in perf_callchain() and get_perf_callchain(); the records go to every
event of the context that has `defer_output`, as side-band data do.
"""

from dataclasses import dataclass

from emu.deferred.design import Trace, Work
from emu.deferred.events import Kind
from emu.deferred.kernel import Kernel
from emu.deferred.records import (
    CONTEXT_KERNEL,
    CONTEXT_USER,
    CONTEXT_USER_DEFERRED,
    MERGED,
    Chain,
    Deferred,
    Sample,
)
from emu.deferred.ring import Ring
from emu.deferred.tasks import Cpu, Stack, Task, atomic_stack

_KERNEL_TEXT = 0xFFFF_FFFF_8100_0000


@dataclass(frozen=True, slots=True)
class EventAttr:
    """What the user of an event chose (struct perf_event_attr, and where it counts).

    Args:
        name: for people.
        software: whether it is a software event, which no NMI brings.
        defer_callchain: attr bit 38.
        defer_output: attr bit 39, which the posting of 2024 has not.
        task: the only task that it counts; empty: all.
        max_stack: sample_max_stack, addresses of the sample's chain.
        max_contexts: kernel.perf_event_max_contexts_per_stack.
        kernel: chains have the kernel part (not exclude_callchain_kernel).
        user: and the user part (not exclude_callchain_user).
        sample_id_all: records say of which task they are.
    """

    name: str
    software: bool = False
    defer_callchain: bool = True
    defer_output: bool = True
    task: str = ""
    max_stack: int = 127
    max_contexts: int = 8
    kernel: bool = True
    user: bool = True
    sample_id_all: bool = True


def kernel_stack(cpu: Cpu) -> Stack:
    """Addresses for what the sample interrupted in the kernel: one for each context."""
    # The innermost interrupt or NMI is the one that takes the sample; a system call takes its own.
    return tuple(_KERNEL_TEXT + 16 * level for level in reversed(range(max(len(cpu.levels), 1))))


def hit_user(cpu: Cpu) -> bool:
    """Whether the sample that is taken now interrupted user code."""
    task = cpu.task
    return task is not None and not cpu.levels and task.in_kernel in ("interrupt", "nmi")


class Perf:
    """All events of the merged form; it takes one place among the tracers."""

    name = "perf"

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.events: list[PerfEvent] = []
        self.work = Work(self.name, self._callback)
        self.status = kernel.register(self.work)

    def add(self, attr: EventAttr, ring: Ring) -> "PerfEvent":
        """Open an event that writes to a buffer."""
        event = PerfEvent(self._kernel, self, attr, ring)
        self.events.append(event)
        return event

    def _callback(self, task: Task, trace: Trace, cookie: int) -> None:
        """Write one record for each event that wants it (perf_unwind_deferred_callback)."""
        for event in self.events:
            attr = event.attr
            if not attr.defer_output or attr.task not in ("", task.name):
                continue
            tid, pid = (task.tid, task.pid) if attr.sample_id_all else (-1, -1)
            record = Deferred(
                self._kernel.time, tid, pid, cookie, trace.ips or (), MERGED, task.serial,
                task.entry,
            )  # fmt: skip
            if event.ring.write(record):
                self._kernel.tell(
                    Kind.RECORD, self._kernel.cpu_of(task), who=attr.name, cookie=cookie,
                    ips=record.ips,
                )  # fmt: skip


class PerfEvent:
    """One event of `Perf`."""

    def __init__(self, kernel: Kernel, perf: Perf, attr: EventAttr, ring: Ring) -> None:
        self.name = attr.name
        self.attr = attr
        self.ring = ring
        self._kernel = kernel
        self._perf = perf

    def sample(self, cpu: Cpu) -> tuple[int, int] | None:
        """Take a sample of what runs: (status, cookie) of the request, None if none was made."""
        task, attr = cpu.task, self.attr
        if task is None:
            return None
        user = attr.user and not task.kthread
        cross_task = attr.task not in ("", task.name)
        answer, cookie = None, 0
        if task.mm and user and attr.defer_callchain and not cross_task:
            answer = self._kernel.request(cpu, self._perf.work)
            cookie = answer[1] if answer[0] >= 0 else 0
        chain = self._chain(cpu, task, user and task.mm and not cross_task, cookie)
        waits = (
            attr.defer_callchain and len(chain) >= 2 and chain[-2] == CONTEXT_USER_DEFERRED
        )  # fmt: skip
        sample = Sample(
            self._kernel.time, task.tid, task.pid, chain[-1] if waits else 0, chain, attr.name,
            waits, task.serial, task.entry,
        )  # fmt: skip
        if self.ring.write(sample):
            self._kernel.tell(
                Kind.SAMPLE, cpu, who=attr.name, cookie=sample.cookie, text=chain_text(chain, waits)
            )
        return answer

    def _chain(self, cpu: Cpu, task: Task, user: bool, cookie: int) -> tuple[int, ...]:
        """The chain in the order of get_perf_callchain()."""
        attr = self.attr
        chain = Chain(attr.max_stack, attr.max_contexts)
        if attr.kernel and not hit_user(cpu):
            chain.context(CONTEXT_KERNEL)
            chain.addresses(kernel_stack(cpu))
        if user and cookie:
            # The cookie is a u64 here; a wider layout loses its upper part.
            chain.context(CONTEXT_USER_DEFERRED)
            chain.context(cookie & (1 << 64) - 1)
        elif user:
            chain.context(CONTEXT_USER)
            chain.addresses(atomic_stack(task, attr.max_stack))
        return tuple(chain.entries)


def chain_text(chain: tuple[int, ...], waits: bool) -> str:
    """A chain in words: which parts it has and how long they are."""
    names = {CONTEXT_KERNEL: "kernel", CONTEXT_USER: "user", CONTEXT_USER_DEFERRED: "deferred"}
    parts: list[list[object]] = []
    for value in chain[: -1 if waits else None]:
        if value in names:
            parts.append([names[value], 0])
        elif parts:
            parts[-1][1] = int(str(parts[-1][1])) + 1
    return ", ".join(
        f"{name}" if name == "deferred" else f"{name} {count}" for name, count in parts
    )
