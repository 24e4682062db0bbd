"""A row: how to get from one frame to its caller.

Every table (SFrame of each version, .eh_frame, the frame-pointer convention, the
s390x back chain) becomes rows of this one form, and one step function follows them.
It starts from the general end, a rule per register, because s390x needs it.
"""

from dataclasses import dataclass
from enum import IntEnum


class RuleKind(IntEnum):
    """Where a register's value in the caller comes from; names as `dump` prints them."""

    KEEP = 0
    """``u``: unchanged; the return address is still in its register."""
    AT_CFA = 1
    """``c-16``: loaded from CFA + offset."""
    REGISTER = 2
    """``r1+0``: register + offset."""
    AT_REGISTER = 3
    """``(r1+0)``: loaded from register + offset."""
    UNKNOWN = 4
    """The method says nothing of this register; it is not compared."""


@dataclass(frozen=True, slots=True)
class CfaRule:
    """CFA = [load] (register + offset) + addend."""

    register: int
    """DWARF number."""
    offset: int
    deref: bool = False
    """The sum is the address of the word that holds the value."""
    addend: int = 0
    """Added after the load; only the back chain needs it (CFA = *sp + 160)."""


@dataclass(frozen=True, slots=True)
class RegRule:
    """The caller's value of the return address or of the frame pointer."""

    kind: RuleKind
    register: int = -1
    """DWARF number, for the two kinds that name a register."""
    offset: int = 0


KEEP = RegRule(RuleKind.KEEP)
UNKNOWN = RegRule(RuleKind.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Row:
    """One row, valid from some address of a function to the next row."""

    cfa: CfaRule
    ra: RegRule
    fp: RegRule
    sp_offset: int
    """Caller's SP = CFA + sp_offset (0, on s390x -160)."""
    ra_signed: bool = False
    """The return address carries a signature that must be stripped."""
    outermost: bool = False
    """The stack ends here; the rules are not followed."""
    signal: bool = False
    """A signal frame: the caller's PC is exact, not a return address."""
    cfa_is_bound: bool = False
    """The CFA is only known to be at or above the value; it and SP are not compared."""
    zero_ends: bool = False
    """A loaded CFA word of 0 ends the stack (back chain)."""
