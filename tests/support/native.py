"""The compiler of this host, for tests that need a real one."""

import functools
import platform
import shutil

import pytest

from emu.fuzz.toolchains import Assembler, Tool, Toolchains, discover

needs_gcc = pytest.mark.skipif(
    shutil.which("gcc") is None or platform.machine() != "x86_64",
    reason="needs gcc on an x86-64 host",
)


@functools.cache
def native() -> Toolchains:
    """One compiler and one assembler of this host; no csmith, no other emulator."""
    found = discover().of(platform.machine())
    compiler = next(c for c in found.compilers if c.family == "gcc" and c.tool.root is None)
    assembler = next(a for a in found.assemblers if a.tool.root is None)
    return Toolchains((compiler,), (assembler,))


def broken(words: tuple[str, ...]) -> Assembler:
    """An assembler of a user's, for this host's machine."""
    return Assembler(platform.machine(), Tool(words, "1.0 given", None, True))


