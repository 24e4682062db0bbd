"""A run of steps: a kernel, its tasks, tracers and buffers, and the verdict at the end."""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from emu.deferred.design import Design, Work
from emu.deferred.events import Kind, Observer
from emu.deferred.kernel import Kernel, NotNow
from emu.deferred.ledger import Invariant, Ledger, Violation
from emu.deferred.merged import Merged
from emu.deferred.perf import EventAttr, Perf
from emu.deferred.perf_posting import PostingEvent
from emu.deferred.posting_v4 import PostingV4
from emu.deferred.records import Deferred, Entry, Sample
from emu.deferred.ring import Ring, read_round
from emu.deferred.sketch import Sketch
from emu.deferred.steps import Step
from emu.deferred.stitch import STITCHERS, Outcome, Stitched
from emu.deferred.tasks import Cpu, Level, Task
from emu.deferred.tracers import Tracer
from emu.errors import UsageError

DESIGNS: dict[str, Callable[[], Design]] = {
    "sketch": Sketch,
    "posting-v4": PostingV4,
    "merged": Merged,
}
"""The designs by name."""
PERF = "perf"
"""The file of all perf events; a tracer's has its name."""

T = TypeVar("T")


class Sampler(Protocol):
    """Whoever a step can let sample: a tracer or an event."""

    name: str
    ring: Ring

    def sample(self, cpu: Cpu) -> tuple[int, int] | None:
        """Sample what runs there."""


