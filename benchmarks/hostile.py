#!/usr/bin/env python3
"""A million damaged .sframe sections, read in every way that there is: `make hostile`.

Each is decoded, packed, turned into a table, looked up at its edges, and printed as text and
JSON, in this process. What may happen and what may not is in benchmarks/README.md. A section
that breaks a rule is saved with its seed and number; `--only NUMBER` makes it again.
"""

from __future__ import annotations

import argparse
import ctypes
import functools
import gc
import json
import mmap
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
import tracemalloc
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import FrameType
from typing import Any

from rich.console import Console

from benchmarks import mutants
from benchmarks.mutants import Mutant, Original
from emu.errors import SFrameError
from emu.native import COMPILED
from emu.report.dump import section_lines
from emu.sframe.decode import Decoded, decode
from emu.sframe.packed import pack_section
from emu.sframe.table import function_rows
from emu.tables import FunctionRows, NoRow, PackedTable, Table
from emu.unwind.lookup import RowTable, lookup
from emu.verdict import Verdict

COUNT = 1_000_000
SECONDS = 1.0
"""For one section, all of it."""
TIMES, ROOM = 20, 32 << 10
"""Peak memory: so many times the bytes of the section, and room for what any section takes."""
_MEASURED = 50
"""Every so many sections memory is measured, which makes it several times as slow."""
_ADDRESS_SPACE = 256 << 20
"""Bytes that a process may map beyond what it has when it begins."""
_GRACE = 10.0
"""Seconds after which a process that is stuck in compiled code is ended."""
_OF_ONE = 50_000
"""Sections that one process reads: measuring memory leaves its heap in ever smaller pieces."""
_MOST_EDGES = 40
_TOP = 1 << 63
_KEPT = 5


class Broken(Exception):
    """A rule was broken."""


class _TooSlow(BaseException):
    """Raised by the alarm; no handler of Exception may catch it."""


