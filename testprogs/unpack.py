#!/usr/bin/env python3
"""Unpack the prebuilt test programs and check them against manifest.json.

As a command: `python testprogs/unpack.py [DESTINATION]`, where the destination is
build/testprogs below the project by default.  For tests: `unpack(destination)`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
DEFAULT_DESTINATION = HERE.parent / "build" / "testprogs"


class UnpackError(Exception):
    """An archive that does not agree with the manifest."""


@dataclass(frozen=True)
class Prebuilt:
    """An entry of the manifest, and where its files are."""

    name: str
    arch: str
    kind: str  # "executable", "static-pie", "object" or "relinked"; the last two do not run
    source: str
    libc: str  # "none", "musl" or "glibc"
    sframe_version: int | None
    flags: list[str]
    compiler: str
    binutils: str
    note: str
    assembler_warnings: list[str]
    size: int
    sha256: str
    readelf_size: int
    readelf_sha256: str
    path: Path
    arguments: list[str] | None = None
    stdout: str | None = None
    exit_status: int | None = None
    observed: str | None = None  # "native" or "qemu-user": how the three above were learned

    @property
    def readelf_path(self) -> Path:
        """Where the listing of `readelf --sframe` is."""
        return self.path.with_name(self.name + ".readelf.txt")

    @property
    def runs(self) -> bool:
        """Whether this is a program and not a relocatable file."""
        return self.stdout is not None


def entries(destination: Path = DEFAULT_DESTINATION) -> list[Prebuilt]:
    """Return the manifest's entries with the paths that they have below a destination."""
    known = {field.name for field in fields(Prebuilt)} - {"path"}
    manifest: dict[str, Any] = json.loads((HERE / "manifest.json").read_text())
    return [
        Prebuilt(
            **{key: value for key, value in entry.items() if key in known},
            path=destination / entry["arch"] / entry["name"],
        )
        for entry in manifest["programs"]
    ]


def unpack(
    destination: Path = DEFAULT_DESTINATION, arches: Iterable[str] | None = None
) -> list[Prebuilt]:
    """Unpack what is missing or differs, and return the entries.

    Several processes may do this at once: each file appears whole or not at all.
    """
    chosen = None if arches is None else set(arches)
    found = [entry for entry in entries(destination) if chosen is None or entry.arch in chosen]
    for arch in sorted({entry.arch for entry in found}):
        wanted: dict[str, tuple[Path, str]] = {}
        for entry in found:
            if entry.arch == arch:
                wanted[entry.name] = (entry.path, entry.sha256)
                listing = entry.readelf_path
                wanted[listing.name] = (listing, entry.readelf_sha256)
        if not all(_is_right(path, digest) for path, digest in wanted.values()):
            _extract(HERE / "prebuilt" / f"{arch}.tar.xz", wanted)
    return found


@dataclass(frozen=True)
class Tree:
    """A root directory with a dynamic program, and what that prints (dynamic.json)."""

    arch: str
    path: Path
    program: str
    stdout: str


def unpack_trees(destination: Path = DEFAULT_DESTINATION) -> list[Tree]:
    """Unpack what is missing or differs of the dynamic programs, and return them."""
    found = []
    manifest: dict[str, Any] = json.loads((HERE / "dynamic.json").read_text())
    for entry in manifest["trees"]:
        root = destination / entry["arch"] / "root"
        wanted = {name: (root / name, file["sha256"]) for name, file in entry["files"].items()}
        if not all(_is_right(path, digest) for path, digest in wanted.values()):
            _extract(HERE / "prebuilt" / f"dynamic-{entry['arch']}.tar.xz", wanted)
        for path in root.rglob("*"):
            # What an older archive had would be seen by the programs.
            if path.is_file() and str(path.relative_to(root)) not in wanted:
                path.unlink(missing_ok=True)
        found.append(Tree(entry["arch"], root, entry["program"], entry["stdout"]))
    return found


def _is_right(path: Path, digest: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == digest


def _extract(archive: Path, wanted: dict[str, tuple[Path, str]]) -> None:
    """Write the wanted members; what else is in the archive is refused."""
    missing = set(wanted)
    with tarfile.open(archive, "r:xz") as members:
        for member in members:
            source = members.extractfile(member)
            if member.name not in missing or not member.isreg() or source is None:
                raise UnpackError(f"{archive.name}: unexpected member {member.name!r}")
            path, digest = wanted[member.name]
            content = source.read()
            if hashlib.sha256(content).hexdigest() != digest:
                raise UnpackError(f"{archive.name}: {member.name} is not what the manifest says")
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_name(f".{path.name}.{os.getpid()}")
            partial.write_bytes(content)
            partial.chmod(0o644 if path.suffix == ".txt" else 0o755)
            partial.replace(path)
            missing.remove(member.name)
    if missing:
        raise UnpackError(f"{archive.name}: no {', '.join(sorted(missing))}")


def main() -> int:
    """Unpack to the folder named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("destination", nargs="?", type=Path, default=DEFAULT_DESTINATION)
    options = parser.parse_args()
    try:
        found = unpack(options.destination)
        trees = unpack_trees(options.destination)
    except (OSError, tarfile.TarError, UnpackError) as error:
        print(f"unpack.py: {error}", file=sys.stderr)
        return 1
    print(f"{len(found) + len(trees)} programs in {options.destination}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
