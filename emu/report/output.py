"""Where reports go: stdout, or a file of -o."""

import os
import sys

from emu.errors import UsageError


def write_report(text: str, output: str | None) -> None:
    """Write a whole report.

    Raises:
        UsageError: the file cannot be written.
    """
    if output is None:
        if sys.stdout is None:
            raise UsageError("stdout: closed")
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # The reader has seen enough; the interpreter must not flush again at its end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise UsageError(f"stdout: cannot be written: {error.strerror}") from error
        return
    try:
        with open(output, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{output}: cannot be written: {error.strerror}") from error
