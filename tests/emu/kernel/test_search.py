"""The search for a function, by the four readers in the order of READERS; section 7, FDE."""

from errno import EFAULT, EINVAL
from typing import Any

import pytest

from arch.x86_64 import X86_64
from emu.kernel.events import Name, Refusal
from emu.kernel.frame import Frame
from emu.kernel.header import Section
from emu.kernel.lookup import find_frame
from emu.kernel.policy import SERIES_V11, SERIES_V13
from emu.kernel.reader import AS_SENT, REPAIRED, V2, V3
from emu.kernel.user_memory import UserMemory
from emu.tables import FunctionRows
from tests.emu.kernel.tasks import (
    READERS,
    TABLE,
    TEXT,
    TEXT_END,
    F,
    G,
    answers,
    look,
    made,
    memory_of,
    registered,
    rows_of,
)

ROWS = rows_of(X86_64)
MANY = tuple(
    FunctionRows(TEXT + 0x100 * number, 0x40, (0, 1, 4), ROWS) for number in range(1, 16)
)


def test_every_function_is_found() -> None:
    """At its first byte, inside, and at its last, whatever the number of functions."""
    for reader in READERS:
        for function in MANY:
            for offset, row in ((0, 0), (1, 1), (3, 1), (4, 2), (0x3F, 2)):
                found = look(reader, ip=function.start + offset, functions=MANY)
                assert isinstance(found.answer, Frame)
                assert found.answer.row.cfa == ROWS[row].cfa


def test_lookup_no_section() -> None:
    """An address that no registered text holds."""
    for reader in READERS:
        with pytest.raises(Refusal) as caught:
            find_frame(reader, None, UserMemory(memory_of()), X86_64, F, lambda event: None)
        assert caught.value.errno == EINVAL


def test_lookup_access_window() -> None:
    """A section that reaches beyond user space is refused before a byte is read."""
    for reader in (V2, V3):
        memory = UserMemory(memory_of())
        end = X86_64.layout.user_end + 1
        section = Section(TABLE, end, TEXT, TEXT_END, 1, TABLE + 28, TABLE + 48, end, -8, 0)
        with pytest.raises(Refusal) as caught:
            find_frame(reader, section, memory, X86_64, F, lambda event: None)
        assert (caught.value.errno, memory.reads) == (EFAULT, 0)


def test_lookup_unreadable() -> None:
    """The section is not mapped any more."""
    for policy in (SERIES_V11, SERIES_V13):
        memory, registry = registered(policy)
        memory.unmap(TABLE, 0x1000)
        section = registry.find(F)
        with pytest.raises(Refusal) as caught:
            find_frame(
                registry.reader, section, UserMemory(memory), X86_64, F, lambda event: None
            )
        assert caught.value.errno == EFAULT


def test_lookup_2024_reads_anywhere() -> None:
    """FREs far behind the section are read, and followed, in 2024 only."""
    distance = 0x400
    for reader, want in zip(READERS, (0, 0, EFAULT, EINVAL), strict=True):
        encoded = made(reader.version)
        data = encoded.patched({("fde", 0, "fre"): distance})
        copy = data[encoded.fres_at :]
        behind = bytes(encoded.fres_at + distance - len(data)) + copy
        found = look(reader, raw=data, behind=behind).answer
        assert (0 if isinstance(found, Frame) else found) == want


def test_fde_unsorted() -> None:
    """A probe below the low mark or above the high one; as sent nobody notices."""
    # The first probe of three is the second function. Going up from it, the third one is lower.
    three = MANY[:3]
    for reader, want in zip(READERS, ("wrong", EINVAL, EFAULT, EFAULT), strict=True):
        encoded = made(reader.version, functions=three)
        places = encoded.fields()
        offset, size = places["fde", 2, "start"]
        stored = int.from_bytes(encoded.data[offset : offset + size], "little", signed=True)
        down = look(
            reader, {("fde", 2, "start"): stored - 0x180}, ip=three[2].start + 2, functions=three
        )
        offset, size = places["fde", 0, "start"]
        stored = int.from_bytes(encoded.data[offset : offset + size], "little", signed=True)
        up = look(
            reader, {("fde", 0, "start"): stored + 0x180}, ip=three[0].start + 2, functions=three
        )
        if want == "wrong":
            assert isinstance(down.answer, Frame)
            assert up.answer == Name.UNINITIALISED_FDE
        else:
            assert (down.answer, up.answer) == (want, want)


