"""Guest memory: mappings, their frames in the buffer, and the table that compiled code reads."""

import ctypes
import struct

import numba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.errors import MemoryFault
from emu.memory import (
    BUFFER,
    COUNT,
    EXECUTE,
    PAGE,
    READ,
    ROWS,
    WRITE,
    Memory,
    find_mapping,
    host_address,
)
from emu.native import load64

RW = READ | WRITE
BASE = 0x10000


def memory_with(*mappings: tuple[int, int, int], limit: int = 1 << 30) -> Memory:
    """An address space of (start, size, permissions)."""
    memory = Memory(limit)
    for start, size, permissions in mappings:
        memory.map(start, size, permissions)
    return memory


def shape(memory: Memory) -> list[tuple[int, int, int]]:
    """(start, end, permissions) of each mapping."""
    return [(start, end, permissions) for start, end, _, permissions in memory.intervals]


# ---- mappings


def test_a_new_mapping_is_zero() -> None:
    """Fresh pages hold zeros."""
    assert memory_with((BASE, 2 * PAGE, RW)).read(BASE, 2 * PAGE) == bytes(2 * PAGE)


def test_mappings_are_kept_in_order() -> None:
    """The order of mapping does not matter."""
    memory = memory_with((0x30000, PAGE, READ), (BASE, PAGE, RW), (0x20000, PAGE, EXECUTE))
    assert shape(memory) == [
        (BASE, BASE + PAGE, RW), (0x20000, 0x21000, EXECUTE), (0x30000, 0x31000, READ),
    ]  # fmt: skip


def test_mapping_over_a_mapping_replaces_it() -> None:
    """The middle of three pages becomes a new zero page; both sides keep their bytes."""
    memory = memory_with((BASE, 3 * PAGE, RW))
    memory.write(BASE, b"a" * 3 * PAGE)
    memory.map(BASE + PAGE, PAGE, READ)
    assert memory.read(BASE, 3 * PAGE) == b"a" * PAGE + bytes(PAGE) + b"a" * PAGE
    assert shape(memory) == [
        (BASE, BASE + PAGE, RW), (BASE + PAGE, BASE + 2 * PAGE, READ),
        (BASE + 2 * PAGE, BASE + 3 * PAGE, RW),
    ]  # fmt: skip


def test_unmap_in_the_middle_splits() -> None:
    """Both sides keep their bytes, the hole is gone."""
    memory = memory_with((BASE, 3 * PAGE, RW))
    memory.write(BASE, bytes([1]) * PAGE + bytes([2]) * PAGE + bytes([3]) * PAGE)
    memory.unmap(BASE + PAGE, PAGE)
    assert memory.read(BASE, PAGE) == bytes([1]) * PAGE
    assert memory.find(BASE + PAGE) is None
    assert memory.read(BASE + 2 * PAGE, PAGE) == bytes([3]) * PAGE


def test_unmap_spans_mappings_and_holes() -> None:
    """One range takes the end of one mapping, a whole one and the start of a third."""
    memory = memory_with(
        (BASE, 2 * PAGE, RW), (BASE + 3 * PAGE, PAGE, RW), (BASE + 5 * PAGE, 2 * PAGE, RW)
    )
    memory.unmap(BASE + PAGE, 5 * PAGE)
    assert shape(memory) == [
        (BASE, BASE + PAGE, RW), (BASE + 6 * PAGE, BASE + 7 * PAGE, RW)
    ]  # fmt: skip


def test_unmap_of_nothing_is_no_error() -> None:
    """A hole may be unmapped again."""
    memory = memory_with((BASE, PAGE, RW))
    memory.unmap(0x50000, PAGE)
    assert shape(memory) == [(BASE, BASE + PAGE, RW)]


def test_protect_splits_and_keeps_the_bytes() -> None:
    """The middle page gets other permissions and the same content."""
    memory = memory_with((BASE, 3 * PAGE, RW))
    memory.write(BASE, b"x" * 3 * PAGE)
    assert memory.protect(BASE + PAGE, PAGE, READ | EXECUTE)
    assert [row[2] for row in shape(memory)] == [RW, READ | EXECUTE, RW]
    assert memory.read(BASE, 3 * PAGE) == b"x" * 3 * PAGE


