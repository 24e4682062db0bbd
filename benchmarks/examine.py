"""One program in one root: under the reference, under `unwindlab check` twice, and with SFrame."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.agree import disagreements
from benchmarks.entries import Place
from benchmarks.programs import ENVIRONMENT, Program
from benchmarks.reference import Reference, elf_files, run_reference
from benchmarks.roots import Root, add_tables
from emu.verdict import Verdict
from testprogs.build import BuildError

CHECK = (sys.executable, "-m", "emu.cli", "check")
_CHECKOUT = Path(__file__).parent.parent
_MOST_INSTRUCTIONS = 4_000_000_000
_SECONDS = 900
_GAPS = {verdict.text for verdict in Verdict if verdict.is_gap}
_GOOD = {Verdict.EXACT.text, Verdict.OUTERMOST.text}
_SHOWN = 200
"""Characters of an output that is not what it should be."""


@dataclass(slots=True)
class Checked:
    """The reports of one kind of table."""

    text: str
    error: str
    seconds: float
    report: dict[str, Any]

    @property
    def verdicts(self) -> Counter[str]:
        """Counts by verdict."""
        return Counter(self.report.get("verdicts", {}))

    @property
    def gaps(self) -> int:
        """Instructions that the table says nothing about."""
        return sum(count for verdict, count in self.verdicts.items() if verdict in _GAPS)

    @property
    def wrong(self) -> dict[str, int]:
        """Counts of what is neither good nor a gap."""
        return {v: n for v, n in self.verdicts.items() if v not in _GOOD | _GAPS}


@dataclass(slots=True)
class Outcome:
    """All that is to say about one program in one root."""

    root: Root
    program: Program
    cfi: Checked | None = None
    sframe: Checked | None = None
    known: int = 0
    new: int = 0
    repeats: bool = False
    same_output: bool = False
    used: set[Place] = field(default_factory=set)
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def fail(self, what: str) -> None:
        """Note what must not be."""
        place = f"{self.root.suite} {self.root.machine} {self.program.name}"
        self.failures.append(f"{place}: {what}")


def examine(
    root: Root,
    program: Program,
    programs: Mapping[str, Program],
    names: Mapping[str, str],
    places: Iterable[Place],
    sframe: bool = True,
) -> Outcome:
    """Run a program in all ways and compare.

    Args:
        root: where it is.
        program: that one.
        programs: all of the list, for what it reads from others.
        names: of the suite.
        places: the known findings.
        sframe: run it with SFrame as well.
    """
    outcome = Outcome(root, program)
    try:
        words, stdin, reference = reference_of(root, program, programs, names)
        if reference.started:
            outcome.fail(f"starts others: {', '.join(reference.started)}")
        outcome.cfi = _check(root.root, "cfi", words, stdin)
        again = _check(root.root, "cfi", words, stdin)
        outcome.repeats = bool(outcome.cfi.text) and outcome.cfi.text == again.text
        if not outcome.repeats:
            outcome.fail("cfi: two runs do not report the same")
        outcome.same_output = judge(outcome, "cfi", outcome.cfi, reference, places)
        if sframe:
            failed = add_tables(root, elf_files(root, words, reference))
            outcome.notes += [f"{root.suite} {root.machine} {each}" for each in failed]
            outcome.sframe = _check(root.sframe, "sframe", words, stdin)
            outcome.same_output &= judge(outcome, "sframe", outcome.sframe, reference, places)
            if outcome.cfi.report and outcome.sframe.report:
                for each in disagreements(outcome.cfi.report, outcome.sframe.report):
                    outcome.fail(f"sframe: {each}")
    except (BuildError, subprocess.TimeoutExpired) as error:
        outcome.fail(str(error))
    return outcome


def reference_of(
    root: Root, program: Program, programs: Mapping[str, Program], names: Mapping[str, str]
) -> tuple[list[str], bytes, Reference]:
    """(path and arguments, what it reads, what it does under the reference)."""
    name, *arguments = program.words(names)
    words = [root.program(name), *arguments]
    stdin = b""
    if program.source:
        stdin = reference_of(root, programs[program.source], programs, names)[2].stdout
    elif program.stdin:
        stdin = (root.root / program.stdin[1:]).read_bytes()
    return words, stdin, run_reference(root, words, ENVIRONMENT, stdin)


def _check(root: Path, table: str, words: Sequence[str], stdin: bytes) -> Checked:
    """One run of `unwindlab check`, a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        report, given = Path(folder) / "report.json", Path(folder) / "stdin"
        given.write_bytes(stdin)
        options = ["--root", str(root), "--table", table, "--stdin", str(given)]
        options += ["--max-instructions", str(_MOST_INSTRUCTIONS), "--timeout", str(_SECONDS)]
        options += [word for each in ENVIRONMENT for word in ("--env", each)]
        begin = time.monotonic()
        done = subprocess.run(
            [*CHECK, *options, "--format", "json", "-o", str(report), *words],
            capture_output=True, text=True, check=False, timeout=2 * _SECONDS, cwd=_CHECKOUT,
        )  # fmt: skip
        seconds = time.monotonic() - begin
        text = report.read_text() if report.exists() else ""
    error = ""
    if done.returncode not in (0, 1) or not text:
        error = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    return Checked(text, error, seconds, json.loads(text) if text else {})


def judge(
    outcome: Outcome, table: str, checked: Checked, reference: Reference, places: Iterable[Place]
) -> bool:
    """Note all that is wrong in a report; whether the guest did what it should.

    Args:
        outcome: gets the failures, and the places that were found.
        table: that was checked.
        checked: its report.
        reference: what the guest should do.
        places: the known findings.
    """
    if checked.error:
        outcome.fail(f"{table}: {checked.error}")
    if not checked.report:
        return False
    guest = checked.report["guest"]
    same = True
    for what in ("stdout", "stderr"):
        wanted = getattr(reference, what).decode("utf-8", "replace")
        if guest[what] != wanted:
            same = False
            outcome.fail(f"{table}: {what}: {_difference(guest[what], wanted)}")
    if guest["exit_status"] != reference.exit_status:
        same = False
        outcome.fail(f"{table}: exit {guest['exit_status']}, not {reference.exit_status}")
    for finding in checked.report["findings"]:
        matches = {p for p in places if p.matches(outcome.root.machine, table, finding)}
        outcome.used |= matches
        outcome.known += bool(matches)
        outcome.new += not matches
        if not matches:
            where = f"{finding['function'] or finding['section']} {finding['start']}"
            outcome.fail(
                f"{table}: new: {finding['verdict']} in {finding['module']} {where}, "
                f"{finding['role']}, {finding['count']} of {finding['checked']}, {finding['row']}"
            )
    if table == "cfi":
        calls = checked.report["unsupported_syscalls"]
        outcome.notes += [f"{outcome.root.machine}: no system call {call}" for call in calls]
    return same


def _difference(seen: str, wanted: str) -> str:
    at = next(
        (at for at, pair in enumerate(zip(seen, wanted, strict=False)) if pair[0] != pair[1]),
        min(len(seen), len(wanted)),
    )
    start = max(0, at - 40)
    return (
        f"differs at {at} of {len(wanted)}: "
        f"{seen[start : start + _SHOWN]!r}, not {wanted[start : start + _SHOWN]!r}"
    )
