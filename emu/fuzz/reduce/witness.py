"""A symptom made small: fewer options, then a smaller source, then less assembly."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from emu.errors import UnwindlabError
from emu.fuzz.generate.choices import Choices
from emu.fuzz.generate.program import generate, generate_assembly
from emu.fuzz.judge import judge_object, judge_pair
from emu.fuzz.making import Made, Source, Workshop
from emu.fuzz.matrix import Point
from emu.fuzz.reduce.assembly import shrink_assembly
from emu.fuzz.reduce.c import shrink_c
from emu.fuzz.reduce.lists import shrink_list, shrink_record
from emu.fuzz.reduce.trials import Budget
from emu.fuzz.symptom import Symptom
from emu.fuzz.task import ASSEMBLY, GENERATED, machine
from emu.fuzz.toolchains import Assembler
from emu.fuzz.tools import Clock, ToolError, processor_seconds

_SECONDS = 90
"""Of processor time, for one witness."""
_SHORT = 15
"""Lines of assembly that are read at a glance."""
_CODE = re.compile(r"\s+(?![.#/])\S|\s*\.cfi_|\s*[\w.$]+:")
"""Lines of assembly that are code, notes about it, or labels."""


@dataclass(frozen=True, slots=True)
class Witness:
    """The smallest that still shows it."""

    point: Point
    source: Source
    assembly: str | None
    object: bytes
    symptom: Symptom
    tries: int
    """Objects that were made and judged on the way."""
    complete: bool
    """The reduction did not run out of time."""
    right: str = ""
    """Another assembler, which makes a right table of the same assembly."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A task: make the smallest witness of a bucket."""

    bucket: str
    arch: str
    origin: str
    seed: int
    source: Source
    point: Point
    symptom: Symptom
    """Of this build and bucket."""
    reference: Assembler | None = None
    """Of an assembler's symptom: this one makes something else of the same assembly."""
    second: Assembler | None = None
    """Of the oracle that compares two of them."""

    def work(self) -> "Reduced":
        """Do it."""
        clock = Clock()
        with Workshop() as shop:
            witness = _Reducer(self, shop).witness()
        own, tools = clock.lap()
        return Reduced(self.bucket, witness, own, tools)


@dataclass(frozen=True, slots=True)
class Reduced:
    """What came of a reduction."""

    bucket: str
    witness: Witness | None
    """None: it did not show again."""
    own: float
    tools: float


