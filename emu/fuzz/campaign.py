"""A campaign: which sources at which points, in an order that resuming repeats."""

import itertools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from emu.fuzz.making import Source
from emu.fuzz.matrix import Point, assembler_points, points
from emu.fuzz.plain import NotPlainError, from_plain
from emu.fuzz.planning import Plan
from emu.fuzz.pool import Died, Pool, Work
from emu.fuzz.reduce.witness import Reduced, Reduction
from emu.fuzz.store import Bucket, Store
from emu.fuzz.task import (
    ASSEMBLY,
    CSMITH,
    FILE,
    GENERATED,
    Build,
    Helpers,
    Outcome,
    Task,
    machine,
)
from emu.fuzz.toolchains import Assembler, Tool, Toolchains

_TEN = (GENERATED,) * 7 + (ASSEMBLY,) + (GENERATED,) * 2
_ROUND = _TEN * 7 + (*_TEN[:-1], CSMITH)
"""Origins of sources, in turn."""
_MORE_POINTS = {CSMITH: 8}
"""Times as many: to make such a program takes as long as to compile it."""
_RUN_EACH = 5
"""One of so many sources is also run, and assembled by a second assembler."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop."""

    sources: int | None = None
    """All in all, with those done before."""
    seconds: float | None = None
    """From now on."""


class Campaign:
    """Work that is left of a plan.

    Args:
        store: its file.
        pool: does the work.
        limits: when no new task is begun.
        known: whether a bucket needs no witness.
    """

    def __init__(
        self,
        store: Store,
        pool: Pool[Outcome | Reduced],
        limits: Limits,
        known: Callable[[Bucket], bool] = lambda bucket: False,
    ) -> None:
        text = store.meta("plan")
        assert text is not None
        self.plan = from_plain(Plan, json.loads(text))
        if not self.plan.machines:
            raise NotPlainError("a plan without machines")
        self._store, self._pool, self._known = store, pool, known
        self._end = None if limits.seconds is None else time.monotonic() + limits.seconds
        self._most = limits.sources
        self._reductions = store.unreduced()
        self._busy: set[str] = set()
        self.died: list[str] = []
        """Tasks that could not be done, and why."""

    def run(self, progress: Callable[[int], None]) -> None:
        """Do it; `progress` is told the number of sources that are done."""
        finished = self._store.done()
        tasks = (task for task in self._tasks() if task.number not in finished)
        for task, answer in self._pool.run(lambda: self._next(tasks)):
            if isinstance(task, Task):
                outcome = answer if isinstance(answer, Outcome) else _lost(task, answer)
                new = self._store.add(outcome, task.arch, task.origin, task.seed)
                self._reductions += new
                finished.add(task.number)
                progress(len(finished))
            elif isinstance(task, Reduction):
                if not isinstance(answer, Reduced):
                    answer = Reduced(task.bucket, None, 0.0, 0.0)
                self._store.add_witness(answer)
            if isinstance(answer, Died):
                self.died.append(answer.reason)

    def _next(self, tasks: Iterator[Task]) -> Work[Outcome | Reduced] | None:
        # Reductions last: with more sources a bucket has simpler builds.
        if self._end is None or time.monotonic() < self._end:
            task = next(tasks, None)
            if task is not None:
                return task
        while self._reductions:
            key = self._reductions.pop(0)
            if key not in self._busy and (reduction := self._reduction(key)) is not None:
                self._busy.add(key)
                return reduction
        return None

    # ---- tasks

    def _tasks(self) -> Iterator[Task]:
        """All of a campaign, from its beginning."""
        plan = self.plan
        made = {name: points(machine(name), plan.toolchains, plan.seed) for name in plan.machines}
        origins = [origin for origin in _ROUND if origin in plan.origins]
        sources: Iterator[tuple[str, Source | None]] = itertools.cycle(
            (origin, None) for origin in origins
        )
        if plan.files:
            sources = ((FILE, source) for source in plan.files)
        for number, (origin, source) in enumerate(
            (origin, source) for origin, source in sources for _ in plan.machines
        ):
            if self._most is not None and number >= self._most:
                return
            name = plan.machines[number % len(plan.machines)]
            yield self._task(number, name, origin, source, made[name])

    def _task(
        self, number: int, name: str, origin: str, source: Source | None, stream: Iterator[Point]
    ) -> Task:
        plan = self.plan
        mine = plan.toolchains.of(name)
        if origin == ASSEMBLY or (source is not None and source.language == "asm"):
            every = assembler_points(machine(name), plan.toolchains)
            chosen = tuple(every[: max(plan.points, len(mine.assemblers))])
        else:
            chosen = tuple(itertools.islice(stream, plan.points * _MORE_POINTS.get(origin, 1)))
        often = number // len(plan.machines) % _RUN_EACH == 0
        others = [each for each in mine.assemblers if each != chosen[0].assembler]
        return Task(
            number, name, origin, plan.seed * (1 << 32) + number, chosen,
            Helpers(
                mine.csmith, _linker(mine), mine.references.get(name), self._reference(name)
            ),
            others[number % len(others)] if often and others else None, often, source,
        )  # fmt: skip

    def _reduction(self, key: str) -> Reduction | None:
        """The task for a bucket, from its simplest build so far."""
        (bucket,) = self._store.buckets(key)
        if self._known(bucket):
            return None
        build = self._store.build(bucket.build)
        source, arch, origin, seed = self._store.source(build.source)
        symptom = next(s for s in build.symptoms if s.bucket(arch, build.point.family) == key)
        if symptom.oracle == "output":
            self._store.add_witness(Reduced(key, None, 0.0, 0.0))
            return None
        mine = self.plan.toolchains.of(arch)
        others = [each for each in mine.assemblers if each != build.point.assembler]
        return Reduction(
            key, arch, origin, seed, source, build.point, symptom,
            self._reference(arch) if symptom.whose else None,
            others[0] if symptom.oracle == "assemblers" and others else None,
        )  # fmt: skip

    def _reference(self, name: str) -> Assembler | None:
        """The newest assembler for a machine that is not the user's."""
        known = [*self.plan.references, *self.plan.toolchains.assemblers]
        mine = [each for each in known if each.arch == name and not each.tool.given]
        return max(mine, key=lambda each: _newest(each.tool), default=None)


def _lost(task: Task, answer: object) -> Outcome:
    reason = answer.reason if isinstance(answer, Died) else "no answer"
    builds = tuple(Build(point, "failed", reason) for point in task.points)
    return Outcome(task.number, Source("", "c"), builds, 0.0, 0.0, 0.0)


def _linker(found: Toolchains) -> Tool | None:
    """The driver of the newest compiler that comes with a linker for its machine."""
    drivers = [each.tool for each in found.compilers if each.family == "gcc"]
    return max(drivers, key=_newest, default=None)


def _newest(tool: Tool) -> list[int]:
    return [int(part) for part in tool.version.split(".") if part.isdigit()]
