"""Procedure linkage tables: which stubs there are, and where each is entered."""

from dataclasses import dataclass

from arch import Arch
from emu.sweep.instructions import Instructions, decode
from emu.sweep.noreturn import plt_names
from emu.sweep.place import CodeSpan, Placed

_SECTIONS = ".plt"
"""Begin the names of sections with stubs."""
_ALIGNMENT = 8
"""A stub begins at a multiple of so many bytes, whatever mark stands before its work."""


@dataclass(frozen=True, slots=True)
class Stubs:
    """Stubs of a file."""

    names: dict[int, str]
    """Runtime addresses of everything that jumps by way of a word that a symbol fills, or marks
    the way to such a jump: the symbol's name."""
    entries: tuple[int, ...]
    """Where stubs are entered, ascending."""

    def cuts(self, span: CodeSpan) -> list[int]:
        """Where a span has to be cut for decoding: numbers may stand between stubs."""
        return [entry for entry in self.entries if span.start < entry < span.end]


def is_stub_span(span: CodeSpan) -> bool:
    """A section of stubs."""
    return span.name.startswith(_SECTIONS)


def find_stubs(arch: Arch, placed: Placed) -> Stubs:
    """The stubs in the sections that are made of them."""
    names: dict[int, str] = {}
    for span in filter(is_stub_span, placed.spans):
        data = placed.memory.read(span.start, span.end - span.start)
        code = decode(arch, data, span.start, [(span.start, span.end)])
        names |= plt_names(arch, code, data, placed.slots)
    return Stubs(names, tuple(sorted(a for a in names if a % _ALIGNMENT == 0)))


def names_in(arch: Arch, placed: Placed, span: CodeSpan, code: Instructions) -> dict[int, str]:
    """Names of what jumps by way of a word elsewhere: the tail calls of ordinary code."""
    data = placed.memory.read(span.start, span.end - span.start)
    return plt_names(arch, code, data, placed.slots)
