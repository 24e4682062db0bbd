"""`dump` against the stored text of `readelf --sframe`, on every prebuilt program and object.

Both say the same of a section: the header, each function, each row. Where readelf is known to
be wrong or to leave something out, `data/readelf_faults.toml` says so, with a reason; there an
entry matches differences by release, field and both values.
"""

import json
import re
import struct
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

from emu.errors import UnwindlabError
from emu.report.dump import dump
from testprogs.unpack import HERE, Prebuilt

FAULTS = Path(__file__).parent / "data" / "readelf_faults.toml"
FEWEST_FILES = 240

_HEADER = (
    re.compile(r"Version: SFRAME_VERSION_(?P<version>\d+)"),
    re.compile(r"Flags: (?P<flags>\w+(?:,\s+\w+)*)"),
    re.compile(r"CFA fixed (?P<register>FP|RA) offset: (?P<offset>-?\d+)"),
    re.compile(r"Num FDEs: (?P<num_fdes>\d+)"),
    re.compile(r"Num FREs: (?P<num_fres>\d+)"),
)
_FUNCTION = re.compile(
    r"func idx \[(\d+)\]: pc = 0x([0-9a-f]+), size = (\d+) bytes"
    r'(?:, attr = "([FS]+)")?(?:, pauth = ([AB]) key)?'
)
_COLUMNS = re.compile(r"(STARTPC(?:\[m\])?)\s+CFA\s+FP\s+RA\s*")
_UNDEFINED = re.compile(r"([0-9a-f]{16})\s+RA undefined")
_SUM = r"\(?(?:sp|fp|c|r\d+)[+-]\d+\)?"
# A wide column leaves no blank before the next one.
_ROW = re.compile(rf"([0-9a-f]{{16}})\s+({_SUM})\s*(u|{_SUM})\s*([ufU]|{_SUM})(\[s\])?\s*")


@dataclass(frozen=True)
class Line:
    """A row: where it starts in its function, and its columns as readelf prints them."""

    start: int
    cfa: str
    fp: str
    ra: str
    signed: bool


@dataclass
class Function:
    """A function and its rows."""

    pc: int
    size: int
    flex: bool
    signal: bool
    key: str
    mask: bool = False
    rows: list[Line] = field(default_factory=list)


@dataclass
class Listing:
    """A decoded section, as far as readelf prints it."""

    version: int = 0
    flags: frozenset[str] = frozenset()
    fixed_fp: int = 0
    fixed_ra: int = 0
    num_fdes: int = -1
    num_fres: int = -1
    functions: list[Function] = field(default_factory=list)


@dataclass(frozen=True)
class Difference:
    """One value that the two give differently."""

    where: str
    field: str
    readelf: Any
    dump: Any


# ------------------------------------------------------------------------------- readelf's text
def parse(text: str) -> Listing:
    """Read readelf's text; a line that is not understood is an error."""
    listing = Listing()
    head, _, index = text.partition("  Function Index :\n")
    assert head.startswith("Contents of the SFrame section .sframe:\n  Header :\n")
    _parse_header(listing, head)
    for line in index.splitlines():
        line = line.strip()
        if not line:
            continue
        if match := _FUNCTION.fullmatch(line):
            number, pc, size, attributes, key = match.groups()
            assert int(number) == len(listing.functions), line
            letters = attributes or ""
            listing.functions.append(
                Function(int(pc, 16), int(size), "F" in letters, "S" in letters, key or "A")
            )
            continue
        function = listing.functions[-1]
        if match := _COLUMNS.fullmatch(line):
            function.mask = match[1].endswith("[m]")
        elif match := _UNDEFINED.fullmatch(line):
            function.rows.append(Line(int(match[1], 16) - function.pc, "", "", "undef", False))
        else:
            match = _ROW.fullmatch(line)
            assert match is not None, line
            start, cfa, fp, ra, signed = match.groups()
            function.rows.append(Line(int(start, 16) - function.pc, cfa, fp, ra, bool(signed)))
    return listing


def _parse_header(listing: Listing, head: str) -> None:
    # Flags go on over several lines.
    for line in re.sub(r",\n\s+", ", ", head).splitlines()[2:]:
        line = line.strip()
        if not line:
            continue
        found = [match for pattern in _HEADER if (match := pattern.fullmatch(line))]
        assert len(found) == 1, line
        values = found[0].groupdict()
        if "flags" in values:
            names = re.split(r",\s+", values["flags"])
            listing.flags = frozenset(n.removeprefix("SFRAME_F_") for n in names) - {"NONE"}
        elif "register" in values:
            setattr(listing, f"fixed_{values['register'].lower()}", int(values["offset"]))
        else:
            for name, value in values.items():
                setattr(listing, name, int(value))


