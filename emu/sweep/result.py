"""What a sweep found, and how much it reached."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from arch import Arch
from emu.check.findings import Finding
from emu.verdict import Verdict


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """What to sweep, and how."""

    table: str = "auto"
    function: str | None = None
    """Only this one, by name or 0xADDRESS."""
    jobs: int = 1
    """Processes; 0: in this one, for whoever sweeps many small files and can bear
    that code which ends the emulator ends the process."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class SweepFinding:
    """A wrong range, and what speaks for it."""

    finding: Finding
    runtime: int
    """Runtime address of its start."""
    confirmed: bool
    """A path through it gave everything back to its caller: the frame was what it should be."""
    reached_by: str
    """How the function was entered: ``entry``, ``jump table``, ``landing pad``, ``assumed``."""
    decisions: tuple[int, ...]
    """Link-time addresses of the branches that were taken from the entry on; all others fell
    through."""


@dataclass(frozen=True, slots=True)
class Unreached:
    """A stretch of a function that was not reached, by link-time addresses."""

    reason: str
    function: str | None
    section: str
    start: int
    end: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of the instructions in functions that the table describes, filler left out."""

    functions: int
    instructions: int
    reached: int
    bytes: int
    reached_bytes: int
    unreached: tuple[Unreached, ...]
    frame_given_up: tuple[str, ...]
    """Functions that hand their frame over to another one (longjmp and the like), where nothing
    can be compared any more."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """One sweep of one file."""

    program: str
    arch: Arch
    table: str
    verdicts: Counter[Verdict]
    """Of instructions of functions, each one counted once, by the worst that is reported."""
    coverage: Coverage
    findings: tuple[SweepFinding, ...]
    gaps: tuple[Finding, ...]
    counts: Mapping[str, int] = field(default_factory=dict)
    """What happened on the way: calls, branches, tail calls, skipped instructions, and so on."""
    doubtful: tuple[SweepFinding, ...] = ()
    """Wrong on ways that are not believed: not proven, and others contradict them. No findings."""
    contradicted: int = 0
    """Instructions in them."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Instructions that the emulator could not execute, by the reason."""
    seconds: float = 0.0
    """Wall time; never part of a report that must repeat."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong row at one instruction on one path, as a worker sends it."""

    pc: int
    verdict: Verdict
    root: int
    tag: int
    state: int
    """w.CONFIRMED and w.HANDED_OVER bits of its path."""
    decisions: tuple[int, ...]
    row: int
    count: int
    expected: tuple[int, int, int]
    got: tuple[int | None, int | None, int | None]
    doubtful: bool = False
    """Its path goes on behind a call that may not return."""
    reason: str = ""
    """Of WRONG_REG: the register and its values."""


def merge_runs(items: Iterable[Wrong], follows: Mapping[int, int]) -> list[list[Wrong]]:
    """Wrong instructions that follow each other, one for each address.

    Args:
        items: by ascending address.
        follows: address of an instruction -> that of the next one in its function.
    """
    runs: list[list[Wrong]] = []
    for item in items:
        last = runs[-1][-1] if runs else None
        if last is None or follows.get(last.pc) != item.pc or last.verdict != item.verdict:
            runs.append([])
        runs[-1].append(item)
    return runs


def best(items: Sequence[Wrong]) -> Wrong:
    """Of several paths to one instruction the one that proves most, the first among equals."""
    return min(items, key=lambda item: (-(item.state & 1), item.verdict, item.root, item.decisions))
