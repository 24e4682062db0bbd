"""The programs about the SFrame extensions of s390x, and what is made of them.

`data/s390x/extensions.s` has a function for each extension, `signal.s` a handler for each kind of
signal frame, and `extensions.toml` the bytes that each version needs, worked out by hand.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from arch import Row
from arch.s390x import S390X
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from emu.elf.rewrite import find_room
from emu.image import Image, load_image
from emu.report.synth import synthesize
from emu.rowtext import row_text
from emu.sframe.form import words_size
from emu.sframe.writer import Encoded
from emu.symbols import FunctionNames
from emu.tables import FunctionRows, NoRow, Table
from emu.unwind.sources import read_table
from emu.verdict import Verdict

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "s390x"
PROGRAM, SIGNALS = DATA / "extensions", DATA / "signal"
VERSIONS = (1, 2, 3)
HANDLER = "handler+10"


def page() -> str:
    """The page about s390x."""
    return (ROOT / "docs" / "s390x.md").read_text()


# ------------------------------------------------------------------------------------ extensions
@dataclass(frozen=True)
class Extension:
    """An entry of extensions.toml."""

    group: str
    title: str
    function: str
    row: str
    v1: str
    v2: str
    v3: str
    gas: str
    caller: str = ""

    def wanted(self, version: int) -> str:
        """Bytes, or the reason why the version has none."""
        return (self.v1, self.v2, self.v3)[version - 1]

    @property
    def signal(self) -> int:
        """Which handler of signal.s it is about; 0: none, it is in extensions.s."""
        return {"trampoline": 1, "bare": 2}.get(self.function, 0)

    @property
    def program(self) -> Path:
        """The program that it is in."""
        return SIGNALS if self.signal else PROGRAM


EXTENSIONS = [
    Extension(**entry)
    for entry in tomllib.loads((DATA / "extensions.toml").read_text())["extension"]
]


@dataclass(frozen=True)
class Place:
    """A row of a table: offsets in its function, and what it says."""

    low: int
    high: int
    text: str


@cache
def names_of(path: Path) -> FunctionNames:
    """The functions of a program."""
    return FunctionNames(load_image(str(path)))


@cache
def start_of(path: Path, name: str) -> int:
    """Address of a function, or of a label."""
    found = next(s for s in load_image(str(path)).symbols if s.name == name)
    return found.value


def places(table: Table, path: Path) -> dict[str, list[Place]]:
    """The rows of each function; one function may have several FDEs."""
    found: dict[str, list[Place]] = {}
    for function in table.functions:
        name = names_of(path).place(function.start).function
        assert name is not None
        base = function.start - start_of(path, name)
        ends = (*function.starts[1:], function.size)
        for low, high, row in zip(function.starts, ends, function.rows, strict=True):
            found.setdefault(name, []).append(Place(base + low, base + high, text_of(row)))
    return found


def text_of(row: Row | NoRow) -> str:
    """A row as reports print it."""
    return row_text(row, S390X) if isinstance(row, Row) else row.verdict.text


def stretches(function: FunctionRows) -> Iterator[tuple[int, int, Row | NoRow]]:
    """Rows with their ends."""
    ends = (*function.starts[1:], function.size)
    yield from zip(function.starts, ends, function.rows, strict=True)


@cache
def described(path: Path) -> dict[str, list[Place]]:
    """What .eh_frame says: it is right, and knows every extension."""
    table = read_table(load_image(str(path)), "cfi")
    assert table is not None
    return places(table, path)


def place_of(one: Extension) -> Place:
    """Where the row of an extension holds."""
    return next(place for place in described(one.program)[one.function] if place.text == one.row)


def stored(encoded: Encoded, starts: Sequence[int], path: Path) -> dict[tuple[str, int], str]:
    """(function, offset) -> bytes of the row from its info byte on."""
    found = {}
    fields, number = encoded.fields(), 0
    for start, function in zip(starts, encoded.form.functions, strict=True):
        name = names_of(path).place(start).function
        assert name is not None
        for row in function.rows:
            at = fields["row", number, "info"].offset  # type: ignore[index]
            raw = encoded.data[at : at + 1 + words_size(encoded.data[at])]
            found[name, start - start_of(path, name) + row.start] = raw.hex(" ")
            number += 1
    return found


# ------------------------------------------------------------------------------------------ runs
@dataclass(frozen=True)
class Made:
    """A program with a table of one version, made from its .eh_frame."""

    source: Path
    version: int
    path: Path
    data: bytes
    """The table."""
    refused: dict[str, list[tuple[int, int, str]]]
    """By function: offsets and reason."""
    encoded: dict[tuple[str, int], str]

    @property
    def image(self) -> Image:
        """The program."""
        return load_image(str(self.path))


def make(source: Path, version: int, folder: Path) -> Made:
    """Make a table and put it into a copy of a program."""
    image = load_image(str(source))
    room = find_room(str(source), image.data)
    synthesis = synthesize(image, version, address=room.address)
    path = folder / f"{source.name}-v{version}"
    path.write_bytes(room.fill(synthesis.data))
    refused: dict[str, list[tuple[int, int, str]]] = {}
    for one in synthesis.refused:
        name = names_of(source).place(one.function.start).function
        assert name is not None
        low, high = (0, one.function.size) if one.end is None else (one.row or 0, one.end)
        refused.setdefault(name, []).append((low, high, one.reason))
    starts = [start for _, start in synthesis.places]
    encoded = stored(synthesis.encoding.encoded, starts, source)
    return Made(source, version, path, synthesis.data, refused, encoded)


def run(path: Path, table: str = "sframe", **options: Any) -> CheckResult:
    """Run a program to its end, or to its point."""
    job = Run(str(path), RunOptions(table=table, **options))
    return job.to_end(stop_at_point="at" in options)


@dataclass(frozen=True)
class Suite:
    """Both programs in every version, and the run of the first."""

    made: dict[tuple[Path, int], Made]
    results: dict[int, CheckResult]


def at_handler(path: Path, nth: int) -> tuple[list[int], Verdict]:
    """Return addresses that the walk finds in the n-th handler, and why it ended."""
    (sample,) = run(path, at=HANDLER, nth=nth).samples
    walk = sample.walks["sframe"]
    return walk.return_addresses, walk.stop


def true_callers(nth: int) -> list[int]:
    """The interrupted PC among them is that of `point` or `again`, not one byte more."""
    trampoline, point = (("trampoline", "point"), ("bare", "again"))[nth - 1]
    places = ((trampoline, 6), (point, 0), ("_start", 14))
    return [start_of(SIGNALS, name) + offset for name, offset in places]
