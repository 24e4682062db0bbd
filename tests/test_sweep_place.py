"""Files in memory for the sweep: where they are, what is relocated, what is refused.

The truth about objects is the linker's: `data/sweep/forms.ld` says how GNU ld made, of the same
code at the same addresses, the files that memory is compared with. The truth about a program that
relocates itself is what it did when it ran.
"""

import random
import struct
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from arch import ALL, Arch, by_name
from emu.cfi.table import cfi_table
from emu.elf.layout import SHF_ALLOC, SHF_EXECINSTR, SHT_NOBITS
from emu.errors import ImageError, UnwindlabError
from emu.image import Image, load_image, parse_image
from emu.linux.process import Process
from emu.linux.program import alone
from emu.machine.engine import Engine
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory
from emu.sweep.dynamic import Dynamic, read_dynamic
from emu.sweep.place import Placed, place_file
from emu.tables import FunctionRows, Table
from testprogs.unpack import Prebuilt
from tests.emu.elf_file import ElfFile, ElfSection, rela, symbol_table

DATA = Path(__file__).parent / "data" / "sweep"
LIMIT = 64 << 20
OUTSIDE, OTHER, DESCRIPTOR = 0x0FFF_BFF0, 0x0FFF_BFE0, 0x0FFF_BFD0


def placed(path: Path | str, limit: int = LIMIT) -> Placed:
    return place_file(load_image(str(path)), Memory(limit))


def forms(arch: Arch) -> Placed:
    return placed(DATA / f"forms-{arch.name}.o")


def library(arch: Arch) -> Placed:
    return placed(DATA / f"library-{arch.name}.so")


def named(image: Image, name: str) -> int:
    """Index of the section of that name."""
    section = image.section(name)
    assert section is not None
    return section.index


# ------------------------------------------------------------------------------- relocatable files
def test_object_is_what_the_linker_makes(arch: Arch) -> None:
    """Every byte of code and data, and of the global offset table, is as GNU ld has it."""
    file = forms(arch)
    linked = load_image(str(DATA / f"forms-{arch.name}"))
    compared = []
    for section in linked.sections:
        if not section.flags & SHF_ALLOC or section.kind == SHT_NOBITS:
            continue
        assert file.memory.read(section.addr, section.size) == linked.section_bytes(section), (
            section.name
        )
        compared.append(section.name)
    assert compared == [
        ".text", ".text.unlikely", ".rodata", ".data.rel.ro", ".tdata", ".data", ".table",
    ]  # fmt: skip
    assert file.unapplied == Counter()
    for name in (*compared[:-1], ".bss"):
        there = linked.section(name)
        assert there is not None
        assert file.runtime(named(file.image, name), 0) == there.addr


def test_undefined_symbols_and_slots_of_an_object(arch: Arch) -> None:
    """Names by the addresses that forms.ld gives them; nothing is mapped there."""
    file = forms(arch)
    descriptor = {} if arch.name == "s390x" else {DESCRIPTOR: "_dl_tlsdesc_return"}
    assert file.undefined == {OUTSIDE: "outside", OTHER: "other"} | descriptor
    assert file.slots == {0x1000_3000: "near", 0x1000_3008: "outside"}
    assert not any(file.memory.is_mapped(address, 1) for address in file.undefined)
    assert file.function_at(OUTSIDE) == ("outside", OUTSIDE, "")


def test_permissions_of_an_object(arch: Arch) -> None:
    """Code, constants (those of -fPIC and the GOT too), data: nothing more than it must be."""
    file = forms(arch)
    assert [(start, end, allowed) for start, end, _, allowed in file.memory.intervals] == [
        (0x1000_0000, 0x1000_1000, READ | EXECUTE),
        (0x1000_1000, 0x1000_2000, READ),
        (0x1000_2000, 0x1000_3000, READ | WRITE),
        (0x1000_3000, 0x1000_4000, READ),
    ]
    constant = [file.readable_constant(file.runtime(named(file.image, name), 0))
                for name in (".text", ".rodata", ".data.rel.ro", ".data", ".bss")]  # fmt: skip
    assert constant == [True, True, True, False, False]
    assert not file.readable_constant(OUTSIDE)


