#!/usr/bin/env python3
"""How fast the check is, and how much memory it takes: `make bench`.

For each architecture the same program runs bare, with an empty native hook, under the
check, and under the same check in a Python hook; in turn, three times, and the medians
are compared; and so, but for the last way, does the same program linked dynamically. What
each figure means is in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

import numba
from numba import types
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from arch import ALL, Arch
from benchmarks.python_peer import Peer
from emu.check.options import RunOptions
from emu.check.run import Run
from emu.image import load_image
from emu.linux.process import Process
from emu.linux.program import find_program
from emu.machine.engine import Engine
from emu.memory import Memory
from emu.sframe.table import sframe_table
from emu.verdict import Verdict
from testprogs.unpack import DEFAULT_DESTINATION, unpack, unpack_trees

_PROGRAM = "work-musl-v3-O2"
_DYNAMIC = "/bin/work"
_TINY = "frames-v3-O2-nofp"
_ROUNDS = 100
_PEER_ROUNDS = 1
_LEAST, _PEER_LEAST = 50_000_000, 500_000
_REPEAT = 3
_LIMIT = 2 << 30


@numba.cfunc(types.void(types.voidptr, types.uint64, types.uint32, types.voidptr), cache=True)
def empty_hook(engine: int, pc: int, size: int, user: int) -> None:
    """Do nothing before each instruction."""


@dataclass
class Figures:
    """Seconds of each run of one architecture, and what was counted in them."""

    arch: Arch
    root: str | None = None
    """Of the dynamic program; None: the static one."""
    bare: list[float] = field(default_factory=list)
    empty: list[float] = field(default_factory=list)
    check: list[float] = field(default_factory=list)
    python: list[float] = field(default_factory=list)
    instructions: int = 0
    python_instructions: int = 0
    same: bool = True
    """The Python peer's verdicts are the check's, one by one in their counts."""
    exact: int = 0
    """Exact verdicts of the peer and of the check over the same instructions."""

    @property
    def program(self) -> str:
        """Its path."""
        return _DYNAMIC if self.root else _path(self.arch, _PROGRAM)

    def rate(self, way: str) -> float:
        """Million instructions per second, median."""
        count = self.python_instructions if way == "python" else self.instructions
        seconds: list[float] = getattr(self, way)
        return count / statistics.median(seconds) / 1e6


def main() -> int:
    """Measure and print; 1 if the peer and the check disagree."""
    parser = argparse.ArgumentParser(description="measure the check")
    parser.add_argument("--rounds", type=int, default=_ROUNDS, help=f"of the program ({_ROUNDS})")
    options = parser.parse_args()
    unpack()
    console = Console(width=None if sys.stdout.isatty() else 110)
    roots = {tree.arch: str(tree.path) for tree in unpack_trees()}
    static = [Figures(arch) for arch in ALL]
    figures = [*static, *(Figures(arch, roots[arch.name]) for arch in ALL)]
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measuring", total=_REPEAT * len(figures) * 4)
        peers = (_bare, _empty, _check, _python)
        for _ in range(_REPEAT):
            for each in figures:
                for measure in peers[:-1] if each.root else peers:
                    measure(each, options.rounds)
                    gc.collect()
                    bar.advance(task)
    console.print(_speeds(figures))
    for each in static:
        if each.instructions <= _LEAST or each.python_instructions <= _PEER_LEAST:
            print(f"{each.arch.name}: too few instructions for the figures to count")
        if each.same:
            print(
                f"{each.arch.name}: the Python hook and the check agree over "
                f"{each.python_instructions:,} instructions ({each.exact:,} exact)"
            )
        else:
            print(f"{each.arch.name}: the Python hook and the check DISAGREE")
    print()
    console.print(_resources(options.rounds))
    return int(not all(each.same for each in static))


def _path(arch: Arch, program: str) -> str:
    return str(DEFAULT_DESTINATION / arch.name / program)


def _process(figures: Figures, rounds: int) -> tuple[Engine, Memory, Process]:
    program = find_program(figures.program, figures.root)
    memory = Memory(_LIMIT)
    engine = Engine(figures.arch, memory)
    return engine, memory, Process(program, engine, memory, (str(rounds),))


def _timed(process: Process) -> float:
    begin = time.perf_counter()
    process.run()
    seconds = time.perf_counter() - begin
    if process.exit_status != 0:
        raise SystemExit(f"the program failed: {process.reason or process.exit_status}")
    return seconds


def _bare(figures: Figures, rounds: int) -> None:
    _, _, process = _process(figures, rounds)
    figures.bare.append(_timed(process))


def _empty(figures: Figures, rounds: int) -> None:
    engine, _, process = _process(figures, rounds)
    address = empty_hook.address
    assert address is not None
    engine.hook_code(address, 0)
    figures.empty.append(_timed(process))


def _check(figures: Figures, rounds: int) -> None:
    options = RunOptions(table="sframe", arguments=(str(rounds),), root=figures.root)
    result = Run(figures.program, options).to_end()
    figures.check.append(result.seconds)
    figures.instructions = result.guest.instructions


def _python(figures: Figures, rounds: int) -> None:
    """The Python hook, and the check over the same instructions to compare with."""
    engine, memory, process = _process(figures, _PEER_ROUNDS)
    table = sframe_table(load_image(figures.program))
    assert table is not None
    peer = Peer(engine, memory, table)
    figures.python.append(_timed(process))
    figures.python_instructions = peer.executed
    options = RunOptions(table="sframe", arguments=(str(_PEER_ROUNDS),))
    result = Run(figures.program, options).to_end()
    figures.exact = result.verdicts[Verdict.EXACT]
    figures.same = figures.same and (
        _counts(peer.verdicts, peer.caller_verdicts)
        == _counts(result.verdicts, result.caller_verdicts)
    )


def _counts(*counters: Counter[Verdict]) -> list[Counter[Verdict]]:
    return [+counter for counter in counters]


def _speeds(figures: list[Figures]) -> Table:
    table = Table(
        title=f"M instructions/s, median of {_REPEAT}", box=None, header_style="bold",
        title_justify="left",
    )  # fmt: skip
    table.add_column("architecture")
    for title in (
        "instructions", "bare", "empty hook", "check", "Python hook", "check/empty",
        "check/bare", "check/Python",
    ):  # fmt: skip
        table.add_column(title, justify="right")
    for each in figures:
        bare, empty, check = (each.rate(way) for way in ("bare", "empty", "check"))
        python = 0 if each.root else each.rate("python")
        table.add_row(
            each.arch.name + (", dynamic" if each.root else ""), f"{each.instructions:,}",
            f"{bare:.1f}", f"{empty:.1f}", f"{check:.1f}", f"{python:.4f}" if python else "-",
            f"{check / empty:.2f}", f"{check / bare:.2f}",
            f"{check / python:.0f}" if python else "-",
        )  # fmt: skip
    return table


def _resources(rounds: int) -> Table:
    """Fresh processes: memory of a short and of a ten times longer run, and a tiny program."""
    table = Table(title="a fresh process each", box=None, header_style="bold", title_justify="left")
    table.add_column("architecture")
    for title in (f"MB, {rounds // 5} rounds", f"MB, {rounds * 2} rounds", "tiny program, s"):
        table.add_column(title, justify="right")
    for arch in ALL:
        short, long = (
            _fresh(_path(arch, _PROGRAM), str(count))[1] for count in (rounds // 5, rounds * 2)
        )
        tiny = statistics.median(_fresh(_path(arch, _TINY))[0] for _ in range(5))
        table.add_row(arch.name, f"{short:.0f}", f"{long:.0f}", f"{tiny:.2f}")
    return table


def _fresh(program: str, *arguments: str) -> tuple[float, float]:
    """Wall seconds and peak MB of `unwindlab check`."""
    begin = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "emu.cli", "check", program, *arguments],
        stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"check {program}: exit status {child.returncode}")
    return seconds, usage.ru_maxrss / 1024


if __name__ == "__main__":
    sys.exit(main())
