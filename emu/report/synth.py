"""The `synth` command: a .sframe made from a file's .eh_frame.

What the format cannot say is left out, a row at a time, and named with the reason. With
``--like-gas`` whole functions are left out, also those that only the assembler cannot translate.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from emu.cfi.likegas import GasRefusal
from emu.cfi.table import DescribedFunction, read_described
from emu.elf.rewrite import Room, find_room, write_program
from emu.errors import ImageError, UnwindlabError, UsageError
from emu.image import Image, load_image
from emu.report.output import write_report
from emu.sframe.encode import Encoding, Entry, Misfit, Target, encode_rows
from emu.symbols import FunctionNames
from emu.tables import FunctionRows
from emu.unwind.lookup import RowTable  # noqa: F401


@dataclass(frozen=True, slots=True)
class Refused:
    """A function or a stretch of one that is not in the table."""

    function: FunctionRows
    row: int | None
    end: int | None
    """Offsets in the function of a stretch; no end: all of the function."""
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Synthesis:
    """A table made from an .eh_frame."""

    encoding: Encoding
    functions: tuple[FunctionRows, ...]
    """By FDE of the table: what it was made from."""
    given: int
    """FDEs of the .eh_frame."""
    refused: tuple[Refused, ...]
    faults: tuple[str, ...]
    """FDEs of the .eh_frame that could not be read."""

    @property
    def data(self) -> bytes:
        """The section."""
        return self.encoding.encoded.data

    @property
    def rows(self) -> int:
        """Rows in the table."""
        return sum(len(function.rows) for function in self.encoding.encoded.form.functions)

    def reasons(self) -> dict[str, int]:
        """How many refusals there are for each reason."""
        counts = Counter(refused.reason for refused in self.refused)
        return dict(sorted(counts.items()))


def synthesize(
    image: Image, version: int, *, address: int | None, like_gas: bool = False
) -> Synthesis:
    """Make a table.

    Args:
        image: the file.
        version: of SFrame, 1 to 3.
        address: of the table in the linked file; None in a relocatable one.
        like_gas: leave out whatever the assembler of that version leaves out.

    Raises:
        UnwindlabError: the file has no .eh_frame, or nothing of it can be used.
        ValueError: there is no such version.
    """
    if image.arch is None:
        raise UsageError(f"{image.path}: machine {image.machine} is not supported")
    found = read_described(image, version if like_gas else None)
    if found is None:
        raise ImageError(f"{image.path}: offset 0x28: no .eh_frame in it")
    described, faults = found
    if faults and not described:
        raise UnwindlabError(f"{image.path}: .eh_frame: {faults[0]}")
    # Only what came after the first releases of V2 uses its errata; there nothing else can be
    # like the assembler where that knew the machine no earlier.
    errata = not like_gas or image.arch.sframe.registers_in_offsets
    target = Target.of(image.arch, version, errata=errata)
    refused: list[Refused] = []
    entries: list[Entry] = []
    for one in described:
        entries += _entries(one, version, refused)
    encoding = encode_rows(entries, target, address=address, split=not like_gas)
    refused += [
        Refused(
            entries[loss.entry].function, loss.row, loss.end, str(loss.misfit.reason),
            loss.misfit.text,
        )
        for loss in encoding.refusals
    ]  # fmt: skip
    refused.sort(key=lambda one: (one.function.section, one.function.start, one.row or 0))
    functions = tuple(entries[source].function for source in encoding.sources)
    return Synthesis(encoding, functions, len(described), tuple(refused), faults)


def _entries(
    one: DescribedFunction, version: int, refused: list[Refused]
) -> Iterator[Entry]:
    gas = one.gas
    for function in one.functions:
        if gas is None:
            yield Entry(function, one.key_b, one.signal)
            continue
        refused.append(Refused(function, gas.offset, None, str(gas.reason), gas.text))
        if one.signal and version >= 3:
            # The assembler keeps the mark: unwinders know how to leave a signal frame.
            yield Entry(replace(function, starts=(), rows=()), one.key_b, True)
