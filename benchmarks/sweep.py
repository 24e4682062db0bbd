#!/usr/bin/env python3
"""Sweeps of Debian's own programs and libraries: `make sweep`.

Every file is swept by fresh processes, once with one job and once with two; both reports must be
the same. What was found before is listed in known_debian.toml, each with its proof; anything else
fails. benchmarks/README.md explains the figures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from arch import ALL
from benchmarks.debian import Failures, File, debian_files, large_files, new_table, run_command
from benchmarks.entries import Place, places_of
from emu.check.known import Known, read_known
from testprogs.build import BuildError
from testprogs.unpack import unpack

_KNOWN = Path(__file__).with_name("known_debian.toml")
_FLOORS = {"x86_64": 99.0, "aarch64": 99.8, "s390x": 99.8}
"""Percent of the bytes that must be reached."""
_MOST_GIVEN_UP = 10


def main() -> int:
    """Sweep and print; 1 if anything is new, stale or not reached, 2 if the files cannot be had."""
    parser = argparse.ArgumentParser(description="sweep Debian's files")
    names = [machine.name for machine in ALL]
    parser.add_argument("--machine", action="append", choices=names, help="only this one")
    options = parser.parse_args()
    machines = options.machine or names
    unpack()
    try:
        files = [file for machine in machines for file in debian_files(machine)]
        files += [file for machine in machines for file in large_files(machine)]
        entries = [each for each in read_known(str(_KNOWN)) if set(each.arch) & set(machines)]
    except BuildError as error:
        print(f"sweep.py: {error}", file=sys.stderr)
        return 2
    failures = Failures()
    console = Console(width=None if sys.stdout.isatty() else 180)
    console.print(_sweeps(files, entries, failures))
    for failure in failures:
        print(failure)
    return int(bool(failures))


def _sweeps(files: Sequence[File], entries: Sequence[Known], failures: Failures) -> Table:
    table = new_table(
        "sweeps of .eh_frame", "file", "from", "functions", "instructions", "reached %", "known",
        "new", "frame given up", "contradicted", "s, 1 job", "s, 2 jobs", "functions/s",
        "MB",
    )  # fmt: skip
    places = places_of(entries)
    used: set[Place] = set()
    for file in track(files, console=Console(stderr=True), transient=True):
        name = file.name
        one, two = (
            run_command(("sweep", "--table", "cfi", "--jobs", jobs), file.path) for jobs in "12"
        )
        failures.check(one.report == two.report, f"{name}: two jobs do not report what one does")
        report = json.loads(one.report)
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
            f"{given_up}", f"{report['contradicted']}", f"{one.seconds:.1f}",
            f"{two.seconds:.1f}", f"{coverage['functions'] / one.processor:.0f}",
            f"{one.megabytes:.0f}",
        )  # fmt: skip
    for each in places:
        failures.check(each in used, f"known finding that was not found: {each}")
    return table


if __name__ == "__main__":
    sys.exit(main())
