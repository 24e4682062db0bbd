"""A program or library in memory, relocated as if every import were there but far away."""

from bisect import bisect_right
from collections import Counter
from itertools import pairwise

from arch import Arch
from arch.relocations import Value
from emu.elf.layout import (
    PF_X,
    PT_GNU_RELRO,
    PT_LOAD,
    PT_TLS,
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHN_ABS,
    SHN_UNDEF,
    SHT_NOBITS,
    STT_TLS,
    Symbol,
    fail,
)
from emu.errors import ImageError, MemoryFault
from emu.image import Image
from emu.machine.loader import Loaded, map_file
from emu.memory import PAGE, WRITE, Memory
from emu.sweep.dynamic import read_dynamic
from emu.sweep.placement import LOWEST, CodeSpan, Placement
from emu.sweep.relocate import Absent, Got, Relocator, Target, ThreadBlock

_ABSENT_SIZE = 1 << 30
"""Bytes of addresses for undefined symbols: they are reached by way of whole words only."""
_ABSENT_GAP = 64 << 30
"""Bytes between them and what is mapped or may be, at least."""


def place_linked(image: Image, arch: Arch, memory: Memory) -> Placement:
    """Map an executable or a shared library and apply its dynamic relocations.

    Raises:
        ImageError: it is damaged or does not fit.
    """
    loaded = map_file(image, arch, memory)
    if loaded.start < LOWEST or loaded.end > arch.layout.mmap_base:
        raise ImageError(
            f"{image.path}: segments from {loaded.start:#x} to {loaded.end:#x}: "
            f"not between {LOWEST:#x} and {arch.layout.mmap_base:#x}"
        )
    spans = _spans(image, loaded.bias)
    absent = _absent(image, arch, memory)
    relocator = Relocator(
        arch.relocation, arch.byte_order,
        bias=loaded.bias, got=Got(0), block=_thread_block(image), absent=absent,
    )  # fmt: skip
    slots, unread = _relocate(image, arch, loaded, memory, relocator, absent)
    _protect(image, loaded.bias, memory)
    return Placement(
        spans=spans,
        undefined=absent.names,
        slots=slots,
        unapplied=relocator.unapplied + unread,
        bias=loaded.bias,
    )


def _spans(image: Image, bias: int) -> tuple[CodeSpan, ...]:
    """Sections of instructions, without section headers segments."""
    segments = [s for s in image.segments if s.kind == PT_LOAD and s.flags & PF_X and s.filesz]
    segments.sort(key=lambda segment: segment.vaddr)
    wanted = SHF_ALLOC | SHF_EXECINSTR
    code = [s for s in image.sections if s.flags & wanted == wanted and s.size]
    if not code:
        spans = [CodeSpan(s.vaddr + bias, s.vaddr + s.filesz + bias, -1, "") for s in segments]
        return tuple(spans)
    spans = []
    for section in code:
        if section.kind == SHT_NOBITS:
            continue  # the other half of a file of debug information
        end = section.addr + section.size
        at = bisect_right(segments, section.addr, key=lambda segment: segment.vaddr) - 1
        if at < 0 or end > segments[at].vaddr + segments[at].filesz:
            fail(image.path, section.offset, f"{section.name} is in no executable segment")
        spans.append(CodeSpan(section.addr + bias, end + bias, section.index, section.name))
    spans.sort(key=lambda span: span.start)
    for first, second in pairwise(spans):
        if first.end > second.start:
            offset = image.sections[second.section].offset
            fail(image.path, offset, f"sections {first.name} and {second.name} overlap")
    return tuple(spans)


def _absent(image: Image, arch: Arch, memory: Memory) -> Absent:
    """Room for undefined symbols, far from the file."""
    size = _ABSENT_SIZE + 2 * _ABSENT_GAP
    start = memory.free_range(size, arch.layout.mmap_base)
    if start < LOWEST:
        raise ImageError(f"{image.path}: leaves no room for the addresses of undefined symbols")
    bottom = start + _ABSENT_GAP
    return Absent(image.path, bottom + _ABSENT_SIZE, bottom)


def _thread_block(image: Image) -> ThreadBlock:
    for segment in image.segments:
        if segment.kind == PT_TLS:
            return ThreadBlock(segment.memsz, max(segment.align, 1))
    return ThreadBlock(0, 1)


def _target(symbol: Symbol, bias: int, absent: Absent) -> Target:
    if symbol.kind == STT_TLS:
        # One of another module lies at the start of its block, which is as good as elsewhere.
        thread = 0 if symbol.section_index == SHN_UNDEF else symbol.value
        return Target(0, symbol.size, thread, symbol.name)
    if symbol.section_index == SHN_UNDEF:
        return Target(absent.address(symbol.name), name=symbol.name)
    bias = 0 if symbol.section_index == SHN_ABS else bias
    return Target(symbol.value + bias, symbol.size, name=symbol.name)


def _relocate(
    image: Image,
    arch: Arch,
    loaded: Loaded,
    memory: Memory,
    relocator: Relocator,
    absent: Absent,
) -> tuple[dict[int, str], Counter[str]]:
    """Names by slot, and tables that could not be read."""
    dynamic = read_dynamic(image)
    slots: dict[int, str] = {}
    for where, (offset, kind, index, addend), symbols in dynamic.relocations():
        what = relocator.field(kind)
        if what is None or what.value is Value.NOTHING:
            continue
        place = offset + loaded.bias
        target = Target(0)
        if index:
            target = _target(symbols.symbol(index, where), loaded.bias, absent)
        try:
            data = bytearray(memory.read(place, what.size))
            relocator.apply(what, data, 0, place, target, addend)
            memory.write(place, bytes(data), force=True)
        except MemoryFault as fault:
            fail(image.path, where, f"relocation at {offset:#x}, which is not mapped: {fault}")
        if what.fills_slot and target.name:
            slots[place] = target.name
    for where, address in dynamic.relative():
        place = address + loaded.bias
        try:
            word = memory.read_word(place, arch.byte_order) + loaded.bias & (1 << 64) - 1
            memory.write(place, word.to_bytes(8, arch.byte_order), force=True)
        except MemoryFault as fault:
            fail(image.path, where, f"relocation at {address:#x}, which is not mapped: {fault}")
    return slots, dynamic.unread


def _protect(image: Image, bias: int, memory: Memory) -> None:
    """Take the write permission from what is constant from now on (glibc, _dl_protect_relro)."""
    segment = next((s for s in reversed(image.segments) if s.kind == PT_GNU_RELRO), None)
    if segment is None:
        return
    start = segment.vaddr + bias & -PAGE
    end = segment.vaddr + segment.memsz + bias & -PAGE
    for low, high, _, permissions in list(memory.intervals):
        first, last = max(low, start), min(high, end)
        if first < last:
            memory.protect(first, last - first, permissions & ~WRITE)