class Session:
    """A kernel with everything around it.

    Args:
        design: name of the design.
        layout: name of the cookie layout; empty: the design's own.
        cpus: number of CPUs.
        observers: told of every event, beside the ledger.
    """

    def __init__(
        self, design: str, layout: str = "", cpus: int = 2, observers: Sequence[Observer] = ()
    ) -> None:
        made = DESIGNS[design]()
        self.ledger = Ledger(made)
        self.kernel = Kernel(cpus, made, layout, (self.ledger, *observers))
        self.tasks: dict[str, Task] = {}
        self.samplers: dict[str, Sampler] = {}
        self.rings: dict[str, Ring] = {}
        self.unreached = 0
        """Points of steps that were never reached."""
        self.files: dict[str, list[Entry]] = {}
        """What was read so far, for each tracer, and for all perf events together."""
        self._rings_of: dict[str, list[Ring]] = {}
        self._works: dict[str, Work] = {}
        self._perf: Perf | None = None
        self._symbols: dict[str, int] = {}

    # Who takes part

    def ring(self, name: str, capacity: int = 1 << 20) -> Ring:
        """The buffer of that name, made if there is none, with room for so many bytes."""
        return self.rings.setdefault(name, Ring(self.kernel, name, capacity))

    def task(self, task: Task, alive: bool = True) -> None:
        """Add a task; one that is not alive waits to be forked."""
        self.tasks[task.name] = task
        task.alive = alive
        if alive:
            self.kernel.create(task)

    def tracer(self, name: str, tasks: Iterable[str] | None = None, depth: int = -1) -> Tracer:
        """Add a tracer with a buffer of its own name."""
        ring = self._ring_of(name, name)
        tracer = Tracer(self.kernel, name, ring, None if tasks is None else tuple(tasks), depth)
        self.samplers[name] = tracer
        self._works[name] = tracer.work
        return tracer

    def event(self, attr: EventAttr, ring: str, posting: bool = False) -> None:
        """Open a perf event, of the posting of 2024 or as merged, that writes to a buffer."""
        if posting:
            self.samplers[attr.name] = PostingEvent(self.kernel, attr, self._ring_of(PERF, ring))
            return
        if self._perf is None:
            self._perf = Perf(self.kernel)
            self._works[self._perf.name] = self._perf.work
        self.samplers[attr.name] = self._perf.add(attr, self._ring_of(PERF, ring))

    def frames(self, names: Iterable[str]) -> tuple[int, ...]:
        """Addresses of frames, given by name, innermost first; a new name gets a new address."""
        return tuple(
            self._symbols.setdefault(name, 0x401000 + 16 * len(self._symbols)) for name in names
        )

    @property
    def symbols(self) -> dict[int, str]:
        """Names by address."""
        return {address: name for name, address in self._symbols.items()}

    # What happens

    def play(self, steps: Iterable[Step], lenient: bool = False) -> None:
        """Do the steps in order.

        Args:
            steps: what happens.
            lenient: leave out steps that cannot happen, for those who draw steps at random.

        Raises:
            NotNow: a step cannot happen, or its point is never reached.
            UsageError: it names who is not there.
        """
        for step in steps:
            try:
                self._do(step, lenient)
            except NotNow:
                if not lenient:
                    raise

    def finish(self) -> list[Violation]:
        """Read all buffers a last time; every broken invariant, in order of time."""
        self.read()
        found = list(self.ledger.violations)
        for method, invariant in (
            ("cookie", Invariant.COOKIE_STITCH),
            ("tid", Invariant.TID_STITCH),
        ):
            for one in self.stitch(method):
                if one.outcome is Outcome.WRONG and one.record is not None:
                    found.append(
                        Violation(
                            invariant, one.record.time,
                            f"{one.sample.event}: the sample of time {one.sample.time} gets the "
                            f"stack of another {_difference(one.sample, one.record)}",
                        )
                    )  # fmt: skip
        return sorted(found, key=lambda violation: violation.time)

    def stitch(self, method: str) -> list[Stitched]:
        """Stitch each tracer's samples with its own stacks, in one of the ways."""
        return [one for file in self.files.values() for one in STITCHERS[method](file)]

    def read(self) -> None:
        """Read all buffers once."""
        for name, rings in self._rings_of.items():
            read_round(self.kernel, rings, self.files.setdefault(name, []))

    def _ring_of(self, file: str, name: str) -> Ring:
        """A buffer that is read into that file."""
        ring, rings = self.ring(name), self._rings_of.setdefault(file, [])
        if ring not in rings:
            rings.append(ring)
        return ring

    def _do(self, step: Step, lenient: bool) -> None:
        kernel = self.kernel
        cpu = None
        if step.cpu >= len(kernel.cpus):
            raise UsageError(f"there is no cpu{step.cpu}")
        if step.cpu >= 0:
            cpu = kernel.cpus[step.cpu]
        if step.point is not None:
            kernel.at[step.point] = lambda _: self.play(step.inside, lenient)
        try:
            if cpu is None:
                self._anywhere(step)
            else:
                self._on(cpu, step)
        finally:
            missed = step.point is not None and kernel.at.pop(step.point, None) is not None
        self.unreached += missed
        if missed and not lenient:
            raise NotNow(f"cpu{step.cpu} {step.verb}: {step.point} is not reached")

    def _anywhere(self, step: Step) -> None:
        match step.verb:
            case "read":
                self.read()
            case "fill":
                self._known(self.rings, step.words[0], "ring").fill()
            case "no-memory":
                self.kernel.no_memory = True
                self.kernel.tell(Kind.SET, text="the next allocation for a trace will fail")
            case "no-queue":
                self.kernel.no_queue = True
                self.kernel.tell(Kind.SET, text="the next task work will be refused")

    def _on(self, cpu: Cpu, step: Step) -> None:
        kernel, word = self.kernel, step.words[0] if step.words else ""
        match step.verb:
            case "run":
                kernel.run(cpu, self._known(self.tasks, word, "task"))
            case "syscall" | "interrupt" | "nmi":
                kernel.enter(cpu, Level(step.verb))
            case "return":
                kernel.leave(cpu)
            case "sample":
                sampler = self._known(self.samplers, word, "tracer or event")
                if cpu.task is None or cpu.user_mode:
                    raise NotNow(f"cpu{cpu.number} is not in the kernel")
                sampler.sample(cpu)
            case "user":
                kernel.user(cpu, self.frames(step.words))
            case "fork":
                kernel.fork(cpu, self._known(self.tasks, word, "task"))
            case "exec":
                kernel.exec(cpu, self.frames(step.words))
            case "exit":
                kernel.exit(cpu)
            case "cancel":
                kernel.cancel(cpu, self._known(self._works, word, "tracer"))
            case "register":
                work = self._known(self._works, word, "tracer")
                if work in kernel.design.works:
                    raise NotNow(f"{word} is registered already")
                kernel.register(work)
            case "counter":
                if (value := _number(word)) <= cpu.counter:
                    raise NotNow(f"the cookie counter of cpu{cpu.number} only goes up")
                cpu.counter = value
                kernel.tell(Kind.SET, cpu, text=f"the cookie counter is at {word}")

    @staticmethod
    def _known(there: dict[str, T], name: str, what: str) -> T:
        if name not in there:
            raise UsageError(f"no {what} {name!r} (there are: {', '.join(there) or 'none'})")
        return there[name]


def _difference(sample: Sample, record: Deferred) -> str:
    return "task" if sample.serial != record.serial else "entry"


def _number(text: str) -> int:
    """A number, also as 2^N, 2^N+K or 2^N-K."""
    base, sign, rest = text.partition("-") if "-" in text else text.partition("+")
    try:
        value = 2 ** int(base[2:]) if base.startswith("2^") else int(base, 0)
        return value + (int(rest) if sign == "+" else -int(rest) if sign else 0)
    except ValueError as error:
        raise UsageError(f"{text!r} is no number such as 5 or 2^48-1") from error
