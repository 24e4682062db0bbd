"""Programs written by hand: machine code, an .eh_frame and symbols, nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from arch import Arch
from tests.emu.cfi.section import ADDRESS, cie, fde, initial
from tests.emu.elf_file import ElfFile, ElfSection, symbol_table

BASE = 0x400000
TEXT = 64 + 56
"""Offset of the code: behind the headers."""


@dataclass(frozen=True)
class Made:
    """A function: code, and the call frame instructions of its FDE, None for no FDE."""

    name: str
    code: bytes
    rules: bytes | None


def outermost(arch: Arch, code: bytes) -> Made:
    """_start: its return address is undefined (DW_CFA_undefined)."""
    return Made("_start", code, bytes((0x07, arch.ra)))


def write_program(path: Path, arch: Arch, functions: Sequence[Made]) -> str:
    """Write a static program, entered at its first function."""
    text, starts = b"", []
    for function in functions:
        starts.append(len(text))
        text += function.code
    text += bytes(-len(text) % 8)
    frames_at = BASE + TEXT + len(text)
    frames = cie(arch.byte_order, initial(arch), column=arch.ra)
    for function, start in zip(functions, starts, strict=True):
        if function.rules is None:
            continue
        # `fde` counts from a section at ADDRESS; ours lies elsewhere.
        place = BASE + TEXT + start - frames_at + ADDRESS
        frames += fde(
            arch.byte_order, len(frames), function.rules, start=place, size=len(function.code)
        )
    order = "<" if arch.byte_order == "little" else ">"
    symbols, strings = symbol_table(
        [
            (function.name, BASE + TEXT + start, len(function.code), 1, 2, 1)
            for function, start in zip(functions, starts, strict=True)
        ],
        order,
    )
    size = TEXT + len(text) + len(frames)
    file = ElfFile(
        [
            ElfSection(".text", 1, text, 6, BASE + TEXT),
            ElfSection(".eh_frame", 1, frames, 2, frames_at),
            ElfSection(".symtab", 2, symbols, link=4, info=1, entsize=24),
            ElfSection(".strtab", 3, strings),
        ],
        kind=2,
        machine=arch.elf_machine,
        order=order,
        entry=BASE + TEXT,
        segments=[(1, 5, 0, BASE, size, size)],
    )
    path.write_bytes(file.write())
    return str(path)
