from pathlib import Path

import pytest

from arch import ALL, Arch, by_name
from emu.errors import ImageError
from emu.image import load_image
from emu.machine.loader import load
from emu.memory import EXECUTE, READ, WRITE, Memory
from tests.emu.machine.elf_program import (
    BASE,
    CODE,
    PT_GNU_STACK,
    Program,
    R,
    Segment,
    W,
    X,
    code_program,
)

LIMIT = 64 << 20


@pytest.fixture
def x86() -> Arch:
    """A machine where only the layout matters."""
    arch = by_name("x86_64")
    assert arch is not None
    return arch


@pytest.fixture
def memory() -> Memory:
    """An empty address space."""
    return Memory(LIMIT)


@pytest.mark.parametrize("arch", ALL, ids=lambda arch: arch.name)
def test_fixed_program_lies_at_its_addresses(arch: Arch, memory: Memory, tmp_path: Path) -> None:
    """Code is readable and executable at the linked address, and the heap starts behind it."""
    loaded = load(code_program(arch, b"code").image(tmp_path), memory)
    assert memory.read(CODE, 4) == b"code"
    assert (loaded.bias, loaded.entry, loaded.brk) == (0, CODE, CODE + 0x1000)
    assert loaded.ranges == ((CODE, CODE + 0x1000, READ | EXECUTE),)


@pytest.mark.parametrize("arch", ALL, ids=lambda arch: arch.name)
def test_position_independent_program_gets_the_base(
    arch: Arch, memory: Memory, tmp_path: Path
) -> None:
    """Its lowest page lies at pie_base, whatever address it was linked for."""
    program = Program(arch, [Segment(0x3000, b"code")], entry=0x3002, kind=3)
    loaded = load(program.image(tmp_path), memory)
    assert loaded.bias == arch.layout.pie_base - 0x3000
    assert loaded.entry == arch.layout.pie_base + 2
    assert memory.read(arch.layout.pie_base, 4) == b"code"


def test_bss_is_zero_to_the_end_of_its_page(x86: Arch, memory: Memory, tmp_path: Path) -> None:
    """Bytes of the file behind filesz must not show in the bss."""
    data = Segment(BASE + 0x3008, b"data" + b"\xff" * 64, R | W, 0x2008, memsz=0x2000, filesz=4)
    load(code_program(x86, b"code", data).image(tmp_path), memory)
    assert memory.read(BASE + 0x3008, 4) == b"data"
    assert memory.read(BASE + 0x300C, 0x1FF4) == bytes(0x1FF4)


def test_segment_without_bss_shows_its_whole_pages(
    x86: Arch, memory: Memory, tmp_path: Path
) -> None:
    """Linux maps whole pages of the file: the bytes around the segment are there too."""
    file = b"before" + b"segment" + b"behind"
    whole = Segment(CODE, file, 0, 0x1000, kind=0)
    part = Segment(CODE + 6, b"segment", R | X, 0x1006)
    program = Program(x86, [whole, part], entry=CODE + 6)
    load(program.image(tmp_path), memory)
    assert memory.read(CODE, len(file)) == file


def test_writable_code_is_both(x86: Arch, memory: Memory, tmp_path: Path) -> None:
    """A segment that is writable and executable keeps both permissions."""
    program = Program(x86, [Segment(CODE, b"code", W | X)])
    assert load(program.image(tmp_path), memory).ranges[0][2] == READ | WRITE | EXECUTE


def test_shared_page_belongs_to_the_later_segment(
    x86: Arch, memory: Memory, tmp_path: Path
) -> None:
    """Where two segments touch a page, the later mapping replaces it, as in Linux."""
    code = Segment(CODE, b"c" * 0x1800, R | X, 0x1000)
    data = Segment(CODE + 0x1800, b"d" * 0x100, R | W, 0x2800)
    load(Program(x86, [code, data]).image(tmp_path), memory)
    rows = [(start, end, allowed) for start, end, _, allowed in memory.intervals]
    assert rows == [
        (CODE, CODE + 0x1000, READ | EXECUTE), (CODE + 0x1000, CODE + 0x2000, READ | WRITE),
    ]  # fmt: skip
    assert memory.read(CODE + 0x17FF, 2) == b"cd"


def test_program_headers_are_found(x86: Arch, memory: Memory, tmp_path: Path) -> None:
    """AT_PHDR is the address in the segment that holds the headers."""
    head = Segment(BASE, b"", R, 0, filesz=0x200)
    program = Program(x86, [head, Segment(CODE, b"code")])
    assert load(program.image(tmp_path), memory).phdr == BASE + 64


def test_program_headers_outside_every_segment(x86: Arch, memory: Memory, tmp_path: Path) -> None:
    """Without such a segment the address is 0."""
    assert load(code_program(x86, b"code").image(tmp_path), memory).phdr == 0


@pytest.mark.parametrize(("flags", "executable"), [(R | W, False), (R | W | X, True)])
def test_stack_is_executable_only_if_asked(
    x86: Arch, memory: Memory, tmp_path: Path, flags: int, executable: bool
) -> None:
    """PT_GNU_STACK with PF_X asks for it; nothing else does."""
    stack = Segment(0, b"", flags, 0, kind=PT_GNU_STACK)
    loaded = load(code_program(x86, b"code", stack).image(tmp_path), memory)
    assert loaded.executable_stack is executable


USER_END = (1 << 47) - 0x1000


@pytest.mark.parametrize(
    ("segments", "entry", "reason"),
    [
        ([Segment(CODE, b"code"), Segment(CODE + 2, b"de", R, 0x1002)], CODE, "overlap"),
        ([Segment(CODE, b"code", memsz=1 << 40)], CODE, "over the limit"),
        ([Segment(1 << 62, b"code")], 1 << 62, "user space ends"),
        ([Segment(USER_END, b"code")], USER_END, "user space ends"),
        ([Segment(0x1000, b"code")], 0x1000, "below"),
        ([Segment(CODE, b"code")], CODE + 4, "no executable segment"),
        ([Segment(CODE, b"code", R | W)], CODE, "no executable segment"),
        ([Segment(CODE + 8, b"code")], CODE + 8, "differ in a page"),
        ([], CODE, "no segment to load"),
    ],
)
def test_hostile_segments(
    x86: Arch, memory: Memory, tmp_path: Path, segments: list[Segment], entry: int, reason: str
) -> None:
    """Each is refused with the file and the reason, before anything is allocated."""
    image = Program(x86, segments, entry=entry).image(tmp_path)
    with pytest.raises(ImageError, match=reason) as caught:
        load(image, memory)
    assert image.path in str(caught.value)
    assert memory.mapped == 0


def test_empty_segment_behind_the_file_is_no_error(
    x86: Arch, memory: Memory, tmp_path: Path
) -> None:
    """Linkers give a bss without bytes an offset at or behind the end of the file."""
    bss = Segment(BASE + 0x2000, b"", R | W, 0x9000, memsz=0x100, filesz=0)
    file = Program(x86, [Segment(CODE, b"code"), bss]).to_bytes()[:0x1004]
    path = tmp_path / "program"
    path.write_bytes(file)
    assert load(load_image(str(path)), memory).brk == BASE + 0x3000


def test_segment_kind_is_what_maps(x86: Arch, memory: Memory, tmp_path: Path) -> None:
    """Only PT_LOAD is mapped; a note over the same bytes changes nothing."""
    note = Segment(CODE, b"", R, 0x1000, filesz=4, kind=4)
    loaded = load(code_program(x86, b"code", note).image(tmp_path), memory)
    assert len(loaded.ranges) == 1
