"""Procedure linkage tables: which stubs there are, what they lead to, where each is entered."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch import Arch
from arch.flow import Flow, Stub
from emu.sweep.instructions import Instructions, decode
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


def plt_names(
    arch: Arch, code: Instructions, data: bytes, slots: Mapping[int, str]
) -> dict[int, str]:
    """Names of stubs, by the runtime addresses at which they are entered.

    A stub is known by what it does: it loads the address to jump to from one of `slots`. It is
    entered there, or at the instruction before, which marks where indirect calls may go.

    Args:
        arch: the machine.
        code: decoded code, stubs included.
        data: its bytes.
        slots: runtime address of a word that a relocation fills -> the symbol's name.
    """
    words = np.flatnonzero(code.kinds == Flow.JUMP_INDIRECT)
    stubs = dict(zip(words.tolist(), code.targets[words].tolist(), strict=True))
    for stub in arch.stubs:
        for index in _matches(np.frombuffer(data, np.uint8), stub, code.shift):
            at = index << code.shift
            head = data[at : at + len(stub.value)]
            word = sum(field.read(head, arch.byte_order) for field in stub.fields)
            stubs[index] = (code.start + at) // stub.align * stub.align + word
    names: dict[int, str] = {}
    for index, word in sorted(stubs.items()):
        name = slots.get(word)
        if name is None:
            continue
        names[code.start + (index << code.shift)] = name
        for before in range(1, arch.longest_instruction + 1 >> code.shift):
            entry = index - before
            if entry < 0 or code.sizes[entry] != before << code.shift:
                continue
            if code.kinds[entry] == Flow.PLAIN:
                names.setdefault(code.start + (entry << code.shift), name)
    return names


def _matches(data: npt.NDArray[np.uint8], stub: Stub, shift: int) -> list[int]:
    """Where a stub stands in code, counted in places at which instructions may begin."""
    places = np.arange(max(0, (len(data) - len(stub.value) >> shift) + 1))
    for offset, (value, mask) in enumerate(zip(stub.value, stub.mask, strict=True)):
        if mask:
            places = places[data[(places << shift) + offset] & mask == value]
    return [int(place) for place in places]
