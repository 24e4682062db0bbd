"""The state machine of deferred unwinding: what may happen next, and what must hold after it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from emu.deferred.design import Point
from emu.deferred.ledger import Invariant, Violation
from emu.deferred.session import Session
from emu.deferred.steps import Step
from emu.deferred.tasks import Cpu, Task

TRACERS = ("t", "u", "v")
MOST_BYTES = 4096 + 64
"""Of a task: a page and a few words, whatever happened and however many tracers there are."""
_RING_BYTES = 160
"""Four samples without a chain, or two stacks: buffers overflow often."""


@dataclass(frozen=True)
class World:
    """What a state machine plays with.

    Args:
        design: name of the design.
        layout: name of the cookie layout; empty: the design's own.
        windows: what may happen beside, and breaks the merged form by a reading of its code:
            ``reset`` an NMI while the entry is being forgotten, ``no-memory`` for a trace,
            ``no-queue`` task work is refused.
        counters: values that a CPU's cookie counter may be set to, as scenarios spell them.
        cancels: tracers come and go.
    """

    design: str
    layout: str = ""
    windows: tuple[str, ...] = ()
    counters: tuple[str, ...] = ()
    cancels: bool = True

    def session(self) -> Session:
        """Two CPUs, three tasks, a fourth with the tid of the third, a kernel thread."""
        session = Session(self.design, self.layout)
        for tracer in TRACERS:
            session.ring(tracer, _RING_BYTES)
        session.tracer("t")
        session.tracer("u", ["A", "B", "D"])
        session.tracer("v", ["B", "C"])
        for name, tid in (("A", 1), ("B", 2), ("C", 3)):
            session.task(Task(name, tid, tid, 0, session.frames([name, "main"])))
        session.task(Task("D", 3, 3, 0, session.frames(["D", "main"])), alive=False)
        session.task(Task("K", 9, 9, 0, (), kthread=True))
        return session

    def alphabet(self) -> list[Step]:
        """All steps, the plainer ones first: that is what shrinking goes by."""
        steps: list[Step] = []
        for cpu in range(2):
            steps += [Step("run", cpu, (name,)) for name in "ABCDK"]
            steps += [Step(verb, cpu) for verb in ("syscall", "return", "interrupt", "nmi")]
            steps += [Step("sample", cpu, (tracer,)) for tracer in TRACERS]
        for cpu in range(2):
            steps += [Step("exit", cpu), Step("fork", cpu, ("C",)), Step("fork", cpu, ("D",))]
            steps += [Step("exec", cpu, ("new",)), Step("user", cpu, ("other", "main"))]
            steps += [Step("counter", cpu, (value,)) for value in self.counters]
            if self.cancels:
                steps += [Step("cancel", cpu, (tracer,)) for tracer in TRACERS]
                steps += [Step("register", cpu, (tracer,)) for tracer in TRACERS]
            steps += _interrupted(cpu, "reset" in self.windows)
        steps += [Step("read"), *(Step("fill", words=(tracer,)) for tracer in TRACERS)]
        steps += [Step(window) for window in self.windows if window != "reset"]
        return steps


    def by_context(self) -> dict[tuple[int, str], list[Step]]:
        """The steps that can happen on a CPU, by what it is doing."""
        table: dict[tuple[int, str], list[Step]] = {}
        for cpu in range(2):
            mine = [step for step in self.alphabet() if step.cpu in (cpu, -1)]
            for context, verbs in _CONTEXTS.items():
                table[cpu, context] = [step for step in mine if step.verb in verbs.split()]
        return table


_ALWAYS = " read fill counter no-memory no-queue"
_CONTEXTS = {
    "idle": "run" + _ALWAYS,
    "user": "syscall interrupt nmi user cancel register" + _ALWAYS,
    "syscall": "return sample interrupt nmi run exit fork exec cancel register" + _ALWAYS,
    "interrupt": "return sample nmi" + _ALWAYS,
    "nmi": "return sample nmi" + _ALWAYS,
}


def context(cpu: Cpu) -> str:
    """What a CPU is doing, as far as it decides what can happen."""
    if cpu.task is None:
        return "idle"
    inside = cpu.levels[-1] if cpu.levels else cpu.task.in_kernel
    # A new task on its way out is in the kernel as in a system call.
    return "user" if inside is None else "syscall" if inside == "fork" else str(inside)


def _interrupted(cpu: int, reset: bool) -> Iterator[Step]:
    """Requests, returns and exits with something in between."""
    for tracer in TRACERS[:2]:
        asks = Step("sample", cpu, (tracer,))
        nmi = (Step("nmi", cpu), asks, Step("return", cpu))
        for point in (Point.COOKIE, Point.MASK):
            yield from (Step("sample", cpu, (one,), point, nmi) for one in TRACERS)
        yield Step("return", cpu, (), Point.CALLBACK, (asks,))
        yield Step("return", cpu, (), Point.CALLBACK, nmi)
        yield Step("return", cpu, (), Point.UNWIND, nmi)
        yield Step("exit", cpu, (), Point.CALLBACK, nmi)
        if reset:
            yield Step("return", cpu, (), Point.RESET, nmi)


MERGED = World("merged")
"""Where all invariants but that of stitching by tid must hold."""
_POSSIBLE = MERGED.by_context()


def check_now(session: Session) -> list[Violation]:
    """What is broken so far, buffers unread."""
    found = list(session.ledger.violations)
    design = session.kernel.design
    if any(design.bytes_of(task) > MOST_BYTES for task in session.kernel.tasks.values()):
        found.append(Violation(Invariant.BOUNDED_MEMORY, session.kernel.time, "too much memory"))
    return found


class Player:
    """A session that is told by bytes what happens next.

    Args:
        world: what may happen.
        possible: `World.by_context` of it.
    """

    def __init__(self, world: World, possible: dict[tuple[int, str], list[Step]]) -> None:
        self.session = world.session()
        self.steps: list[Step] = []
        """What happened."""
        self._possible = possible

    def happen(self, choice: int) -> bool:
        """Do the step that a byte chooses among those of a CPU; whether it took place."""
        cpu = choice & 1
        possible = self._possible[cpu, context(self.session.kernel.cpus[cpu])]
        step = possible[(choice >> 1) % len(possible)]
        before, unreached = self.session.kernel.time, self.session.unreached
        self.session.play([step], lenient=True)
        if self.session.kernel.time == before:
            return False
        if self.session.unreached > unreached:
            step = replace(step, point=None, inside=())
        self.steps.append(step)
        return True


class DeferredMachine(RuleBasedStateMachine):
    """Random steps over the merged form."""

    done = 0
    """Steps that took place, over all examples."""

    def __init__(self) -> None:
        super().__init__()
        self.player = Player(MERGED, _POSSIBLE)

    @rule(choices=st.binary(min_size=1, max_size=32))
    def happen(self, choices: bytes) -> None:
        """A few things, each on one of the CPUs and possible there.

        Several to a rule: hypothesis takes longer to choose a rule than the model to follow it.
        """
        for choice in choices:
            type(self).done += self.player.happen(choice)
            assert check_now(self.player.session) == []

    def teardown(self) -> None:
        """Whatever was lost: by cookie and tid no sample gets a stack of another entry."""
        broken = {violation.invariant for violation in self.player.session.finish()}
        assert broken <= {Invariant.TID_STITCH}


def verdict(session: Session) -> list[Violation]:
    """All that is broken at the end."""
    return session.finish() + check_now(session)
