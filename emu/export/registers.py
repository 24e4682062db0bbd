"""Registers by the names of their slots, between our samples and the notes of other tools."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from arch import Arch, ByteOrder
from arch.export import PC, RegisterNote
from emu.sample import Sample

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Thread:
    """Where one thread stands."""

    tid: int
    pc: int
    registers: Mapping[int, int]
    """By DWARF number, unsigned, as in a `Sample`."""
    others: Mapping[str, int] = field(default_factory=dict)
    """Those without such a number, by the names of their slots; what is missing is 0."""

    @classmethod
    def of(cls, sample: Sample, tid: int, others: Mapping[str, int] | None = None) -> "Thread":
        """A thread at the moment of a sample."""
        return cls(tid, sample.pc, sample.registers, others or {})


def other_registers(arch: Arch, read: Callable[[int], int]) -> dict[str, int]:
    """What a sample does not have: `Thread.others`, from an engine's `read`."""
    known = {register.dwarf for register in arch.registers}
    return {
        slot.name: read(slot.emulator)
        for note in arch.export.notes
        for slot in note.slots
        if slot.emulator and slot.dwarf not in known
    }


def values(arch: Arch, thread: Thread) -> dict[str, int]:
    """All that is known of a thread, by the names of slots."""
    found = {}
    for note in arch.export.notes:
        for slot in note.slots:
            value = thread.others.get(slot.name, 0)
            if slot.dwarf is not None:
                value = thread.registers.get(slot.dwarf, value)
            found[slot.name] = value | slot.always
    found[PC] = thread.pc
    return found


def pack(note: RegisterNote, known: Mapping[str, int], byte_order: ByteOrder) -> bytes:
    """The registers of a note; one that is not known is 0."""
    data = bytearray(note.size)
    for slot in note.slots:
        value = known.get(slot.name, 0) & (1 << 8 * slot.size) - 1
        data[slot.offset : slot.offset + slot.size] = value.to_bytes(slot.size, byte_order)
    return bytes(data)


def unpack(note: RegisterNote, data: bytes, byte_order: ByteOrder) -> dict[str, int]:
    """Values of all slots; `data` has at least the size of the note."""
    return {
        slot.name: int.from_bytes(data[slot.offset : slot.offset + slot.size], byte_order)
        for slot in note.slots
    }


def pack_perf(arch: Arch, mask: int, known: Mapping[str, int]) -> tuple[int, ...]:
    """One value for each bit of sample_regs_user, which must all be registers."""
    slots = arch.export.perf
    return tuple(known[slots[bit]] & _MASK for bit in bits(mask))


def unpack_perf(arch: Arch, mask: int, data: Sequence[int]) -> dict[str, int]:
    """By the names of slots; bits that name no register here are left out."""
    slots = arch.export.perf
    return {
        slots[bit]: value for bit, value in zip(bits(mask), data, strict=False) if bit in slots
    }


def thread_of(arch: Arch, tid: int, known: Mapping[str, int]) -> Thread:
    """The thread that `values` was made of; registers that are not known are left out."""
    registers = {
        slot.dwarf: known[slot.name]
        for note in arch.export.notes
        for slot in note.slots
        if slot.dwarf is not None and slot.name in known
    }
    named = {slot.name for note in arch.export.notes for slot in note.slots if slot.dwarf is None}
    others = {name: value for name, value in known.items() if name in named and name != PC}
    return Thread(tid, known.get(PC, 0), registers, others)


def bits(mask: int) -> Iterable[int]:
    """Numbers of the set bits, ascending."""
    return (bit for bit in range(mask.bit_length()) if mask >> bit & 1)
