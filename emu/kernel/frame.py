"""What a look-up finds, struct unwind_user_frame, and its packed form for the step."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch import Arch, Row
from emu.unwind.packed import FP_KIND, FP_REGISTER, RA_KIND, RA_REGISTER, SENSELESS, pack


@dataclass(frozen=True, slots=True)
class Frame:
    """A row, and what of it the step has no case for.

    The row's rules for what has none are not followed. `row.fp` UNKNOWN means that FP becomes
    0 (UNWIND_USER_RULE_ZERO).
    """

    row: Row
    cfa_warns: bool = False
    """No case of the switch: WARN_ON_ONCE, before anything else."""
    cfa_unreadable: bool = False
    """A register that the machine's hook does not know."""
    ra_warns: bool = False
    """As above, when RA's turn comes."""
    ra_unreadable: bool = False
    fp_warns: bool = False
    fp_unreadable: bool = False
    ra_unset: bool = False
    """There is no slot, and nothing that would notice."""


class Packer:
    """Packed frames; equal ones are packed once."""

    _MOST = 4096

    def __init__(self, arch: Arch) -> None:
        self._arch = arch
        self._known: dict[Frame, npt.NDArray[np.int64]] = {}

    def pack(self, frame: Frame) -> npt.NDArray[np.int64]:
        """A frame as the step reads it."""
        words = self._known.get(frame)
        if words is None:
            if len(self._known) >= self._MOST:
                self._known.clear()
            words = self._known[frame] = self._packed(frame)
        return words

    def _packed(self, frame: Frame) -> npt.NDArray[np.int64]:
        words = pack(frame.row, self._arch)
        # Of RA and FP even SP and FP count as registers that only the topmost frame has.
        for rule, register in ((frame.row.ra, RA_REGISTER), (frame.row.fp, FP_REGISTER)):
            if rule.register >= 0:
                words[register // 8] = rule.register
        if frame.ra_warns or frame.ra_unreadable:
            words[RA_KIND // 8] = SENSELESS
        if frame.fp_warns or frame.fp_unreadable:
            words[FP_KIND // 8] = SENSELESS
        return words
