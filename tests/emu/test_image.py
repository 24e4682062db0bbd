import os
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.errors import ImageError
from emu.image import load_image, parse_image
from tests.emu.elf_file import ElfFile, ElfSection, rela, symbol_table
from tests.support.waits import waits_at_most


def sample(order: str = "<", kind: int = 1, machine: int = 62) -> bytes:
    """Index 1 .text, 2 .symtab, 3 .strtab, 4 .data, 5 .rela.data, 6 .bss, 7 .shstrtab."""
    symbols, strings = symbol_table(
        [("late", 0x20, 4, 1, 2, 1), ("early", 0x10, 8, 1, 2, 0), ("elsewhere", 0, 0, 0, 0, 1)],
        order,
    )
    return ElfFile(
        [
            ElfSection(".text", 1, b"\x90" * 48, flags=6),
            ElfSection(".symtab", 2, symbols, link=3, entsize=24),
            ElfSection(".strtab", 3, strings),
            ElfSection(".data", 1, bytes(16), flags=3),
            ElfSection(
                ".rela.data", 4, rela([(8, 1, 2, -4), (0, 24, 1, 5)], order), link=2, info=4
            ),
            ElfSection(".bss", 8, flags=3, size=1 << 40),
        ],
        kind=kind,
        machine=machine,
        order=order,
    ).write()


def patched(offset: int, layout: str, value: int) -> bytes:
    data = bytearray(sample())
    struct.pack_into(layout, data, offset, value)
    return bytes(data)


def section_field(index: int, at: int) -> int:
    """Offset of a field in the header of section `index` of the sample."""
    shoff: int = struct.unpack_from("<Q", sample(), 40)[0]
    return shoff + 64 * index + at


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        pytest.param(b"", 0, id="empty"),
        pytest.param(b"\x7fE", 0, id="magic cut"),
        pytest.param(b"#!/bin/sh\n", 0, id="a script"),
        pytest.param(sample()[:16], 16, id="identification only"),
        pytest.param(sample()[:10], 10, id="identification cut"),
        pytest.param(sample()[:63], 63, id="header cut"),
        pytest.param(patched(4, "B", 1), 4, id="32 bit"),
        pytest.param(patched(5, "B", 3), 5, id="byte order 3"),
        pytest.param(patched(16, "<H", 4), 16, id="core file"),
        pytest.param(patched(40, "<Q", 1 << 40), 40, id="section headers past the end"),
        pytest.param(patched(40, "<Q", 8), 40, id="section headers over the header"),
        pytest.param(sample()[:-1], 60, id="section headers cut"),
        pytest.param(patched(58, "<H", 40), 58, id="e_shentsize"),
        pytest.param(patched(60, "<H", 9), 60, id="e_shnum one more"),
        pytest.param(patched(62, "<H", 99), 62, id="e_shstrndx past the table"),
        pytest.param(patched(62, "<H", 1), 62, id="e_shstrndx names code"),
        pytest.param(patched(56, "<H", 1), 32, id="program headers that are not there"),
        pytest.param(
            patched(section_field(1, 24), "<Q", 1 << 63), section_field(1, 24), id="offset"
        ),
        pytest.param(patched(section_field(4, 32), "<Q", 1 << 20), section_field(4, 24), id="size"),
        pytest.param(
            patched(section_field(2, 32), "<Q", 95), section_field(2, 32), id="symbols cut"
        ),
        pytest.param(patched(section_field(2, 40), "<I", 1), section_field(2, 40), id="strings"),
        pytest.param(
            patched(section_field(2, 40), "<I", 77), section_field(2, 40), id="no strings"
        ),
        pytest.param(patched(section_field(1, 0), "<I", 1 << 20), section_field(1, 0), id="name"),
    ],
)
def test_damage(data: bytes, offset: int) -> None:
    """Damage is one line with the file, the offset of the field that is wrong and the reason."""
    with pytest.raises(ImageError) as caught:
        parse_image("some/file", data)
    text = str(caught.value)
    assert text.startswith(f"some/file: offset {offset:#x}: ")
    assert "\n" not in text


