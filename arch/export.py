"""How registers lie in files that other tools read: ELF cores and perf.data."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

WORD = 8
NT_PRSTATUS, NT_FPREGSET = 1, 2
PC = "pc"
"""The name of the slot with the program counter."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One register in a note; its value is that of `dwarf`, else of `emulator`, else 0."""

    name: str
    """As debuggers call it; `PC` for the program counter."""
    offset: int
    """Bytes from the start of the registers."""
    size: int = WORD
    dwarf: int | None = None
    emulator: int = 0
    """Number in the emulator's register list, where no DWARF number names it (0: none)."""
    always: int = 0
    """Bits that are set in any case, as Linux shows them."""


@dataclass(frozen=True, slots=True)
class RegisterNote:
    """A note of a core that holds registers, or the part of NT_PRSTATUS that does."""

    type: int
    size: int
    """Bytes."""
    slots: tuple[Slot, ...]
    owner: bytes = b"CORE"


@dataclass(frozen=True, slots=True)
class Signatures:
    """What tells a debugger that return addresses may be signed."""

    note: int
    """Type of the note with the two masks, of data and of code."""
    hwcap: int
    """The bit of AT_HWCAP without which the note is not looked at."""


@dataclass(frozen=True, slots=True)
class ExportFacts:
    """One machine in cores and perf.data."""

    general: RegisterNote
    """NT_PRSTATUS: its registers only."""
    floating: RegisterNote
    """NT_FPREGSET."""
    others: tuple[RegisterNote, ...] = ()
    perf: Mapping[int, str] = field(default_factory=dict)
    """Bit of sample_regs_user -> the slot with that register."""
    signatures: Signatures | None = None

    @property
    def notes(self) -> tuple[RegisterNote, ...]:
        """All of a thread, the general registers first."""
        return (self.general, self.floating, *self.others)

    @property
    def perf_mask(self) -> int:
        """sample_regs_user with every register."""
        return sum(1 << bit for bit in self.perf)

    def __post_init__(self) -> None:
        """Refuse slots outside their note, and bits without a slot."""
        names = {slot.name for note in self.notes for slot in note.slots}
        for note in self.notes:
            for slot in note.slots:
                if slot.offset < 0 or slot.offset + slot.size > note.size:
                    raise ValueError(f"{slot.name} lies outside note {note.type:#x}")
        if not names.issuperset(self.perf.values()) or PC not in names:
            raise ValueError("a register of perf or the PC has no slot")


def in_order(*slots: Slot | str, dwarf: Mapping[str, int]) -> tuple[Slot, ...]:
    """Slots of eight bytes, one after the other; a name alone is a register of `dwarf`."""
    return tuple(
        replace(Slot(each, 0, dwarf=dwarf.get(each)) if isinstance(each, str) else each,
                offset=WORD * number)
        for number, each in enumerate(slots)
    )  # fmt: skip
