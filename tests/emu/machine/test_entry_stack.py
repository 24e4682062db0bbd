import struct

import pytest

from arch import ALL, Arch
from emu.errors import ImageError, UsageError
from emu.machine.entry_stack import LARGEST_STRING, STACK_SIZE, Aux, EntryStack, build_stack
from emu.machine.loader import Loaded
from emu.memory import EXECUTE, READ, WRITE, Memory

LIMIT = 64 << 20


def loaded(*, executable: bool = False) -> Loaded:
    return Loaded(0, 0x401000, 0x400040, 5, 0x402000, ((0x400000, 0x402000, 5),), executable)


def build(arch: Arch, memory: Memory, seed: int = 1, **changes: object) -> EntryStack:
    settings: dict[str, object] = {
        "program": b"/prog", "arguments": [b"prog", b"one"], "environment": [b"A=1"], "owner": 7,
    }  # fmt: skip
    executable = bool(changes.pop("executable", False))
    return build_stack(
        arch, memory, loaded(executable=executable), seed=seed, **(settings | changes)
    )  # type: ignore[arg-type]


@pytest.fixture(params=ALL, ids=lambda arch: arch.name)
def arch(request: pytest.FixtureRequest) -> Arch:
    """Each machine in turn."""
    machine: Arch = request.param
    return machine


@pytest.fixture
def memory() -> Memory:
    """An empty address space."""
    return Memory(LIMIT)


def words(arch: Arch, memory: Memory, address: int, count: int) -> tuple[int, ...]:
    order = "<" if arch.byte_order == "little" else ">"
    return struct.unpack(f"{order}{count}Q", memory.read(address, 8 * count))


def test_arguments_and_environment(arch: Arch, memory: Memory) -> None:
    """argc, argv, a zero, envp, a zero, in the machine's byte order."""
    stack = build(arch, memory)
    argc, first, second, end, variable, last = words(arch, memory, stack.pointer, 6)
    assert (argc, end, last) == (2, 0, 0)
    texts = [memory.read_text(address, 100) for address in (first, second, variable)]
    assert texts == [b"prog", b"one", b"A=1"]


def test_auxiliary_vector_follows(arch: Arch, memory: Memory) -> None:
    """The vector in memory is the table, ends with AT_NULL, and says where the program lies."""
    stack = build(arch, memory)
    flat = words(arch, memory, stack.pointer + 48, 2 * len(stack.auxiliary))
    assert tuple(zip(flat[::2], flat[1::2], strict=True)) == stack.auxiliary
    table = dict(stack.auxiliary)
    assert stack.auxiliary[-1] == (Aux.NULL, 0)
    assert (table[Aux.PHDR], table[Aux.PHNUM], table[Aux.ENTRY]) == (0x400040, 5, 0x401000)
    assert memory.read_text(table[Aux.EXECFN], 100) == b"/prog"
    assert memory.read_text(table[Aux.PLATFORM], 100) == arch.layout.platform
    assert (table[Aux.UID], table[Aux.SECURE], table[Aux.PAGESZ]) == (7, 0, 4096)


@pytest.mark.parametrize("count", range(4))
def test_stack_pointer_is_a_multiple_of_16(arch: Arch, memory: Memory, count: int) -> None:
    """Whatever the number of arguments."""
    assert build(arch, memory, arguments=[b"x"] * count).pointer % 16 == 0


def test_random_bytes_come_from_the_seed(arch: Arch) -> None:
    """Equal seeds give equal bytes, others do not."""
    found = []
    for seed in (1, 1, 2):
        memory = Memory(LIMIT)
        found.append(memory.read(dict(build(arch, memory, seed).auxiliary)[Aux.RANDOM], 16))
    assert found[0] == found[1] != found[2]


def test_nothing_is_mapped_around_it(arch: Arch, memory: Memory) -> None:
    """8 MiB, readable and writable, with free space below and above."""
    stack = build(arch, memory)
    assert stack.high - stack.low == STACK_SIZE
    row = memory.find(stack.low)
    assert row is not None
    assert (row[0], row[1], row[3]) == (stack.low, stack.high, READ | WRITE)
    assert memory.is_free(stack.low - (1 << 20), 1 << 20)
    assert memory.is_free(stack.high, 0x1000)


def test_executable_stack(arch: Arch, memory: Memory) -> None:
    """A program that asks for it gets one."""
    stack = build(arch, memory, executable=True)
    row = memory.find(stack.low)
    assert row is not None
    assert row[3] == READ | WRITE | EXECUTE


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([b"a\0b"], "zero byte"),
        ([b"x" * LARGEST_STRING], "or more"),
        ([b"x" * 1000] * 3000, "over"),
    ],
)
def test_arguments_that_cannot_be(
    arch: Arch, memory: Memory, arguments: list[bytes], reason: str
) -> None:
    """They are refused before the stack is mapped."""
    with pytest.raises(UsageError, match=reason):
        build(arch, memory, arguments=arguments)
    assert memory.mapped == 0


def test_no_room_for_the_stack(arch: Arch) -> None:
    """A memory limit below 8 MiB is said to be the reason."""
    with pytest.raises(ImageError, match="no room for the stack"):
        build(arch, Memory(1 << 20))
