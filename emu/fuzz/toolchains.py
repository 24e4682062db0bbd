"""Which compilers and assemblers there are: on this host, and in roots below the cache folder."""

import functools
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from arch import ALL, Arch
from emu.fuzz.roots import roots
from emu.fuzz.tools import ToolError, bench

_PROBE = 5
"""Seconds for a tool to say what it is."""
_VERSION = re.compile(r"\b(\d+(?:\.\d+)+)\b")
_GCC, _CLANG, _AS = r"gcc(?:-\d+)?", r"clang(?:-\d+)?", r"as"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that can be run, and what it says it is."""

    words: tuple[str, ...]
    """Its command line so far."""
    version: str
    root: str | None = None
    """Where it lives; None: on this host."""
    given: bool = False
    """By the user: it is run in the user's environment."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """Makes assembly of one machine from C."""

    arch: str
    family: str
    """``gcc`` or ``clang``: whose options it knows."""
    tool: Tool
    plus: bool
    """It knows C++, too."""

    @property
    def name(self) -> str:
        """For reports: ``gcc 12.2.0``."""
        return f"{self.family} {self.tool.version}"


@dataclass(frozen=True, slots=True)
class Assembler:
    """Makes objects of one machine from assembly."""

    arch: str
    tool: Tool
    sframe: tuple[str, ...] = ()
    """Option for an SFrame section; empty: it has none."""

    @property
    def name(self) -> str:
        """For reports: ``as 2.40``."""
        return f"as {self.tool.version}"


_Named = TypeVar("_Named", Compiler, Assembler)


@dataclass(frozen=True, slots=True)
class Toolchains:
    """Everything that was found."""

    compilers: tuple[Compiler, ...] = ()
    assemblers: tuple[Assembler, ...] = ()
    references: dict[str, Tool] = field(default_factory=dict)
    """User-mode emulator by machine, to run programs beside us."""
    csmith: Tool | None = None
    strangers: tuple[tuple[str, str, str], ...] = ()
    """(machine, compiler, assembler) by their names: one refuses what the other writes."""

    def of(self, arch: str) -> "Toolchains":
        """Those of one machine."""
        return Toolchains(
            tuple(each for each in self.compilers if each.arch == arch),
            tuple(each for each in self.assemblers if each.arch == arch),
            {name: tool for name, tool in self.references.items() if name == arch},
            self.csmith,
            tuple(each for each in self.strangers if each[0] == arch),
        )


def discover() -> Toolchains:
    """Look into this host's PATH and every root that `unwindlab toolchain` has made."""
    compilers: list[Compiler] = []
    assemblers: list[Assembler] = []
    references: dict[str, Tool] = {}
    csmith: Tool | None = None
    for root in [None, *roots()]:
        folders = [f"{root}/usr/bin"] if root else os.environ.get("PATH", os.defpath).split(":")
        names = _names(folders)
        for arch in ALL:
            compilers += _compilers(arch, root, names)
            assemblers += _assemblers(arch, root, names)
            emulator = f"qemu-{arch.name}"
            for name in (emulator, f"{emulator}-static"):
                if name in names:
                    references[arch.name] = Tool((name,), _version((name,), root), root)
        if "csmith" in names:
            csmith = Tool(("csmith",), _version(("csmith",), root), root)
    return Toolchains(_distinct(compilers), _distinct(assemblers), references, csmith)


def given_compiler(command: Sequence[str]) -> Compiler:
    """A compiler that the user names.

    Raises:
        ToolError: it does not run, or makes code for a machine that is not known.
    """
    words = _from_anywhere(command)
    family = "clang" if "clang" in _say((*words, "--version"), None).lower() else "gcc"
    triple = _say((*words, "-dumpmachine"), None).strip()
    arch = next((each for each in ALL if triple.split("-")[0] == each.name), None)
    if arch is None:
        raise ToolError(f"{' '.join(words)}: makes code for {triple or 'nothing known'}")
    return Compiler(arch.name, family, Tool(words, _version(words, None), None, True), False)