# --------------------------------------------------------------------------------- dump's answer
def dumped(path: Path, tmp_path: Path) -> dict[str, Any]:
    """The JSON of `dump`."""
    output = tmp_path / "dump.json"
    dump(str(path), "json", str(output))
    answer: dict[str, Any] = json.loads(output.read_text())
    return answer


def listing_of(answer: Mapping[str, Any]) -> Listing:
    """An answer of `dump` in the terms of readelf's text."""
    return Listing(
        answer["version"],
        frozenset(answer["flags"]),
        answer["fixed_fp"],
        answer["fixed_ra"],
        answer["num_fdes"],
        answer["num_fres"],
        [
            Function(
                int(fde["start"], 16),
                fde["size"],
                fde["type"] == "flex",
                fde["signal"],
                (fde["pauth_key"] or "a").upper(),
                fde["pc_type"] == "mask",
                [
                    Line(
                        row["start"], row["cfa"] or "", row["fp"] or "", row["ra"],
                        row["ra_signed"],
                    )
                    for row in fde["rows"]
                ],
            )
            for fde in answer["fdes"]
        ],
    )  # fmt: skip


# ------------------------------------------------------------------------------------ comparison
def differences(readelf: Listing, ours: Listing) -> Iterator[Difference]:
    """Everything that two listings say differently."""
    yield from _fields(
        "header", readelf, ours,
        ("version", "flags", "fixed_fp", "fixed_ra", "num_fdes", "num_fres"),
    )  # fmt: skip
    if len(readelf.functions) != len(ours.functions):
        yield Difference("header", "functions", len(readelf.functions), len(ours.functions))
    for number, (theirs, mine) in enumerate(zip(readelf.functions, ours.functions, strict=False)):
        where = f"func {number}"
        yield from _fields(where, theirs, mine, ("pc", "size", "flex", "signal", "key", "mask"))
        if len(theirs.rows) != len(mine.rows):
            yield Difference(where, "rows", len(theirs.rows), len(mine.rows))
        for at, (line, row) in enumerate(zip(theirs.rows, mine.rows, strict=False)):
            yield from _fields(f"{where} row {at}", line, row, tuple(Line.__annotations__))


def _fields(where: str, readelf: Any, ours: Any, names: tuple[str, ...]) -> Iterator[Difference]:
    for name in names:
        theirs, mine = getattr(readelf, name), getattr(ours, name)
        if theirs != mine:
            yield Difference(where, name, theirs, mine)


@dataclass(frozen=True)
class Fault:
    """A known fault of readelf; `dump` None: whatever the file really has."""

    binutils: str
    arch: str
    kinds: tuple[str, ...]
    field: str
    readelf: Any
    dump: Any
    reason: str

    def covers(self, entry: Prebuilt, difference: Difference) -> bool:
        """Whether it explains a difference found in a file."""
        return (
            entry.binutils.endswith(f" {self.binutils}")
            and entry.arch == self.arch
            and entry.kind in self.kinds
            and difference.field == self.field
            and difference.readelf == self.readelf
            and self.dump in (None, difference.dump)
        )


def read_faults() -> list[Fault]:
    """The known faults of readelf."""
    entries = tomllib.loads(FAULTS.read_text())["fault"]
    return [Fault(**{"dump": None, **entry, "kinds": tuple(entry["kinds"])}) for entry in entries]


def place(entry: Prebuilt) -> slice:
    """Where the section's bytes are in the file."""
    with entry.path.open("rb") as file:
        section: Any = ELFFile(file).get_section_by_name(".sframe")
        return slice(section["sh_offset"], section["sh_offset"] + section["sh_size"])


def plant(entry: Prebuilt, at: int, flipped: int, path: Path) -> None:
    """Copy a program with bits flipped in the byte at an offset of its section."""
    data = bytearray(entry.path.read_bytes())
    data[place(entry).start + at] ^= flipped
    path.write_bytes(data)


