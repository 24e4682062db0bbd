"""The `mutate` command: how much of what can be wrong in a table do the checks see?"""

import json
from collections import Counter

from emu.report.output import refuse_inputs, write_report
from emu.report.progress import progress
from emu.report.text import text_of
from emu.sweep.mutants import Score
from emu.sweep.plant import Fault
from emu.sweep.result import SweepOptions
from emu.sweep.sweep import Sweep

_MOST_MISSES = 50
_OUTCOMES = ("detected", "harmless", "unreached", "missed")


def mutate(path: str, options: SweepOptions, format: str, output: str | None) -> int:
    """Plant every single fault, one at a time, and report what became of them; 1: one is missed."""
    refuse_inputs(output, path)
    job = Sweep(path, options)
    with progress(path, len(job.roots()), "functions") as advance:
        score = job.mutate(advance)
    text = _json(job, score) if format == "json" else _text(job, score)
    write_report(text, output)
    return int(score.missed > 0)


def _json(job: Sweep, score: Score) -> str:
    answer = {
        "program": job.image.path,
        "arch": job.arch.name,
        "table": job.kind,
        "mutants": {"planted": score.planted} | _counts(score),
        "kinds": {kind: dict(sorted(outcomes.items())) for kind, outcomes in score.by_kind.items()},
        "misses": [_miss(job, fault) for fault in score.misses],
    }
    return json.dumps(answer, indent=1) + "\n"


def _text(job: Sweep, score: Score) -> str:
    lines = [
        f"{job.image.path}: {job.arch.name}, table {job.kind}",
        f"{score.planted} faults: " + ", ".join(f"{n} {how}" for how, n in _counts(score).items()),
        "",
        f"{'':<22}" + "".join(f"{how:>11}" for how in _OUTCOMES),
    ]
    for kind, outcomes in score.by_kind.items():
        lines.append(f"{kind:<22}" + _cells(outcomes))
    if score.misses:
        lines += ["", "missed:"]
        for fault in score.misses[:_MOST_MISSES]:
            place = _miss(job, fault)
            lines.append(f"  {fault.kind} in {place['function']} at {place['at']}")
        if len(score.misses) > _MOST_MISSES:
            lines.append(f"  ... {len(score.misses) - _MOST_MISSES} more")
    return text_of(lines)


def _counts(score: Score) -> dict[str, int]:
    numbers = (score.detected, score.harmless, score.unreached, score.missed)
    return dict(zip(_OUTCOMES, numbers, strict=True))


def _cells(outcomes: Counter[str]) -> str:
    return "".join(f"{outcomes[how]:>11}" for how in _OUTCOMES)


def _miss(job: Sweep, fault: Fault) -> dict[str, str | None]:
    name, _, section = job.placed.function_at(fault.function)
    return {
        "kind": fault.kind,
        "function": name,
        "section": section,
        "start": hex(job.placed.link(fault.function)),
        "at": hex(job.placed.link(fault.at)),
    }
