"""How Linux unwinds a machine's user stacks: hooks of kernel/unwind/user.c, and what was before.

    x86     arch/x86/include/asm/unwind_user.h
    s390    the same file of the posting of 27 Jan 2026; arch/s390/kernel/stacktrace.c
    arm64   arch/arm64/kernel/stacktrace.c; no posting with hooks for user stacks was seen
"""

from dataclasses import dataclass
from enum import Enum

from arch.row import Row


class OlderWalk(Enum):
    """What perf has on a machine that the generic unwinder does not serve."""

    RECORDS = "frame records"
    """The list of (FP, LR) that FP begins (unwind_user_frame)."""
    CHAIN = "back chain"
    """The list that the word at SP begins (arch_stack_walk_user_common)."""


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """What the generic user unwinder is told of one machine."""

    served: frozenset[str] = frozenset()
    """Names of the revisions that have the machine's hooks."""
    frame: Row | None = None
    """ARCH_INIT_USER_FP_FRAME."""
    entry_frame: Row | None = None
    """ARCH_INIT_USER_FP_ENTRY_FRAME: the topmost one where a probed function starts."""
    chain: Row | None = None
    """In place of both: unwind_user_fp_get_frame by the word at SP."""
    wrapper: tuple[int, int] | None = None
    """With `chain`: where that word is 0 in the vDSO, a frame of its own holds the return address
    at this offset and has this size (struct stack_frame_vdso_wrapper)."""
    registers: range = range(0)
    """DWARF numbers that unwind_user_get_reg reads."""
    older: OlderWalk | None = None
    ip_unit: int = 1
    """With `older`: an address that is no multiple of it ends the walk."""
    ip_lowest: int = 0
