"""The `deferred` command: a scenario of deferred unwinding as a timeline."""

import json
from collections.abc import Iterable, Iterator, Sequence
from errno import errorcode
from typing import Any

from emu.deferred.cookies import LAYOUTS, cookie_text
from emu.deferred.events import Event, Kind
from emu.deferred.ledger import Violation
from emu.deferred.scenario import Scenario, load
from emu.deferred.session import Session
from emu.deferred.stitch import STITCHERS, Outcome, outcomes
from emu.errors import UsageError
from emu.report.output import refuse_inputs, write_report
from emu.report.text import text_of

_DEEPEST = 4
"""Frames of a stack that a line shows."""


class _Log:
    """Keeps all events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def tell(self, event: Event) -> None:
        self.events.append(event)


def deferred(name: str, design: str, layout: str, format: str, output: str | None) -> int:
    """Play a scenario and print what happened.

    Args:
        name: a file, or the name of a packaged scenario.
        design: the design to play it with; empty: as the scenario says.
        layout: likewise the cookie layout.
        format: ``text`` or ``json``.
        output: where to; None: stdout.

    Returns:
        1 if the broken invariants are not those that the scenario announces, else 0. Played with
        another design or layout it announces nothing: 1 if any is broken.

    Raises:
        UsageError: the scenario is malformed, or has a step that cannot happen.
    """
    refuse_inputs(output, name)
    scenario = load(name)
    if layout and layout not in LAYOUTS:
        raise UsageError(f"no cookie layout {layout!r} (known: {', '.join(LAYOUTS)})")
    log = _Log()
    session = scenario.session(design, layout, (log,))
    session.play(scenario.steps)
    violations = session.finish()
    expected = frozenset() if design or layout else scenario.breaks
    answer = _answer(scenario, session, log.events, violations)
    if format == "json":
        text = json.dumps(answer, indent=1) + "\n"
    else:
        text = text_of(_text(scenario, session, log.events, violations, bool(design or layout)))
    write_report(text, output)
    return int({violation.invariant for violation in violations} != expected)


def _answer(
    scenario: Scenario, session: Session, events: list[Event], violations: list[Violation]
) -> dict[str, Any]:
    """The object of --format json."""
    ledger, layout = session.ledger, session.kernel.layout.name
    return {
        "scenario": scenario.name,
        "title": scenario.title,
        "deferral": session.kernel.design.name,
        "cookie": layout,
        "requests": ledger.requests,
        "callbacks": ledger.callbacks,
        "unwinds": session.kernel.unwinds,
        "cancelled": ledger.cancelled,
        "lost": {ring.name: ring.lost for ring in session.rings.values()},
        "stitched": {
            f"by_{method}": {
                outcome: outcomes(session.stitch(method))[outcome] for outcome in Outcome
            }
            for method in STITCHERS
        },
        "events": [
            {
                "time": event.time, "kind": event.kind, "cpu": event.cpu, "depth": event.depth,
                "task": event.task, "entry": event.entry, "who": event.who,
                "status": event.status, "cookie": cookie_text(layout, event.cookie),
                "frames": None if event.ips is None else _frames(session, event.ips),
                "text": event.text,
            }
            for event in events
        ],
        "broken": [
            {"invariant": one.invariant, "time": one.time, "text": one.text, "flaws": one.flaws}
            for one in violations
        ],
    }  # fmt: skip


def _text(
    scenario: Scenario, session: Session, events: list[Event], violations: list[Violation],
    other: bool,
) -> Iterator[str]:  # fmt: skip
    kernel = session.kernel
    yield scenario.title
    if not other:
        yield from scenario.about.splitlines()
    yield f"deferral {kernel.design.name}, cookie {kernel.layout.name}, {len(kernel.cpus)} CPUs"
    yield ""
    width = max((len(event.task) for event in events), default=0)
    for event in events:
        cpu = "" if event.cpu < 0 else f"cpu{event.cpu}"
        lead = f"{event.time:>4}  {cpu:<5} {event.task:<{width}}  {'. ' * _indent(event)}"
        yield f"{lead}{_line(event, session)}".rstrip()
    ledger = session.ledger
    lost = sum(ring.lost for ring in session.rings.values())
    yield ""
    yield (
        f"{ledger.requests} requests granted, {kernel.unwinds} unwinds, {ledger.callbacks} "
        f"callbacks, {ledger.cancelled} cancelled, {lost} entries lost"
    )
    for method in STITCHERS:
        counts = outcomes(session.stitch(method))
        names = {"cookie": "by cookie and tid", "perf7": "as perf 7 does", "tid": "by tid alone"}
        parts = ", ".join(f"{outcome} {counts[outcome]}" for outcome in Outcome)
        yield f"stitched {names[method]:<18} {parts}"
    for one in violations:
        flaws = f" ({', '.join(one.flaws)})" if one.flaws else ""
        yield f"broken at {one.time}: {one.invariant}: {one.text}{flaws}"
    if not violations:
        yield "all invariants hold"


def _indent(event: Event) -> int:
    """How deep in the kernel the line stands: what opens a level stands outside of it."""
    if event.cpu < 0:
        return 0
    return max(event.depth - (event.kind in (Kind.ENTER, Kind.NEST)), 0)


def _line(event: Event, session: Session) -> str:
    """One event in words."""
    cookie = cookie_text(session.kernel.layout.name, event.cookie)
    stack = "no trace" if event.ips is None else _stack(_frames(session, event.ips))
    match event.kind:
        case Kind.RUN:
            return "runs"
        case Kind.ENTER:
            return f"{event.text}, entry {event.entry}"
        case Kind.NEST:
            return event.text
        case Kind.UNNEST:
            return f"end of {event.text}"
        case Kind.USER:
            return "user mode"
        case Kind.REQUEST:
            return f"{event.who} asks: {_status(event.status)}, cookie {cookie}"
        case Kind.UNWIND:
            return f"unwound: {stack}"
        case Kind.CALLBACK:
            trace = event.text or stack
            return f"{event.who} is called: cookie {cookie}, {trace}"
        case Kind.SAMPLE:
            tail = f", cookie {cookie}" if event.cookie else ""
            return f"{event.who} sample: {event.text or 'empty'}{tail}"
        case Kind.RECORD:
            tail = f", cookie {cookie}" if event.cookie else ""
            return f"{event.who} record{tail}"
        case Kind.LOST:
            return f"{event.who} is full: a {event.text} is lost"
        case Kind.READ:
            return f"read: {event.text}"
        case Kind.FORK:
            return f"makes {event.who}, {event.text}"
        case Kind.EXEC:
            return "exec: the old stack is gone"
        case Kind.EXIT:
            return "exits"
        case Kind.GONE:
            return "is gone"
        case Kind.CANCEL:
            waiting = "a request was waiting" if event.status else "nothing was waiting for it"
            return f"{event.who} is cancelled, {waiting}"
        case Kind.REGISTER:
            return f"{event.who} registers: {_status(event.status)}"
        case Kind.FLAW:
            return f"flaw: {event.text}"
        case Kind.SET:
            tail = "" if event.ips is None else f": {stack}"
            return f"{event.who} {event.text}{tail}".strip()


def _status(status: int) -> str:
    return f"-{errorcode[-status]}" if status < 0 else str(status)


def _frames(session: Session, ips: Sequence[int]) -> list[str]:
    symbols = session.symbols
    return [symbols.get(ip, hex(ip)) for ip in ips]


def _stack(frames: Iterable[str]) -> str:
    """A stack in one line, innermost first."""
    names = list(frames)
    more = f" and {len(names) - _DEEPEST} more" if len(names) > _DEEPEST else ""
    return (" < ".join(names[:_DEEPEST]) + more) if names else "an empty trace"
