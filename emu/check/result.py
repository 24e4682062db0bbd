"""What a checked run has to say, before it is written in any format."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from arch import Arch
from emu.check.codemap import CheckedModule
from emu.check.findings import Finding
from emu.trace import Trace
from emu.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Guest:
    """How the program ended; `stopped` is one of exit, signal, fault, limit, timeout."""

    stopped: str
    exit_status: int | None
    instructions: int
    stdout: bytes
    stderr: bytes
    signal: str = ""
    reason: str = ""
    pc: int = 0
    dropped_output: int = 0
    """Bytes of output beyond what is kept."""


@dataclass(frozen=True, slots=True)
class SampledStack:
    """One sample: the truth, innermost first, and what each table's walk says of it."""

    at: str
    instruction: int
    pc: int
    truth: tuple[int, ...]
    walks: Mapping[str, Trace]
    verdict: Verdict
    """Of the walk by the checked table."""
    functions: tuple[str, ...] = ()
    """Where each address of `truth` returns to, in words."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A run and everything found in it."""

    program: str
    arch: Arch
    table: str
    guest: Guest
    verdicts: Counter[Verdict]
    caller_verdicts: Counter[Verdict]
    table_bytes: int
    """Code bytes that the table has entries for."""
    checked_bytes: int
    """Bytes of executed instructions for which a row was found."""
    unsupported: Counter[str]
    """System calls that are not implemented (ENOSYS)."""
    refused: Counter[str]
    """System calls that fail by design: host files, restartable sequences."""
    findings: tuple[Finding, ...]
    gaps: tuple[Finding, ...]
    samples: tuple[SampledStack, ...]
    missed_point: str
    """The point of --at, if it was not reached as often as asked; else empty."""
    modules: Mapping[str, CheckedModule] = field(default_factory=dict)
    """By name, the program first."""
    biases: Mapping[str, int] = field(default_factory=dict)
    """Runtime minus link-time address of each, where it was mapped last."""
    truth: Mapping[str, int] = field(default_factory=dict)
    """Calls, returns, abandoned frames and stack switches that the truth saw."""
    events_lost: int = 0
    seconds: float = 0.0
    """Wall time inside the emulator; never part of a report that must repeat."""


def judge_walk(trace: Trace, truth: tuple[int, ...]) -> Verdict:
    """First difference of a walk's return addresses from the true ones."""
    found = trace.return_addresses
    for got, want in zip(found, truth, strict=False):
        if got != want:
            return Verdict.WRONG_RA
    if len(found) > len(truth):
        return Verdict.WRONG_END
    if trace.stop is not Verdict.OUTERMOST:
        # As for a single step, a table that says nothing is not wrong, even at the bottom.
        short = len(found) < len(truth) or trace.stop.is_gap
        return trace.stop if short else Verdict.WRONG_END
    return Verdict.EXACT if len(found) == len(truth) else Verdict.WRONG_END
