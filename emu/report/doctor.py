"""The `doctor` command: what is installed here, what is missing, how to get it.

Each machine executes a few bytes under the check, so that a run of this command also
compiles everything that `check`, `backtrace` and `dump` would compile at first use, and
leaves it in numba's cache. Only the standard library is imported up here: a missing
library is what this command is there to report.
"""

import importlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import arch as machines
from arch import Arch
from arch.descriptor import InstructionKind
from emu.errors import UnwindlabError
from emu.report.output import write_report
from emu.report.text import complain

LIBRARIES = ("capstone", "lief", "numba", "numpy", "pyelftools", "rich", "unicorn")
"""Distributions that pyproject.toml requires; a test compares the two."""
_OLDEST_PYTHON = (3, 11)
_CHECKOUT = Path(__file__).resolve().parents[2]
_BASE = 0x400000
_WITHOUT_VERSION = "there, but it tells no version"


@dataclass(frozen=True, slots=True)
class Item:
    """One row of the report."""

    what: str
    found: str
    """A version or a measurement; empty: it is not there."""
    remedy: str = ""
    """How to get what is missing."""
    needed: bool = True

    @property
    def state(self) -> str:
        """The first word of the row."""
        if self.found:
            return "ok"
        return "MISSING" if self.needed else "absent"

    def __str__(self) -> str:
        return f"{self.state:<9}{self.what:<24}{self.found or self.remedy}"


def doctor() -> int:
    """Print one row for each thing that matters; 0, or 2 if something needed is missing."""
    complete = True
    for item in _items():
        write_report(f"{item}\n", None)
        complete = complete and (not item.needed or bool(item.found))
    if complete:
        write_report("\ncheck, backtrace and dump can work here.\n", None)
        return 0
    complain("unwindlab: something needed is missing, see above")
    return 2


def _items() -> Iterator[Item]:
    yield _python()
    libraries = [_library(name) for name in LIBRARIES]
    yield from libraries
    if all(item.found for item in libraries):
        compiled = _compiled_code()
        yield compiled
        for arch in machines.ALL if compiled.found else ():
            yield from _machine(arch)
    yield _prebuilt()
    yield _tool("readelf", ("--version",), "binutils")
    yield _tool("gdb", ("--version",), "gdb")
    yield _tool("eu-stack", ("--version",), "elfutils")
    for arch in machines.ALL:
        yield _tool(f"qemu-{arch.name}", ("--version",), "qemu-user")


def _python() -> Item:
    version = platform.python_version() if sys.version_info >= _OLDEST_PYTHON else ""
    return Item("Python", version, "Python 3.11 or newer, with venv and pip")


