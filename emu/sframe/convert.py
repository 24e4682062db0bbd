"""One version of a section -> another, by meaning: every loss is named.

Rows are read as the table reads them and encoded as the encoder encodes rows. Whatever the
new version cannot express is left out and becomes a gap; what a reader would not notice, as
bytes that belong to nothing, is not a loss.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from emu.sframe import layout
from emu.sframe.decode import Decoded, Fde
from emu.sframe.encode import Encoding, Entry, Refusal, Target, encode_rows
from emu.sframe.table import Meanings, fde_rows
from emu.tables import NoRow
from emu.verdict import Verdict


class HeaderLoss(StrEnum):
    """What a header says that the new one cannot; the values are for reports."""

    FRAME_POINTER = "frame-pointer-flag"
    """All functions keep a frame pointer: V3 has no such flag."""
    AUXILIARY = "auxiliary-header"
    """Its meaning is unknown."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A converted section."""

    encoding: Encoding
    """Its `sources` and the entries of its refusals are indices of FDEs of the old section."""
    header_losses: tuple[HeaderLoss, ...]

    @property
    def data(self) -> bytes:
        """The section."""
        return self.encoding.encoded.data

    @property
    def losses(self) -> tuple[Refusal, ...]:
        """Functions and rows that are not in it."""
        return self.encoding.refusals

    def reasons(self) -> dict[str, int]:
        """How many losses there are for each reason, the header's too."""
        counts: dict[str, int] = {}
        for loss in (*self.header_losses, *(loss.misfit.reason for loss in self.losses)):
            counts[loss.value] = counts.get(loss.value, 0) + 1
        return counts


def convert(
    decoded: Decoded,
    version: int,
    *,
    address: int | None = 0,
    aux: bool = False,
    whole: bool = False,
    errata: bool = True,
) -> Conversion:
    """Convert a section.

    Args:
        decoded: the section, decoded at `address`.
        version: to convert to.
        address: of both sections; None in a relocatable file.
        aux: it has an auxiliary header.
        whole: leave out a function as soon as one of its rows cannot be expressed, instead of
            keeping the rows around it, each stretch in a FDE of its own.
        errata: see `Target.of`.

    Raises:
        ValueError: there is no such version.
    """
    header = decoded.header
    target = Target.of(header.arch, version, abi=header.abi, errata=errata)
    flags = header.flags & layout.FRAME_POINTER & layout.VERSIONS[version].flags
    losses = []
    if header.flags & layout.FRAME_POINTER & ~flags:
        losses.append(HeaderLoss.FRAME_POINTER)
    if aux:
        losses.append(HeaderLoss.AUXILIARY)
    meanings: Meanings = {}
    encoding = encode_rows(
        [_entry(fde, decoded, meanings) for fde in decoded.fdes],
        target,
        address=address,
        sort=bool(header.flags & layout.FDE_SORTED),
        split=not whole,
        flags=flags,
    )
    return Conversion(encoding, tuple(losses))


def _entry(fde: Fde, decoded: Decoded, meanings: Meanings) -> Entry:
    function = fde_rows(fde, decoded, meanings)
    verdicts = {row.verdict for row in function.rows if isinstance(row, NoRow)}
    if fde.first == fde.last and Verdict.CORRUPT not in verdicts:
        # A function without rows stays one, whatever readers make of it.
        function = replace(function, starts=(), rows=())
    return Entry(function, key_b=fde.pauth_key == "b", signal=fde.signal)
