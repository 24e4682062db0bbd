"""Functions with rows from the bytes of an .eh_frame section.

One FDE is one `FunctionRows`, but for the entry of a procedure linkage table, whose rows
repeat with every slot: that becomes one for each stretch of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from arch.descriptor import Arch
from arch.row import Row
from emu.cfi.entries import Fde, read_entries
from emu.cfi.reading import EhFrame
from emu.cfi.rules import State, initial_state, run
from emu.cfi.translate import Repeated, Translation, Translator
from emu.tables import FunctionRows, NoRow
from emu.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Reading:
    """What an .eh_frame section says, and what of it could not be read."""

    functions: tuple[FunctionRows, ...]
    """Ascending by section and start."""
    faults: tuple[str, ...]
    """One line for each entry that is left out because it has no readable range."""


@dataclass(frozen=True, slots=True)
class Described:
    """One FDE, and the functions with rows that it stands for."""

    fde: Fde
    functions: tuple[FunctionRows, ...]


def read_functions(frame: EhFrame, arch: Arch, code_at_zero: bool = False) -> Reading:
    """All functions of the section.

    Left out are FDEs without bytes, and in a linked file those at address 0: what the
    linker leaves of a function that it has thrown away.

    Args:
        frame: the section.
        arch: roles and numbers of the registers.
        code_at_zero: address 0 lies in executable code of the linked file.
    """
    described, faults = describe(frame, arch, code_at_zero)
    functions = [function for one in described for function in one.functions]
    functions.sort(key=lambda function: (function.section, function.start))
    return Reading(tuple(functions), faults)


def describe(
    frame: EhFrame, arch: Arch, code_at_zero: bool = False
) -> tuple[list[Described], tuple[str, ...]]:
    """Each FDE with its functions, in the order of the section, and the faults.

    What is left out, and the arguments, are those of `read_functions`.
    """
    entries = read_entries(frame)
    translator = Translator(arch)
    initial: dict[int, State | NoRow] = {}
    described: list[Described] = []
    keep_zero = frame.relocatable or code_at_zero
    for fde in entries.functions:
        if not fde.size or not (fde.location.value or keep_zero):
            continue
        cie = fde.cie
        if cie.offset not in initial:
            initial[cie.offset] = initial_state(frame, cie, arch)
        rows = _function(frame, fde, initial[cie.offset], arch, translator)
        described.append(Described(fde, tuple(rows)))
    return described, tuple(entries.faults)


def _function(
    frame: EhFrame, fde: Fde, initial: State | NoRow, arch: Arch, translator: Translator
) -> Iterator[FunctionRows]:
    """The rows of one FDE, cut where repeated rows begin and end."""
    spans: list[tuple[int, Translation]] = []
    if fde.cie.refusal:
        spans.append((0, NoRow(Verdict.REFUSED, fde.cie.refusal)))
    elif fde.cie.return_column != arch.ra:
        reason = f"the return address is in column {fde.cie.return_column}"
        spans.append((0, NoRow(Verdict.REFUSED, reason)))
    elif isinstance(initial, NoRow):
        spans.append((0, initial))
    else:
        for offset, state in run(frame, fde, initial, arch):
            row: Translation = (
                state if isinstance(state, NoRow) else translator.translate(state, fde.cie.signal)
            )
            if isinstance(row, Repeated) and (fde.location.value + offset) % row.size:
                row = NoRow(Verdict.REFUSED, "repeated rows that begin inside a block")
            if not spans or spans[-1][1] != row:
                spans.append((offset, row))

    pieces: list[tuple[int, list[int], list[Row | NoRow], int]] = []
    for offset, row in spans:
        if isinstance(row, Repeated):
            pieces.append((offset, list(row.starts), list(row.rows), row.size))
        elif pieces and not pieces[-1][3]:
            pieces[-1][1].append(offset - pieces[-1][0])
            pieces[-1][2].append(row)
        else:
            pieces.append((offset, [0], [row], 0))
    ends = [piece[0] for piece in pieces[1:]] + [fde.size]
    for (offset, starts, rows, repeated), end in zip(pieces, ends, strict=True):
        yield FunctionRows(
            start=fde.location.value + offset,
            size=end - offset,
            starts=tuple(starts),
            rows=tuple(rows),
            rep_size=repeated,
            section=fde.location.section,
        )
