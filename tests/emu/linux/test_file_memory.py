"""Mappings of files: copies, shared pages, and what lies behind the end (mmap(2))."""

from collections.abc import Callable
from pathlib import Path

import pytest

from arch import ALL, Arch
from emu.linux.calls import Errno
from emu.linux.process import Process
from emu.linux.program import Program
from emu.linux.vfs.host import HostRoot
from emu.machine.engine import Engine
from emu.memory import READ, WRITE, Memory
from tests.emu.linux.caller import Caller
from tests.emu.linux.programs import LIMIT
from tests.emu.linux.programs import call as code_of_call
from tests.emu.machine.elf_program import BASE, R, Segment, W, code_program

PAGE = 4096
SHARED, PRIVATE, FIXED = 1, 2, 0x10
PLACE = 0x5000_0000


def shared(call: Caller, name: bytes, size: int, prot: int = 3, offset: int = 0) -> int:
    """A new shared mapping; its descriptor is closed."""
    descriptor = call.open(name, 2)
    place = call("mmap", 0, size, prot, SHARED, descriptor, offset)
    assert place > 0, place
    assert call("close", descriptor) == 0
    return place


def access(call: Caller, address: int) -> int:
    """Page permissions."""
    row = call.memory.find(address)
    assert row is not None
    return row[3]


def test_a_store_is_a_write(call: Caller) -> None:
    """Without msync(2), read(2) sees what the guest stored, and a load what was written."""
    call.make(b"/f", b"a" * PAGE + b"b" * 100)
    place = shared(call, b"/f", 2 * PAGE)
    call.memory.write(place + PAGE, b"STORED")
    assert call.contents(b"/f") == b"a" * PAGE + b"STORED" + b"b" * 94
    descriptor = call.open(b"/f", 2)
    assert call("pwrite64", descriptor, b"WRITTEN", 7, 3) == 7
    assert call.memory.read(place, 12) == b"aaaWRITTENaa"
    assert call("msync", place, 2 * PAGE, 4) == 0
    assert call("munmap", place, 2 * PAGE) == 0
    assert call.contents(b"/f")[:12] == b"aaaWRITTENaa"


def test_two_mappings_are_the_same_pages(call: Caller) -> None:
    """At any two addresses, with other lengths and offsets."""
    call.make(b"/f", bytes(4 * PAGE))
    first = shared(call, b"/f", 2 * PAGE, offset=PAGE)
    second = shared(call, b"/f", 4 * PAGE)
    call.memory.write(first + 5, b"one")
    call.memory.write(second + 2 * PAGE, b"two")
    assert call.memory.read(second + PAGE + 5, 3) == b"one"
    assert call.memory.read(first + PAGE, 3) == b"two"


def test_a_private_mapping_keeps_its_stores(call: Caller) -> None:
    """Nothing of it comes into the file."""
    call.make(b"/f", b"file")
    descriptor = call.open(b"/f")
    place = call("mmap", 0, PAGE, 3, PRIVATE, descriptor, 0)
    call.memory.write(place, b"mine")
    assert call.contents(b"/f") == b"file"
    assert call("madvise", place, PAGE, 4) == 0
    assert call.memory.read(place, 4) == b"file"


def test_the_end_of_the_file_in_a_page(call: Caller) -> None:
    """Behind it are zeros, and what is stored there never becomes part of the file."""
    call.make(b"/f", b"end")
    place = shared(call, b"/f", PAGE)
    assert call.memory.read(place, 6) == b"end\0\0\0"
    call.memory.write(place + 3, b"beyond")
    assert call.contents(b"/f") == b"end"
    descriptor = call.open(b"/f", 2)
    assert call("ftruncate", descriptor, 6) == 0
    assert call.contents(b"/f") == b"end\0\0\0"
    call.memory.write(place + 6, b"beyond")
    assert call("pwrite64", descriptor, b"x", 1, 20) == 1
    assert call.contents(b"/f") == b"end" + bytes(17) + b"x"


