"""Where instructions begin in a range of code, and what each does to the flow of control.

Code is decoded in parts, each linearly from its start: functions by their tables' bounds, then
what lies between them. What differs between machines is data (arch/flow.py); the length of an
instruction is a table or, where only a disassembler knows it, Capstone's answer.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numba
import numpy as np
import numpy.typing as npt

from arch import Arch
from arch.flow import Flow, FlowEncoding
from emu.native import load8, load64, swap64
from emu.sweep.lengths import Begins, ByteArray, WordArray

SOME_REGISTER = 64
"""A target below this is the DWARF number of a register."""

_LONGEST_PREFIX = 14
_ROOM = 32
"""Bytes behind the code that may be read: prefixes, and a pattern of eight bytes."""
_KEYS = 4
"""Leading bytes of an opcode, one of which tells patterns apart."""
_ROUNDS = 64
"""Jumps into the middle that lead to further ones; more come from hostile code only."""
_DIRECT = [int(kind) for kind in (Flow.CALL, Flow.BRANCH, Flow.JUMP, Flow.LINK)]

# Words of a pattern: what matches, then where the target is.
(
    _MASK, _VALUE, _FLOW, _NEEDS, _T_OFFSET, _T_SIZE, _T_SHIFT, _T_BITS, _T_SCALE, _T_SIGNED,
    _T_FROM_END, _R_BYTE, _R_SHIFT, _R_COUNT, _R_FIRST,
) = range(15)  # fmt: skip
_WORDS = 15
_BAD = int(Flow.BAD)


@dataclass(frozen=True, slots=True, eq=False)
class Instructions:
    """Code at runtime addresses from `start` on; element ``(address - start) >> shift``."""

    start: int
    shift: int
    """Instructions begin at multiples of ``1 << shift`` bytes."""
    kinds: ByteArray
    """Values of `Flow`."""
    sizes: ByteArray
    """Bytes; 0: no instruction begins here."""
    targets: WordArray
    """Runtime address of a direct target. Of an indirect one the DWARF number of the register
    that holds it (below SOME_REGISTER), or the address of the word that does. Else -1."""
    padding: ByteArray
    """1: it only fills."""

    def places(self) -> WordArray:
        """The elements at which instructions begin, ascending."""
        return np.flatnonzero(self.sizes != 0)  # of numbers it takes ten times as long

    @property
    def end(self) -> int:
        """First address behind the code."""
        return self.start + (len(self.sizes) << self.shift)


def decode(arch: Arch, code: bytes, start: int, parts: Sequence[tuple[int, int]]) -> Instructions:
    """Decode parts of `code`, which stands at the runtime address `start`.

    An instruction that does not fit in its part, or is none, is BAD and as short as one can
    be. Where a direct jump inside of a part goes to the middle of an instruction, one begins
    there as well: jumps over data in code, over a lock prefix, into their own second half.
    Where parts overlap, the instructions of all of them are there.

    Args:
        arch: the machine.
        code: bytes; from an address at which an instruction may begin.
        start: runtime address of the first byte.
        parts: (first address, address behind), anywhere; what is outside of `code` is left out.
    """
    shift = arch.instruction_unit.bit_length() - 1
    count = len(code) >> shift
    bounds = np.array(parts, np.int64).reshape(-1, 2) - start
    bounds = np.clip(bounds, 0, count << shift)
    found = Instructions(
        start, shift, np.zeros(count, np.uint8), np.zeros(count, np.uint8),
        np.full(count, -1, np.int64), np.zeros(count, np.uint8),
    )  # fmt: skip
    begins = Begins(arch, code, shift, found.sizes, found.kinds)
    begins.cut((first, last) for first, last in bounds.tolist())
    recognise = _recogniser(arch, code, found)
    owner: npt.NDArray[np.int32] = np.full(count, -1, np.int32)
    for part, (first, last) in enumerate((bounds >> shift).tolist()):
        owner[first:last] = part
    places = found.places()
    for _ in range(_ROUNDS):
        recognise(places)
        places = places[np.isin(found.kinds[places], _DIRECT)]
        into = (found.targets[places] - start) >> shift
        inside = (into >= 0) & (into < count)
        places, into = places[inside], into[inside]
        missing = into[(owner[places] == owner[into]) & (found.sizes[into] == 0)]
        if not len(missing):
            break
        missing = np.unique(missing)
        before = found.sizes != 0
        lasts = bounds[owner[missing], 1]
        begins.join(zip((missing << shift).tolist(), lasts.tolist(), strict=True))
        places = np.flatnonzero((found.sizes != 0) & ~before)
    return found


def _recogniser(arch: Arch, code: bytes, found: Instructions) -> Callable[[WordArray], None]:
    """Fills kinds, targets and padding at some of the places where instructions begin."""
    room = np.frombuffer(code + bytes(_ROOM), np.uint8)
    patterns, numbers, prefix_bits = _tables(arch.flow, arch.prefixes)
    key, firsts, candidates = _index(arch.flow)
    filler = _padding(arch.padding)

    def recognise(places: WordArray) -> None:
        _recognise(
            places, room.ctypes.data, found.start, found.shift, arch.byte_order == "big",
            patterns, numbers, prefix_bits, key, firsts, candidates, filler,
            found.kinds, found.sizes, found.targets, found.padding,
        )  # fmt: skip

    return recognise


@numba.njit(cache=True)
def _number(at: int, size: int, big: bool) -> int:
    """The unsigned number of `size` bytes (8: the signed one) at a host address."""
    word = load64(at)
    if big:
        word = swap64(word) >> (64 - 8 * size)
    if size == 8:
        return word
    return word & ((1 << 8 * size) - 1)


@numba.njit(cache=True)
def _displacement(pattern: WordArray, at: int, size: int, big: bool) -> int:
    """From the start of an instruction of `size` bytes at a host address to its target."""
    place = at + pattern[_T_OFFSET]
    if pattern[_T_OFFSET] < 0:
        place += size
    value = _number(place, pattern[_T_SIZE], big) >> pattern[_T_SHIFT]
    bits = pattern[_T_BITS]
    value &= (1 << bits) - 1
    if pattern[_T_SIGNED] and value >> (bits - 1):
        value -= 1 << bits
    value *= pattern[_T_SCALE]
    return int(value + size if pattern[_T_FROM_END] else value)


@numba.njit(cache=True)
def _recognise(
    places: WordArray,
    base: int,
    start: int,
    shift: int,
    big: bool,
    patterns: WordArray,
    numbers: WordArray,
    prefix_bits: WordArray,
    key: int,
    firsts: WordArray,
    candidates: WordArray,
    filler: WordArray,
    kinds: ByteArray,
    sizes: ByteArray,
    targets: WordArray,
    padding: ByteArray,
) -> None:
    """Kind, target and padding of instructions; `base` is the host address of the code."""
    for index in places:
        size = sizes[index]
        if kinds[index] == _BAD:
            continue
        at = base + (index << shift)
        word = load64(at)
        for number in range(len(filler)):
            if word & filler[number, 0] == filler[number, 1]:
                padding[index] = 1
                break
        opcode = at
        prefixes = 0
        while prefix_bits[load8(opcode)] and opcode - at < _LONGEST_PREFIX:
            prefixes |= prefix_bits[load8(opcode)]
            opcode += 1
        if opcode != at:
            word = load64(opcode)
        byte = (word >> 8 * key) & 0xFF
        for place in range(firsts[byte], firsts[byte + 1]):
            number = candidates[place]
            if word & patterns[number, _MASK] != patterns[number, _VALUE]:
                continue
            if patterns[number, _NEEDS] and patterns[number, _NEEDS] & prefixes == 0:
                continue
            pattern = patterns[number]
            kinds[index] = pattern[_FLOW]
            if pattern[_T_SIZE]:
                targets[index] = start + (index << shift) + _displacement(pattern, at, size, big)
            elif pattern[_R_COUNT]:
                field = _number(opcode + pattern[_R_BYTE], 2, False) >> pattern[_R_SHIFT]
                targets[index] = numbers[pattern[_R_FIRST] + (field & (pattern[_R_COUNT] - 1))]
            break


def _word(code: bytes) -> int:
    """Bytes in memory order as a load of the host sees them."""
    return int.from_bytes(code.ljust(8, b"\0"), "little", signed=True)


@functools.cache
def _tables(
    flow: tuple[FlowEncoding, ...], prefixes: bytes
) -> tuple[WordArray, WordArray, WordArray]:
    """Patterns; register numbers that they refer to; a bit for each set of prefixes."""
    bits: WordArray = np.zeros(256, np.int64)
    bits[list(prefixes)] = 1
    sets = dict.fromkeys(encoding.prefixes for encoding in flow if encoding.prefixes)
    needs = {b"": 0}
    for place, needed in enumerate(sets, 1):
        needs[needed] = 1 << place
        bits[list(needed)] |= 1 << place
    numbers = list(chain.from_iterable(_numbers(encoding) for encoding in flow))
    table: WordArray = np.zeros((len(flow), _WORDS), np.int64)
    first = 0
    for row, encoding in zip(table, flow, strict=True):
        row[[_MASK, _VALUE, _FLOW, _NEEDS]] = (
            _word(encoding.mask), _word(encoding.value), encoding.flow, needs[encoding.prefixes]
        )  # fmt: skip
        target, register = encoding.target, encoding.register
        if target is not None:
            row[_T_OFFSET : _T_FROM_END + 1] = (
                target.offset, target.size, target.shift, target.bits, target.scale,
                target.signed, target.from_end,
            )  # fmt: skip
        if register is not None:
            row[_R_BYTE:] = register.byte, register.shift, len(register.numbers), first
            first += len(register.numbers)
    return table, np.array(numbers, np.int64), bits


def _numbers(encoding: FlowEncoding) -> Iterator[int]:
    return iter(encoding.register.numbers if encoding.register is not None else ())


@functools.cache
def _index(flow: tuple[FlowEncoding, ...]) -> tuple[int, WordArray, WordArray]:
    """Which patterns may match, by one byte of the opcode: the byte, and a list for each value.

    The byte is the one that tells patterns apart best. List `i` is
    ``candidates[firsts[i]:firsts[i + 1]]``, in order of precedence.
    """

    parts = np.array(
        [[encoding.mask.ljust(_KEYS, b"\0")[:_KEYS], encoding.value.ljust(_KEYS, b"\0")[:_KEYS]]
         for encoding in flow]
    ).view(np.uint8).reshape(-1, 2, _KEYS)  # fmt: skip
    every = np.arange(256, dtype=np.uint8)[:, None]
    fits = [every & parts[:, 0, key] == parts[:, 1, key] for key in range(_KEYS)]
    key = min(range(_KEYS), key=lambda key: int(fits[key].sum()))
    firsts = np.concatenate([[0], np.cumsum(fits[key].sum(1))])
    return key, firsts, np.nonzero(fits[key])[1]


def _padding(padding: Sequence[tuple[bytes, bytes]]) -> WordArray:
    words = [(_word(mask), _word(value)) for value, mask in padding]
    return np.array(words, np.int64).reshape(-1, 2)
