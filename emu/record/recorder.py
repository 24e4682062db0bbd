"""A run that is sampled: the guest on one side, the model of deferred unwinding on the other.

A sample of user code is an NMI that comes there; one inside a system call is an NMI in that. Both
ask each tracer that is due, and the design unwinds on the way back to user space. What the
unwinder finds is what the policy's walk of the stopped guest gives.
"""

import random
from collections.abc import Callable
from dataclasses import replace

from emu.check.options import RunOptions, parse_point
from emu.check.session import Session as Run
from emu.deferred.perf import EventAttr
from emu.deferred.session import Sampler
from emu.deferred.session import Session as Model
from emu.deferred.stitch import STITCHERS
from emu.deferred.tasks import Level, Task
from emu.errors import UsageError
from emu.export.perf_records import Mmap, SampleId
from emu.kernel.attach import attach
from emu.kernel.policy import POLICIES
from emu.kernel.state import UserTask
from emu.kernel.stops import prepare, stops
from emu.kernel.walk import walk
from emu.linux.credentials import PID
from emu.linux.program import Program
from emu.memory import EXECUTE
from emu.record.names import Names
from emu.record.plan import EVENT, Addresses, Moment, Recording, RecordPlan

_DEPTH = 510
"""Addresses of a trace on 64-bit machines (include/linux/unwind_deferred.h)."""
_PERF, _RING = "cycles", "perf"
_IDLE_TID = 1_000_000
_READ_EVERY = 64
"""Samples after which the buffers are read."""
_MOVES = 8
"""One in so many system calls ends on another CPU."""