@pytest.mark.parametrize("kind", [SHARED, PRIVATE])
def test_the_end_moves(call: Caller, kind: int) -> None:
    """Pages behind it cannot be accessed, come when the file grows, and go when it shrinks."""
    call.make(b"/f", b"x")
    descriptor = call.open(b"/f", 2)
    place = call("mmap", 0, 4 * PAGE, 3, kind, descriptor, 0)
    both = READ | WRITE
    assert [access(call, place + PAGE * n) for n in range(4)] == [both, 0, 0, 0]
    assert call("pwrite64", descriptor, b"later", 5, 2 * PAGE) == 5
    assert [access(call, place + PAGE * n) for n in range(4)] == [both, both, both, 0]
    assert call.memory.read(place + 2 * PAGE, 5) == b"later"
    assert call("mprotect", place, 4 * PAGE, 1) == 0
    assert [access(call, place + PAGE * n) for n in range(4)] == [READ, READ, READ, 0]
    assert call("ftruncate", descriptor, PAGE) == 0
    assert [access(call, place + PAGE * n) for n in range(4)] == [READ, 0, 0, 0]
    assert call("ftruncate", descriptor, 3 * PAGE) == 0
    assert call.memory.read(place + 2 * PAGE, 5) == bytes(5)


def test_moves_and_grows(call: Caller) -> None:
    """mremap(2) of a shared mapping goes on in the file and stays shared."""
    call.make(b"/f", b"1" * PAGE + b"2" * PAGE)
    place = shared(call, b"/f", PAGE)
    moved = call("mremap", place, PAGE, 2 * PAGE, 3, PLACE)
    assert moved == PLACE
    assert call.memory.read(PLACE + PAGE, 2) == b"22"
    call.memory.write(PLACE, b"A")
    call.memory.write(PLACE + PAGE, b"B")
    found = call.contents(b"/f")
    assert (found[:2], found[PAGE : PAGE + 2]) == (b"A1", b"B2")
    assert call.memory.is_free(place, PAGE)


def test_pages_outlive_the_mapping_and_the_name(one: Caller) -> None:
    """Their memory is free again only with the file."""
    budget = one.process.filesystem.budget
    before = budget.used
    one.make(b"/f", bytes(PAGE))
    place = shared(one, b"/f", PAGE)
    one.memory.write(place, b"kept")
    assert one("munmap", place, PAGE) == 0
    assert one.contents(b"/f")[:4] == b"kept"
    second = shared(one, b"/f", PAGE)
    assert one("unlink", b"/f") == 0
    one.memory.write(second, b"more")
    assert budget.used - before == PAGE
    assert one("munmap", second, PAGE) == 0
    assert budget.used == before


def test_fresh_memory_is_zero_after_shared_pages(one: Caller) -> None:
    """Frames of a file that is gone are never seen by a new mapping."""
    for _ in range(3):
        one.make(b"/f", b"secret" * 2000)
        place = shared(one, b"/f", 2 * PAGE)
        assert one("unlink", b"/f") == 0
        assert one("munmap", place, 2 * PAGE) == 0
        for size in (1, 2, 3):
            fresh = one("mmap", 0, size * PAGE, 3, 0x22, -1, 0)
            assert one.memory.read(fresh, size * PAGE) == bytes(size * PAGE)


def test_rights(call: Caller) -> None:
    """mmap(2): EACCES; a shared mapping of what only may be read never becomes writable."""
    call.make(b"/f", b"x")
    reading, writing = call.open(b"/f"), call.open(b"/f", 1)
    assert call("mmap", 0, PAGE, 1, SHARED, writing, 0) == -Errno.EACCES
    assert call("mmap", 0, PAGE, 3, SHARED, reading, 0) == -Errno.EACCES
    place = call("mmap", 0, PAGE, 1, SHARED, reading, 0)
    assert call("mprotect", place, PAGE, 3) == -Errno.EACCES
    private = call("mmap", 0, PAGE, 1, PRIVATE, reading, 0)
    assert call("mprotect", private, PAGE, 3) == 0
    directory = call.open(b"/tmp")
    assert call("mmap", 0, PAGE, 1, PRIVATE, directory, 0) == -Errno.ENODEV
    assert call("mmap", 0, PAGE, 1, PRIVATE, 0, 0) == -Errno.ENODEV
    assert call("mmap", 0, PAGE, 1, PRIVATE, 99, 0) == -Errno.EBADF
    assert call("mmap", 0, PAGE, 1, PRIVATE, reading, 1) == -Errno.EINVAL
    assert call("mmap", 0, PAGE, 1, PRIVATE, reading, (1 << 63) - PAGE) == -Errno.EOVERFLOW


