"""What a worker does: make one source, compile it at its points, judge what comes out."""

from collections import Counter
from dataclasses import dataclass, field, replace

from arch import Arch, by_name
from emu.errors import UnwindlabError
from emu.fuzz.generate import csmith
from emu.fuzz.generate.choices import Choices
from emu.fuzz.generate.program import generate, generate_assembly
from emu.fuzz.judge import Judgement, blame, judge_object, judge_pair, judge_run, only_run
from emu.fuzz.making import Made, Source, Workshop
from emu.fuzz.matrix import Point
from emu.fuzz.symptom import Symptom
from emu.fuzz.toolchains import Assembler, Tool
from emu.fuzz.tools import Clock, ToolError

GENERATED, ASSEMBLY, CSMITH, FILE = "generated", "assembly", "csmith", "file"

_CSMITH_SECONDS = 5
"""For one program: it needs a quarter of one, or does not come to an end."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """Tools of one machine that are not on trial."""

    csmith: Tool | None = None
    linker: Tool | None = None
    """Driver of a compiler, to make programs that run."""
    emulator: Tool | None = None
    """In user mode, to know what a program does."""
    assembler: Assembler | None = None
    """Tells what is the fault of the user's own, or of that inside a compiler, and what is not."""


@dataclass(frozen=True, slots=True)
class Task:
    """One source at some points."""

    number: int
    arch: str
    origin: str
    """GENERATED, ASSEMBLY, CSMITH or FILE."""
    seed: int
    """What its choices follow from."""
    points: tuple[Point, ...]
    helpers: Helpers
    second: Assembler | None = None
    """Assembles what came out of the first point, too."""
    run: bool = False
    """The first point is linked and run."""
    source: Source | None = None
    """Of a file."""

    def work(self) -> "Outcome":
        """Do it; whatever the tools do, there is an outcome."""
        with Workshop() as shop:
            return _Work(self, shop).outcome()


@dataclass(frozen=True, slots=True)
class Build:
    """What came of one source at one point."""

    point: Point
    status: str
    """``judged``; ``rejected`` by a tool; ``failed``: we could not judge it."""
    detail: str = ""
    object: bytes = b""
    symptoms: tuple[Symptom, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task."""

    number: int
    source: Source
    builds: tuple[Build, ...]
    own: float
    """Processor seconds of this process,"""
    tools: float
    """of compilers, assemblers and linkers,"""
    others: float
    """of csmith and the user-mode emulator."""


class _Work:
    def __init__(self, task: Task, shop: Workshop) -> None:
        self._task, self._shop = task, shop
        self._clock = Clock()
        self._own = self._tools = self._others = 0.0

    def outcome(self) -> Outcome:
        """Everything in turn."""
        task = self._task
        try:
            source = make_source(task, self._shop)
        except ToolError as error:
            failed = tuple(Build(point, "rejected", str(error)) for point in task.points)
            return self._outcome(Source("", "c"), failed)
        self._lap(others=True)
        builds = [self._build(source, point, at) for at, point in enumerate(task.points)]
        return self._outcome(source, tuple(builds))

    def _outcome(self, source: Source, builds: tuple[Build, ...]) -> Outcome:
        self._lap()
        return Outcome(
            self._task.number, source, builds, self._own, self._tools, self._others
        )

    def _lap(self, others: bool = False) -> None:
        own, tools = self._clock.lap()
        self._own += own
        if others:
            self._others += tools
        else:
            self._tools += tools

    def _build(self, source: Source, point: Point, at: int) -> Build:
        try:
            made = self._shop.make(source, point)
        except ToolError as error:
            return Build(point, "rejected", str(error))
        try:
            judgement = judge_object(made.object)
            if judgement.symptoms and on_trial(point):
                self._blame(source, made, point, judgement)
            if at == 0 and self._task.second and made.assembly is not None:
                self._second(made, judgement)
            if at == 0 and self._task.run:
                self._run(made, judgement)
        except UnwindlabError as error:
            return Build(point, "failed", str(error), made.object)
        return Build(
            point, "judged", "", made.object, tuple(judgement.symptoms), judgement.counts
        )

    def _blame(self, source: Source, made: Made, point: Point, judgement: Judgement) -> None:
        """Whose faults these are: the same assembly by an assembler that is not on trial."""
        other = self._task.helpers.assembler
        if other is None:
            return
        sframe = point.sframe and bool(other.sframe)
        beside = replace(point, assembler=other, sframe=sframe)
        try:
            if made.assembly is not None:
                made = self._shop.assemble(made.assembly, beside)
            else:
                made = self._shop.make(source, beside)
        except ToolError:
            judgement.counts["reference refuses"] += 1
            return
        right = judge_object(made.object)
        judgement.symptoms = blame(
            point.assembler_family, judgement.symptoms, right, sframe == point.sframe
        )

    def _second(self, made: Made, judgement: Judgement) -> None:
        """The same assembly by another assembler."""
        second = self._task.second
        assert second is not None
        assert made.assembly is not None
        try:
            other = self._shop.assemble(made.assembly, Point(None, second)).object
        except ToolError:
            judgement.counts["second assembler refuses"] += 1
            return
        judgement.symptoms += judge_pair(made.object, other)
        judgement.counts["second assembler"] += 1

    def _run(self, made: Made, judgement: Judgement) -> None:
        helpers = self._task.helpers
        if helpers.linker is None:
            return
        try:
            program = self._shop.link(made.object, helpers.linker)
        except ToolError:
            judgement.counts["not linked"] += 1
            return
        self._lap()
        expected = None
        if helpers.emulator is not None:
            try:
                done = self._shop.execute(program, helpers.emulator)
                expected = (done.status, done.stdout)
            except ToolError:
                judgement.counts["too long for the other emulator"] += 1
                return
            self._lap(others=True)
        seen = judge_run(program, made.object, expected)
        new = only_run(judgement.symptoms, seen.symptoms)
        judgement.counts["seen in the run, too"] += len(seen.symptoms) - len(new)
        judgement.symptoms += new
        judgement.counts.update(seen.counts)
        judgement.counts["runs"] += 1


def on_trial(point: Point) -> bool:
    """Whether its assembler is to be told from its compiler: the user's, or that inside clang."""
    if point.lto:
        return False
    return point.assembler is None or point.assembler.tool.given


def make_source(task: Task, shop: Workshop) -> Source:
    """The source of a task.

    Raises:
        ToolError: csmith made none.
    """
    if task.source is not None:
        return task.source
    if task.origin == CSMITH:
        tool = task.helpers.csmith
        assert tool is not None
        words = [*tool.words, *csmith.command(task.seed % (1 << 31))]
        done = shop.run(tool, words, b"", _CSMITH_SECONDS).check("csmith")
        return Source(csmith.standalone(done.stdout.decode()), "c")
    make = generate_assembly if task.origin == ASSEMBLY else generate
    program = make(Choices(seed=task.seed), machine(task.arch))
    return Source(program.text, program.language)


def machine(name: str) -> Arch:
    """The machine of that name, which is known to exist."""
    found = by_name(name)
    assert found is not None
    return found
