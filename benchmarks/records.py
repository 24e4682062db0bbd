#!/usr/bin/env python3
"""What perf shows of files that `unwindlab record` writes: `make records`.

Each program is recorded by each policy, with and without loss, on several CPUs. perf must show of
every sample the chain that the model has stitched, cookie left in place where the stack was lost;
by the policy `truth` that is the true stack. One line for each program and policy: samples,
unwinds saved, records lost, how both ways of stitching fare, and what the chains are worth.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from arch import ALL, Arch
from benchmarks.reader_tools import Tools, fetch_tools
from emu.check.options import RunOptions
from emu.deferred.stitch import Outcome, outcomes
from emu.errors import UnwindlabError
from emu.export.perf_layout import MOST_FRAMES
from emu.kernel.policy import POLICIES
from emu.linux.program import find_program
from emu.record.accuracy import Accuracy, judge
from emu.record.files import write_perf_data
from emu.record.plan import Recording, RecordPlan
from emu.record.recorder import Recorder
from testprogs.build import BuildError
from testprogs.unpack import DEFAULT_DESTINATION, unpack, unpack_trees

_STATIC = ("work-musl-v3-O2", "calls-musl-v3-O2-fp")
_DYNAMIC = "/bin/modules"
_EVERY = {"work-musl-v3-O2": 4001, "calls-musl-v3-O2-fp": 501, _DYNAMIC: 499}
_LOSSES = (0.0, 0.1)


@dataclass(frozen=True, slots=True)
class Case:
    """A program, where its files are, and how it is recorded."""

    arch: Arch
    name: str
    path: str
    root: str | None
    plan: RecordPlan


def main() -> int:
    """Record, read, compare; 1 if perf shows something else, 2 if it cannot be had."""
    parser = argparse.ArgumentParser(description="what perf shows of our recordings")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs with TEXT in the name")
    options = parser.parse_args()
    table = Table(title="recordings that perf has read", box=None, title_justify="left")
    for title in (
        "machine", "program", "policy", "loss", "samples", "entries", "unwinds", "lost",
        "by cookie", "by tid", "chains", "perf agrees",
    ):  # fmt: skip
        table.add_column(title, justify="left" if title in ("machine", "program") else "right")
    failures = []
    try:
        tools = fetch_tools()
        for case in _cases(options.only):
            recording, agreeing, first = _ask(tools, case)
            table.add_row(
                case.arch.name, case.name, case.plan.policy, f"{case.plan.loss:.0%}",
                f"{recording.samples}", f"{recording.entries}", f"{recording.unwinds}",
                f"{recording.lost}", _three(outcomes(recording.stitched["cookie"])),
                _three(outcomes(recording.stitched["tid"])),
                "/".join(str(count) for count in _kinds(recording)), f"{agreeing}",
            )  # fmt: skip
            if first:
                failures.append(f"{case.arch.name} {case.name} {case.plan.policy}: {first}")
    except (BuildError, UnwindlabError, OSError) as error:
        print(f"records.py: {error}", file=sys.stderr)
        return 2
    Console(width=None if sys.stdout.isatty() else 170).print(table)
    print("by cookie, by tid: right/wrong/missing; chains: right/truncated/beyond/wrong")
    for failure in failures:
        print(failure)
    return int(bool(failures))


def _cases(only: str) -> Iterator[Case]:
    unpack()
    roots = {tree.arch: str(tree.path) for tree in unpack_trees()}
    for arch in ALL:
        for name in (*_STATIC, _DYNAMIC):
            if only not in name:
                continue
            root = roots[arch.name] if name == _DYNAMIC else None
            path = name if root else str(DEFAULT_DESTINATION / arch.name / name)
            for policy in POLICIES:
                for loss in _LOSSES if policy == "truth" else _LOSSES[:1]:
                    plan = RecordPlan(_EVERY[name], policy=policy, cpus=3, tracers=2, loss=loss)
                    yield Case(arch, name, path, root, plan)


def _ask(tools: Tools, case: Case) -> tuple[Recording, int, str]:
    """The recording, how many samples perf shows as they are, and the first other one."""
    program = find_program(case.path, case.root)
    own = case.path.encode()
    recorder = Recorder(
        program, RunOptions(root=case.root), case.plan,
        lambda name: own if case.root is None and name == program.path else name,
    )  # fmt: skip
    recording = recorder.record()
    file = io.BytesIO()
    write_perf_data(file, case.arch, b"recorded", case.plan, recording)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "perf.data"
        data.write_bytes(file.getvalue())
        shown = tools.perf_script(data, None if case.root is None else Path(case.root))
        count = tools.perf_report(data, None if case.root is None else Path(case.root))
    wanted = Counter(_chains(recording))
    got = Counter(tuple(addresses) for addresses, _ in shown)
    agreeing = (wanted & got).total()
    first = ""
    if agreeing != wanted.total() or wanted.total() != got.total():
        missing = next(iter((wanted - got).keys() or (got - wanted).keys()))
        first = f"{agreeing} of {wanted.total()} samples, perf shows {got.total()}: "
        first += " ".join(f"{ip:#x}" for ip in missing[:4])
    elif count != wanted.total():
        first = f"perf report counts {count} of {wanted.total()} samples"
    return recording, agreeing, first


def _chains(recording: Recording) -> list[tuple[int, ...]]:
    """What perf is to show of its samples: merged, or with the cookie in the stack's place."""
    chains: list[tuple[int, ...]] = []
    for one in recording.stitched["perf7"]:
        if one.sample.event != "cycles":
            continue
        if one.record is None:
            chains.append((one.sample.cookie,))
        else:
            chains.append(recording.moments[one.record.entry].found[:MOST_FRAMES])
    return chains


def _three(counts: Counter[Outcome]) -> str:
    return "/".join(str(counts[kind]) for kind in Outcome)


def _kinds(recording: Recording) -> list[int]:
    kinds = judge(recording)
    return [kinds[kind] for kind in Accuracy]


if __name__ == "__main__":
    sys.exit(main())