def test_names_and_places_of_an_object(arch: Arch) -> None:
    """An address is named by its own section's symbols, and leads back to its offset."""
    file = forms(arch)
    unlikely = named(file.image, ".text.unlikely")
    near = file.runtime(unlikely, 0)
    assert file.functions()["near"] == near
    assert file.functions()["begin"] == 0x1000_0000
    assert file.function_at(near + 2) == ("near", near, ".text.unlikely")
    assert file.function_at(0x1000_0004) == ("begin", 0x1000_0000, ".text")
    assert file.link(near + 2) == 2
    span = file.span_at(near)
    assert span is not None
    assert (span.start, span.section, span.name) == (near, unlikely, ".text.unlikely")
    assert [span.name for span in file.spans] == [".text", ".text.unlikely"]
    assert file.span_at(span.end) is None
    assert file.span_at(0x0FFF_FFFF) is None
    assert file.function_at(0x1000_3000) == (None, None, "")


def test_table_of_an_object_is_moved(arch: Arch) -> None:
    """Each function to its section's place; what is nowhere in memory is left out."""
    file = forms(arch)
    unlikely = named(file.image, ".text.unlikely")
    rows = [FunctionRows(2, 2, (), (), 0, section) for section in (1, unlikely, 999)]
    rows.append(FunctionRows(0x2000, 2, (), (), 0, 1))
    table = file.place(Table("cfi", tuple(rows), 0))
    assert [(one.start, one.section) for one in table.functions] == [
        (0x1000_0002, -1), (file.runtime(unlikely, 2), -1),
    ]  # fmt: skip
    with pytest.raises(ImageError, match="section 999 is not loaded"):
        file.runtime(999, 0)


def test_objects_of_compilers(prebuilt: Mapping[tuple[str, str], Prebuilt]) -> None:
    """Nothing stays unapplied, every FDE is code, and its symbol is found there."""
    objects = [entry for entry in prebuilt.values() if entry.kind in ("object", "relinked")]
    assert len(objects) > 8
    for entry in objects:
        file = placed(entry.path)
        assert file.unapplied == Counter(), entry.path
        table = cfi_table(file.image)
        assert table is not None
        moved = file.place(table)
        assert len(moved.functions) == len(table.functions) > 10
        for function in moved.functions:
            span = file.span_at(function.start)
            assert span is not None
            assert function.start + function.size <= span.end
            assert file.function_at(function.start)[1] == function.start
        flags = SHF_ALLOC | SHF_EXECINSTR
        code = [s for s in file.image.sections if s.flags & flags == flags and s.size]
        assert sorted(span.section for span in file.spans) == [s.index for s in code]


def test_calls_of_an_object_reach_what_they_name(arch: Arch) -> None:
    """Branches of aarch64 reach 128 MiB: undefined symbols are within that."""
    file = forms(arch)
    assert all(abs(span.end - address) < 64 << 20
               for span in file.spans for address in file.undefined)  # fmt: skip


def made(
    arch: Arch,
    sections: list[ElfSection],
    symbols: list[tuple[str, int, int, int, int, int]],
    entries: list[tuple[int, int, int, int]] | None = None,
) -> Image:
    """An object: `sections`, then the symbol table, and `entries` for the first section."""
    order = "<" if arch.byte_order == "little" else ">"
    table, strings = symbol_table(symbols, order)
    count = len(sections)
    file = [
        *sections,
        ElfSection(".symtab", 2, table, link=count + 2, entsize=24),
        ElfSection(".strtab", 3, strings),
        ElfSection(".rela", 4, rela(entries or [], order), link=count + 1, info=1, entsize=24),
    ]
    data = ElfFile(file, kind=1, machine=arch.elf_machine, order=order).write()
    return parse_image("made.o", data)


