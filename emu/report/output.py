"""Where reports and made files go: stdout, or a file of -o.

A file is written beside its place and then renamed, so that whoever reads it finds the old one
or all of the new one, whatever happens in between. What is no regular file (a device, a pipe,
our own stdout by name) is written to as it is.
"""

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from emu.errors import UsageError

_MOST_LINKS = 40
"""Symbolic links that Linux follows (MAXSYMLINKS)."""


def refuse_inputs(output: str | None, *inputs: str | None) -> None:
    """Refuse to write over what is read, by whatever name.

    To be called before anything is done.

    Raises:
        UsageError: the output is one of the inputs.
    """
    there = None if output is None else _status(output)
    if there is None or not stat.S_ISREG(there.st_mode):
        return
    for path in inputs:
        read = None if path is None else _status(path)
        if read is not None and os.path.samestat(there, read):
            raise UsageError(f"{output}: cannot be written: it is the input {path}")


def write_report(text: str, output: str | None) -> None:
    """Write a whole report.

    Raises:
        UsageError: it cannot be written.
    """
    write_pieces((text,), output)


def write_pieces(pieces: Iterable[str], output: str | None) -> None:
    """Write a report that is made while it is written; errors as `write_report`."""
    if output is None:
        _write_stdout(pieces)
        return
    with _replacing(output) as file:
        for piece in pieces:
            file.write(piece.encode("utf-8", "backslashreplace"))


def write_file(path: str, data: bytes, like: str | None = None) -> None:
    """Write a file, with the permissions of the file `like` or those that it has.

    Raises:
        UsageError: it cannot be written.
    """
    with _replacing(path, like) as file:
        file.write(data)


def _write_stdout(pieces: Iterable[str]) -> None:
    if sys.stdout is None:
        raise UsageError("stdout: closed")
    try:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # Not every locale has all letters of a name.
            sys.stdout.reconfigure(errors="backslashreplace")
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_stdout()  # the reader has seen enough
    except OSError as error:
        _forget_stdout()
        raise UsageError(f"stdout: cannot be written: {error.strerror}") from error


def _forget_stdout() -> None:
    """Let the interpreter's last flush, which would complain again, go nowhere."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


@contextmanager
def _replacing(path: str, like: str | None = None) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when all is written."""
    try:
        place = _place(path)
        if place is None:
            # A reader of a pipe who has seen enough is no error.
            with contextlib.suppress(BrokenPipeError), open(path, "wb") as file:
                yield file
            return
        beside = os.path.join(os.path.dirname(place), f".unwindlab-{os.urandom(8).hex()}")
        handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            with open(handle, "wb") as file:
                yield file
            model = _status(place) if like is None else os.stat(like)
            if model is not None:
                # No set-user-ID bit goes over to other contents.
                os.chmod(beside, stat.S_IMODE(model.st_mode) & 0o777)
            os.replace(beside, place)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from error


def _place(path: str) -> str | None:
    """Where the regular file is or will be that `path` leads to; None: it leads elsewhere.

    Raises:
        OSError: it must not be written.
    """
    if "\0" in path:
        raise OSError(errno.EINVAL, "a zero byte in its name")
    status = _status(path)
    if path.endswith("/") or (status is not None and not stat.S_ISREG(status.st_mode)):
        return None
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder)
        if folder.startswith("/proc/"):
            # /dev/stdout and its like: whoever opened that file goes on writing to it.
            return None
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            break
        path = os.path.join(folder, os.readlink(path))
    else:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if status is not None and not os.access(path, os.W_OK):
        # A rename would not ask.
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return path


def _status(path: str) -> os.stat_result | None:
    """Of the file that a path leads to; None: there is none, or nobody may know."""
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None
