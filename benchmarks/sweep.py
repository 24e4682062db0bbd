#!/usr/bin/env python3
"""Sweeps of Debian's own programs and libraries, and of planted faults: `make sweep`.

Every file is swept by fresh processes, once with one job and once with two; both reports must be
the same. Then every single fault is planted in its table. What was found before is listed in
known_debian.toml, each with its proof; anything else fails. benchmarks/README.md explains the
figures.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from arch import ALL
from benchmarks.entries import Place, places_of
from benchmarks.packages import fetch, version
from emu.check.known import Known, read_known
from testprogs.build import BuildError
from testprogs.unpack import DEFAULT_DESTINATION, unpack

_KNOWN = Path(__file__).with_name("known_debian.toml")
_MANIFEST = Path(__file__).parent.parent / "testprogs" / "manifest.json"
_FILES = (
    ("bookworm", "busybox-static", "bin/busybox"),
    ("bookworm", "bash-static", "bin/bash-static"),
    ("sid", "libc6", "usr/lib/{machine}-linux-gnu/libc.so.6"),
    ("sid", "libstdc++6", "usr/lib/{machine}-linux-gnu/libstdc++.so.6"),
)
"""Suite, package and file."""
_FLOORS = {"x86_64": 99.0, "aarch64": 99.8, "s390x": 99.8}
"""Percent of the bytes that must be reached."""
_MOST_GIVEN_UP = 10
_LIMIT = 600
"""Seconds for one command."""
_FATES = ("planted", "detected", "harmless", "unreached", "missed")


@dataclass(frozen=True, slots=True)
class File:
    """What is swept, and what it is from."""

    machine: str
    path: Path
    origin: str


class Failures(list[str]):
    """What must not be, in words."""

    def check(self, good: bool, what: str) -> None:
        """Note it, unless all is well."""
        if not good:
            self.append(what)


def main() -> int:
    """Sweep and print; 1 if anything is new, stale, missed or not reached."""
    parser = argparse.ArgumentParser(description="sweep Debian's files and plant faults in them")
    names = [machine.name for machine in ALL]
    parser.add_argument("--machine", action="append", choices=names, help="only this one")
    parser.add_argument("--no-mutants", action="store_true", help="leave the planted faults out")
    options = parser.parse_args()
    machines = options.machine or names
    unpack()
    try:
        files = [file for machine in machines for file in _files(machine)]
        entries = [each for each in read_known(str(_KNOWN)) if set(each.arch) & set(machines)]
    except BuildError as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        return 2
    failures = Failures()
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(_sweeps(files, entries, failures))
    if not options.no_mutants:
        console.print(_mutants(files, machines, failures))
    for failure in failures:
        print(failure)
    return int(bool(failures))


def _files(machine: str) -> Iterator[File]:
    for suite, package, path in _FILES:
        place = fetch(suite, machine, package) / path.format(machine=machine)
        yield File(machine, place, f"{suite} {version(suite, machine, package)}")
    yield File(machine, DEFAULT_DESTINATION / machine / "work-glibc-O2", "libc.a of sid")


# ---- sweeps


def _sweeps(files: Sequence[File], entries: Sequence[Known], failures: Failures) -> Table:
    table = _table(
        "sweeps of .eh_frame", "file", "from", "functions", "instructions", "reached %", "known",
        "new", "frame given up", "contradicted", "s, 1 job", "s, 2 jobs", "functions/s",
    )  # fmt: skip
    places = places_of(entries)
    used: set[Place] = set()
    for file in files:
        name = f"{file.machine} {file.path.name}"
        one, seconds, cpu = _run("sweep", file.path, "cfi", 1)
        two, seconds_of_two, _ = _run("sweep", file.path, "cfi", 2)
        failures.check(one == two, f"{name}: two jobs do not report what one does")
        report = json.loads(one)
        coverage = report["coverage"]
        share = 100 * coverage["reached_bytes"] / coverage["bytes"]
        given_up = len(coverage["frame_given_up"])
        floor = _FLOORS[file.machine]
        failures.check(share >= floor, f"{name}: {share:.2f} % reached, less than {floor} %")
        failures.check(given_up <= _MOST_GIVEN_UP, f"{name}: {given_up} frames given up")
        new = 0
        for finding in report["findings"]:
            matches = [each for each in places if each.matches(file.machine, "cfi", finding)]
            used.update(matches)
            new += not matches
            where = finding["function"] or finding["section"]
            what = f"{finding['verdict']} in {where}, {finding['start']}, {finding['row']}"
            failures.check(bool(matches), f"{name}: new: {what}")
        table.add_row(
            name, file.origin, f"{coverage['functions']}", f"{coverage['instructions']:,}",
            f"{share:.2f}", f"{len(report['findings']) - new}", f"{new}",
            f"{given_up}", f"{report['contradicted']}", f"{seconds:.1f}",
            f"{seconds_of_two:.1f}", f"{coverage['functions'] / cpu:.0f}",
        )  # fmt: skip
    for each in places:
        failures.check(each in used, f"known finding that was not found: {each}")
    return table


# ---- planted faults


def _mutants(files: Sequence[File], machines: Sequence[str], failures: Failures) -> Table:
    table = _table("planted faults", "table", "file", *_FATES, "s")
    for file in files:
        score, seconds = _score(file.path, "cfi", failures)
        _add_score(table, ".eh_frame", f"{file.machine} {file.path.name}", score, seconds)
    programs = json.loads(_MANIFEST.read_text())["programs"]
    for machine in machines:
        paths = [
            DEFAULT_DESTINATION / machine / each["name"]
            for each in programs
            if each["arch"] == machine and each["sframe_version"] == 3
        ]
        begin = time.monotonic()
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            scores = [*pool.map(lambda path: _score(path, "sframe", failures, 1)[0], paths)]
        seconds = time.monotonic() - begin
        total = sum(scores, Counter[str]())
        _add_score(table, "SFrame V3", f"{machine}, {len(paths)} test programs", total, seconds)
    return table


def _score(path: Path, kind: str, failures: Failures, jobs: int = 2) -> tuple[Counter[str], float]:
    text, seconds, _ = _run("mutate", path, kind, jobs)
    report = json.loads(text)
    for miss in report["misses"]:
        place = miss["function"] or miss["section"]
        failures.append(
            f"{report['arch']} {path.name}: missed: {miss['kind']} {place} {miss['at']}"
        )
    return Counter(report["mutants"]), seconds


def _add_score(table: Table, kind: str, name: str, score: Counter[str], seconds: float) -> None:
    table.add_row(kind, name, *(f"{score[fate]:,}" for fate in _FATES), f"{seconds:.1f}")


# ---- both


def _run(command: str, path: Path, kind: str, jobs: int) -> tuple[str, float, float]:
    """(the JSON report of a fresh process, wall time, processor time of it and its children).

    The last is right only while no other one runs.
    """
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "report.json"
        words = [sys.executable, "-m", "emu.cli", command, "--table", kind, "--jobs", str(jobs)]
        words += ["--format", "json", "-o", str(output), str(path)]
        before, begin = os.times(), time.monotonic()
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=_LIMIT,
            cwd=_MANIFEST.parent.parent,
        )  # fmt: skip
        seconds, after = time.monotonic() - begin, os.times()
        if done.returncode not in (0, 1) or not output.exists():
            raise SystemExit(f"{command} {path}: status {done.returncode}: {done.stderr.strip()}")
        used = after.children_user + after.children_system
        return output.read_text(), seconds, used - before.children_user - before.children_system


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=None, header_style="bold", title_justify="left")
    for number, column in enumerate(columns):
        left = number == 0 or column in ("from", "file")
        table.add_column(column, justify="left" if left else "right", no_wrap=left)
    return table


if __name__ == "__main__":
    sys.exit(main())
