"""The few DWARF expressions that unwind tables use, recognised by their shape.

Operations from DWARF 5 sections 2.5.1 and 7.7.1. Nothing is evaluated: an expression is
either one of the shapes below or it is refused.
"""

from dataclasses import dataclass
from typing import NamedTuple

from emu.cfi.reading import sleb, uleb
from emu.errors import CfiError

_DEREF, _AND, _PLUS, _PLUS_UCONST, _SHL, _GE = 0x06, 0x1A, 0x22, 0x23, 0x24, 0x2A
_LIT0, _LIT31 = 0x30, 0x4F
_BREG0, _BREG31, _BREGX = 0x70, 0x8F, 0x92
_SIMPLE = {_DEREF, _AND, _PLUS, _SHL, _GE}


class _Operation(NamedTuple):
    name: str
    first: int = 0
    second: int = 0


@dataclass(frozen=True, slots=True)
class Location:
    """[load] (register + offset) + addend."""

    register: int
    offset: int
    deref: bool = False
    addend: int = 0


@dataclass(frozen=True, slots=True)
class Stepped:
    """register + offset, and `step` more where ``pc & mask >= threshold``.

    The linker describes a procedure linkage table so: every slot pushes one word, always
    at the same place in its block of ``mask + 1`` bytes.
    """

    register: int
    offset: int
    mask: int
    threshold: int
    step: int


def _operations(expression: bytes) -> list[_Operation] | None:
    """Operations of an expression; None when one is not among those that we know."""
    found: list[_Operation] = []
    position, end = 0, len(expression)
    while position < end:
        byte = expression[position]
        position += 1
        if _LIT0 <= byte <= _LIT31:
            found.append(_Operation("lit", byte - _LIT0))
        elif _BREG0 <= byte <= _BREG31:
            offset, position = sleb(expression, position, end)
            found.append(_Operation("breg", byte - _BREG0, offset))
        elif byte == _BREGX:
            register, position = uleb(expression, position, end)
            offset, position = sleb(expression, position, end)
            found.append(_Operation("breg", register, offset))
        elif byte == _PLUS_UCONST:
            value, position = uleb(expression, position, end)
            found.append(_Operation("plus_uconst", value))
        elif byte in _SIMPLE:
            found.append(_Operation(_NAMES[byte]))
        else:
            return None
    return found


_NAMES = {_DEREF: "deref", _AND: "and", _PLUS: "plus", _SHL: "shl", _GE: "ge"}
_STEPPED = ["breg", "breg", "lit", "and", "lit", "ge", "lit", "shl", "plus"]


def recognise(expression: bytes, pc: int | None) -> Location | Stepped | None:
    """The meaning of an expression, or None where it has none of the known shapes.

    ``breg N n``, ``breg N n; deref`` (a realigned stack), either with ``plus_uconst k``
    behind it (hand-written assembly), and the nine operations of `Stepped`.

    Args:
        expression: its bytes.
        pc: DWARF number that means the PC in expressions, if there is one.
    """
    try:
        operations = _operations(expression)
    except CfiError:
        return None
    if not operations or operations[0].name != "breg":
        return None
    register, offset = operations[0].first, operations[0].second
    match [operation.name for operation in operations]:
        case ["breg"]:
            return Location(register, offset)
        case ["breg", "plus_uconst"]:
            return Location(register, offset + operations[1].first)
        case ["breg", "deref"]:
            return Location(register, offset, deref=True)
        case ["breg", "deref", "plus_uconst"]:
            return Location(register, offset, deref=True, addend=operations[2].first)
        case names if names == _STEPPED:
            second, mask = operations[1], operations[2].first
            if (second.first, second.second) != (pc, 0) or mask & (mask + 1):
                return None
            step = 1 << operations[6].first
            return Stepped(register, offset, mask, operations[4].first, step)
        case _:
            return None
