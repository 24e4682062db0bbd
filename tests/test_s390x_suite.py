"""The SFrame extensions of s390x, from bytes to an unwound stack, and the back chain beside them.

`data/s390x/extensions.s` has a function for each extension, and `extensions.toml` the bytes that
each version needs for it, worked out by hand. For each of the two, and each version, it is tested
whether the row can be expressed, is encoded as those bytes, is decoded to the same row, and is
right at every instruction that the emulator executes; what a version cannot say must be a gap.
Then tables are spoilt as a new producer may spoil them, and `check` must see it.

The tables in README.md and docs/s390x.md are the results of these tests. Where one has changed,
the failing test says what should stand there.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from arch import Row, RuleKind
from arch.s390x import S390X
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from emu.elf.rewrite import find_room
from emu.image import Image, load_image
from emu.report.synth import synthesize
from emu.rowtext import row_text
from emu.sframe import convert
from emu.sframe.container import find_section
from emu.sframe.decode import decode
from emu.sframe.encode import encode
from emu.sframe.form import Content, FormFunction, read_form, words_size
from emu.sframe.table import function_rows, sframe_table
from emu.sframe.writer import Encoded
from emu.symbols import FunctionNames
from emu.tables import FunctionRows, NoRow, Table
from emu.unwind.sources import read_table, row_table
from emu.verdict import Verdict
from testprogs.unpack import Prebuilt
from tests.support.reference import Reference
from tests.support.runs import Command
from tests.test_readelf import differences, dumped, listing_of, parse

ROOT = Path(__file__).parents[1]
DATA = Path(__file__).parent / "data" / "s390x"
PROGRAM, SIGNALS = DATA / "extensions", DATA / "signal"
VERSIONS = (1, 2, 3)
HANDLER = "handler+10"
UNEXECUTED = 6
"""Bytes of extensions.s: its failing exit."""


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


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """All that is made and run once."""
    folder = tmp_path_factory.mktemp("s390x")
    made = {(path, v): make(path, v, folder) for path in (PROGRAM, SIGNALS) for v in VERSIONS}
    results = {v: run(made[PROGRAM, v].path) for v in VERSIONS}
    for result in results.values():
        guest = result.guest
        assert (guest.stopped, guest.exit_status, guest.stdout) == ("exit", 0, b"s390x\n")
    return Suite(made, results)


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


@dataclass(frozen=True)
class Facts:
    """What came of an extension in a version."""

    expressible: bool
    encoded: bool
    decoded: bool
    unwound: bool
    gap: bool
    """The run has a gap there and nothing else."""
    caller: str
    text: str
    """Bytes, or the reasons of the refusal."""


def facts_of(one: Extension, version: int, suite: Suite) -> Facts:
    """Look at the table and at the run."""
    made, place = suite.made[one.program, version], place_of(one)
    reasons = {
        reason
        for low, high, reason in made.refused.get(one.function, ())
        if low < place.high and place.low < high
    }
    raw = made.encoded.get((one.function, place.low), "")
    table = sframe_table(made.image)
    assert table is not None
    texts = {p.low: p.text for p in places(table, one.program).get(one.function, ())}
    if one.signal:
        callers, stop = at_handler(made.path, one.signal)
        unwound = callers == true_callers(one.signal) and stop is Verdict.OUTERMOST
        gap = stop is Verdict.NO_FDE and callers == true_callers(one.signal)[:1]
        caller = "right" if unwound else ""
    else:
        result = suite.results[version]
        low = start_of(PROGRAM, one.function) + place.low
        high = start_of(PROGRAM, one.function) + place.high
        wrong = [f for f in result.findings if f.start < high and low < f.end]
        gaps = [g for g in result.gaps if g.start < high and low < g.end]
        sampled = [g for g in gaps if g.role == "sampled"]
        unwound, gap = not wrong and not sampled, bool(sampled) and not wrong
        caller = "refused" if {g.verdict for g in gaps} == {Verdict.REFUSED} else "right"
    return Facts(
        expressible=not reasons,
        encoded=raw == one.wanted(version),
        decoded=texts.get(place.low) == one.row,
        unwound=unwound,
        gap=gap,
        caller=caller if one.caller else "",
        text=", ".join(sorted(reasons)) or raw,
    )


@pytest.mark.compiled
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("one", EXTENSIONS, ids=lambda one: f"{one.function}:{one.row}")
def test_extension(one: Extension, version: int, suite: Suite) -> None:
    """Expressible, encoded, decoded and unwound right; or refused for the reason, and a gap."""
    facts = facts_of(one, version, suite)
    assert facts.text == one.wanted(version)
    there = re.fullmatch("[0-9a-f]{2}( [0-9a-f]{2})*", one.wanted(version)) is not None
    four = (facts.expressible, facts.encoded, facts.decoded, facts.unwound)
    if there:
        assert (four, facts.gap, facts.caller) == ((True,) * 4, False, one.caller)
    else:
        assert (four[:1], four[2:], facts.gap) == ((False,), (False, False), True)


@pytest.mark.compiled
def test_every_instruction_has_run_and_every_call_was_looked_at(suite: Suite) -> None:
    """So each cell is about code that ran; V3 lacks two rows, .eh_frame one."""
    result, whole = suite.results[3], run(PROGRAM, "cfi")
    assert result.table_bytes - result.checked_bytes == UNEXECUTED
    assert whole.findings == ()
    assert {(g.function, g.verdict, g.role) for g in whole.gaps} == {
        ("sp_elsewhere", Verdict.REFUSED, "sampled"),
        ("parked_caller", Verdict.REFUSED, "caller"),
        ("other_cfa", Verdict.REFUSED, "caller"),
    }
    assert result.caller_verdicts == whole.caller_verdicts
    for found in suite.results.values():
        assert found.findings == ()


# ------------------------------------------------------------------------------- other producers
def gas_rows(path: Path) -> tuple[dict[tuple[str, int], str], dict[str, list[Place]], Table]:
    """The assembler's own table: bytes and rows."""
    image = load_image(str(path))
    contained, table = find_section(image), sframe_table(image)
    assert contained is not None
    assert table is not None
    fdes = decode(contained.data, contained.address, "big").fdes
    encoded = encode(read_form(contained.data))
    assert encoded.data == contained.data
    return stored(encoded, [fde.start for fde in fdes], path), places(table, path), table


