"""How compiled code reads a jump table, in the disassembler's words."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class JumpTables:
    """Facts that let a sweep find the entries of a table by executing the code that reads it."""

    loads: Mapping[str, int]
    """Mnemonics that may load an entry with base and index, and its bytes; 0: those of the
    register that is loaded."""
    comparisons: tuple[str, ...]
    """Beginnings of mnemonics that compare an index with a constant, which is the last one that
    the table has an entry for."""
    masks: tuple[str, ...] = ()
    """Mnemonics that take an index modulo a power of two."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other names of registers -> the name in `Arch.registers`."""
    narrow: str = ""
    """First letter of registers of four bytes, for loads whose register says their size."""
