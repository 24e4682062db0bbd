"""Python's compiled modules, as an installation has them and an unpacked package has not.

A package compiles its modules after it has been unpacked. Without that, every run would begin by
compiling them, three times the work of what the run is about. Here the programs of the list run
once under the reference, as who may write beside the modules.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping

from benchmarks.programs import ENVIRONMENT, Program
from benchmarks.reference import run_as_owner
from benchmarks.roots import Root

_PACKAGE = "{python}"
_FORBIDS = "PYTHONDONTWRITEBYTECODE="
_FOLDER = "__pycache__"


def compile_modules(root: Root, programs: Iterable[Program], names: Mapping[str, str]) -> None:
    """Give the views of a root what Python keeps of the modules that programs use.

    Args:
        root: that.
        programs: those that are no Python are passed over.
        names: of the suite.

    Raises:
        BuildError: the emulator cannot be had or started.
    """
    commands = [program.words(names) for program in programs if program.package == _PACKAGE]
    if not commands:
        return
    given = hashlib.sha256(repr((root.digest, commands)).encode()).hexdigest()
    stamp = root.base / "bytecode.made"
    if stamp.exists() and stamp.read_text() == given:
        return
    environment = [each for each in ENVIRONMENT if not each.startswith(_FORBIDS)]
    for name, *arguments in commands:
        run_as_owner(root, [root.program(name), *arguments], environment)
    for made in (root.reference / "usr" / "lib").rglob(f"{_FOLDER}/*"):
        for view in (root.root, root.sframe):
            target = view / made.relative_to(root.reference)
            target.parent.mkdir(exist_ok=True)
            target.unlink(missing_ok=True)
            os.link(made, target)
    stamp.write_text(given)
