"""Sections with deliberate faults, hand-made stacks, and the answers of each revision to them."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.row import KEEP
from arch.x86_64 import X86_64
from emu.kernel.events import Crash, Event, Name, Refusal
from emu.kernel.frame import Frame
from emu.kernel.header import read_header
from emu.kernel.lookup import find_frame
from emu.kernel.policy import Policy
from emu.kernel.reader import AS_SENT, REPAIRED, V2, V3, Reader
from emu.kernel.registry import Registry
from emu.kernel.state import State, UserTask
from emu.kernel.user_memory import Residency, UserMemory
from emu.kernel.vmas import Vmas
from emu.linux.mappings import Mapping as FileMapping
from emu.linux.mappings import Mappings
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory
from emu.sample import Sample
from emu.sframe.encode import Entry, Target, encode_rows
from emu.sframe.writer import Encoded
from emu.tables import FunctionRows

TEXT = 0x40_0000
"""Two executable pages."""
TEXT_END = TEXT + 2 * PAGE
TABLE = 0x50_0000
"""Two readable pages; a section stands at their start."""
STACK = 0x7000_0000
"""Two writable pages."""
F, G = TEXT + 0x100, TEXT + 0x200
"""Two functions, 0x40 and 0x20 bytes long."""
READERS = (AS_SENT, REPAIRED, V2, V3)

Values = Mapping[tuple[str, int, str], int]
"""Fields of a section, as `Encoded.patched` takes them."""


def at(offset: int) -> RegRule:
    """Loaded from CFA + offset."""
    return RegRule(RuleKind.AT_CFA, offset=offset)


def usual_ra(arch: Arch) -> RegRule:
    """Where the return address is once it is saved."""
    return at(-8) if not arch.ra_in_register else at(-48)


def rows_of(arch: Arch) -> tuple[Row, ...]:
    """At 0, 1 and 4 of a function: entry, FP saved, FP is the frame pointer."""
    entry = arch.entry_cfa_offset
    ra = usual_ra(arch)
    first = KEEP if arch.ra_in_register else ra
    return (
        Row(CfaRule(arch.sp, entry), first, KEEP, arch.sp_offset),
        Row(CfaRule(arch.sp, entry + 64), ra, at(-16), arch.sp_offset),
        Row(CfaRule(arch.fp, entry + 64), ra, at(-16), arch.sp_offset),
    )


def made(version: int, arch: Arch = X86_64, functions: Sequence[FunctionRows] = ()) -> Encoded:
    """A section at TABLE; by default of the functions F and G."""
    rows = rows_of(arch)
    chosen = functions or (
        FunctionRows(F, 0x40, (0, 1, 4), rows),
        FunctionRows(G, 0x20, (0,), rows[:1]),
    )
    target = Target.of(arch, version, errata=False)
    encoding = encode_rows([Entry(f) for f in chosen], target, address=TABLE)
    assert not encoding.refusals
    return encoding.encoded


def memory_of(table: bytes = b"", stack: Sequence[int] = (), arch: Arch = X86_64) -> Memory:
    """Text, a table and a stack."""
    memory = Memory(1 << 24)
    memory.map(TEXT, 2 * PAGE, READ | EXECUTE)
    memory.map(TABLE, 2 * PAGE, READ)
    memory.map(STACK, 2 * PAGE, READ | WRITE)
    memory.write(TABLE, table, force=True)
    order = "<" if arch.byte_order == "little" else ">"
    memory.write(STACK, struct.pack(f"{order}{len(stack)}Q", *stack))
    return memory


@dataclass(frozen=True)
class File:
    """A mapped file; nothing but its name counts."""

    path: bytes
    number: int = 1
    device: int = 1
    size: int = 1 << 20
    content = None
    in_memory = False

    def read(self, offset: int, size: int) -> bytes:
        """Zeros."""
        return bytes(size)

    def data(self) -> bytes:
        """Zeros."""
        return bytes(self.size)


def mapped(memory: Memory, *files: tuple[int, int, int, File]) -> Vmas:
    """What is mapped, with files in some of it: start, end, permissions, file."""
    mappings = Mappings()
    for start, end, permissions, file in files:
        mappings.add(FileMapping(start, end, start - TEXT, permissions, file))
    return Vmas(memory, mappings)


def registry_of(
    policy: Policy, memory: Memory, arch: Arch = X86_64, vmas: Vmas | None = None,
    residency: Residency | None = None,
) -> Registry:  # fmt: skip
    """The registry of a policy, still empty."""
    assert policy.registration is not None
    return Registry(
        policy.registration, arch, memory, vmas or mapped(memory), residency or Residency()
    )


def registered(
    policy: Policy, values: Values | None = None, arch: Arch = X86_64, stack: Sequence[int] = (),
    functions: Sequence[FunctionRows] = (),
) -> tuple[Memory, Registry]:  # fmt: skip
    """Memory with a section, and the registry that knows it."""
    assert policy.reader is not None
    encoded = made(policy.reader.version, arch, functions)
    data = encoded.data
    memory = memory_of(data, stack, arch)
    registry = registry_of(policy, memory, arch)
    assert registry.add(TABLE, TABLE + len(data), TEXT, TEXT_END - 1) == 0
    memory.write(TABLE, encoded.patched(dict(values or {})), force=True)
    return memory, registry


def task_of(
    memory: Memory, registry: Registry | None = None, pc: int = F, sp: int = STACK, fp: int = 0,
    arch: Arch = X86_64, others: Mapping[int, int] | None = None,
) -> UserTask:  # fmt: skip
    """A task stopped there."""
    registers = {register.dwarf: 0 for register in arch.registers}
    registers |= {arch.sp: sp, arch.fp: fp, **(others or {})}
    return UserTask(Sample(arch, pc, registers, memory), registry=registry)


Answer = int | str | Frame
"""An errno, the name of what crashes, or a frame."""


def header_answers(values: Values, end: int = 0) -> list[int]:
    """What each reader answers to a header: an errno, or 0."""
    answers = []
    for reader in READERS:
        encoded = made(reader.version)
        memory = UserMemory(memory_of(encoded.patched(dict(values))))
        try:
            read_header(
                reader, memory, "little", TABLE, TABLE + (end or len(encoded.data)),
                (TEXT, TEXT_END - 1),
            )  # fmt: skip
            answers.append(0)
        except Refusal as refusal:
            answers.append(refusal.errno)
    return answers


@dataclass
class Look:
    """One look-up."""

    answer: Answer
    events: list[Event]
    memory: UserMemory

    @property
    def names(self) -> list[Name]:
        """Of its events."""
        return [event.name for event in self.events]


def look(
    reader: Reader, values: Values | None = None, ip: int = F + 2, arch: Arch = X86_64,
    functions: Sequence[FunctionRows] = (), text: tuple[int, int] = (TEXT, TEXT_END - 1),
    fixed_ra: int | None = None, raw: bytes | None = None, behind: bytes = b"",
) -> Look:  # fmt: skip
    """Look an address up in a section whose header was good when it was registered.

    Args:
        reader: the revision.
        values: fields that are changed after that.
        ip: the address.
        arch: the machine.
        functions: of the section.
        text: what it is registered for.
        fixed_ra: what the header says of RA, before it is registered.
        raw: the section itself.
        behind: what stands behind it.
    """
    encoded = made(reader.version, arch, functions)
    data = encoded.data
    if fixed_ra is not None:
        data = encoded.patched({("header", 0, "fixed_ra"): fixed_ra})
    memory = memory_of((data if raw is None else raw) + behind, arch=arch)
    user = UserMemory(memory)
    size = len(data if raw is None else raw)
    section = read_header(reader, user, arch.byte_order, TABLE, TABLE + size, text)
    if raw is None:
        kept = dict(values or {})
        if fixed_ra is not None:
            kept["header", 0, "fixed_ra"] = fixed_ra
        memory.write(TABLE, encoded.patched(kept), force=True)
    events: list[Event] = []
    user.reads = user.bytes = 0
    try:
        frame: Answer = find_frame(reader, section, user, arch, ip, events.append)
    except Refusal as refusal:
        frame = refusal.errno
    except Crash as crash:
        frame = str(crash.event.name)
    return Look(frame, events, user)


def answers(values: Values, ip: int = F + 2, **more: Any) -> list[Answer]:
    """What each reader answers; a frame counts as 0."""
    found = [look(reader, values, ip, **more).answer for reader in READERS]
    return [0 if isinstance(answer, Frame) else answer for answer in found]


def state_of(task: UserTask) -> State:
    """The start of a walk."""
    return State(task, UserMemory(task.sample.memory, task.residency))
