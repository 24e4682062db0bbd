#!/usr/bin/env python3
"""How fast tables are read, searched and followed: `make bench-tables`.

Three parts, in one run: decoding a large .sframe section beside `readelf --sframe`, look-ups
in tables of a hundred to a million functions, and walks of saved stacks by SFrame V2, V3 and
.eh_frame. What each figure means is in benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numba
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import Progress
from rich.table import Table as TextTable

from arch import ALL, Arch, CfaRule, RegRule, Row, RuleKind
from arch.row import KEEP
from arch.x86_64 import X86_64
from benchmarks.big_section import FUNCTIONS, write
from emu.check.options import RunOptions
from emu.check.run import Run
from emu.check.session import Session
from emu.image import Image, load_image
from emu.memory import PAGE, READ, Memory
from emu.sample import Sample
from emu.sframe.container import decode_contained, find_section
from emu.sframe.convert import convert
from emu.sframe.decode import decode
from emu.sframe.header import read_header
from emu.sframe.packed import pack_section, packed_table
from emu.sframe.table import function_rows, sframe_table
from emu.tables import PackedTable, Table
from emu.unwind.frames import CAPACITY, GOES_ON, walk_frames
from emu.unwind.lookup import RowTable, lookup
from emu.unwind.sources import row_table
from emu.unwind.walker import ModuleTable, Walk, walk
from emu.verdict import Verdict
from testprogs.unpack import DEFAULT_DESTINATION, unpack

_REPEAT = 7
_DECODES = 3
"""Decodes after each run of readelf."""
_SERIES = (100, 1_000, 10_000, 100_000, 1_000_000)
_LOOKUPS = 1 << 20
_ROWS_PER_FUNCTION = 6
_STACKS = (
    ("calls-musl-v3-O0", "is_even", 75),
    ("calls-musl-v3-O2", "is_even", 75),
    ("flow-v3-O2-nofp", "deep", 60),
    ("work-musl-v3-O2", "insert", 200),
    ("parse-musl-v3-O1", "atom", 20),
)
"""Program, function and how often that is reached."""
_FRAMES = 2_000_000
_MADE_FOR = X86_64
_MADE_FUNCTIONS, _MADE_FRAMES = 120_000, 10_000
_STACK = 0x7000_0000

Addresses = np.ndarray[tuple[int], np.dtype[np.int64]]


def main() -> int:
    """Measure and print; 1 if two ways to the same rows or stacks disagree."""
    parser = argparse.ArgumentParser(description="measure decoding, look-ups and walks")
    parser.add_argument("--functions", type=int, default=FUNCTIONS, help="of the large section")
    parser.add_argument("--file", help="an ELF file with a large .sframe, instead of a made one")
    for tool, name in (("assembler", "as"), ("linker", "ld"), ("readelf", "readelf")):
        parser.add_argument(
            f"--{tool}", default=name, help=f"command, perhaps with arguments ({name})"
        )
    options = parser.parse_args()
    unpack()
    console = Console(width=None if sys.stdout.isatty() else 130)
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("measuring", total=3 + len(_SERIES) + len(ALL) * len(_STACKS))
        agree = True
        for part in (_decoding(options), _lookups(), _walks()):
            tables = []
            for table, good in part:
                tables = [table]
                agree = agree and good
                bar.advance(task)
            for table in tables:
                console.print(table)
                console.print()
    if not agree:
        print("two ways to the same rows or stacks DISAGREE")
    return int(not agree)


def _text_table(title: str, first: str, *columns: str) -> TextTable:
    table = TextTable(title=title, box=None, header_style="bold", title_justify="left")
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


# ---- decoding


def _decoding(options: argparse.Namespace) -> Iterator[tuple[TextTable, bool]]:
    table = _text_table(
        f"decoding, median of {_REPEAT} rounds", "section", "MB", "functions", "rows", "ms",
        "MB/s", "M rows/s", "objects, ms", "readelf, ms", "readelf/packed",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="unwindlab-") as folder:
        for path, what in _files(options, Path(folder)):
            yield table, _decode_row(table, path, what, shlex.split(options.readelf))


def _files(options: argparse.Namespace, folder: Path) -> Iterator[tuple[Path, str]]:
    """Files with a large section: the given one, or the assembler's and the linker's."""
    if options.file:
        yield Path(options.file), "given"
        return
    source, made, linked = (folder / name for name in ("big.s", "big.o", "big.so"))
    with source.open("w") as file:
        write(file, options.functions)
    commands = (
        (options.assembler, ["--gsframe", str(source), "-o", str(made)], made, "assembled"),
        (options.linker, ["-shared", str(made), "-o", str(linked)], linked, "linked"),
    )
    for command, arguments, path, what in commands:
        words = shlex.split(command)
        if shutil.which(words[0]) is None:
            print(f"{command}: not found, so there is no large section to decode")
            return
        run = subprocess.run([*words, *arguments], capture_output=True, text=True, check=False)
        if run.returncode:
            print(f"{command}: {run.stderr.strip().splitlines()[-1:]}: no large section to decode")
            return
        yield path, what


def _decode_row(table: TextTable, path: Path, what: str, readelf: list[str]) -> bool:
    image = load_image(str(path))
    contained = find_section(image)
    if contained is None or image.arch is None:
        raise SystemExit(f"{path}: no .sframe that can be read")
    header = read_header(contained.data, image.byte_order)

    def packed() -> PackedTable | None:
        """As `check` gets it; of an object, whose functions have no place yet, the section."""
        if image.kind == "rel":
            return pack_section(contained.data, header)
        return packed_table(image)

    def objects() -> Table | None:
        """The table of objects."""
        if image.kind == "rel":
            return Table("sframe", function_rows(decode(contained.data)), len(contained.data))
        return sframe_table(image)

    found = packed()
    if found is None:
        raise SystemExit(f"{path}: its .sframe has faults")
    slow, made = _seconds(objects)
    same = _same_rows(found, RowTable(made, image.arch).arrays)
    del made
    command = [*readelf, "--sframe", str(path)]
    knows = _readelf_knows(command, header.num_fres)
    times, peers = [], []
    for _ in range(_REPEAT):
        if knows:
            peers.append(_seconds(lambda: _run(command))[0])
        times += [_seconds(packed)[0] for _ in range(_DECODES)]
    took = statistics.median(times)
    peer = statistics.median(peers) if peers else 0
    size = len(contained.data) / 1e6
    table.add_row(
        f"{what}, V{header.version.number}", f"{size:.2f}",
        f"{header.num_fdes:,}", f"{header.num_fres:,}", f"{took * 1e3:.1f}", f"{size / took:.0f}",
        f"{header.num_fres / took / 1e6:.0f}", f"{slow * 1e3:.0f}",
        f"{peer * 1e3:.0f}" if peers else "-", f"{peer / took:.1f}" if peers else "-",
    )  # fmt: skip
    return same


def _seconds(measured: Callable[[], Table | PackedTable | None]) -> tuple[float, Table | None]:
    begin = time.perf_counter()
    result = measured()
    return time.perf_counter() - begin, result if isinstance(result, Table) else None


def _run(command: list[str]) -> None:
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


def _readelf_knows(command: list[str], rows: int) -> bool:
    """It can be run, and prints the section with all its rows."""
    if shutil.which(command[0]) is None:
        print(f"{command[0]}: not found, so there is nothing to compare decoding with")
        return False
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    printed = re.search(r"Num FREs: (\d+)", run.stdout)
    lines = len(re.findall(r"^ *[0-9a-f]{8,} ", run.stdout, re.MULTILINE))
    if run.returncode or printed is None or int(printed[1]) != rows or lines < rows:
        print(f"{shlex.join(command)}: it does not print all rows, so there is no comparison")
        return False
    return True


def _same_rows(one: PackedTable, other: PackedTable) -> bool:
    """Both have the same functions with the same rows (both are in the order of addresses)."""
    first, second = one.functions, other.functions
    if not np.array_equal(first[:, [0, 1, 2, 4]], second[:, [0, 1, 2, 4]]):
        return False
    counts = first[:, 4]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    here, there = (np.repeat(each[:, 3], counts) + within for each in (first, second))
    numbers = {row: number for number, row in enumerate(other.rows)}
    translated = np.array([*(numbers.get(row, -99) for row in one.rows), -99])
    codes = one.codes[here]
    codes = np.where(codes >= 0, translated[np.maximum(codes, 0)], codes)
    return bool(
        np.array_equal(one.starts[here], other.starts[there])
        and np.array_equal(codes, other.codes[there])
    )


# ---- look-ups


@numba.njit(cache=False)
def _look_up(table: int, addresses: npt.NDArray[np.int64]) -> int:
    total = 0
    for address in addresses:
        total += lookup(table, address)
    return total


def _lookups() -> Iterator[tuple[TextTable, bool]]:
    table = _text_table(
        f"{_LOOKUPS:,} random look-ups, {_ROWS_PER_FUNCTION} rows a function", "functions",
        "table, MB", "steps of the search", "ns", "ns a step",
    )  # fmt: skip
    for count in _SERIES:
        source = np.random.default_rng(1)
        made, ends = _made_table(count, source)
        functions = made.arrays.functions
        addresses = source.integers(0, int(ends[-1]), _LOOKUPS)
        offsets = addresses - functions[np.searchsorted(ends, addresses, "right"), 0]
        wanted = int(np.minimum(offsets // 10, _ROWS_PER_FUNCTION - 1).sum())
        good = _look_up(made.block, addresses) == wanted
        took = min(_timed(lambda: _look_up(made.block, addresses)) for _ in range(_REPEAT))  # noqa: B023
        steps = np.log2(count) + np.log2(_ROWS_PER_FUNCTION)
        each = took / _LOOKUPS * 1e9
        parts = functions, made.arrays.starts, made.arrays.codes
        size = sum(part.nbytes for part in parts) / 1e6
        table.add_row(
            f"{count:,}", f"{size:.2f}", f"{steps:.1f}", f"{each:.0f}", f"{each / steps:.2f}"
        )
        yield table, good


def _made_table(count: int, source: np.random.Generator) -> tuple[RowTable, Addresses]:
    """Functions side by side from address 0 with rows CFA=SP+8, +16, ..., and their ends."""
    sizes = source.integers(64, 512, count)
    ends = np.cumsum(sizes)
    functions = np.zeros((count, 5), np.int64)
    functions[:, 0], functions[:, 1] = ends - sizes, ends
    functions[:, 3] = np.arange(count) * _ROWS_PER_FUNCTION
    functions[:, 4] = _ROWS_PER_FUNCTION
    starts = np.tile(np.arange(_ROWS_PER_FUNCTION) * 10, count)
    codes = np.tile(np.arange(_ROWS_PER_FUNCTION, dtype=np.int32), count)
    rows = tuple(
        Row(CfaRule(_MADE_FOR.sp, 8 * n + 8), RegRule(RuleKind.AT_CFA, offset=-8), KEEP, 0)
        for n in range(_ROWS_PER_FUNCTION)
    )
    return RowTable(None, _MADE_FOR, PackedTable(functions, starts, codes, rows)), ends


def _timed(measured: Callable[[], object]) -> float:
    begin = time.perf_counter()
    measured()
    return time.perf_counter() - begin


# ---- walks


@numba.njit(cache=False)
def _repeat(
    block: int, words: npt.NDArray[np.int64], saved: npt.NDArray[np.int64], times: int
) -> int:
    """Walk the same stack several times; the sum of the verdicts."""
    total = 0
    for _ in range(times):
        for word in range(len(saved)):
            words[word] = saved[word]
        total += walk_frames(block)
    return total


def _walks() -> Iterator[tuple[TextTable, bool]]:
    table = _text_table(
        "walks, ns a frame in the compiled loop", "stack", "frames", "end", "SFrame V2",
        "SFrame V3", ".eh_frame", "V3 as objects",
    )  # fmt: skip
    for arch in ALL:
        for program, function, nth in _STACKS:
            yield table, _walk_row(table, arch, program, function, nth)


    yield table, _made_walk(table)


def _made_walk(table: TextTable) -> bool:
    """A deep stack of random functions, no two frames alike, in a table of many."""
    source = np.random.default_rng(2)
    rows, ends = _made_table(_MADE_FUNCTIONS, source)
    bias = 0x10_0000
    calls = source.integers(0, int(ends[-1]), _MADE_FRAMES)
    offsets = calls - rows.arrays.functions[np.searchsorted(ends, calls, "right"), 0]
    depths = np.minimum(offsets // 10, _ROWS_PER_FUNCTION - 1)
    stack = np.zeros(int((depths + 1).sum()), np.int64)
    # The first one is the sampled PC; the others are looked up one byte lower.
    stack[np.cumsum(depths + 1) - 1] = [*(calls[1:] + bias + 1), 0]
    memory = Memory(1 << 24)
    memory.map(_STACK, -(-stack.nbytes // PAGE) * PAGE, READ)
    memory.write(_STACK, stack.tobytes(), force=True)
    registers = {_MADE_FOR.sp: _STACK, _MADE_FOR.fp: 0}
    sample = Sample(_MADE_FOR, int(calls[0]) + bias, registers, memory)
    modules = [ModuleTable(bias, bias + int(ends[-1]), bias, rows)]
    trace = walk(sample, modules)
    took = _frame_time(sample, modules, _MADE_FRAMES)
    table.add_row(
        f"made, {_MADE_FUNCTIONS:,} functions", f"{_MADE_FRAMES:,}", trace.stop.text, "-",
        f"{took:.0f}",
    )  # fmt: skip
    return (
        trace.return_addresses == (calls[1:] + bias + 1).tolist()
        and trace.stop is Verdict.OUTERMOST
    )


def _tables(session: Session, rows: RowTable) -> list[ModuleTable]:
    """The program's code with these rows."""
    return [ModuleTable(item.start, item.end, item.bias, rows) for item in session.code]