def machine(name: str) -> Arch:
    arch = by_name(name)
    assert arch is not None
    return arch


def test_out_of_range_and_unknown_types_are_counted() -> None:
    """The field stays as it is, and the count has the type's name or number."""
    arch = machine("x86_64")
    code = ElfSection(".text", 1, b"\xee" * 16, SHF_ALLOC | SHF_EXECINSTR)
    absolute = [("far", 1 << 40, 0, 0xFFF1, 0, 1)]
    entries = [(0, 10, 1, 0), (4, 11, 1, 0), (8, 10, 1, 0), (9, 200, 1, 0)]
    image = made(arch, [code], absolute, entries)
    file = place_file(image, Memory(LIMIT))
    assert file.unapplied == Counter(
        {"R_X86_64_32 (out of range)": 2, "R_X86_64_32S (out of range)": 1, "type 200": 1}
    )
    assert file.memory.read(0x1000_0000, 16) == b"\xee" * 16


def test_code_that_is_zeros_is_no_code() -> None:
    """Kernel modules have sections that the kernel fills with trampolines."""
    arch = machine("aarch64")
    code = ElfSection(".text", 1, bytes(8), SHF_ALLOC | SHF_EXECINSTR)
    room = ElfSection(".plt", SHT_NOBITS, flags=SHF_ALLOC | SHF_EXECINSTR, size=4096)
    file = place_file(made(arch, [code, room], []), Memory(LIMIT))
    assert [span.name for span in file.spans] == [".text"]
    assert file.memory.is_mapped(file.runtime(2, 0), 4096)


def test_sections_of_one_name_keep_the_order_of_the_file() -> None:
    """COMDAT groups and -ffunction-sections give many sections, also with equal names."""
    arch = machine("s390x")
    code = [ElfSection(".text.f", 1, bytes([7, n]), SHF_ALLOC | SHF_EXECINSTR) for n in range(5)]
    file = place_file(made(arch, code, [("f", 0, 2, 4, 2, 1), ("f", 0, 2, 2, 2, 0)]), Memory(LIMIT))
    assert [span.section for span in file.spans] == [1, 2, 3, 4, 5]
    assert file.memory.read(0x1000_0000, 40)[::8] == bytes([7] * 5)
    assert file.functions() == {"f": file.spans[3].start}