def gas_says(one: Extension) -> str:
    """The last column but one of the table."""
    raw, rows, _ = gas_rows(one.program)
    place = place_of(one)
    if raw.get((one.function, place.low)) == one.v3:
        return "same"
    found = [p.text for p in rows.get(one.function, ()) if p.low <= place.low < p.high]
    if found == [Verdict.REFUSED.text] and one.signal:
        return "signal frame without rows"
    return found[0] if found else "none"


@pytest.mark.parametrize("one", EXTENSIONS, ids=lambda one: f"{one.function}:{one.row}")
def test_what_the_assembler_writes(one: Extension) -> None:
    """Binutils 2.47.50 writes the same bytes, leaves the function out, or is wrong."""
    assert gas_says(one) == one.gas


@pytest.mark.compiled
def test_what_the_assembler_gets_wrong_is_found() -> None:
    """A CFA that is no 160 + 8n is rounded; RA saved at the CFA is taken for not saved."""
    result = run(PROGRAM)
    assert {(f.function, f.verdict.text) for f in result.findings} == {
        ("misaligned", "wrong-way"), ("ra_at_cfa", "wrong-ra"),
    }  # fmt: skip


@pytest.mark.parametrize("version", [2, 3])
def test_readelf_reads_the_same(version: int, tmp_path: Path) -> None:
    """`readelf --sframe` of 2.47.50 reads our V2, which it cannot write, and our V3 as we do."""
    made = make(PROGRAM, version, tmp_path)
    text = (DATA / f"extensions-v{version}.readelf.txt").read_text()
    # It prints a negative offset behind a plus; and of a register in V2 no offset, as we do.
    theirs = parse(re.sub(r" (r\d+) ", r" \1+0 ", text.replace("+-", "-")))
    answer = dumped(made.path, tmp_path)
    for fde in answer["fdes"]:
        for row in fde["rows"]:
            row.update({k: re.sub(r"^r\d+$", r"\g<0>+0", row[k] or "") for k in ("fp", "ra")})
    ours = listing_of(answer)
    assert [str(d) for d in differences(theirs, ours)] == []


