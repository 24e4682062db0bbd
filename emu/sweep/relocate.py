"""Relocations: what `arch/relocations.py` describes, computed and stored.

Nothing is rewritten as linkers do to shorten code: a reference by way of the global offset table
gets an entry of ours, a thread-local variable the place that it has in a program of one module.
"""

from collections import Counter
from dataclasses import dataclass

from arch import ByteOrder
from arch.relocations import Check, Origin, RelocationFacts, RelocationField, Value
from emu.errors import ImageError

ABSENT_STEP = 16
"""Bytes from one undefined symbol to the next: the largest alignment that instructions with a
scaled offset ask of what they name."""
DESCRIPTOR_FUNCTION = "_dl_tlsdesc_return"
"""What glibc puts into the first word of a TLS descriptor of a variable that always exists; it
returns the second."""
_WORD = 8
_SIGN = 1 << 63
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Target:
    """A symbol as relocations see it."""

    address: int
    """S, runtime."""
    size: int = 0
    thread: int = 0
    """Thread-local: bytes from the start of the module's block."""
    name: str = ""


class Absent:
    """Addresses for symbols that are defined elsewhere, one for each name.

    Args:
        path: file that is named in errors.
        top: the addresses go down from here...
        bottom: ...to here.
    """

    def __init__(self, path: str, top: int, bottom: int) -> None:
        self._path = path
        self._next = top & -ABSENT_STEP
        self._bottom = bottom
        self._addresses: dict[str, int] = {}

    def address(self, name: str) -> int:
        """The one of `name`.

        Raises:
            ImageError: there are too many names.
        """
        known = self._addresses.get(name)
        if known is not None:
            return known
        if self._next - ABSENT_STEP < self._bottom:
            raise ImageError(f"{self._path}: more than {len(self._addresses)} undefined symbols")
        self._next -= ABSENT_STEP
        self._addresses[name] = self._next
        return self._next

    @property
    def names(self) -> dict[int, str]:
        """Names by address."""
        return {address: name for name, address in self._addresses.items()}


@dataclass(frozen=True, slots=True)
class ThreadBlock:
    """The module's thread-local storage as the first program of a thread has it."""

    size: int
    alignment: int

    def from_pointer(self, header: int | None) -> int:
        """Start of the block minus thread pointer; `header` as in `RelocationFacts`."""
        if header is None:
            return -_round_up(self.size, self.alignment)
        return _round_up(header, self.alignment)


class Got:
    """A global offset table that grows behind everything else."""

    def __init__(self, start: int) -> None:
        self.start = start
        self.words: list[int] = []
        self.names: dict[int, str] = {}
        """Names by address, of entries that hold the address of a symbol."""
        self._known: dict[tuple[Value, str, tuple[int, ...]], int] = {}

    def entry(self, kind: Value, name: str, words: tuple[int, ...]) -> int:
        """Address of the entry with these words."""
        key = kind, name, words
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self.start + _WORD * len(self.words)
            self.words += words
            if kind is Value.SLOT and name:
                self.names[known] = name
        return known

    def content(self, byte_order: ByteOrder) -> bytes:
        """The table."""
        return b"".join((word & _MASK).to_bytes(_WORD, byte_order) for word in self.words)


