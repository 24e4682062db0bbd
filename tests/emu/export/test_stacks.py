"""Where the tables of a stored sample contradict each other."""

import pytest

from emu.export.stacks import StoredStack
from emu.trace import Frame, FrameKind, Trace
from emu.verdict import Verdict

END, GAP = Verdict.OUTERMOST, Verdict.NO_FDE


def trace(stop: Verdict, *pcs: int) -> Trace:
    """A walk over these addresses."""
    return Trace(tuple(Frame(pc, FrameKind.CALLER, 0, 0) for pc in pcs), stop)


@pytest.mark.parametrize(
    ("sframe", "cfi", "difference"),
    [
        (trace(END, 1, 2, 3), trace(END, 1, 2, 3), None),
        (trace(END, 1, 2, 3), trace(END, 1, 2, 4), 2),
        (trace(END, 1, 5, 3), trace(GAP, 1, 2), 1),
        # A gap ends a walk early, and contradicts no one.
        (trace(GAP, 1, 2), trace(END, 1, 2, 3), None),
        (trace(END, 1, 2, 3), trace(GAP, 1), None),
        # An end where the other goes on is a contradiction.
        (trace(END, 1, 2), trace(END, 1, 2, 3), 2),
        (trace(GAP, 1, 2, 3), trace(END, 1), 1),
    ],
)
def test_difference(sframe: Trace, cfi: Trace, difference: int | None) -> None:
    """The first frame at which one says what the other denies."""
    walks = {"sframe": sframe, "cfi": cfi, "fp": trace(END, 9, 9, 9)}
    assert StoredStack(1, 1, "", walks, ()).difference == difference


def test_one_table_alone() -> None:
    """Nothing to compare with; a convention is none."""
    walks = {"cfi": trace(END, 1, 2), "fp": trace(END, 1, 3)}
    assert StoredStack(1, 1, "", walks, ()).difference is None
