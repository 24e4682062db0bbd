"""Numbers and records of the ELF64 format (gABI, chapters 4 and 5), both byte orders."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, NoReturn

from emu.errors import ImageError

MAGIC = b"\x7fELF"
PF_X, PF_W, PF_R = 1, 2, 4
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_TLS = 1, 2, 3, 4, 7
PT_GNU_RELRO = 0x6474E552
SHT_REL, SHT_RELR = 9, 19
SHT_NULL, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOBITS, SHT_DYNSYM = 0, 2, 3, 4, 8, 11
SHT_SYMTAB_SHNDX = 18
SHF_WRITE, SHF_ALLOC, SHF_EXECINSTR, SHF_TLS, SHF_COMPRESSED = 0x1, 0x2, 0x4, 0x400, 0x800
SHN_UNDEF, SHN_LORESERVE, SHN_ABS, SHN_COMMON, SHN_XINDEX = 0, 0xFF00, 0xFFF1, 0xFFF2, 0xFFFF
STT_NOTYPE, STT_OBJECT, STT_FUNC, STT_SECTION, STT_TLS, STT_GNU_IFUNC = 0, 1, 2, 3, 6, 10
STB_LOCAL, STB_GLOBAL, STB_WEAK = 0, 1, 2

ImageKind = Literal["rel", "exec", "dyn"]

KINDS: dict[int, ImageKind] = {1: "rel", 2: "exec", 3: "dyn"}
"""e_type of what can be read here."""

HEADER, SEGMENT, SECTION = "HHIQQQIHHHHHH", "IIQQQQQQ", "IIQQQQIIQQ"
"""Fields for struct; those of the header begin behind the 16 bytes of identification."""
HEADER_SIZE, SEGMENT_SIZE, SECTION_SIZE = 64, 56, 64
SYMBOL_SIZE = 24
PN_XNUM = 0xFFFF
NT_GNU_BUILD_ID = 3


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header. Addresses are link-time, offsets count in the file, sizes are bytes."""

    vaddr: int
    offset: int
    filesz: int
    memsz: int
    flags: int
    """PF_R, PF_W, PF_X."""
    align: int
    kind: int
    """p_type, PT_LOAD for what is mapped."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section header; `kind` is sh_type, `addr` a link-time address."""

    index: int
    name: str
    kind: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int
    entsize: int
    align: int
    """sh_addralign: 0 and 1 ask for nothing."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbol; `value` is a link-time address, in a relocatable file an offset in its section."""

    name: str
    value: int
    size: int
    section_index: int
    """SHN_UNDEF for one defined elsewhere; extended indices are resolved."""
    kind: int
    """STT_FUNC and the like."""
    binding: int
    """STB_LOCAL, STB_GLOBAL, STB_WEAK."""


class Relocation(NamedTuple):
    """One entry of a SHT_RELA section; `symbol` is an index for `Image.symbol`."""

    offset: int
    """Bytes from the start of the section that it applies to."""
    kind: int
    symbol: int
    addend: int


def fail(path: str, offset: int, reason: str) -> NoReturn:
    """Refuse the file."""
    raise ImageError(f"{path}: offset {offset:#x}: {reason}")
