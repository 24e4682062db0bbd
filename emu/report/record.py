"""The `record` command: a run sampled as perf would, into a file for other tools."""

import io
import json
import os
from collections import Counter
from collections.abc import Callable
from typing import Any

from emu.check.options import RunOptions
from emu.check.run import Run
from emu.deferred.cookies import LAYOUTS
from emu.deferred.stitch import Outcome, outcomes
from emu.errors import UsageError
from emu.export.core import Stopped, write_core
from emu.export.registers import Thread, other_registers
from emu.linux.credentials import PID
from emu.linux.program import Program, find_program
from emu.record.accuracy import Accuracy, judge
from emu.record.files import write_perf_data, write_profile
from emu.record.plan import Recording, RecordPlan
from emu.record.recorder import Recorder
from emu.report.output import refuse_inputs, write_file, write_report
from emu.report.progress import progress
from emu.report.text import text_of

WAYS = {"cookie": "by_cookie", "perf7": "as_perf7", "tid": "by_tid"}
"""Of stitching: in the model, and in the JSON."""


def record(
    path: str, options: RunOptions, plan: RecordPlan, kind: str, output: str | None, format: str
) -> int:
    """Record a run.

    Args:
        path: of the program.
        options: of the run; `at` and `nth` for a core, or samples.
        plan: how it is sampled.
        kind: ``perf``, ``core``, ``speedscope`` or ``folded``.
        output: the file.
        format: of the summary.

    Returns:
        0, whatever the policy made of the stacks.

    Raises:
        UnwindlabError: it cannot be run or recorded as asked.
    """
    if not output:
        raise UsageError(f"{path}: record needs -o OUT")
    refuse_inputs(output, path)
    if kind == "core":
        return _core(path, options, output)
    if not plan.every and not plan.syscalls and not options.at:
        raise UsageError(f"{path}: record needs --every N, --syscalls N or --at POINT")
    if plan.cookie and plan.cookie not in LAYOUTS:
        raise UsageError(f"no cookie layout {plan.cookie!r} (known: {', '.join(LAYOUTS)})")
    program = find_program(path, options.root)
    arch = program.image.arch
    if arch is None:
        raise UsageError(f"{path}: machine {program.image.machine}: not supported")
    with progress(path, options.max_instructions) as advance:
        recorder = Recorder(
            program, options, plan, _names(path, program, options), advance or _nothing
        )
        recording = recorder.record()
    if kind == "perf":
        file = io.BytesIO()
        name = program.name.rpartition(b"/")[2]
        write_perf_data(file, arch, name, plan, recording)
        write_file(output, file.getvalue())
    else:
        write_file(output, write_profile(kind, path, plan, recording).encode("utf-8"))
    answer = _answer(path, arch.name, plan, recording)
    write_report(
        json.dumps(answer, indent=1) + "\n" if format == "json" else _text(answer), None
    )
    return 0


def _nothing(_: int) -> None:
    pass


def _names(path: str, program: Program, options: RunOptions) -> Callable[[bytes], bytes]:
    """What readers of a recording find a file of the guest by.

    Below a root it is the guest's own path (perf: --symfs DIR); else the program's on this host.
    """
    if options.root is not None:
        return lambda name: name
    own = os.fsencode(os.path.abspath(path))
    return lambda name: own if name == program.path else name


def _core(path: str, options: RunOptions, output: str) -> int:
    """Write a core at a point."""
    if not options.at:
        raise UsageError(f"{path}: --to core needs --at POINT")
    with progress(path, options.max_instructions) as advance:
        run = Run(path, options, progress=advance)
        result = run.to_end(stop_at_point=True)
    if result.missed_point:
        raise UsageError(f"{path}: --at {options.at}: not reached {options.nth} times")
    session, program = run.session, find_program(path, options.root)
    others = other_registers(session.arch, session.engine.read)
    stopped = Stopped(
        arch=session.arch,
        memory=session.memory,
        mappings=list(session.process.mappings),
        threads=[Thread.of(session.sample(), PID, others)],
        auxiliary=session.process.stack.auxiliary,
        name=program.name.rpartition(b"/")[2],
        arguments=(*program.arguments, *map(os.fsencode, options.arguments)),
        pid=PID,
        signed=options.pac,
    )
    file = io.BytesIO()
    write_core(file, stopped, _names(path, program, options))
    write_file(output, file.getvalue())
    sample = result.samples[-1]
    print(f"{output}: core of {path} at {sample.at}, {len(sample.truth) + 1} frames")
    return 0


def _answer(path: str, machine: str, plan: RecordPlan, recording: Recording) -> dict[str, Any]:
    right = judge(recording)
    return {
        "program": path,
        "arch": machine,
        "policy": plan.policy,
        "deferral": plan.deferral,
        "instructions": recording.instructions,
        "exit_status": recording.exit_status,
        "ended": recording.ended,
        "samples": recording.samples,
        "entries": recording.entries,
        "unwinds": recording.unwinds,
        "unwinds_saved": max(0, recording.samples - recording.unwinds),
        "lost": recording.lost,
        "crashes": recording.crashes,
        "stitched": {
            key: _outcomes(outcomes(recording.stitched[way])) for way, key in WAYS.items()
        },
        "chains": {kind.value: right[kind] for kind in Accuracy},
    }


def _outcomes(counts: Counter[Outcome]) -> dict[str, int]:
    return {outcome.value: counts[outcome] for outcome in Outcome}


def _text(answer: dict[str, Any]) -> str:
    """The summary for people."""
    lines = [
        f"{answer['program']}: {answer['arch']}, policy {answer['policy']}, "
        f"deferral {answer['deferral']}",
        f"guest      {answer['instructions']} instructions, "
        f"{answer['ended'] or 'exit status ' + str(answer['exit_status'])}",
        f"samples    {answer['samples']} in {answer['entries']} entries, {answer['unwinds']} "
        f"unwinds, {answer['unwinds_saved']} saved, {answer['lost']} records lost",
        "chains     " + ", ".join(f"{kind} {n}" for kind, n in answer["chains"].items()),
    ]
    for key, counts in answer["stitched"].items():
        shown = ", ".join(f"{kind} {n}" for kind, n in counts.items())
        lines.append(f"{key.replace('_', ' '):<10} {shown}")
    if answer["crashes"]:
        lines.append(f"crashes    {answer['crashes']} walks that a kernel would not have survived")
    return text_of(lines)
