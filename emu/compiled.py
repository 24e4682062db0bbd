"""The cache of compiled code, valid for exactly the sources that it was made from.

Numba keys its cache by the one file that a function stands in. Compiled functions here
call each other across files and freeze constants of others, so an edit of one file would
leave stale code in the rest. Each set of sources therefore has a cache folder of its
own, named by their digest. This module must run before the first function is decorated:
`emu.native`, which they all import, sees to that.
"""

import contextlib
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numba

SOURCES = (
    "arch/descriptor.py", "arch/row.py",
    "emu/check/code.py", "emu/check/hook.py", "emu/check/judge.py", "emu/check/state.py",
    "emu/compiled.py", "emu/machine/paging.py", "emu/memory.py", "emu/native.py",
    "emu/sframe/bulk.py", "emu/sframe/layout.py", "emu/sframe/scan.py",
    "emu/truth/classify.py", "emu/truth/shadow.py", "emu/unwind/frames.py",
    "emu/unwind/lookup.py", "emu/unwind/packed.py", "emu/unwind/step.py", "emu/verdict.py",
)  # fmt: skip
"""Every module that defines a compiled function, and what such modules take constants from."""

_ROOT = Path(__file__).resolve().parent.parent
_PREFIX = "compiled-"


def digest() -> str:
    """Of the sources, the interpreter and the compiler."""
    state = hashlib.sha256(f"{sys.implementation.cache_tag} {numba.__version__}".encode())
    for name in SOURCES:
        state.update((_ROOT / name).read_bytes())
    return state.hexdigest()[:16]


def _folder() -> Path:
    """Beside the code where that may be written, else with the user's caches."""
    beside = _ROOT / "emu" / "__pycache__"
    with contextlib.suppress(OSError):
        beside.mkdir(exist_ok=True)
    if os.access(beside, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "unwindlab"


def choose_cache() -> None:
    """Point numba to the folder of these sources, and remove those of earlier ones.

    A NUMBA_CACHE_DIR of the user's stays where it is, but gets the digest too.
    """
    config: Any = numba.config
    parent = Path(config.CACHE_DIR) if config.CACHE_DIR else _folder()
    chosen = parent / f"{_PREFIX}{digest()}"
    if not chosen.is_dir():
        for old in parent.glob(f"{_PREFIX}*"):
            shutil.rmtree(old, ignore_errors=True)
    config.CACHE_DIR = str(chosen)
