import pytest

from arch import ALL
from emu.linux.address_space import AddressSpace, permissions
from emu.linux.calls import CallError, Errno
from emu.linux.guest import Guest
from emu.linux.mappings import MappedFile, Mappings
from emu.linux.space import STACK_GAP
from emu.memory import EXECUTE, READ, WRITE
from tests.emu.linux.kernel_parts import DATA, LIMIT, Calls, Translations, make_guest

LAYOUT = ALL[0].layout
BRK = 0x100_0000
STACK = (LAYOUT.stack_top - (8 << 20), LAYOUT.stack_top)
ANONYMOUS, FIXED, NO_REPLACE = 0x22, 0x10, 0x10_0000
NONE = (1 << 64) - 1
PAGE = 0x1000
RW = 3


@pytest.fixture
def guest() -> Guest:
    """A small address space with a stack of one page."""
    guest = make_guest()
    guest.memory.map(STACK[1] - PAGE, PAGE, READ | WRITE)
    return guest


@pytest.fixture
def space(guest: Guest) -> Calls:
    """Its calls; of descriptors only 0 is open, and not to be mapped."""

    def to_map(descriptor: int, prot: int, flags: int) -> tuple[MappedFile, bool]:
        raise CallError(Errno.ENODEV if descriptor == 0 else Errno.EBADF)

    return Calls(AddressSpace(guest, LAYOUT, BRK, STACK, Mappings(), to_map).calls())


def refusal(call: object, *arguments: int) -> Errno:
    with pytest.raises(CallError) as caught:
        call(*arguments)  # type: ignore[operator]
    return caught.value.number


def test_heap_grows_and_shrinks(space: Calls, guest: Guest) -> None:
    """Brk returns the new end, and what it takes back is gone."""
    assert space.brk(0) == BRK
    assert space.brk(BRK + 0x1801) == BRK + 0x1801
    guest.write(BRK + 0x1FF8, b"12345678")
    assert space.brk(BRK + 1) == BRK + 1
    assert guest.memory.is_free(BRK + PAGE, PAGE)


def test_heap_does_not_grow_over_others(space: Calls) -> None:
    """A mapping in the way or the memory limit leaves the end where it was."""
    space.mmap(BRK + 2 * PAGE, PAGE, RW, ANONYMOUS | FIXED, NONE, 0)
    assert space.brk(BRK + 3 * PAGE) == BRK
    assert space.brk(BRK + LIMIT * 2) == BRK


def test_mappings_go_downwards(space: Calls) -> None:
    """The first ends at mmap_base, the next below it; both read as zeros."""
    first = space.mmap(0, 5000, RW, ANONYMOUS, NONE, 0)
    second = space.mmap(0, 1, RW, ANONYMOUS, NONE, 0)
    assert first == LAYOUT.mmap_base - 2 * PAGE
    assert second == first - PAGE


def test_hint_is_followed_if_free(space: Calls) -> None:
    """A free hint is taken, a used one is not."""
    assert space.mmap(0x5000_0000, PAGE, RW, ANONYMOUS, NONE, 0) == 0x5000_0000
    assert space.mmap(0x5000_0000, PAGE, RW, ANONYMOUS, NONE, 0) != 0x5000_0000


def test_hint_in_the_guard_gap_is_not_followed(space: Calls) -> None:
    """The gap below the stack stays free, or an overflow would hit the mapping."""
    hint = STACK[0] - STACK_GAP
    assert space.mmap(hint, PAGE, RW, ANONYMOUS, NONE, 0) != hint