def test_protect_over_several_mappings() -> None:
    """Touching mappings are changed in one call."""
    memory = memory_with((BASE, PAGE, RW), (BASE + PAGE, PAGE, READ))
    assert memory.protect(BASE, 2 * PAGE, EXECUTE)
    assert [row[2] for row in shape(memory)] == [EXECUTE, EXECUTE]


def test_protect_over_a_hole_does_nothing() -> None:
    """Nothing is changed when part of the range is not mapped."""
    memory = memory_with((BASE, PAGE, RW), (BASE + 2 * PAGE, PAGE, RW))
    assert not memory.protect(BASE, 3 * PAGE, READ)
    assert [row[2] for row in shape(memory)] == [RW, RW]


def test_protect_of_no_bytes_changes_nothing() -> None:
    """A range of size 0 has no mapping in it, wherever it lies."""
    memory = memory_with((BASE, PAGE, RW))
    memory.protect(BASE + 5 * PAGE, 0, 0)
    memory.protect(BASE, 0, 0)
    assert shape(memory) == [(BASE, BASE + PAGE, RW)]


@pytest.mark.parametrize(
    ("start", "size"),
    [(BASE + 1, PAGE), (BASE, PAGE - 1), (BASE, 0), (-PAGE, PAGE), ((1 << 62) - PAGE, 2 * PAGE)],
)
def test_map_refuses_what_is_no_range_of_pages(start: int, size: int) -> None:
    """Not aligned, empty, or outside the addresses that compiled code compares as signed."""
    memory = memory_with((BASE, PAGE, RW))
    with pytest.raises(MemoryFault, match="mapping"):
        memory.map(start, size, RW)
    assert shape(memory) == [(BASE, BASE + PAGE, RW)]


# ---- limit and reuse


def test_the_limit_counts_what_is_mapped() -> None:
    """The page that passes the limit is refused."""
    memory = memory_with((BASE, 2 * PAGE, RW), limit=2 * PAGE)
    with pytest.raises(MemoryFault, match="limit of 8192 bytes"):
        memory.map(0x50000, PAGE, RW)
    assert memory.mapped == 2 * PAGE


def test_unmapping_makes_room() -> None:
    """The limit is of a moment, not of a life."""
    memory = memory_with((BASE, 2 * PAGE, RW), limit=2 * PAGE)
    memory.unmap(BASE, PAGE)
    memory.map(0x50000, PAGE, RW)
    assert memory.mapped == 2 * PAGE


def test_replacing_at_the_limit() -> None:
    """The pages that a mapping replaces do not count twice."""
    memory = memory_with((BASE, 2 * PAGE, RW), limit=2 * PAGE)
    memory.map(BASE, 2 * PAGE, READ)
    assert memory.mapped == 2 * PAGE


def test_pages_are_zero_again_when_reused() -> None:
    """What one mapping held is never seen in the next, also in the same frames."""
    memory = memory_with((BASE, PAGE, RW))
    offset = memory.intervals[0][2]
    memory.write(BASE, b"secret" * 100)
    memory.unmap(BASE, PAGE)
    memory.map(0x70000, PAGE, RW)
    assert memory.intervals[0][2] == offset
    assert memory.read(0x70000, PAGE) == bytes(PAGE)


def test_a_mapping_that_finds_no_room_leaves_one_table() -> None:
    """When the buffer is full, Python and compiled code still see the same mappings."""
    memory = Memory(1 << 62)
    memory.map(BASE, PAGE, RW)
    with pytest.raises(MemoryFault):
        memory.map(BASE, memory.size, RW)
    found = memory.find(BASE) is not None
    assert (find_mapping(memory.header.ctypes.data, BASE) != 0) is found


# ---- access


