"""A small ELF64 writer for tests: sections, symbols, relocations, one program header."""

import struct
from dataclasses import dataclass, field


@dataclass
class ElfSection:
    """A section to write; `link` and `info` are section indices."""

    name: str
    kind: int
    data: bytes = b""
    flags: int = 0
    addr: int = 0
    link: int = 0
    info: int = 0
    entsize: int = 0
    size: int | None = None
    """For SHT_NOBITS."""


@dataclass
class ElfFile:
    """Section 0 and the section names are added; section k of `sections` has index k + 1."""

    sections: list[ElfSection]
    kind: int = 3
    machine: int = 62
    order: str = "<"
    entry: int = 0
    segments: list[tuple[int, int, int, int, int, int]] = field(default_factory=list)
    """Each (p_type, p_flags, p_offset, p_vaddr, p_filesz, p_memsz)."""

    def write(self) -> bytes:
        """Header at 0, program headers at 64, section data, section headers at the end."""
        mark = self.order
        names = ElfSection(".shstrtab", 3)
        sections = [*self.sections, names]
        offsets = []
        for section in sections:
            offsets.append(len(names.data) + 1)
            names.data += b"\0" + section.name.encode()
        names.data += b"\0"
        body = b"".join(
            struct.pack(mark + "IIQQQQQQ", kind, flags, offset, vaddr, vaddr, filesz, memsz, 8)
            for kind, flags, offset, vaddr, filesz, memsz in self.segments
        )
        headers = bytes(64)
        for name, section in zip(offsets, sections, strict=True):
            body += bytes(-len(body) % 8)
            size = len(section.data) if section.size is None else section.size
            headers += struct.pack(
                mark + "IIQQQQIIQQ", name, section.kind, section.flags, section.addr,
                64 + len(body), size, section.link, section.info, 8, section.entsize,
            )  # fmt: skip
            body += section.data
        body += bytes(-len(body) % 8)
        ident = b"\x7fELF" + bytes((2, 1 if mark == "<" else 2, 1)) + bytes(9)
        header = struct.pack(
            mark + "HHIQQQIHHHHHH", self.kind, self.machine, 1, self.entry,
            64 if self.segments else 0, 64 + len(body), 0, 64, 56, len(self.segments), 64,
            len(sections) + 1, len(sections),
        )  # fmt: skip
        return ident + header + body + headers


def symbol_table(
    symbols: list[tuple[str, int, int, int, int, int]], order: str = "<"
) -> tuple[bytes, bytes]:
    """SHT_SYMTAB and SHT_STRTAB of (name, value, size, section, type, binding); 0 is added."""
    table, strings = bytes(24), b"\0"
    for name, value, size, section, kind, binding in symbols:
        info = binding << 4 | kind
        table += struct.pack(order + "IBBHQQ", len(strings), info, 0, section, value, size)
        strings += name.encode() + b"\0"
    return table, strings


def rela(entries: list[tuple[int, int, int, int]], order: str = "<") -> bytes:
    """SHT_RELA of (offset, type, symbol, addend)."""
    return b"".join(
        struct.pack(order + "QQq", offset, symbol << 32 | kind, addend)
        for offset, kind, symbol, addend in entries
    )