# ------------------------------------------------------------------------------------ linked files
@pytest.mark.parametrize(
    ("name", "relative", "words", "resolver", "code"),
    [
        ("x86_64", (0x1BE0, 0x1BE8, 0x1BF8, 0x1D20, 0x1E08),
         {0x1F98: "outside", 0x1FA0: "__tls_get_addr", 0x1FA8: "chosen", 0x1FB0: 1, 0x1FC0: 1,
          0x1FC8: 4, 0x1FD0: 1, 0x1FD8: 0, 0x1FE0: "variable", 0x2010: "outside"}, 0x530, 0x520),
        # Descriptors; the block begins 16 bytes behind the thread pointer.
        ("aarch64", (0x1BF8, 0x1C00, 0x1C10, 0x1D38, 0x1E20),
         {0x1FB0: "outside", 0x1FB8: "chosen", 0x1FC0: "_dl_tlsdesc_return", 0x1FC8: 16,
          0x1FD0: "_dl_tlsdesc_return", 0x1FD8: 20, 0x1FE0: "_dl_tlsdesc_return", 0x1FE8: 16,
          0x1FF8: "variable", 0x2010: "outside"}, 0x528, 0x520),
        ("s390x", (0x1C18, 0x1C20, 0x1C30, 0x1D58, 0x1E40),
         {0x1FB0: "outside", 0x1FB8: "__tls_get_offset", 0x1FC0: "chosen", 0x1FC8: 1, 0x1FD8: 1,
          0x1FE0: 4, 0x1FE8: 1, 0x1FF0: 0, 0x1FF8: "variable", 0x2010: "outside"}, 0x5E0, 0x5D8),
    ],
)  # fmt: skip
def test_library(
    name: str,
    relative: tuple[int, ...],
    words: dict[int, int | str],
    resolver: int,
    code: int,
) -> None:
    """Each word that `readelf -rW` and `readelf -s` say is relocated, and what to."""
    arch = machine(name)
    file = library(arch)
    base = arch.layout.pie_base

    def word(address: int) -> int:
        return file.memory.read_word(base + address, arch.byte_order)

    assert file.unapplied == Counter()
    assert [word(address) - base for address in relative] == [0x2000] * 5
    known = {**file.undefined, base + resolver: "chosen"}
    found = {address: known.get(word(address), word(address)) for address in words}
    assert found == words
    assert known[word(0x2008) - 5] == "variable"
    slots = {a - base: text for a, text in file.slots.items()}
    wanted = ("outside", "__tls_get_addr", "__tls_get_offset", "chosen", "variable")
    assert slots == {a: text for a, text in words.items() if text in wanted and a < 0x2000}
    text = file.span_at(base + code)
    assert text is not None
    assert (text.name, file.link(base + code)) == (".text", code)
    assert file.runtime(-1, code) == base + code
    assert file.functions()["chosen"] == base + resolver
    assert file.function_at(base + resolver) == ("chosen", base + resolver, ".text")
    # RELRO ends where .data begins.
    assert file.readable_constant(base + 0x1FFF)
    assert not file.readable_constant(base + 0x2000)
    assert not any(file.memory.is_mapped(address, 1) for address in file.undefined)


