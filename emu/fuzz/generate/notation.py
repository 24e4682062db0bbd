"""The same CFI in other words: notes that say by how much, or from where, instead of what."""

import re
from collections.abc import Iterator, Sequence

from arch import Arch

STYLES = 8
"""Every choice of the three below."""
_ADJUST, _RELATIVE, _SAME = 1, 2, 4
_NOTE = re.compile(r"\.cfi_(\w+) ?(.*)")


def respell(lines: Sequence[str], style: int, arch: Arch) -> Iterator[str]:
    """Lines of one function, which mean what they meant.

    Args:
        lines: behind its .cfi_startproc, a note or an instruction each.
        style: bits: .cfi_adjust_cfa_offset for .cfi_def_cfa_offset, .cfi_rel_offset for
            .cfi_offset, .cfi_same_value for .cfi_restore of what has no rule at the entry.
        arch: machine.
    """
    ruled = {arch.sp} if arch.ra_in_register else {arch.sp, arch.ra}
    offset: int | None = arch.entry_cfa_offset
    states: list[int | None] = []
    for line in lines:
        note = _NOTE.fullmatch(line)
        name, operands = (note[1], note[2].split(", ")) if note else ("", [])
        before = offset
        if name in ("def_cfa_offset", "def_cfa"):
            offset = _sum(operands[-1])
        elif name == "adjust_cfa_offset" and offset is not None:
            offset += _sum(operands[0])
        elif name == "escape":
            offset = None  # the CFA may be an expression
        elif name == "remember_state":
            states.append(offset)
        elif name == "restore_state":
            offset = states.pop()
        if style & _ADJUST and name == "def_cfa_offset" and before is not None:
            yield f".cfi_adjust_cfa_offset {_sum(operands[0]) - before}"
        elif style & _RELATIVE and name == "offset" and offset is not None:
            yield f".cfi_rel_offset {operands[0]}, {_sum(operands[1]) + offset}"
        elif style & _SAME and name == "restore" and int(operands[0]) not in ruled:
            yield f".cfi_same_value {operands[0]}"
        else:
            yield line


def _sum(operand: str) -> int:
    return sum(int(part) for part in re.findall(r"[+-]*\d+", operand.replace("--", "+")))