def test_read_and_write_cross_touching_mappings() -> None:
    """Two mappings whose frames are apart are one range of guest bytes."""
    memory = memory_with((BASE, PAGE, RW), (0x90000, PAGE, RW), (BASE + PAGE, PAGE, RW))
    memory.write(BASE + PAGE - 4, b"12345678")
    assert memory.read(BASE + PAGE - 4, 8) == b"12345678"
    assert memory.read(0x90000, 8) == bytes(8)


def test_no_bytes_need_no_mapping() -> None:
    """A range of size 0 is readable everywhere."""
    assert memory_with().read(0x1234, 0) == b""


@pytest.mark.parametrize(
    ("address", "size"), [(BASE - 1, 2), (BASE + PAGE - 1, 2), (0, 1), (-8, 8), ((1 << 64) - 8, 8)]
)
def test_read_outside_faults(address: int, size: int) -> None:
    """The first byte or the last lies in no mapping."""
    with pytest.raises(MemoryFault, match="read"):
        memory_with((BASE, PAGE, RW)).read(address, size)


def test_a_fault_names_where_it_begins() -> None:
    """The first address that is not readable, not the one that was asked for."""
    with pytest.raises(MemoryFault) as caught:
        memory_with((BASE, PAGE, RW)).read(BASE + PAGE - 4, 8)
    assert caught.value.address == BASE + PAGE
    assert caught.value.access == "read"


@pytest.mark.parametrize("permissions", [0, WRITE, EXECUTE])
def test_reading_needs_the_permission(permissions: int) -> None:
    """Pages without R are not readable."""
    with pytest.raises(MemoryFault, match="read"):
        memory_with((BASE, PAGE, permissions)).read(BASE, 1)


@pytest.mark.parametrize("permissions", [0, READ, READ | EXECUTE])
def test_writing_needs_the_permission(permissions: int) -> None:
    """Pages without W are not writable."""
    with pytest.raises(MemoryFault, match="write"):
        memory_with((BASE, PAGE, permissions)).write(BASE, b"1")


def test_force_writes_to_read_only_pages() -> None:
    """Loading a file fills pages that the guest may not write."""
    memory = memory_with((BASE, PAGE, READ))
    memory.write(BASE, b"text", force=True)
    assert memory.read(BASE, 4) == b"text"


def test_a_write_that_faults_stores_nothing() -> None:
    """The part before the fault stays as it was."""
    memory = memory_with((BASE, PAGE, RW), (BASE + PAGE, PAGE, READ))
    with pytest.raises(MemoryFault):
        memory.write(BASE + PAGE - 4, b"12345678")
    assert memory.read(BASE + PAGE - 4, 4) == bytes(4)


@pytest.mark.parametrize(
    ("order", "wanted"), [("little", 0xF7F6F5F4F3F2F1F0), ("big", 0xF0F1F2F3F4F5F6F7)]
)
def test_words_are_unsigned_in_the_order_asked_for(order: str, wanted: int) -> None:
    """The order is the guest's, never the host's."""
    memory = memory_with((BASE, PAGE, RW))
    memory.write(BASE, bytes(range(0xF0, 0xF8)))
    assert memory.read_word(BASE, order) == wanted


def test_text_ends_at_its_zero() -> None:
    """The zero is not part of it, nor what follows."""
    memory = memory_with((BASE, PAGE, RW))
    memory.write(BASE + 10, b"name\0more\0")
    assert memory.read_text(BASE + 10, 100) == b"name"


def test_text_crosses_pages_and_mappings() -> None:
    """A string over the border of two mappings."""
    memory = memory_with((BASE, PAGE, RW), (BASE + PAGE, PAGE, RW))
    memory.write(BASE + PAGE - 2, b"abcd\0")
    assert memory.read_text(BASE + PAGE - 2, 100) == b"abcd"


def test_text_at_its_limit() -> None:
    """No more than asked for, without a zero."""
    memory = memory_with((BASE, PAGE, RW))
    memory.write(BASE, b"abcdef")
    assert memory.read_text(BASE, 3) == b"abc"


def test_text_without_zero_before_a_hole_faults() -> None:
    """The string would go on in no mapping."""
    memory = memory_with((BASE, PAGE, RW))
    memory.write(BASE + PAGE - 2, b"ab")
    with pytest.raises(MemoryFault):
        memory.read_text(BASE + PAGE - 2, 100)


