"""The encoder: a section from the form of one that was read, or from functions with rows.

From rows it chooses what a producer chooses: FDE type, FRE type, order, flags. A function that
the version cannot express is left out and named with the reason; in a table of ranges that
is a gap, in which a reader knows that it knows nothing.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from emu.sframe import layout
from emu.sframe.express import Misfit, Reason, Target
from emu.sframe.form import Form, FormFunction
from emu.sframe.pieces import Entry, Expressions, Maker, Piece, Refusal
from emu.sframe.writer import Encoded, WordRange, usual_range, write

__all__ = ["Encoding", "Entry", "Misfit", "Reason", "Refusal", "Target", "encode", "encode_rows"]

_TOP = 1 << 63


@dataclass(frozen=True, slots=True)
class Encoding:
    """What came of functions with rows."""

    encoded: Encoded
    sources: tuple[int, ...]
    """By FDE: index of its function among those given; split ones have several FDEs."""
    starts: tuple[int, ...]
    """By FDE: where it starts, counted as the functions given do."""
    refusals: tuple[Refusal, ...]


def encode(form: Form, word_range: WordRange | None = None) -> Encoded:
    """Encode a form; one that `read_form` made gives back the bytes that a producer wrote.

    Args:
        form: the section.
        word_range: the producer's; by default that of the releases which write this version.

    Raises:
        FormError: a value does not fit into its field.
    """
    return write(form, word_range or usual_range(form.version))


def encode_rows(
    entries: Iterable[Entry],
    target: Target,
    *,
    address: int | None = 0,
    sort: bool = True,
    split: bool = False,
    flags: int = 0,
    word_range: WordRange | None = None,
) -> Encoding:
    """Encode functions with rows.

    Args:
        entries: the functions.
        target: the format.
        address: of the section, which starts are relative to; None in a relocatable file,
            whose starts are left 0 for relocations.
        sort: order by address and say so, instead of keeping the order given.
        split: leave out a row that cannot be expressed and not its whole function, which then
            has a FDE for each stretch between. Repeated blocks are never split.
        flags: further flags of the header.
        word_range: as for `encode`; it changes nothing but sizes.
    """
    refusals: list[Refusal] = []
    pieces: list[Piece] = []
    expressions = Expressions(target)
    for index, entry in enumerate(entries):
        pieces += Maker(index, entry, expressions, split, refusals).pieces()
    flags |= target.flags
    if address is None:
        placed = [replace(piece.form, start=0) for piece in pieces]
    else:
        flags |= layout.FDE_SORTED if sort else 0
        pieces, placed = _place(pieces, target, address, sort, refusals)
    functions = tuple(placed)
    form = Form(target.version, flags, target.abi, 0, target.fixed_ra, functions)
    return Encoding(
        encode(form, word_range),
        tuple(piece.entry for piece in pieces),
        tuple(piece.form.start for piece in pieces),
        tuple(sorted(refusals, key=lambda refusal: (refusal.entry, refusal.row or 0))),
    )


def _place(
    pieces: list[Piece], target: Target, address: int, sort: bool, refusals: list[Refusal]
) -> tuple[list[Piece], list[FormFunction]]:
    """Order the FDEs and make their starts relative; refuse those that lie wrong."""

    def refuse(piece: Piece, reason: Reason, text: str) -> None:
        refusals.append(piece.refusal(Misfit(reason, text)))

    if sort:
        # Of functions with one start the last is found, so the empty ones go first.
        pieces = sorted(pieces, key=lambda piece: (_signed(piece.form.start), piece.form.size))
        pieces = _without_overlaps(pieces, refuse)
    half = 1 << (31 if target.version < 3 else 63)
    size = layout.VERSIONS[target.version].fde_size
    kept: list[Piece] = []
    placed: list[FormFunction] = []
    for piece in pieces:
        base = address
        if target.flags & layout.FDE_FUNC_START_PCREL:
            base += layout.HEADER_SIZE + len(placed) * size
        start = _signed(piece.form.start - base)
        if not -half <= start < half:
            refuse(piece, Reason.START_RANGE, f"{start:+#x} bytes from the section")
            continue
        kept.append(piece)
        placed.append(replace(piece.form, start=start))
    return kept, placed


_Refuse: TypeAlias = Callable[[Piece, Reason, str], None]


def _without_overlaps(pieces: list[Piece], refuse: _Refuse) -> list[Piece]:
    kept: list[Piece] = []
    end = -_TOP
    for piece in pieces:
        start, size = _signed(piece.form.start), piece.form.size
        if size and start < end:
            refuse(piece, Reason.OVERLAP, "it starts inside the function before")
            continue
        kept.append(piece)
        end = max(end, start + size) if size else end
    return kept


def _signed(value: int) -> int:
    """An address as a number of 64 bits with a sign."""
    return (value + _TOP) % (2 * _TOP) - _TOP
