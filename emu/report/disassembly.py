"""Instructions around a finding, from the file's own bytes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import capstone

from arch import Arch
from emu.check.codemap import CheckedModule
from emu.image import PT_LOAD, Image

_LONGEST = 1 << 16
"""Bytes of a function that are disassembled to find where instructions begin."""


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction; `address` is link-time."""

    address: int
    text: str


class Disassemblers:
    """One for each module, made when it is asked for."""

    def __init__(self, modules: Mapping[str, CheckedModule], arch: Arch) -> None:
        self._modules = modules
        self._arch = arch
        self._made: dict[str, Disassembler] = {}

    def of(self, module: str) -> "Disassembler":
        """That of the module with this name."""
        if module not in self._made:
            self._made[module] = Disassembler(self._modules[module].image, self._arch)
        return self._made[module]


class Disassembler:
    """Capstone for one machine, over one image.

    Args:
        image: the file.
        arch: its machine.
        read: gives (address, size) -> bytes where the code lies elsewhere than in the file's
            segments; fewer bytes where there are no more.
    """

    def __init__(
        self, image: Image, arch: Arch, read: Callable[[int, int], bytes] | None = None
    ) -> None:
        self._image = image
        self._read = read or self._bytes
        mode_arch, mode = arch.disassembler
        self._capstone = capstone.Cs(mode_arch, mode)
        self._capstone.skipdata = True

    def around(self, begin: int, start: int, end: int, before: int, after: int) -> list[Line]:
        """Instructions of [start, end), some before and some after.

        Args:
            begin: a known instruction boundary at or before `start` (the function's start).
        """
        if start - begin > _LONGEST:
            begin = start
        room = 16 * (after + 1)
        lines = [
            Line(address, f"{mnemonic} {operands}".strip())
            for address, _, mnemonic, operands in self._capstone.disasm_lite(
                self._read(begin, end + room - begin), begin
            )
        ]
        first = next((i for i, line in enumerate(lines) if line.address >= start), 0)
        last = next((i for i, line in enumerate(lines) if line.address >= end), len(lines))
        return lines[max(0, first - before) : last + after]

    def _bytes(self, address: int, size: int) -> bytes:
        for segment in self._image.segments:
            if segment.kind == PT_LOAD and 0 <= address - segment.vaddr < segment.filesz:
                at = segment.offset + address - segment.vaddr
                return self._image.data[at : min(at + size, segment.offset + segment.filesz)]
        return b""
