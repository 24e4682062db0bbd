"""The cache of compiled code, valid for exactly the sources that it was made from.

Numba keys its cache by the one file that a function stands in. Compiled functions here
call each other across files and freeze constants of others, so an edit of one file would
leave stale code in the rest. Each set of sources therefore has a cache folder of its
own, named by their digest. This module must run before the first function is decorated:
`emu.native`, which they all import, sees to that.

Any number of processes may share a folder, and sources may change while they run:

* One lock, beside the folders, orders all reads, writes and removals. Numba numbers its files
  by an index that it reads before and writes after; two writers would take one number for
  different code, and crash whoever loads it.
* A process whose sources changed since it began neither reads nor writes: what it compiles
  may be made of both.
* Without a cache that can be used everything is compiled, and nothing fails.
"""

import atexit
import contextlib
import fcntl
import functools
import hashlib
import os
import pickle
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys

SOURCES = (
    "arch/descriptor.py", "arch/flow.py", "arch/row.py",
    "emu/check/code.py", "emu/check/fetches.py", "emu/check/hook.py", "emu/check/judge.py",
    "emu/check/state.py", "emu/compiled.py", "emu/frames.py", "emu/machine/paging.py",
    "emu/memory.py", "emu/native.py",
    "emu/sframe/bulk.py", "emu/sframe/layout.py", "emu/sframe/scan.py",
    "emu/sweep/faults.py", "emu/sweep/hook.py", "emu/sweep/instructions.py",
    "emu/sweep/items.py", "emu/sweep/lengths.py", "emu/sweep/noreturn.py",
    "emu/sweep/noreturn_names.py", "emu/sweep/paging.py", "emu/sweep/paths.py",
    "emu/sweep/run_hook.py", "emu/sweep/saved.py", "emu/sweep/state.py", "emu/sweep/steer.py",
    "emu/sweep/verdict.py",
    "emu/truth/classify.py", "emu/truth/shadow.py", "emu/unwind/frames.py",
    "emu/unwind/lookup.py", "emu/unwind/packed.py", "emu/unwind/step.py", "emu/verdict.py",
)  # fmt: skip
"""Every module that defines a compiled function, and what such modules take constants from."""

_ROOT = Path(__file__).resolve().parent.parent
_PREFIX = "compiled-"
_LOCK = "compiled.lock"
_KEPT = 3
"""Folders of earlier sources that stay: for who goes back and forth between a few."""
_DAMAGED = (OSError, EOFError, pickle.UnpicklingError)
"""What a file raises that is cut, as the loss of power leaves it, or that is gone."""


def digest() -> str:
    """Of the sources, the interpreter and the compiler."""
    state = hashlib.sha256(f"{sys.implementation.cache_tag} {numba.__version__}".encode())
    for name in SOURCES:
        state.update((_ROOT / name).read_bytes())
    return state.hexdigest()[:16]


def choose_cache() -> None:
    """Point numba to the folder of these sources, and guard it.

    A NUMBA_CACHE_DIR of the user's stays where it is, but gets the digest too; nothing is
    removed from it.
    """
    config: Any = numba.config
    begin = _stamps()
    parent = Path(config.CACHE_DIR).absolute() if config.CACHE_DIR else cache_folder()
    chosen = parent / f"{_PREFIX}{digest()}"
    if not config.CACHE_DIR:
        _forget(parent, chosen)
    chosen = _writable(chosen)
    config.CACHE_DIR = str(chosen)
    _guard(chosen, lambda: _stamps() == begin)


def _stamps() -> tuple[tuple[int, ...], ...]:
    """What changes when a source is written or replaced."""
    states = [os.stat(_ROOT / name) for name in SOURCES]
    return tuple((state.st_mtime_ns, state.st_size, state.st_ino) for state in states)


def cache_folder() -> Path:
    """Beside the code where that may be written, else with the user's caches."""
    beside = _ROOT / "emu" / "__pycache__"
    with contextlib.suppress(OSError):
        beside.mkdir(exist_ok=True)
    if os.access(beside, os.W_OK):
        return beside
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "unwindlab"


def _forget(parent: Path, chosen: Path) -> None:
    """Remove all but the last few folders of other sources."""
    with contextlib.suppress(OSError):
        if chosen.is_dir():
            # It counts as new for those who remove.
            os.utime(chosen)
            return
        with _locked(parent, fcntl.LOCK_EX):
            made = [p for p in parent.iterdir() if re.fullmatch(_PREFIX + "[0-9a-f]{16}", p.name)]
            made.sort(key=lambda folder: folder.stat().st_mtime_ns)
            for old in made[:-_KEPT]:
                shutil.rmtree(old, ignore_errors=True)


def _writable(folder: Path) -> Path:
    """The folder, or one for this process alone: without any, numba decorates no function."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if os.access(folder, os.W_OK):
        return folder
    made = tempfile.mkdtemp(prefix="unwindlab-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made) / folder.name


@contextlib.contextmanager
def _locked(parent: Path, operation: int) -> Iterator[None]:
    """Hold the lock of all folders in `parent`, for the short time of one read or write."""
    parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(parent / _LOCK, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(handle, operation)
        yield
    finally:
        os.close(handle)


def _guard(chosen: Path, unchanged: Callable[[], bool]) -> None:
    """Make numba's cache of functions keep the rules above in the folder `chosen`."""
    cache: Any = FunctionCache
    load = getattr(cache.load_overload, "__wrapped__", cache.load_overload)
    save = getattr(cache.save_overload, "__wrapped__", cache.save_overload)
    busy = False

    def kept(operation: int, work: Callable[[], Any]) -> Any:
        """What `work` gives while the lock is held; None where the cache cannot be used."""
        nonlocal busy
        if busy:
            # What a load compiles is not kept: the lock must not wait for itself.
            return None
        busy = True
        try:
            with contextlib.suppress(*_DAMAGED), _locked(chosen.parent, operation):
                return work() if unchanged() else None
            return None
        finally:
            busy = False

    @functools.wraps(load)
    def guarded_load(self: Any, sig: Any, target_context: Any) -> Any:
        if not _is_inside(self, chosen):
            return load(self, sig, target_context)
        with _as_it_is(target_context):
            return kept(fcntl.LOCK_SH, lambda: load(self, sig, target_context))

    @functools.wraps(save)
    def guarded_save(self: Any, sig: Any, data: Any) -> None:
        def write() -> None:
            try:
                save(self, sig, data)
            except (EOFError, pickle.UnpicklingError):
                # The index is cut. Numba writes a new one, and then numbers anew.
                self.flush()
                save(self, sig, data)

        if _is_inside(self, chosen):
            kept(fcntl.LOCK_EX, write)
        else:
            save(self, sig, data)

    cache.load_overload, cache.save_overload = guarded_load, guarded_save


@contextlib.contextmanager
def _as_it_is(context: Any) -> Iterator[None]:
    """Let numba load code without what it knows of Python and numpy: only compiling needs that.

    To get it takes longer than all loads. Numba does so before it looks whether there is anything
    to load; where there is not, its compiler does it once more.
    """
    # This is all that compiled code itself calls.
    context.refresh = functools.partial(rtsys.initialize, context)
    try:
        yield
    finally:
        vars(context).pop("refresh", None)


def _is_inside(cache: Any, chosen: Path) -> bool:
    """The cache of a function is ours; somebody else's in the same process is not."""
    inside: bool = cache.cache_path.startswith(f"{chosen}{os.sep}")
    return inside
