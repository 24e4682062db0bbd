"""What sweeps are measured on, and how: Debian's files, fresh processes, and what must not be."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from benchmarks.packages import fetch, version
from testprogs.unpack import DEFAULT_DESTINATION

ROOT = Path(__file__).parent.parent
_FILES = (
    ("bookworm", "busybox-static", "bin/busybox"),
    ("bookworm", "bash-static", "bin/bash-static"),
    ("sid", "libc6", "usr/lib/{machine}-linux-gnu/libc.so.6"),
    ("sid", "libstdc++6", "usr/lib/{machine}-linux-gnu/libstdc++.so.6"),
)
"""Suite, package and file."""
_LARGE = ("bookworm", "cpp-12", "usr/lib/gcc/x86_64-linux-gnu/12/cc1", "x86_64")
"""The same, and its machine: 33 MB, for one machine is enough."""
_LIMIT = 600
"""Seconds for one command."""


@dataclass(frozen=True, slots=True)
class File:
    """What is swept, and what it is from."""

    machine: str
    path: Path
    origin: str

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.machine} {self.path.name}"


class Failures(list[str]):
    """What must not be, in words."""

    def check(self, good: bool, what: str) -> None:
        """Note it, unless all is well."""
        if not good:
            self.append(what)


def debian_files(machine: str) -> Iterator[File]:
    """Programs and libraries of one machine, fetched once, and one of ours with a static glibc.

    Raises:
        BuildError: they cannot be had.
    """
    for suite, package, path in _FILES:
        place = fetch(suite, machine, package) / path.format(machine=machine)
        yield File(machine, place, f"{suite} {version(suite, machine, package)}")
    yield File(machine, DEFAULT_DESTINATION / machine / "work-glibc-O2", "libc.a of sid")


def large_files(wanted: str) -> Iterator[File]:
    """A compiler, to see what size costs; nothing for other machines.

    Raises:
        BuildError: it cannot be had.
    """
    suite, package, path, machine = _LARGE
    if machine == wanted:
        place = fetch(suite, machine, package) / path
        yield File(machine, place, f"{suite} {version(suite, machine, package)}")


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that has come to its end."""

    report: str
    """In JSON."""
    seconds: float
    """Wall time."""
    processor: float
    """User time of the process and of its workers."""
    megabytes: float
    """Most memory that one of them had."""


def run_command(words: Sequence[str], path: Path) -> Ran:
    """Run one command on a file, in a fresh process."""
    with tempfile.TemporaryDirectory() as folder:
        output, errors = Path(folder) / "report.json", Path(folder) / "errors"
        command = [sys.executable, "-m", "emu.cli", *words]
        command += ["--format", "json", "-o", str(output), str(path)]
        begin = time.monotonic()
        with errors.open("w") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, cwd=ROOT)
            late = threading.Timer(_LIMIT, process.kill)
            late.start()
            _, status, used = os.wait4(process.pid, 0)
            late.cancel()
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1) or not output.exists():
            why = f"status {process.returncode}: {errors.read_text().strip()}"
            raise SystemExit(f"{' '.join(words)} {path}: {why}")
        return Ran(output.read_text(), seconds, used.ru_utime, used.ru_maxrss / 1024)


def new_table(title: str, *columns: str) -> Table:
    """A table of figures; words stand on the left."""
    table = Table(title=title, box=None, header_style="bold", title_justify="left")
    for number, column in enumerate(columns):
        left = number == 0 or column in ("from", "file", "by", "frame given up by")
        table.add_column(column, justify="left" if left else "right", no_wrap=number == 0)
    return table
