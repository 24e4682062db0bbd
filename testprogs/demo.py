#!/usr/bin/env python3
"""Check prebuilt programs of all three architectures and print one table: `make demo`.

    python testprogs/demo.py [--all] [--known FILE [--strict]]

Exit status 1 if a program did not run as it does on a real machine. Findings do not count in
the choice that is run by default: it has some programs whose tables are wrong, named below
the table, and some that are checked by a convention (frame pointer, back chain), which is
wrong wherever it is not set up yet. With `--all` every program that can run is checked by
its SFrame table, and a finding that `--known` does not list is a failure, too.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

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

sys.path.insert(0, str(Path(__file__).resolve().parent))

from unpack import Prebuilt, unpack

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
    findings: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    named: list[str] = field(default_factory=list)
    """A line for each finding."""
    used: set[Known] = field(default_factory=set)


def main() -> int:
    """Run the demo; its exit status."""
    parser = argparse.ArgumentParser(description="check prebuilt programs and print one table")
    parser.add_argument("--all", action="store_true", help="every program that can run")
    parser.add_argument("--known", metavar="FILE", help="TOML file of findings that are expected")
    parser.add_argument(
        "--strict", action="store_true", help="entries of --known that match nothing fail"
    )
    options = parser.parse_args()
    known = read_known(options.known) if options.known else []
    programs = {(entry.arch, entry.name): entry for entry in unpack() if entry.runs}
    jobs = list(_every(programs.values()) if options.all else _chosen(programs))
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
    unused = [one for one in known if one not in totals.used]
    for one in unused:
        print(f"known finding that matched nothing: {one}")
    for line in totals.failures:
        print(f"FAILED: {line}")
    print(
        f"{totals.programs} programs, {totals.instructions / 1e6:.1f} M instructions checked, "
        f"{totals.findings} findings, {len(totals.failures)} failed; "
        f"{time.monotonic() - begin:.1f} s, of these {totals.seconds:.1f} s emulating; "
        f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB"
    )
    new = options.all and totals.findings
    return int(bool(totals.failures or new or (options.strict and unused)))


def _chosen(programs: dict[tuple[str, str], Prebuilt]) -> Iterator[tuple[Prebuilt, Case]]:
    for arch, cases in _CHOICE.items():
        for case in cases:
            yield programs[arch, case.program], case


def _every(programs: Iterable[Prebuilt]) -> Iterator[tuple[Prebuilt, Case]]:
    for entry in programs:
        yield entry, Case(entry.name, pac="pointer authentication" in entry.note)


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
    new = _sort(result, known, totals)
    totals.instructions += guest.instructions
    totals.seconds += result.seconds
    totals.findings += len(new)
    if case.table not in _CONVENTIONS:
        totals.named += [f"{where}: {_line(finding)}" for finding in new]
    failed = bool(totals.failures) and totals.failures[-1].startswith(f"{where}:")
    table.add_row(
        entry.name + (f" {case.rounds}" if case.rounds else ""),
        entry.arch,
        _table_name(result, entry, case),
        f"{guest.instructions:,}",
        f"{result.verdicts[Verdict.EXACT] + result.verdicts[Verdict.OUTERMOST]:,}",
        str(len(new)),
        f"{_in_gaps(result.verdicts):,}",
        _speed(result),
        style="bold red" if failed else "yellow" if new else "",
    )


def _sort(result: CheckResult, known: list[Known], totals: Totals) -> Sequence[Finding]:
    """Findings that are not known; the entries that matched are noted."""
    split = sort_known(result.findings, known, result.arch)
    totals.used.update(entry for entry in known if entry not in split.unused)
    return split.new


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
