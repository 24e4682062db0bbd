"""The `mutate` command: how much of what can be wrong in a table do the checks see?"""

import json
from collections.abc import Callable
from pathlib import Path

from emu.check.options import RunOptions
from emu.report.output import refuse_inputs, write_report
from emu.report.progress import progress, waiting
from emu.report.text import text_of
from emu.sweep.mutants import Score
from emu.sweep.plant import Fault
from emu.sweep.result import SweepOptions
from emu.sweep.run import FaultyRun
from emu.sweep.sweep import Sweep
from emu.symbols import FunctionNames

_MOST_MISSES = 50
_OUTCOMES = ("detected", "harmless", "unreached", "missed")


def mutate(
    path: str, options: SweepOptions, format: str, output: str | None, by: str = "sweep"
) -> int:
    """Plant every single fault, one at a time, and report what became of them; 1: one is missed.

    Args:
        path: the file.
        options: of the sweep.
        format: ``text`` or ``json``.
        output: as `write_report` has it.
        by: ``sweep``, or ``check``: only a run of the program.
    """
    refuse_inputs(output, path)
    if by == "check":
        with progress(Path(path).name, RunOptions().max_instructions) as advance:
            run = FaultyRun(path, options.table, advance)
            score = run.judge()
        names = run.module.names
        report = _Report(path, run.arch.name, run.kind, by, score, lambda at: _place(names, at))
    else:
        with waiting(Path(path).name, "reading"):
            job = Sweep(path, options)
        with progress(Path(path).name, len(job.roots()), "functions") as advance:
            score = job.mutate(advance)
        report = _Report(path, job.arch.name, job.kind, by, score, lambda at: _placed(job, at))
    write_report(report.json() if format == "json" else report.text(), output)
    return int(score.missed > 0)


def _place(names: FunctionNames, address: int) -> tuple[str, int]:
    place = names.place(address)
    return place.function or place.section, address


def _placed(job: Sweep, address: int) -> tuple[str, int]:
    name, _, section = job.placed.function_at(address)
    return name or section, job.placed.link(address)


class _Report:
    """One score in both forms; `place` gives name and link-time address of an address."""

    def __init__(
        self,
        path: str,
        arch: str,
        kind: str,
        by: str,
        score: Score,
        place: Callable[[int], tuple[str, int]],
    ) -> None:
        self._head = {"program": path, "arch": arch, "table": kind, "by": by}
        self._score, self._place = score, place

    def json(self) -> str:
        """The whole report as one object, in ASCII."""
        score = self._score
        answer = self._head | {
            "mutants": {"planted": score.planted} | _counts(score),
            "kinds": {kind: dict(sorted(n.items())) for kind, n in score.by_kind.items()},
            "misses": [self._miss(fault) for fault in score.misses],
            "frame_given_up": list(score.given_up),
        }
        return json.dumps(answer, indent=1) + "\n"

    def text(self) -> str:
        """For a person."""
        score, head = self._score, self._head
        lines = [
            f"{head['program']}: {head['arch']}, table {head['table']}, by {head['by']}",
            f"{score.planted} faults: "
            + ", ".join(f"{n} {how}" for how, n in _counts(score).items()),
            "",
            f"{'':<22}" + "".join(f"{how:>11}" for how in _OUTCOMES),
        ]
        for kind, outcomes in score.by_kind.items():
            lines.append(f"{kind:<22}" + "".join(f"{outcomes[how]:>11}" for how in _OUTCOMES))
        if score.misses:
            lines += ["", "missed:"]
        for fault in score.misses[:_MOST_MISSES]:
            miss = self._miss(fault)
            lines.append(f"  {miss['kind']} in {miss['function']} at {miss['at']}")
        if len(score.misses) > _MOST_MISSES:
            lines.append(f"  ... {len(score.misses) - _MOST_MISSES} more")
        if score.given_up:
            names = ", ".join(score.given_up)
            lines += ["", f"frame given up, and not judged from there on: {names}"]
        return text_of(lines)

    def _miss(self, fault: Fault) -> dict[str, str]:
        name, start = self._place(fault.function)
        return {
            "kind": fault.kind,
            "function": name,
            "start": hex(start),
            "at": hex(self._place(fault.at)[1]),
        }


def _counts(score: Score) -> dict[str, int]:
    numbers = (score.detected, score.harmless, score.unreached, score.missed)
    return dict(zip(_OUTCOMES, numbers, strict=True))
