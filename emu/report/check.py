"""The `check` and `backtrace` commands: run, sort out what is known, report, exit status."""

import dataclasses

from emu.check.known import Sorted, read_known, sort_known
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from emu.errors import UsageError
from emu.report.check_json import check_json
from emu.report.check_text import backtrace_text, check_text
from emu.report.output import refuse_inputs, write_report
from emu.report.progress import progress
from emu.report.text import complain


def check(
    program: str,
    options: RunOptions,
    format: str,
    output: str | None,
    known_file: str | None = None,
    strict: bool = False,
    gaps_fail: bool = False,
) -> int:
    """Check a whole run; the exit status."""
    refuse_inputs(output, program, known_file)
    entries = read_known(known_file) if known_file else []
    with progress(program, options.max_instructions) as advance:
        run = Run(program, options, progress=advance)
        result = run.to_end()
    split = sort_known(result.findings, entries, result.arch, result.table)
    result = dataclasses.replace(result, findings=split.new)
    _write(result, format, output, split)
    if problem := _problem(run, result):
        complain(f"unwindlab: {program}: {problem}")
        return 2
    if split.unused and strict:
        return 1
    return int(bool(split.new) or (gaps_fail and bool(result.gaps)))


def backtrace(program: str, options: RunOptions, format: str, output: str | None) -> int:
    """Show the stack at a point by every table; 1 if the checked one differs from the truth."""
    refuse_inputs(output, program)
    with progress(program, options.max_instructions) as advance:
        run = Run(program, options, every_table=True, progress=advance)
        result = run.to_end(stop_at_point=True)
    if result.missed_point:
        raise UsageError(
            f"{program}: --at {options.at}: not reached {options.nth} times in "
            f"{result.guest.instructions} instructions"
        )
    write_report(check_json(result) if format == "json" else backtrace_text(result), output)
    return int(result.samples[-1].verdict.is_finding)


def _write(result: CheckResult, format: str, output: str | None, split: Sorted) -> None:
    if format == "json":
        text = check_json(result, split.known)
    else:
        text = check_text(result, split.known, split.unused)
    write_report(text, output)


def _problem(run: Run, result: CheckResult) -> str:
    """Why the job could not be done to its end, or nothing."""
    guest = result.guest
    if guest.stopped in ("exit", "point"):
        return ""
    where = f"{guest.pc:#x} ({run.where(guest.pc)})"
    if guest.stopped == "fault":
        return f"{guest.signal} at {where}: {guest.reason}"
    if guest.stopped == "signal":
        return f"killed by {guest.signal} at {where}: {guest.reason}".removesuffix(": ")
    return f"stopped at {where}: {guest.reason}"