def test_segment_past_the_end() -> None:
    """A segment must lie in the file."""
    data = ElfFile([], segments=[(1, 5, 0, 0x1000, 1 << 30, 1 << 30)]).write()
    with pytest.raises(ImageError, match="offset 0x48: segment 0 reaches past the end"):
        parse_image("file", data)


def test_segment_larger_than_its_memory() -> None:
    """A segment cannot have more bytes in the file than in memory."""
    data = ElfFile([], segments=[(1, 5, 0, 0x1000, 16, 8)]).write()
    with pytest.raises(ImageError, match="segment 0 has an impossible size"):
        parse_image("file", data)


def test_wrong_phentsize() -> None:
    """Program headers of another size are refused."""
    data = bytearray(ElfFile([], segments=[(1, 5, 0, 0x1000, 8, 8)]).write())
    struct.pack_into("<H", data, 54, 32)
    with pytest.raises(ImageError, match="offset 0x36: e_phentsize 32"):
        parse_image("file", bytes(data))


def test_names_that_overlap_without_end() -> None:
    """Thousands of names in the same bytes cannot make the work quadratic; the rest are corrupt."""
    strings = b"A" * 60000 + b"\0"
    table = b"".join(struct.pack("<IBBHQQ", n, 2, 0, 1, 0, 0) for n in range(2000))
    sections = [ElfSection(".symtab", 2, table, link=2), ElfSection(".strtab", 3, strings)]
    image = parse_image("file", ElfFile(sections).write())
    names = [symbol.name for symbol in image.symbols]
    assert names[:2] == ["A" * 60000, "A" * 59999]
    assert names[-1] == "<corrupt name 0x7cf>"
    assert sum(map(len, names)) < 20 * len(strings)