class Relocator:
    """Applies the relocations of one file.

    Args:
        facts: of the machine.
        byte_order: of the machine.
        bias: runtime minus link-time address.
        got: where entries are made.
        block: thread-local storage of the file.
        absent: where undefined symbols are.
    """

    def __init__(
        self,
        facts: RelocationFacts,
        byte_order: ByteOrder,
        *,
        bias: int,
        got: Got,
        block: ThreadBlock,
        absent: Absent,
    ) -> None:
        self.got = got
        self.unapplied: Counter[str] = Counter()
        self._facts = facts
        self._byte_order = byte_order
        self._bias = bias
        self._thread = block.from_pointer(facts.thread_header)
        self._absent = absent

    def field(self, kind: int) -> RelocationField | None:
        """What the type does; None, and counted: it is unknown."""
        field = self._facts.fields.get(kind)
        if field is None:
            self.unapplied[f"type {kind}"] += 1
        return field

    def apply(
        self,
        field: RelocationField,
        data: bytearray,
        offset: int,
        place: int,
        target: Target,
        addend: int,
    ) -> None:
        """Fill `data` at `offset`, which lies at runtime address `place`.

        Out of range, nothing is filled and the type is counted as unapplied.
        """
        kind = field.value
        if kind is Value.NOTHING:
            return
        if kind is Value.DESCRIPTOR:
            words = self._descriptor(target.thread + addend)
            for number, word in enumerate(words):
                at = offset + _WORD * number
                data[at : at + _WORD] = (word & _MASK).to_bytes(_WORD, self._byte_order)
            return
        value = self._value(kind, target, addend)
        match field.origin:
            case Origin.PLACE:
                value -= place
            case Origin.PAGE:
                value = (value & -4096) - (place & -4096)
            case Origin.GOT:
                value -= self.got.start
            case Origin.GOT_PAGE:
                value -= self.got.start & -4096
        if not fill(field, data, offset, value, self._byte_order):
            self.unapplied[f"{field.name} (out of range)"] += 1

    def _value(self, kind: Value, target: Target, addend: int) -> int:
        """The first operand."""
        match kind:
            case Value.SYMBOL:
                return target.address + addend
            case Value.BASE:
                return self._bias + addend
            case Value.SIZE:
                return target.size + addend
            case Value.GOT:
                return self.got.start + addend
            case Value.THREAD:
                return self._thread + target.thread + addend
            case Value.MODULE_OFFSET:
                return target.thread + addend
            case Value.MODULE:
                return 1  # the number of the program itself
        inside, outside = (addend, 0) if self._facts.addend_in_slot else (0, addend)
        words: tuple[int, ...]
        match kind:
            case Value.SLOT:
                words = (target.address + inside,)
            case Value.THREAD_SLOT:
                words = (self._thread + target.thread + inside,)
            case Value.PAIR:
                words = (1, target.thread + inside)
            case Value.MODULE_PAIR:
                words = (1, 0)
            case _:
                words = self._descriptor(target.thread + inside)
        name = "" if inside or kind is not Value.SLOT else target.name
        return self.got.entry(kind, name, words) + outside

    def _descriptor(self, thread: int) -> tuple[int, int]:
        return self._absent.address(DESCRIPTOR_FUNCTION), self._thread + thread


def fill(
    field: RelocationField, data: bytearray, offset: int, value: int, byte_order: ByteOrder
) -> bool:
    """Store a result modulo 2**64 in the bits of `field`; False, and nothing done: out of range."""
    value = (value + _SIGN & _MASK) - _SIGN
    if not _fits(field, value):
        return False
    end = offset + field.size
    shifted = value >> field.shift
    if not field.bits:
        shifted &= (1 << 8 * field.size) - 1
        data[offset:end] = shifted.to_bytes(field.size, byte_order)
        return True
    number = int.from_bytes(data[offset:end], byte_order)
    if field.sign:
        number = number & ~field.sign if shifted < 0 else number | field.sign
        shifted = ~shifted if shifted < 0 else shifted
    for low, count, at in field.bits:
        mask = (1 << count) - 1
        number = number & ~(mask << at) | (shifted >> low & mask) << at
    data[offset:end] = number.to_bytes(field.size, byte_order)
    return True


def _fits(field: RelocationField, value: int) -> bool:
    """`value` is a signed 64-bit number."""
    if field.aligned and value & (1 << field.shift) - 1:
        return False
    bits = field.checked_width + field.shift
    match field.check:
        case Check.SIGNED:
            return -1 << bits - 1 <= value < 1 << bits - 1
        case Check.UNSIGNED:
            return 0 <= value < 1 << bits
        case Check.EITHER:
            return -1 << bits - 1 <= value < 1 << bits
    return True


def _round_up(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
