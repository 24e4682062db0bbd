"""Which compilers, assemblers and options are tried together: every two settings at some point."""

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from arch import Arch, by_name
from arch.compilers import COMMON, Level
from emu.errors import UsageError
from emu.fuzz.pairs import Partial, pairwise
from emu.fuzz.toolchains import Assembler, Compiler, Toolchains

_LTO = (Level("", ""), Level("-flto", None))
_ALWAYS = ("-g0", "-w", "-fasynchronous-unwind-tables")
_STANDARD = {"c": "-std=gnu17", "c++": "-std=gnu++17"}
_OF_FAMILY = {"gcc": (), "clang": ("-Qunused-arguments",)}


class _Open(Enum):
    """A setting that is not chosen yet."""

    OPEN = 0


_OPEN = _Open.OPEN
_Setting = Compiler | Assembler | Level | bool | None
_SP_CFA = frozenset(("-fomit-frame-pointer",))
_LEVELS = frozenset(("-O1", "-O2", "-O3", "-Os", "-Og"))
_OTHER_CFA = frozenset(("-mstackrealign", "-mno-omit-leaf-frame-pointer", "-fexceptions"))
INTEGRATED = "integrated"
"""Name of the assembler inside a compiler."""


@dataclass(frozen=True, slots=True)
class Point:
    """One way to make an object of a source."""

    compiler: Compiler | None
    """None: the source is assembly."""
    assembler: Assembler | None
    """None: the one inside the compiler."""
    flags: tuple[str, ...] = ()
    """Of the compiler, beside those that all have."""
    sframe: bool = False
    """The assembler is told to write it."""

    @property
    def arch(self) -> Arch:
        """The machine."""
        tool = self.compiler or self.assembler
        assert tool is not None
        found = by_name(tool.arch)
        assert found is not None
        return found

    @property
    def family(self) -> str:
        """Whose options `flags` are."""
        return self.compiler.family if self.compiler else "as"

    @property
    def assembler_family(self) -> str:
        """The same of its assembler: the one inside clang is ``clang-as``."""
        return "as" if self.assembler else f"{self.family}-as"

    @property
    def lto(self) -> bool:
        """The object is made when linking."""
        return "-flto" in self.flags

    @property
    def name(self) -> str:
        """For reports: ``s390x gcc 16.2.0 -O2, as 2.40 --gsframe``."""
        machine = self.arch.name
        compiler = " ".join([self.compiler.name, *self.flags]) if self.compiler else ""
        assembler = self.assembler.name if self.assembler else INTEGRATED
        option = " " + " ".join(self.assembler.sframe) if self.sframe and self.assembler else ""
        return f"{machine} {', '.join(filter(None, (compiler, assembler + option)))}"

    @property
    def whole(self) -> bool:
        """The compiler makes the object, without assembly that can be had."""
        return self.compiler is not None and (self.lto or self.assembler is None)

    def compiling(self, language: str) -> list[str]:
        """The compiler's command line but for the names of files; it makes assembly, or if
        `whole` the object."""
        assert self.compiler is not None
        options = [*_OF_FAMILY[self.compiler.family], *_ALWAYS, _STANDARD[language], *self.flags]
        if self.lto:
            options += ["-r", "-nostdlib", "-flinker-output=nolto-rel"]
        elif self.compiler.family == "clang" and self.assembler is not None:
            options.append("-fno-integrated-as")
        if language == "c" and self._sp_cfa:
            options.append("-DUNWINDLAB_SP_CFA=1")
        what = [] if self.lto else ["-c"] if self.whole else ["-S"]
        return [*self.compiler.tool.words, *options, *what, "-x", language]

    def assembling(self) -> list[str]:
        """The assembler's command line but for the names of files."""
        assert self.assembler is not None
        return [*self.assembler.tool.words, *(self.assembler.sframe if self.sframe else ())]

    @property
    def _sp_cfa(self) -> bool:
        """In ordinary functions the CFA counts from SP: assembly inside may move it and say so.

        Not with exceptions, which C++ has by default: GCC then keeps a frame pointer where a
        landing pad and arguments on the stack come together.
        """
        return _SP_CFA.issubset(self.flags) and not (
            _OTHER_CFA.intersection(self.flags) or _LEVELS.isdisjoint(self.flags)
        )


