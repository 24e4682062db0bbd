"""Rows as 16 int64 words, the form that the compiled step reads."""

import numpy as np
import numpy.typing as npt

from arch import Arch, Row, RuleKind
from arch.row import RegRule

WORDS = 16
ROW_BYTES = 8 * WORDS

# Byte offsets in a packed row.
FLAGS = 0
NEEDS = 8
CFA_REGISTER = 16
CFA_OFFSET = 24
CFA_DEREF = 32
CFA_ADDEND = 40
SP_OFFSET = 48
RA_KIND = 56
RA_REGISTER = 64
RA_OFFSET = 72
RA_MASK = 80
FP_KIND = 88
FP_REGISTER = 96
FP_OFFSET = 104

OUTERMOST, SIGNAL, ZERO_ENDS, CFA_IS_BOUND = 1, 2, 4, 8
"""Bits of FLAGS."""
SENSELESS = 5
"""RA_KIND or FP_KIND, no RuleKind: a rule at which the step stops when its turn comes. Only those
who make rows as Linux does put it there (emu.kernel)."""
NEEDS_OTHER, NEEDS_RA = 1, 2
"""Bits of NEEDS: a register other than SP and FP; the return address's own register."""
BASE_SP, BASE_FP = -1, -2
"""Registers that every frame knows; others are DWARF numbers, known in the topmost only."""


def pack(row: Row, arch: Arch) -> npt.NDArray[np.int64]:
    """One row as int64[16]."""
    words = np.zeros(WORDS, np.int64)

    def put(at: int, value: int) -> None:
        words[at // 8] = value

    flags = OUTERMOST * row.outermost | SIGNAL * row.signal | ZERO_ENDS * row.zero_ends
    put(FLAGS, flags | CFA_IS_BOUND * row.cfa_is_bound)
    if row.outermost:
        return words
    put(CFA_REGISTER, _base(row.cfa.register, arch))
    put(CFA_OFFSET, row.cfa.offset)
    put(CFA_DEREF, row.cfa.deref)
    put(CFA_ADDEND, row.cfa.addend)
    put(SP_OFFSET, row.sp_offset)
    named = [row.cfa.register]
    for rule, kind, register, offset in (
        (row.ra, RA_KIND, RA_REGISTER, RA_OFFSET),
        (row.fp, FP_KIND, FP_REGISTER, FP_OFFSET),
    ):
        put(kind, rule.kind)
        put(offset, rule.offset)
        if _names_register(rule):
            put(register, _base(rule.register, arch))
            named.append(rule.register)
    if row.ra.kind is RuleKind.KEEP:
        put(RA_REGISTER, arch.ra)
    if row.ra_signed:
        put(RA_MASK, _signed64(arch.ra_sign_mask))
    needs = NEEDS_OTHER if any(_base(number, arch) >= 0 for number in named) else 0
    put(NEEDS, needs | (NEEDS_RA if row.ra.kind is RuleKind.KEEP else 0))
    return words


def _names_register(rule: RegRule) -> bool:
    return rule.kind in (RuleKind.REGISTER, RuleKind.AT_REGISTER)


def _base(register: int, arch: Arch) -> int:
    return {arch.sp: BASE_SP, arch.fp: BASE_FP}.get(register, register)


def _signed64(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
