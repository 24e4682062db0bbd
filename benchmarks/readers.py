#!/usr/bin/env python3
"""Whether gdb, eu-stack and perf read our files as what they are: docs are in README.md.

Programs run in the emulator to points all over the run. At each one the process is written as a
core and as a sample of perf.data: what the readers make of these must be the true stack. A point
where not even the .eh_frame leads to the true stack says nothing of a file; another is taken.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from arch import ALL
from benchmarks.debian import new_table
from benchmarks.programs import ENVIRONMENT, read_programs
from benchmarks.reader_tools import Tools, fetch_tools
from benchmarks.recorded import DEFERRED, STACK, Recorded, record
from benchmarks.roots import inside, make_root
from emu.check.options import RunOptions
from emu.errors import UnwindlabError
from emu.image import load_image
from testprogs.build import BuildError
from testprogs.unpack import DEFAULT_DESTINATION, unpack

_STATIC = ("work-glibc-O2", "calls-musl-v3-O2-pie")
_DYNAMIC = "/bin/modules"
_SUITE, _DEBIAN = "bookworm", ("mawk", "sort", "lua")
"""Programs of real_programs.toml, and whose."""
_MOST = 30_000_000
"""Instructions of a run that are looked at."""


@dataclass(frozen=True, slots=True)
class Case:
    """A program to record."""

    machine: str
    title: str
    program: str
    options: RunOptions


@dataclass(frozen=True, slots=True)
class Answer:
    """What one reader makes of the points of one program."""

    reader: str
    points: int
    agreeing: int
    first: str
    """The first point at which it disagrees, in words."""


def main() -> int:
    """Record, read, compare; 1 if a reader disagrees, 2 if something cannot be had."""
    parser = argparse.ArgumentParser(description="what gdb, eu-stack and perf read in our files")
    names = [machine.name for machine in ALL]
    parser.add_argument("--machine", action="append", choices=names, help="only this one")
    parser.add_argument("--only", default="", metavar="TEXT", help="programs with TEXT in the name")
    parser.add_argument("--points", type=int, default=25, help="of each run (25)")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of points (1)")
    parser.add_argument("--keep", metavar="DIR", help="leave the files there")
    options = parser.parse_args()
    table = new_table(
        "Points at which a reader shows the true stack", "machine", "program", "reader", "points",
        "agreeing", "passed over", "frames",
    )  # fmt: skip
    failures = []
    try:
        tools = fetch_tools()
        cases = [
            case
            for machine in options.machine or names
            for case in _cases(machine)
            if options.only in case.title
        ]
        for case in cases:
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary)
                if options.keep:
                    folder = Path(options.keep) / case.machine / re.sub(r"\W+", "-", case.title)
                    folder.mkdir(parents=True, exist_ok=True)
                recorded, answers = _ask(tools, case, folder, options.points, options.seed)
            frames = sum(map(len, recorded.truths))
            for answer in answers:
                table.add_row(
                    case.machine, case.title, answer.reader, str(answer.points),
                    str(answer.agreeing), str(recorded.passed), f"{frames:,}",
                )  # fmt: skip
                if answer.first:
                    failures.append(f"{case.machine} {case.title}: {answer.reader}: {answer.first}")
    except (BuildError, UnwindlabError, OSError) as error:
        print(f"readers.py: {error}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    print(", ".join(f"{name} {version}" for name, version in tools.versions.items()))
    print("\n".join(failures) or "All agree.")
    return int(bool(failures))


def _cases(machine: str) -> Iterator[Case]:
    programs = {each.name: each.path for each in unpack() if each.arch == machine}
    for name in _STATIC:
        yield Case(machine, name, str(programs[name]), RunOptions())
    tree = DEFAULT_DESTINATION / machine / "root"
    yield Case(machine, _DYNAMIC[1:], _DYNAMIC, RunOptions(root=str(tree)))
    listed, suites = read_programs()
    names = suites[_SUITE]
    packages = {listed[name].package_in(names) for name in _DEBIAN}
    root = make_root(_SUITE, machine, ["libc6", *packages])
    for name in _DEBIAN:
        program, *arguments = listed[name].words(names)
        options = RunOptions(root=str(root.root), arguments=tuple(arguments), env=ENVIRONMENT)
        yield Case(machine, f"{_SUITE} {name}", root.program(program), options)


def _ask(
    tools: Tools, case: Case, folder: Path, count: int, seed: int
) -> tuple[Recorded, list[Answer]]:
    root, program = None, Path(case.program)
    if case.options.root is not None:
        root = folder / "root"
        _view(Path(case.options.root), root, case.program)
        program = root / case.program[1:]
    recorded = record(
        case.program, case.options,
        lambda name: name if root is not None else str(program).encode(), folder, count, _MOST,
        seed,
    )  # fmt: skip
    truths, cores = recorded.truths, recorded.cores
    if not cores:
        return recorded, [Answer("all", 0, 0, "no point that could be asked for")]
    found = [
        _judge("gdb", truths, [tuple(pcs) for pcs in tools.gdb(program, cores, root)]),
        _judge("eu-stack", truths, [tuple(tools.eu_stack(program, c, root)) for c in cores]),
    ]
    for kind, data in recorded.recordings.items():
        wanted = truths
        if kind == STACK:
            # perf unwinds by itself, and shows a caller as the last byte of its call.
            wanted = [(pc, *(ra - 1 for ra in callers)) for pc, *callers in truths]
        elif kind == DEFERRED:
            wanted = [truth for truth in truths for _ in range(2)]
        found.append(_judge(kind, wanted, [tuple(p) for p, _ in tools.perf_script(data, root)]))
        counted = tools.perf_report(data, root)
        text = f"{counted} samples of {len(wanted)}" if counted != len(wanted) else ""
        found.append(Answer(f"{kind}, report", len(wanted), counted, text))
    return recorded, found


def _judge(
    reader: str, truths: list[tuple[int, ...]], said: list[tuple[int, ...]]
) -> Answer:
    if len(said) != len(truths):
        return Answer(reader, len(truths), 0, f"{len(said)} stacks, not {len(truths)}")
    wrong = [number for number, truth in enumerate(truths) if said[number] != truth]
    text = ""
    if wrong:
        shown = [" ".join(map(hex, each[wrong[0]])) for each in (truths, said)]
        text = f"point {wrong[0]}: true {shown[0]}, it says {shown[1]}"
    return Answer(reader, len(truths), len(truths) - len(wrong), text)


def _view(root: Path, view: Path, program: str) -> None:
    """A root for readers, to which an absolute link means a file of this host.

    All of `root` by links, but for the interpreter, which is copied if it is such a link.
    """
    shutil.rmtree(view, ignore_errors=True)
    view.mkdir()
    interpreter = load_image(str(root / program[1:])).interp or ""
    top = Path(interpreter).parts[1] if (root / interpreter[1:]).is_symlink() else ""
    for entry in root.iterdir():
        if entry.name != top:
            (view / entry.name).symlink_to(entry)
            continue
        (view / top).mkdir()
        for each in entry.iterdir():
            (view / top / each.name).symlink_to(each)
        target = inside(root, interpreter)
        if target is not None:
            copy = view / interpreter[1:]
            copy.unlink()
            shutil.copy(target, copy)


if __name__ == "__main__":
    sys.exit(main())
