"""Files of Debian packages of any architecture, unpacked below the cache folder.

They come by the distribution's own client, with state of its own, so that no setting of this
machine changes; a Debian-like host with apt is needed, but not root.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from emu.fuzz.roots import archive, cache_folder
from emu.fuzz.tools import ToolError
from testprogs.build import BuildError

DEBIAN_NAMES = {"x86_64": "amd64", "aarch64": "arm64", "s390x": "s390x"}
"""What Debian calls each machine."""
_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def fetch(suite: str, machine: str, package: str) -> Path:
    """The folder with a package's files; fetched once.

    Args:
        suite: such as ``bookworm`` or ``sid``.
        machine: a name of `arch`.
        package: binary package, without what it depends on.

    Raises:
        BuildError: it cannot be had.
    """
    base = cache_folder() / "packages" / suite / machine
    folder = base / package
    if folder.is_dir():
        return folder
    apt = _apt(base, suite, DEBIAN_NAMES[machine])
    _run([*apt, "download", package], base)
    found = sorted(base.glob(f"{package}_*.deb"))
    if len(found) != 1:
        raise BuildError(f"{package}: {len(found)} packages after the download")
    partial = base / f".{package}"
    _run(["dpkg-deb", "--extract", str(found[0]), str(partial)], base)
    found[0].unlink()
    partial.rename(folder)
    return folder


def version(suite: str, machine: str, package: str) -> str:
    """Of the package that `fetch` takes: what the lists name, which are fetched once as well."""
    base = cache_folder() / "packages" / suite / machine
    _, *options = _apt(base, suite, DEBIAN_NAMES[machine])
    shown = _run(["apt-cache", *options, "show", "--no-all-versions", package], base)
    return next(line[9:] for line in shown.splitlines() if line.startswith("Version: "))


def needed(suite: str, machine: str, packages: Iterable[str]) -> dict[str, str]:
    """The versions of packages and of all that they depend on, as the client resolves it.

    Raises:
        BuildError: one is unknown, or cannot be installed.
    """
    base = cache_folder() / "packages" / suite / machine
    words = ["--simulate", "--no-install-recommends", "install", *packages]
    shown = _run([*_apt(base, suite, DEBIAN_NAMES[machine]), *words], base)
    return dict(re.findall(r"^Inst (\S+) \((\S+) ", shown, re.MULTILINE))


def unpack_into(suite: str, machine: str, packages: Iterable[str], folder: Path) -> None:
    """The files of packages, without what those depend on, put into one folder.

    Raises:
        BuildError: one cannot be had.
    """
    base = cache_folder() / "packages" / suite / machine
    apt = _apt(base, suite, DEBIAN_NAMES[machine])
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as downloads:
        _run([*apt, "download", *packages], Path(downloads))
        for package in sorted(Path(downloads).glob("*.deb")):
            _run(["dpkg-deb", "--extract", str(package), str(folder)], base)


def forget_lists(suite: str, machine: str) -> None:
    """Have the client fetch its lists anew: what they name may be gone by now."""
    (cache_folder() / "packages" / suite / machine / ".apt" / "ready").unlink(missing_ok=True)


def _apt(base: Path, suite: str, architecture: str) -> list[str]:
    """The client's command, after its lists are there."""
    state = base / ".apt"
    apt = [
        "apt-get", "-qq",
        "-o", f"Dir::State={state}", "-o", f"Dir::State::status={state}/status",
        "-o", f"Dir::Cache={state}/cache",
        "-o", f"Dir::Etc::SourceList={state}/sources.list", "-o", "Dir::Etc::SourceParts=-",
        "-o", f"APT::Architecture={architecture}", "-o", f"APT::Architectures={architecture}",
        "-o", "APT::Sandbox::User=",
    ]  # fmt: skip
    if not (state / "ready").exists():
        for folder in ("lists/partial", "cache/archives/partial"):
            (state / folder).mkdir(parents=True, exist_ok=True)
        (state / "status").touch()
        try:
            line = f"deb [signed-by={_KEYRING}] {archive()} {suite} main\n"
        except ToolError as error:
            raise BuildError(str(error)) from error
        (state / "sources.list").write_text(line)
        _run([*apt, "update"], base)
        (state / "ready").touch()
    return apt


def _run(command: list[str], folder: Path) -> str:
    """What a command prints."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BuildError(f"{command[0]}: {error.strerror}") from error
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise BuildError(f"{' '.join(command[-2:])}: {' '.join(last)}")
    return done.stdout
