"""A .sframe section written by hand for tests, of any version and byte order."""

import struct
from dataclasses import dataclass


@dataclass
class Function:
    """A FDE; `rows` are its FREs as bytes."""

    start: int
    size: int
    rows: bytes
    count: int
    info: int = 0
    info2: int = 0
    rep_size: int = 0


def section(
    version: int,
    abi: int,
    functions: list[Function],
    *,
    flags: int = 0,
    fixed_fp: int = 0,
    fixed_ra: int = 0,
    aux: bytes = b"",
    gap: bytes = b"",
) -> bytes:
    """Header, `aux`, FDEs, `gap`, FREs; the byte order is that of the ABI id."""
    mark = ">" if abi in (1, 4) else "<"
    fdes, area = b"", b""
    for f in functions:
        position = len(area)
        if version == 3:
            fdes += struct.pack(mark + "qII", f.start, f.size, position)
            area += struct.pack(mark + "HBBB", f.count, f.info, f.info2, f.rep_size)
        else:
            fdes += struct.pack(mark + "iIIIB", f.start, f.size, position, f.count, f.info)
            if version == 2:
                fdes += bytes((f.rep_size, 0, 0))
        area += f.rows
    header = struct.pack(
        mark + "HBBBbbBIIIII", 0xDEE2, version, flags, abi, fixed_fp, fixed_ra, len(aux),
        len(functions), sum(f.count for f in functions), len(area), 0, len(fdes) + len(gap),
    )  # fmt: skip
    return header + aux + fdes + gap + area
