"""A writer of small static programs, for tests: program headers and bytes, no sections."""

import struct
from dataclasses import dataclass, field
from pathlib import Path

from arch import Arch
from emu.image import Image, load_image

PT_LOAD, PT_INTERP, PT_GNU_STACK = 1, 3, 0x6474E551
R, W, X = 4, 2, 1
BASE = 0x400000
CODE_OFFSET = 0x1000
CODE = BASE + CODE_OFFSET


@dataclass
class Segment:
    """A program header; `data` goes to `offset` of the file."""

    vaddr: int
    data: bytes = b""
    flags: int = R | X
    offset: int = CODE_OFFSET
    memsz: int | None = None
    filesz: int | None = None
    align: int = 0x1000
    kind: int = PT_LOAD


@dataclass
class Program:
    """An ELF file in the making."""

    arch: Arch
    segments: list[Segment] = field(default_factory=list)
    entry: int = CODE
    kind: int = 2
    """e_type: 2 fixed addresses, 3 position-independent."""

    def to_bytes(self) -> bytes:
        """The file."""
        order = "<" if self.arch.byte_order == "little" else ">"
        header = struct.pack(
            order + "16sHHIQQQIHHHHHH",
            b"\x7fELF\x02" + (b"\x01" if order == "<" else b"\x02") + b"\x01" + bytes(9),
            self.kind, self.arch.elf_machine, 1, self.entry, 64, 0, 0, 64, 56,
            len(self.segments), 0, 0, 0,
        )  # fmt: skip
        size = max((s.offset + len(s.data) for s in self.segments), default=0)
        file = bytearray(max(size, 64 + 56 * len(self.segments)))
        for segment in self.segments:
            file[segment.offset : segment.offset + len(segment.data)] = segment.data
        file[:64] = header
        for index, segment in enumerate(self.segments):
            filesz = len(segment.data) if segment.filesz is None else segment.filesz
            file[64 + 56 * index : 120 + 56 * index] = struct.pack(
                order + "IIQQQQQQ", segment.kind, segment.flags, segment.offset, segment.vaddr,
                segment.vaddr, filesz, filesz if segment.memsz is None else segment.memsz,
                segment.align,
            )  # fmt: skip
        return bytes(file)

    def image(self, folder: Path) -> Image:
        """Written to a folder and read back."""
        path = folder / "program"
        path.write_bytes(self.to_bytes())
        return load_image(str(path))


def code_program(arch: Arch, code: bytes, *more: Segment) -> Program:
    """A program of one segment of code, entered at its start, and further segments."""
    return Program(arch, [Segment(CODE, code), *more])
