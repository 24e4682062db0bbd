"""A table put into made files and test programs, read back by pyelftools and by `emu.image`."""

import io
import random
import struct
from collections.abc import Mapping
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile

import arch as machines
from emu.elf.rewrite import (
    LARGEST_GROWTH,
    PT_GNU_SFRAME,
    SHT_GNU_SFRAME,
    find_room,
)
from emu.errors import UnwindlabError
from emu.image import PT_LOAD, Image, load_image, parse_image
from testprogs.unpack import Prebuilt
from tests.emu.elf_file import ElfFile, ElfSection

Programs = Mapping[tuple[str, str], Prebuilt]

TABLE = bytes(range(1, 124))
BASE, BSS = 0x400000, 0x30000
PT_PHDR, PT_GNU_STACK = 6, 0x6474E551


def made(
    order: str = "<",
    *,
    sections: tuple[ElfSection, ...] = (),
    segments: tuple[tuple[int, int, int, int, int, int], ...] = (),
    bss: int = BSS,
    kind: int = 2,
) -> bytes:
    """A program with code and, in memory, a bss behind it."""
    machine = 62 if order == "<" else 22
    load = (PT_LOAD, 7, 0, BASE, 0x400, bss)
    return ElfFile(
        [ElfSection(".text", 1, bytes(0x400), 6, BASE + 0x200), *sections],
        kind=kind,
        machine=machine,
        order=order,
        entry=BASE + 0x200,
        segments=[*segments, load],
    ).write()


def filled(data: bytes, table: bytes = TABLE) -> bytes:
    return find_room("made", data).fill(table)


def read(data: bytes) -> Image:
    return parse_image("made", data)


def elf(data: bytes) -> Any:
    return ELFFile(io.BytesIO(data))


def segments(image: Image, kind: int) -> list[Any]:
    return [segment for segment in image.segments if segment.kind == kind]


@pytest.mark.parametrize("order", ["<", ">"])
def test_section_and_segment(order: str) -> None:
    """Exactly one of each, with type, flags, alignment, size and contents as they must be."""
    data = filled(made(order))
    (section,) = [s for s in elf(data).iter_sections() if s.name == ".sframe"]
    header = section.header
    assert section.data() == TABLE
    assert header["sh_addralign"] == 8
    assert (header["sh_flags"], header["sh_entsize"], header["sh_link"]) == (2, 0, 0)
    image = read(data)
    found = image.section(".sframe")
    assert found is not None
    assert (found.kind, found.size, found.addr % 8) == (SHT_GNU_SFRAME, len(TABLE), 0)
    (segment,) = segments(image, PT_GNU_SFRAME)
    assert (segment.vaddr, segment.offset) == (found.addr, found.offset)
    assert (segment.filesz, segment.memsz) == (len(TABLE), len(TABLE))
    assert (segment.flags, segment.align) == (4, 8)


def test_what_was_there_stays_where_it_was() -> None:
    """Contents, old segments and old sections do not move or change."""
    before = made()
    after = filled(before)
    assert after[64 + 56 : 0x1000] == before[64 + 56 :].ljust(0x1000 - 64 - 56, b"\0")
    old, new = read(before), read(after)
    assert [s for s in new.segments if s in old.segments] == list(old.segments)
    names = [section.name for section in old.sections]
    assert [section.name for section in new.sections] == [*names, ".sframe"]
    strings = ".shstrtab"
    assert [s for s in new.sections if s.name not in (strings, ".sframe")] == [
        s for s in old.sections if s.name != strings
    ]


def test_new_segment_is_found_by_every_loader() -> None:
    """It is above the bss, read-only, and has the headers where both ways of finding them look."""
    image = read(filled(made()))
    first, new = segments(image, PT_LOAD)
    assert new.vaddr >= first.vaddr + first.memsz
    assert new.flags == 4
    assert new.offset == image.phoff
    assert new.vaddr == first.vaddr - first.offset + image.phoff
    assert new.vaddr % new.align == new.offset % new.align == 0
    table = image.section(".sframe")
    assert table is not None
    assert new.offset + new.filesz == table.offset + table.size
    assert new.filesz == new.memsz


def test_program_headers_are_said_to_be_where_they_are() -> None:
    """PT_PHDR, by which a dynamic linker finds out where a program was loaded."""
    old = (PT_PHDR, 4, 64, BASE + 64, 112, 112)
    image = read(filled(made(segments=(old,))))
    (headers,) = segments(image, PT_PHDR)
    (_, new) = segments(image, PT_LOAD)
    assert (headers.offset, headers.vaddr) == (image.phoff, new.vaddr)
    assert headers.filesz == headers.memsz == image.phnum * 56
    assert image.segments[0].kind == PT_PHDR


