#!/usr/bin/env python3
"""Debian's own programs in `unwindlab check`, beside the same under qemu-user: `make real`.

Each runs in a root of its suite's packages: twice by .eh_frame, and once by SFrame tables made from
it. Output and exit status must be the reference's, both reports the same, and each finding one of
known_real.toml, which has the proof that the table is wrong there. Anything else fails, and so does
an entry that nothing matched, unless only a part ran. benchmarks/README.md explains the figures.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from arch import ALL
from benchmarks.bytecode import compile_modules
from benchmarks.entries import Place, places_of
from benchmarks.examine import Outcome, examine
from benchmarks.programs import Program, read_programs, with_sources
from benchmarks.reference import tools_ready
from benchmarks.roots import Root, alone, make_root
from emu.check.known import read_known
from testprogs.build import BuildError

_KNOWN = Path(__file__).with_name("known_real.toml")
_QUICK_SUITE = "bookworm"
_ALWAYS = ("libc6", "libc6-dbg")
"""Packages of every root; the second has the names of local functions of the first."""


def main() -> int:
    """Run and print; 1 if anything differs or is new, 2 if the packages cannot be had."""
    options = _options()
    programs, suites = read_programs()
    chosen = [
        program
        for program in programs.values()
        if (program.quick or not options.quick) and options.only in program.name
    ]
    machines = options.machine or [machine.name for machine in ALL]
    wanted = options.suite or ([_QUICK_SUITE] if options.quick else list(suites))
    places = places_of(each for each in read_known(str(_KNOWN)) if _concerns(each.arch, machines))
    tasks = []
    with alone(), ThreadPoolExecutor(options.jobs) as pool:
        try:
            tools_ready()
            needed = with_sources(chosen, programs)
            making = [
                pool.submit(_root, suite, machine, needed, suites[suite])
                for suite in wanted
                for machine in machines
            ]
            roots = [each.result() for each in making]
        except BuildError as error:
            print(f"real.py: {error}", file=sys.stderr)
            return 2
        for root in roots:
            names = suites[root.suite]
            tasks += [
                pool.submit(examine, root, program, programs, names, places, not options.no_sframe)
                for program in chosen
            ]
        errors = Console(stderr=True)
        with Progress(console=errors, disable=not errors.is_terminal) as progress:
            outcomes = [
                task.result() for task in progress.track(tasks, description="real programs")
            ]
    if options.reports:
        for outcome in outcomes:
            _keep(outcome, Path(options.reports))
    console = Console(width=None if sys.stdout.isatty() else 190)
    console.print(_table(outcomes))
    failures = [failure for outcome in outcomes for failure in outcome.failures]
    complete = not (options.quick or options.only or options.suite or options.no_sframe)
    if complete:
        failures += unused(places, outcomes)
    for note, count in sorted(Counter(n for o in outcomes for n in o.notes).items()):
        print(f"note: {note} ({count} programs)")
    for failure in failures:
        print(failure)
    for line in ratios(outcomes):
        print(line)
    print(_summary(outcomes, failures))
    return int(bool(failures))


def unused(places: Iterable[Place], outcomes: Iterable[Outcome]) -> list[str]:
    """What to say of known findings that no run had."""
    used = {place for outcome in outcomes for place in outcome.used}
    return [f"known finding that was not found: {place}" for place in places if place not in used]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="check Debian's programs, beside qemu-user")
    names = [machine.name for machine in ALL]
    parser.add_argument("--machine", action="append", choices=names, help="only this one")
    parser.add_argument("--suite", action="append", choices=["bookworm", "sid"], help="only it")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs with TEXT in the name")
    parser.add_argument("--quick", action="store_true", help="the part for CI: some five minutes")
    parser.add_argument("--no-sframe", action="store_true", help="only .eh_frame")
    parser.add_argument("--reports", metavar="DIR", help="keep the reports of `check` there")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time (2)")
    return parser.parse_args()


def _concerns(arches: Sequence[str], machines: Iterable[str]) -> bool:
    return not arches or bool(set(arches) & set(machines))


def _root(suite: str, machine: str, programs: Sequence[Program], names: dict[str, str]) -> Root:
    packages = {program.package_in(names) for program in programs}
    root = make_root(suite, machine, [*_ALWAYS, *packages])
    compile_modules(root, programs, names)
    return root


def _keep(outcome: Outcome, folder: Path) -> None:
    """Write what `check` reported, for whoever reads what is new."""
    place = folder / outcome.root.suite / outcome.root.machine
    place.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"\W+", "-", outcome.program.name)
    for table, checked in (("cfi", outcome.cfi), ("sframe", outcome.sframe)):
        if checked:
            (place / f"{name}.{table}.json").write_text(checked.text)


def _table(outcomes: Sequence[Outcome]) -> Table:
    table = Table(title="real programs", box=None, header_style="bold", title_justify="left")
    columns = (
        "machine", "suite", "program", "instructions", "output", "good %", "wrong", "known",
        "new", "gaps", "repeat", "sframe good %", "wrong", "gaps", "s", "M instr/s",
    )  # fmt: skip
    for number, column in enumerate(columns):
        left = number < 3
        table.add_column(column, justify="left" if left else "right", no_wrap=left)
    for outcome in outcomes:
        table.add_row(*_row(outcome), style="red" if outcome.failures else None)
    return table


def _row(outcome: Outcome) -> list[str]:
    row = [outcome.root.machine, outcome.root.suite, outcome.program.name]
    cfi, sframe = outcome.cfi, outcome.sframe
    if cfi is None or not cfi.report:
        return [*row, "-", "no run"]
    count = cfi.report["guest"]["instructions"]
    row += [f"{count:,}", "same" if outcome.same_output else "DIFFERS"]
    row += [_good(cfi.verdicts), f"{sum(cfi.wrong.values()):,}"]
    row += [f"{outcome.known}", f"{outcome.new}", f"{cfi.gaps:,}"]
    row += ["same" if outcome.repeats else "DIFFERS"]
    if sframe is None or not sframe.report:
        row += ["-"] * 3
    else:
        row += [_good(sframe.verdicts), f"{sum(sframe.wrong.values()):,}", f"{sframe.gaps:,}"]
    return [*row, f"{cfi.seconds:.1f}", f"{count / cfi.seconds / 1e6:.1f}"]


def _good(verdicts: dict[str, int]) -> str:
    """Percent of right answers, never rounded up to all."""
    total = sum(verdicts.values())
    good = verdicts.get("exact", 0) + verdicts.get("outermost", 0)
    return f"{int(good * 1e5 / total) / 1e3:.3f}" if total else "-"


def ratios(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """How fast a dynamic program is checked, beside the same linked statically."""
    rates: dict[tuple[str, str, str], float] = {}
    for outcome in outcomes:
        if outcome.cfi and outcome.cfi.report:
            count = outcome.cfi.report["guest"]["instructions"]
            place = (outcome.root.machine, outcome.root.suite, outcome.program.name)
            rates[place] = count / outcome.cfi.seconds / 1e6
    for (machine, suite, name), rate in rates.items():
        static = rates.get((machine, suite, f"{name}, static"))
        if static:
            yield (
                f"speed: {machine} {suite} {name}: {rate:.1f} M instructions/s, "
                f"static {static:.1f}, ratio {rate / static:.2f}"
            )


def _summary(outcomes: Sequence[Outcome], failures: Sequence[str]) -> str:
    instructions = sum(
        checked.report["guest"]["instructions"]
        for outcome in outcomes
        for checked in (outcome.cfi, outcome.sframe)
        if checked and checked.report
    )
    return (
        f"{len(outcomes)} programs, {instructions:,} instructions checked; output as under "
        f"qemu-user {sum(o.same_output for o in outcomes)}, reports repeat "
        f"{sum(o.repeats for o in outcomes)}, findings known {sum(o.known for o in outcomes)}, "
        f"new {sum(o.new for o in outcomes)}; {len(failures)} failures"
    )


if __name__ == "__main__":
    sys.exit(main())
