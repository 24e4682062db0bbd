#!/usr/bin/env python3
"""Single faults planted in tables, and what becomes of them: `make mutate`.

They are judged by sweeps (Debian's files by .eh_frame, our test programs by SFrame) and by the
check of real runs (our test programs, by both tables). Anything missed fails, and so do fewer than
10,000 judged faults of a machine by either judge. benchmarks/README.md explains the figures.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

import emu.report.mutate  # loaded before any worker is forked, and so only once
from arch import ALL
from benchmarks.debian import Failures, debian_files, new_table
from emu.cli import main as unwindlab
from testprogs.build import BuildError
from testprogs.unpack import Prebuilt, unpack

assert emu.report.mutate
_LEAST = 10_000
"""Faults of one machine that either judge must have judged."""
_FATES = ("planted", "judged", "detected", "harmless", "unreached", "missed")
_VERSION = 3
"""Of SFrame: the faults are those of rows, which all versions become."""


@dataclass(slots=True)
class Score:
    """What became of the faults of some files, by one judge."""

    counts: Counter[str] = field(default_factory=Counter)
    given_up: set[str] = field(default_factory=set)
    misses: list[str] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Of another file."""
        self.counts += other.counts
        self.given_up |= other.given_up
        self.misses += other.misses


def main() -> int:
    """Plant, judge and print; 1 if any is missed, 2 if the files cannot be had."""
    parser = argparse.ArgumentParser(description="plant single faults in tables and judge them")
    names = [machine.name for machine in ALL]
    parser.add_argument("--machine", action="append", choices=names, help="only this one")
    parser.add_argument("--by", choices=("sweep", "check"), help="only by this judge")
    options = parser.parse_args()
    programs = unpack()
    failures = Failures()
    console = Console(width=None if sys.stdout.isatty() else 200)
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(_processors(), mp_context=context) as pool:
        for machine in options.machine or names:
            ours = [each for each in programs if _has_sframe(each, machine)]
            table = new_table(
                f"planted faults, {machine}", "by", "table", "file", *_FATES, "s",
                "frame given up by",
            )  # fmt: skip
            try:
                if options.by != "check":
                    _by_sweep(machine, ours, pool, table, failures)
                if options.by != "sweep":
                    _by_check(machine, ours, pool, table, failures)
            except BuildError as error:
                print(f"planted.py: {error}", file=sys.stderr)
                return 2
            console.print(table)
    for failure in failures:
        print(failure)
    return int(bool(failures))


def _processors() -> int:
    return len(os.sched_getaffinity(0))


def _by_sweep(
    machine: str, ours: Sequence[Prebuilt], pool: Executor, table: Table, failures: Failures
) -> None:
    total = Score()
    for file in debian_files(machine):
        begin = time.monotonic()
        score = pool.submit(_judged, "sweep", "cfi", file.path, _processors()).result()
        _add(table, "sweep", "cfi", file.path.name, score, time.monotonic() - begin)
        total.add(score)
    total.add(_together("sweep", "sframe", ours, pool, table))
    _demand(machine, "sweep", total, failures)


def _by_check(
    machine: str, ours: Sequence[Prebuilt], pool: Executor, table: Table, failures: Failures
) -> None:
    total = Score()
    for kind in ("sframe", "cfi"):
        total.add(_together("check", kind, [each for each in ours if each.runs], pool, table))
    _demand(machine, "check", total, failures)


def _has_sframe(program: Prebuilt, machine: str) -> bool:
    return program.arch == machine and program.sframe_version == _VERSION


def _together(
    by: str, kind: str, programs: Sequence[Prebuilt], pool: Executor, table: Table
) -> Score:
    """Many small programs, each by one process, on one line."""
    begin = time.monotonic()
    total = Score()
    scores = [pool.submit(_judged, by, kind, each.path, 1) for each in programs]
    for score in scores:
        total.add(score.result())
    _add(table, by, kind, f"{len(programs)} test programs", total, time.monotonic() - begin)
    return total


def _judged(by: str, kind: str, path: Path, jobs: int) -> Score:
    """What the command says of one file."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "report.json"
        words = ["mutate", "--by", by, "--table", kind, "--jobs", str(jobs), "--format", "json"]
        status = unwindlab([*words, "-o", str(output), str(path)])
        if status not in (0, 1):
            raise SystemExit(f"{' '.join(words)} {path}: status {status}")
        report = json.loads(output.read_text())
    counts = Counter(report["mutants"])
    counts["judged"] = counts["planted"] - counts["unreached"]
    misses = [
        f"{report['arch']} {path.name}, {kind}, by {by}: missed: {miss['kind']} in "
        f"{miss['function']} at {miss['at']}"
        for miss in report["misses"]
    ]
    return Score(counts, set(report["frame_given_up"]), misses)


def _add(table: Table, by: str, kind: str, name: str, score: Score, seconds: float) -> None:
    shown = ".eh_frame" if kind == "cfi" else f"SFrame V{_VERSION}"
    fates = [f"{score.counts[fate]:,}" for fate in _FATES]
    table.add_row(by, shown, name, *fates, f"{seconds:.1f}", " ".join(sorted(score.given_up)))


def _demand(machine: str, by: str, score: Score, failures: Failures) -> None:
    judged = score.counts["judged"]
    failures.extend(score.misses)
    failures.check(judged >= _LEAST, f"{machine}: only {judged} faults judged by {by}")


if __name__ == "__main__":
    sys.exit(main())
