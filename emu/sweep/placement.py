"""Where the parts of a file were put in memory."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

LOWEST = 1 << 20
"""Nothing of a file is mapped below: small numbers are to be pointers of the sweep's own."""


@dataclass(frozen=True, slots=True)
class CodeSpan:
    """A stretch of code."""

    start: int
    end: int
    """Runtime addresses."""
    section: int
    """Index of its section; -1: the file has no section headers, this is a segment."""
    name: str
    """Of the section."""


@dataclass(frozen=True, slots=True)
class Placement:
    """A mapped and relocated file; all addresses are runtime addresses."""

    spans: tuple[CodeSpan, ...]
    """Code, ascending."""
    undefined: Mapping[int, str]
    """Addresses that stand for undefined symbols, where nothing is mapped: their names."""
    slots: Mapping[int, str]
    """Entries of the global offset table: name of the symbol whose address each holds."""
    unapplied: Counter[str]
    """Relocations that were not applied, by type."""
    bias: int = 0
    """Of a linked file: runtime minus link-time address."""
    bases: Mapping[int, int] = field(default_factory=dict)
    """Of a relocatable file: where each section lies, by index."""
