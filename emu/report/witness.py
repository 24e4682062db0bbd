"""The folder of a witness: all that a report to a maintainer needs."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from emu.errors import UsageError
from emu.fuzz.causes import Cause
from emu.fuzz.reduce.witness import Witness
from emu.fuzz.store import Bucket
from emu.report.disassembly import Disassembler
from emu.report.text import text_of
from emu.rowtext import row_text
from emu.sweep.result import SweepOptions
from emu.sweep.sweep import Sweep

_SUFFIX = {"c": "source.c", "c++": "source.cc", "asm": "source.s"}


def write_witness(folder: Path, bucket: Bucket, witness: Witness, cause: Cause | None) -> None:
    """Write source, assembly, object and a text that says what is wrong.

    Raises:
        UsageError: a file cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        source = folder / _SUFFIX[witness.source.language]
        source.write_text(witness.source.text, errors="surrogateescape")
        if witness.assembly is not None and witness.source.language != "asm":
            (folder / "reduced.s").write_text(witness.assembly, errors="surrogateescape")
        place = folder / "object.o"
        place.write_bytes(witness.object)
        text = text_of(list(_lines(bucket, witness, cause, str(place), source.name)))
        (folder / "witness.txt").write_text(text)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror}") from error


def _lines(
    bucket: Bucket, witness: Witness, cause: Cause | None, place: str, source: str
) -> Iterator[str]:
    symptom = witness.symptom
    yield f"{bucket.key}"
    if cause is not None:
        yield f"known: {cause.name}: {cause.fault}"
    yield ""
    yield f"tools      {witness.point.name}"
    yield f"seen with  {', '.join(bucket.names)}; {bucket.count} builds"
    yield ""
    yield "to repeat:"
    yield from (f"  $ {line}" for line in commands(witness, source))
    if witness.assembly is not None and witness.source.language != "asm":
        yield "reduced.s is what can be left of its assembly; object.o is made of that"
    yield ""
    yield f"{symptom.verdict} by {symptom.oracle}, {symptom.function}+{symptom.offset}"
    for name, text in (
        ("row", symptom.row), ("expected", symptom.expected), ("got", symptom.got),
        ("reason", symptom.detail),
    ):  # fmt: skip
        if text:
            yield f"  {name:<9} {text}"
    if witness.right:
        yield f"  but       {witness.right} makes a right table of the same assembly"
    proof = "the function returns as it should" if symptom.proven else "no return was seen"
    yield f"  proof     {proof}"
    yield ""
    yield from _listing(witness, place)


def commands(witness: Witness, source: str) -> list[str]:
    """What makes the object, and what shows that it is wrong."""
    point, language = witness.point, witness.source.language
    lines = []
    if point.compiler is not None:
        made = "again.o" if point.whole else "source.s"
        lines.append(shlex.join([*point.compiling(language), source, "-o", made]))
    if not point.whole:
        lines.append(shlex.join([*point.assembling(), "source.s", "-o", "again.o"]))
    table = "sframe" if witness.symptom.oracle == "sframe" else "cfi"
    shown = "compare" if witness.symptom.oracle == "tables" else f"sweep --table {table}"
    return [*lines, f"unwindlab {shown} again.o"]


def _listing(witness: Witness, place: str) -> Iterator[str]:
    """The function, instruction by instruction, with each row where it begins."""
    symptom = witness.symptom
    kind = "sframe" if symptom.oracle == "sframe" else "cfi"
    job = Sweep(place, SweepOptions(table=kind, jobs=0))
    bounds = (
        (each.start, each.end)
        for each in job.sites.functions
        if job.placed.link(each.start) <= symptom.start <= job.placed.link(each.end - 1)
        and job.placed.function_at(each.start)[0] in (symptom.function, None)
    )
    start, end = next(bounds, (0, 0))
    reader = Disassembler(job.image, job.arch, job.placed.memory.read_some)
    shift = job.placed.link(start) - start if end else 0
    last = None
    for line in reader.around(start, start, end, 0, 0):
        site = job.sites.at(line.address)
        code = -1 if site is None else int(site["row"])
        row = row_text(job.sites.table.rows[code], job.arch) if code >= 0 else "no row"
        address = line.address + shift
        mark = ">" if symptom.start <= address < symptom.end else " "
        shown = f"  {row}" if row != last else ""
        yield f"{mark} {address:#6x}  {line.text:<44}{shown}".rstrip()
        last = row
