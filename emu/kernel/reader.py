"""The readers of .sframe sections that the postings had, as data; what they check is in `header`,
`search` and `rows`.
"""

from collections.abc import Set
from dataclasses import dataclass
from errno import EFAULT, EINVAL

from emu.kernel.events import Name


@dataclass(frozen=True, slots=True)
class Reader:
    """kernel/unwind/sframe.c of one revision."""

    name: str
    version: int
    """Of the format."""
    bounded: bool
    """The end of the section is known, and every position is compared with it."""
    corrupt: int
    """What malformed rows and an unsorted table answer."""
    removes: bool
    """-EFAULT out of a look-up removes the section."""
    flaws: Set[Name] = frozenset()
    """What it does wrong and another reader of the same format does not."""


_SENT = frozenset(
    (
        Name.UNINITIALISED_FDE, Name.UNINITIALISED_ROW, Name.PAST_LAST_FDE, Name.UNSIGNED_CFA,
        Name.SIGNED_START, Name.TRUNCATED_OFFSET, Name.REMOVAL_BY_TEXT,
    )
)  # fmt: skip

AS_SENT = Reader("2024, as sent", 2, False, EINVAL, False, _SENT)
"""Poimboeuf's second posting, 14 Sep 2024."""
REPAIRED = Reader(
    "2024, repaired", 2, False, EINVAL, False,
    _SENT - {Name.UNINITIALISED_FDE, Name.UNSIGNED_CFA, Name.SIGNED_START},
)  # fmt: skip
"""The same with what its thread repaired: Rostedt the pointer, and marks against an unsorted
table; Remus the two signs."""
V2 = Reader("V2 of 2025", 2, True, EFAULT, True)
"""The branches of mid-2025, and the series up to v11."""
V3 = Reader("V3 of 2026", 3, True, EFAULT, True, frozenset((Name.FDE_TYPE_MASKED,)))
"""Series v13 and the branch that shares it with the kernel's own unwinding."""
