"""The command line: options in, exit status out.

0 nothing found, 1 findings, 2 it could not do the job, with one line on stderr.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from emu import commands
from emu.arguments import (
    Parser,
    Version,
    add_fuzz,
    add_known,
    add_output,
    add_run_options,
    add_sweep_options,
    count,
    share,
)
from emu.errors import UnwindlabError
from emu.report.text import complain


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="unwindlab",
        description="Runs Linux programs in an emulator and reports every place where their "
        "unwind tables are wrong.",
        epilog="Exit status: 0 nothing found, 1 findings, 2 the job could not be done.",
    )
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")
    every = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = every.add_parser(
        "check", help="run a program to its end and check its table at every instruction"
    )
    add_run_options(command)
    command.add_argument(
        "--every", metavar="N", type=count, help="walk the whole stack at each N-th instruction"
    )
    add_known(command)
    command.set_defaults(run=commands.check)

    command = every.add_parser(
        "backtrace", help="the stack at a point by every table, beside the truth"
    )
    add_run_options(command).required = False
    command.add_argument(
        "--core",
        metavar="CORE",
        help="instead of a run the threads of an ELF core; PROGRAM is what ran, if it is not where "
        "the core says",
    )
    command.add_argument(
        "--perf", metavar="FILE",
        help="instead of a run the samples of a perf.data file that have registers and stack",
    )  # fmt: skip
    command.set_defaults(run=commands.backtrace, program="", arguments=())

    command = every.add_parser(
        "record", help="sample a run as perf would: perf.data, a core, profiles for viewers"
    )
    add_run_options(command)
    command.add_argument(
        "--to", choices=("perf", "core", "speedscope", "folded"), default="perf",
        help="kind of file (perf)",
    )  # fmt: skip
    command.add_argument(
        "--every", metavar="N", type=count, help="sample each N-th instruction of user code"
    )
    command.add_argument(
        "--syscalls", metavar="N", type=count, help="sample inside each N-th system call"
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
    command.add_argument("--cpus", metavar="K", type=count, default=1, help="CPUs (1)")
    command.add_argument(
        "--tracers", metavar="T", type=count, default=1, help="perf and T - 1 others (1)"
    )
    command.add_argument(
        "--loss", metavar="P", type=share, default=0.0,
        help="share of samples in which buffers are full for a part of what is written (0)",
    )  # fmt: skip
    command.set_defaults(run=commands.record)

    command = every.add_parser(
        "sweep", help="force every way through every function, without running the program"
    )
    add_sweep_options(command)
    add_output(command)
    add_known(command)
    command.set_defaults(run=commands.sweep)

    command = every.add_parser(
        "mutate", help="plant single faults in the table, and count those that a sweep sees"
    )
    add_sweep_options(command)
    command.add_argument(
        "--by", choices=("sweep", "check"), default="sweep",
        help="judge on every way through every function, or in a run of the program (sweep)",
    )  # fmt: skip
    add_output(command)
    command.set_defaults(run=commands.mutate)

    command = every.add_parser("dump", help="print a decoded .sframe section and its faults")
    command.add_argument("file", metavar="FILE")
    add_output(command)
    command.set_defaults(run=commands.dump)

    command = every.add_parser(
        "synth", help="add a .sframe made from the .eh_frame; what it cannot say is named"
    )
    command.add_argument("file", metavar="FILE")
    command.add_argument("-o", dest="output", metavar="OUT", help="the program with the table")
    command.add_argument("--sframe-version", dest="version", type=int, choices=(1, 2, 3), default=3)
    command.add_argument("--like-gas", action="store_true", help="refuse what gas refuses")
    command.add_argument("--format", choices=("text", "json"), default="text", help="of the report")
    command.set_defaults(run=commands.synth)

    command = every.add_parser(
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
    command.set_defaults(run=commands.convert)

    command = every.add_parser(
        "compare", help="what two tables say at each address; one file: .sframe and .eh_frame"
    )
    command.add_argument("first", metavar="A[:sframe|:cfi]")
    command.add_argument("second", metavar="B[:sframe|:cfi]", nargs="?")
    add_output(command)
    command.set_defaults(run=commands.compare)

    command = every.add_parser(
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
    add_output(command)
    command.set_defaults(run=commands.deferred)

    command = every.add_parser(
        "fuzz", help="try compilers and assemblers with random programs, reduce what is wrong"
    )
    add_fuzz(command)
    command.set_defaults(run=commands.fuzz)

    command = every.add_parser(
        "toolchain", help="list compilers and assemblers; make Debian roots with more of them"
    )
    command.add_argument("suite", metavar="SUITE", nargs="*", help="sid, trixie, bookworm, ...")
    command.add_argument("--mirror", metavar="URL", help="archive (that of this host's apt)")
    command.set_defaults(run=commands.toolchain)

    command = every.add_parser("doctor", help="what is installed here and what is missing")
    command.set_defaults(run=commands.doctor)
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
