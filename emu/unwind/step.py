"""One step: a packed row and a frame's registers give the caller's. The one core.

The walker calls it on a sample, the compiled check on the live machine. The order of
the checks is that of Linux's unwind_user_next (kernel/unwind/user.c) as the s390
series has it: outermost, base, CFA, growth, alignment, RA, FP; growth and alignment
are of the caller's SP. Revisions of Linux have more or fewer of the checks, in the same
order; they are a bit set, and constant wherever the step is inlined.
"""

import numba

from arch import RuleKind
from emu.memory import host_address
from emu.native import add64, below, load64, store64, swap64
from emu.unwind.packed import (
    BASE_FP,
    BASE_SP,
    CFA_ADDEND,
    CFA_DEREF,
    CFA_OFFSET,
    CFA_REGISTER,
    FLAGS,
    FP_KIND,
    FP_OFFSET,
    FP_REGISTER,
    NEEDS,
    NEEDS_OTHER,
    OUTERMOST,
    RA_KIND,
    RA_MASK,
    RA_OFFSET,
    RA_REGISTER,
    SENSELESS,
    SP_OFFSET,
    ZERO_ENDS,
)
from emu.verdict import Verdict

# Byte offsets in a result: the caller's values, how many of them are set, and the host
# addresses that RA and FP were loaded from (0: they were not); after UNREADABLE the guest
# address of the word that is not there.
CFA, RA, FP, SP, DONE, RA_SLOT, FP_SLOT, FAULT = range(0, 64, 8)
RESULT_WORDS = 8

# Bits of `checks`, in the order in which they are made.
BASE, GROWTH, STRICT, ALIGNMENT, IN_TURN = 1, 2, 4, 8, 16
"""A base FP is not below SP; the caller's SP is not below SP, nor equal to it but in the topmost
frame; nor there; it is a multiple of 8; a register that the frame does not have stops the step
when its rule's turn comes and not at once."""
USUAL = GROWTH | ALIGNMENT

_EXACT = int(Verdict.EXACT)
_OUTERMOST = int(Verdict.OUTERMOST)
_REFUSED = int(Verdict.REFUSED)
_UNREADABLE = int(Verdict.UNREADABLE)
_MISALIGNED = int(Verdict.MISALIGNED)
_WRONG_WAY = int(Verdict.WRONG_WAY)
_NO_PROGRESS = int(Verdict.NO_PROGRESS)
_LOST_REGISTER = int(Verdict.LOST_REGISTER)
_KEEP = int(RuleKind.KEEP)
_UNKNOWN = int(RuleKind.UNKNOWN)
_AT_CFA = int(RuleKind.AT_CFA)
_REGISTER = int(RuleKind.REGISTER)


@numba.njit(cache=True, forceinline=True)
def base_value(register: int, sp: int, fp: int, registers: int) -> int:
    """The register that a rule names; `registers` is the address of int64[DWARF number]."""
    if register == BASE_SP:
        return sp
    if register == BASE_FP:
        return fp
    return load64(registers + 8 * register)


@numba.njit(cache=True, forceinline=True)
def _lacks(kind: int, register: int, topmost: int) -> bool:
    """A rule of RA or FP cannot be followed here, whatever the memory holds."""
    return kind == SENSELESS or (kind != _AT_CFA and register >= 0 and not topmost)


@numba.njit(cache=True, forceinline=True)
def step(
    row: int, sp: int, fp: int, registers: int, header: int, swap: int, topmost: int, result: int,
    checks: int = USUAL,
) -> int:  # fmt: skip
    """Follow one row.

    Args:
        row: address of a packed row.
        sp, fp: the frame's registers.
        registers: address of the register file, int64[DWARF number]; only the topmost
            frame's is read.
        header: address of the memory's header block (emu.memory).
        swap: guest words are not in host byte order.
        topmost: registers other than SP and FP are those of this frame.
        result: address of int64[RESULT_WORDS]; CFA, RA, FP and SP of the caller, how many of
            CFA, RA, FP were reached before a stop, and the places of the loaded words.
        checks: which ones are made.

    Returns:
        EXACT where the step succeeded, OUTERMOST, REFUSED or a stop reason, as the
        numbers of emu.verdict.
    """
    flags = load64(row + FLAGS)
    store64(result + DONE, 0)
    ra_slot = 0
    fp_slot = 0
    if flags & OUTERMOST:
        return _OUTERMOST
    if checks & IN_TURN:
        if not topmost and load64(row + CFA_REGISTER) >= 0:
            return _REFUSED
    elif not topmost and load64(row + NEEDS) & NEEDS_OTHER:
        return _REFUSED
    if checks & BASE and load64(row + CFA_REGISTER) == BASE_FP and below(fp, sp):
        return _WRONG_WAY
    value = add64(
        base_value(load64(row + CFA_REGISTER), sp, fp, registers), load64(row + CFA_OFFSET)
    )
    if load64(row + CFA_DEREF):
        slot = host_address(header, value)
        if slot == 0:
            store64(result + FAULT, value)
            return _UNREADABLE
        value = load64(slot)
        if swap:
            value = swap64(value)
        if flags & ZERO_ENDS and value == 0:
            return _OUTERMOST
        value = add64(value, load64(row + CFA_ADDEND))
    cfa = value
    caller = add64(cfa, load64(row + SP_OFFSET))
    store64(result + CFA, cfa)
    store64(result + SP, caller)
    store64(result + DONE, 1)
    if checks & GROWTH and below(caller, sp):
        return _WRONG_WAY
    if checks & GROWTH and caller == sp and (checks & STRICT or not topmost):
        return _NO_PROGRESS
    if checks & ALIGNMENT and caller & 7:
        return _MISALIGNED

    kind = load64(row + RA_KIND)
    if kind == _KEEP:
        if not topmost:
            return _LOST_REGISTER
        ra = load64(registers + 8 * load64(row + RA_REGISTER))
    else:
        if checks & IN_TURN and _lacks(kind, load64(row + RA_REGISTER), topmost):
            return _REFUSED
        if kind == _AT_CFA:
            value = add64(cfa, load64(row + RA_OFFSET))
        else:
            value = add64(
                base_value(load64(row + RA_REGISTER), sp, fp, registers), load64(row + RA_OFFSET)
            )
        if kind == _REGISTER:
            ra = value
        else:
            ra_slot = host_address(header, value)
            if ra_slot == 0:
                store64(result + FAULT, value)
                return _UNREADABLE
            ra = load64(ra_slot)
            if swap:
                ra = swap64(ra)
    ra = ra & ~load64(row + RA_MASK)
    store64(result + RA, ra)
    store64(result + DONE, 2)

    kind = load64(row + FP_KIND)
    if kind != _KEEP and kind != _UNKNOWN:
        if checks & IN_TURN and _lacks(kind, load64(row + FP_REGISTER), topmost):
            return _REFUSED
        if kind == _AT_CFA:
            value = add64(cfa, load64(row + FP_OFFSET))
        else:
            value = add64(
                base_value(load64(row + FP_REGISTER), sp, fp, registers), load64(row + FP_OFFSET)
            )
        if kind == _REGISTER:
            fp = value
        else:
            fp_slot = host_address(header, value)
            if fp_slot == 0:
                store64(result + FAULT, value)
                return _UNREADABLE
            fp = load64(fp_slot)
            if swap:
                fp = swap64(fp)
    store64(result + FP, fp)
    store64(result + DONE, 3)
    store64(result + RA_SLOT, ra_slot)
    store64(result + FP_SLOT, fp_slot)
    return _EXACT