# ----------------------------------------------------------------------------------------- tests
def test_dump_agrees_with_readelf_on_everything_prebuilt(
    prebuilt: Mapping[tuple[str, str], Prebuilt],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Header, functions and rows are the same, but for the faults that are listed and occur."""
    faults = read_faults()
    used: set[Fault] = set()
    files: Counter[int] = Counter()
    functions = rows = 0
    unexplained: list[str] = []
    for entry in prebuilt.values():
        answer = dumped(entry.path, tmp_path)
        assert answer["faults"] == [], entry.path
        readelf, ours = parse(entry.readelf_path.read_text()), listing_of(answer)
        # What readelf printed is all there is, by its own header.
        assert len(readelf.functions) == readelf.num_fdes, entry.path
        assert sum(len(function.rows) for function in readelf.functions) == readelf.num_fres
        assert readelf.version == entry.sframe_version, entry.path
        for difference in differences(readelf, ours):
            covering = [fault for fault in faults if fault.covers(entry, difference)]
            used.update(covering)
            if not covering:
                unexplained.append(f"{entry.arch}/{entry.name}: {difference}")
        files[readelf.version] += 1
        functions += readelf.num_fdes
        rows += readelf.num_fres
    assert unexplained == []
    assert [fault for fault in faults if fault not in used] == []
    assert sum(files.values()) == len(json.loads((HERE / "manifest.json").read_text())["programs"])
    assert sum(files.values()) >= FEWEST_FILES
    assert set(files) == {1, 2, 3}
    assert rows > functions > 10_000
    with capsys.disabled():
        print(f"\nreadelf: {sum(files.values())} files, {functions} functions, {rows} rows agree")


def test_functions_of_objects_are_where_the_symbols_say(
    prebuilt: Mapping[tuple[str, str], Prebuilt], tmp_path: Path
) -> None:
    """Readelf shows no address in V1 and V2 objects: there the symbol table is the judge."""
    objects = [entry for entry in prebuilt.values() if not entry.runs]
    assert {entry.sframe_version for entry in objects} == {1, 2, 3}
    for entry in objects:
        with entry.path.open("rb") as file:
            elf: Any = ELFFile(file)
            symbols = {
                (elf.get_section(symbol["st_shndx"]).name, symbol["st_value"], symbol["st_size"])
                for symbol in elf.get_section_by_name(".symtab").iter_symbols()
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_size"]
            }
        found = {
            (fde["section"], int(fde["start"], 16), fde["size"])
            for fde in dumped(entry.path, tmp_path)["fdes"]
        }
        assert found == symbols, entry.path


@pytest.mark.parametrize(
    ("arch", "name"),
    [
        ("x86_64", "handcfi-v1-O2-nofp"), ("aarch64", "handcfi-v2-O2-nofp"),
        ("aarch64", "flow-v3-O2-bkey"), ("s390x", "handcfi-v3-O2-nofp"),
    ],
)  # fmt: skip
def test_a_wrong_byte_makes_the_comparison_fail(
    arch: str, name: str, prebuilt: Mapping[tuple[str, str], Prebuilt], tmp_path: Path
) -> None:
    """The last byte of the table is part of a row: with another one the row differs."""
    entry = prebuilt[arch, name]
    text = parse(entry.readelf_path.read_text())
    content = entry.path.read_bytes()[place(entry)]
    copy = tmp_path / "copy"
    unchanged = set(differences(text, listing_of(dumped(entry.path, tmp_path))))
    plant(entry, len(content) - 1, 8, copy)
    found = set(differences(text, listing_of(dumped(copy, tmp_path)))) - unchanged
    assert [one.where.split()[0] for one in found] == ["func"], found


def test_every_byte_of_a_section_counts(
    prebuilt: Mapping[tuple[str, str], Prebuilt], tmp_path: Path
) -> None:
    """Whichever byte is changed, `dump` refuses it, finds a fault, or differs from readelf."""
    entry = prebuilt["s390x", "handcfi-v3-O2-nofp"]
    text = parse(entry.readelf_path.read_text())
    content = entry.path.read_bytes()[place(entry)]

    def noticed(at: int, flipped: int) -> bool:
        plant(entry, at, flipped, tmp_path / "copy")
        try:
            answer = dumped(tmp_path / "copy", tmp_path)
        except UnwindlabError:
            return True
        return bool(answer["faults"]) or any(differences(text, listing_of(answer)))

    # Bit 0 of some rows' info bytes says nothing, bit 1 is the count of their words.
    silent = {at for at in range(len(content)) if not noticed(at, 1) and not noticed(at, 2)}
    # What does say nothing: the size of the repeated block of a function that repeats none.
    header, function, size_at = struct.Struct(">HBBBbbBIIIII"), struct.Struct(">qII"), 4
    *_, fdes, _, _, fdes_at, rows_at = header.unpack_from(content)
    unused = {
        header.size + rows_at + offset + size_at
        for _, _, offset in function.iter_unpack(
            content[header.size + fdes_at : header.size + fdes_at + fdes * function.size]
        )
    }
    assert len(unused) == text.num_fdes
    assert silent == unused
