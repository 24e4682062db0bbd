"""Makes .eh_frame sections byte by byte, for tests that know the right answer."""

from arch.descriptor import Arch, ByteOrder
from emu.cfi.functions import Reading, read_functions
from emu.cfi.reading import EhFrame
from emu.tables import FunctionRows

ADDRESS = 0x8000
"""Where the sections of the tests are linked."""
START = 0x2000
"""Where their function begins."""
DATA = 17
"""From the start of an FDE to its augmentation data: four words and their length."""


def entry(body: bytes, order: ByteOrder) -> bytes:
    """A body behind its length."""
    return len(body).to_bytes(4, order) + body


def cie(
    order: ByteOrder,
    instructions: bytes,
    *,
    column: int,
    augmentation: bytes = b"zR",
    data: bytes = b"\x1b",
    code: int = 1,
    version: int = 1,
) -> bytes:
    """A CIE with data factor -8; its functions have PC-relative signed words of four bytes."""
    body = bytes(4) + bytes([version]) + augmentation + b"\0" + bytes([code, 0x78, column])
    if augmentation.startswith(b"z"):
        body += bytes([len(data)]) + data
    return entry(body + instructions, order)


def fde(
    order: ByteOrder,
    offset: int,
    instructions: bytes,
    *,
    start: int = START,
    size: int = 64,
    back: int | None = None,
    data: bytes = b"",
) -> bytes:
    """An FDE at `offset` of the section, of the CIE at 0 or `back` bytes before.

    Its augmentation data begin `DATA` bytes behind `offset`.
    """
    pointer = (offset + 4 if back is None else back).to_bytes(4, order)
    location = (start - ADDRESS - offset - 8).to_bytes(4, order, signed=True)
    body = pointer + location + size.to_bytes(4, order)
    return entry(body + bytes([len(data)]) + data + instructions, order)


def initial(arch: Arch) -> bytes:
    """Initial instructions as compilers write them: the state at a function's entry."""
    rules = bytes([0x0C, arch.sp]) + leb(arch.entry_cfa_offset)
    return rules if arch.ra_in_register else rules + bytes([0x80 | arch.ra, 1])


def leb(value: int) -> bytes:
    """ULEB128."""
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def section(arch: Arch, instructions: bytes, *, cie_extra: bytes = b"", **more: int) -> bytes:
    """One function under one CIE."""
    first = cie(arch.byte_order, initial(arch) + cie_extra, column=arch.ra)
    return first + fde(arch.byte_order, len(first), instructions, **more)


def read(arch: Arch, data: bytes) -> Reading:
    """Functions of a linked section."""
    return read_functions(EhFrame(data, ADDRESS, arch.byte_order), arch)


def only(arch: Arch, instructions: bytes, **more: int) -> FunctionRows:
    """The one function of `section`."""
    reading = read(arch, section(arch, instructions, **more))
    assert reading.faults == ()
    (function,) = reading.functions
    return function
