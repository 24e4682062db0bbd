"""The lines that steps are written in."""

import pytest

from emu.deferred.design import Point
from emu.deferred.steps import Step, read_steps, step_lines
from emu.errors import UsageError
from tests.emu.deferred.playing import Played

TEXT = """\
cpu0 run A
cpu0 sample t at cookie
  cpu0 nmi
  cpu0 sample u at mask
    cpu0 nmi
  cpu0 return
read
"""


def test_steps_are_read_and_written() -> None:
    """What was read is written as it was, comments and empty lines aside."""
    steps = read_steps("# first\n\n" + TEXT.replace("\n", "   # why\n"))
    assert "\n".join(step_lines(steps)) + "\n" == TEXT
    inner = steps[1].inside[1]
    assert inner == Step("sample", 0, ("u",), Point.MASK, (Step("nmi", 0),))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cpu0 jump", "line 1: no step: 'cpu0 jump'"),
        ("cpu0", "line 1: no step: 'cpu0'"),
        ("nmi", "line 1: nmi needs cpuN before it"),
        ("cpu0 read", "line 1: read has no cpuN before it"),
        ("cpu0 nmi\n  cpu0 return", "line 2: indented, but the step above has no 'at POINT'"),
        ("cpu0 nmi at noon\n  cpu0 return", "line 1: no point 'noon'"),
        ("cpu0 sample t at mask", "line 1: nothing is indented below it"),
        ("cpu0 run", "line 1: run takes TASK"),
        ("cpu0 run A B", "line 1: run takes TASK"),
        ("cpu0 exit now", "line 1: exit takes nothing more"),
        ("  cpu0 nmi\ncpu0 nmi", "line 2: indented less than the first step"),
    ],
)
def test_malformed_lines_are_named(text: str, reason: str) -> None:
    """An error names the line and what is wrong with it."""
    with pytest.raises(UsageError) as caught:
        read_steps(text)
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cpu0 syscall", "cpu0 is idle"),
        ("cpu0 return", "cpu0 is not in the kernel"),
        ("cpu7 syscall", "there is no cpu7"),
        ("cpu0 run Z", "no task 'Z' (there are: A, B)"),
        ("cpu0 run A\ncpu0 syscall\ncpu0 syscall", "no syscall in syscall on cpu0"),
        ("cpu0 run A\ncpu0 syscall\ncpu0 interrupt\ncpu0 interrupt", "no interrupt in interrupt"),
        ("cpu0 run A\ncpu0 run B", "cpu0 cannot switch tasks here"),
        ("cpu0 run A\ncpu1 run A", "A is gone or already runs"),
        ("cpu0 run A\ncpu0 exit", "exit on cpu0 only in a system call"),
        ("cpu0 run A\ncpu0 sample t", "cpu0 is not in the kernel"),
        ("cpu0 run A\ncpu0 syscall\ncpu0 user main", "cpu0 is not in user mode"),
        ("cpu0 run A\ncpu0 syscall\ncpu0 return at callback\n  cpu0 sample t",
         "cpu0 return: callback is not reached"),
        ("cpu0 run A\ncpu0 counter many", "'many' is no number such as 5 or 2^48-1"),
        ("cpu0 run A\ncpu0 register t", "t is registered already"),
    ],
)  # fmt: skip
def test_what_cannot_happen_is_refused(text: str, reason: str) -> None:
    """A step that cannot happen says why."""
    with pytest.raises(UsageError) as caught:
        Played(text)
    assert reason in str(caught.value)
