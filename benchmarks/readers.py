#!/usr/bin/env python3
"""Whether gdb, eu-stack and perf read our files as what they are: docs are in README.md.

Programs run in the emulator to points all over the run. At each one the process is written as a
core and as a sample of perf.data: what the readers make of these must be the true stack. A point
where not even the .eh_frame leads to the true stack says nothing of a file; another is taken.
"""

from __future__ import annotations

import argparse
import functools
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

from arch import ALL, by_name
from benchmarks.debian import new_table
from benchmarks.host_files import host_files
from benchmarks.programs import ENVIRONMENT, read_programs
from benchmarks.reader_tools import Tools, fetch_tools
from benchmarks.recorded import CHAIN, DEFERRED, STACK, Recorded, Truth, record
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
_SIGNED = "calls-musl-v3-O2-bti"
"""A program with signed return addresses, on the machine that has them."""
_FLOATING = (
    "eu-stack reads no floating-point registers of a core, where a leaf function keeps others"
)
LIMITS = {
    ("aarch64", f"{_SIGNED} --pac", STACK):
        "perf does not take the signature off a return address that it reads in a stack",
}  # fmt: skip
"""Readers that do not agree, and why it is not the file's fault; one that does agree fails."""
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
    first: str = ""
    """The first point at which it disagrees, in words."""
    limits: Counter[str] = field(default_factory=Counter)
    """Points at which it disagrees for a reason that is known."""


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
    failures: list[str] = []
    notes: list[str] = []
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
            frames = sum(len(truth.pcs) for truth in recorded.truths)
            for answer in answers:
                where = f"{case.machine} {case.title}, {answer.reader}"
                table.add_row(
                    case.machine, case.title, answer.reader, str(answer.points),
                    str(answer.agreeing), str(recorded.passed), f"{frames:,}",
                )  # fmt: skip
                notes += [f"{where}: {count}: {why}" for why, count in answer.limits.items()]
                if answer.first:
                    failures.append(f"{where}: {answer.first}")
        host = new_table(
            "Stacks of this machine's own files that we show as their reader does", "file",
            "reader", "stacks", "equal", "not copied",
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as temporary:
            for found in () if options.only else host_files(tools, Path(temporary)):
                if isinstance(found, str):
                    notes.append(found)
                    continue
                host.add_row(found.file, found.reader, str(found.stacks), str(found.equal),
                             str(found.left_out))  # fmt: skip
                if found.equal + found.left_out != found.stacks or not found.stacks:
                    failures.append(f"{found.file}, {found.reader}: {found.first or 'no stacks'}")
    except (BuildError, UnwindlabError, OSError) as error:
        print(f"readers.py: {error}", file=sys.stderr)
        return 2
    console = Console(width=None if sys.stdout.isatty() else 150)
    console.print(table)
    if host.row_count:
        console.print(host)
    print(", ".join(f"{name} {version}" for name, version in tools.versions.items()))
    for note in notes:
        print(f"note: {note}")
    print("\n".join(failures) or ("All others agree." if notes else "All agree."))
    return int(bool(failures))


def _cases(machine: str) -> Iterator[Case]:
    programs = {each.name: each.path for each in unpack() if each.arch == machine}
    for name in _STATIC:
        yield Case(machine, name, str(programs[name]), RunOptions())
    arch = by_name(machine)
    if _SIGNED in programs and arch is not None and arch.boot.pauth_model:
        yield Case(machine, f"{_SIGNED} --pac", str(programs[_SIGNED]), RunOptions(pac=True))
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
    root = whole = None
    program = Path(case.program)
    if case.options.root is not None:
        # eu-stack keeps to its root whatever links say; the others do not.
        whole, root = Path(case.options.root).resolve(), folder / "root"
        _view(whole, root, case.program)
        program = root / case.program[1:]
    def path(name: bytes) -> bytes:
        return name if root is not None else str(program).encode()

    recorded = record(case.program, case.options, path, folder, count, _MOST, seed)
    truths, cores = recorded.truths, recorded.cores
    if not cores:
        return recorded, [Answer("all", 0, 0, "no point that could be asked for")]
    judge = functools.partial(_judge, case)
    found = [
        judge("gdb", truths, tools.gdb(program, cores, root)),
        judge("eu-stack", truths, [tools.eu_stack(program, core, whole) for core in cores]),
    ]
    for kind, data in recorded.recordings.items():
        # perf unwinds a stack by itself, and shows a caller as the last byte of its call.
        back = int(kind == STACK)
        wanted = truths
        if kind == DEFERRED:
            wanted = [truth for truth in truths for _ in range(2)]
        shown = tools.perf_script(data, root)
        said = [[pcs[0], *(pc + back for pc in pcs[1:])] for pcs, _ in shown]
        found.append(judge(kind, wanted, said))
        if kind == CHAIN:
            found.append(_symbols(truths, [names for _, names in shown]))
        counted = tools.perf_report(data, root)
        text = f"{counted} samples of {len(wanted)}" if counted != len(wanted) else ""
        found.append(Answer(f"{kind}, report", len(wanted), counted, text))
    return recorded, found


def _judge(case: Case, reader: str, truths: list[Truth], said: list[list[int]]) -> Answer:
    if len(said) != len(truths):
        return Answer(reader, len(truths), 0, f"{len(said)} stacks, not {len(truths)}")
    limit = LIMITS.get((case.machine, case.title, reader), "")
    limits: Counter[str] = Counter()
    agreeing, first = 0, ""
    for number, (truth, pcs) in enumerate(zip(truths, said, strict=True)):
        if tuple(pcs if truth.ends else pcs[: len(truth.pcs)]) == truth.pcs:
            agreeing += 1
            continue
        why = limit or (
            _FLOATING if reader == "eu-stack" and truth.keeps_in_registers() else ""
        )
        if why:
            limits[why] += 1
        elif not first:
            shown = [" ".join(map(hex, each)) for each in (truth.pcs, pcs)]
            first = f"point {number}: true {shown[0]}, it says {shown[1]}"
    if limit and not limits:
        first = f"agrees, and should not: {limit}"
    return Answer(reader, len(truths), agreeing, first, limits)


def _symbols(truths: list[Truth], said: list[list[str]]) -> Answer:
    """Whether perf names the function of each address that has a symbol."""
    agreeing, first = 0, ""
    for number, (truth, shown) in enumerate(zip(truths, said, strict=True)):
        wrong = [
            f"point {number}: {pc:#x} is in {min(names)}, it says {name}"
            for pc, names, name in zip(truth.pcs, truth.names, shown, strict=False)
            # From a debug file perf takes a name with its version.
            if names and name.partition("@")[0] not in names
        ]
        agreeing += not wrong
        first = first or "".join(wrong[:1])
    return Answer(f"{CHAIN}, symbols", len(truths), agreeing, first)


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
