"""From a source to an object: compiled to assembly, assembled; or linked to a program that runs."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from emu.fuzz.matrix import Point
from emu.fuzz.toolchains import Tool
from emu.fuzz.tools import SECONDS, Bench, Done, ToolError, bench

_RUN_SECONDS = 5
"""Of a program: some need a hundredth of one, others do not come to an end."""


@dataclass(frozen=True, slots=True)
class Source:
    """What is compiled."""

    text: str
    language: str
    """``c``, ``c++`` or ``asm``."""


@dataclass(frozen=True, slots=True)
class Made:
    """What came out of a source at one point."""

    object: bytes
    assembly: str | None
    """None: the compiler made the object itself."""


class Workshop:
    """Runs tools, each in a folder of the root it lives in; a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._benches: dict[str | None, Bench] = {}

    def __enter__(self) -> "Workshop":
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def make(self, source: Source, point: Point) -> Made:
        """Compile and assemble.

        Raises:
            ToolError: a tool refuses the source, or takes too long.
        """
        assembly = source.text
        if point.compiler is not None:
            text, tool = source.text.encode(errors="surrogateescape"), point.compiler.tool
            words = [*point.compiling(source.language), "-"]
            if point.whole:
                return Made(self._output(tool, words, text), None)
            done = self.run(tool, [*words, "-o", "-"], text).check(point.compiler.name)
            assembly = done.stdout.decode(errors="surrogateescape")
        return self.assemble(assembly, point)

    def assemble(self, text: str, point: Point) -> Made:
        """What a point's assembler makes of assembly.

        Raises:
            ToolError: it refuses the text, or takes too long.
        """
        assert point.assembler is not None
        data = text.encode(errors="surrogateescape")
        return Made(self._output(point.assembler.tool, point.assembling(), data), text)

    def link(self, objects: bytes, linker: Tool) -> bytes:
        """A static program, by the driver of a compiler.

        Raises:
            ToolError: it cannot be linked.
        """
        self._bench(linker).path("in.o").write_bytes(objects)
        return self._output(linker, [*linker.words, "-static", "-no-pie", "in.o"], b"")

    def execute(self, program: bytes, emulator: Tool) -> Done:
        """Run a program in a user-mode emulator.

        Raises:
            ToolError: it takes too long.
        """
        place = self._bench(emulator).path("program")
        place.write_bytes(program)
        place.chmod(0o755)
        return self.run(emulator, [*emulator.words, "./program"], b"", _RUN_SECONDS)

    def run(
        self, tool: Tool, words: Sequence[str], stdin: bytes, seconds: int = SECONDS
    ) -> Done:
        """Run a tool where it lives, for so much processor time.

        Raises:
            ToolError: it cannot be started, or takes too long.
        """
        return self._bench(tool).run(words, stdin, seconds, plain=tool.given)

    def _output(self, tool: Tool, words: Sequence[str], stdin: bytes) -> bytes:
        place = self._bench(tool).path("out")
        place.unlink(missing_ok=True)
        self.run(tool, [*words, "-o", "out"], stdin).check(tool.words[0])
        try:
            return place.read_bytes()
        except OSError as error:
            raise ToolError(f"{tool.words[0]}: made no file") from error

    def _bench(self, tool: Tool) -> Bench:
        if tool.root not in self._benches:
            self._benches[tool.root] = self._stack.enter_context(bench(tool.root))
        return self._benches[tool.root]
