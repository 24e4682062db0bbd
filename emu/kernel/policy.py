"""Policies: what each revision of the kernel's user unwinder does, as data.

The step is emu.unwind.step for all of them. A policy says which methods there are and in which
order, when one gives way to the next, which checks the step makes, who reads sections and how
they are registered. Every revision looks up ip as it is.

    posting-v2-as-sent   Poimboeuf, 14 Sep 2024, eleven patches
    posting-v2           the same with what its thread repaired
    series-v11           Rostedt and Remus, Oct 2025: SFrame V2 over the merged unwinder
    mainline             7.1 to 7.3: frame pointer
    series-v13           Jan 2026 and the branch on it: SFrame V3, s390 by its own postings
    truth                what really is
"""

from collections.abc import Set
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from arch import Arch
from emu.kernel.events import Name
from emu.kernel.reader import AS_SENT, REPAIRED, V2, V3, Reader
from emu.kernel.registration import Form, Registration
from emu.unwind.step import ALIGNMENT, BASE, GROWTH, IN_TURN, STRICT


class Method(IntEnum):
    """Ways from a frame to its caller; the numbers are those of enum user_unwind_type (2024)."""

    AUTO = 0
    FP = 1
    SFRAME = 2


class Support(StrEnum):
    """How a revision walks stacks of a machine."""

    SUPPORTED = "supported"
    OLDER = "older walker"
    """It does not serve the machine: perf has its older walker."""
    HYPOTHETICAL = "hypothetical"
    """It does not serve the machine: the generic unwinder as if it did."""


@dataclass(frozen=True, slots=True)
class Policy:
    """One revision."""

    name: str
    methods: tuple[Method, ...] = ()
    """In the order in which they are tried; of 2024 what AUTO prefers."""
    each_frame: bool = True
    """The first one is tried again for each frame; else one is chosen at the start."""
    checks: int = 0
    """Of the step."""
    entry_frame: bool = False
    """A function that starts at a uprobe has a frame of its own."""
    registration: Registration | None = None
    flaws: Set[Name] = field(default_factory=frozenset)

    @property
    def reader(self) -> Reader | None:
        """Who reads sections."""
        return None if self.registration is None else self.registration.reader

    def support(self, arch: Arch) -> Support:
        """What it does on a machine if nobody asks for more."""
        if self is TRUTH or self.name in arch.kernel.served:
            return Support.SUPPORTED
        return Support.OLDER


_POSTED = BASE | GROWTH | STRICT | ALIGNMENT
_WALK_2024 = frozenset((Name.START_NOT_DONE, Name.FAILED_LOAD_RETURNS_0, Name.TYPE_IN_BOOL))

POSTING_V2_AS_SENT = Policy(
    "posting-v2-as-sent",
    methods=(Method.SFRAME, Method.FP),
    each_frame=False,
    registration=Registration(Form.ADDRESS, AS_SENT, 74, 75),
    flaws=_WALK_2024 | {Name.BUG_UNSET_TYPE},
)
POSTING_V2 = Policy(
    "posting-v2",
    methods=(Method.SFRAME, Method.FP),
    each_frame=False,
    registration=Registration(Form.ADDRESS, REPAIRED, 74, 75),
    flaws=_WALK_2024,
)
SERIES_V11 = Policy(
    "series-v11",
    methods=(Method.SFRAME, Method.FP),
    checks=_POSTED,
    registration=Registration(Form.BOUNDS, V2, 79, 80),
)
MAINLINE = Policy("mainline", methods=(Method.FP,), checks=_POSTED, entry_frame=True)
SERIES_V13 = Policy(
    "series-v13",
    methods=(Method.SFRAME, Method.FP),
    checks=BASE | GROWTH | ALIGNMENT | IN_TURN,
    entry_frame=True,
    # Of its prctl(2) operations the numbers were not seen; the system call that followed has
    # none yet.
    registration=Registration(Form.LENGTHS, V3),
)
TRUTH = Policy("truth")

POLICIES = {
    policy.name: policy
    for policy in (POSTING_V2_AS_SENT, POSTING_V2, SERIES_V11, MAINLINE, SERIES_V13, TRUTH)
}
"""By name."""
