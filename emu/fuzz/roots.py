"""Debian roots with compilers of one suite, below the cache folder."""

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from arch import ALL
from emu.fuzz.tools import ToolError

SUITES = ("sid", "trixie", "bookworm")
"""Newest first; another one can be named."""
_ALWAYS = ("gcc", "g++", "csmith", "qemu-user")
_NEWEST_CLANG = (
    "name=$(chroot \"$1\" apt-cache pkgnames clang- | grep -E '^clang-[0-9]+$' | sort -V | tail -1)"
    ' && chroot "$1" apt-get install --yes --quiet --no-install-recommends "$name"'
)
"""The package without a number lags behind."""
_STAMP = ".unwindlab-packages"


def cache_folder() -> Path:
    """The folder for what is fetched and made once, outside of any checkout."""
    given = os.environ.get("UNWINDLAB_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "unwindlab"


def roots() -> list[str]:
    """The roots that are finished, by name."""
    place = cache_folder() / "toolchains"
    return sorted(str(each.parent) for each in place.glob(f"*/{_STAMP}"))


def make_root(suite: str, mirror: str | None, say: Callable[[str], None]) -> Path:
    """Make the root of a suite, unless there is one.

    Args:
        suite: of Debian.
        mirror: where its packages are; None: where this host's come from.
        say: told of each step.

    Raises:
        ToolError: it cannot be made.
    """
    path = cache_folder() / "toolchains" / suite
    if (path / _STAMP).exists():
        return path
    if path.exists():
        say(f"{path}: unfinished, made anew")
        shutil.rmtree(path)
    packages = [*_ALWAYS, *_cross()]
    say(f"{suite}: fetching {', '.join(packages)} and clang to {path}")
    install(suite, path, packages, mirror, _NEWEST_CLANG)
    (path / _STAMP).write_text(" ".join(packages) + "\n")
    return path


def install(
    suite: str, path: Path, packages: Sequence[str], mirror: str | None = None, hook: str = ""
) -> None:
    """Install a suite and packages into a new folder.

    Args:
        suite: of Debian.
        path: of the folder.
        packages: and what they need.
        mirror: as for `make_root`.
        hook: shell commands at the end, outside; the folder is ``$1``.

    Raises:
        ToolError: it cannot be done.
    """
    if shutil.which("mmdebstrap") is None:
        raise ToolError(f"{suite}: needs mmdebstrap: apt-get install mmdebstrap")
    path.parent.mkdir(parents=True, exist_ok=True)
    command = [
        "mmdebstrap", "--variant=apt", "--skip=check/empty",
        '--aptopt=Acquire::Check-Valid-Until "false"', '--aptopt=APT::Install-Recommends "false"',
        f"--include={','.join(packages)}", *([f"--customize-hook={hook}"] if hook else []),
        suite, str(path), mirror or archive(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("E:")]
        raise ToolError(f"{suite}: {' '.join(errors[:3]) or done.stderr[-200:].strip()}")


def _cross() -> list[str]:
    """Compilers for the machines that this one is not."""
    return [
        f"{language}-{arch.compilers.package}"
        for arch in ALL
        if arch.name != os.uname().machine
        for language in ("gcc", "g++")
    ]


def archive() -> str:
    """The archive that this host's apt asks first.

    Raises:
        ToolError: it knows none.
    """
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise ToolError(f"apt-get: {error.strerror}: name an archive with --mirror") from error
    first = done.stdout.split()
    if not first:
        raise ToolError("apt knows no archive: name one with --mirror")
    return first[0]