def points(arch: Arch, found: Toolchains, seed: int) -> Iterator[Point]:
    """Points without end; each full round has every two settings that go together at least once.

    Raises:
        UsageError: there is no compiler or no assembler for this machine, or none that go together.
    """
    mine = found.of(arch.name)
    if not mine.compilers or not mine.assemblers:
        missing = "assembler" if mine.compilers else "compiler"
        raise UsageError(f"no {missing} for {arch.name}: see `unwindlab toolchain`")
    random_ = random.Random(f"{arch.name} {seed}")
    while True:
        rows = _round(arch, mine, random_)
        if not rows:
            names = ", ".join(each.name for each in mine.assemblers)
            raise UsageError(f"{arch.name}: {names} can assemble nothing that compilers write")
        random_.shuffle(rows)
        yield from rows


def assembler_points(arch: Arch, found: Toolchains) -> list[Point]:
    """For sources in assembly: each assembler, with and without SFrame."""
    return [
        Point(None, each, (), sframe)
        for each in found.of(arch.name).assemblers
        for sframe in ((True, False) if each.sframe else (False,))
    ]


def _round(arch: Arch, found: Toolchains, source: random.Random) -> list[Point]:
    """Every two settings that go together, at some point."""
    factors: list[Sequence[_Setting]] = [
        found.compilers, (*found.assemblers, None), (False, True), _LTO,
        *(factor.levels for factor in (*COMMON, *arch.compilers.factors)),
    ]  # fmt: skip

    def chosen(row: Partial) -> list[_Setting | _Open]:
        return [
            _OPEN if at is None else settings[at]
            for at, settings in zip(row, factors, strict=True)
        ]

    rows = pairwise(
        [len(settings) for settings in factors],
        lambda row: _fit(arch, found.strangers, chosen(row)),
        source,
    )
    return [_point(chosen(list(row))) for row in rows]


def _fit(
    arch: Arch, strangers: Collection[tuple[str, str, str]], row: Sequence[_Setting | _Open]
) -> bool:
    """Whether settings go together, as far as they are chosen."""
    compiler, assembler, sframe, lto = row[:4]
    if isinstance(compiler, Compiler):
        name = assembler.name if isinstance(assembler, Assembler) else ""
        if (arch.name, compiler.name, name) in strangers:
            return False
        levels = [level for level in row[3:] if isinstance(level, Level)]
        spelled = [level.of(compiler.family) for level in levels]
        if None in spelled or (assembler is None and compiler.family != "clang"):
            return False
        words = " ".join(filter(None, spelled)).split()
        if any(one in words and other in words for one, other in arch.compilers.excluded):
            return False
    if sframe is True and (
        assembler is None or (isinstance(assembler, Assembler) and not assembler.sframe)
    ):
        return False
    if lto is _LTO[1]:
        # It calls the assembler beside the compiler, without our options.
        if sframe is True or assembler is None:
            return False
        if isinstance(assembler, Assembler) and isinstance(compiler, Compiler):
            return assembler.tool.root == compiler.tool.root and not assembler.tool.given
    return True


def _point(row: Sequence[_Setting | _Open]) -> Point:
    compiler, assembler, sframe = row[:3]
    assert isinstance(compiler, Compiler)
    assert isinstance(assembler, Assembler | None)
    levels = [level for level in row[3:] if isinstance(level, Level)]
    flags = " ".join(level.of(compiler.family) or "" for level in levels).split()
    return Point(compiler, assembler, tuple(flags), sframe is True)
