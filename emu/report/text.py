"""Lines of text from names that come from outside: what cannot be printed is escaped.

A name of a file or a function may hold a line break, codes of a terminal or bytes that are no
text. None may forge a line of a report or break the one line that an error is.
"""

import contextlib
import sys
from collections.abc import Iterable


def printable(text: str) -> str:
    """The text as one line that any terminal can show."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    if "\udc80" <= char <= "\udcff":
        # A byte of a file name that is no UTF-8, as Python has it (PEP 383).
        return f"\\x{ord(char) - 0xDC00:02x}"
    return char.encode("unicode_escape").decode("ascii")


def text_of(lines: Iterable[str]) -> str:
    """A report from its lines."""
    return "".join(f"{printable(line)}\n" for line in lines)


def complain(text: str) -> None:
    """Print the one line on stderr that says why the job could not be done."""
    # Where stderr is closed or full, the exit status still says that something is wrong.
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(printable(text), file=sys.stderr, flush=True)
