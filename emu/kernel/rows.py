"""The row of an address in its function, scanned for in user memory (__find_fre, __read_fre)."""

from collections.abc import Iterator
from dataclasses import dataclass
from errno import EFAULT, EINVAL

from emu.kernel.events import Crash, Event, Name, Refusal
from emu.kernel.header import ADDRESS
from emu.kernel.search import Function, Place, signed32
from emu.sframe import layout
from emu.sframe.form import Content, read_content

_MOST_WORDS = 6
"""Words that any reader looks at: control and offset for each of CFA, RA, FP."""


@dataclass(frozen=True, slots=True)
class Found:
    """A row's start and content as read, before anything is made of it."""

    start: int
    info: int
    words: tuple[int, ...]
    """With their signs; those that the reader looks at."""
    count: int
    """Words that there are."""


def find_row(place: Place, function: Function) -> Found:
    """The last row that starts at or below the address.

    Raises:
        Refusal: the error that the kernel function returns.
        Crash: it does something undefined.
        ReadLimit: see there.
    """
    if place.reader.bounded:
        return _scan(place, function)
    return _scan_2024(place, function)


def _offset(place: Place, function: Function) -> int:
    """In the function, or in the block that repeats, as u32."""
    offset = place.ip - function.start & 0xFFFF_FFFF
    if not function.mask:
        return offset
    if not function.rep_size:
        raise Crash(Name.DIVISION_BY_ZERO, place.ip)
    return offset % function.rep_size


def _scan(place: Place, function: Function) -> Found:
    """2025 and 2026: every row on the way is read and checked in full."""
    offset = _offset(place, function)
    found = None
    for row in read_rows(place, function):
        if row.start > offset:
            break
        found = row
    if found is None:
        raise Refusal(EINVAL, "no row starts at or below it")
    return found


def read_rows(place: Place, function: Function) -> Iterator[Found]:
    """The rows of a function one after the other, each checked; raises as `find_row`."""
    at, before = function.fres, -1
    for _ in range(function.num_fres):
        row, size = _read_row(place, function, at)
        at += size
        if row.start <= before:
            raise Refusal(EFAULT, "row starts do not ascend")
        before = row.start
        yield row


def _read_row(place: Place, function: Function, at: int) -> tuple[Found, int]:
    """A row and its bytes."""
    end, number = place.section.fres_end, place.number
    width = _width(function, EFAULT)
    if at + width + 1 > end:
        raise Refusal(EFAULT, "start and info byte are behind the end of the FREs")
    start = number(at, width)
    if not function.mask and start > function.size:
        raise Refusal(EFAULT, "the row starts behind the function")
    info = number(at + width, 1)
    at += width + 1
    count, size = _shape(info)
    if not size:
        raise Refusal(EFAULT, "word size code 3")
    if not count and place.reader.version < 3:
        raise Refusal(EFAULT, "no words")
    if at + count * size > end:
        raise Refusal(EFAULT, "words are behind the end of the FREs")
    if function.kind > layout.FLEX:
        raise Refusal(EFAULT, "unknown FDE type")
    flex = function.kind == layout.FLEX
    content = _words(place, at, info, min(count, _MOST_WORDS if flex else _most(place)), flex)
    check_words(place, content.words, count, flex)
    return Found(start, info, content.words, count), width + 1 + count * size


def check_words(place: Place, words: tuple[int, ...], count: int, flex: bool) -> None:
    """Refuse too few and too many words; V3 has a use for none."""
    if not count and place.reader.version >= 3:
        return
    if not flex:
        if place.reader.version < 3 and not place.section.fixed_ra and count < 2:
            raise Refusal(place.reader.corrupt, "no word for RA")
        if count > _most(place):
            raise Refusal(place.reader.corrupt, "words are left over")
        return
    if count < 2:
        raise Refusal(place.reader.corrupt, "a FLEX row with fewer than two words")
    if count > flex_rules(words, count)[1]:
        raise Refusal(place.reader.corrupt, "words are left over")


def flex_rules(
    words: tuple[int, ...], count: int
) -> tuple[list[tuple[int, int] | None], int]:
    """What a FLEX row with at least two words says of RA and FP, and how many words it has used.

    A control word is looked for only while two words remain; without one, or if it is 0, there
    is None.
    """
    rules: list[tuple[int, int] | None] = []
    used = 2
    for _ in range(2):
        rule = None
        if count - used >= 2:
            if words[used]:
                rule = words[used], words[used + 1]
            used += 2 if rule else 1
        rules.append(rule)
    return rules, used


def _most(place: Place) -> int:
    """Words of a DEFAULT row."""
    return 1 + (not place.section.fixed_ra) + (not place.section.fixed_fp)


def _shape(info: int) -> tuple[int, int]:
    """Count and bytes of the words, the latter 0 for the unused code."""
    code = info >> layout.WORD_SIZE_SHIFT & layout.WORD_SIZE_MASK
    count = info >> layout.WORD_COUNT_SHIFT & layout.WORD_COUNT_MASK
    return count, 0 if code == layout.WORD_SIZE_MASK else 1 << code


def _width(function: Function, errno: int) -> int:
    """Bytes of a row's start."""
    kind = function.info & layout.FRE_TYPE_MASK
    if kind > 2:
        raise Refusal(errno, "unknown FRE type")
    return 1 << kind


def _words(place: Place, at: int, info: int, count: int, flex: bool) -> Content:
    """So many words, each read on its own."""
    _, size = _shape(info)
    raw = [place.memory.get(at + size * n & ADDRESS, size) for n in range(count)]
    return read_content(bytes((info,)) + b"".join(raw), flex, place.order)


def _scan_2024(place: Place, function: Function) -> Found:
    """2024: starts and info bytes up to the first row beyond, then the words of the one before.

    Nothing is compared with any end. The start is u32 in the repaired form, else s32.
    """
    flaws, number = place.reader.flaws, place.number
    width = _width(function, EINVAL)
    at, found = function.fres, None
    for _ in range(function.num_fres):
        start = number(at, width)
        if Name.SIGNED_START in flaws and start >> 31:
            place.tell(Event(Name.SIGNED_START, at))
            start = signed32(start)
        # Divided here, with the first start already read.
        if start > _offset(place, function):
            break
        info = number(at + width, 1)
        count, size = _shape(info)
        if not count or not size:
            raise Refusal(EINVAL, "no words, or word size code 3")
        found = start, info, at + width + 1
        at += width + 1 + count * size
    if found is None:
        raise Crash(Name.UNINITIALISED_ROW, place.ip)
    start, info, at = found
    count, _ = _shape(info)
    words = _words(place, at, info, min(count, _most(place)), False).words
    check_words(place, words, count, False)
    if Name.UNSIGNED_CFA in flaws and words[0] < 0:
        place.tell(Event(Name.UNSIGNED_CFA, at))
        size = _shape(info)[1]
        # The variable is an s32: four bytes come out right.
        words = (signed32(words[0] & (1 << 8 * size) - 1), *words[1:])
    return Found(start, info, words, count)
