"""Where a module's rows come from: its tables, or a convention that needs none."""

from collections.abc import Sequence

from arch import Arch, Row
from emu.cfi.table import cfi_table
from emu.errors import UsageError
from emu.image import Image
from emu.native import COMPILED
from emu.sframe.container import SECTION_NAME, find_section
from emu.sframe.packed import packed_table
from emu.sframe.table import sframe_table
from emu.tables import FunctionRows, PackedTable, Table
from emu.unwind.lookup import RowTable, flatten
from emu.unwind.stored import stored_table

_SECTIONS = {"sframe": SECTION_NAME, "cfi": ".eh_frame"}
KINDS = ("sframe", "cfi", "fp", "backchain")
_PACK_FROM = 1 << 17
"""Bytes of .sframe from which loading the compiled reader pays."""


def choose_kind(wanted: str, images: Sequence[Image]) -> str:
    """The kind of table to check: the wanted one, or for ``auto`` the best there is.

    Raises:
        UsageError: the machine lacks the convention; no module has a table for ``auto``.
    """
    arch = images[0].arch
    if wanted != "auto":
        missing = arch is None or {
            "fp": arch.frame_pointer_row is None, "backchain": arch.back_chain_row is None,
        }.get(wanted, False)  # fmt: skip
        if missing:
            name = arch.name if arch is not None else "this machine"
            raise UsageError(f"{images[0].path}: --table {wanted}: {name} has no such convention")
        return wanted
    for kind in ("sframe", "cfi"):
        if any(has_table(image, kind) for image in images):
            return kind
    raise UsageError(f"{images[0].path}: neither .sframe nor .eh_frame in it")


def has_table(image: Image, kind: str) -> bool:
    """The file has a table of that kind, ``sframe`` or ``cfi``, that is not empty."""
    if kind == "sframe":
        contained = find_section(image)
        return contained is not None and len(contained.data) > 0
    section = image.section(".eh_frame")
    return section is not None and section.size > 0


def read_table(image: Image, kind: str) -> Table | None:
    """A table that stands in the file, ``sframe`` or ``cfi``; None: there is none."""
    return sframe_table(image) if kind == "sframe" else cfi_table(image)


def row_table(image: Image, arch: Arch, kind: str) -> RowTable:
    """A module's rows of one of KINDS."""
    if kind in ("sframe", "cfi"):
        return _file_table(image, arch, kind)
    row = arch.frame_pointer_row if kind == "fp" else arch.back_chain_row
    assert row is not None
    return RowTable(_everywhere(image, kind, row), arch)


def _file_table(image: Image, arch: Arch, kind: str) -> RowTable:
    """A table that stands in the file; of a large one the objects are only made if asked for."""
    read: Table | None = None

    def pack() -> PackedTable | None:
        nonlocal read
        section = image.section(_SECTIONS[kind])
        if kind == "sframe" and COMPILED and section is not None and section.size >= _PACK_FROM:
            packed = packed_table(image)
            if packed is not None:
                return packed
        read = read_table(image, kind)
        return None if read is None or read.corrupt else flatten(read)

    packed = None if image.kind == "rel" else stored_table(image, kind, _SECTIONS[kind], pack)
    if packed is None:
        return RowTable(read or read_table(image, kind), arch)
    return RowTable(read or (lambda: read_table(image, kind)), arch, packed)


def _everywhere(image: Image, kind: str, row: Row) -> Table:
    """A convention holds in all executable memory."""
    return Table(
        kind,
        tuple(
            FunctionRows(segment.vaddr, segment.memsz, (0,), (row,))
            for segment in image.segments
            if segment.kind == 1 and segment.flags & 1 and segment.memsz
        ),
        0,
    )