@pytest.mark.parametrize("order", ["<", ">"])
def test_old_table_is_replaced(order: str) -> None:
    """Its header is that of the new one; nothing names the old bytes any more."""
    old = ElfSection(".sframe", 1, b"\xee" * 40, 2, BASE + 0x280)
    marks = ((PT_GNU_SFRAME, 4, 0x280, BASE + 0x280, 40, 40),) * 2
    before = read(made(order, sections=(old,), segments=marks))
    image = read(filled(made(order, sections=(old,), segments=marks)))
    assert len(image.sections) == len(before.sections)
    (section,) = [s for s in image.sections if s.name == ".sframe"]
    assert section.index == 2
    assert image.section_bytes(section) == TABLE
    (segment,) = segments(image, PT_GNU_SFRAME)
    assert segment.vaddr == section.addr > BASE + BSS


def test_replacing_again() -> None:
    """The result can be given another table, which again is the only one."""
    image = read(filled(filled(made()), b"second" * 100))
    (section,) = [s for s in image.sections if s.name == ".sframe"]
    assert image.section_bytes(section) == b"second" * 100
    (segment,) = segments(image, PT_GNU_SFRAME)
    assert segment.vaddr == section.addr


def test_second_table_and_its_relocations_are_dropped() -> None:
    """Both headers become inactive, and the indices of the others stay."""
    sections = (
        ElfSection(".sframe", 1, bytes(8), 2, BASE + 0x280),
        ElfSection(".sframe", 1, bytes(8), 2, BASE + 0x288),
        ElfSection(".rela.sframe", 4, bytes(24), 0, info=2, entsize=24),
        ElfSection(".comment", 1, b"kept"),
    )
    image = read(filled(made(sections=sections)))
    kinds = [(section.name, section.kind) for section in image.sections[1:7]]
    assert kinds[1:5] == [(".sframe", SHT_GNU_SFRAME), ("", 0), ("", 0), (".comment", 1)]


def test_alignment_of_larger_pages_is_kept(prebuilt: Programs) -> None:
    """A program made for pages of 64 KiB keeps its segments in different ones."""
    for name in ("work-glibc-O2", "calls-musl-v3-O2-pie"):
        data = prebuilt["aarch64", name].path.read_bytes()
        image = read(filled(data))
        *others, new = segments(image, PT_LOAD)
        assert new.align == max(segment.align for segment in others)
        assert new.vaddr // new.align > max(s.vaddr + s.memsz - 1 for s in others) // new.align


def test_every_program(arch: machines.Arch, prebuilt: Programs) -> None:
    """Structure and old contents in all prebuilt programs of a machine."""
    for entry in prebuilt.values():
        if entry.arch != arch.name or not entry.runs:
            continue
        before = load_image(str(entry.path))
        image = read(filled(before.data))
        kinds = [segment.kind for segment in image.segments]
        assert (kinds.count(PT_GNU_SFRAME), image.phnum) == (1, len(kinds))
        assert [s.name for s in image.sections].count(".sframe") == 1
        assert image.symbols == before.symbols
        assert image.data[64 : len(before.data)] == before.data[64:]
        assert image.entry == before.entry


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "offset 0x0: not an ELF file"),
        (made(kind=1), "a relocatable object has no place for a linked table"),
        (made(bss=LARGEST_GROWTH + 0x2000), "bytes behind the end of the file"),
        (made(segments=((PT_LOAD, 4, 0, 8, 8, 8),)), "differ in a page"),
        (ElfFile([], segments=[(PT_GNU_STACK, 6, 0, 0, 0, 0)]).write(), "no segment to load"),
    ],
)
def test_refused(data: bytes, reason: str) -> None:
    """What has no room is refused in one line that names the file."""
    with pytest.raises(UnwindlabError) as caught:
        find_room("made", data)
    text = str(caught.value)
    assert text.startswith("made: ")
    assert reason in text
    assert "\n" not in text


def test_without_section_headers() -> None:
    """A file that was stripped of them is refused."""
    data = bytearray(made())
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<H", data, 60, 0)
    with pytest.raises(UnwindlabError, match="no section headers"):
        find_room("made", bytes(data))
    data = bytearray(made())
    struct.pack_into("<H", data, 62, 0)
    with pytest.raises(UnwindlabError, match="no table of section names"):
        find_room("made", bytes(data))


def test_mutated_headers_are_refused_or_give_a_readable_file() -> None:
    """Whatever the headers say, there is no other error and no huge file."""
    rng = random.Random(3)
    old = ElfSection(".sframe", 1, bytes(40), 2, BASE + 0x280)
    whole = made(sections=(old,), segments=((PT_GNU_SFRAME, 4, 0x280, BASE + 0x280, 40, 40),))
    done = 0
    for _ in range(3000):
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            at = rng.choice((rng.randrange(16, 64 + 112), rng.randrange(len(data))))
            data[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        try:
            result = filled(bytes(data))
        except UnwindlabError:
            continue
        done += 1
        assert len(result) <= len(data) + LARGEST_GROWTH + 0x20000
        assert [s.name for s in read(result).sections[1:]].count(".sframe") >= 1
    assert done > 300
