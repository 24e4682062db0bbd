"""Compilers and assemblers are run with limits, alone in a folder, in the root they live in."""

import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from emu.errors import UnwindlabError

_ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/tmp"}
_PLACE = re.compile(r"^(?:\{standard input\}|<stdin>)(?::\d+)+:")
SECONDS = 60
"""Of processor time that a tool may take."""
_WALL = 5
"""Times as many seconds until it is stopped, whatever it waits for."""
_MEMORY = 4 << 30
_FILE = 256 << 20
_OUTPUT = 16 << 20
"""Bytes of its output that are kept."""


class ToolError(UnwindlabError):
    """A tool that could not be started, failed, or was stopped at a limit."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a tool did."""

    status: int
    stdout: bytes
    stderr: str

    def check(self, what: str) -> "Done":
        """Itself, if it did what it should.

        Raises:
            ToolError: with its first line about an error.
        """
        if self.status:
            lines = [line for line in self.stderr.splitlines() if line.strip()]
            line = next((each for each in lines if "rror" in each), lines[-1] if lines else "")
            how = f"status {self.status}" if self.status > 0 else f"signal {-self.status}"
            raise ToolError(f"{what}: {how}: {_PLACE.sub('', line).strip()}")
        return self


class Bench:
    """A folder to work in, seen from one root (None: this host's).

    What tools take of processor time adds up in `seconds`.
    """

    def __init__(self, root: str | None, folder: str) -> None:
        self._root = root
        self.folder = Path(folder)
        self._inside = f"/{os.path.relpath(folder, root)}" if root else folder

    def path(self, name: str) -> Path:
        """A file of the folder, from outside."""
        return self.folder / name

    def run(
        self, words: Sequence[str], stdin: bytes = b"", seconds: int = SECONDS, plain: bool = False
    ) -> Done:
        """Run a tool to its end.

        Args:
            words: its command line; names of files are relative to the folder.
            stdin: what it can read there.
            seconds: of processor time; of wall time some times that.
            plain: with the caller's environment: for what a user gave us.

        Raises:
            ToolError: it cannot be started, or takes too long.
        """
        limits = [
            "prlimit", f"--as={_MEMORY}", f"--cpu={seconds}", f"--fsize={_FILE}", "--core=0"
        ]  # fmt: skip
        enter: list[str] = []
        if self._root:
            user = ["--map-root-user"] if os.geteuid() else []
            enter = ["unshare", f"--root={self._root}", f"--wd={self._inside}", *user]
        try:
            process = subprocess.Popen(
                [*limits, *enter, *words], cwd=self.folder, start_new_session=True,
                env=None if plain else _ENVIRONMENT,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except OSError as error:
            raise ToolError(f"{words[0]}: {error.strerror}") from error
        with process:
            try:
                out, err = process.communicate(stdin, timeout=_WALL * seconds)
            except subprocess.TimeoutExpired:
                raise ToolError(f"{words[0]}: stopped after {_WALL * seconds} seconds") from None
            finally:
                # Also what it started and left behind.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        return Done(process.returncode, out[:_OUTPUT], err[:_OUTPUT].decode(errors="replace"))


@contextlib.contextmanager
def bench(root: str | None) -> Iterator[Bench]:
    """A new folder, gone in the end."""
    place = Path(root or "/") / "tmp"
    place.mkdir(exist_ok=True)
    folder = tempfile.mkdtemp(prefix="unwindlab-", dir=place if root else None)
    try:
        yield Bench(root, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _used() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time(), used.ru_utime + used.ru_stime


def processor_seconds() -> float:
    """Of this process and of all that it has waited for, since they began."""
    return sum(_used())


class Clock:
    """Processor seconds of this process, and of the tools that it has waited for."""

    def __init__(self) -> None:
        self._own, self._tools = _used()

    def lap(self) -> tuple[float, float]:
        """(own, tools') since the last lap."""
        own, tools = _used()
        passed = own - self._own, tools - self._tools
        self._own, self._tools = own, tools
        return passed