def test_fixed_replaces(space: Calls, guest: Guest) -> None:
    """MAP_FIXED gives zero pages where others were; NOREPLACE refuses."""
    guest.write(DATA, b"old")
    assert refusal(space.mmap, DATA, PAGE, RW, ANONYMOUS | NO_REPLACE, NONE, 0) is Errno.EEXIST
    assert guest.read(DATA, 3) == b"old"
    assert space.mmap(DATA, PAGE, RW, ANONYMOUS | FIXED, NONE, 0) == DATA
    assert guest.read(DATA, 3) == bytes(3)


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ((0, 0, RW, ANONYMOUS, NONE, 0), Errno.EINVAL),
        ((0, PAGE, RW, 0x20, NONE, 0), Errno.EINVAL),
        ((0, PAGE, RW, ANONYMOUS, NONE, 8), Errno.EINVAL),
        ((0, PAGE, RW, 2, 0, 0), Errno.ENODEV),
        ((0, PAGE, RW, 2, NONE, 0), Errno.EBADF),
        ((DATA + 1, PAGE, RW, ANONYMOUS | FIXED, NONE, 0), Errno.EINVAL),
        ((0, PAGE, RW, ANONYMOUS | FIXED, NONE, 0), Errno.EPERM),
        ((LAYOUT.user_end, PAGE, RW, ANONYMOUS | FIXED, NONE, 0), Errno.ENOMEM),
        ((0, LIMIT + PAGE, RW, ANONYMOUS, NONE, 0), Errno.ENOMEM),
        ((0, NONE, RW, ANONYMOUS, NONE, 0), Errno.ENOMEM),
    ],
)
def test_mmap_refuses(space: Calls, arguments: tuple[int, ...], number: Errno) -> None:
    """Each wrong argument has the error number of mmap(2)."""
    assert refusal(space.mmap, *arguments) is number


def test_munmap(space: Calls, guest: Guest) -> None:
    """Holes are no error, misaligned addresses are."""
    assert space.munmap(DATA - PAGE, 3 * PAGE) == 0
    assert guest.memory.is_free(DATA, 2 * PAGE)
    assert not guest.memory.is_free(DATA + 2 * PAGE, PAGE)
    assert refusal(space.munmap, DATA + 1, PAGE) is Errno.EINVAL
    assert refusal(space.munmap, DATA, NONE) is Errno.EINVAL


def test_mprotect(space: Calls, guest: Guest) -> None:
    """Permissions change for whole pages; a hole in the range is ENOMEM."""
    space.mprotect(DATA, 1, 1)
    assert guest.memory.find(DATA)[3] == READ  # type: ignore[index]
    assert guest.memory.find(DATA + PAGE)[3] == READ | WRITE  # type: ignore[index]
    assert refusal(space.mprotect, DATA, 1 << 30, 1) is Errno.ENOMEM
    assert refusal(space.mprotect, DATA, PAGE, 0x40) is Errno.EINVAL


def test_stack_is_made_executable_as_a_whole(space: Calls, guest: Guest) -> None:
    """PROT_GROWSDOWN means from the start of the stack."""
    guest.memory.map(STACK[0], STACK[1] - STACK[0], READ | WRITE)
    space.mprotect(STACK[1] - PAGE, PAGE, 7 | 0x0100_0000)
    assert guest.memory.find(STACK[0])[3] == READ | WRITE | EXECUTE  # type: ignore[index]
    assert refusal(space.mprotect, DATA, PAGE, 3 | 0x0100_0000) is Errno.EINVAL


def test_mremap_grows_in_place(space: Calls, guest: Guest) -> None:
    """With free space behind it, a mapping keeps its address."""
    address = space.mmap(0x5000_0000, PAGE, RW, ANONYMOUS, NONE, 0)
    assert space.mremap(address, PAGE, 3 * PAGE, 0, 0) == address
    guest.write(address + 3 * PAGE - 8, b"12345678")
    assert space.mremap(address, 3 * PAGE, PAGE, 0, 0) == address
    assert guest.memory.is_free(address + PAGE, 2 * PAGE)


