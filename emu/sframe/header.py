"""The header of a .sframe section: without a good one nothing can be decoded."""

import struct
from dataclasses import dataclass

from arch import Arch, ByteOrder, by_sframe_abi
from emu.errors import SFrameError
from emu.sframe import layout
from emu.sframe.layout import Version, order_mark


@dataclass(frozen=True, slots=True)
class Header:
    """The header as stored, and what follows from it."""

    version: Version
    flags: int
    abi: int
    arch: Arch
    """The machine of `abi`, whose facts hold in both its byte orders."""
    byte_order: ByteOrder
    fixed_fp: int
    fixed_ra: int
    """Offsets from the CFA; 0: none."""
    num_fdes: int
    num_fres: int
    fdes_at: int
    fres_at: int
    """Offsets of the FDEs and of the FRE area from the start of the section."""
    fre_len: int
    """Bytes of the FRE area, which may be more than there are."""

    @property
    def abi_name(self) -> str:
        """Name of the ABI, as `dump` prints it."""
        return self.arch.sframe.abi_names[self.abi]

    @property
    def flag_names(self) -> list[str]:
        """Names of the flags that are set, lowest bit first."""
        return [name for bit, name in layout.FLAG_NAMES.items() if self.flags & bit]


def read_header(data: bytes, byte_order: ByteOrder | None = None) -> Header:
    """The header of a section.

    Args:
        data: the section.
        byte_order: of the file around it, if there is one.

    Raises:
        SFrameError: nothing can be decoded.
    """
    order = layout.magic_order(data)
    if order is None and len(data) >= 2:
        raise SFrameError(0, f"magic {data[:2].hex(' ')}, not that of SFrame")
    if order is None or len(data) < layout.HEADER_SIZE:
        reason = f"the section ends after {len(data)} of {layout.HEADER_SIZE} bytes of header"
        raise SFrameError(len(data), reason)
    if byte_order is not None and order != byte_order:
        raise SFrameError(0, f"{order}-endian magic in a {byte_order}-endian file")
    (_, number, flags, abi, fixed_fp, fixed_ra, aux_len, num_fdes, num_fres, fre_len, fdeoff,
     freoff) = struct.unpack_from(order_mark(order) + layout.HEADER, data)  # fmt: skip
    version = layout.VERSIONS.get(number)
    if version is None:
        raise SFrameError(layout.VERSION_AT, f"unknown version {number}")
    if flags & ~version.flags:
        unknown = flags & ~version.flags
        raise SFrameError(layout.FLAGS_AT, f"flags {unknown:#x}, which version {number} lacks")
    arch = by_sframe_abi(abi)
    if arch is None:
        raise SFrameError(layout.ABI_AT, f"unknown ABI {abi}")
    if arch.sframe.abi_ids[abi] != order:
        name = arch.sframe.abi_names[abi]
        raise SFrameError(layout.ABI_AT, f"ABI {abi} ({name}) in a {order}-endian section")
    end = layout.HEADER_SIZE + aux_len
    if end > len(data):
        reason = f"an auxiliary header of {aux_len} bytes in a section of {len(data)}"
        raise SFrameError(layout.AUX_LEN_AT, reason)
    if fdeoff > freoff:
        raise SFrameError(layout.FDEOFF_AT, f"FDEs at {fdeoff:#x}, behind the FREs at {freoff:#x}")
    if num_fdes * version.fde_size > freoff - fdeoff:
        reason = f"{num_fdes} FDEs do not fit into {freoff - fdeoff} bytes before the FREs"
        raise SFrameError(layout.NUM_FDES_AT, reason)
    if end + freoff > len(data):
        raise SFrameError(layout.FREOFF_AT, f"FREs at {freoff:#x}, past the end of the section")
    return Header(
        version, flags, abi, arch, order, fixed_fp, fixed_ra, num_fdes, num_fres,
        fdes_at=end + fdeoff, fres_at=end + freoff, fre_len=fre_len,
    )  # fmt: skip
