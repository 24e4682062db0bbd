"""The entries of .eh_frame: common information (CIE) and functions (FDE).

Layout from the Linux Standard Base, core generic, section 10.6.1, and DWARF 5 section
6.4.1. An entry is framed by its length alone, so that one bad entry does not hide its
neighbours. Each byte belongs to one entry and a CIE must be an entry of its own that
was met before, which keeps the work linear whatever the pointers say.

An unreadable FDE has no address range, so it cannot become a function with corrupt
rows: it is left out and its reason stands in `Entries.faults`.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from emu.cfi.reading import ADDRESS_MASK, OMIT, WORD, EhFrame, Pointer, sleb, uleb
from emu.errors import CfiError

_EXTENDED = 0xFFFF_FFFF
"""A length of this value is followed by the real one in eight bytes."""
_VERSIONS = (1, 3, 4)
_KNOWN_FLAGS = "SBG"
"""Augmentations without data: signal frame, key B, tagged stack."""


@dataclass(frozen=True, slots=True)
class Cie:
    """What the functions that name this entry have in common."""

    offset: int
    code_factor: int
    data_factor: int
    return_column: int
    encoding: int
    """How its functions store addresses (DW_EH_PE_*)."""
    augmented: bool
    """Functions have an augmentation length (``z``)."""
    signal: bool
    start: int
    """Offsets of the initial instructions in the section."""
    end: int
    refusal: str = ""
    """An augmentation that we do not know and that may change how to unwind."""
    key_b: bool = False
    """Return addresses are signed with the second key."""
    lsda_encoding: int = OMIT
    """How its functions store the address of their language-specific data (DW_EH_PE_*)."""


class Fde(NamedTuple):
    """One function's entry."""

    offset: int
    cie: Cie
    location: Pointer
    size: int
    start: int
    """Offsets of the instructions in the section."""
    end: int
    data: int
    """Offset of the augmentation data in the section; they end at `start`."""


@dataclass(slots=True)
class Entries:
    """What could be read of a section, and one line for each entry that could not."""

    functions: list[Fde] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def read_entries(frame: EhFrame) -> Entries:
    """All functions of the section, in its order; never raises for its contents."""
    found = Entries()
    cies: dict[int, Cie | str] = {}
    position, size = 0, len(frame.data)
    while position < size:
        offset = position
        try:
            body, position = _frame_entry(frame, offset)
        except CfiError as error:
            # Without a length nothing says where the next entry begins.
            found.faults.append(str(error))
            break
        if body == position:
            continue  # terminator; linkers leave them between the parts of several objects
        try:
            identifier = frame.word(body, 4, position)
            if identifier == 0:
                cies[offset] = _read_cie(frame, offset, body + 4, position)
                continue
            cie = cies.get(body - identifier)
            if isinstance(cie, Cie):
                found.functions.append(_read_fde(frame, offset, cie, body + 4, position))
                continue
            reason = cie or f"offset {body:#x}: no CIE begins {identifier:#x} bytes before"
            found.faults.append(f"FDE at {offset:#x}: {reason}")
        except CfiError as error:
            kind = "FDE" if identifier else "CIE"
            found.faults.append(f"{kind} at {offset:#x}: {error}")
            if not identifier:
                cies[offset] = f"its CIE is unusable: {error}"
    return found


def _frame_entry(frame: EhFrame, offset: int) -> tuple[int, int]:
    """Offsets of the first byte behind an entry's length and of the next entry."""
    size = len(frame.data)
    length, body = frame.word(offset, 4, size), offset + 4
    if length == _EXTENDED:
        length, body = frame.word(body, 8, size), body + 8
    if length > size - body:
        raise CfiError(f"offset {offset:#x}: entry of {length:#x} bytes exceeds the section")
    if 0 < length < 4:
        raise CfiError(f"offset {offset:#x}: entry of {length} bytes has no room for its kind")
    return body, body + length


