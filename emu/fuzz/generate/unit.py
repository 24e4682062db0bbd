"""A program as it grows: its functions, and what they need to be declared.

Draws are the same on every machine, whatever it has to offer, so that one record gives programs
that print the same everywhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from arch.assembly import AssemblyFacts
from emu.fuzz.generate.choices import Choices

COST_LIMIT = 1200
"""Most steps of one call of a function, those of its callees included."""
STACK_LIMIT = 700_000
"""Most bytes of stack below a function, its callees included."""
RECURSION = 4
"""How deep a function may call itself."""

_OPTIONS = 720
"""Draws of `select` are below this, a multiple of most small numbers."""

Option = TypeVar("Option")


class Shape(Enum):
    """What a function takes and gives."""

    PLAIN = "plain"
    MANY = "many_arguments"
    STRUCT = "struct_by_value"
    VARIADIC = "variadic"
    DOUBLES = "double_arguments"
    POINTER = "result_by_pointer"
    HANDWRITTEN = "handwritten"


@dataclass(frozen=True, slots=True)
class Function:
    """A function that later ones may call."""

    name: str
    shape: Shape
    arguments: int
    """How many; of a structure, its words."""
    cost: int
    stack: int
    throws: bool = False
    inlinable: bool = False


@dataclass(slots=True)
class Unit:
    """What a program has so far."""

    choices: Choices
    facts: AssemblyFacts
    language: str
    functions: list[Function] = field(default_factory=list)
    needs: set[str] = field(default_factory=set)
    """Parts of the preamble."""
    declarations: dict[str, None] = field(default_factory=dict)
    """Further lines that stand before all functions."""
    features: set[str] = field(default_factory=set)

    def select(self, options: Sequence[Option]) -> Option:
        """One of these, which are not as many on every machine; the first is the simplest."""
        return options[self.choices.draw(_OPTIONS) % len(options)]

    def declare_words(self, words: int) -> None:
        """Have a structure of so many words."""
        self.declarations[f"struct words{words} {{\n  unsigned long v[{words}];\n}};"] = None
