"""Toolchains that nobody runs."""

from emu.fuzz.toolchains import Assembler, Compiler, Tool, Toolchains


def made_up(machine: str) -> Toolchains:
    """Three compilers in two roots, and three assemblers, of which one knows SFrame."""
    return Toolchains(
        compilers=(
            Compiler(machine, "gcc", Tool(("old-gcc",), "12.2.0", "/old"), True),
            Compiler(machine, "gcc", Tool(("new-gcc",), "16.1.0", "/new"), True),
            Compiler(machine, "clang", Tool(("clang",), "23.1.0", "/new"), True),
        ),
        assemblers=(
            Assembler(machine, Tool(("as",), "2.40", "/old")),
            Assembler(machine, Tool(("as",), "2.47", "/new"), ("--gsframe",)),
            Assembler(machine, Tool(("mine",), "2.48 given", None, True)),
        ),
    )
