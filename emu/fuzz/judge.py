"""The oracles: what is asked of an object, a program, and of two objects of the same assembly."""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from emu.check.compare import Stretch, code_of, compare_tables
from emu.check.findings import Finding, Values
from emu.check.options import RunOptions
from emu.check.run import Run
from emu.errors import UnwindlabError
from emu.fuzz.symptom import Symptom, contrast, pattern_at, rule_of
from emu.image import SHF_EXECINSTR, Image, load_image
from emu.rowtext import row_text
from emu.sweep.result import SweepOptions
from emu.sweep.sweep import Sweep
from emu.unwind.sources import has_table, read_table

_HERE = 0
"""Jobs of a sweep: in this process, which is one that may die."""
_MOST_INSTRUCTIONS = 50_000_000


@dataclass(slots=True)
class Judgement:
    """What was seen of one object."""

    symptoms: list[Symptom] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Of the sweep by .eh_frame, of what was compared and run, and of what could not be."""


def judge_object(data: bytes) -> Judgement:
    """Sweep an object by .eh_frame, and by .sframe where that says something else.

    Raises:
        UnwindlabError: it cannot be read or swept.
    """
    with _files(data) as (path,):
        return _judge_object(path)


def _judge_object(path: str) -> Judgement:
    image = load_image(path)
    answer = Judgement()
    cfi = _sweep(path, "cfi", answer) if has_table(image, "cfi") else None
    answer.counts["no .eh_frame"] += cfi is None
    if cfi is not None and has_table(image, "sframe"):
        differ = list(_contradictions(image, cfi))
        if differ:
            before = list(answer.symptoms)
            _sweep(path, "sframe", answer)
            # What both tables say is no matter of .sframe.
            both = {(s.function, s.start, s.row) for s in before}
            own = [s for s in answer.symptoms[len(before) :]
                   if (s.function, s.start, s.row) not in both]  # fmt: skip
            answer.symptoms = [*before, *own]
            wrong = {s.function for s in own}
            # The sweep shows which of the two is wrong, unless it comes to no verdict there.
            answer.symptoms += [each for each in differ if each.function not in wrong]
        answer.counts["tables compared"] += 1
    return answer


def judge_pair(first: bytes, second: bytes) -> list[Symptom]:
    """Objects that two assemblers made of the same text: tables of the same code mean the same.

    Raises:
        UnwindlabError: one cannot be read.
    """
    with _files(first, second) as (path, another):
        images = load_image(path), load_image(another)
        if _code(images[0]) != _code(images[1]):
            return []
        job = Sweep(path, SweepOptions(table="cfi", jobs=_HERE))
        one, other = (read_table(image, "cfi") for image in images)
        return [
            _difference(job, stretch, "assemblers")
            for stretch in compare_tables(one, other, code_of(*images))
            if stretch.first != stretch.second
        ]


def blame(
    whose: str, found: Sequence[Symptom], right: Judgement, sframe: bool
) -> list[Symptom]:
    """Mark what is the assembler's: another one does not have it in the same function.

    Args:
        whose: of which it is then.
        found: of an object.
        right: of what the other makes of the same assembly.
        sframe: that one writes .sframe, if the first does.
    """
    theirs = {(each.function, each.kind) for each in right.symptoms}
    return [
        replace(each, whose="" if (each.function, each.kind) in theirs else whose)
        if sframe or each.oracle == "cfi" else each
        for each in found
    ]  # fmt: skip


def only_run(swept: Sequence[Symptom], run: Sequence[Symptom]) -> list[Symptom]:
    """What a run shows that the sweep of the object has not shown at the same place."""
    return [
        each for each in run
        if not any(
            each.function == other.function and each.start < other.end and other.start < each.end
            for other in swept
        )
    ]  # fmt: skip


def judge_run(program: bytes, object: bytes, expected: tuple[int, bytes] | None) -> Judgement:
    """Run a program under the check; only what is wrong in the object's own functions counts.

    Args:
        program: static.
        object: what it was linked from, beside libraries.
        expected: status and output in another emulator; None: it was not run there.

    Raises:
        UnwindlabError: it cannot be run.
    """
    with _files(program, object) as (place, path):
        return _judge_run(place, path, expected)


def _judge_run(program: str, object: str, expected: tuple[int, bytes] | None) -> Judgement:
    answer = Judgement()
    run = Run(program, RunOptions(table="cfi", max_instructions=_MOST_INSTRUCTIONS, timeout=60))
    result = run.to_end()
    guest = result.guest
    answer.counts["instructions run"] += guest.instructions
    if guest.stopped not in ("exit", "signal"):
        answer.counts[f"run: {guest.stopped} {guest.reason}".rstrip()] += 1
    elif expected is not None and (guest.exit_status, guest.stdout) != expected:
        detail = f"{guest.exit_status} {guest.stdout[:80]!r} instead of {expected[0]} "
        answer.symptoms.append(
            Symptom("output", "differs", "", "", "main", 0, 0, 0,
                    detail=f"{detail}{expected[1][:80]!r}", by="run")
        )  # fmt: skip
    job = Sweep(object, SweepOptions(table="cfi", jobs=_HERE))
    functions = job.placed.functions()
    for finding in result.findings:
        start = functions.get(finding.function or "")
        if start is None:
            answer.counts["findings in libraries"] += 1
            continue
        runtime = start + finding.start_offset
        low = job.placed.link(runtime)  # the finding's own addresses are those of the program
        high = low + finding.end - finding.start
        symptom = _symptom(job, finding, runtime, "cfi")
        answer.symptoms.append(replace(symptom, start=low, end=high, by="run", proven=True))
    return answer


def _sweep(path: str, kind: str, answer: Judgement) -> Sweep:
    job = Sweep(path, SweepOptions(table=kind, jobs=_HERE))
    result = job.run()
    for item in result.findings:
        symptom = _symptom(job, item.finding, item.runtime, kind)
        answer.symptoms.append(replace(symptom, proven=item.confirmed))
    if kind == "cfi":
        coverage = result.coverage
        answer.counts["functions"] += coverage.functions
        answer.counts["instructions"] += coverage.instructions
        answer.counts["bytes"] += coverage.bytes
        answer.counts["reached bytes"] += coverage.reached_bytes
        answer.counts["frames given up"] += len(coverage.frame_given_up)
        answer.counts["doubtful"] += len(result.doubtful)
    return job


def _symptom(job: Sweep, finding: Finding, runtime: int, oracle: str) -> Symptom:
    number = job.sites.function_at(runtime)
    begin = job.sites.functions[number].start if number >= 0 else runtime
    return Symptom(
        oracle=oracle,
        verdict=finding.verdict.text,
        rule=rule_of(finding, job.arch),
        pattern=pattern_at(job, runtime),
        function=finding.function or finding.section,
        offset=finding.start_offset if finding.function else runtime - begin,
        start=finding.start,
        end=finding.end,
        row="" if finding.row is None else row_text(finding.row, job.arch),
        expected=_values(finding.expected),
        got=_values(finding.got),
        detail=finding.reason,
    )


def _values(values: Values | None) -> str:
    if values is None:
        return ""
    pairs = (("CFA", values.cfa), ("RA", values.ra), ("FP", values.fp))
    return " ".join(f"{name} {value:#x}" for name, value in pairs if value is not None)


def _contradictions(image: Image, job: Sweep) -> Iterator[Symptom]:
    """Where .sframe has a row that says something else than that of .eh_frame."""
    sframe, cfi = read_table(image, "sframe"), read_table(image, "cfi")
    for stretch in compare_tables(sframe, cfi, code_of(image, image)):
        if stretch.kind == "differs":
            yield _difference(job, stretch, "tables")


def _difference(job: Sweep, stretch: Stretch, oracle: str) -> Symptom:
    section = job.image.section(stretch.section)
    assert section is not None
    runtime = job.placed.runtime(section.index, stretch.start)
    name, start, _ = job.placed.function_at(runtime)
    texts = [
        "nothing" if row is None else row_text(row, job.arch)
        for row in (stretch.first, stretch.second)
    ]
    return Symptom(
        oracle, "differs", contrast(stretch.first, stretch.second), pattern_at(job, runtime),
        name or stretch.section, 0 if start is None else stretch.start - job.placed.link(start),
        stretch.start, stretch.end, row=texts[0], expected=texts[1], got=texts[0],
    )  # fmt: skip


def _code(image: Image) -> list[tuple[str, bytes]]:
    return [
        (each.name, image.data[each.offset : each.offset + each.size])
        for each in image.sections
        if each.flags & SHF_EXECINSTR and each.size
    ]


@contextmanager
def _files(*contents: bytes) -> Iterator[list[str]]:
    """Paths of files with these contents, for a while; errors name them without the folder."""
    with tempfile.TemporaryDirectory(prefix="unwindlab-") as folder:
        paths = [os.path.join(folder, f"{number}.o") for number in range(len(contents))]
        for path, content in zip(paths, contents, strict=True):
            with open(path, "wb") as file:
                file.write(content)
        try:
            yield paths
        except UnwindlabError as error:
            raise UnwindlabError(str(error).replace(f"{folder}/", "")) from error
