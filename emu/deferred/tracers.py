"""Ftrace-like tracers: several instances, each with its buffer and its filter of tasks."""

from collections.abc import Collection

from emu.deferred.design import Trace, Work, promises
from emu.deferred.events import Kind
from emu.deferred.kernel import Kernel
from emu.deferred.records import MERGED, Deferred, Sample
from emu.deferred.ring import Ring
from emu.deferred.tasks import Cpu, Task


class Tracer:
    """One instance: asks in each of its samples and writes what it is given.

    Args:
        kernel: whose tasks it traces.
        name: for people.
        ring: where samples and stacks go.
        tasks: names of the tasks that it wants; None: all.
        depth: most frames that it wants; only the sketch lets a tracer say so.
    """

    def __init__(
        self,
        kernel: Kernel,
        name: str,
        ring: Ring,
        tasks: Collection[str] | None = None,
        depth: int = -1,
    ) -> None:
        self.name = name
        self.ring = ring
        self.work = Work(name, self.callback, depth)
        self.status = kernel.register(self.work)
        """What registering it returned: 0 or a negative errno."""
        self._kernel = kernel
        self._tasks = None if tasks is None else frozenset(tasks)
        self._wanted: set[tuple[int, int]] = set()

    def sample(self, cpu: Cpu) -> tuple[int, int] | None:
        """Ask for the current task's stack: (status, cookie), or None if it is filtered out."""
        task = cpu.task
        if task is None or (self._tasks is not None and task.name not in self._tasks):
            return None
        status, cookie = self._kernel.request(cpu, self.work)
        waits = promises(status)
        if waits:
            self._wanted.add((task.serial, cookie))
        sample = Sample(
            self._kernel.time, task.tid, task.pid, cookie if waits else 0, (), self.name, waits,
            task.serial, task.entry,
        )  # fmt: skip
        self.ring.write(sample)
        return status, cookie

    def callback(self, task: Task, trace: Trace, cookie: int) -> None:
        """Write the stack if it was asked for; the sketch calls whether or not it was."""
        key = task.serial, cookie
        if self._kernel.design.unasked and key not in self._wanted:
            return
        self._wanted.discard(key)
        if trace.uninitialised:
            return
        record = Deferred(
            self._kernel.time, task.tid, task.pid, cookie, trace.ips or (), MERGED, task.serial,
            task.entry,
        )  # fmt: skip
        if self.ring.write(record):
            self._kernel.tell(
                Kind.RECORD, self._kernel.cpu_of(task), who=self.name, cookie=cookie, ips=record.ips
            )
