"""A relocatable object in memory: the linker's work, without merging and without shortening.

          ABSENT_BOTTOM .. ABSENT_TOP   OBJECT_BASE                             OBJECT_TOP
    free | undefined symbols     | gap | code | rodata | relro | data bss | GOT |  free

Everything lies below 2 GiB, so that 32-bit absolute addresses reach it (-fno-pic and
-mcmodel=kernel of x86-64). Branches that reach 128 MiB (CALL26) reach the undefined symbols from
127 MiB of code; the gap is small for those of small code, which may have 1 MiB (-mcmodel=tiny of
aarch64) or 64 KiB (-msmall-exec of s390x).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from arch import Arch
from emu.elf.layout import (
    SHF_ALLOC,
    SHF_EXECINSTR,
    SHF_TLS,
    SHF_WRITE,
    SHN_ABS,
    SHN_COMMON,
    SHN_UNDEF,
    SHT_NOBITS,
    SHT_NULL,
    SHT_REL,
    SHT_RELA,
    Section,
    Symbol,
    fail,
)
from emu.image import RELA_SIZE, Image
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory
from emu.sweep.placement import CodeSpan, Placement
from emu.sweep.relocate import Absent, Got, Relocator, Target, ThreadBlock

OBJECT_BASE, OBJECT_TOP = 0x1000_0000, 0x7FF0_0000
ABSENT_BOTTOM, ABSENT_TOP = 0x0810_0000, OBJECT_BASE - 0x4000
GOT_SYMBOL = "_GLOBAL_OFFSET_TABLE_"

_RELRO = (".data.rel.ro", ".init_array", ".fini_array", ".preinit_array", ".ctors", ".dtors")
"""Writable sections that the linker puts where the dynamic linker takes the permission away (GNU
ld, default script, DATA_SEGMENT_RELRO_END); the first holds jump tables of -fPIC."""


@dataclass(slots=True)
class _Layout:
    """Where everything goes, before anything is mapped."""

    block: ThreadBlock
    threads: dict[int, int]
    """Offset of each thread-local section in the block."""
    position: int = OBJECT_BASE
    bases: dict[int, int] = field(default_factory=dict)
    """Address of each section, by index."""
    ranges: list[tuple[int, int, int]] = field(default_factory=list)
    """(start, end, permissions), whole pages."""
    commons: dict[str, int] = field(default_factory=dict)
    """Address of each common symbol."""


def place_object(image: Image, arch: Arch, memory: Memory) -> Placement:
    """Lay a relocatable file out, map it and apply its relocations.

    Raises:
        ImageError: it is damaged or does not fit.
    """
    layout = _lay_out(image, arch, memory)
    absent = Absent(image.path, ABSENT_TOP, ABSENT_BOTTOM)
    relocator = Relocator(
        arch.relocation, arch.byte_order,
        bias=0, got=Got(layout.position), block=layout.block, absent=absent,
    )  # fmt: skip
    for start, end, permissions in layout.ranges:
        memory.map(start, end - start, permissions)
    contents = _relocated(image, _Symbols(image, arch, layout, absent), layout, relocator)
    for index, base in layout.bases.items():
        data = contents.get(index) or image.section_bytes(image.sections[index])
        memory.write(base, bytes(data), force=True)
    table = relocator.got.content(arch.byte_order)
    if table:
        start, end = layout.position, _up(layout.position + len(table), PAGE)
        _check_room(image, memory, start, end, 0, "the global offset table")
        memory.map(start, end - start, READ)
        memory.write(start, table, force=True)
    return Placement(
        spans=_spans(image, layout.bases),
        undefined=absent.names,
        slots=relocator.got.names,
        unapplied=relocator.unapplied,
        bases=layout.bases,
    )


def _permissions(section: Section) -> int:
    permissions = READ
    if section.flags & SHF_EXECINSTR:
        permissions |= EXECUTE
    if section.flags & SHF_WRITE and not section.name.startswith(_RELRO):
        # The first values of thread-local variables are never changed.
        permissions |= 0 if section.flags & SHF_TLS else WRITE
    return permissions


def _order(section: Section) -> tuple[bool, int, bool, int]:
    """Code, constants, constants after relocation, data, zeros."""
    permissions = _permissions(section)
    return (
        not permissions & EXECUTE,
        permissions & WRITE | bool(section.flags & SHF_WRITE),
        section.kind == SHT_NOBITS,
        section.index,
    )


def _lay_out(image: Image, arch: Arch, memory: Memory) -> _Layout:
    placed = [s for s in image.sections if s.flags & SHF_ALLOC and s.index and s.kind != SHT_NULL]
    layout = _Layout(*_lay_out_threads([s for s in placed if s.flags & SHF_TLS]))
    # Zeros of thread-local variables take no room: each thread has its own.
    placed = [s for s in placed if not (s.flags & SHF_TLS and s.kind == SHT_NOBITS)]
    groups: dict[int, list[Section]] = {}
    for section in sorted(placed, key=_order):
        groups.setdefault(_permissions(section), []).append(section)
    commons = _commons(image, arch)
    if commons:
        groups.setdefault(READ | WRITE, [])
    total = 0
    for permissions, sections in groups.items():
        start = layout.position
        for section in sections:
            if section.align & section.align - 1:
                fail(image.path, section.offset, f"{section.name}: alignment {section.align}")
            base = layout.bases[section.index] = _up(layout.position, max(section.align, 1))
            layout.position = base + section.size
            _check_room(image, memory, start, layout.position, total, section.name, section.offset)
        if permissions == READ | WRITE:
            for symbol in commons:
                base = layout.commons[symbol.name] = _up(layout.position, max(symbol.value, 1))
                layout.position = base + symbol.size
                _check_room(image, memory, start, layout.position, total, symbol.name)
        layout.position = _up(layout.position, PAGE)
        total += layout.position - start
        if layout.position > start:
            layout.ranges.append((start, layout.position, permissions))
    return layout


def _lay_out_threads(sections: Sequence[Section]) -> tuple[ThreadBlock, dict[int, int]]:
    """The block of thread-local storage: first values, then zeros; offsets by section."""
    position, alignment = 0, 1
    offsets: dict[int, int] = {}
    for section in sorted(sections, key=lambda s: (s.kind == SHT_NOBITS, s.index)):
        position = _up(position, max(section.align, 1))
        offsets[section.index] = position
        position += section.size
        alignment = max(alignment, section.align)
    return ThreadBlock(position, alignment), offsets


def _commons(image: Image, arch: Arch) -> list[Symbol]:
    """Common symbols, whose `value` is their alignment, in the order of the file."""
    wanted = {SHN_COMMON, arch.relocation.large_common or SHN_COMMON}
    found: dict[str, Symbol] = {}
    for symbol in image.symbols:
        if symbol.section_index in wanted and symbol.section_index >= len(image.sections):
            found.setdefault(symbol.name, symbol)
    return list(found.values())


def _check_room(
    image: Image, memory: Memory, start: int, end: int, before: int, name: str, offset: int = 0
) -> None:
    """Refuse what ends at `end` behind `before` bytes that are mapped already."""
    if end > OBJECT_TOP:
        fail(image.path, offset, f"{name} would end at {end:#x}, behind {OBJECT_TOP:#x}")
    if before + _up(end - start, PAGE) > memory.limit - memory.mapped:
        fail(image.path, offset, f"{name}: more than the limit of {memory.limit} bytes")


class _Symbols:
    """The symbols of the object as targets of relocations, by index."""

    def __init__(self, image: Image, arch: Arch, layout: _Layout, absent: Absent) -> None:
        self._image = image
        self._layout = layout
        self._absent = absent
        self._large_common = arch.relocation.large_common
        # Relocations may leave the symbol out: S is 0.
        self._known = {0: Target(0)}

    def target(self, index: int, offset: int) -> Target:
        """The symbol; `offset` is where the file names it."""
        known = self._known.get(index)
        if known is None:
            symbol = self._image.symbol(index)
            if symbol is None:
                fail(self._image.path, offset, f"relocation with symbol {index}, which is none")
            known = self._known[index] = self._find(symbol, offset)
        return known

    def _find(self, symbol: Symbol, offset: int) -> Target:
        index, layout = symbol.section_index, self._layout
        if index == SHN_UNDEF:
            if symbol.name == GOT_SYMBOL:
                return Target(layout.position)
            return Target(self._absent.address(symbol.name), name=symbol.name)
        if index in layout.threads:
            return Target(symbol.value, symbol.size, layout.threads[index] + symbol.value)
        if index < len(self._image.sections):
            # A section that is not loaded lies at 0, as it does for the linker.
            base = layout.bases.get(index, 0)
        elif index == SHN_ABS:
            base = 0
        elif symbol.name in layout.commons:
            return Target(layout.commons[symbol.name], symbol.size, name=symbol.name)
        else:
            fail(self._image.path, offset, f"symbol {symbol.name} in section {index:#x}")
        return Target(base + symbol.value, symbol.size, name=symbol.name)


def _relocated(
    image: Image, symbols: _Symbols, layout: _Layout, relocator: Relocator
) -> dict[int, bytearray]:
    """Contents of the sections that have relocations."""
    contents: dict[int, bytearray] = {}
    if sum(table.size for table in image.sections if table.kind == SHT_RELA) > len(image.data):
        # Many headers for the same bytes would make the work as large as one likes.
        fail(image.path, len(image.data), "the relocation tables overlap")
    for table in image.sections:
        if table.info not in layout.bases:
            continue
        if table.kind == SHT_REL:
            # No supplement of our machines has relocations without addends.
            relocator.unapplied[table.name] += 1
        if table.kind != SHT_RELA:
            continue
        section = image.sections[table.info]
        data = contents.get(section.index)
        if data is None:
            data = contents[section.index] = bytearray(image.section_bytes(section))
        base = layout.bases[section.index]
        for number, (offset, kind, symbol, addend) in enumerate(image.table_relocations(table)):
            where = table.offset + RELA_SIZE * number
            what = relocator.field(kind)
            if what is None:
                continue
            if offset + what.size > len(data):
                fail(image.path, where, f"{section.name}: relocation at {offset:#x}, past its end")
            target = symbols.target(symbol, where)
            relocator.apply(what, data, offset, base + offset, target, addend)
    return contents


def _spans(image: Image, bases: dict[int, int]) -> tuple[CodeSpan, ...]:
    """Sections of instructions; one without bytes is room that a kernel fills at run time."""
    code = [
        section
        for section in image.sections
        if section.index in bases
        and section.flags & SHF_EXECINSTR
        and section.size
        and section.kind != SHT_NOBITS
    ]
    spans = [CodeSpan(bases[s.index], bases[s.index] + s.size, s.index, s.name) for s in code]
    return tuple(sorted(spans, key=lambda span: span.start))


def _up(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment
