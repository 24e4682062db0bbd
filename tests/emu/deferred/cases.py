"""What is looked for: each design and layout against each invariant, and each flaw by name."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from emu.deferred.ledger import Invariant, Violation
from emu.deferred.steps import Step, read_steps
from tests.emu.deferred.machine import World

FILE = Path(__file__).with_name("sequences.toml")
"""What was found: written by `make deferred-table`."""

DESIGNS = {
    "sketch": World("sketch"),
    "posting-v4": World("posting-v4", windows=("no-memory",)),
    "merged": World("merged"),
    "merged, an NMI in the reset": World("merged", windows=("reset",)),
    "merged, no memory": World("merged", windows=("no-memory",)),
    "merged, task work refused": World("merged", windows=("no-queue",)),
}
"""Designs, each with its own layout, and what may happen to the merged form beside."""

LAYOUTS = {
    "global": ("2^64-1",),
    "free": ("2^48-1",),
    "hack": (),
    "repaired": ("2^48-1",),
    "unshifted": (),
    "masked": ("2^47",),
    "v4": ("2^48",),
    "low-bits": ("2^48",),
    "struct": ("2^64-1",),
    "union": ("2^32-1",),
}
"""Layouts under the merged form, and where their counters may jump to: short of the wrap, as if
as many other entries had asked meanwhile. They never go back."""

UNWRAPPED = ("global", "free", "repaired", "masked", "v4", "low-bits", "struct", "union")
"""Layouts that hold as long as no counter wraps."""

FLAWS = {
    "trigger-in-loop": ("sketch", ()),
    "first-cookie-0": ("posting-v4", ()),
    "pending-in-other-task": ("posting-v4", ()),
    "pending-in-callback": ("posting-v4", ()),
    "uninitialised-trace": ("posting-v4", ("no-memory",)),
    "nmi-in-reset": ("merged", ("reset",)),
    "completed-without-cache": ("merged", ("no-memory",)),
    "queue-error-clears-all": ("merged", ("no-queue",)),
}
"""Named flaws that break an invariant: the design, and what has to happen beside."""

_OF_LAYOUT = (Invariant.COOKIE_UNIQUE, Invariant.COOKIE_STITCH)


@dataclass(frozen=True)
class Case:
    """One search.

    Args:
        subject: the row of the table, or the name of the flaw.
        world: where to search.
        invariant: which one is to break; None: any, but by that flaw alone.
    """

    subject: str
    world: World
    invariant: Invariant | None

    def wanted(self, violations: list[Violation]) -> bool:
        """Whether these violations are what is looked for."""
        if self.invariant is None:
            return any(violation.flaws == (self.subject,) for violation in violations)
        return any(violation.invariant is self.invariant for violation in violations)

    @property
    def key(self) -> str:
        """Its name in the file."""
        return f"{self.subject}: {self.invariant or 'flaw'}"


def cases() -> Iterator[Case]:
    """All searches, in the order of the tables."""
    for subject, world in DESIGNS.items():
        yield from (Case(subject, world, invariant) for invariant in Invariant)
    for layout, counters in LAYOUTS.items():
        world = World("merged", layout, counters=counters)
        yield from (Case(f"cookie {layout}", world, invariant) for invariant in _OF_LAYOUT)
    for layout in UNWRAPPED:
        world = World("merged", layout)
        yield from (Case(f"cookie {layout}, no wrap", world, one) for one in _OF_LAYOUT)
    for flaw, (design, windows) in FLAWS.items():
        yield Case(flaw, World(design, windows=windows), None)


def found() -> dict[str, tuple[Step, ...]]:
    """The sequences of the file, by the key of their case; empty: none was found."""
    return {
        key: read_steps(text) for key, text in tomllib.loads(FILE.read_text("utf-8")).items()
    }
