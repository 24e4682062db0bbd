"""What a relocation computes and where it puts the result, as data.

In the notation of the psABI supplements: S value of the symbol, A addend, P place that is
filled, B load bias, Z size of the symbol, GOT address of the global offset table, Page(x) the
4 KiB page of x. Each machine has its types in a file of their own beside its descriptor.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto


class Value(Enum):
    """The first operand."""

    NOTHING = auto()
    """Nothing is written: a mark for the linker's own rewriting."""
    SYMBOL = auto()
    """S + A."""
    BASE = auto()
    """B + A."""
    SIZE = auto()
    """Z + A."""
    GOT = auto()
    """GOT + A."""
    SLOT = auto()
    """Address of the GOT entry that holds S, + A."""
    THREAD = auto()
    """S + A - TP: offset from the thread pointer."""
    MODULE_OFFSET = auto()
    """S + A - start of the module's block of thread-local storage."""
    MODULE = auto()
    """Number of the module."""
    THREAD_SLOT = auto()
    """Address of the GOT entry that holds THREAD."""
    PAIR = auto()
    """Address of the two GOT entries that hold MODULE and MODULE_OFFSET."""
    MODULE_PAIR = auto()
    """The same with an offset of 0."""
    DESCRIPTOR_PAIR = auto()
    """Address of the two GOT entries of a TLS descriptor: function and its argument."""
    DESCRIPTOR = auto()
    """These two words themselves."""


class Origin(Enum):
    """What is subtracted from the first operand X."""

    ZERO = auto()
    PLACE = auto()
    """X - P."""
    PAGE = auto()
    """Page(X) - Page(P)."""
    GOT = auto()
    """X - GOT."""
    GOT_PAGE = auto()
    """X - Page(GOT)."""


class Check(Enum):
    """Which results are in range."""

    NONE = auto()
    SIGNED = auto()
    UNSIGNED = auto()
    EITHER = auto()
    """What fits as signed or as unsigned number."""


@dataclass(frozen=True, slots=True)
class RelocationField:
    """One type: its result, and the bits of the place that get it."""

    name: str
    value: Value
    origin: Origin = Origin.ZERO
    size: int = 8
    """Bytes at P, one number in the machine's byte order."""
    check: Check = Check.NONE
    shift: int = 0
    """Low bits of the result that are dropped."""
    bits: tuple[tuple[int, int, int], ...] = ()
    """(lowest bit of the shifted result, count, lowest bit in the number), ascending; empty: the
    whole number is replaced."""
    width: int = 0
    """Bits of the shifted result that `check` allows; 0: as many as are stored."""
    aligned: bool = False
    """The dropped bits must be 0."""
    sign: int = 0
    """A mask in the number: cleared for a negative result, whose complement is then stored, and
    set otherwise."""
    fills_slot: bool = False
    """The dynamic linker resolves an imported function or variable here."""

    @property
    def checked_width(self) -> int:
        """Bits of the shifted result that are in range."""
        if self.width:
            return self.width
        return self.bits[-1][0] + self.bits[-1][1] if self.bits else 8 * self.size


@dataclass(frozen=True, slots=True)
class RelocationFacts:
    """How this machine's files are relocated."""

    fields: Mapping[int, RelocationField] = field(default_factory=dict)
    """By relocation type."""
    thread_header: int | None = None
    """Bytes between the thread pointer and the block of the program (ELF Handling For
    Thread-Local Storage, variant I); None: the block ends at the thread pointer (variant II)."""
    addend_in_slot: bool = False
    """A GOT entry holds S + A, and A is not added to its address (aarch64's GDAT(S + A))."""
    large_common: int = 0
    """A second section index for common symbols; 0: there is none."""
