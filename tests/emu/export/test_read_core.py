"""Cores read back: what was written, what Linux wrote, and what nobody should write."""

import contextlib
import json
import lzma
import struct
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch import ALL, Arch
from arch.aarch64 import AARCH64
from emu.errors import ImageError, UnwindlabError, UsageError
from emu.export.read_core import Core, core_of, read_core
from emu.image import load_image
from emu.memory import PAGE
from emu.unwind.walker import walk
from emu.verdict import Verdict
from testprogs.unpack import Prebuilt
from tests.emu.export.stopped import (
    AUXILIARY,
    CODE,
    DATA,
    GUARD,
    STACK,
    core_bytes,
    stopped,
    thread,
)

RECORDED = Path(__file__).parents[2] / "data" / "recorded"
_BYTES = {arch.name: core_bytes(stopped(arch, thread(arch, 78, 4))) for arch in ALL}


def read_back(arch: Arch) -> Core:
    """A core of two threads."""
    return core_of("made.core", _BYTES[arch.name])


def test_threads(arch: Arch) -> None:
    """Registers of each thread, by DWARF number and by name, as they were written."""
    written = [thread(arch), thread(arch, 78, 4)]
    for wanted, got in zip(written, read_back(arch).threads, strict=True):
        assert (got.tid, got.pc) == (wanted.tid, wanted.pc)
        assert got.registers == wanted.registers
        for name, number in wanted.others.items():
            assert got.others[name] & number == number


def test_memory(arch: Arch) -> None:
    """What is stored can be read, and nothing else."""
    memory = read_back(arch).memory
    assert memory.read(STACK + 0x800, 5) == b"stack"
    assert memory.read_some(CODE, 4) == b"\x7fELF"
    assert memory.find(CODE + PAGE) is None
    assert memory.find(GUARD) is None
    assert memory.find(STACK + 2 * PAGE) is None


def test_files_and_auxiliary_vector(arch: Arch) -> None:
    """Names and offsets in bytes, code, the vector, the name of the program."""
    core = read_back(arch)
    assert [(p.start, p.end, p.offset, p.path) for p in core.parts] == [
        (CODE, CODE + 3 * PAGE, 0, "/bin/made"),
        (DATA, DATA + PAGE, PAGE, "/bin/made"),
    ]
    assert core.code == ((CODE, CODE + 3 * PAGE),)
    assert core.auxiliary == dict(AUXILIARY[:-1])
    assert core.name == b"made"
    assert [(c.start, c.end, c.offset) for c in core.mapped_code()] == [
        (CODE, CODE + 3 * PAGE, 0)
    ]


def core_of_linux(folder: Path, prebuilt: Mapping[tuple[str, str], Prebuilt]) -> tuple[Core, str]:
    """The kernel's core of a program, and the program."""
    path = folder / "core"
    path.write_bytes(lzma.decompress((RECORDED / "frames.core.xz").read_bytes()))
    return read_core(str(path)), str(prebuilt["x86_64", "frames-v3-O2-nofp"].path)


@pytest.mark.parametrize("kind", ["cfi", "sframe"])
def test_a_core_of_linux(
    tmp_path: Path, prebuilt: Mapping[tuple[str, str], Prebuilt], kind: str
) -> None:
    """The kernel's core of a running program is walked as gdb walks it."""
    core, program = core_of_linux(tmp_path, prebuilt)
    image = load_image(program)
    files = core.files(program=image)
    places = files.places(core.mapped_code(image))
    trace = walk(core.sample(core.threads[0]), files.tables(places, kind))
    wanted = json.loads((RECORDED / "expected.json").read_text())["gdb"]
    assert [hex(frame.pc) for frame in trace.frames] == wanted
    assert trace.stop is Verdict.OUTERMOST
    assert files.where(places, trace.frames[0].pc) == "frames-v3-O2-nofp: aligned_early+0x23"