class _Reducer:
    def __init__(self, job: Reduction, shop: Workshop) -> None:
        self._job, self._shop = job, shop
        self._tries = 0
        self._budget = _budget(_SECONDS)
        self._alone = job.symptom.whose == "as"
        """It is the assembler's: what the compiler did is no part of it, and all lines may go."""
        self._function = job.symptom.function if self._alone else None
        """Where the symptom has to be; None: anywhere."""

    def witness(self) -> Witness | None:
        """Stage after stage; each starts from the smallest so far."""
        job = self._job
        source, point = job.source, job.point
        made = self._made(source, point)
        if made is None or not self._found(made):
            return None
        if self._alone:
            # As long as it is a function with a name, it is right from its beginning; if that is
            # long, a piece of it has to do.
            point = replace(point, compiler=None, flags=())
            for self._function in (job.symptom.function, None):
                less = self._less_assembly(made, point, job.reference)
                if len((less.assembly or "").splitlines()) <= _SHORT:
                    break
            return self._witness(point, Source(less.assembly or "", "asm"), less)
        point = self._fewer_flags(source, point)
        if job.origin in (GENERATED, ASSEMBLY):
            source = self._fewer_choices(source, point)
        if source.language != "asm":
            source = self._less_text(source, point)
            point = self._fewer_flags(source, point)
        made = self._made(source, point)
        if made is not None and made.assembly is not None:
            made = self._less_assembly(made, point, None)
            if source.language == "asm":
                source = Source(made.assembly or "", "asm")
        return self._witness(point, source, made)

    def _witness(self, point: Point, source: Source, made: Made | None) -> Witness | None:
        found = [] if made is None else self._found(made)
        if made is None or not found:
            return None
        complete = not self._budget.spent()
        name = self._job.reference.name if self._job.reference else ""
        return Witness(
            point, source, made.assembly, made.object, found[0], self._tries, complete, name
        )

    # ---- stages

    def _fewer_flags(self, source: Source, point: Point) -> Point:
        def holds(flags: Sequence[str]) -> bool:
            return self._holds(source, replace(point, flags=tuple(flags)))

        point = replace(point, flags=tuple(shrink_list(point.flags, holds, self._budget)))
        plain = replace(point, sframe=False)
        return plain if point.sframe and self._holds(source, plain) else point

    def _fewer_choices(self, source: Source, point: Point) -> Source:
        arch = machine(self._job.arch)
        make = generate_assembly if self._job.origin == ASSEMBLY else generate

        def of(record: Sequence[int]) -> Source:
            program = make(Choices(record), arch)
            return Source(program.text, program.language)

        choices = Choices(seed=self._job.seed)
        if make(choices, arch).text != source.text:
            return source  # another version of the generator made it

        def holds(record: Sequence[int]) -> bool:
            return self._holds(of(record), point)

        # What is left of a draw's text is for the next stage, which knows C.
        return of(shrink_record(choices.record, holds, _budget(_SECONDS / 3)))

    def _less_text(self, source: Source, point: Point) -> Source:
        def holds(text: str) -> bool:
            return self._holds(replace(source, text=text), point)

        return replace(source, text=shrink_c(source.text, holds, self._budget))

    def _less_assembly(self, made: Made, point: Point, reference: Assembler | None) -> Made:
        """What is left of assembly, and the object of that.

        Where another assembler makes a right table of it, the text itself is right and stays so
        with fewer lines, as long as that one agrees. Else the code of the function and the notes
        about it have to stay: with fewer of them the table would be wrong for another reason.
        """
        text = made.assembly
        assert text is not None
        keep = (lambda line: False) if reference else _lines_of(text, self._found(made)[0])
        # What is the compiler's may stay; if nothing at all is wrong with the right table, it
        # stays so. Without its label the function has another name, here and there.
        before = self._wrong(self._assembled(text, reference, point)) if reference else None
        allowed = before[self._job.symptom.function] if before else set()

        def holds(candidate: str) -> bool:
            one = self._assembled(candidate, point.assembler, point)
            found = [] if one is None else self._found(one)
            if not found or reference is None:
                return bool(found)
            wrong = self._wrong(self._assembled(candidate, reference, point))
            if wrong is None or not before:
                return wrong is not None and not wrong
            return any(wrong[each.function] <= allowed for each in found)

        text = shrink_assembly(text, keep, holds, self._budget)
        return self._assembled(text, point.assembler, point) or made

    # ---- one try

    def _holds(self, source: Source, point: Point) -> bool:
        made = self._made(source, point)
        found = [] if made is None else self._found(made)
        if not found or self._job.reference is None:
            return bool(found)
        wrong = self._wrong(self._made(source, replace(point, assembler=self._job.reference)))
        return wrong is not None and any(each.kind not in wrong[each.function] for each in found)

    def _made(self, source: Source, point: Point) -> Made | None:
        try:
            return self._shop.make(source, point)
        except ToolError:
            return None

    def _assembled(self, text: str, assembler: Assembler | None, point: Point) -> Made | None:
        """What an assembler makes of a text where the point's own would make what it makes."""
        if assembler is None:
            return None
        sframe = point.sframe and bool(assembler.sframe)
        try:
            return self._shop.assemble(text, Point(None, assembler, sframe=sframe))
        except ToolError:
            return None

    def _found(self, made: Made) -> list[Symptom]:
        """The symptoms of this bucket that an object still has."""
        return [
            replace(each, whose=self._job.symptom.whose) for each in self._symptoms(made)
            if each.kind == self._job.symptom.kind and self._function in (None, each.function)
        ]  # fmt: skip

    def _wrong(self, made: Made | None) -> defaultdict[str, set[str]] | None:
        """The kinds of symptoms of each function; None: there is no object."""
        if made is None:
            return None
        found: defaultdict[str, set[str]] = defaultdict(set)
        for each in self._symptoms(made):
            found[each.function].add(each.kind)
        return found

    def _symptoms(self, made: Made) -> list[Symptom]:
        self._tries += 1
        second = self._job.second
        try:
            found = judge_object(made.object).symptoms
            if second is not None and made.assembly is not None:
                other = self._shop.assemble(made.assembly, Point(None, second))
                found += judge_pair(made.object, other.object)
        except UnwindlabError:
            return []  # no candidate: it cannot be judged
        return found


def _budget(seconds: float) -> Budget:
    """Of processor time: how far it gets must not depend on what else the machine does."""
    return Budget(seconds=seconds, clock=processor_seconds)


def _lines_of(text: str, symptom: Symptom) -> Callable[[str], bool]:
    """Which lines are the code of the symptom's function and what is noted about it."""
    inside = False
    kept: set[str] = set()
    label = re.compile(rf"{re.escape(symptom.function)}(?:\.cold(?:\.\d+)?)?:")
    for line in text.splitlines():
        inside = inside or label.match(line) is not None
        if inside and _CODE.match(line):
            kept.add(line.strip())
        if ".cfi_endproc" in line:
            inside = False
    return lambda line: line.strip() in kept