# ---- questions


def test_find_at_the_corners() -> None:
    """First and last byte are inside, the bytes beside them are not."""
    memory = memory_with((BASE, PAGE, RW))
    inside = [BASE - 1, BASE, BASE + PAGE - 1, BASE + PAGE]
    assert [memory.find(address) is not None for address in inside] == [False, True, True, False]


def test_is_free_and_is_mapped() -> None:
    """A range that is partly mapped is neither."""
    memory = memory_with((BASE, 2 * PAGE, RW))
    ranges = [
        (BASE - PAGE, PAGE), (BASE - PAGE, 2 * PAGE), (BASE, 2 * PAGE), (BASE + PAGE, 2 * PAGE),
    ]  # fmt: skip
    assert [memory.is_free(*r) for r in ranges] == [True, False, False, False]
    assert [memory.is_mapped(*r) for r in ranges] == [False, False, True, False]


def test_free_range_is_the_highest_that_fits() -> None:
    """A hole that is too small is passed over."""
    memory = memory_with((0x100000, PAGE, RW), (0x100000 - 3 * PAGE, PAGE, RW))
    # Between the two mappings there are 2 pages; below both there is room for 4.
    assert memory.free_range(2 * PAGE, 0x100000 + PAGE) == 0x100000 - 2 * PAGE
    assert memory.free_range(4 * PAGE, 0x100000 + PAGE) == 0x100000 - 7 * PAGE


def test_free_range_below_everything() -> None:
    """Mappings above the limit do not count."""
    assert memory_with((0x200000, PAGE, RW)).free_range(PAGE, 0x100000) == 0x100000 - PAGE


def test_free_range_may_find_nothing() -> None:
    """The lowest addresses stay free, so that a null pointer faults."""
    assert memory_with().free_range(0x100000, 0x100000) == 0


# ---- what compiled code sees


def seen(memory: Memory, address: int) -> tuple[int, int, int, int] | None:
    """The row that compiled code finds."""
    row = find_mapping(memory.header.ctypes.data, address)
    if row == 0:
        return None
    start, end, offset, permissions = (load_word(row + 8 * i) for i in range(4))
    return start, end, offset, permissions


def load_word(address: int) -> int:
    """An int64 of host memory, without any code of ours."""
    return ctypes.c_int64.from_address(int(address)).value


def test_compiled_search_at_the_corners() -> None:
    """The same row as Python finds: in, before, between and behind two mappings."""
    memory = memory_with((BASE, PAGE, RW), (BASE + 2 * PAGE, PAGE, READ))
    for address in (
        0, BASE - 1, BASE, BASE + PAGE - 1, BASE + PAGE, BASE + 2 * PAGE, BASE + 3 * PAGE - 1,
        BASE + 3 * PAGE, 1 << 62, -1,
    ):  # fmt: skip
        assert seen(memory, address) == memory.find(address)


def test_compiled_search_in_an_empty_table() -> None:
    """Nothing is mapped, address 0 included."""
    assert seen(memory_with(), 0) is None


def test_compiled_search_forgets_an_unmapped_row() -> None:
    """The last hit is remembered, but not beyond a change."""
    memory = memory_with((BASE, PAGE, RW))
    assert seen(memory, BASE) is not None
    memory.unmap(BASE, PAGE)
    assert seen(memory, BASE) is None


def test_host_address_is_where_the_bytes_are() -> None:
    """Bytes written through Python are found at the host address."""
    memory = memory_with((BASE, PAGE, RW))
    memory.write(BASE + 24, struct.pack("=q", 0x1122334455667788))
    assert load_word(host_address(memory.header.ctypes.data, BASE + 24)) == 0x1122334455667788