def test_program_that_relocates_itself_agrees(
    arch: Arch, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """A static position-independent program, run to its end, has the same constants."""
    image = load_image(prebuilt[arch.name, "calls-musl-v3-O2-pie"].path)
    file = place_file(image, Memory(LIMIT))
    memory = Memory(LIMIT)
    process = Process(alone(image), Engine(arch, memory), memory, (), None, b"", 0)
    process.run()
    assert process.exit_status == 0
    compared = relocated = 0
    for start, end, _, allowed in file.memory.intervals:
        if allowed & WRITE:
            continue
        assert file.memory.read(start, end - start) == memory.read(start, end - start)
        compared += end - start
    for _, entry, _ in read_dynamic(image).relocations():
        relocated += file.readable_constant(file.runtime(-1, entry.offset))
    assert compared > 16 << 10
    assert relocated > 5
    assert file.unapplied == Counter()


def test_static_program_chooses_its_functions(
    arch: Arch, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """Without PT_DYNAMIC the relocations lie in a section; IRELATIVE gives the resolver."""
    file = placed(prebuilt[arch.name, "calls-glibc-O2"].path)
    entries = [entry for _, entry, _ in read_dynamic(file.image).relocations()]
    assert len(entries) >= 5
    assert file.runtime(-1, 0x1234) == 0x1234
    for entry in entries:
        assert arch.relocation.fields[entry.kind].name.endswith("_IRELATIVE")
        assert file.memory.read_word(entry.offset, arch.byte_order) == entry.addend
        assert file.span_at(entry.addend) is not None


def test_library_without_section_headers(arch: Arch) -> None:
    """Its executable segment is the code; symbols of relocations are found all the same."""
    data = bytearray((DATA / f"library-{arch.name}.so").read_bytes())
    struct.pack_into("<Q", data, 40, 0)  # e_shoff
    struct.pack_into("<IHHHHHH", data, 48, 0, *struct.unpack_from("<HHH", data, 52), 0, 0, 0)
    file = place_file(parse_image("stripped.so", bytes(data)), Memory(LIMIT))
    whole = library(arch)
    assert [(span.section, span.name) for span in file.spans] == [(-1, "")]
    assert file.spans[0].start == arch.layout.pie_base
    assert file.spans[0].end >= whole.spans[-1].end
    assert (file.slots, file.undefined) == (whole.slots, whole.undefined)
    assert file.function_at(file.spans[0].start) == (None, None, "")


def test_relative_relocations_in_bit_maps() -> None:
    """An address, then maps of the 63 words behind it (gABI, the example of a table of RELR)."""
    words = (0x1000, 0b1011, 1 << 63 | 1, 0x3000)
    image = parse_image("file", ElfFile([]).write() + struct.pack("<4Q", *words))
    start = len(image.data) - 32
    assert [address for _, address in Dynamic(image, relr=[(start, 32)]).relative()] == [
        0x1000, 0x1008, 0x1018, 0x1008 + 63 * 8 + 62 * 8, 0x3000,
    ]  # fmt: skip


def test_symbol_versions() -> None:
    """A function is found with its version and without, the default one first."""
    arch = machine("x86_64")
    code = ElfSection(".text", 1, bytes(16), SHF_ALLOC | SHF_EXECINSTR)
    symbols = [("f@OLD", 0, 1, 1, 2, 1), ("f@@NEW", 4, 1, 1, 2, 1), ("g", 8, 1, 1, 2, 2),
               ("g", 12, 1, 1, 2, 1)]  # fmt: skip
    found = place_file(made(arch, [code], symbols), Memory(LIMIT)).functions()
    assert {name: address - 0x1000_0000 for name, address in found.items()} == {
        "f@OLD": 0, "f@@NEW": 4, "f": 4, "g": 12,
    }  # fmt: skip


# ------------------------------------------------------------------------------------ hostile files
CODE = ElfSection(".text", 1, bytes(16), SHF_ALLOC | SHF_EXECINSTR)


def patched(data: bytes, index: int, at: int, value: int) -> Image:
    """An object with another 64-bit field in the header of a section."""
    changed = bytearray(data)
    shoff = struct.unpack_from("<Q", changed, 40)[0]
    struct.pack_into("<Q", changed, shoff + 64 * index + at, value)
    return parse_image("made.o", bytes(changed))


@pytest.mark.parametrize(
    ("sections", "symbols", "entries", "reason"),
    [
        ([CODE], [], [(13, 10, 0, 0)], ".text: relocation at 0xd, past its end"),
        ([CODE], [], [(1 << 63, 10, 0, 0)], "past its end"),
        ([CODE], [], [(0, 10, 7, 0)], "relocation with symbol 7, which is none"),
        ([CODE], [("s", 0, 0, 0xFF30, 0, 1)], [(0, 10, 1, 0)], "symbol s in section 0xff30"),
        ([CODE, ElfSection(".bss", 8, flags=3, size=1 << 40)], [], [], "behind 0x7ff00000"),
        ([CODE, ElfSection(".bss", 8, flags=3, size=1 << 62)], [], [], "behind 0x7ff00000"),
        ([CODE, ElfSection(".bss", 8, flags=3, size=65 << 20)], [], [], "more than the limit"),
        ([CODE], [("c", 16, 1 << 50, 0xFFF2, 1, 1)], [], "c would end"),
        ([CODE], [("c", 1 << 50, 8, 0xFFF2, 1, 1)], [], "c would end"),
    ],
)  # fmt: skip
def test_hostile_objects(
    sections: list[ElfSection],
    symbols: list[tuple[str, int, int, int, int, int]],
    entries: list[tuple[int, int, int, int]],
    reason: str,
) -> None:
    """One line with the file, the offset and the reason."""
    image = made(machine("x86_64"), sections, symbols, entries)
    with pytest.raises(ImageError, match=reason) as caught:
        place_file(image, Memory(LIMIT))
    assert str(caught.value).startswith("made.o: offset 0x")


@pytest.mark.parametrize("alignment", [3, 1 << 40, 1 << 63, (1 << 64) - 1])
def test_hostile_alignment(alignment: int) -> None:
    """No power of two, or more than there is."""
    data = made(machine("x86_64"), [CODE, CODE], []).data
    with pytest.raises(ImageError, match=r"made.o: offset 0x[0-9a-f]+: \.text"):
        place_file(patched(data, 2, 48, alignment), Memory(LIMIT))


def test_tables_that_overlap() -> None:
    """A table of headers for the same relocations cannot make the work quadratic."""
    entries = rela([(0, 10, 0, 0)] * 20)
    sections = [
        CODE,
        ElfSection(".symtab", 2, bytes(24), link=3, entsize=24),
        ElfSection(".strtab", 3, b"\0"),
        ElfSection(".rela", 4, entries, link=2, info=1),
    ]
    sections += [ElfSection(".rela", 4, b"", link=2, info=1) for _ in range(9)]  # fmt: skip
    data = bytearray(ElfFile(sections, kind=1).write())
    shoff = struct.unpack_from("<Q", data, 40)[0]
    for index in range(5, 14):
        data[shoff + 64 * index + 24 : shoff + 64 * index + 40] = (
            data[shoff + 64 * 4 + 24 : shoff + 64 * 4 + 40]
        )  # fmt: skip
    with pytest.raises(ImageError, match="the relocation tables overlap"):
        place_file(parse_image("made.o", bytes(data)), Memory(LIMIT))


def test_too_many_undefined_symbols(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their addresses are not endless."""
    monkeypatch.setattr("emu.sweep.objects.ABSENT_BOTTOM", 0x0FFF_BFE0)
    names = [(f"s{n}", 0, 0, 0, 0, 1) for n in range(3)]
    image = made(machine("x86_64"), [CODE], names, [(0, 1, n + 1, 0) for n in range(3)])
    with pytest.raises(ImageError, match="more than 2 undefined symbols"):
        place_file(image, Memory(LIMIT))


def test_machine_without_descriptor() -> None:
    """It is named."""
    image = parse_image("file", ElfFile([CODE], kind=1, machine=8).write())
    with pytest.raises(ImageError, match="file: machine 8 is not supported"):
        place_file(image, Memory(LIMIT))


def executable(address: int, size: int = 0x1000, addr: int | None = None) -> Image:
    """A program of one segment, and a section of code at `addr`."""
    code = ElfSection(".text", 1, bytes(16), 6, address + 0x200 if addr is None else addr)
    file = ElfFile([code], kind=2, segments=[(1, 5, 0, address, 0x100, size)])
    file.segments[0] = (1, 5, 0, address, len(file.write()), max(size, len(file.write())))
    return parse_image("program", file.write())


@pytest.mark.parametrize(
    ("image", "reason"),
    [
        (executable(0x10000), "segments from 0x10000 to .*: not between 0x100000 and"),
        (executable(0x7FFF_F7FF_F000), "not between"),
        (executable(0xFFFF_FFFF_8100_0000), "user space ends"),
        (executable(0x40_0000, 1 << 40), "over the limit"),
        (executable(0x40_0000, addr=0x50_0000), "offset 0x[0-9a-f]+: .text is in no executable"),
    ],
)
def test_hostile_programs(image: Image, reason: str) -> None:
    """A program outside of the room for files, larger than the limit, or with code elsewhere."""
    with pytest.raises(ImageError, match=f"program: .*{reason}"):
        place_file(image, Memory(LIMIT))


def dynamic_section(data: bytes, order: str) -> int:
    """Offset of PT_DYNAMIC's bytes."""
    (phoff,) = struct.unpack_from(order + "Q", data, 32)
    for number in range(struct.unpack_from(order + "H", data, 56)[0]):
        kind, _, offset = struct.unpack_from(order + "IIQ", data, phoff + 56 * number)
        if kind == 2:
            return int(offset)
    raise AssertionError


@pytest.mark.parametrize(
    ("tag", "value", "reason"),
    [
        (7, 1 << 40, "address 0x10000000000 is in no segment with bytes"),  # DT_RELA
        (8, 25, "25 bytes of relocations"),  # DT_RELASZ
        (8, 24 << 20, "25165824 bytes of relocations"),
        (9, 23, "dynamic tag 9 is 23, not 24"),  # DT_RELAENT
        (6, 1 << 63, "address 0x8000000000000000 is in no segment"),  # DT_SYMTAB
        (10, 1 << 50, "bytes of names"),  # DT_STRSZ
        (2, 1 << 50, "bytes of relocations"),  # DT_PLTRELSZ
        (20, 17, "dynamic tag 20 is 17, not 7"),  # DT_PLTREL
    ],
)
def test_hostile_dynamic_section(arch: Arch, tag: int, value: int, reason: str) -> None:
    """Each with the file offset of the value that is wrong."""
    order = "<" if arch.byte_order == "little" else ">"
    data = bytearray((DATA / f"library-{arch.name}.so").read_bytes())
    at = dynamic_section(data, order)
    while struct.unpack_from(order + "Q", data, at)[0] != tag:
        at += 16
    struct.pack_into(order + "Q", data, at + 8, value)
    with pytest.raises(ImageError, match=reason) as caught:
        place_file(parse_image("bad.so", bytes(data)), Memory(LIMIT))
    assert str(caught.value).startswith(f"bad.so: offset {at + 8:#x}: ")


def test_dynamic_relocation_of_nothing(arch: Arch) -> None:
    """A place that is not mapped, and a symbol that is not there."""
    image = library(arch).image
    order = "<" if arch.byte_order == "little" else ">"
    where = next(offset for offset, _, _ in read_dynamic(image).relocations())
    for at, value, reason in ((0, 1 << 40, "at 0x10000000000, which is not mapped"),
                              (8, 1 << 60 | 1, "symbol 268435456, which is none")):  # fmt: skip
        data = bytearray(image.data)
        struct.pack_into(order + "Q", data, where + at, value)
        if at:
            kind = next(k for k, f in arch.relocation.fields.items() if f.fills_slot)
            struct.pack_into(order + "Q", data, where + at, (value >> 32) << 32 | kind)
        with pytest.raises(ImageError, match=reason) as caught:
            place_file(parse_image("bad.so", bytes(data)), Memory(LIMIT))
        assert str(caught.value).startswith(f"bad.so: offset {where:#x}: ")


@pytest.mark.parametrize("kind", ["forms-{}.o", "library-{}.so"])
def test_damaged_files(arch: Arch, kind: str) -> None:
    """Whatever bytes are changed, the file is placed or refused with one of our errors."""
    source = random.Random(f"{arch.name} {kind}")
    data = (DATA / kind.format(arch.name)).read_bytes()
    refused = []
    for _ in range(400):
        changed = bytearray(data)
        for _ in range(source.randrange(1, 4)):
            at = source.randrange(len(changed))
            changed[at] = source.choice((0, 1, 0x7F, 0x80, 0xFF, source.randrange(256)))
        try:
            file = place_file(parse_image("damaged", bytes(changed)), Memory(LIMIT))
            file.functions()
            for span in file.spans:
                file.function_at(span.start)
        except UnwindlabError as error:
            refused.append(str(error))
    assert 0 < len(refused) < 300
    assert [text for text in refused if not text.startswith("damaged: ")] == []


def test_nothing_is_mapped_outside_of_the_room(arch: Arch) -> None:
    """Below 1 MiB and above mmap_base the driver has its own."""
    for file in (forms(arch), library(arch)):
        for start, end, _, _ in file.memory.intervals:
            assert start >= 1 << 20
            assert end <= arch.layout.mmap_base
        assert all(1 << 20 <= a < arch.layout.mmap_base for a in file.undefined)
    assert {arch.layout.mmap_base % PAGE for arch in ALL} == {0}