class Recorder:
    """Records one run.

    Args:
        program: what is run.
        options: of the run; it is sampled each time that `at` is reached, from the `nth` on.
        plan: how else it is sampled.
        path: the name that readers of the recording know a file of the guest by.
        progress: called now and then with the number of executed instructions.

    Raises:
        UnwindlabError: it cannot be run or recorded as asked.
    """

    def __init__(
        self, program: Program, options: RunOptions, plan: RecordPlan,
        path: Callable[[bytes], bytes], progress: Callable[[int], None] = lambda _: None,
    ) -> None:  # fmt: skip
        self._plan, self._path, self._progress = plan, path, progress
        self.run: Run = prepare(program, options)
        self._policy = POLICIES[plan.policy]
        self._break(options)
        self._registry = attach(self._policy, self.run.process, program)
        self._names = Names(self.run)
        # Nothing of the guest may depend on how it is watched.
        self._dice = random.Random(options.seed)
        deferred = plan.deferral != "none"
        self._model = Model(plan.deferral if deferred else "merged", plan.cookie, plan.cpus)
        self._model.event(EventAttr(_PERF, defer_callchain=deferred, defer_output=deferred), _RING)
        for number in range(1, plan.tracers):
            tracer = self._model.tracer(f"tracer{number}")
            if tracer.status:
                raise UsageError(f"--tracers {plan.tracers}: only {number} can be registered")
        self._task = Task("guest", PID, PID, 0, ())
        self._idle = [
            Task(f"idle{cpu}", _IDLE_TID + cpu, _IDLE_TID + cpu, 0, (), kthread=True)
            for cpu in range(plan.cpus)
        ]
        for task in (self._task, *self._idle):
            self._model.task(task)
        for cpu, idle in zip(self._model.kernel.cpus, self._idle, strict=True):
            self._model.kernel.run(cpu, idle)
        self._cpu = self._model.kernel.cpus[0]
        self._model.kernel.run(self._cpu, self._task)
        self._moments: dict[int, Moment] = {}
        self._mappings: list[Mmap] = []
        self._mapped: set[tuple[int, int, bytes]] = set()
        self._samples = self._calls = self._entries = self._crashes = self._unread = 0
        self._changed: Callable[[], None] | None = None

    def record(self) -> Recording:
        """Run the program to its end."""
        run, process, plan = self.run, self.run.process, self._plan
        self._changed, process.mappings.changed = process.mappings.changed, self._on_change
        self._note_mappings()
        process.after_call = self._on_call
        for stop in stops(run, plan.every):
            self._progress(stop.instruction)
            self._sample(in_call=False)
        self._model.finish()
        kernel = self._model.kernel
        return Recording(
            moments=self._moments,
            perf=self._model.files.get("perf", []),
            mappings=self._mappings,
            stitched={name: self._model.stitch(name) for name in STITCHERS},
            samples=self._samples,
            entries=self._entries,
            unwinds=kernel.unwinds,
            lost=sum(ring.lost for ring in self._model.rings.values()),
            crashes=self._crashes,
            instructions=run.executed,
            exit_status=process.exit_status,
            ended=process.killed_by or process.reason,
        )

    # ---- inside

    def _break(self, options: RunOptions) -> None:
        """Stop where the options say."""
        if not options.at:
            return
        run, path = self.run, self.run.program.module.image.path
        point = parse_point(options.at, run.program.module.names, path, run.process.dynamic)
        if point.instruction:
            raise UsageError(f"{path}: --at {options.at}: one instruction is for --to core")
        if not run.break_at(point, options.nth):
            raise UsageError(f"{path}: --at {options.at}: no code there")

    def _on_change(self) -> None:
        """Code was mapped or unmapped."""
        if self._changed is not None:
            self._changed()
        self._note_mappings()

    def _on_call(self) -> None:
        """A system call was answered; the process still is in the kernel."""
        kernel, plan = self._model.kernel, self._plan
        self._calls += 1
        if plan.syscalls and self._calls % plan.syscalls == 0:
            self._sample(in_call=True)
            return
        self._enter(Level.SYSCALL)
        self._move()
        kernel.leave(self._cpu)

    def _enter(self, level: Level) -> None:
        kernel = self._model.kernel
        kernel.time = max(kernel.time, self.run.process.clock.monotonic)
        kernel.enter(self._cpu, level)
        self._entries += 1

    def _move(self) -> None:
        """Now and then the scheduler lets the process go on elsewhere."""
        kernel, here = self._model.kernel, self._cpu
        if self._plan.cpus == 1 or self._dice.randrange(_MOVES):
            return
        there = self._dice.choice([cpu for cpu in kernel.cpus if cpu is not here])
        kernel.run(here, self._idle[here.number])
        kernel.run(there, self._task)
        self._cpu = there

    def _sample(self, *, in_call: bool) -> None:
        """One sample of each tracer that is due."""
        kernel, lossy = self._model.kernel, self._dice.random() < self._plan.loss
        first = lossy and self._dice.random() < 0.5
        self._enter(Level.SYSCALL if in_call else Level.NMI)
        moment = self._moment(in_call)
        self._moments[self._task.entry] = moment
        self._task.stack = moment.found
        if in_call:
            kernel.enter(self._cpu, Level.NMI)
        if first:
            self._fill()
        for sampler in self._due():
            self._samples += 1
            sampler.sample(self._cpu)
        if lossy and not first:
            self._fill()
        if in_call:
            kernel.leave(self._cpu)
            self._move()
        kernel.leave(self._cpu)
        self._unread += 1
        if lossy or self._unread >= _READ_EVERY:
            self._model.read()
            self._unread = 0

    def _due(self) -> list[Sampler]:
        """The n-th tracer takes each n-th sample."""
        count = len(self._moments)
        samplers = list(self._model.samplers.values())
        return [each for number, each in enumerate(samplers, 1) if count % number == 0]

    def _fill(self) -> None:
        for ring in self._model.rings.values():
            ring.fill()

    def _moment(self, in_call: bool) -> Moment:
        """Walk the stopped guest."""
        run = self.run
        sample, callers = run.sample(), run.true_callers()
        if in_call:
            # The kernel has the address behind the instruction that made the call.
            sample = replace(sample, pc=run.next_pc)
        trace = walk(
            self._policy, UserTask(sample, registry=self._registry), _DEPTH, truth=callers,
            hypothetical=self._plan.hypothetical,
        )  # fmt: skip
        self._crashes += trace.crashed
        truth: Addresses = (sample.pc, *callers)[:_DEPTH]
        return Moment(
            self._model.kernel.time, self._cpu.number, sample.pc, trace.ips, truth,
            self._names.of(truth), self._names.of(trace.ips),
        )  # fmt: skip

    def _note_mappings(self) -> None:
        """Tell of code that was not there before, as MMAP2 does."""
        time = self._model.kernel.time if self._entries else 0
        for mapping in self.run.process.mappings:
            key = mapping.start, mapping.end, mapping.file.path
            if mapping.permissions & EXECUTE and key not in self._mapped:
                self._mapped.add(key)
                size, name = mapping.end - mapping.start, self._path(mapping.file.path)
                where = SampleId(PID, PID, time, self._cpu.number, EVENT)
                self._mappings.append(
                    Mmap(PID, PID, mapping.start, size, mapping.offset, name, where=where)
                )