@pytest.mark.parametrize("path", [PROGRAM, SIGNALS], ids=lambda path: path.name)
def test_conversion_keeps_what_both_can_say(path: Path, tmp_path: Path) -> None:
    """V3 to V2 and back: registers change their form twice; the losses are those of `synth`."""
    there, old = make(path, 3, tmp_path), make(path, 2, tmp_path)
    down = convert.convert(decode(there.data, 0, "big"), 2)
    lost = Counter(reason for spans in old.refused.values() for _, _, reason in spans)
    lost -= Counter(reason for spans in there.refused.values() for _, _, reason in spans)
    assert down.reasons() == dict(lost)
    up = convert.convert(decode(down.data, 0, "big"), 3)
    assert up.reasons() == {}
    assert meaning(up.data) == meaning(down.data)
    assert meaning(down.data) <= meaning(there.data)


def meaning(data: bytes) -> set[tuple[int, int, str]]:
    """(first address, last, row) of each stretch with one row."""
    return {
        (function.start + low, function.start + high, text_of(row))
        for function in function_rows(decode(data, 0, "big"))
        for low, high, row in stretches(function)
    }


def stretches(function: FunctionRows) -> Iterator[tuple[int, int, Row | NoRow]]:
    """Rows with their ends."""
    ends = (*function.starts[1:], function.size)
    yield from zip(function.starts, ends, function.rows, strict=True)


# ---------------------------------------------------------------------------------- spoilt tables
Words = tuple[int, ...]


@dataclass(frozen=True)
class Spoilt:
    """A mistake of a producer in one function."""

    name: str
    versions: tuple[int, ...]
    function: str
    change: Callable[[FormFunction], FormFunction]
    verdict: str


def words(change: Callable[[Words], Words]) -> Callable[[FormFunction], FormFunction]:
    """The words of every row changed."""
    return contents(lambda content: content._replace(words=change(content.words)))


def contents(change: Callable[[Content], Content]) -> Callable[[FormFunction], FormFunction]:
    """Every row changed."""
    return lambda function: replace(
        function,
        rows=tuple(row._replace(content=change(row.content)) for row in function.rows),
    )


def first(change: Callable[[int], int]) -> Callable[[FormFunction], FormFunction]:
    """The CFA word of every DEFAULT row changed."""
    return words(lambda w: (change(w[0]), *w[1:]))


def word(old: int, new: int) -> Callable[[FormFunction], FormFunction]:
    """One value for another, wherever it is a word."""
    return words(lambda w: tuple(new if value == old else value for value in w))


def swapped(a: int, b: int) -> Callable[[FormFunction], FormFunction]:
    """Two words, or two pairs of words, in each other's place, where a row has both."""

    def swap(w: Words) -> Words:
        size = b - a
        if len(w) < b + size:
            return w
        return (*w[:a], *w[b : b + size], *w[a:b], *w[b + size :])

    return words(swap)


plain_words = contents(
    lambda c: Content(True, False, (0, 17 << 1 | 1) if len(c.words) > 2 else (0,))
)
"""RA in f2 as V2 has it."""


def dropped(at: int) -> Callable[[FormFunction], FormFunction]:
    """One word left out, where it is 0 and others follow."""
    return words(lambda w: w[:at] + w[at + 1 :] if len(w) > at + 1 and w[at] == 0 else w)


