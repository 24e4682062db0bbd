"""Cores against another parser, and field by field against the kernel's structures."""

import io
import struct

import pytest
from elftools.elf.elffile import ELFFile

from arch import Arch
from arch.aarch64 import AARCH64
from emu.export.stored_memory import StoredMemory
from emu.memory import PAGE, READ, WRITE
from tests.emu.export.stopped import (
    CODE,
    DATA,
    GUARD,
    PC,
    PID,
    STACK,
    core_bytes,
    stopped,
    thread,
    value,
)

Notes = list[tuple[bytes, int, bytes]]


def notes_of(arch: Arch, data: bytes) -> Notes:
    """(owner, type, content) of each note, by the layout of the gABI."""
    order = "<" if arch.byte_order == "little" else ">"
    offset, size = struct.unpack_from(order + "Q", data, 64 + 8) + struct.unpack_from(
        order + "Q", data, 64 + 32
    )
    found, at = Notes(), offset
    while at < offset + size:
        name, content, kind = struct.unpack_from(order + "3I", data, at)
        start = at + 12 + -(-name // 4) * 4
        found.append((data[at + 12 : at + 12 + name], kind, data[start : start + content]))
        at = start + -(-content // 4) * 4
    return found


def content(notes: Notes, kind: int, owner: bytes = b"CORE\0") -> bytes:
    """Of the only note of a type."""
    (found,) = (each for name, number, each in notes if (name, number) == (owner, kind))
    return found


def words(arch: Arch, data: bytes) -> tuple[int, ...]:
    """All of it as eight-byte words."""
    order = "<" if arch.byte_order == "little" else ">"
    return struct.unpack(f"{order}{len(data) // 8}Q", data[: len(data) // 8 * 8])


def test_headers(arch: Arch) -> None:
    """pyelftools reads a core of the machine, with the memory as it was mapped."""
    file = ELFFile(io.BytesIO(core_bytes(stopped(arch))))
    assert (file["e_type"], file["e_phoff"], file["e_shnum"]) == ("ET_CORE", 64, 0)
    assert file.header["e_machine"] in (
        {62: "EM_X86_64", 183: "EM_AARCH64", 22: "EM_S390"}[arch.elf_machine],
    )
    assert file.little_endian is (arch.byte_order == "little")
    segments = [(s["p_type"], s["p_vaddr"], s["p_memsz"], s["p_flags"]) for s in
                file.iter_segments()]  # fmt: skip
    assert segments == [
        ("PT_NOTE", 0, 0, 0),
        ("PT_LOAD", CODE, 3 * PAGE, 5),
        ("PT_LOAD", DATA, PAGE, 6),
        ("PT_LOAD", GUARD, PAGE, 0),
        ("PT_LOAD", STACK, 2 * PAGE, 6),
    ]


def test_what_is_stored(arch: Arch) -> None:
    """Of the file only the page with its header; all of what can be written; no guard page."""
    process = stopped(arch)
    file = ELFFile(io.BytesIO(core_bytes(process)))
    stored = {s["p_vaddr"]: s.data() for s in file.iter_segments() if s["p_type"] == "PT_LOAD"}
    assert stored[CODE] == process.memory.read(CODE, PAGE)
    assert stored[DATA] == process.memory.read(DATA, PAGE)
    assert stored[GUARD] == b""
    assert stored[STACK] == process.memory.read(STACK, 2 * PAGE)


def test_code_that_was_changed_is_stored(arch: Arch) -> None:
    """Memory that no longer holds what its file holds is nowhere else."""
    process = stopped(arch)
    process.memory.write(CODE + PAGE, b"\xcc", force=True)
    file = ELFFile(io.BytesIO(core_bytes(process)))
    segment = next(s for s in file.iter_segments() if s["p_vaddr"] == CODE)
    assert segment.data() == process.memory.read(CODE, 3 * PAGE)


def test_zeros_at_the_end(arch: Arch) -> None:
    """Pages of zeros are holes, but the file is as long as its headers say."""
    process = stopped(arch)
    process.memory.map(STACK + 0x100000, 64 * PAGE, READ | WRITE)
    file = ELFFile(io.BytesIO(core_bytes(process)))
    *_, last = file.iter_segments()
    assert last.data() == bytes(64 * PAGE)


def test_order_of_notes(arch: Arch) -> None:
    """Status, process, signal, auxiliary vector, files, floating point; then other threads."""
    notes = notes_of(arch, core_bytes(stopped(arch, thread(arch, 78))))
    kinds = [kind for owner, kind, _ in notes if owner == b"CORE\0"]
    assert kinds == [1, 3, 0x53494749, 6, 0x46494C45, 2, 1, 2]


@pytest.mark.parametrize("number", [0, 1])
def test_status(arch: Arch, number: int) -> None:
    """struct elf_prstatus: signal at 0 and 12, tid at 32, registers at 112, pr_fpvalid behind."""
    process = stopped(arch, thread(arch, 78, add=0x100))
    status = [each for _, kind, each in notes_of(arch, core_bytes(process)) if kind == 1][number]
    order = "<" if arch.byte_order == "little" else ">"
    assert struct.unpack_from(order + "iiih", status) == (5, 0, 0, 5)
    assert struct.unpack_from(order + "i", status, 32) == ((PID, 78)[number],)
    assert struct.unpack_from(order + "i", status, 112 + arch.export.general.size) == (1,)
    pc = PC + 0x100 * number
    registers = words(arch, status[112:])
    place = {"x86_64": 16, "aarch64": 32, "s390x": 1}[arch.name]
    assert registers[place] == pc


def test_registers_of_x86_64() -> None:
    """DWARF order is rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp; the kernel's is another."""
    from arch.x86_64 import X86_64

    status = content(notes_of(X86_64, core_bytes(stopped(X86_64))), 1)
    registers = words(X86_64, status[112 : 112 + 216])
    dwarf = [15, 14, 13, 12, 6, 3, 11, 10, 9, 8, 0, 2, 1, 4, 5]
    assert list(registers[:15]) == [value(number) for number in dwarf]
    assert registers[15] == (1 << 64) - 1
    assert registers[17] == 0x33
    assert registers[18] & 0x202 == 0x202
    assert registers[19:21] == (STACK + 0x800, 0x2B)


def test_floating_point_registers_of_s390x() -> None:
    """DWARF 16 to 31 are f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15 (ABI 1.19)."""
    from arch.s390x import S390X

    floating = words(S390X, content(notes_of(S390X, core_bytes(stopped(S390X))), 2))[1:]
    numbers = [0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15]
    assert {n: floating[n] for n in range(16)} == {
        number: value(16 + dwarf) for dwarf, number in enumerate(numbers)
    }


def test_process(arch: Arch) -> None:
    """struct elf_prpsinfo: state letter at 1, pid at 24, name at 40, arguments at 56."""
    info = content(notes_of(arch, core_bytes(stopped(arch))), 3)
    order = "<" if arch.byte_order == "little" else ">"
    assert len(info) == 136
    assert info[1:2] == b"R"
    assert struct.unpack_from(order + "i", info, 24) == (PID,)
    assert info[40:56].rstrip(b"\0") == b"made"
    assert info[56:].rstrip(b"\0") == b"/bin/made -x"


def test_signal_and_auxiliary_vector(arch: Arch) -> None:
    """siginfo begins with the signal; the vector is the process's own."""
    notes = notes_of(arch, core_bytes(stopped(arch)))
    signal = content(notes, 0x53494749)
    assert (len(signal), int.from_bytes(signal[:4], arch.byte_order)) == (128, 5)
    assert words(arch, content(notes, 6)) == (3, CODE + 64, 16, 5, 9, PC, 0, 0)


def test_files(arch: Arch) -> None:
    """NT_FILE: count, page size, ranges with offsets in pages, then the names."""
    files = content(notes_of(arch, core_bytes(stopped(arch))), 0x46494C45)
    assert words(arch, files[:64]) == (
        2, PAGE, CODE, CODE + 3 * PAGE, 0, DATA, DATA + PAGE, 1
    )  # fmt: skip
    assert files[64:] == b"/bin/made\0/bin/made\0"


def test_signed_return_addresses() -> None:
    """Both masks, and the bit of AT_HWCAP without which they are not looked at."""
    notes = notes_of(AARCH64, core_bytes(stopped(AARCH64, signed=True)))
    mask = 0xFF7F_0000_0000_0000
    assert words(AARCH64, content(notes, 0x406, b"LINUX\0")) == (mask, mask)
    assert words(AARCH64, content(notes, 6))[2:4] == (16, 5 | 1 << 30)
    plain = notes_of(AARCH64, core_bytes(stopped(AARCH64)))
    assert not [kind for _, kind, _ in plain if kind == 0x406]


def test_more_segments_than_the_header_can_count() -> None:
    """Above 65534 the count stands in the first section header (gABI, PN_XNUM)."""
    process = stopped(AARCH64)
    memory = StoredMemory(1 << 30)
    for number in range(0x10000):
        memory.store(2 * PAGE * (number + 1), b"x")
    many = core_bytes(
        type(process)(AARCH64, memory, [], process.threads, process.auxiliary, b"many")
    )
    file = ELFFile(io.BytesIO(many))
    assert (file["e_phnum"], file["e_shnum"]) == (0xFFFF, 1)
    section = struct.unpack_from("<IIQQQQIIQQ", many, file["e_shoff"])
    assert section[7] == 0x10001
