#!/usr/bin/env python3
"""Check prebuilt programs of all three architectures and print one table: `make demo`.

Some programs have tables that are wrong, which is what this is about: each finding is named
below the table, and must be one of known.toml, where it is proven. Others are checked by a
convention (frame pointer, back chain), which is wrong wherever it is not set up yet; these
findings are only counted. Exit status 1 if a program did not run as it does on a real machine,
or a table has a finding that is not proven.
"""

from __future__ import annotations

import gc
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from emu.check.findings import Finding
from emu.check.known import Known, read_known, sort_known
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from emu.errors import UnwindlabError
from emu.verdict import Verdict
from testprogs.unpack import HERE, Prebuilt, unpack

_LONG_ROUNDS = 60
_LONG_OUTPUT = "work 60: b252aeb8\n"
"""Of `work 60`; it is portable C, so every machine prints the same."""
_CONVENTIONS = ("fp", "backchain")
_TIMED = 1_000_000
"""Instructions from which a speed says something: below, most of the time is translation."""


@dataclass(frozen=True)
class Case:
    """A program and how it is checked; `table` "auto" is .sframe if there is any."""

    program: str
    table: str = "auto"
    pac: bool = False
    rounds: int = 0
    """For `work`: more than it does by itself."""


_EVERYWHERE = (
    Case("work-musl-v3-O2", rounds=_LONG_ROUNDS),
    Case("work-glibc-O2", table="cfi"),
    Case("calls-musl-v3-O2-pie"),
    Case("parse-musl-v3-Os"),
    Case("coro-musl-v3-O2"),
    Case("frames-v3-O2-nofp"),
)
_CHOICE = {
    "x86_64": (
        *_EVERYWHERE,
        Case("calls-glibc-O2", table="cfi"),
        Case("work-musl-v3-O2-fp", table="fp"),
        Case("flow-v2-O2-nofp"),
        Case("flow-v1-O2-nofp"),
        Case("handcfi-v1-O2-nofp"),
    ),
    "aarch64": (
        *_EVERYWHERE,
        Case("calls-musl-v3-O2-bti", pac=True),
        Case("flow-v3-O2-retaa", pac=True),
        Case("flow-v2-O2-nofp"),
        Case("flow-v1-O2-nofp"),
        Case("handcfi-v1-O2-nofp"),
    ),
    "s390x": (
        *_EVERYWHERE,
        Case("calls-glibc-O2", table="cfi"),
        Case("frames-v3-O2-backchain", table="backchain"),
        Case("work-musl-v3-O2-z13"),
        Case("leaves-v3-O2-z13"),
        Case("handcfi-v3-O2-nofp"),
    ),
}


@dataclass
class Totals:
    """What all rows add up to."""

    programs: int = 0
    instructions: int = 0
    of_conventions: int = 0
    """Findings where a convention was checked."""
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    """A line for each finding in a table."""


def main() -> int:
    """Run the demo; its exit status."""
    known = read_known(str(HERE / "known.toml"))
    programs = {(entry.arch, entry.name): entry for entry in unpack()}
    jobs = [
        (programs[arch, case.program], case) for arch, cases in _CHOICE.items() for case in cases
    ]
    console = Console(width=None if sys.stdout.isatty() else 110)
    table = _new_table()
    totals = Totals()
    begin = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("checking", total=len(jobs))
        for entry, case in jobs:
            _check(entry, case, known, table, totals)
            # A finished run leaves cycles that hold its address space.
            gc.collect()
            bar.advance(task)
    console.print(table)
    for line in totals.named:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    for line in totals.failures:
        print(f"FAILED: {line}")
    print(
        f"{totals.programs} programs, {totals.instructions / 1e6:.1f} M instructions checked, "
        f"{len(totals.named)} findings in tables and {totals.of_conventions} of conventions, "
        f"{len(totals.failures)} failures; "
        f"{time.monotonic() - begin:.1f} s, of these {totals.seconds:.1f} s emulating; "
        f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
    )
    return int(bool(totals.failures))


def _new_table() -> Table:
    table = Table(
        box=None, pad_edge=False, header_style="bold", caption_justify="left",
        caption="exact: right in all values, the ends of the stack included; "
        "in gaps: the table has no row there",
    )  # fmt: skip
    for title in ("program", "architecture", "table"):
        table.add_column(title, no_wrap=True)
    for title in ("instructions", "exact", "findings", "in gaps", "M instr/s"):
        table.add_column(title, justify="right", no_wrap=True)
    return table


def _check(entry: Prebuilt, case: Case, known: list[Known], table: Table, totals: Totals) -> None:
    """Run one program and add its row."""
    totals.programs += 1
    arguments = [str(case.rounds)] if case.rounds else entry.arguments or []
    where = f"{entry.arch}/{entry.name}"
    options = RunOptions(table=case.table, pac=case.pac, arguments=tuple(arguments))
    try:
        result = Run(str(entry.path), options).to_end()
    except UnwindlabError as error:
        totals.failures.append(f"{where}: {error}")
        table.add_row(entry.name, entry.arch, case.table, "FAILED")
        return
    guest = result.guest
    expected = _LONG_OUTPUT if case.rounds else entry.stdout
    if guest.stopped != "exit":
        totals.failures.append(f"{where}: {guest.stopped} {guest.signal} {guest.reason}")
    elif guest.stdout.decode(errors="replace") != expected or (
        guest.exit_status != entry.exit_status
    ):
        totals.failures.append(f"{where}: not the output and exit status of a real machine")
    totals.instructions += guest.instructions
    totals.seconds += result.seconds
    if result.table in _CONVENTIONS:
        totals.of_conventions += len(result.findings)
    else:
        new = sort_known(result.findings, known, result.arch).new
        totals.named += [f"{where}: {_line(finding)}" for finding in result.findings]
        totals.failures += [f"{where}: not proven: {_line(finding)}" for finding in new]
    failed = bool(totals.failures) and totals.failures[-1].startswith(f"{where}:")
    table.add_row(
        entry.name + (f" {case.rounds}" if case.rounds else ""),
        entry.arch,
        _table_name(result, entry, case),
        f"{guest.instructions:,}",
        f"{result.verdicts[Verdict.EXACT] + result.verdicts[Verdict.OUTERMOST]:,}",
        str(len(result.findings)),
        f"{_in_gaps(result.verdicts):,}",
        _speed(result),
        style="bold red" if failed else "yellow" if result.findings else "",
    )


def _table_name(result: CheckResult, entry: Prebuilt, case: Case) -> str:
    version = f" V{entry.sframe_version}" if result.table == "sframe" else ""
    return result.table + version + (", PAC" if case.pac else "")


def _in_gaps(verdicts: Counter[Verdict]) -> int:
    return sum(count for verdict, count in verdicts.items() if verdict.is_gap)


def _speed(result: CheckResult) -> str:
    """Of long runs; a short one is over before the emulator has translated its code."""
    if result.guest.instructions < _TIMED:
        return ""
    return f"{result.guest.instructions / result.seconds / 1e6:.1f}"


def _line(finding: Finding) -> str:
    return (
        f"{finding.verdict.text} in {finding.function or finding.section} "
        f"at {finding.start:#x}..{finding.end:#x}, {finding.count} of {finding.checked} executions"
        + (" (as a caller)" if finding.role == "caller" else "")
    )


if __name__ == "__main__":
    sys.exit(main())
