"""A registered section, and its header as the kernel checks it (__sframe_add_section of 2024,
sframe_read_header from 2025 on).

No revision looks at the ABI id, at other flags than the ones below, or at where a FDE says that
its function starts.
"""

import struct
from dataclasses import dataclass
from errno import EINVAL

from arch import ByteOrder
from emu.kernel.events import Refusal
from emu.kernel.reader import Reader
from emu.kernel.user_memory import UserMemory
from emu.sframe import layout

ADDRESS = (1 << 64) - 1
"""Mask of what an unsigned long holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """struct sframe_section; addresses are runtime ones."""

    start: int
    end: int
    """0 where the revision does not know it."""
    text_start: int
    text_end: int
    num_fdes: int
    fdes: int
    fres: int
    fres_end: int
    """0 where the revision does not know it."""
    fixed_ra: int
    fixed_fp: int
    """Offsets from the CFA; 0: none."""


def read_header(
    reader: Reader, memory: UserMemory, order: ByteOrder, start: int, end: int,
    text: tuple[int, int],
) -> Section:  # fmt: skip
    """Check a header and keep what look-ups need.

    Args:
        reader: the revision.
        memory: of the task.
        order: of the machine: the kernel reads every section in its own.
        start, end: of the section; readers without bounds do not look at `end`.
        text: first and last address that the section is for.

    Raises:
        Refusal: EFAULT or EINVAL.
    """
    raw = memory.get(start, layout.HEADER_SIZE)
    (magic, version, flags, _, fixed_fp, fixed_ra, aux, num_fdes, num_fres, fre_len, fdeoff,
     freoff) = struct.unpack(layout.order_mark(order) + layout.HEADER, raw)  # fmt: skip
    if magic != layout.MAGIC:
        raise Refusal(EINVAL, "magic")
    if version != reader.version:
        raise Refusal(EINVAL, "version")
    if not flags & layout.FDE_SORTED:
        raise Refusal(EINVAL, "not sorted")
    if version >= 3 and not flags & layout.FDE_FUNC_START_PCREL:
        raise Refusal(EINVAL, "starts do not count from their own field")
    if aux:
        raise Refusal(EINVAL, "auxiliary header")
    if not num_fdes or not num_fres:
        raise Refusal(EINVAL, "no FDEs or no FREs")
    header_end = start + layout.HEADER_SIZE + aux
    fdes, fres = header_end + fdeoff, header_end + freoff
    if not reader.bounded:
        if fdeoff > freoff:
            raise Refusal(EINVAL, "FDEs behind FREs")
        return Section(start, 0, *text, num_fdes, fdes, fres, 0, fixed_ra, fixed_fp)
    if header_end >= end:
        raise Refusal(EINVAL, "the header reaches the end of the section")
    fres_end = fres + fre_len
    if fres < fdes + num_fdes * layout.VERSIONS[version].fde_size or fres_end > end:
        raise Refusal(EINVAL, "FDEs and FREs do not fit")
    return Section(start, end, *text, num_fdes, fdes, fres, fres_end, fixed_ra, fixed_fp)
