#!/usr/bin/env python3
"""The kernel's user unwinders, revision by revision, over the test programs: `make policies`.

Each program is stopped some hundred times; at each stop every policy walks the stack, and its
chain is compared with the truth. The tables go to docs/policies.md.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from arch import ALL, Arch
from emu.check.options import RunOptions
from emu.kernel.attach import attach
from emu.kernel.events import Name
from emu.kernel.policy import POLICIES, Policy, Support
from emu.kernel.registry import Registry
from emu.kernel.state import UserTask
from emu.kernel.stops import Stop, prepare, stops
from emu.kernel.trace import KernelTrace
from emu.kernel.walk import walk
from emu.linux.program import find_program
from emu.record.accuracy import Accuracy, accuracy
from testprogs.unpack import DEFAULT_DESTINATION, unpack, unpack_trees

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "policies.md"
BEGIN, END = "<!-- made by make policies -->", "<!-- end of what is made -->"
MOST = 127
"""Entries of a trace, as perf asks for."""
_STOPS = 200
_INSTRUCTIONS = 3_000_000
_DYNAMIC = "modules, dynamic"
_PROGRAMS = (
    "frames-v2-O2-nofp", "frames-v3-O2-nofp", "frames-v3-O2-fp", "flow-v2-O2-nofp",
    "flow-v3-O2-nofp", "flow-v3-O2-fp", "flow-v3-O2-backchain", "leaves-v3-O2-nofp",
    "leaves-v3-O2-packed", "calls-musl-v3-O2", "calls-musl-v3-O2-fp", "calls-musl-v3-O2-backchain",
    "coro-musl-v3-O2", "parse-musl-v3-O2", "work-musl-v3-O2", "work-musl-v3-O2-fp",
    "work-glibc-O2",
)  # fmt: skip
"""Those of each architecture that has them."""
_ORDER = (Accuracy.RIGHT, Accuracy.BEYOND, Accuracy.TRUNCATED, Accuracy.WRONG)
"""Of the figures in a cell."""


@dataclass
class Cell:
    """One policy over one program."""

    support: Support
    kinds: Counter[Accuracy] = field(default_factory=Counter)
    names: Counter[Name] = field(default_factory=Counter)
    reads: int = 0
    steps: int = 0
    seconds: float = 0

    def add(self, trace: KernelTrace, want: tuple[int, ...]) -> None:
        """Count one walk."""
        self.kinds[accuracy(trace.ips, want)] += 1
        self.names.update({event.name for event in trace.events})
        self.reads += trace.reads
        self.steps += len(trace.ips)

    @property
    def text(self) -> str:
        """Percent of walks: right, beyond, truncated, wrong."""
        total = self.kinds.total()
        return "/".join(
            f"{100 * self.kinds[kind] / total:.0f}" for kind in _ORDER
        )


@dataclass
class Measured:
    """One architecture: by program, by (policy, how it is walked)."""

    arch: Arch
    cells: dict[str, dict[tuple[str, Support], Cell]] = field(default_factory=dict)


def main() -> int:
    """Measure, print and write; 1 if the truth is not the truth."""
    parser = argparse.ArgumentParser(description="compare the kernel's user unwinders")
    parser.add_argument("--stops", type=int, default=_STOPS, help=f"of each program ({_STOPS})")
    parser.add_argument("--only", default="", help="programs with this in their names")
    options = parser.parse_args()
    found = [Measured(arch) for arch in ALL]
    jobs = [(each, job) for each in found for job in _jobs(each.arch, options.only)]
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("walking", total=len(jobs))
        for each, job in jobs:
            each.cells[job.name] = _measure(each.arch, job, options.stops)
            bar.advance(task)
    text = "\n".join(_document(found))
    print(text)
    if not options.only:
        head, _, rest = DOCUMENT.read_text("utf-8").partition(BEGIN)
        DOCUMENT.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", "utf-8")
    truths = [cells["truth", Support.SUPPORTED] for each in found for cells in each.cells.values()]
    return int(any(cell.kinds[Accuracy.RIGHT] != cell.kinds.total() for cell in truths))


@dataclass(frozen=True)
class Job:
    """A program to run."""

    name: str
    path: str
    root: str | None = None
    arguments: tuple[str, ...] = ()


def _jobs(arch: Arch, only: str) -> Iterator[Job]:
    """The programs of a machine."""
    known = {entry.name: entry for entry in unpack(DEFAULT_DESTINATION, [arch.name])}
    for name in _PROGRAMS:
        if name in known and only in name:
            yield Job(name, str(known[name].path), None, tuple(known[name].arguments or ()))
    if only in _DYNAMIC:
        root = next(str(tree.path) for tree in unpack_trees() if tree.arch == arch.name)
        yield Job(_DYNAMIC, "/bin/modules", root)


def _measure(arch: Arch, job: Job, wanted: int) -> dict[tuple[str, Support], Cell]:
    """All policies over one program, stopped so many times."""
    program = find_program(job.path, job.root)
    options = RunOptions(
        root=job.root, arguments=job.arguments, max_instructions=_INSTRUCTIONS
    )
    session = prepare(program, options)
    for _ in stops(session, _INSTRUCTIONS):
        pass
    # An odd distance does not fall into step with loops.
    every = max(1, session.executed // wanted) | 1
    session = prepare(program, options)
    # No program here calls prctl(2) for a section, so that the registries need not share it.
    registries = {p.name: attach(p, session.process, program) for p in POLICIES.values()}
    cells: dict[tuple[str, Support], Cell] = {}
    for stop in stops(session, every):
        for policy in POLICIES.values():
            _walk(policy, arch, stop, registries, cells)
    return cells


def _walk(
    policy: Policy, arch: Arch, stop: Stop, registries: Mapping[str, Registry | None],
    cells: dict[tuple[str, Support], Cell],
) -> None:  # fmt: skip
    """One policy at one stop: where it does not serve the machine, in both ways."""
    want = (stop.sample.pc, *stop.truth)[:MOST]
    task = UserTask(stop.sample, registry=registries[policy.name])
    asked = [False] if policy.support(arch) is Support.SUPPORTED else [False, True]
    for hypothetical in asked:
        begin = time.perf_counter()
        trace = walk(policy, task, MOST, truth=stop.truth, hypothetical=hypothetical)
        seconds = time.perf_counter() - begin
        cell = cells.setdefault((policy.name, trace.support), Cell(trace.support))
        cell.add(trace, want)
        cell.seconds += seconds


def _document(found: list[Measured]) -> Iterator[str]:
    """The tables."""
    for each in found:
        yield from _table(each)
    yield from _totals(found)


def _columns(each: Measured) -> list[tuple[str, Support]]:
    """Policies in their order; one older walker stands for all, since it is the same one."""
    keys: dict[tuple[str, Support], None] = {}
    for cells in each.cells.values():
        keys.update(dict.fromkeys(cells))
    older = [key for key in keys if key[1] is Support.OLDER]
    return [key for key in keys if key not in older[1:]]


def _title(key: tuple[str, Support]) -> str:
    name, support = key
    if support is Support.OLDER:
        return str(support)
    return name if support is Support.SUPPORTED else f"{name}, {support}"


def _table(each: Measured) -> Iterator[str]:
    columns = _columns(each)
    yield f"\n### {each.arch.name}\n"
    yield "| program | stops | " + " | ".join(map(_title, columns)) + " |"
    yield "|---" * (len(columns) + 2) + "|"
    for name, cells in each.cells.items():
        total = next(iter(cells.values())).kinds.total()
        texts = [cells[key].text for key in columns]
        yield f"| {name} | {total} | " + " | ".join(texts) + " |"


def _totals(found: list[Measured]) -> Iterator[str]:
    yield "\n### What was met, and what it cost\n"
    yield "| architecture | policy | reads per entry | us per entry | events, in walks |"
    yield "|---|---|---|---|---|"
    for each in found:
        for key in _columns(each):
            cells = [cells[key] for cells in each.cells.values()]
            steps = sum(cell.steps for cell in cells)
            reads = sum(cell.reads for cell in cells)
            seconds = sum(cell.seconds for cell in cells)
            names = sum((cell.names for cell in cells), Counter[Name]())
            events = ", ".join(f"{name} {count}" for name, count in names.most_common())
            yield (
                f"| {each.arch.name} | {_title(key)} | {reads / steps:.1f} "
                f"| {seconds / steps * 1e6:.0f} | {events or '-'} |"
            )


if __name__ == "__main__":
    sys.exit(main())
