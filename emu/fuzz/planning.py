"""What a campaign is made of, and how it follows from what is installed and what is wanted."""

import itertools
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from arch import ALL
from emu.errors import UsageError
from emu.fuzz.making import Source, Workshop
from emu.fuzz.matrix import Point, points
from emu.fuzz.store import Store
from emu.fuzz.task import ASSEMBLY, CSMITH, GENERATED, machine
from emu.fuzz.toolchains import (
    Assembler,
    Compiler,
    Toolchains,
    discover,
    given_assembler,
    given_compiler,
)
from emu.fuzz.tools import ToolError

_SMALLEST = Source("int f(int x) {\n  return x;\n}\n", "c")
_LANGUAGES = {".c": "c", ".cc": "c++", ".cpp": "c++", ".s": "asm"}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a campaign is made of; stored with it, so that it goes on as it began."""

    machines: tuple[str, ...]
    origins: tuple[str, ...] = (GENERATED, ASSEMBLY, CSMITH)
    seed: int = 0
    points: int = 4
    """Of each source."""
    toolchains: Toolchains = field(default_factory=Toolchains)
    """Those on trial."""
    references: tuple[Assembler, ...] = ()
    """Assemblers that are taken for right where those on trial are given by the user."""
    files: tuple[Source, ...] = ()
    """Instead of sources that are made."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the user asks for."""

    machines: Sequence[str] = ()
    origins: Sequence[str] = ()
    seed: int = 0
    points: int = 4
    compilers: Sequence[str] = ()
    assemblers: Sequence[str] = ()
    """Commands, as a shell would take them."""
    files: Sequence[str] = ()


def make_plan(wanted: Wanted) -> Plan:
    """Look for tools, and lay down a campaign.

    Raises:
        UsageError: there is nothing to try, or a file cannot be read.
        ToolError: a tool of the user's does not run.
    """
    found = discover()
    compilers = [given_compiler(_words("--cc", command)) for command in wanted.compilers]
    assemblers = [given_assembler(_words("--as", command)) for command in wanted.assemblers]
    replaced = {each.arch for each in assemblers}
    toolchains = _replaced(found, compilers, assemblers)
    origins = list(wanted.origins) or [GENERATED, ASSEMBLY, CSMITH]
    if found.csmith is None and CSMITH in origins:
        if wanted.origins:
            raise UsageError("csmith is not installed: see `unwindlab toolchain`")
        origins.remove(CSMITH)
    return Plan(
        machines=_machines(toolchains, list(wanted.machines), [*compilers, *assemblers]),
        origins=tuple(origins),
        seed=wanted.seed,
        points=wanted.points,
        toolchains=replace(toolchains, strangers=tuple(_strangers(toolchains))),
        references=tuple(each for each in found.assemblers if each.arch in replaced),
        files=tuple(_source(path) for path in wanted.files),
    )


def begin(store: Store, plan: Plan) -> None:
    """Write a plan into a new store.

    Raises:
        UsageError: there is nothing to try for a machine.
    """
    for name in plan.machines:
        next(points(machine(name), plan.toolchains, plan.seed))
    store.set_meta("plan", json.dumps(asdict(plan)))


def _words(option: str, command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"{option} {command!r}: {error}") from error
    if not words:
        raise UsageError(f"{option} {command!r}: names no tool")
    return words


def _source(path: str) -> Source:
    language = _LANGUAGES.get(Path(path).suffix)
    if language is None:
        raise UsageError(f"{path}: not one of {', '.join(_LANGUAGES)}")
    try:
        return Source(Path(path).read_text(errors="surrogateescape"), language)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error


def _machines(
    found: Toolchains, wanted: list[str], given: Sequence[Compiler | Assembler]
) -> tuple[str, ...]:
    """Those that are named, else those of the user's own tools, else all that are possible."""
    able = [
        arch.name for arch in ALL
        if any(each.arch == arch.name for each in found.compilers)
        and any(each.arch == arch.name for each in found.assemblers)
    ]  # fmt: skip
    for name in wanted:
        if name not in able and all(arch.name != name for arch in ALL):
            names = ", ".join(arch.name for arch in ALL)
            raise UsageError(f"--arch {name}: none of {names}")
        if name not in able:
            raise UsageError(f"--arch {name}: no compiler and assembler: see `unwindlab toolchain`")
    if not able:
        raise UsageError("no compiler and assembler was found: see `unwindlab toolchain`")
    own = {each.arch for each in given}
    return tuple(wanted or [name for name in able if not own or name in own])


def _strangers(found: Toolchains) -> Iterator[tuple[str, str, str]]:
    """Pairs of which nothing can come: the assembler does not know what the compiler writes."""
    with Workshop() as shop:
        for compiler, assembler in itertools.product(found.compilers, found.assemblers):
            if compiler.arch != assembler.arch:
                continue
            try:
                shop.make(_SMALLEST, Point(compiler, assembler))
            except ToolError:
                yield compiler.arch, compiler.name, assembler.name


def _replaced(
    found: Toolchains, compilers: Sequence[Compiler], assemblers: Sequence[Assembler]
) -> Toolchains:
    """What is found, with the user's own in the place of those for their machines."""
    compiled = {each.arch for each in compilers}
    assembled = {each.arch for each in assemblers}
    return Toolchains(
        (*compilers, *(each for each in found.compilers if each.arch not in compiled)),
        (*assemblers, *(each for each in found.assemblers if each.arch not in assembled)),
        found.references, found.csmith,
    )  # fmt: skip
