"""The command line: options in, exit status out.

0 nothing found, 1 findings, 2 it could not do the job, with one line on stderr.
"""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from emu.errors import UnwindlabError, UsageError
from emu.report.output import refuse_inputs
from emu.report.text import complain, printable
from emu.sweep.garbage import uncollected

if TYPE_CHECKING:
    from emu.check.options import RunOptions
    from emu.sweep.result import SweepOptions

_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class _Parser(argparse.ArgumentParser):
    """Usage errors are one line and exit status 2, as every other refusal."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, printable(f"{self.prog}: {message} (try '{self.prog} --help')") + "\n")


class _Version(argparse.Action):
    """Print the installed version and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> None:
        import importlib.metadata

        print(f"unwindlab {importlib.metadata.version('unwindlab')}")
        parser.exit()


class _Guest(argparse.Action):
    """Split what follows the options into the program and its arguments."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        words = values[1:] if values[0] == "--" else values
        if not words:
            parser.error("the following arguments are required: PROGRAM")
        namespace.program, namespace.arguments = words[0], words[1:]


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 512M or 2G")
    return int(match[1]) * _SUFFIXES[match[2]]


def _count(text: str) -> int:
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return value


def _point(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("an empty POINT")
    return text


def _setting(text: str) -> str:
    if text.find("=") < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return text


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


def _check(options: argparse.Namespace) -> int:
    from emu.report.check import check

    return check(
        options.program,
        _run_options(options),
        options.format,
        options.output,
        options.known,
        options.strict,
        options.gaps == "fail",
    )


def _backtrace(options: argparse.Namespace) -> int:
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
    from emu.report.check import backtrace

    return backtrace(options.program, _run_options(options), options.format, options.output)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 to 1")
    return value


def _record(options: argparse.Namespace) -> int:
    from emu.record.plan import RecordPlan
    from emu.report.record import record

    plan = RecordPlan(
        options.every or 0, options.syscalls or 0, options.policy, options.deferral,
        options.cookie, options.cpus, options.tracers, options.loss, options.hypothetical,
    )  # fmt: skip
    return record(
        options.program, _run_options(options), plan, options.to, options.output, options.format
    )


def _dump(options: argparse.Namespace) -> int:
    from emu.report.dump import dump

    return dump(options.file, options.format, options.output)


def _synth(options: argparse.Namespace) -> int:
    from emu.report.synth import synth

    return synth(options.file, options.output, options.version, options.like_gas, options.format)


def _convert(options: argparse.Namespace) -> int:
    from emu.report.convert import convert

    return convert(
        options.file, options.output, options.version, options.format, options.whole,
        not options.no_errata,
    )  # fmt: skip


def _compare(options: argparse.Namespace) -> int:
    from emu.report.compare import compare

    return compare(options.first, options.second, options.format, options.output)


def _sweep_options(options: argparse.Namespace) -> "SweepOptions":
    from emu.sweep.result import SweepOptions

    return SweepOptions(
        table=options.table,
        function=options.function,
        jobs=options.jobs or len(os.sched_getaffinity(0)),
        seed=options.seed,
    )


@uncollected()
def _sweep(options: argparse.Namespace) -> int:
    from emu.report.sweep import sweep

    return sweep(
        options.file,
        _sweep_options(options),
        options.format,
        options.output,
        options.known,
        options.strict,
        options.gaps == "fail",
    )


@uncollected()
def _mutate(options: argparse.Namespace) -> int:
    from emu.report.mutate import mutate

    return mutate(
        options.file, _sweep_options(options), options.format, options.output, options.by
    )


def _doctor(options: argparse.Namespace) -> int:
    from emu.report.doctor import doctor

    return doctor()


def _add_run_options(command: argparse.ArgumentParser) -> argparse.Action:
    """The argument that is the program, required unless its user says otherwise."""
    # With separate positionals argparse would keep a "--" among ARG for itself.
    guest = command.add_argument(
        "guest", metavar="PROGRAM", nargs=argparse.PARSER, action=_Guest,
        help="what to run; options of unwindlab stand before it, all behind it is the guest's",
    )  # fmt: skip
    command.add_argument(
        "--table", choices=("sframe", "cfi", "fp", "backchain", "auto"), default="auto",
        help="what to check (auto: sframe if there is one, else cfi)",
    )  # fmt: skip
    command.add_argument(
        "--at", metavar="POINT", type=_point, default=None,
        help="walk the whole stack at SYMBOL, SYMBOL+OFFSET, 0xADDRESS or #INSTRUCTION",
    )  # fmt: skip
    command.add_argument(
        "--nth", metavar="K", type=_count, default=1, help="the K-th time POINT is reached (1)"
    )
    command.add_argument(
        "--lookup", choices=("return", "kernel"), default="return",
        help="look a return address up one byte earlier, or as it is, like Linux",
    )  # fmt: skip
    command.add_argument(
        "--max-instructions", metavar="N", type=_count, default=1_000_000_000,
        help="stop after N instructions (1000000000)",
    )  # fmt: skip
    command.add_argument(
        "--timeout", metavar="S", type=_seconds, default=600.0, help="stop after S seconds (600)"
    )
    command.add_argument(
        "--memory", metavar="SIZE", type=_size, default=2 << 30,
        help="most memory the guest may map (2G)",
    )  # fmt: skip
    command.add_argument(
        "--root", metavar="DIR",
        help="the directory that the guest sees as /, never written to; PROGRAM is looked up "
        "in it first",
    )  # fmt: skip
    command.add_argument("--stdin", metavar="FILE", help="the guest's standard input (empty)")
    command.add_argument(
        "--env", metavar="K=V", type=_setting, action="append", default=[],
        help="an environment variable of the guest; may be repeated",
    )  # fmt: skip
    command.add_argument("--cpu", metavar="MODEL", default="", help="CPU model of the emulator")
    command.add_argument(
        "--pac", action="store_true", help="sign return addresses (pointer authentication)"
    )
    command.add_argument(
        "--seed", metavar="N", type=int, default=0,
        help="of clock, randomness and addresses: the same seed, the same report (0)",
    )  # fmt: skip
    _add_output(command)
    return guest


def _add_sweep_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="a program, a shared library or an object")
    command.add_argument("--function", metavar="NAME", help="only this one, or that at 0xADDRESS")
    command.add_argument(
        "--table", choices=("sframe", "cfi", "auto"), default="auto",
        help="what to check (auto: sframe if there is one, else cfi)",
    )  # fmt: skip
    command.add_argument("--jobs", metavar="N", type=_count, help="processes (one for each CPU)")
    command.add_argument(
        "--seed", metavar="N", type=int, default=0, help="of the keys that sign addresses (0)"
    )


def _add_known(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--gaps", choices=("fail", "report"), default="report",
        help="whether code without a row is a failure (report)",
    )  # fmt: skip
    command.add_argument("--known", metavar="FILE", help="TOML file of findings that are expected")
    command.add_argument(
        "--strict", action="store_true", help="entries of --known that match nothing fail"
    )


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument("--format", choices=("text", "json"), default="text")
    command.add_argument("-o", dest="output", metavar="FILE", help="write there, not to stdout")


def _deferred(options: argparse.Namespace) -> int:
    from emu.report.deferred import deferred

    return deferred(
        options.scenario, options.deferral, options.cookie, options.format, options.output
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="unwindlab",
        description="Runs Linux programs in an emulator and reports every place where their "
        "unwind tables are wrong.",
        epilog="Exit status: 0 nothing found, 1 findings, 2 the job could not be done.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser(
        "check", help="run a program to its end and check its table at every instruction"
    )
    _add_run_options(command)
    command.add_argument(
        "--every", metavar="N", type=_count, help="walk the whole stack at each N-th instruction"
    )
    _add_known(command)
    command.set_defaults(run=_check)

    command = commands.add_parser(
        "backtrace", help="the stack at a point by every table, beside the truth"
    )
    _add_run_options(command).required = False
    command.add_argument(
        "--core", metavar="CORE",
        help="instead of a run the threads of an ELF core; PROGRAM is what ran, if it is not where "
        "the core says",
    )
    command.add_argument(
        "--perf", metavar="FILE",
        help="instead of a run the samples of a perf.data file that have registers and stack",
    )  # fmt: skip
    command.set_defaults(run=_backtrace, program="", arguments=())

    command = commands.add_parser(
        "record", help="sample a run as perf would: perf.data, a core, profiles for viewers"
    )
    _add_run_options(command)
    command.add_argument(
        "--to", choices=("perf", "core", "speedscope", "folded"), default="perf",
        help="kind of file (perf)",
    )  # fmt: skip
    command.add_argument(
        "--every", metavar="N", type=_count, help="sample each N-th instruction of user code"
    )
    command.add_argument(
        "--syscalls", metavar="N", type=_count, help="sample inside each N-th system call"
    )
    command.add_argument(
        "--policy", default="truth",
        choices=("truth", "mainline", "series-v13", "series-v11", "posting-v2",
                 "posting-v2-as-sent"),
        help="the kernel's unwinder (truth: one that is never wrong)",
    )  # fmt: skip
    command.add_argument(
        "--hypothetical", action="store_true",
        help="the policy also where it does not serve the machine, not that machine's older walker",
    )  # fmt: skip
    command.add_argument(
        "--deferral", choices=("none", "sketch", "posting-v4", "merged"), default="merged",
        help="the design by which user stacks come later (merged)",
    )  # fmt: skip
    command.add_argument(
        "--cookie", metavar="LAYOUT", default="", help="another cookie layout than the design's"
    )
    command.add_argument("--cpus", metavar="K", type=_count, default=1, help="CPUs (1)")
    command.add_argument(
        "--tracers", metavar="T", type=_count, default=1, help="perf and T - 1 others (1)"
    )
    command.add_argument(
        "--loss", metavar="P", type=_share, default=0.0,
        help="share of samples in which buffers are full for a part of what is written (0)",
    )  # fmt: skip
    command.set_defaults(run=_record)

    command = commands.add_parser(
        "sweep", help="force every way through every function, without running the program"
    )
    _add_sweep_options(command)
    _add_output(command)
    _add_known(command)
    command.set_defaults(run=_sweep)

    command = commands.add_parser(
        "mutate", help="plant single faults in the table, and count those that a sweep sees"
    )
    _add_sweep_options(command)
    command.add_argument(
        "--by", choices=("sweep", "check"), default="sweep",
        help="judge on every way through every function, or in a run of the program (sweep)",
    )  # fmt: skip
    _add_output(command)
    command.set_defaults(run=_mutate)

    command = commands.add_parser("dump", help="print a decoded .sframe section and its faults")
    command.add_argument("file", metavar="FILE")
    _add_output(command)
    command.set_defaults(run=_dump)

    command = commands.add_parser(
        "synth", help="add a .sframe made from the .eh_frame; what it cannot say is named"
    )
    command.add_argument("file", metavar="FILE")
    command.add_argument("-o", dest="output", metavar="OUT", help="the program with the table")
    command.add_argument("--sframe-version", dest="version", type=int, choices=(1, 2, 3), default=3)
    command.add_argument("--like-gas", action="store_true", help="refuse what gas refuses")
    command.add_argument("--format", choices=("text", "json"), default="text", help="of the report")
    command.set_defaults(run=_synth)

    command = commands.add_parser(
        "convert", help="write a .sframe section in another version; every loss is named"
    )
    command.add_argument("file", metavar="FILE", help="an ELF file or a raw section")
    command.add_argument(
        "--sframe-version", dest="version", type=int, choices=(1, 2, 3), required=True
    )
    command.add_argument(
        "--whole", action="store_true", help="leave out whole functions instead of single rows"
    )
    command.add_argument(
        "--no-errata", action="store_true", help="V2 as up to binutils 2.44: without its errata"
    )
    command.add_argument("-o", dest="output", metavar="FILE", help="the raw section")
    command.add_argument("--format", choices=("text", "json"), default="text", help="of the report")
    command.set_defaults(run=_convert)

    command = commands.add_parser(
        "compare", help="what two tables say at each address; one file: .sframe and .eh_frame"
    )
    command.add_argument("first", metavar="A[:sframe|:cfi]")
    command.add_argument("second", metavar="B[:sframe|:cfi]", nargs="?")
    _add_output(command)
    command.set_defaults(run=_compare)

    command = commands.add_parser(
        "deferred", help="play a scenario of the kernel's deferred unwinding, print its timeline"
    )
    command.add_argument("scenario", metavar="SCENARIO", help="a TOML file, or a packaged name")
    command.add_argument(
        "--deferral", choices=("sketch", "posting-v4", "merged"), default="",
        help="another design than the scenario's",
    )  # fmt: skip
    command.add_argument(
        "--cookie", metavar="LAYOUT", default="", help="another cookie layout than the design's"
    )
    _add_output(command)
    command.set_defaults(run=_deferred)

    command = commands.add_parser("doctor", help="what is installed here and what is missing")
    command.set_defaults(run=_doctor)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = _parser().parse_args(arguments)
    # No command multiplies matrices: the library for that need not start its threads.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        status: int = options.run(options)
    except UnwindlabError as error:
        complain(f"unwindlab: {error}")
        return 2
    except KeyboardInterrupt:
        complain("unwindlab: interrupted")
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