SPOILT = (
    Spoilt("bias lost", VERSIONS, "ra_and_fp", first(lambda w: w + 20), "wrong-cfa"),
    Spoilt("bias taken off twice", VERSIONS, "ra_and_fp", first(lambda w: w - 20), "wrong-way"),
    Spoilt("scale lost", VERSIONS, "sp_said", first(lambda w: 8 * w), "wrong-cfa"),
    Spoilt("bias and scale lost", VERSIONS, "ra_and_fp", first(lambda w: 8 * w + 160),
           "wrong-cfa"),
    Spoilt("sign lost", VERSIONS, "negative_1", first(lambda w: w & 0xFF), "unreadable"),
    Spoilt("cut to one byte", VERSIONS, "word_2", first(lambda w: (w & 0xFF ^ 0x80) - 0x80),
           "wrong-way"),
    Spoilt("base swapped", VERSIONS, "negative_1",
           contents(lambda c: c._replace(base_sp=not c.base_sp)), "wrong-way"),
    Spoilt("slots swapped", VERSIONS, "ra_and_fp", swapped(1, 2), "wrong-ra"),
    Spoilt("slots scaled", VERSIONS, "ra_alone",
           words(lambda w: (w[0], *(n // 8 for n in w[1:]))), "wrong-ra"),
    Spoilt("RA left out", VERSIONS, "ra_alone", words(lambda w: w[:1]), "lost-register"),
    Spoilt("filler dropped", VERSIONS, "fp_alone", dropped(1), "wrong-ra"),
    Spoilt("filler dropped before a register", (2,), "fp_float", dropped(1), "wrong-ra"),
    Spoilt("filler dropped before a rule", (3,), "fp_float", dropped(2), "wrong-ra"),
    Spoilt("registers swapped", (2,), "floats", swapped(1, 2), "wrong-ra"),
    Spoilt("registers swapped", (3,), "floats", swapped(2, 4), "wrong-ra"),
    Spoilt("f2 counted as 16 + 2", (2,), "ra_float", word(17 << 1 | 1, 18 << 1 | 1), "wrong-ra"),
    Spoilt("f2 counted as 16 + 2", (3,), "ra_float", word(17 << 3 | 1, 18 << 3 | 1), "wrong-ra"),
    Spoilt("register bit lost", (2,), "ra_float", word(17 << 1 | 1, 17 << 1), "wrong-ra"),
    Spoilt("V2's registers in V3", (3,), "ra_float",
           lambda f: replace(plain_words(f), kind=0), "wrong-ra"),
    Spoilt("CFA word of FLEX without bias and scale", (3,), "parked_caller",
           words(lambda w: (w[0], 8 * w[1] + 160, *w[2:])), "wrong-cfa"),
    Spoilt("load lost", (3,), "loaded_ra", word(1 << 3 | 3, 1 << 3 | 1), "wrong-ra"),
    Spoilt("load of the CFA lost", (3,), "loaded_cfa", word(15 << 3 | 3, 15 << 3 | 1),
           "wrong-cfa"),
    Spoilt("CFA on the wrong register", (3,), "other_cfa", word(10 << 3 | 1, 11 << 3 | 1),
           "wrong-way"),
    Spoilt("end of the stack lost", (2, 3), "_start",
           contents(lambda c: c._replace(base_sp=True, words=(0,))), "wrong-end"),
    Spoilt("end of the stack where there is none", (2, 3), "ra_kept",
           contents(lambda c: Content(False, False, ())), "wrong-end"),
)  # fmt: skip


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("spoilt", "version"),
    [(spoilt, version) for spoilt in SPOILT for version in spoilt.versions],
    ids=lambda value: value.name.replace(" ", "-") if isinstance(value, Spoilt) else f"v{value}",
)
def test_a_spoilt_function_is_found(
    spoilt: Spoilt, version: int, suite: Suite, tmp_path: Path
) -> None:
    """`check` finds the mistake in its function, and nothing in the others."""
    found = run(respell(suite.made[PROGRAM, version], spoilt.function, spoilt.change, tmp_path))
    assert spoilt.verdict in {f.verdict.text for f in found.findings}
    assert {f.function for f in found.findings} == {spoilt.function}


def respell(
    made: Made, name: str, change: Callable[[FormFunction], FormFunction], folder: Path
) -> Path:
    """A program with one function's rows changed; the table is written anew."""
    image = load_image(str(made.source))
    room = find_room(str(made.source), image.data)
    form = read_form(made.data)
    starts = [fde.start for fde in decode(made.data, room.address, "big").fdes]
    functions = tuple(
        change(function) if names_of(made.source).place(start).function == name else function
        for start, function in zip(starts, form.functions, strict=True)
    )
    assert functions != form.functions
    path = folder / "spoilt"
    path.write_bytes(room.fill(encode(replace(form, functions=functions)).data))
    return path


@pytest.mark.compiled
def test_a_lost_signal_mark_is_seen_by_the_walk(suite: Suite, tmp_path: Path) -> None:
    """The interrupted PC is then looked up one byte too early, in the row before."""
    unmarked: Callable[[FormFunction], FormFunction] = lambda f: replace(f, signal=False)  # noqa: E731
    path = respell(suite.made[SIGNALS, 3], "trampoline", unmarked, tmp_path)
    callers, stop = at_handler(path, 1)
    assert (callers, stop) == (true_callers(1)[:2], Verdict.NO_PROGRESS)


@pytest.mark.compiled
def test_signal_frame_without_rows_is_refused() -> None:
    """The assembler's mark alone: nothing says yet how such a frame is left."""
    assert at_handler(SIGNALS, 1) == (true_callers(1), Verdict.OUTERMOST)
    assert at_handler(SIGNALS, 2) == (true_callers(2)[:1], Verdict.REFUSED)


# ------------------------------------------------------------------------------------- back chain
CHAINED = (
    "frames-v3-O2-backchain", "frames-v3-O0-backchain", "flow-v3-O2-backchain",
    "calls-musl-v3-O2-backchain",
)  # fmt: skip
UNCHAINED = ("frames-v3-O2-nofp", "flow-v3-O2-nofp", "frames-v3-O2-packed")

LEAF = "leaf without a frame"
OUTSIDE = "before the frame is taken, or after it"
RA_KEPT = "frame, RA not saved"
IN_FRAME = "frame, chain not stored (yet)"
PLACES = (LEAF, OUTSIDE, RA_KEPT, IN_FRAME)

Programs = Mapping[tuple[str, str], Prebuilt]


def share(counts: Counter[Verdict]) -> str:
    """Percentage of what is right; only all of it is 100.0."""
    right, total = counts[Verdict.EXACT] + counts[Verdict.OUTERMOST], sum(counts.values())
    return f"{min(100 * right / total, 99.9 if right < total else 100.0):.1f}"


@cache
def score(path: Path, arguments: tuple[str, ...]) -> tuple[int, int, tuple[str, ...]]:
    """Instructions, calls, and by table the shares of both that are right."""
    shares: list[str] = []
    for kind in ("sframe", "cfi", "backchain"):
        result = run(path, kind, arguments=arguments)
        assert result.guest.stopped == "exit"
        shares += [share(result.verdicts), share(result.caller_verdicts)]
    return result.guest.instructions, sum(result.caller_verdicts.values()), tuple(shares)


def chain_table(prebuilt: Programs) -> list[str]:
    """Lines of the table of scores."""
    lines = [
        "| Program | Instructions | Calls | SFrame | `.eh_frame` | back chain |",
        "|---|---|---|---|---|---|",
    ]
    for name in (*CHAINED, *UNCHAINED):
        entry = prebuilt["s390x", name]
        instructions, calls, shares = score(entry.path, tuple(entry.arguments or ()))
        cells = [f"{shares[at]} / {shares[at + 1]}" for at in (0, 2, 4)]
        lines.append(f"| `{name}` | {instructions:,} | {calls:,} | " + " | ".join(cells) + " |")
    return lines


def place_in_function(row: Row, function: FunctionRows) -> str:
    """What an instruction is to the back chain, by the row that .eh_frame has for it."""

    def taken(row: Row | NoRow) -> bool:
        entry = S390X.entry_cfa_offset
        return isinstance(row, Row) and (row.cfa.register, row.cfa.offset) != (S390X.sp, entry)

    if not taken(row):
        return OUTSIDE if any(map(taken, function.rows)) else LEAF
    return RA_KEPT if row.ra.kind is RuleKind.KEEP else IN_FRAME


@cache
def failures(path: Path) -> tuple[int, Counter[str], Counter[Verdict]]:
    """Instructions, wrong ones by their place, all verdicts: checked in plain Python."""
    image = load_image(str(path))
    cfi = read_table(image, "cfi")
    assert cfi is not None
    reference = Reference(image, row_table(image, S390X, "backchain"))
    reference.run()
    counts: Counter[str] = Counter()
    for (address, _, role), count in reference.wrong.items():
        if role == "sampled":
            function = next(f for f in cfi.functions if f.start <= address < f.start + f.size)
            at = [low <= address - function.start < high for low, high, _ in stretches(function)]
            row = function.rows[at.index(True)]
            assert isinstance(row, Row)
            counts[place_in_function(row, function)] += count
    return reference.count, counts, reference.verdicts


def failure_table(prebuilt: Programs) -> list[str]:
    """Lines of the table of failures; all code of these programs has the chain."""
    lines = [f"| Program | {' | '.join(PLACES)} |", "|---" * (1 + len(PLACES)) + "|"]
    for name in CHAINED[:3]:
        count, counts, _ = failures(prebuilt["s390x", name].path)
        cells = [f"{100 * counts[place] / count:.1f}" for place in PLACES]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines


@pytest.mark.compiled
def test_back_chain_beside_the_tables(prebuilt: Programs) -> None:
    """The page has the scores; where all code has the chain, every caller is right."""
    assert "\n".join(chain_table(prebuilt)) in page()
    for name in CHAINED[:3]:
        entry = prebuilt["s390x", name]
        _, _, shares = score(entry.path, tuple(entry.arguments or ()))
        assert (shares[:4], shares[5]) == (("100.0",) * 4, "100.0")
    for name in (*UNCHAINED, CHAINED[3]):
        entry = prebuilt["s390x", name]
        assert float(score(entry.path, tuple(entry.arguments or ()))[2][5]) < 5


@pytest.mark.compiled
def test_where_the_back_chain_fails(prebuilt: Programs) -> None:
    """The page has the places; outside a frame no instruction at all is right."""
    assert "\n".join(failure_table(prebuilt)) in page()
    for name in CHAINED[:3]:
        path = prebuilt["s390x", name].path
        count, counts, verdicts = failures(path)
        compiled = run(path, "backchain").verdicts
        assert verdicts == compiled
        right = verdicts[Verdict.EXACT] + verdicts[Verdict.OUTERMOST]
        assert right + sum(counts.values()) == count
        assert counts[LEAF] + counts[OUTSIDE] + counts[RA_KEPT] > counts[IN_FRAME]


# ------------------------------------------------------------------------------------ the documents
def page() -> str:
    """The page about s390x."""
    return (ROOT / "docs" / "s390x.md").read_text()


def cell(one: Extension, version: int, suite: Suite) -> str:
    """Bytes if all four facts hold, else the reason."""
    facts = facts_of(one, version, suite)
    if facts.expressible and facts.encoded and facts.decoded and facts.unwound:
        return f"`{facts.text}`"
    return facts.text


def extension_table(suite: Suite) -> list[str]:
    """Lines of the page's table."""
    lines = [
        "| Extension | Row | V1 | V2 | V3 | gas 2.47.50 | as a caller |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in EXTENSIONS:
        cells = [cell(one, version, suite) for version in VERSIONS]
        caller = facts_of(one, 3, suite).caller
        gas = gas_says(one)
        gas = f"`{gas}`" if gas.startswith("CFA") else gas
        lines.append(f"| {one.title} | `{one.row}` | {' | '.join(cells)} | {gas} | {caller} |")
    return lines


def summary_table(suite: Suite) -> list[str]:
    """Lines of the README's table."""
    lines = [
        "| On s390x | V1 | V2 | V3 | gas 2.47.50 writes it in V3 |",
        "|---|---|---|---|---|",
    ]
    words = {"same": "yes", "none": "left out", "signal frame without rows": "the mark alone"}
    for group in dict.fromkeys(one.group for one in EXTENSIONS):
        members = [one for one in EXTENSIONS if one.group == group]
        cells = []
        for version in VERSIONS:
            held = {cell(one, version, suite).startswith("`") for one in members}
            cells.append("yes" if held == {True} else "no" if held == {False} else "in part")
        gas = {words.get(gas_says(one), "**wrong**") for one in members}
        cells.append(" or ".join(sorted(gas, reverse=True)))
        lines.append(f"| {group} | {' | '.join(cells)} |")
    return lines


@pytest.mark.compiled
def test_the_page_has_the_results(suite: Suite) -> None:
    """Every cell of the table in docs/s390x.md came of these tests."""
    assert "\n".join(extension_table(suite)) in page()


@pytest.mark.compiled
def test_the_readme_has_the_results(suite: Suite) -> None:
    """And of the one in README.md."""
    assert "\n".join(summary_table(suite)) in (ROOT / "README.md").read_text()


def test_the_page_names_every_mistake_that_is_tested() -> None:
    """A reader sees which wrong producers were tried."""
    assert [spoilt.name for spoilt in SPOILT if spoilt.name not in page()] == []


@pytest.mark.compiled
def test_the_commands_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command under "Validate an SFrame producer" prints the lines that stand below it."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text().split("## Validate an SFrame producer\n")[1]
    command = Command(capsys)
    output: list[str] = []
    shown = 0
    for line in text.split("\n## ")[0].splitlines():
        if line.startswith("    $ unwindlab "):
            arguments = re.sub(r"\bbest\b", str(tmp_path / "best"), line).split()[2:]
            output = command(*arguments).stdout.splitlines()
            shown += 1
        elif line.startswith("    ") and line != "    [...]":
            assert line[4:] in output
    assert shown == 6