def test_symbol_without_a_name_in_the_table() -> None:
    """A name that does not begin and end in the string table costs no other one."""
    table = b"".join(struct.pack("<IBBHQQ", n, 2, 0, 1, 0, 0) for n in (400, 1, 3))
    sections = [ElfSection(".symtab", 2, table, link=2), ElfSection(".strtab", 3, b"\0a\0b")]
    image = parse_image("file", ElfFile(sections).write())
    assert [symbol.name for symbol in image.symbols] == [
        "<corrupt name 0x190>", "a", "<corrupt name 0x3>",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("number", [0, 2])
def test_header_that_is_no_section_has_no_name(number: int, kind: int) -> None:
    """Index 0 and inactive headers (SHT_NULL) are found by no name, and theirs may be anything."""
    sections = [ElfSection(".text", 1, b"x"), ElfSection(".data", 1, b"y")]
    data = bytearray(ElfFile(sections).write())
    at = struct.unpack_from("<Q", data, 40)[0] + 64 * number
    name = struct.unpack_from("<I", data, struct.unpack_from("<Q", data, 40)[0] + 64)[0]
    for offset in (name, 1 << 20):
        struct.pack_into("<II", data, at, offset, kind * (number == 0))
        image = parse_image("file", bytes(data))
        assert image.sections[number].name == ""
        assert image.section(".text") == image.sections[1]


@pytest.mark.parametrize(("order", "machine"), [("<", 62), ("<", 183), (">", 22)])
def test_sections_symbols_relocations(order: str, machine: int) -> None:
    """Both byte orders give the same sections, symbols by value and relocations."""
    image = parse_image("dir/name.o", sample(order, machine=machine))
    assert (image.name, image.kind, image.machine) == ("name.o", "rel", machine)
    assert image.byte_order == ("little" if order == "<" else "big")
    assert image.arch is not None
    assert image.arch.elf_machine == machine
    assert [section.name for section in image.sections] == [
        "", ".text", ".symtab", ".strtab", ".data", ".rela.data", ".bss", ".shstrtab",
    ]  # fmt: skip
    text, data, bss = (image.section(name) for name in (".text", ".data", ".bss"))
    assert text is not None
    assert data is not None
    assert bss is not None
    assert image.section_bytes(text) == b"\x90" * 48
    assert (bss.size, image.section_bytes(bss)) == (1 << 40, b"")
    assert [(s.name, s.value, s.size, s.section_index) for s in image.symbols] == [
        ("", 0, 0, 0), ("elsewhere", 0, 0, 0), ("early", 0x10, 8, 1), ("late", 0x20, 4, 1),
    ]  # fmt: skip
    assert image.relocations(data) == [(8, 1, 2, -4), (0, 24, 1, 5)]
    assert image.relocations(text) == []
    early = image.symbol(2)
    assert early is not None
    assert early.name == "early"
    assert image.symbol(0) is None
    assert image.symbol(4) is None


def test_machine_that_is_not_run() -> None:
    """A machine of the wrong byte order can be read but not run."""
    assert parse_image("file", sample(">", machine=183)).arch is None


def test_interpreter_and_build_id() -> None:
    """The interpreter and the build id come from their segments."""
    note = struct.pack("<III", 4, 4, 3) + b"GNU\0" + b"\xde\xad\xbe\xef"
    sections = [ElfSection(".interp", 1, b"/lib/ld.so\0"), ElfSection(".note", 7, note)]
    data = ElfFile(sections).write()
    at = data.index(b"/lib/ld.so"), data.index(note)
    # Two program headers move all sections by 2 * 56 bytes.
    segments = [
        (3, 4, at[0] + 112, 0, 11, 11),
        (4, 4, at[1] + 112, 0, len(note), len(note)),
    ]
    image = parse_image("file", ElfFile(sections, segments=segments).write())
    assert image.interp == "/lib/ld.so"
    assert image.build_id == b"\xde\xad\xbe\xef"
    assert [segment.kind for segment in image.segments] == [3, 4]


def test_debug_file_has_no_interpreter() -> None:
    """A separate debug file keeps the program header, and a section without contents."""
    sections = [ElfSection(".interp", 8, flags=2, size=11)]
    segments = [(3, 4, 0x1000, 0x1B10, 0, 11)]
    assert parse_image("file", ElfFile(sections, segments=segments).write()).interp is None


def test_note_that_overruns() -> None:
    """A note larger than its segment is no build id and no error."""
    note = struct.pack("<III", 4, 1 << 31, 3) + b"GNU\0" + bytes(8)
    sections = [ElfSection(".note.gnu.build-id", 7, note)]
    assert parse_image("file", ElfFile(sections).write()).build_id == b""


def test_unprintable_names_are_escaped() -> None:
    """A name cannot forge lines of a report."""
    table, strings = symbol_table([("a\nb", 0, 1, 1, 2, 1)])
    sections = [ElfSection(".symtab", 2, table, link=2), ElfSection(".strtab", 3, strings)]
    image = parse_image("file", ElfFile(sections).write())
    assert image.symbols[1].name == "a\\nb"


def test_unreadable_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What cannot be opened or is no regular file is an ImageError too."""
    folder = tmp_path_factory.mktemp("files")
    with pytest.raises(ImageError, match="none: No such file"):
        load_image(str(folder / "none"))
    with pytest.raises(ImageError, match="Is a directory"):
        load_image(str(folder))
    with pytest.raises(ImageError, match="not a regular file"):
        load_image("/dev/null")


def test_a_pipe_without_a_writer(tmp_path: Path) -> None:
    """A FIFO is refused like any other special file; nobody waits until someone writes to it."""
    os.mkfifo(tmp_path / "pipe")
    with waits_at_most(5), pytest.raises(ImageError, match="pipe: not a regular file"):
        load_image(str(tmp_path / "pipe"))


def refusal(data: bytes) -> str | None:
    """Read everything there is, late parts too; the error, or None."""
    try:
        image = parse_image("file", data)
        _ = image.symbols
        for section in image.sections:
            image.section_bytes(section)
            image.relocations(section)
    except ImageError as error:
        return str(error)
    return None


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_damage_is_an_image_error(data: st.DataObject) -> None:
    """Whatever bytes change, the file is read or refused."""
    content = bytearray(sample())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.sampled_from((0, 1, 0x7F, 0x80, 0xFF)))
    del content[data.draw(st.integers(0, len(content))) or len(content) :]
    text = refusal(bytes(content))
    assert text is None or text.startswith("file: offset 0x")


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_are_an_image_error(tail: bytes) -> None:
    """Random bytes behind a good identification are refused or read."""
    text = refusal(sample()[:16] + tail)
    assert text is None or text.startswith("file: offset 0x")