def test_fde_marks_of_the_thread_begin_unset() -> None:
    """Rostedt's marks are 0 while unset: a probe that meets offset 0 sets none."""
    three, text = MANY[:3], (TABLE - 0x100, TABLE + 0x1000)
    values = {("fde", 1, "start"): 0, ("fde", 2, "start"): -4 & 0xFFFF_FFFF}
    found = look(REPAIRED, values, ip=TABLE + 4, functions=three, text=text)
    assert isinstance(found.answer, Frame)
    assert look(V2, values, ip=TABLE + 4, functions=three, text=text).answer == EFAULT


def test_fde_none_below() -> None:
    """The first function starts above: as sent the pointer was never set."""
    want = [Name.UNINITIALISED_FDE, EINVAL, EINVAL, EINVAL]
    assert answers({}, ip=F - 1) == want


def test_fde_one_past_the_end() -> None:
    """2024 searches one entry more than there are: the bytes of the first rows."""
    for reader in (AS_SENT, REPAIRED):
        found = look(reader, ip=G + 1)
        assert Name.PAST_LAST_FDE in found.names
    for reader in (V2, V3):
        assert look(reader, ip=G + 1).events == []


def test_fde_one_past_the_end_is_believed() -> None:
    """Where those bytes look like a low start they are taken for a function, FRE offset and all."""
    # The first four bytes of the rows, 00 03 08 and this one, are a start below the text.
    values = {("row", 1, "start"): 0xFF}
    assert look(AS_SENT, values, ip=G + 1).answer == EFAULT
    # The marks of the repaired form notice that it is lower than the last one below.
    assert look(REPAIRED, values, ip=G + 1).answer == EINVAL
    assert isinstance(look(V2, values, ip=G + 1).answer, Frame)


def test_fde_outside_text() -> None:
    """The function starts outside what the section is registered for; until 2025 the end counts
    as inside."""
    assert isinstance(look(V2, ip=G + 1, text=(TEXT, G)).answer, Frame)
    assert look(V3, ip=G + 1, text=(TEXT, G)).answer == EINVAL
    assert look(V2, ip=G + 1, text=(TEXT, G - 1)).answer == EINVAL
    assert look(V3, ip=F + 1, text=(F + 1, TEXT_END)).answer == EINVAL
    assert isinstance(look(AS_SENT, ip=G + 1, text=(TEXT, TEXT)).answer, Frame)


def test_fde_attributes_beyond() -> None:
    """V3: the attributes end behind the FREs, by one byte and by much."""
    encoded = made(3)
    length = len(encoded.data) - encoded.fres_at
    assert look(V3, {("fde", 0, "fre"): length - 4}).answer == EINVAL
    assert look(V3, {("fde", 0, "fre"): 0xFFFF_FFFF}).answer == EINVAL


def test_fde_gap() -> None:
    """Behind the end of a function; 2024 uses its last row there."""
    assert answers({}, ip=F + 0x40) == [0, 0, EINVAL, EINVAL]
    assert answers({}, ip=F + 0x3F) == [0, 0, 0, 0]


def test_fde_gap_in_32_bits() -> None:
    """V2: a function that begins before its section and ends behind it has no inside below."""
    # Unsigned sums: below the section an offset is larger than the end.
    values = {("fde", 0, "start"): -0x10 & 0xFFFF_FFFF, ("fde", 0, "size"): 0x100}
    one = (FunctionRows(F, 0x40, (0,), ROWS[:1]),)
    more: dict[str, Any] = {"functions": one, "text": (TABLE - 0x100, TABLE + 0x1000)}
    assert look(V2, values, ip=TABLE - 8, **more).answer == EINVAL
    assert isinstance(look(V2, values, ip=TABLE + 8, **more).answer, Frame)


def test_offsets_in_32_bits() -> None:
    """2024: an address 4 GiB away is taken for the near one."""
    found = look(AS_SENT, ip=F + 2 + (1 << 32))
    assert isinstance(found.answer, Frame)
    assert found.names[0] is Name.TRUNCATED_OFFSET


def test_fde_type_is_masked() -> None:
    """The series cuts FDE types to four bits: 16 is DEFAULT again, 18 is not known."""
    found = look(V3, {("fde", 0, "info2"): 16})
    assert isinstance(found.answer, Frame)
    assert found.names == [Name.FDE_TYPE_MASKED]
    assert look(V3, {("fde", 0, "info2"): 18}).answer == EFAULT


def test_reads_of_a_search() -> None:
    """A search in n entries probes at most log2(n) + 1 of them."""
    for reader in (V2, V3):
        few = look(reader, ip=MANY[0].start, functions=MANY[:1]).memory.reads
        most = max(look(reader, ip=f.start, functions=MANY).memory.reads for f in MANY)
        assert most - few <= 4