def test_another_program_than_that_of_the_core(
    tmp_path: Path, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """The page with the program's header is in the core: another file is refused."""
    core, _ = core_of_linux(tmp_path, prebuilt)
    other = load_image(str(prebuilt["x86_64", "flow-v3-O2-nofp"].path))
    with pytest.raises(ImageError, match="not the file that"):
        core.files(program=other)


def test_a_program_for_another_machine(
    tmp_path: Path, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """A program that cannot have run there is misuse."""
    core, _ = core_of_linux(tmp_path, prebuilt)
    other = load_image(str(prebuilt["s390x", "flow-v3-O2-nofp"].path))
    with pytest.raises(UsageError, match="for another machine than"):
        core.files(program=other)


# ---- what nobody should write

_WORD = {"little": "<Q", "big": ">Q"}


def changed(arch: Arch, *changes: tuple[int, bytes]) -> bytes:
    """The core with other bytes at offsets."""
    data = bytearray(_BYTES[arch.name])
    for offset, new in changes:
        data[offset : offset + len(new)] = new
    return bytes(data)


def word(arch: Arch, value: int) -> bytes:
    """Eight bytes."""
    return struct.pack(_WORD[arch.byte_order], value)


def segment(number: int, field: int) -> int:
    """Offset of a field of a program header."""
    return 64 + 56 * number + field


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ((0, b"\x7fELG"), "offset 0x0: not an ELF file"),
        ((4, b"\x01"), "offset 0x4: ELF class 1"),
        ((5, b"\x07"), "offset 0x4: ELF class 2, byte order 7"),
        ((16, b"\x02\x00"), "offset 0x10: ELF type 2, not a core"),
        ((18, b"\x03\x00"), "offset 0x12: machine 3, little endian"),
        ((32, b"\xff" * 7), "offset 0x20: 5 program headers at"),
        ((54, b"\x20"), "offset 0x36: e_phentsize 32, not 56"),
        ((56, b"\xff\xff"), "offset 0x28: the section header with the number"),
        ((segment(0, 32), b"\xff" * 6), "offset 0x48: segment 0 reaches past the end"),
        ((segment(1, 8), b"\0" * 8), ""),
        ((segment(2, 16), b"\0\x08\x7f\0\0\0\0\0"), "a segment of memory that cannot be"),
    ],
)
def test_damaged_headers(change: tuple[int, bytes], reason: str) -> None:
    """Each with the file, the offset of the field that says so, and the reason."""
    data = changed(AARCH64, change)
    if not reason:
        core_of("made.core", data)
        return
    with pytest.raises(ImageError, match=rf"made\.core: offset .*{reason.removeprefix('offset ')}"):
        core_of("made.core", data)


def test_segments_that_share_bytes(arch: Arch) -> None:
    """Together they may not store more than the file has: the work stays linear."""
    data = _BYTES[arch.name]
    changes = [(segment(n, 8), word(arch, 0)) for n in (1, 2, 4)]
    changes += [(segment(n, 32), word(arch, len(data))) for n in (1, 2, 4)]
    with pytest.raises(ImageError, match="segments up to 1 store more than the file has"):
        core_of("made.core", changed(arch, *changes))


def test_a_core_without_threads(arch: Arch) -> None:
    """Nothing can be walked without registers."""
    one, other = ((kind).to_bytes(4, arch.byte_order) + b"CORE\0" for kind in (1, 99))
    with pytest.raises(ImageError, match="offset 0x0: no registers of a thread"):
        core_of("made.core", _BYTES[arch.name].replace(one, other))


@pytest.mark.parametrize("size", [0, 1, 16, 63, 64, 100, 400, 2000])
def test_cut_off(arch: Arch, size: int) -> None:
    """Cut at any place there is a reason with an offset."""
    with pytest.raises(ImageError, match=r"made\.core: offset 0x[0-9a-f]+: "):
        core_of("made.core", _BYTES[arch.name][:size])


def test_a_number_of_files_that_lies(arch: Arch) -> None:
    """NT_FILE is not believed when it has more files than bytes."""
    count = _BYTES[arch.name].index(word(arch, 2) + word(arch, PAGE))
    with pytest.raises(ImageError, match="NT_FILE of 1152921504606846976 files"):
        core_of("made.core", changed(arch, (count, word(arch, 1 << 60))))


@settings(max_examples=300, deadline=None)
@given(
    arch=st.sampled_from(ALL),
    changes=st.lists(
        st.tuples(st.integers(0, 2600), st.binary(min_size=1, max_size=8)), min_size=1, max_size=6
    ),
    size=st.integers(0, 1 << 16),
)
def test_any_bytes(arch: Arch, changes: list[tuple[int, bytes]], size: int) -> None:
    """A core, or one of our own errors; and what is read can be walked."""
    data = changed(arch, *changes)[: size if size > 1000 else None]
    with contextlib.suppress(UnwindlabError):
        core = core_of("made.core", data)
        files = core.files()
        places = files.places(core.mapped_code())
        for each in core.threads:
            if core.arch.sp in each.registers and core.arch.fp in each.registers:
                walk(core.sample(each), files.tables(places, "cfi"), most=10)
