"""What was promised and what was kept: the invariants, judged from the events of a run."""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum

from emu.deferred.design import Design, promises
from emu.deferred.events import Event, Kind


class Invariant(StrEnum):
    """What ought to hold of every design."""

    COOKIE_UNIQUE = "cookie-unique"
    """A cookie never serves two entries of a task."""
    DELIVERED_ONCE = "delivered-once"
    """Every successful request is delivered exactly once, or accounted for as cancelled."""
    ONE_UNWIND = "one-unwind"
    """One unwind for each entry, however many ask."""
    COOKIE_STITCH = "cookie-stitch"
    """Stitched by cookie and tid is never wrong, whatever is lost."""
    TID_STITCH = "tid-stitch"
    """Stitched by tid alone is never wrong, whatever is lost."""
    BOUNDED_MEMORY = "bounded-memory"
    """The memory of a task does not grow with what happens, nor with the tracers."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken invariant.

    Args:
        time: of the event at which it shows.
        flaws: names of the flaws that the design showed on the way there.
        text: what is wrong.
    """

    invariant: Invariant
    time: int
    text: str
    flaws: tuple[str, ...] = ()


@dataclass(slots=True)
class _Promise:
    """Of one tracer, about one entry, under one cookie."""

    queued: int = 0
    repeated: int = 0
    calls: int = 0
    flaws: list[str] = field(default_factory=list)


_Key = tuple[int, str, int]
"""Entry, tracer, cookie."""


class Ledger:
    """Keeps the promises of a run; an observer.

    Args:
        design: what its requests promise.
    """

    def __init__(self, design: Design) -> None:
        self.violations: list[Violation] = []
        self.requests = self.callbacks = self.cancelled = 0
        self._design = design
        self._promises: dict[int, dict[_Key, _Promise]] = defaultdict(dict)
        self._entry_of: dict[tuple[int, int], int] = {}
        self._unwinds: dict[int, int] = defaultdict(int)
        self._flaws: list[str] = []
        self._entry_flaws: dict[int, list[str]] = defaultdict(list)

    def tell(self, event: Event) -> None:
        """Take one event."""
        match event.kind:
            case Kind.REQUEST:
                self._request(event)
            case Kind.CALLBACK:
                self._callback(event)
            case Kind.UNWIND:
                self._unwound(event)
            case Kind.FLAW:
                self._flaws.append(event.text)
                self._entry_flaws[event.serial].append(event.text)
            case Kind.CANCEL:
                self._cancel(event)
            case Kind.USER | Kind.GONE:
                self._settle(event)
            case Kind.ENTER:
                self._entry_flaws.pop(event.serial, None)

    def _request(self, event: Event) -> None:
        flaws, self._flaws = self._flaws, []
        if not promises(event.status):
            return
        self.requests += 1
        self._serves(event)
        key = event.entry, event.who, event.cookie
        promise = self._promises[event.serial].setdefault(key, _Promise())
        promise.queued += event.status == 0
        promise.repeated += event.status != 0
        promise.flaws += flaws

    def _callback(self, event: Event) -> None:
        self._flaws = []
        self.callbacks += 1
        key = event.entry, event.who, event.cookie
        promise = self._promises[event.serial].get(key)
        if event.text:
            self._broken(event, Invariant.DELIVERED_ONCE, "the callback gets no trace but memory "
                         "that nobody wrote", ("uninitialised-trace",))  # fmt: skip
            if promise is not None:
                promise.calls += 1
            return
        if promise is None:
            if not self._design.unasked:
                self._broken(event, Invariant.DELIVERED_ONCE, f"{event.who} is called for a "
                             "cookie that it was not given", self._of_entry(event))  # fmt: skip
            return
        self._serves(event)
        promise.calls += 1
        most = promise.queued if self._design.each_queued else 1
        if promise.calls > max(most, 1):
            self._broken(event, Invariant.DELIVERED_ONCE, f"{event.who} is called again",
                         self._of_entry(event))  # fmt: skip

    def _unwound(self, event: Event) -> None:
        self._unwinds[event.entry] += 1
        if self._unwinds[event.entry] == 2:
            self._broken(event, Invariant.ONE_UNWIND, "the stack is unwound again",
                         self._of_entry(event))  # fmt: skip

    def _cancel(self, event: Event) -> None:
        """What waits for a removed tracer is accounted for, not lost."""
        if self._design.each_queued and not event.status:
            return
        # v4 takes the work from one task; the others forget the tracer everywhere.
        serials = [event.serial] if self._design.each_queued else list(self._promises)
        for serial in serials:
            mine = self._promises[serial]
            for key in [key for key in mine if key[1] == event.who]:
                self.cancelled += not mine.pop(key).calls

    def _settle(self, event: Event) -> None:
        """User code runs: nothing may be waiting any more."""
        self._flaws = []
        self._unwinds.pop(event.entry, None)
        for (_, who, _), promise in self._promises.pop(event.serial, {}).items():
            least = promise.queued if self._design.each_queued else 1
            if promise.calls < max(least, 1):
                flaws = tuple(dict.fromkeys(promise.flaws)) or self._of_entry(event)
                text = f"{who} was promised a stack of {event.task} and gets none"
                self._broken(event, Invariant.DELIVERED_ONCE, text, flaws)

    def _serves(self, event: Event) -> None:
        first = self._entry_of.setdefault((event.serial, event.cookie), event.entry)
        if first != event.entry:
            self._broken(event, Invariant.COOKIE_UNIQUE, f"{event.task} has the cookie of its "
                         "earlier entry", self._of_entry(event))  # fmt: skip

    def _of_entry(self, event: Event) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self._entry_flaws.get(event.serial, ())))

    def _broken(
        self, event: Event, invariant: Invariant, text: str, flaws: tuple[str, ...]
    ) -> None:
        self.violations.append(Violation(invariant, event.time, text, flaws))