@dataclass
class Totals:
    """What happened, of one process or of all."""

    count: int = 0
    refused: int = 0
    faultless: int = 0
    packed: int = 0
    faults: int = 0
    lookups: int = 0
    seconds: float = 0.0
    measured: int = 0
    slowest: list[tuple[float, int]] = field(default_factory=list)
    """(seconds, number) of some."""
    hungriest: list[tuple[float, int, int, int]] = field(default_factory=list)
    """(times the bytes beyond ROOM, number, peak, bytes) of some."""
    broken: list[tuple[int, str]] = field(default_factory=list)
    """(number, why)."""
    how: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Totals) -> None:
        """Add those of another process."""
        for name in ("count", "refused", "faultless", "packed", "faults", "lookups", "measured"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.seconds += other.seconds
        self.slowest = sorted(self.slowest + other.slowest, reverse=True)[:_KEPT]
        self.hungriest = sorted(self.hungriest + other.hungriest, reverse=True)[:_KEPT]
        self.broken += other.broken
        self.how += other.how


# ---- one section


@dataclass(frozen=True, slots=True)
class Reader:
    """What is under test, so that a test can put in something that fails."""

    decode: Callable[..., Decoded] = decode
    pack: Callable[..., PackedTable | None] = pack_section


class Fence:
    """Memory between two pages that nobody may touch, for sections up to some size.

    Compiled code that reads a byte before or behind the section ends the process.
    """

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        self._size = -(-size // page) * page
        self._map = mmap.mmap(-1, self._size + 2 * page)
        self._first = page
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for at in (0, page + self._size):
            if protect(address + at, page, 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def hold(self, data: bytes, at_end: bool) -> memoryview | bytes:
        """The bytes, right behind the first page or right before the last one."""
        if len(data) > self._size:
            return data
        at = self._first + (self._size - len(data) if at_end else 0)
        view = memoryview(self._map)[at : at + len(data)]
        view[:] = data
        return view.toreadonly()


@functools.cache
def _fence() -> Fence:
    return Fence(64 << 10)


def read(section: Mutant, totals: Totals, reader: Reader) -> None:
    """Read a section in every way.

    Raises:
        Broken: a rule is broken; so does any other exception.
    """
    data = section.data
    places = mutants.relocations(data) if section.relocated else None
    try:
        decoded = reader.decode(data, relocations=places)
    except SFrameError as error:
        if not 0 <= error.offset <= len(data):
            raise Broken(f"refused at {error.offset}, outside of the section") from error
        totals.refused += 1
        return
    offsets = [fault.offset for fault in decoded.faults]
    if offsets and (min(offsets) < 0 or max(offsets) > len(data)):
        raise Broken("a fault outside of the section")
    if offsets != sorted(offsets):
        raise Broken("faults out of order")
    totals.faults += len(offsets)
    totals.faultless += not offsets
    functions = function_rows(decoded, section.relocated)
    totals.lookups += _look_up(functions, decoded, len(data))
    if places is None and COMPILED:
        for at_end in (False, True):
            packed = reader.pack(_fence().hold(data, at_end), decoded.header)
            if packed is not None and offsets:
                raise Broken("packed in spite of faults")
            if packed is not None:
                _compare_packed(packed, functions)
        totals.packed += packed is not None
    for format in ("json", "text"):
        text = "".join(section_lines(decoded, len(data), "section", format))
        if format == "json":
            printed = json.loads(text)
            if len(printed["faults"]) != len(offsets):
                raise Broken("faults are missing in the printed form")


def _look_up(functions: Sequence[FunctionRows], decoded: Decoded, size: int) -> int:
    """Look up the edges of functions and rows, and compare with the plain meaning of rows."""
    table = RowTable(Table("sframe", tuple(functions), size), decoded.header.arch)
    ordered = sorted((f for f in functions if f.size), key=lambda f: (f.start, f.size))
    starts = [function.start for function in ordered]
    addresses = _edges(ordered)
    for address in addresses:
        code = lookup(table.block, address)
        row = _meaning(ordered, starts, address)
        found = table.rows[code] if code >= 0 else Verdict(-code)
        if found != (row.verdict if isinstance(row, NoRow) else row):
            raise Broken(f"look-up of {address:#x} gives {found}, not {row}")
        if isinstance(row, NoRow) and table.reason(address) != row.reason:
            raise Broken(f"look-up of {address:#x} gives another reason than {row}")
    return len(addresses)


def _edges(functions: Sequence[FunctionRows]) -> list[int]:
    found = {0, 1, _TOP - 1}
    for function in functions:
        if len(found) > _MOST_EDGES:
            break
        end = function.start + function.size
        found |= {function.start - 1, function.start, end - 1, end}
        for start in function.starts[:6]:
            found |= {function.start + start - 1, function.start + start}
        if function.rep_size:
            found |= {function.start + function.rep_size, end - end % function.rep_size}
    return sorted(address for address in found if 0 <= address < _TOP)


def _meaning(ordered: Sequence[FunctionRows], starts: Sequence[int], address: int) -> Any:
    """The row at an address, found in the plainest way."""
    index = bisect_right(starts, address) - 1
    if index < 0 or address >= ordered[index].start + ordered[index].size:
        return NoRow(Verdict.NO_FDE, "")
    function = ordered[index]
    offset = address - function.start
    if function.rep_size:
        offset %= function.rep_size
    row = bisect_right(function.starts, offset) - 1
    return function.rows[row] if row >= 0 else NoRow(Verdict.NO_FRE, "")


def _compare_packed(packed: PackedTable, functions: Sequence[FunctionRows]) -> None:
    """The packed form must say the same of every function that can be looked up."""
    ordered = sorted((f for f in functions if f.size), key=lambda f: (f.start, f.size))
    if len(packed.functions) != len(ordered):
        raise Broken(f"{len(packed.functions)} packed functions, {len(ordered)} in the table")
    for record, function in zip(packed.functions.tolist(), ordered, strict=True):
        start, end, rep_size, first, count = record
        rows = [-row.verdict if isinstance(row, NoRow) else row for row in function.rows]
        codes = packed.codes[first : first + count].tolist()
        same = (
            (start, end, rep_size)
            == (function.start, function.start + function.size, function.rep_size)
            and tuple(packed.starts[first : first + count].tolist()) == function.starts
            and [packed.rows[code] if code >= 0 else code for code in codes] == rows
        )
        if not same:
            raise Broken(f"the function at {function.start:#x} is packed as another")


# ---- many sections


def run(
    numbers: Sequence[int],
    seed: int,
    known: Sequence[Original],
    reader: Reader | None = None,
    started: Callable[[int], None] = lambda number: None,
    seconds: float = SECONDS,
) -> Totals:
    """Read the mutants with some numbers, in this process; `started` hears of each."""
    totals = Totals()
    reader = reader or Reader()
    before = signal.signal(signal.SIGALRM, _alarm)
    try:
        for number in numbers:
            started(number)
            _run_one(number, mutants.mutant(seed, number, known), totals, reader, seconds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return totals


def _alarm(number: int, frame: FrameType | None) -> None:
    raise _TooSlow


def _run_one(number: int, section: Mutant, totals: Totals, reader: Reader, seconds: float) -> None:
    totals.count += 1
    totals.how.update(section.how.partition("/")[0].split("+"))
    signal.setitimer(signal.ITIMER_REAL, seconds)
    begin = time.perf_counter()
    try:
        read(section, totals, reader)
        taken = time.perf_counter() - begin
        if number % _MEASURED == 0:
            # Measuring makes everything several times as slow.
            signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
            _measure(number, section, totals, reader)
    except _TooSlow:
        totals.broken.append((number, f"{section.how}: more than {seconds} s"))
        return
    except Exception as error:
        # Whatever it is: that is what this looks for.
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        reason = f"{section.how}: {type(error).__name__}: {error} ({where})"
        totals.broken.append((number, reason))
        return
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    totals.seconds += taken
    if len(totals.slowest) < _KEPT or taken > totals.slowest[-1][0]:
        totals.slowest = sorted([*totals.slowest, (taken, number)], reverse=True)[:_KEPT]


def _measure(number: int, section: Mutant, totals: Totals, reader: Reader) -> None:
    """Peak memory of all that a user's command does with a section, without our comparisons."""
    data, size = section.data, max(1, len(section.data))
    places = mutants.relocations(data) if section.relocated else None
    tracemalloc.start()
    try:
        decoded = reader.decode(data, relocations=places)
        functions = function_rows(decoded, section.relocated)
        RowTable(Table("sframe", functions, len(data)), decoded.header.arch)
        if places is None and COMPILED:
            reader.pack(data, decoded.header)
        del functions
        for format in ("json", "text"):
            for _ in section_lines(decoded, len(data), "section", format):
                pass
    except SFrameError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    totals.measured += 1
    entry = (max(0, peak - ROOM) / size, number, peak, len(data))
    totals.hungriest = sorted([*totals.hungriest, entry], reverse=True)[:_KEPT]
    if peak > TIMES * size + ROOM:
        raise Broken(f"{peak} bytes of memory for a section of {size}")


def _worker(
    numbers: range,
    seed: int,
    known: Sequence[Original],
    reader: Reader,
    now: Any,
    sender: Connection,
) -> None:
    """Run in a process of its own, in parts, so that what it found is not lost with it."""
    warm = Totals()
    for original in known[:: max(1, len(known) // 50)]:
        read(Mutant(original.data, "original", False), warm, Reader())
    gc.freeze()
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (mapped + _ADDRESS_SPACE, resource.RLIM_INFINITY))

    def started(number: int) -> None:
        now[0], now[1] = number, time.monotonic()

    for begin in range(0, len(numbers), 200):
        sender.send(run(numbers[begin : begin + 200], seed, known, reader, started))
    now[0] = -1


def run_all(
    count: int,
    seed: int,
    jobs: int,
    known: Sequence[Original],
    heard: Callable[[Totals], None] = lambda totals: None,
    reader: Reader | None = None,
    grace: float = _GRACE,
) -> Totals:
    """Read the first `count` mutants in several processes; `heard` gets the totals so far.

    A process that dies, or is stuck where no alarm reaches it, is a broken rule of the section
    that it was at; another one goes on behind it.
    """
    context = multiprocessing.get_context("fork")
    totals = Totals()
    waiting = [range(begin, min(begin + _OF_ONE, count)) for begin in range(0, count, _OF_ONE)]
    running: dict[Connection, tuple[Any, Any, range]] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            numbers = waiting.pop()
            if not numbers:
                continue
            receiver, sender = context.Pipe(duplex=False)
            now = context.Array("d", [float(numbers[0]), time.monotonic() + 60], lock=False)
            process = context.Process(
                target=_worker, args=(numbers, seed, known, reader or Reader(), now, sender)
            )
            process.start()
            sender.close()
            running[receiver] = process, now, numbers
        ready: list[Any] = wait(list(running), timeout=1)
        for receiver in ready:
            process, now, numbers = running[receiver]
            try:
                part: Totals = receiver.recv()
            except EOFError:
                process.join()
                del running[receiver]
                if now[0] >= 0:
                    number = int(now[0])
                    reason = f"the process ended with {process.exitcode}"
                    totals.broken.append((number, reason))
                    waiting.append(numbers[numbers.index(number) + 1 :])
                continue
            totals.merge(part)
            heard(totals)
        for process, now, _ in running.values():
            if now[0] >= 0 and time.monotonic() - now[1] > grace:
                process.kill()
    return totals


# ---- how time and memory grow


@dataclass(frozen=True, slots=True)
class Growth:
    """One section of a kind that is as bad as it can be."""

    name: str
    size: int
    seconds: float
    peak: float
    """Times the bytes, for the decode."""
    table_peak: float | None
    """The same for the table made of it, while the decoded form is held; measured where it does
    not take minutes."""


def growth(sizes: Sequence[int]) -> Iterator[Growth]:
    """Decode the worst sections known, of several sizes."""
    for name, make in mutants.WORST.items():
        for size in sizes:
            data = make(size)
            times = []
            # The first time loads the compiler where the section is large.
            for _ in range(2):
                begin = time.perf_counter()
                decode(data)
                times.append(time.perf_counter() - begin)
            seconds = min(times)
            gc.collect()
            tracemalloc.start()
            decoded = decode(data)
            peak = tracemalloc.get_traced_memory()[1]
            table_peak = None
            if size <= 1_000_000:
                tracemalloc.reset_peak()
                function_rows(decoded)
                table_peak = tracemalloc.get_traced_memory()[1] / len(data)
            tracemalloc.stop()
            yield Growth(name, len(data), seconds, peak / len(data), table_peak)


# ---- the command


def main() -> int:
    """Run and print; 1 if a rule was broken."""
    parser = argparse.ArgumentParser(description="read a great many damaged sections")
    parser.add_argument("--count", type=int, default=COUNT, help=f"({COUNT})")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one section, with a traceback")
    parser.add_argument("--save", type=Path, help="folder for what breaks a rule")
    parser.add_argument(
        "--growth", metavar="MB", nargs="*", type=float,
        help="instead: time and memory for the worst sections of these sizes (0.1 1 10)",
    )  # fmt: skip
    options = parser.parse_args()
    console = Console(highlight=False, soft_wrap=True)
    if options.growth is not None:
        return _print_growth([int(mb * 1e6) for mb in options.growth or (0.1, 1, 10)], console)
    known = mutants.originals()
    if options.only is not None:
        section = mutants.mutant(options.seed, options.only, known)
        console.print(f"{section.how}: {section.data.hex()}")
        read(section, Totals(), Reader())
        return 0
    begin = time.monotonic()

    def heard(totals: Totals) -> None:
        if sys.stderr.isatty():
            print(f"\r{totals.count:,}, {len(totals.broken)} broken ", end="", file=sys.stderr)

    totals = run_all(options.count, options.seed, options.jobs, known, heard)
    _print(totals, len(known), time.monotonic() - begin, console)
    if totals.broken:
        folder = options.save or Path(tempfile.mkdtemp(prefix="hostile-"))
        folder.mkdir(parents=True, exist_ok=True)
        for number, reason in sorted(totals.broken):
            path = folder / f"seed{options.seed}-{number}.sframe"
            path.write_bytes(mutants.mutant(options.seed, number, known).data)
            console.print(f"broken: {reason}; saved in {path}", style="red", markup=False)
    return 1 if totals.broken else 0


def _print(totals: Totals, originals: int, seconds: float, console: Console) -> None:
    console.print(
        f"{totals.count:,} mutants of {originals:,} sections in {seconds:.0f} s\n"
        f"  refused    {totals.refused:,}\n"
        f"  decoded    {totals.count - totals.refused:,}, of which {totals.faultless:,} without a "
        f"fault ({totals.packed:,} packed), the others with {totals.faults:,} faults\n"
        f"  looked up  {totals.lookups:,} addresses\n"
        f"  broken     {len(totals.broken)}\n"
        f"  time       {1e3 * totals.seconds / max(1, totals.count):.2f} ms on "
        f"average; slowest: "
        + ", ".join(f"{1e3 * taken:.1f} ms (#{number})" for taken, number in totals.slowest)
        + f"\n  memory     measured {totals.measured:,} times; hungriest, beyond {ROOM:,} bytes: "
        + ", ".join(
            f"{times:.1f} times {size} bytes (#{number}, {peak:,} in all)"
            for times, number, peak, size in totals.hungriest
        )
        + "\n  mutations  "
        + ", ".join(f"{name} {count:,}" for name, count in sorted(totals.how.items()))
    )


def _print_growth(sizes: Sequence[int], console: Console) -> int:
    console.print("| section | bytes | decode, s | MB/s | peak, times | table, times |")
    console.print("|---|---|---|---|---|---|")
    wrong = 0
    for found in growth(sizes):
        console.print(
            f"| {found.name} | {found.size:,} | {found.seconds:.3f} "
            f"| {found.size / found.seconds / 1e6:.1f} | {found.peak:.1f} "
            f"| {'' if found.table_peak is None else f'{found.table_peak:.1f}'} |"
        )
        wrong += found.peak > TIMES
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