def _read_cie(frame: EhFrame, offset: int, position: int, end: int) -> Cie:
    data = frame.data
    version = frame.word(position, 1, end)
    if version not in _VERSIONS:
        raise CfiError(f"offset {position:#x}: unknown CIE version {version}")
    position += 1
    stop = data.find(b"\0", position, end)
    if stop < 0:
        raise CfiError(f"offset {position:#x}: augmentation string has no end")
    augmentation = data[position:stop].decode("latin-1")
    position = stop + 1
    if version == 4:
        if (frame.word(position, 1, end), frame.word(position + 1, 1, end)) != (WORD, 0):
            raise CfiError(f"offset {position:#x}: address size is not {WORD} or has segments")
        position += 2
    code_factor, position = uleb(data, position, end)
    data_factor, position = sleb(data, position, end)
    if version == 1:
        return_column, position = frame.word(position, 1, end), position + 1
    else:
        return_column, position = uleb(data, position, end)

    encoding, lsda_encoding, signal, key_b, refusal = 0, OMIT, False, False, ""
    augmented = augmentation.startswith("z")
    if augmented:
        length, position = uleb(data, position, end)
        if length > end - position:
            raise CfiError(f"offset {position:#x}: {length:#x} bytes of augmentation are cut off")
        start = position + length
        for letter in augmentation[1:]:
            if letter == "R":
                encoding, position = frame.word(position, 1, start), position + 1
            elif letter == "L":
                lsda_encoding, position = frame.word(position, 1, start), position + 1
            elif letter == "P":
                position = _skip_personality(frame, position, start)
            elif letter in _KNOWN_FLAGS:
                signal = signal or letter == "S"
                key_b = key_b or letter == "B"
            else:
                shown = f"unknown augmentation {augmentation[:16]!a}"
                # The letters behind it cannot be read, and with them where FDEs are.
                if "R" in augmentation.partition(letter)[2]:
                    raise CfiError(f"offset {offset:#x}: {shown}")
                refusal = shown
                break
    elif augmentation:
        raise CfiError(f"offset {offset:#x}: unknown augmentation {augmentation[:16]!a}")
    else:
        start = position
    return Cie(
        offset, code_factor, data_factor, return_column, encoding, augmented, signal, start, end,
        refusal, key_b, lsda_encoding,
    )  # fmt: skip


def _skip_personality(frame: EhFrame, position: int, end: int) -> int:
    encoding = frame.word(position, 1, end)
    if encoding == OMIT:
        return position + 1
    return frame.plain(position + 1, end, encoding)[1]


def _read_fde(frame: EhFrame, offset: int, cie: Cie, position: int, end: int) -> Fde:
    location, position = frame.pointer(position, end, cie.encoding)
    size, behind = frame.plain(position, end, cie.encoding)
    if position in frame.targets:
        raise CfiError(f"offset {position:#x}: the size of the function is relocated")
    if size < 0 or location.value + size > ADDRESS_MASK:
        raise CfiError(f"offset {position:#x}: {size:#x} bytes exceed the address space")
    start = data = behind
    if cie.augmented:
        length, data = uleb(frame.data, behind, end)
        if length > end - data:
            raise CfiError(f"offset {data:#x}: {length:#x} bytes of augmentation are cut off")
        start = data + length
    return Fde(offset, cie, location, size, start, end, data)


def read_lsda(frame: EhFrame, fde: Fde) -> Pointer | None:
    """Where a function's language-specific data area is; None: it has none.

    It is not read with the function, whose rows do not depend on it. A null pointer says that
    this function of several under one CIE has none; whatever its base, it is stored as 0, in a
    relocatable object without a relocation.

    Raises:
        CfiError: the pointer cannot be read, or not be told from what an unknown letter of the
            augmentation has there.
    """
    if fde.cie.refusal:
        raise CfiError(fde.cie.refusal)
    encoding = fde.cie.lsda_encoding
    if encoding == OMIT:
        return None
    stored, _ = frame.plain(fde.data, fde.start, encoding)
    if not stored and fde.data not in frame.targets:
        return None
    return frame.pointer(fde.data, fde.start, encoding)[0]
