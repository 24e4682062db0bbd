"""Jobs that cannot be done: exit status 2, one line that names the file and the reason."""

import struct
from pathlib import Path

import pytest

from arch import Arch
from arch.x86_64 import X86_64
from tests.emu.machine.elf_program import CODE, PT_INTERP, Segment, code_program
from tests.support.runs import Command, program

pytestmark = pytest.mark.compiled

X86, ARM, S390 = "x86_64-clean-chain", "aarch64-clean-chain", "s390x-clean-chain"


@pytest.mark.parametrize(
    ("name", "options", "reason"),
    [
        (X86, ("--pac",), "pointer authentication"),
        (S390, ("--pac",), "pointer authentication"),
        (X86, ("--cpu", "z15"), "z15"),
        (ARM, ("--cpu", "haswell"), "haswell"),
        (S390, ("--table", "fp"), "fp"),
        (X86, ("--table", "backchain"), "backchain"),
        (ARM, ("--table", "backchain"), "backchain"),
        (X86, ("--memory", "1M"), "limit"),
        (S390, ("--memory", "4K"), "limit"),
        (X86, ("--at", "no_such"), "no symbol no_such"),
        (X86, ("--at", "leaf+"), "leaf+"),
        (X86, ("--at", "#0"), "#0"),
        (X86, ("--at", "#x"), "#x"),
        (X86, ("--at", "+8"), "+8"),
        (X86, ("--at", "0x10"), "no code at 0x10"),
        (X86, ("--at", "0xffffffffffffffffff"), "0xffffffffffffffffff"),
        (X86, ("--known", "/nonexistent.toml"), "/nonexistent.toml"),
        (X86, ("--stdin", "/nonexistent"), "/nonexistent"),
        (X86, ("-o", "/nonexistent/file"), "/nonexistent/file"),
    ],
)
def test_options_that_do_not_fit(
    name: str, options: tuple[str, ...], reason: str, command: Command
) -> None:
    """An option that the machine or the program lacks."""
    assert reason in command.refuse("check", *options, program(name))


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (X86, ("--pac",)), (ARM, ("--cpu", "none")), (S390, ("--table", "fp")),
        (X86, ("--memory", "1M")), (X86, ("--at", "no_such")), (X86, ("--at", "#x")),
        (X86, ("--at", "0x10")), (X86, ("--env", "A=" + "x" * 200_000)),
    ],
)  # fmt: skip
def test_the_file_is_named(name: str, options: tuple[str, ...], command: Command) -> None:
    """The line says which program could not be run so."""
    assert program(name) in command.refuse("check", *options, program(name))


def write(folder: Path, data: bytes) -> str:
    """A file with these bytes."""
    path = folder / "bad"
    path.write_bytes(data)
    return str(path)


def real(arch: str = X86) -> bytes:
    """A program that is right."""
    return Path(program(arch)).read_bytes()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"#!/bin/sh\necho no ELF\n",
        b"\x7fELF",
        real()[:63],
        b"\x7fELF\x01" + real()[5:],  # 32-bit
        b"\x7fELF\x03" + real()[5:],
        real()[:5] + b"\x02" + real()[6:],  # the other byte order
        real()[:18] + struct.pack("<H", 243) + real()[20:],  # RISC-V
        real()[:16] + struct.pack("<H", 1) + real()[18:],  # a relocatable object
        real()[:16] + struct.pack("<H", 4) + real()[18:],  # a core dump
        real()[:32] + struct.pack("<Q", 1 << 40) + real()[40:],  # program headers
        real()[:40] + struct.pack("<Q", 1 << 40) + real()[48:],  # section headers
        real()[:72] + struct.pack("<Q", 1 << 40) + real()[80:],  # offset of a segment
        real()[: len(real()) // 2],
    ],
    ids=["empty", "text", "magic-alone", "cut-header", "32-bit", "class-3", "byte-order",
         "machine", "object", "core", "phoff", "shoff", "segment", "half"],
)  # fmt: skip
def test_files_that_are_no_program(data: bytes, command: Command, tmp_path: Path) -> None:
    """Not an ELF file, of another kind, or with parts past its end."""
    path = write(tmp_path, data)
    assert path in command.refuse("check", path)


def test_missing_file(command: Command, tmp_path: Path) -> None:
    """There is no such file."""
    path = str(tmp_path / "absent")
    assert path in command.refuse("check", path)


def test_a_folder(command: Command, tmp_path: Path) -> None:
    """A folder is no program."""
    assert str(tmp_path) in command.refuse("check", str(tmp_path))


def test_a_dynamic_program(command: Command, tmp_path: Path) -> None:
    """PT_INTERP asks for a program interpreter, which the guest cannot see."""
    interpreter = b"/lib64/ld-linux-x86-64.so.2\0"
    made = code_program(
        X86_64,
        b"\x0f\x0b" + interpreter,
        Segment(CODE + 2, interpreter, 4, 0x1002, kind=PT_INTERP, align=1),
    )
    path = write(tmp_path, made.to_bytes())
    line = command.refuse("check", "--table", "sframe", path)
    assert path in line
    assert "interp" in line.lower()


def test_no_table_of_any_kind(command: Command, tmp_path: Path) -> None:
    """--table auto finds neither .sframe nor .eh_frame."""
    path = write(tmp_path, code_program(X86_64, b"\x0f\x0b").to_bytes())
    line = command.refuse("check", path)
    assert path in line
    assert ".sframe" in line


def test_the_wanted_table_is_missing(arch: Arch, command: Command, tmp_path: Path) -> None:
    """A table chosen by name that is not there: every instruction a gap; here the first faults."""
    path = write(tmp_path, code_program(arch, bytes(8)).to_bytes())
    answer = command.check(path, "--table", "cfi")
    assert answer.status == 2  # the guest dies of its first instruction
    assert set(answer.json["verdicts"]) <= {"no-table"}


def test_the_report_goes_to_no_file_when_refused(command: Command, tmp_path: Path) -> None:
    """Nothing is written before the job can be done."""
    target = tmp_path / "report"
    command.refuse("check", "-o", str(target), str(tmp_path / "absent"))
    assert not target.exists()
