"""Return addresses that seem to be unsigned, and are not: signatures of zeros."""

import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.check import state as s
from emu.check.events import Events
from emu.machine.signing import all_signatures
from emu.verdict import Verdict

_MASK = (1 << 64) - 1


def by_chance(noted: Events, arch: Arch, keys: tuple[int, ...] | None) -> npt.NDArray[np.bool_]:
    """Events of addresses without a signature that are the same with one.

    A prologue signs before it moves SP, so with the caller's. The first execution stands for
    all that an event counts: a row that is wrong is so at the first one, too.
    """
    found = np.zeros(len(noted), np.bool_)
    if keys is None:
        return found
    wrong = noted["key"] & ~s.CALLER_ROLE == int(Verdict.WRONG_RA)
    # Of no other wrong return address what was got is what was wanted.
    places = np.flatnonzero(wrong & (noted["got_ra"] == noted["want_ra"]) & (noted["key"] != 0))
    pairs = [
        (int(one["want_ra"]) & _MASK, (int(one["want_cfa"]) + arch.sp_offset) & _MASK)
        for one in noted[places]
    ]
    for place, (address, _), signed in zip(
        places, pairs, all_signatures(arch, keys, pairs), strict=True
    ):
        found[place] = address in signed
    return found
