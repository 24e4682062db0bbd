"""The function of an address: the binary search over FDEs in user memory (__find_fde).

    2024     offsets from the section in 32 bits; one entry too many; repaired: marks against an
             unsorted table that are 0 while unset
    2025     the same base, exact bounds, marks that begin at the extremes
    2026     addresses, each counted from its own field
"""

from collections.abc import Callable
from dataclasses import dataclass
from errno import EINVAL

import numpy as np

from arch import ByteOrder
from emu.kernel.events import Crash, Event, Name, Refusal
from emu.kernel.header import ADDRESS, Section
from emu.kernel.reader import Reader
from emu.kernel.user_memory import UserMemory
from emu.sframe import layout
from emu.sframe.layout import VERSIONS, order_mark

Tell = Callable[[Event], None]
"""Takes an event."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a look-up works on."""

    reader: Reader
    section: Section
    memory: UserMemory
    order: ByteOrder
    ip: int
    tell: Tell

    def number(self, address: int, size: int, signed: bool = False) -> int:
        """One get_user."""
        raw = self.memory.get(address & ADDRESS, size)
        return int.from_bytes(raw, self.order, signed=signed)

    def fields(self, address: int, kind: "np.dtype[np.void]") -> dict[str, int]:
        """One copy_from_user of a packed structure."""
        raw = self.memory.get(address & ADDRESS, kind.itemsize)
        entry = np.frombuffer(raw, kind.newbyteorder(order_mark(self.order)))[0]
        return {name: int(entry[name]) for name in kind.names or ()}


@dataclass(frozen=True, slots=True)
class Function:
    """What a FDE says, in V3 with its attributes."""

    start: int
    """Address."""
    size: int
    fres: int
    """Address of its first FRE."""
    num_fres: int
    info: int
    kind: int
    """FDE type."""
    rep_size: int

    @property
    def mask(self) -> bool:
        """Its rows repeat."""
        return bool(self.info & layout.PC_MASK)


def signed32(value: int) -> int:
    """The value of an s32 variable."""
    return ((value + (1 << 31)) & 0xFFFF_FFFF) - (1 << 31)


def find_function(place: Place) -> Function:
    """The function that the address is in.

    Raises:
        Refusal: the error that the kernel function returns.
        Crash: it does something undefined.
        ReadLimit: see there.
    """
    late = place.reader.version < 3
    function = function_at(place, _search_offsets(place) if late else _search_addresses(place))
    if not place.reader.bounded:
        return function
    ip, start, end = place.ip, function.start, function.start + function.size
    inside = start <= ip < end
    if late:
        # Offsets of 32 bits with a sign; but the sum with the size has none, nor what it meets.
        base = place.section.start
        inside = signed32(start - base) <= signed32(ip - base)
        inside = inside and ip - base & 0xFFFF_FFFF < end - base & 0xFFFF_FFFF
    if not inside:
        raise Refusal(EINVAL, "in a gap behind the function")
    return function


def function_at(place: Place, number: int) -> Function:
    """The function of a FDE, given by its number (__read_fde); the other arguments as above."""
    return _read_v3(place, number) if place.reader.version >= 3 else _read_v2(place, number)


def _search_offsets(place: Place) -> int:
    """V2: the number of the last FDE that starts at or below the address."""
    reader, section = place.reader, place.section
    size = VERSIONS[2].fde_size
    distance = place.ip - section.start
    offset = signed32(distance)
    if offset != distance and Name.TRUNCATED_OFFSET in reader.flaws:
        place.tell(Event(Name.TRUNCATED_OFFSET, place.ip))
    beyond = Name.PAST_LAST_FDE in reader.flaws
    marked = Name.UNINITIALISED_FDE not in reader.flaws
    lowest, highest = (-(1 << 31), (1 << 31) - 1) if reader.bounded else (0, 0)
    found = -1
    low, high = 0, section.num_fdes - 1 + beyond
    while low <= high:
        middle = low + (high - low) // 2
        if middle == section.num_fdes:
            place.tell(Event(Name.PAST_LAST_FDE, section.fdes + size * middle))
        start = place.number(section.fdes + size * middle, 4, signed=True)
        if offset >= start:
            if marked and (reader.bounded or lowest) and start < lowest:
                raise Refusal(reader.corrupt, "not sorted")
            lowest, found, low = start, middle, middle + 1
        else:
            if marked and (reader.bounded or highest) and start > highest:
                raise Refusal(reader.corrupt, "not sorted")
            highest, high = start, middle - 1
    if found < 0:
        if not marked:
            raise Crash(Name.UNINITIALISED_FDE, place.ip)
        raise Refusal(EINVAL, "no function starts at or below it")
    return found


def _read_v2(place: Place, number: int) -> Function:
    reader, section, kind = place.reader, place.section, VERSIONS[2]
    fde = place.fields(section.fdes + kind.fde_size * number, kind.fde)
    start = section.start + fde["start"] & ADDRESS
    if reader.bounded and not section.text_start <= start <= section.text_end:
        raise Refusal(EINVAL, "the function is outside the registered text")
    return Function(
        start, fde["size"], section.fres + fde["fre"], fde["num_fres"], fde["info"], 0,
        fde["rep_size"],
    )  # fmt: skip


def _search_addresses(place: Place) -> int:
    """V3: the number of the last FDE whose function starts at or below the address."""
    section = place.section
    size = VERSIONS[3].fde_size
    lowest, highest = 0, ADDRESS
    found = -1
    low, high = 0, section.num_fdes - 1
    while low <= high:
        middle = low + (high - low) // 2
        at = section.fdes + size * middle
        start = at + place.number(at, 8, signed=True) & ADDRESS
        if place.ip >= start:
            if start < lowest:
                raise Refusal(place.reader.corrupt, "not sorted")
            lowest, found, low = start, middle, middle + 1
        else:
            if start > highest:
                raise Refusal(place.reader.corrupt, "not sorted")
            highest, high = start, middle - 1
    if found < 0:
        raise Refusal(EINVAL, "no function starts at or below it")
    return found


def _read_v3(place: Place, number: int) -> Function:
    section, kind = place.section, VERSIONS[3]
    assert kind.attributes is not None
    at = section.fdes + kind.fde_size * number
    fde = place.fields(at, kind.fde)
    start = at + fde["start"] & ADDRESS
    if not section.text_start <= start < section.text_end:
        raise Refusal(EINVAL, "the function is outside the registered text")
    position = section.fres + fde["fre"]
    if position + kind.attributes_size > section.fres_end:
        raise Refusal(EINVAL, "the attributes are behind the end of the FREs")
    more = place.fields(position, kind.attributes)
    fde_type = more["info2"] & layout.FDE_TYPE_MASK
    if Name.FDE_TYPE_MASKED in place.reader.flaws and fde_type > 0xF:
        place.tell(Event(Name.FDE_TYPE_MASKED, position))
        fde_type &= 0xF
    return Function(
        start, fde["size"], position + kind.attributes_size, more["num_fres"], more["info"],
        fde_type, more["rep_size"],
    )  # fmt: skip
