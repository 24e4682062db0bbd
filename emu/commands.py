"""The commands: what was parsed, to what does the work. Each imports only what it needs."""

import argparse
import os
from typing import TYPE_CHECKING

from emu.errors import UsageError
from emu.report.output import refuse_inputs
from emu.sweep.garbage import uncollected

if TYPE_CHECKING:
    from emu.check.options import RunOptions
    from emu.sweep.result import SweepOptions


def _run_options(options: argparse.Namespace) -> "RunOptions":
    from emu.check.options import RunOptions

    stdin = b""
    if options.stdin:
        refuse_inputs(options.output, options.stdin)
        try:
            with open(options.stdin, "rb") as file:
                stdin = file.read()
        except OSError as error:
            raise UsageError(f"{options.stdin}: cannot be read: {error.strerror}") from error
    return RunOptions(
        table=options.table,
        every=(options.every or 0) if options.command == "check" else 0,
        at=options.at or "",
        nth=options.nth,
        lookup=options.lookup,
        max_instructions=options.max_instructions,
        timeout=options.timeout,
        memory=options.memory,
        stdin=stdin,
        env=tuple(options.env),
        cpu=options.cpu,
        pac=options.pac,
        seed=options.seed,
        root=options.root,
        arguments=tuple(options.arguments),
    )


def check(options: argparse.Namespace) -> int:
    """Run a program to its end under the check."""
    from emu.report.check import check as work

    return work(
        options.program,
        _run_options(options),
        options.format,
        options.output,
        options.known,
        options.strict,
        options.gaps == "fail",
    )


def backtrace(options: argparse.Namespace) -> int:
    """Show one stack, of a run or of a stored sample."""
    if options.core or options.perf:
        from emu.report.stored import backtrace_core, backtrace_perf

        if options.at or options.arguments or (options.core and options.perf):
            raise UsageError(f"{options.core or options.perf}: takes neither --at nor ARG")
        return (backtrace_core if options.core else backtrace_perf)(
            options.core or options.perf, options.program, options.root, options.lookup,
            options.format, options.output,
        )  # fmt: skip
    if not options.program:
        raise UsageError("backtrace: the following arguments are required: PROGRAM")
    if not options.at:
        raise UsageError(f"{options.program}: backtrace needs --at POINT, before PROGRAM")
    from emu.report.check import backtrace as work

    return work(options.program, _run_options(options), options.format, options.output)


def record(options: argparse.Namespace) -> int:
    """Sample a run into a file for other tools."""
    from emu.record.plan import RecordPlan
    from emu.report.record import record as work

    plan = RecordPlan(
        options.every or 0, options.syscalls or 0, options.policy, options.deferral,
        options.cookie, options.cpus, options.tracers, options.loss, options.hypothetical,
    )  # fmt: skip
    return work(
        options.program, _run_options(options), plan, options.to, options.output, options.format
    )


def dump(options: argparse.Namespace) -> int:
    """Print a decoded .sframe."""
    from emu.report.dump import dump as work

    return work(options.file, options.format, options.output)


def synth(options: argparse.Namespace) -> int:
    """Make a .sframe from .eh_frame."""
    from emu.report.synth import synth as work

    return work(options.file, options.output, options.version, options.like_gas, options.format)


def convert(options: argparse.Namespace) -> int:
    """Write a .sframe in another version."""
    from emu.report.convert import convert as work

    return work(
        options.file, options.output, options.version, options.format, options.whole,
        not options.no_errata,
    )  # fmt: skip


def compare(options: argparse.Namespace) -> int:
    """Compare two tables."""
    from emu.report.compare import compare as work

    return work(options.first, options.second, options.format, options.output)


def _sweep_options(options: argparse.Namespace) -> "SweepOptions":
    from emu.sweep.result import SweepOptions

    return SweepOptions(
        table=options.table,
        function=options.function,
        jobs=options.jobs or len(os.sched_getaffinity(0)),
        seed=options.seed,
    )


@uncollected()
def sweep(options: argparse.Namespace) -> int:
    """Check every function without running the program."""
    from emu.report.sweep import sweep as work

    return work(
        options.file,
        _sweep_options(options),
        options.format,
        options.output,
        options.known,
        options.strict,
        options.gaps == "fail",
    )


@uncollected()
def mutate(options: argparse.Namespace) -> int:
    """Plant faults, and count those that are seen."""
    from emu.report.mutate import mutate as work

    return work(options.file, _sweep_options(options), options.format, options.output, options.by)


def fuzz(options: argparse.Namespace) -> int:
    """Try compilers and assemblers with random programs."""
    from emu.fuzz.campaign import Limits
    from emu.fuzz.planning import Wanted
    from emu.report import fuzz as work

    if options.verb == "status":
        return work.status(options.store, options.format, options.output)
    if options.verb == "report":
        return work.report(
            options.store, options.format, options.output, options.witnesses, options.known
        )
    if options.verb == "replay":
        return work.replay_builds(options.store, options.build, options.rebuild)
    limits = Limits(options.sources, options.seconds)
    jobs = options.jobs or len(os.sched_getaffinity(0))
    if options.verb == "resume":
        return work.resume(options.store, limits, jobs, options.scheduler, options.known)
    if not (limits.sources or limits.seconds or options.source):
        raise UsageError("fuzz run: when is it to stop? --sources N or --seconds S")
    wanted = Wanted(
        options.arch, options.origins, options.seed, options.points, options.cc,
        options.assembler, options.source,
    )  # fmt: skip
    return work.run(options.store, wanted, limits, jobs, options.scheduler, options.known)


def toolchain(options: argparse.Namespace) -> int:
    """List compilers and assemblers; fetch more."""
    from emu.report.toolchain import toolchain as work

    return work(options.suite, options.mirror)


def doctor(options: argparse.Namespace) -> int:
    """Say what is installed."""
    from emu.report.doctor import doctor as work

    return work()


def deferred(options: argparse.Namespace) -> int:
    """Play a scenario of deferred unwinding."""
    from emu.report.deferred import deferred as work

    return work(options.scenario, options.deferral, options.cookie, options.format, options.output)
