"""Verdicts: what the check says of one executed instruction (design page, section 4)."""

from enum import IntEnum


class Verdict(IntEnum):
    """Exactly one for each executed instruction; numbers are those of the compiled check."""

    EXACT = 0
    OUTERMOST = 1
    WRONG_CFA = 2
    WRONG_RA = 3
    WRONG_FP = 4
    WRONG_END = 5
    CORRUPT = 6
    UNREADABLE = 7
    MISALIGNED = 8
    WRONG_WAY = 9
    NO_PROGRESS = 10
    LOST_REGISTER = 11
    NO_MODULE = 12
    NO_TABLE = 13
    NO_FDE = 14
    NO_FRE = 15
    REFUSED = 16
    WRONG_REG = 17
    """Only a sweep says so: the rule of a callee-saved register other than FP is wrong."""

    @property
    def text(self) -> str:
        """The name in reports, such as ``wrong-cfa``."""
        return self.name.lower().replace("_", "-")

    @property
    def is_finding(self) -> bool:
        """The table is wrong here."""
        return Verdict.WRONG_CFA <= self <= Verdict.LOST_REGISTER or self is Verdict.WRONG_REG

    @property
    def is_gap(self) -> bool:
        """The table says nothing here."""
        return Verdict.NO_MODULE <= self <= Verdict.REFUSED