def _library(name: str) -> Item:
    try:
        return Item(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        return Item(name, "", f"pip install {name}")


# ---- compiled code


def _compiled_code() -> Item:
    """Import or compile, and cache, all that numba compiles."""
    what = "compiled code"
    begin = time.perf_counter()
    try:
        from emu.native import COMPILED

        if not COMPILED:
            return Item(what, "", "unset NUMBA_DISABLE_JIT: the check exists compiled only")
        for name in (
            "emu.machine.paging", "emu.unwind.walker", "emu.check.hook",
            "emu.sweep.paging", "emu.sweep.hook",
        ):  # fmt: skip
            importlib.import_module(name)
        _compile_large()
        for arch in machines.ALL:
            _run_return(arch)
    except (ImportError, OSError, RuntimeError, UnwindlabError) as error:
        # RuntimeError: numba finds no folder where it may write its cache.
        return Item(what, "", f"{type(error).__name__}: {error}")
    seconds = time.perf_counter() - begin
    missed = _cache_misses()
    if missed:
        return Item(what, f"{missed} functions compiled now, and cached, {seconds:.1f} s in all")
    return Item(what, f"from the cache, {seconds:.1f} s in all")


def _compile_large() -> None:
    """What reads large .sframe sections; small ones go without."""
    import numpy as np

    from emu.sframe import layout
    from emu.sframe.header import read_header
    from emu.sframe.packed import pack_section
    from emu.sframe.scan import Functions, scan

    scan(bytes(16), False, Functions(*(np.zeros(0, np.int64) for _ in range(7))), 0, compile_from=0)
    facts = machines.ALL[0].sframe
    abi, order = next(iter(facts.abi_ids.items()))
    section = struct.pack(layout.order_mark(order) + "HBBB23x", layout.MAGIC, 3, 0, abi)
    pack_section(section, read_header(section))


def _cache_misses() -> int:
    """Functions that numba had to compile in this process."""
    from numba.core.dispatcher import Dispatcher

    seen: dict[int, int] = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("emu.") and module is not None:
            for value in vars(module).values():
                if isinstance(value, Dispatcher):
                    seen[id(value)] = sum(value.stats.cache_misses.values())
    return sum(seen.values())


# ---- machines


def _machine(arch: Arch) -> Iterator[Item]:
    """That the emulator starts as this machine, and how registers are read there."""
    what = f"emulated {arch.name}"
    try:
        executed = _run_return(arch)
        from emu.machine.engine import Engine
        from emu.memory import Memory

        direct = bool(Engine(arch, Memory(1 << 20)).register_addresses())
    except (UnwindlabError, OSError) as error:
        yield Item(what, "", f"{type(error).__name__}: {error}")
        return
    yield Item(what, "starts and executes" if executed else "", "no instruction was executed")
    yield Item(
        f"  registers of {arch.name}",
        "read directly" if direct else "read through the emulator's interface (slower)",
    )


def _run_return(arch: Arch) -> int:
    """Check a program that is one return instruction; the number of executed ones.

    The stack is walked there, too. It has nowhere to return to, so it ends by a fault.
    """
    from emu.check.options import RunOptions
    from emu.check.run import Run

    table = "fp" if arch.frame_pointer_row is not None else "backchain"
    with tempfile.NamedTemporaryFile(prefix="unwindlab-") as file:
        file.write(_program(arch))
        file.flush()
        return Run(file.name, RunOptions(table=table, every=1)).to_end().guest.instructions


def _program(arch: Arch) -> bytes:
    """An ELF file with one segment, whose code is a return."""
    encoding = next(e for e in arch.encodings if e.kind is InstructionKind.RETURN)
    code = bytes(v | ~m & 0xFF for v, m in zip(encoding.value, encoding.mask, strict=True))
    order, mark = ("<", 1) if arch.byte_order == "little" else (">", 2)
    size = 64 + 56 + 8
    header = struct.pack(
        order + "4sBBB9xHHIQQQIHHHHHH",
        b"\x7fELF", 2, mark, 1, 2, arch.elf_machine, 1, _BASE + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0,
    )  # fmt: skip
    segment = struct.pack(order + "IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000)
    return header + segment + code.ljust(8, b"\0")


# ---- other things


def _prebuilt() -> Item:
    """Test programs: only a checkout has them, and only once they are unpacked."""
    what = "test programs"
    if not (_CHECKOUT / "testprogs" / "manifest.json").is_file():
        return Item(what, "", "only in a checkout of the project", needed=False)
    folder = _CHECKOUT / "build" / "testprogs"
    counts = {
        arch.name: sum(1 for p in folder.glob(f"{arch.name}/*") if p.suffix != ".txt")
        for arch in machines.ALL
    }
    if not all(counts.values()):
        return Item(what, "", "python testprogs/unpack.py", needed=False)
    return Item(what, ", ".join(f"{count} for {name}" for name, count in counts.items()))


def _tool(name: str, arguments: tuple[str, ...], package: str) -> Item:
    """An optional program, with the package that has it."""
    path = shutil.which(name)
    if path is None:
        return Item(name, "", f"optional; package {package}", needed=False)
    try:
        run = subprocess.run(
            [path, *arguments], capture_output=True, text=True, timeout=20, check=False,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return Item(name, _WITHOUT_VERSION, needed=False)
    first = next(iter(run.stdout.splitlines()), "")
    version = re.search(r"\d+(\.\d+)+", first)
    return Item(name, version[0] if version else _WITHOUT_VERSION, needed=False)
