"""The command line: options in, exit status out.

0 nothing found, 1 findings, 2 it could not do the job, with one line on stderr.
"""

import argparse
import sys
from collections.abc import Sequence
from typing import NoReturn

from emu.errors import UnwindlabError


class _Parser(argparse.ArgumentParser):
    """Usage errors are one line and exit status 2, as every other refusal."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (try '{self.prog} --help')\n")


def _dump(options: argparse.Namespace) -> int:
    from emu.report.dump import dump

    return dump(options.file, options.format, options.output)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="unwindlab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("dump", help="print a decoded .sframe section and its faults")
    command.add_argument("file", metavar="FILE")
    command.add_argument("--format", choices=("text", "json"), default="text")
    command.add_argument("-o", dest="output", metavar="FILE", help="write there, not to stdout")
    command.set_defaults(run=_dump)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    options = _parser().parse_args(arguments)
    try:
        status: int = options.run(options)
    except UnwindlabError as error:
        print(f"unwindlab: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main())