def test_mremap_moves(space: Calls, guest: Guest) -> None:
    """Without room it moves if it may, with its bytes, and the old place is free."""
    address = space.mmap(0x5000_0000, 2 * PAGE, RW, ANONYMOUS, NONE, 0)
    space.mmap(0x5000_2000, PAGE, RW, ANONYMOUS | FIXED, NONE, 0)
    guest.write(address + PAGE, b"kept")
    assert refusal(space.mremap, address, 2 * PAGE, 4 * PAGE, 0, 0) is Errno.ENOMEM
    moved = space.mremap(address, 2 * PAGE, 4 * PAGE, 1, 0)
    assert moved != address
    assert guest.read(moved + PAGE, 4) == b"kept"
    assert guest.read(moved + 2 * PAGE, 4) == bytes(4)
    assert guest.memory.is_free(address, 2 * PAGE)


def test_mremap_to_a_fixed_place_keeps_permissions(space: Calls, guest: Guest) -> None:
    """What the guest may not read moves too."""
    guest.write(DATA, b"kept")
    space.mprotect(DATA, PAGE, 0)
    assert space.mremap(DATA, PAGE, PAGE, 3, 0x5000_0000) == 0x5000_0000
    assert guest.memory.find(0x5000_0000)[3] == 0  # type: ignore[index]
    space.mprotect(0x5000_0000, PAGE, 1)
    assert guest.read(0x5000_0000, 4) == b"kept"


@pytest.mark.parametrize(
    ("arguments", "number"),
    [
        ((DATA + 1, PAGE, PAGE, 0, 0), Errno.EINVAL),
        ((DATA, PAGE, 0, 0, 0), Errno.EINVAL),
        ((DATA, PAGE, NONE, 1, 0), Errno.EINVAL),
        ((DATA, PAGE, PAGE, 2, DATA), Errno.EINVAL),
        ((DATA, 2 * PAGE, PAGE, 3, DATA + PAGE), Errno.EINVAL),
        ((0x6600_0000, PAGE, 2 * PAGE, 1, 0), Errno.EFAULT),
        ((DATA, PAGE, LIMIT, 1, 0), Errno.ENOMEM),
    ],
)
def test_mremap_refuses(space: Calls, arguments: tuple[int, ...], number: Errno) -> None:
    """Each wrong argument has the error number of mremap(2)."""
    assert refusal(space.mremap, *arguments) is number


def test_dontneed_zeroes(space: Calls, guest: Guest) -> None:
    """Only the pages that are named; other advice changes nothing."""
    guest.write(DATA, b"1")
    guest.write(DATA + PAGE, b"2")
    space.madvise(DATA, PAGE, 8)
    assert guest.read(DATA, 1) == b"1"
    space.madvise(DATA, PAGE, 4)
    assert guest.read(DATA, 1) + guest.read(DATA + PAGE, 1) == b"\0002"
    assert refusal(space.madvise, 0x6600_0000, PAGE, 4) is Errno.ENOMEM
    assert refusal(space.madvise, DATA, PAGE, 99) is Errno.EINVAL


def test_engine_hears_of_changes(space: Calls, guest: Guest) -> None:
    """Every change flushes; code is forgotten while it is still mapped."""
    translations = guest.translations
    assert isinstance(translations, Translations)
    code = space.mmap(0, 2 * PAGE, 5, ANONYMOUS, NONE, 0)
    assert (translations.flushes, translations.forgotten) == (1, [])
    space.mprotect(code, PAGE, RW)
    assert (translations.flushes, translations.forgotten) == (2, [(code, code + PAGE)])
    space.munmap(code, 2 * PAGE)
    assert (translations.flushes, len(translations.forgotten)) == (3, 2)
    assert translations.forgotten[1] == (code + PAGE, code + 2 * PAGE)


def test_what_may_be_written_may_be_read() -> None:
    """No machine here has write-only or execute-only pages; PROT_NONE allows nothing."""
    assert permissions(0) == 0
    assert permissions(2) == READ | WRITE
    assert permissions(4) == READ | EXECUTE


def test_membarrier(space: Calls) -> None:
    """A query names the commands, and they do nothing."""
    assert space.membarrier(0, 0) & 16
    assert space.membarrier(16, 0) == 0
    assert refusal(space.membarrier, 2, 0) is Errno.EINVAL
