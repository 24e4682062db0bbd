"""What a program does under another emulator: Debian's user-mode one, of its newest suite.

It runs in a root of its own (`chroot` as root, else a user namespace) as the user that a guest of
unwindlab is, who owns the input files. What it wrote is kept below the cache folder, by everything
that it depends on. Its log of system calls tells which files the program opened, and whether it
started another process.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.packages import fetch, version
from benchmarks.roots import Root, inside
from emu.fuzz.roots import cache_folder
from testprogs.build import BuildError

_SUITE = "sid"
_HIDDEN = ".reference"
"""Folder in the root with the emulator and its log."""
_USER = 1000
_SECONDS = 120
_OPENED = re.compile(r'^(?:\d+ )?open(?:at)?\([^"]*"([^"]*)".* = \d+\s*$', re.MULTILINE)
_STARTED = re.compile(r"^(?:\d+ )?(clone3?|fork|vfork|execve(?:at)?)\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reference:
    """One run."""

    exit_status: int
    stdout: bytes
    stderr: bytes
    opened: tuple[str, ...]
    """Paths as the program named them."""
    started: tuple[str, ...]
    """Calls by which a process or thread came to be, or another program."""


def run_reference(
    root: Root, words: Sequence[str], environment: Sequence[str], stdin: bytes
) -> Reference:
    """Run a program, or take what an earlier run of the same gave.

    Args:
        root: where its files are; locked for that time.
        words: path inside the root, and arguments.
        environment: ``NAME=VALUE``, all of it.
        stdin: what it can read there.

    Raises:
        BuildError: the emulator cannot be had or started.
    """
    given = [root.digest, _version(), _USER, list(words), list(environment)]
    key = hashlib.sha256(json.dumps(given).encode() + b"\0" + stdin).hexdigest()[:32]
    kept = cache_folder() / "real" / "runs" / f"{key}.json"
    if not kept.exists():
        with root.lock:
            done = _run(root, words, environment, stdin)
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_suffix(f".{os.getpid()}")
        partial.write_text(_to_json(done))
        partial.rename(kept)
    return _from_json(kept.read_text())


def tools_ready() -> None:
    """Fetch the emulator.

    Raises:
        BuildError: it cannot be had.
    """
    _package()


def calls_of(log: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the files that were opened, the calls by which something was started), of a log."""
    opened = dict.fromkeys(_OPENED.findall(log))
    return tuple(opened), tuple(sorted(set(_STARTED.findall(log))))


def elf_files(root: Root, words: Sequence[str], reference: Reference) -> list[str]:
    """The program and the libraries that it used, as paths relative to the root."""
    found = []
    pending = [words[0], *reference.opened]
    while pending:
        path = inside(root.reference, pending.pop(0))
        if path is None or str(path.relative_to(root.reference)) in found:
            continue
        with path.open("rb") as file:
            head = file.read(4096)
        if head.startswith(b"\x7fELF"):
            found.append(str(path.relative_to(root.reference)))
            if loader := re.search(rb"(/lib[a-z0-9/_-]*/ld[\w.-]+)\0", head):
                pending.append(loader[1].decode())
    return found


def run_as_owner(root: Root, words: Sequence[str], environment: Sequence[str]) -> None:
    """Run a program as the user who owns the files, so that it can write beside them.

    Args:
        root: its `reference` view; locked for that time.
        words: path inside the root, and arguments.
        environment: ``NAME=VALUE``, all of it.

    Raises:
        BuildError: the emulator cannot be had or started.
    """
    with root.lock:
        _emulate(root, words, environment, b"", ["--map-root-user"] if os.geteuid() else [])


def _run(root: Root, words: Sequence[str], environment: Sequence[str], stdin: bytes) -> Reference:
    hidden = root.reference / _HIDDEN
    _place(root.machine, hidden)
    scratch = root.reference / "tmp"
    shutil.rmtree(scratch)
    scratch.mkdir()
    if os.geteuid():
        user = [f"--map-user={_USER}", f"--map-group={_USER}"]
    else:
        user = [f"--setgid={_USER}", f"--setuid={_USER}"]
        data = root.reference / "data"
        for each in (root.reference, hidden, scratch, data, *data.rglob("*")):
            os.chown(each, _USER, _USER)
    done = _emulate(root, words, environment, stdin, user)
    calls = calls_of((hidden / "log").read_text(errors="replace"))
    return Reference(done.returncode, done.stdout, done.stderr, *calls)


def _emulate(
    root: Root, words: Sequence[str], environment: Sequence[str], stdin: bytes, user: Sequence[str]
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in the root, as the user that these options of unshare(1) say."""
    hidden = root.reference / _HIDDEN
    _place(root.machine, hidden)
    log = hidden / "log"
    log.unlink(missing_ok=True)
    enter = ["unshare", f"--root={root.reference}", "--wd=/", *user]
    emulator = [f"/{_HIDDEN}/{_name(root.machine)}", "-strace", "-D", f"/{_HIDDEN}/log"]
    try:
        done = subprocess.run(
            [*enter, *emulator, *words], input=stdin, capture_output=True, timeout=_SECONDS,
            check=False, env=dict(each.split("=", 1) for each in environment),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildError(f"reference: {' '.join(words)}: {error}") from error
    if not log.exists():
        raise BuildError(f"reference: {' '.join(words)}: {done.stderr.decode().strip()}")
    return done


@functools.cache
def _package() -> Path:
    return fetch(_SUITE, platform.machine(), "qemu-user")


@functools.cache
def _version() -> str:
    return version(_SUITE, platform.machine(), "qemu-user")


def _name(machine: str) -> str:
    return f"qemu-{machine}"


def _place(machine: str, hidden: Path) -> None:
    """Put the emulator where the program's root is, since it is looked for in there."""
    target = hidden / _name(machine)
    stamp = hidden / "made"
    made = f"{_version()} {_USER}"
    if not stamp.exists() or stamp.read_text() != made:
        hidden.mkdir(exist_ok=True)
        shutil.copy2(_package() / "usr" / "bin" / _name(machine), target)
        _make_null(hidden.parent / "dev" / "null")
        stamp.write_text(made)


def _make_null(path: Path) -> None:
    """The one device that programs here open; without the right to make it, an empty file."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        path.chmod(0o666)
        path.write_bytes(b"")
    except PermissionError:
        path.unlink(missing_ok=True)
        path.touch()


def _to_json(reference: Reference) -> str:
    values = asdict(reference)
    for name in ("stdout", "stderr"):
        values[name] = base64.b64encode(values[name]).decode()
    return json.dumps(values, indent=1) + "\n"


def _from_json(text: str) -> Reference:
    values = json.loads(text)
    return Reference(
        values["exit_status"], base64.b64decode(values["stdout"]),
        base64.b64decode(values["stderr"]), tuple(values["opened"]), tuple(values["started"]),
    )  # fmt: skip