def _walk_row(table: TextTable, arch: Arch, program: str, function: str, nth: int) -> bool:
    path = str(DEFAULT_DESTINATION / arch.name / program)
    run = Run(path, RunOptions(table="sframe", at=function, nth=nth))
    if run.to_end(stop_at_point=True).missed_point:
        raise SystemExit(f"{path}: {function} is not reached {nth} times")
    session = run.session
    sample, truth = session.sample(), session.true_callers()
    image = session.program.module.image
    ways = {
        "V2": RowTable(_as_version_2(image), arch),
        "V3": row_table(image, arch, "sframe"),
        ".eh_frame": row_table(image, arch, "cfi"),
    }
    figures, good = [], True
    traces = [walk(sample, _tables(session, rows)) for rows in ways.values()]
    frames, end = len(traces[1].frames), traces[1].stop
    for rows, trace in zip(ways.values(), traces, strict=True):
        count = len(trace.frames)
        good = good and trace.return_addresses == list(truth)[: count - 1]
        figure = f"{_frame_time(sample, _tables(session, rows), count):.0f}"
        if (count, trace.stop) != (frames, end):
            figure += f" ({count} frames, {trace.stop.text})"
        figures.append(figure)
    modules = _tables(session, ways["V3"])
    times = max(1, _FRAMES // 100 // frames)
    took = _timed(lambda: [walk(sample, modules) for _ in range(times)])
    table.add_row(
        f"{arch.name} {program} {function}", f"{frames}", end.text, *figures,
        f"{took / times / frames * 1e9:.0f}",
    )  # fmt: skip
    return good


def _frame_time(sample: Sample, modules: Sequence[ModuleTable], frames: int) -> float:
    """Nanoseconds a frame, the least of several rounds."""
    going = Walk(sample, modules, chunk=frames + 1)
    going.words[CAPACITY] = frames + 1
    saved = going.words.copy()
    times = max(1, _FRAMES // frames)
    if _repeat(going.block, going.words, saved, 1) == GOES_ON or going.count != frames:
        raise SystemExit("a walk took another way the second time")
    return min(
        _timed(lambda: _repeat(going.block, going.words, saved, times)) for _ in range(_REPEAT)
    ) / times / frames * 1e9  # fmt: skip


def _as_version_2(image: Image) -> Table:
    """The same rows, as far as V2 can express them."""
    contained = find_section(image)
    assert contained is not None
    old = decode_contained(image, contained)
    data = convert(old, 2, address=contained.address).data
    decoded = decode(data, contained.address, image.byte_order)
    assert decoded.header.version.number == 2
    return Table("sframe", function_rows(decoded), len(data))


if __name__ == "__main__":
    sys.exit(main())