@pytest.mark.parametrize(
    ("address", "readable"),
    [(BASE, True), (BASE + PAGE - 8, True), (BASE + PAGE - 7, False), (BASE - 1, False),
     (BASE + PAGE, False), (0, False), (-8, False), ((1 << 63) - 8, False)],
)  # fmt: skip
def test_host_address_wants_eight_bytes(address: int, readable: bool) -> None:
    """A word that is not whole in one mapping has no place."""
    memory = memory_with((BASE, PAGE, RW))
    assert (host_address(memory.header.ctypes.data, address) != 0) is readable


@pytest.mark.parametrize(("permissions", "readable"), [(READ, True), (0, False), (WRITE, False)])
def test_host_address_wants_the_permission(permissions: int, readable: bool) -> None:
    """A slot that the guest could not read has no place."""
    memory = memory_with((BASE, PAGE, permissions))
    assert (host_address(memory.header.ctypes.data, BASE) != 0) is readable


def test_five_thousand_mappings() -> None:
    """The published table grows beyond its first size and stays right."""
    memory = Memory(1 << 30)
    starts = [BASE + 2 * PAGE * number for number in range(5000)]
    for start in starts:
        memory.map(start, PAGE, RW)
        memory.write(start, struct.pack("<Q", start))
    assert int(memory.header[COUNT]) == 5000
    for start in starts[::97]:
        assert seen(memory, start + 8) == memory.find(start + 8)
        assert seen(memory, start + PAGE) is None
        assert load_word(host_address(memory.header.ctypes.data, start)) == start


def test_the_table_is_where_the_header_says() -> None:
    """Compiled code gets one address and finds rows and buffer from there."""
    memory = memory_with((BASE, PAGE, RW))
    assert load_word(int(memory.header[ROWS])) == BASE
    assert int(memory.header[BUFFER]) == memory.buffer.ctypes.data
    assert memory.rows().tolist() == [list(memory.intervals[0])]


def test_load64_reads_a_guest_word() -> None:
    """The compiled load and the host address together give a guest's word."""
    memory = memory_with((BASE, PAGE, RW))
    memory.write(BASE, struct.pack("=q", -5))
    assert load_compiled(host_address(memory.header.ctypes.data, BASE)) == -5


@numba.njit
def load_compiled(address):
    """The load of compiled code, to be called from Python."""
    return load64(address)


# ---- against a model

PAGES = 12
OPERATIONS = st.lists(
    st.tuples(
        st.sampled_from(["map", "unmap", "protect", "write"]),
        st.integers(0, PAGES - 1),
        st.integers(1, 5),
        st.integers(0, 7),
    ),
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(OPERATIONS)
def test_agrees_with_a_dictionary_of_pages(operations: list[tuple[str, int, int, int]]) -> None:
    """Any sequence of calls leaves what a dictionary page -> (permissions, first byte) has."""
    memory = Memory(1 << 24)
    model: dict[int, tuple[int, int]] = {}
    for number, (what, first, count, permissions) in enumerate(operations, 1):
        start, size = BASE + first * PAGE, count * PAGE
        pages = range(first, first + count)
        if what == "map":
            memory.map(start, size, permissions)
            model.update(dict.fromkeys(pages, (permissions, 0)))
        elif what == "unmap":
            memory.unmap(start, size)
            for page in pages:
                model.pop(page, None)
        elif what == "protect":
            done = memory.protect(start, size, permissions)
            assert done is all(page in model for page in pages)
            if done:
                model.update({page: (permissions, model[page][1]) for page in pages})
        else:
            for page in pages:
                if page in model:
                    memory.write(BASE + page * PAGE, bytes((number,)), force=True)
                    model[page] = (model[page][0], number)
    for page in range(PAGES + 6):
        address = BASE + page * PAGE
        row = memory.find(address)
        assert (row is not None) is (page in model)
        assert seen(memory, address) == row
        if row is not None:
            assert row[3] == model[page][0]
            assert load_word(memory.buffer.ctypes.data + row[2] + address - row[0]) & 0xFF == (
                model[page][1]
            )
    assert memory.mapped == PAGE * len(model)
    offsets = [(o, o + e - s) for s, e, o, _ in memory.intervals]
    assert all(b[0] >= a[1] for a, b in zip(sorted(offsets), sorted(offsets)[1:], strict=False))