def given_assembler(command: Sequence[str]) -> Assembler:
    """An assembler that the user names: of whichever machine it is one.

    Raises:
        ToolError: it does not run, or assembles for no machine that is known.
    """
    words = _from_anywhere(command)
    said = _say((*words, "--version"), None)
    for arch in ALL:
        if re.search(rf"target of .?{arch.name}\b", said):
            _assembled(words, None)
            tool = Tool(words, f"{_version(words, None)} given", None, True)
            return Assembler(arch.name, tool, _sframe_option(words, None))
    raise ToolError(f"{' '.join(words)}: --version names no machine that is known")


def _from_anywhere(command: Sequence[str]) -> tuple[str, ...]:
    """A command line for other folders, too: files that are there are named by their whole path."""
    return tuple(
        os.path.abspath(word) if os.sep in word and os.path.exists(word) else word
        for word in command
    )


def _names(folders: Iterable[str]) -> frozenset[str]:
    found: set[str] = set()
    for folder in folders:
        if os.path.isdir(folder):
            found.update(os.listdir(folder))
    return frozenset(found)


def _compilers(arch: Arch, root: str | None, names: frozenset[str]) -> Iterator[Compiler]:
    triple = arch.compilers.triple
    for name in sorted(names):
        gcc = re.fullmatch(f"{re.escape(triple)}-{_GCC}", name)
        clang = re.fullmatch(_CLANG, name)
        if not gcc and not clang:
            continue
        words = (name,) if gcc else (name, f"--target={triple}")
        version = _version(words, root)
        if not version or (clang and not _knows(words, root)):
            continue
        plus = bool(clang) or name.replace("-gcc", "-g++") in names
        yield Compiler(arch.name, "gcc" if gcc else "clang", Tool(words, version, root), plus)
    if root is None and importlib.util.find_spec("ziglang"):
        target = triple.replace("-gnu", "-musl")  # what it brings a library for
        zig = (sys.executable, "-m", "ziglang", "cc", f"--target={target}")
        if version := _version(zig, None):
            yield Compiler(arch.name, "clang", Tool(zig, f"{version} zig", None, True), True)


def _assemblers(arch: Arch, root: str | None, names: frozenset[str]) -> Iterator[Assembler]:
    name = f"{arch.compilers.triple}-as"
    if name in names and (version := _version((name,), root)):
        yield Assembler(arch.name, Tool((name,), version, root), _sframe_option((name,), root))


def _sframe_option(words: Sequence[str], root: str | None) -> tuple[str, ...]:
    """What makes it write SFrame, if it can for its machine."""
    try:
        written = _assembled((*words, "--gsframe"), root)
    except ToolError:
        return ()
    return ("--gsframe",) if b".sframe" in written else ()


def _assembled(words: Sequence[str], root: str | None) -> bytes:
    """What an assembler makes of a function of one instruction.

    Raises:
        ToolError: nothing.
    """
    with bench(root) as place:
        text = b".text\nf:\n.cfi_startproc\nnop\n.cfi_endproc\n"
        place.run([*words, "-o", "x.o"], text, _PROBE, plain=root is None).check(words[0])
        try:
            return place.path("x.o").read_bytes()
        except OSError as error:
            raise ToolError(f"{words[0]}: made no file") from error


def _knows(words: Sequence[str], root: str | None) -> bool:
    """Whether a compiler for many machines was built for this one."""
    try:
        with bench(root) as place:
            done = place.run([*words, "-S", "-x", "c", "-", "-o", "x.s"], b"int f;\n", _PROBE)
    except ToolError:
        return False
    return done.status == 0


@functools.cache
def _version(words: tuple[str, ...], root: str | None) -> str:
    """The version that a tool says it has; empty: it does not run."""
    try:
        said = _say((*words, "--version"), root)
    except ToolError:
        return ""
    first = re.sub(r"\([^)]*\)", "", said.partition("\n")[0])
    match = _VERSION.search(first) or _VERSION.search(said)
    return match[1] if match else ""


def _say(words: Sequence[str], root: str | None) -> str:
    with bench(root) as place:
        done = place.run(words, plain=root is None, seconds=_PROBE)
    if not done.stdout:
        done.check(words[0])
    return done.stdout.decode(errors="replace")


def _distinct(tools: Iterable[_Named]) -> tuple[_Named, ...]:
    """One of each version, the first found; by machine, then name."""
    found: dict[tuple[str, str], _Named] = {}
    for each in tools:
        found.setdefault((each.arch, each.name), each)
    return tuple(found[key] for key in sorted(found))
