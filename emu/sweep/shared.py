"""Blocks that end in the jump of several tables: they are passed once from each predecessor."""

import numpy as np

from arch.flow import Flow
from emu.sweep import state as w
from emu.sweep.sites import Sites

_LIMIT = 40
"""Instructions of such a block."""
_DIRECT = (Flow.BRANCH, Flow.JUMP, Flow.LINK)


def mark_shared(sites: Sites) -> None:
    """Let blocks be passed more than once that end in a jump and load nothing for it.

    Compilers merge the jumps of several tables: the loads stand in the blocks before.
    """
    for span, (records, addresses) in enumerate(zip(sites.records, sites.addresses, strict=True)):
        kinds, functions = records["kind"], records["function"]
        jumps = np.flatnonzero(kinds == Flow.JUMP_INDIRECT)
        if not len(jumps):
            continue
        # Joined: only the instruction before leads there.
        begins = np.zeros(len(records), bool)
        begins[sites.numbers(span, records["target"][np.isin(kinds, _DIRECT)])] = True
        straight = (kinds == Flow.PLAIN) | (kinds == Flow.SKIP)
        joined = straight[:-1] & (functions[:-1] == functions[1:])
        joined = np.concatenate([[False], joined]) & ~begins
        for at in jumps.tolist():
            first = at
            while at - first < _LIMIT and joined[first]:
                first -= 1
            block = slice(first, at + 1)
            # The load is most often near the jump.
            places = reversed(addresses[block].tolist())
            if not any(sites.operands.table_load(sites.code(pc), pc) for pc in places):
                records["flags"][block] |= w.REVISIT
