"""Scenarios: who takes part and what happens, in TOML; docs/deferred.md describes the language."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from emu.deferred.cookies import LAYOUTS
from emu.deferred.events import Observer
from emu.deferred.ledger import Invariant
from emu.deferred.perf import EventAttr
from emu.deferred.session import DESIGNS, PERF, Session
from emu.deferred.steps import Step, read_steps
from emu.deferred.tasks import Task
from emu.errors import UsageError

_TOP = {
    "title": str, "about": str, "deferral": str, "cookie": str, "cpus": int, "breaks": list,
    "rings": dict, "task": list, "tracer": list, "event": list, "steps": str,
}  # fmt: skip
_TASK = {
    "name": str, "tid": int, "pid": int, "stack": str, "resident": int, "unwindable": bool,
    "kthread": bool, "guest": bool,
}  # fmt: skip
_TRACER = {"name": str, "tasks": list, "depth": int}
_EVENT = {
    "name": str, "abi": str, "ring": str, "software": bool, "defer_callchain": bool,
    "defer_output": bool, "task": str, "max_stack": int, "max_contexts": int, "kernel": bool,
    "user": bool, "sample_id_all": bool,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario as read.

    Args:
        name: of the file, for people.
        title: what it shows, in one line.
        about: what to look at, and where it comes from.
        design: name of the design.
        layout: name of the cookie layout.
        cpus: number of CPUs.
        breaks: invariants that it is there to break.
        steps: what happens.
        parts: tasks, tracers, events and rings, as in the file.
    """

    name: str
    title: str
    about: str
    design: str
    layout: str
    cpus: int
    breaks: frozenset[Invariant]
    steps: tuple[Step, ...]
    parts: Mapping[str, Any]

    def session(
        self, design: str = "", layout: str = "", observers: tuple[Observer, ...] = ()
    ) -> Session:
        """A run of it that has not begun, by this design and layout instead if they are given."""
        # Another design comes with the layout that goes with it.
        session = Session(
            design or self.design, layout or ("" if design else self.layout), self.cpus, observers
        )
        for name, capacity in self.parts.get("rings", {}).items():
            session.ring(name, capacity)
        forked = {word for step in _flat(self.steps) if step.verb == "fork" for word in step.words}
        for number, table in enumerate(self.parts.get("task", ()), 1):
            fields = dict(table)
            fields["stack"] = session.frames(fields.get("stack", "main").split())
            tid = fields.setdefault("tid", 100 + number)
            fields.setdefault("pid", tid)
            task = Task(serial=0, **fields)
            session.task(task, task.name not in forked)
        for table in self.parts.get("tracer", ()):
            session.tracer(**table)
        for table in self.parts.get("event", ()):
            fields = dict(table)
            posting = fields.pop("abi", "merged") == "2024"
            session.event(EventAttr(**{k: v for k, v in fields.items() if k != "ring"}),
                          fields.get("ring", PERF), posting)  # fmt: skip
        return session


def packaged() -> list[str]:
    """Names of the scenarios that come with the package."""
    folder = resources.files("emu.deferred") / "scenarios"
    return sorted(file.name[:-5] for file in folder.iterdir() if file.name.endswith(".toml"))


def load(name: str) -> Scenario:
    """Read a scenario from a file, or one of the packaged ones by its name.

    Raises:
        UsageError: there is none, or it is malformed; names the place.
    """
    if name in packaged():
        text = (resources.files("emu.deferred") / "scenarios" / f"{name}.toml").read_text("utf-8")
    else:
        try:
            text = Path(name).read_text("utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                f"{name}: no such scenario: {reason} (packaged: {', '.join(packaged())})"
            ) from error
    return read_scenario(name, text)


def read_scenario(name: str, text: str) -> Scenario:
    """Read a scenario from its text.

    Raises:
        UsageError: it is malformed; names the place.
    """
    try:
        top = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: {error}") from error
    _check(name, top, _TOP)
    for key, fields in (("task", _TASK), ("tracer", _TRACER), ("event", _EVENT)):
        for table in top.get(key, ()):
            if not isinstance(table, dict) or not isinstance(table.get("name"), str):
                raise UsageError(f"{name}: a {key} without name")
            _check(f"{name}: {key} {table['name']}", table, fields)
    for ring, capacity in top.get("rings", {}).items():
        if not isinstance(capacity, int) or capacity < 0:
            raise UsageError(f"{name}: rings: {ring} is no number of bytes")
    design, layout = top.get("deferral", "merged"), top.get("cookie", "")
    _one_of(name, "deferral", design, DESIGNS)
    if layout:
        _one_of(name, "cookie", layout, LAYOUTS)
    for table in top.get("event", ()):
        _one_of(name, "abi", table.get("abi", "merged"), ("2024", "merged"))
    for invariant in top.get("breaks", ()):
        _one_of(name, "breaks", invariant, tuple(Invariant))
    cpus = top.get("cpus", 2)
    if not 1 <= cpus <= 1 << 16:
        raise UsageError(f"{name}: cpus: {cpus} is not 1 to 65536")
    try:
        steps = read_steps(top.get("steps", ""))
    except UsageError as error:
        raise UsageError(f"{name}: steps: {error}") from error
    return Scenario(
        name, top.get("title", name), top.get("about", "").strip(), design, layout, cpus,
        frozenset(Invariant(one) for one in top.get("breaks", ())), steps, top,
    )  # fmt: skip


def _check(place: str, table: Mapping[str, Any], fields: Mapping[str, type]) -> None:
    for key, value in table.items():
        if key not in fields:
            raise UsageError(f"{place}: unknown {key!r} (known: {', '.join(fields)})")
        # A bool is an int in Python, not in TOML.
        if type(value) is not fields[key]:
            raise UsageError(f"{place}: {key} is no {fields[key].__name__}")


def _one_of(place: str, key: str, value: object, known: Any) -> None:
    if value not in known:
        raise UsageError(f"{place}: {key}: {value!r} is none of {', '.join(known)}")


def _flat(steps: tuple[Step, ...]) -> list[Step]:
    return [one for step in steps for one in (step, *_flat(step.inside))]
