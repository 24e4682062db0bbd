"""Types and groups of the command line's arguments.

Options stand before the program; all behind it is the guest's.
"""

import argparse
import re
from typing import Any, NoReturn

from emu.report.text import printable

_SUFFIXES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class Parser(argparse.ArgumentParser):
    """Usage errors are one line and exit status 2, as every other refusal."""

    def error(self, message: str) -> NoReturn:
        """Say it and exit."""
        self.exit(2, printable(f"{self.prog}: {message} (try '{self.prog} --help')") + "\n")


class Version(argparse.Action):
    """Print the installed version and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *arguments: Any) -> None:
        """Print it."""
        import importlib.metadata

        print(f"unwindlab {importlib.metadata.version('unwindlab')}")
        parser.exit()


class Guest(argparse.Action):
    """Split what follows the options into the program and its arguments."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Split them."""
        words = values[1:] if values[0] == "--" else values
        if not words:
            parser.error("the following arguments are required: PROGRAM")
        namespace.program, namespace.arguments = words[0], words[1:]


def _size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if match is None or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no size such as 512M or 2G")
    return int(match[1]) * _SUFFIXES[match[2]]


def count(text: str) -> int:
    """A number above 0."""
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


def share(text: str) -> float:
    """A number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no share from 0 to 1")
    return value


def add_run_options(command: argparse.ArgumentParser) -> argparse.Action:
    """The argument that is the program, required unless its user says otherwise."""
    # With separate positionals argparse would keep a "--" among ARG for itself.
    guest = command.add_argument(
        "guest", metavar="PROGRAM", nargs=argparse.PARSER, action=Guest,
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
        "--nth", metavar="K", type=count, default=1, help="the K-th time POINT is reached (1)"
    )
    command.add_argument(
        "--lookup", choices=("return", "kernel"), default="return",
        help="look a return address up one byte earlier, or as it is, like Linux",
    )  # fmt: skip
    command.add_argument(
        "--max-instructions", metavar="N", type=count, default=1_000_000_000,
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
    add_output(command)
    return guest


def add_sweep_options(command: argparse.ArgumentParser) -> None:
    """What `sweep` and `mutate` have in common."""
    command.add_argument("file", metavar="FILE", help="a program, a shared library or an object")
    command.add_argument("--function", metavar="NAME", help="only this one, or that at 0xADDRESS")
    command.add_argument(
        "--table", choices=("sframe", "cfi", "auto"), default="auto",
        help="what to check (auto: sframe if there is one, else cfi)",
    )  # fmt: skip
    command.add_argument("--jobs", metavar="N", type=count, help="processes (one for each CPU)")
    command.add_argument(
        "--seed", metavar="N", type=int, default=0, help="of the keys that sign addresses (0)"
    )


def add_fuzz(command: argparse.ArgumentParser) -> None:
    """What `fuzz` can be told; one parser for each verb."""
    verbs = command.add_subparsers(dest="verb", required=True, metavar="VERB")
    run = verbs.add_parser("run", help="begin a campaign")
    resume = verbs.add_parser("resume", help="go on with one that was stopped or killed")
    status = verbs.add_parser("status", help="how far it is")
    report = verbs.add_parser("report", help="what it found, one bucket for each cause")
    replay = verbs.add_parser("replay", help="judge builds again, from their stored bytes")
    for verb in (run, resume, status, report, replay):
        verb.add_argument("store", metavar="STORE", help="the campaign's file")
    for verb in (run, resume):
        verb.add_argument("--sources", metavar="N", type=count, help="stop after N, all in all")
        verb.add_argument("--seconds", metavar="S", type=count, help="begin no source after S")
        verb.add_argument("--jobs", metavar="N", type=count, help="processes (one for each CPU)")
        verb.add_argument(
            "--scheduler", metavar="tcp://HOST:PORT", default="", help="of a Dask cluster"
        )
    for verb in (run, resume, report):
        verb.add_argument(
            "--known", metavar="FILE", help="TOML file of known faults, beside the packaged ones"
        )
    run.add_argument(
        "--arch", action="append", default=[], metavar="NAME", help="only this machine (repeat)"
    )
    run.add_argument(
        "--cc", action="append", default=[], metavar="COMMAND",
        help="try this compiler, in the place of those found for its machine (repeat)",
    )  # fmt: skip
    run.add_argument(
        "--as", action="append", default=[], dest="assembler", metavar="COMMAND",
        help="try this assembler, likewise; those found are what it is compared with (repeat)",
    )  # fmt: skip
    run.add_argument(
        "--from", action="append", default=[], dest="origins",
        choices=("generated", "assembly", "csmith"), help="kind of sources (all; repeat)",
    )  # fmt: skip
    run.add_argument(
        "--source", action="append", default=[], metavar="FILE",
        help="this C, C++ or assembly file, and none that is made (repeat)",
    )  # fmt: skip
    run.add_argument(
        "--points", metavar="N", type=count, default=4, help="ways to compile each source (4)"
    )
    run.add_argument("--seed", metavar="N", type=int, default=0, help="of everything (0)")
    for verb in (status, report):
        add_output(verb)
    report.add_argument("--witnesses", metavar="DIR", help="write a folder for each witness")
    replay.add_argument("build", metavar="BUILD", type=count, nargs="?", help="only this one")
    replay.add_argument("--rebuild", action="store_true", help="make the object anew first")


def add_known(command: argparse.ArgumentParser) -> None:
    """Which findings fail."""
    command.add_argument(
        "--gaps", choices=("fail", "report"), default="report",
        help="whether code without a row is a failure (report)",
    )  # fmt: skip
    command.add_argument("--known", metavar="FILE", help="TOML file of findings that are expected")
    command.add_argument(
        "--strict", action="store_true", help="entries of --known that match nothing fail"
    )


def add_output(command: argparse.ArgumentParser) -> None:
    """Form and place of the report."""
    command.add_argument("--format", choices=("text", "json"), default="text")
    command.add_argument("-o", dest="output", metavar="FILE", help="write there, not to stdout")
