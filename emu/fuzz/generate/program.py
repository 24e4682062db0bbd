"""Random programs whose functions have frames of every kind.

A program is one translation unit of GNU C or C++ that GCC and clang take as it is, with one
statement on each line. It ends, prints one checksum, and prints the same whatever compiled it.
Where the preprocessor is told of UNWINDLAB_SP_CFA, inline assembly moves SP and notes it: that is
right only where compilers keep the CFA on SP, which is with -fomit-frame-pointer and optimisation.
"""

from dataclasses import dataclass

from arch import Arch
from emu.fuzz.generate.choices import Choices
from emu.fuzz.generate.functions import function
from emu.fuzz.generate.handwritten import Handwritten, handwritten
from emu.fuzz.generate.preamble import preamble
from emu.fuzz.generate.unit import Function, Shape, Unit

_FEWEST, _MOST = 8, 25
"""Functions of a program that is drawn at random."""


@dataclass(frozen=True, slots=True)
class Program:
    """A translation unit."""

    text: str
    language: str
    """``c``, ``c++``, or ``asm`` for the assembler alone."""
    features: frozenset[str]
    """What is in it, for statistics."""


def generate(choices: Choices, arch: Arch) -> Program:
    """A program in C or C++, for this machine."""
    language = choices.pick("c", "c", "c++")
    unit = Unit(choices, arch.assembly, language)
    lines: list[str] = []
    by_hand: list[Handwritten] = []
    while True:
        written = _handwritten(unit, arch, by_hand) if choices.chance(10) else []
        lines += ["", *(written or function(unit))]
        count = len(unit.functions)
        if count == _MOST or not choices.chance(100 if count < _FEWEST else 88):
            break
    main = _main(unit)
    declared = [line for text in unit.declarations for line in text.splitlines()]
    text = "\n".join((*preamble(unit.needs, language), *declared, *lines, "", *main, ""))
    return Program(text, language, frozenset(unit.features | {language}))


def _handwritten(unit: Unit, arch: Arch, earlier: list[Handwritten]) -> list[str]:
    """One function in assembly; on one line, since no part of it can be taken away alone."""
    written = handwritten(unit.choices, arch, f"hand{len(unit.functions)}", earlier)
    if written is None:
        return []
    earlier.append(written)
    unit.features |= written.features | {Shape.HANDWRITTEN.value}
    unit.functions.append(Function(written.name, Shape.HANDWRITTEN, 1, 40, written.stack))
    first, *others = written.lines
    # Compilers do not expect that the section is another one behind it.
    section = first if first.startswith(".section") else f".section {first}"
    lines = (section.replace(".section", ".pushsection", 1), *others, ".popsection")
    text = "\\n\\t".join(line.replace('"', '\\"') for line in lines)
    linkage = 'extern "C"' if unit.language == "c++" else "extern"
    return [f"{linkage} unsigned long {written.name}(unsigned long);", f'__asm__("{text}");']


def generate_assembly(choices: Choices, arch: Arch) -> Program:
    """Functions for the assembler alone, all of whose CFI is right."""
    functions: list[Handwritten] = []
    while True:
        function = handwritten(choices, arch, f"hand{len(functions)}", functions)
        if function is None:
            break
        functions.append(function)
        count = len(functions)
        if count == _MOST or not choices.chance(100 if count < _FEWEST else 88):
            break
    lines = [f"\t{line}" if line[-1] != ":" else line for each in functions for line in each.lines]
    text = "\n".join((*lines, '\t.section .note.GNU-stack, "", %progbits', ""))
    features = frozenset(name for each in functions for name in each.features)
    return Program(text, "asm", features | {"asm"})


def _main(unit: Unit) -> list[str]:
    unit.needs |= {"printf", "seed"}
    lines = ["int main(void) {", "  unsigned long sum = seed;"]
    for each in unit.functions:
        call = _call(unit, each)
        if "budget" in unit.needs:
            # An exception may have left some calls unfinished.
            call = ["depth = 0;", *call]
        if each.throws:
            call = [
                "try {", *(f"  {line}" for line in call), "}",
                "catch (unsigned long error) {", "  sum += error;", "}",
                "catch (...) {", "  sum ^= 77;", "}",
            ]  # fmt: skip
        lines += [f"  {line}" for line in call]
    if "cleaned" in unit.needs | {"cleaned" for need in ("clean", "guard") if need in unit.needs}:
        lines.append("  sum ^= cleaned;")
    return [*lines, '  printf("%lx\\n", sum);', "  return (int)(sum & 127);", "}"]


def _call(unit: Unit, function: Function) -> list[str]:
    """A call with arguments that compilers cannot know, mixed into the sum."""
    some = unit.choices.draw(100)
    name = function.name
    if function.shape is Shape.STRUCT:
        last = function.arguments - 1
        return [
            "{",
            f"  struct words{function.arguments} s;",
            "  __builtin_memset(&s, 0, sizeof s);",
            f"  s.v[0] = seed + {some};",
            f"  s = {name}(s, sum);",
            f"  sum = sum * 31 + s.v[0] + s.v[{last}];",
            "}",
        ]
    if function.shape is Shape.POINTER:
        return [
            "{",
            "  unsigned long result = 0;",
            f"  {name}(seed + {some}, &result);",
            "  sum = sum * 31 + result;",
            "}",
        ]
    if function.shape is Shape.DOUBLES:
        values = ", ".join(
            f"(double)(long)((seed + {some + i}) & 0xff)" for i in range(function.arguments)
        )
        return [f"sum = sum * 31 + (unsigned long)(long){name}({values});"]
    if function.shape is Shape.VARIADIC:
        return [f"sum = sum * 31 + {name}(3UL, seed + {some}, sum, 5UL, 1.0, 2.0, 3.0);"]
    values = ", ".join("sum" if i == 1 else f"seed + {some + i}" for i in range(function.arguments))
    return [f"sum = sum * 31 + {name}({values});"]
