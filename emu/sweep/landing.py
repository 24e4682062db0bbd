"""Landing pads: where a function goes on after an exception in one of its calls.

The language-specific data area (LSDA) of a function has no public standard; what GCC and
LLVM write for C++ and everything else with `__gxx_personality_v0` and its kin is described by
"Itanium C++ ABI: Exception Handling", level II, section 2.5.2, with the pointer encodings of
.eh_frame. One record for each range of calls; what follows them (actions, types) says
which exceptions are meant and does not matter here.
"""

from typing import NamedTuple

from arch import ByteOrder
from emu.cfi.reading import ADDRESS_MASK, OMIT, EhFrame, uleb
from emu.errors import CfiError

_FORMAT = 0x0F
"""Bits of an encoding that say how a number is stored; the others say what it counts from."""


class LandingPad(NamedTuple):
    """Calls in ``start <= address of their last byte < end`` may go on at `pad`."""

    start: int
    end: int
    pad: int


def landing_pads(
    data: bytes,
    function_start: int,
    byte_order: ByteOrder,
    address: int | None = None,
) -> list[LandingPad]:
    """The call-site records of an LSDA that have a landing pad, as runtime addresses.

    Functions whose blocks are in several sections (LLVM) have one LSDA for each section. It says
    where landing pads count from, and the length of its records reaches over all that follow:
    there they end with `data`, or where they are not ascending.

    Args:
        data: memory from the first byte of the LSDA on, up to the next LSDA or longer.
        function_start: what call sites count from: the start of the function, or of the part
            of one that the FDE describes.
        byte_order: of fixed-size fields.
        address: of the first byte; needed where landing pads count from an address that is
            stored relative to itself.

    Raises:
        CfiError: the offset in the LSDA and the reason; a record that is cut off is one.
    """
    area = EhFrame(data, address or 0, byte_order)
    end = len(data)
    base, position = function_start, 1
    encoding = area.word(0, 1, end)
    several = encoding != OMIT
    if several:
        if encoding & ~_FORMAT and address is None:
            raise CfiError("offset 0x1: the start of landing pads is relative to nothing known")
        start, position = area.pointer(position, end, encoding)
        base = start.value
    types = area.word(position, 1, end)
    position += 1
    if types != OMIT:
        position = uleb(data, position, end)[1]
    encoding = area.word(position, 1, end)
    if encoding & ~_FORMAT:
        raise CfiError(f"offset {position:#x}: call sites cannot be encoded as {encoding:#04x}")
    length, position = uleb(data, position + 1, end)
    stop = min(end, position + length)
    found: list[LandingPad] = []
    before = 0
    while position < stop:
        try:
            first, position = area.plain(position, stop, encoding)
            size, position = area.plain(position, stop, encoding)
            pad, position = area.plain(position, stop, encoding)
            position = uleb(data, position, stop)[1]
        except CfiError:
            if several:
                break
            raise
        if several and not before <= first <= first + size:
            break
        before = first + size
        if pad:
            begin = (function_start + first) & ADDRESS_MASK
            found.append(
                LandingPad(begin, (begin + size) & ADDRESS_MASK, (base + pad) & ADDRESS_MASK)
            )
    return found
