"""Playing a few steps and looking at what the tracers saw."""

from collections.abc import Collection, Mapping, Sequence

from emu.deferred.cookies import LAYOUTS
from emu.deferred.events import Event, Kind
from emu.deferred.perf import EventAttr
from emu.deferred.session import Session
from emu.deferred.steps import read_steps
from emu.deferred.stitch import Outcome
from emu.deferred.tasks import Task

Call = tuple[str, int, tuple[str, ...] | None]
"""Tracer, cookie, names of the frames."""


class Played:
    """A run of steps.

    Args:
        text: the steps, as in a scenario.
        design: name of the design.
        layout: name of the cookie layout.
        tracers: their names.
        filters: tracers that want only some tasks.
        events: perf events, in one buffer.
        posting: whether these are of the posting of 2024.
        rings: bytes of buffers.
        depths: most frames that a tracer wants.
        tasks: more tasks than A and B, tids 1 and 2; those that are forked are not alive yet.
    """

    def __init__(
        self,
        text: str,
        design: str = "merged",
        layout: str = "",
        tracers: Sequence[str] = ("t", "u"),
        filters: Mapping[str, Collection[str]] | None = None,
        events: Sequence[EventAttr] = (),
        posting: bool = False,
        rings: Mapping[str, int] | None = None,
        depths: Mapping[str, int] | None = None,
        tasks: Sequence[Task] = (),
    ) -> None:
        self.events: list[Event] = []
        self.session = Session(design, layout, 2, (self,))
        for name, capacity in (rings or {}).items():
            self.session.ring(name, capacity)
        for name in tracers:
            self.session.tracer(name, (filters or {}).get(name), (depths or {}).get(name, -1))
        for attr in events:
            self.session.event(attr, "perf", posting)
        steps = read_steps(text)
        forked = {step.words[0] for step in steps if step.verb == "fork"}
        for number, name in enumerate("AB", 1):
            frames = self.session.frames([f"in{name}", "middle", "main"])
            self.session.task(Task(name, number, number, 0, frames))
        for task in tasks:
            self.session.task(task, task.name not in forked)
        self.session.play(steps)
        self.broken = self.session.finish()

    def tell(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)

    @property
    def asked(self) -> list[tuple[str, int, int]]:
        """Every request: tracer, status, cookie."""
        return [(e.who, e.status, e.cookie) for e in self.events if e.kind is Kind.REQUEST]

    @property
    def called(self) -> list[Call]:
        """Every callback."""
        names = self.session.symbols
        calls: list[Call] = []
        for event in self.events:
            if event.kind is Kind.CALLBACK:
                frames = event.ips and tuple(names.get(ip, hex(ip)) for ip in event.ips)
                calls.append((event.who, event.cookie, frames))
        return calls

    @property
    def unwinds(self) -> int:
        """How often a stack was unwound."""
        return self.session.kernel.unwinds

    @property
    def flaws(self) -> list[str]:
        """Flaws that showed, in order."""
        return [e.text for e in self.events if e.kind is Kind.FLAW]

    def outcomes(self, method: str) -> dict[str, int]:
        """How many samples came out which way, ways that none did left out."""
        counts: dict[str, int] = {}
        for one in self.session.stitch(method):
            counts[one.outcome] = counts.get(one.outcome, 0) + 1
        return counts


def union(cpu: int, count: int) -> int:
    """A cookie of the merged form: {u32 cpu + 1, u32 cnt}, little endian."""
    return cpu + 1 | count << 32


def cookies(layout: str, cpu: int, counter: int, number: int) -> list[int]:
    """The next cookies of a CPU whose counter stands there."""
    made = []
    for _ in range(number):
        counter, cookie = LAYOUTS[layout].take(cpu, counter)
        made.append(cookie)
    return made


RIGHT, WRONG, MISSING = Outcome.RIGHT, Outcome.WRONG, Outcome.MISSING
