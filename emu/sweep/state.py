"""The blocks that the compiled exploration works on: words, sites, work items.

The state block begins with the words of the compiled check (emu.check.state), so that
the same `judge` serves both; the words of this module follow them.
"""

import numpy as np

from emu.check import state as s

# Words of the state block, behind those of the check.
(
    SPANS, SPAN_COUNT, SPAN, MODE, EPOCH, STOPPED_BY, STOP_PC, ROWS, ENTRY_SP, ENTRY_RA, RA_MASK,
    CURRENT, PREVIOUS_PC, STEPS, STEP_LIMIT, WRITE_PC, PC_NUMBER, SCRATCH, STACK_LOW, STACK_HIGH,
    STACK_HOST, ITEMS, ITEMS_END, TOP, CANDIDATE, CANDIDATES, TAG, NODE, NODES, NODE_COUNT,
    CLOBBERED, CLOBBERED_COUNT, KEEPS, SAVED, SAVED_COUNT, SAVED_TRUTH, SAVED_RULES, RESULT_NUMBER,
    RA_NUMBER, SP_NUMBER, BAD_SLOT, BAD_REGISTER, HISTORY, HISTORY_NEXT, HISTORY_END, NEW_BLOCK,
    RECENT, RECENT_COUNT, FREE_LOW, FREE_HIGH, FREE_LEFT, FREE_EXIT, FREE_ITEM, CHASE_LEFT, PADS,
    RUN_ON, LANDED, ALL, ALL_COUNT, RETURNED, GIVEN_UP, TAIL_CALLS, LEFT, SKIPPED, CALLS, DROPPED,
    FORCED, INDIRECT_BRANCHES, NODE_CAPACITY, FP_NUMBER, VERDICT, BAD_VALUE, STOP_AT, SET_KEEPS,
    CALLER_SP, ORDER, LAST_ITEM, FAULTS, FAULT_ROWS, OUTCOMES, FAULT_SETS, KEPT_COUNT,
    ENTRY_FP, END,
) = range(s.WORDS, s.WORDS + 84)  # fmt: skip
WORDS = END

# MODE: how instructions are treated.
CLEAN, TAINTED, CHASE, REPLAY = range(4)
"""Everything is right so far; a row was wrong on this path; only follow it to its return;
run up to STOP_PC (or over an indirect jump) and do nothing else."""

# ORDER: which way is taken first.
NEAREST, OLDEST, FARTHEST = range(3)
"""What falls through, then the last branch that was met; then the first; what jumps, then the
last. Which order meets a jump with the address of its table known is not to be said beforehand."""

# STOPPED_BY: why the hook came back to Python.
NOTHING, DONE, INDIRECT, MISMATCH, DOUBT, REACHED, LANDING, TOO_LONG = range(8)

# A span of executable code: runtime range, site number + 1 of each place, sites.
P_START, P_END, P_SHIFT, P_INDEX, P_SITES = range(0, 40, 8)
SPAN_BYTES = 40

# A site: one instruction.
(
    S_TARGET, S_KIND, S_SIZE, S_FLAGS, S_REACHED, S_ROW, S_SAVED, S_FUNCTION, S_SEEN, S_TAINTED,
    S_PADS, S_FAULTS,
) = (0, 8, 9, 10, 11, 12, 16, 20, 24, 28, 32, 36)  # fmt: skip
SITE_BYTES = 40
SITE = np.dtype(
    {
        "names": [
            "target", "kind", "size", "flags", "reached", "row", "saved", "function", "seen",
            "tainted", "pads", "faults",
        ],
        "formats": ["<i8", *["u1"] * 4, *["<i4"] * 7],
        "offsets": [
            S_TARGET, S_KIND, S_SIZE, S_FLAGS, S_REACHED, S_ROW, S_SAVED, S_FUNCTION, S_SEEN,
            S_TAINTED, S_PADS, S_FAULTS,
        ],
        "itemsize": SITE_BYTES,
    }
)  # fmt: skip
"""A site as numpy sees it. `row` is a row's number or minus a verdict, `saved` a set of rules of
callee-saved registers or -1, `function` the number of its FDE or -1, `pads` the index of its
landing pads or 0, `faults` that of the planted faults that touch it; `seen` and `tainted` are
the numbers of the last function from which it was reached."""

# S_FLAGS of a site.
START, ENTRY_ROW, NORETURN, REVISIT, INDIRECTS, PADDING, BOTTOM, DOUBTFUL = (
    1, 2, 4, 8, 16, 32, 64, 128,
)  # fmt: skip
"""First of its function; its function begins with the row that all do; a call that does not
return; may be passed once from each predecessor; its function has indirect jumps; filler;
nothing has called its function; a call with
another row behind it: it does not return, or that row is wrong."""

# S_REACHED of a site.
R_CLEAN, R_TAINTED = 1, 2

# TAG: how a path entered its function.
BY_ENTRY, BY_TABLE, BY_PAD, BY_PART = range(4)
TAG_NAMES = ("entry", "jump table", "landing pad", "assumed")

# An item of the work list: a place to go on at, and the machine there.
(
    I_PREVIOUS, I_PC, I_FUNCTION, I_CANDIDATE, I_NODE, I_HISTORY, I_TAG, I_LOW, I_LOW_SIZE, I_HIGH,
    I_HIGH_SIZE, I_REGISTERS,
) = range(0, 96, 8)  # fmt: skip

BELOW, ABOVE = 256, 768
"""Bytes kept below SP (red zone and what leaves write there) and above the entry's SP."""
LOW_PART, HIGH_PART = 0x2000, 0x1000
"""Of a frame larger than both together only its two ends are kept."""
ITEM_LIMIT = 256 * 8 + LOW_PART + HIGH_PART + BELOW + ABOVE
"""No item is longer."""

RECENT_SIZE = 16
"""Last instructions whose SP is remembered, to see loops that move it."""

# States of a candidate (a path with a wrong row), as bits.
CONFIRMED, HANDED_OVER, NOT_KEPT, FP_LOST = 1, 2, 4, 8
"""A way returned as it should; one gave its frame to something else; one returned, but with
another value in a register that it had to keep, or in FP."""


RULE_WORDS = 3
"""A rule of a callee-saved register: RuleKind, register, offset. A set has one for each."""
