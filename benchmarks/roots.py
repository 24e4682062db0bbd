"""Folders that a guest sees as its root: packages of one suite and machine, with input files.

Below the cache folder there are three views of each. `root` has what the packages have, and the
input files; unwindlab supplies the links of a merged /usr itself. `reference` is the one that the
user-mode emulator runs in: with those links, and with that emulator. In `sframe`, programs and
libraries have an SFrame table made from their .eh_frame. What does not differ is hard-linked.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from benchmarks.guest_data import write_data
from benchmarks.packages import forget_lists, needed, unpack_into
from emu.fuzz.roots import cache_folder
from testprogs.build import BuildError

_CHECKOUT = Path(__file__).parent.parent
_MERGED = ("bin", "lib", "lib64", "sbin")
"""Folders of / that are links into /usr where packages no longer have them."""
_MOST_LINKS = 40
_SYNTH_CODE = ("arch", "emu/cfi", "emu/elf", "emu/sframe", "emu/report/synth.py")
"""What a synthesized table depends on, beside the file."""


@dataclass(slots=True)
class Root:
    """The views of one suite and machine; made by `make_root`."""

    suite: str
    machine: str
    packages: dict[str, str]
    """Version by name."""
    data: str
    """Digest of the input files."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while `reference` or `sframe` is changed or run in."""

    @property
    def base(self) -> Path:
        """The folder of the three views."""
        return _base(self.suite, self.machine)

    @property
    def root(self) -> Path:
        """For unwindlab."""
        return self.base / "root"

    @property
    def reference(self) -> Path:
        """For the user-mode emulator."""
        return self.base / "reference"

    @property
    def sframe(self) -> Path:
        """For unwindlab, with SFrame tables."""
        return self.base / "sframe"

    @property
    def digest(self) -> str:
        """Of what a program can see here."""
        return _digest(json.dumps([self.suite, self.machine, self.packages, self.data]).encode())

    def program(self, name: str) -> str:
        """The path, inside, of a program known by its name.

        Raises:
            BuildError: it is not here.
        """
        for folder in ("/bin", "/usr/bin"):
            if (self.root / folder[1:] / name).exists():
                return f"{folder}/{name}"
        raise BuildError(f"{self.suite} {self.machine}: no program {name}")


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process changes the roots, and keep others from it meanwhile."""
    place = cache_folder() / "real"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_root(suite: str, machine: str, packages: Iterable[str]) -> Root:
    """Fetch what is missing of packages and all that they need, and make the views.

    Raises:
        BuildError: a package cannot be had.
    """
    base = _base(suite, machine)
    record = base / "packages.json"
    wanted = sorted(packages)
    have: dict[str, str] = json.loads(record.read_text()) if record.exists() else {}
    versions = needed(suite, machine, wanted)
    try:
        _complete(suite, machine, versions, have)
    except BuildError:
        forget_lists(suite, machine)
        versions = needed(suite, machine, wanted)
        _complete(suite, machine, versions, have)
    data = write_data(base / "root" / "data")
    (base / "root" / "tmp").mkdir(exist_ok=True)
    root = Root(suite, machine, have, data)
    for view in (root.reference, root.sframe):
        _link_view(root, view)
    return root


def inside(root: Path, path: str) -> Path | None:
    """The file that a path of the guest means below a folder; None: there is none.

    Links are followed as the guest would: an absolute one starts at the folder again.
    """
    parts = list(reversed(PurePosixPath(path).parts))
    place = root
    followed = 0
    while parts:
        part = parts.pop()
        if part == "..":
            place = place if place == root else place.parent
        elif part == "/":
            place = root
        elif (place / part).is_symlink():
            followed += 1
            if followed > _MOST_LINKS:
                return None
            target = PurePosixPath(os.readlink(place / part))
            parts.extend(reversed(target.parts))
        else:
            place = place / part
    return place if place.is_file() else None


def add_tables(root: Root, files: Iterable[str]) -> list[str]:
    """Give files of the `sframe` view a table; return those that could not get one, and why.

    Args:
        root: is locked for that time.
        files: paths relative to the view.
    """
    failed = []
    code = _code_digest()
    store = root.base / "tables"
    store.mkdir(exist_ok=True)
    for name in files:
        original, target = root.root / name, root.sframe / name
        made = store / f"{_digest(original.read_bytes())}-{code}"
        with root.lock:
            if not made.exists() and (reason := _synthesize(original, made)):
                failed.append(f"{name}: {reason}")
            elif not target.samefile(made):
                target.unlink()
                os.link(made, target)
    return failed


def _base(suite: str, machine: str) -> Path:
    return cache_folder() / "real" / suite / machine


def _complete(suite: str, machine: str, versions: dict[str, str], have: dict[str, str]) -> None:
    """Unpack what is missing; begin anew if another version is there."""
    base = _base(suite, machine)
    if any(have.get(name, version) != version for name, version in versions.items()):
        shutil.rmtree(base)
        have.clear()
    if missing := sorted(set(versions) - set(have)):
        unpack_into(suite, machine, missing, base / "root")
        have.update((name, versions[name]) for name in missing)
        (base / "packages.json").write_text(json.dumps(have, indent=1, sort_keys=True) + "\n")


def _link_view(root: Root, view: Path) -> None:
    """Make a view of hard links, unless it is one of the same packages and data."""
    stamp = root.base / f"{view.name}.made"
    if stamp.exists() and stamp.read_text() == root.digest:
        return
    if view.exists():
        shutil.rmtree(view)
    data = root.root / "data"

    def link(source: str, target: str) -> None:
        # The reference can write; what it writes must not be seen by the others.
        if Path(source).is_relative_to(data):
            shutil.copy2(source, target)
        else:
            os.link(source, target)

    shutil.copytree(root.root, view, symlinks=True, copy_function=link)
    if view == root.reference:
        for name in _MERGED:
            if not (view / name).exists() and (view / "usr" / name).exists():
                (view / name).symlink_to(f"usr/{name}")
    stamp.write_text(root.digest)


def _synthesize(original: Path, made: Path) -> str:
    """Run `unwindlab synth`; why it failed, or nothing."""
    partial = made.with_suffix(".partial")
    words = ["synth", str(original), "-o", str(partial), "--sframe-version", "3"]
    done = subprocess.run(
        [sys.executable, "-m", "emu.cli", *words],
        capture_output=True, text=True, check=False, cwd=_CHECKOUT,
    )  # fmt: skip
    if done.returncode not in (0, 1) or not partial.exists():
        return (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    shutil.copymode(original, partial)
    partial.rename(made)
    return ""


def _code_digest() -> str:
    sources = []
    for name in _SYNTH_CODE:
        place = _CHECKOUT / name
        sources += sorted(place.rglob("*.py")) if place.is_dir() else [place]
    return _digest(b"".join(source.read_bytes() for source in sources))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:24]