def test_a_file_of_the_host_is_never_written(start: Callable[[], Caller], root: Path) -> None:
    """Its shared pages are the guest's own."""
    (root / "f").write_bytes(b"h" * 2 * PAGE)
    call = start()
    place = shared(call, b"/f", 2 * PAGE)
    call.memory.write(place + PAGE, b"guest")
    assert call.contents(b"/f") == b"h" * PAGE + b"guest" + b"h" * (PAGE - 5)
    assert (root / "f").read_bytes() == b"h" * 2 * PAGE


def test_holes_in_shared_pages(call: Caller) -> None:
    """MADV_REMOVE and fallocate(2) make zeros in the file and in the mapping."""
    call.make(b"/f", b"x" * 3 * PAGE)
    place = shared(call, b"/f", 3 * PAGE)
    assert call("madvise", place + PAGE, PAGE, 9) == 0
    assert call.contents(b"/f") == b"x" * PAGE + bytes(PAGE) + b"x" * PAGE
    descriptor = call.open(b"/f", 2)
    assert call("fallocate", descriptor, 3, 10, 10) == 0
    assert call.memory.read(place, 30) == b"x" * 10 + bytes(10) + b"x" * 10
    assert call("madvise", place, PAGE, 4) == 0
    assert call.memory.read(place, 4) == b"xxxx"
    anonymous = call("mmap", 0, PAGE, 3, 0x22, -1, 0)
    assert call("madvise", anonymous, PAGE, 9) == -Errno.EINVAL


def test_shared_pages_are_bounded(one: Caller) -> None:
    """More than the budget of files cannot be shared; a sparse file itself costs nothing."""
    descriptor = one.open(b"/f", 0o102)
    budget = one.process.filesystem.budget
    assert one("ftruncate", descriptor, 1 << 40) == 0
    assert one("mmap", 0, 1 << 40, 3, SHARED, descriptor, 0) == -Errno.ENOMEM
    size = budget.size + PAGE
    assert one("mmap", 0, size, 3, SHARED, descriptor, 0) == -Errno.ENOMEM
    assert budget.used == 0
    assert one("mmap", 0, 8 * PAGE, 3, SHARED, descriptor, 1 << 39) > 0
    assert budget.used == 8 * PAGE


@pytest.mark.compiled
@pytest.mark.parametrize("arch", ALL, ids=lambda arch: arch.name)
@pytest.mark.parametrize(
    ("page", "kind", "signal"), [(1, PRIVATE, "SIGBUS"), (2, SHARED, "SIGBUS"), (0, PRIVATE, "")]
)
def test_behind_the_end_is_a_bus_error(
    tmp_path: Path, root: Path, arch: Arch, page: int, kind: int, signal: str
) -> None:
    """The guest itself loads from a page that begins behind the end of the file."""
    (root / "f").write_bytes(b"x")
    data = b"/f\0"
    name = BASE + 0x3000
    six = (PLACE, 3 * PAGE, 1, kind | FIXED, 3, 0)
    arguments: tuple[int, ...] = six
    if arch.syscall.mmap_block:
        order = "little" if arch.byte_order == "little" else "big"
        data += bytes(5) + b"".join(word.to_bytes(8, order) for word in six)  # type: ignore[arg-type]
        arguments = (name + 8,)
    code = (
        code_of_call(arch, "openat", (1 << 64) - 100, name, 0, 0)
        + code_of_call(arch, "mmap", *arguments) + _load(arch, PLACE + page * PAGE)
        + code_of_call(arch, "exit", 3)
    )  # fmt: skip
    image = code_program(arch, code, Segment(name, data, R | W, 0x2000, memsz=0x2000))
    memory = Memory(LIMIT)
    program = Program(image.image(tmp_path), b"/p", b"/p", (b"/p",), None, HostRoot(root))
    process = Process(program, Engine(arch, memory), memory)
    process.run()
    assert process.killed_by == signal
    if signal:
        assert process.reason == f"read behind the end of /f, mapped at {PLACE:#x}"
    else:
        assert process.exit_status == 3


def _load(arch: Arch, address: int) -> bytes:
    """Load a byte from an address."""
    from tests.emu.linux.programs import arm_load, x86_load, z_load

    return {
        "x86_64": x86_load(2, address) + b"\x8a\x02",  # mov (%rdx), %al
        "aarch64": arm_load(1, address) + b"\x20\x00\x40\x39",  # ldrb w0, [x1]
        "s390x": z_load(3, address) + bytes.fromhex("43203000"),  # ic %r2,0(%r3)
    }[arch.name]
