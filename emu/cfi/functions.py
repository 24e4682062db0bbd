"""Functions with rows from the bytes of an .eh_frame section.

One FDE is one `FunctionRows`, but for the entry of a procedure linkage table, whose rows
repeat with every slot: that becomes one for each stretch of it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from arch.descriptor import Arch
from arch.row import Row
from emu.cfi.entries import Fde, read_entries
from emu.cfi.reading import EhFrame
from emu.cfi.rules import State
from emu.cfi.states import Span, initial_state, run
from emu.cfi.translate import Repeated, Translation, Translator
from emu.tables import FunctionRows, NoRow
from emu.verdict import Verdict

_INSIDE = NoRow(Verdict.REFUSED, "repeated rows that begin inside a block")


@dataclass(frozen=True, slots=True)
class Reading:
    """What an .eh_frame section says, and what of it could not be read."""

    functions: tuple[FunctionRows, ...]
    """Ascending by section and start."""
    faults: tuple[str, ...]
    """One line for each entry that is left out because it has no readable range."""


class Described(NamedTuple):
    """One FDE, and the functions with rows that it stands for."""

    fde: Fde
    functions: tuple[FunctionRows, ...]
    states: tuple[Span, ...]
    """If other registers are followed, what lies behind the rows: ascending offsets from 0, and
    each state that is a row, or the reason why it is none."""


def read_functions(frame: EhFrame, arch: Arch, code_at_zero: bool = False) -> Reading:
    """All functions of the section.

    Left out are FDEs without bytes, and in a linked file those at address 0: what the
    linker leaves of a function that it has thrown away.

    Args:
        frame: the section.
        arch: roles and numbers of the registers.
        code_at_zero: address 0 lies in executable code of the linked file.
    """
    return in_order(*describe(frame, arch, code_at_zero))


def in_order(described: list[Described], faults: tuple[str, ...]) -> Reading:
    """The functions of all FDEs, sorted."""
    functions = [function for one in described for function in one.functions]
    functions.sort(key=lambda function: (function.section, function.start))
    return Reading(tuple(functions), faults)


def describe(
    frame: EhFrame, arch: Arch, code_at_zero: bool = False, others: tuple[int, ...] = ()
) -> tuple[list[Described], tuple[str, ...]]:
    """Each FDE with its functions, in the order of the section, and the faults.

    What is left out, and the first arguments, are those of `read_functions`.

    Args:
        others: DWARF numbers of registers to follow beside SP, FP and RA.
    """
    entries = read_entries(frame)
    translator = Translator(arch)
    initial: dict[int, State | NoRow] = {}
    described: list[Described] = []
    # Half of all functions have the same few instructions as another one.
    known: dict[tuple[int, bytes], tuple[int, Described]] = {}
    keep_zero = frame.relocatable or code_at_zero
    for fde in entries.functions:
        if not fde.size or not (fde.location.value or keep_zero):
            continue
        cie = fde.cie
        key = cie.offset, frame.data[fde.start : fde.end]
        last, like = known.get(key, (fde.size, None))
        if like is not None and last < fde.size:
            described.append(_alike(fde, like))
            continue
        if cie.offset not in initial:
            initial[cie.offset] = initial_state(frame, cie, arch, others)
        states, last = _states(frame, fde, initial[cie.offset], arch, others)
        spans, anywhere = _translated(fde, states, translator)
        kept = tuple(states) if others else ()
        described.append(Described(fde, tuple(_functions(fde, spans)), kept))
        if last >= 0 and anywhere:
            known[key] = last, described[-1]
    return described, tuple(entries.faults)


def _alike(fde: Fde, like: Described) -> Described:
    """A function whose instructions say the same as those of another one of its CIE."""
    [rows] = like.functions
    where = fde.location
    function = FunctionRows(where.value, fde.size, rows.starts, rows.rows, 0, where.section)
    return Described(fde, (function,), like.states)


def _states(
    frame: EhFrame, fde: Fde, initial: State | NoRow, arch: Arch, others: tuple[int, ...]
) -> tuple[list[Span], int]:
    """As `run` of one FDE, or the reason why nothing of it can be followed."""
    if fde.cie.refusal:
        return [(0, NoRow(Verdict.REFUSED, fde.cie.refusal))], -1
    if fde.cie.return_column != arch.ra:
        reason = f"the return address is in column {fde.cie.return_column}"
        return [(0, NoRow(Verdict.REFUSED, reason))], -1
    if isinstance(initial, NoRow):
        return [(0, initial)], -1
    return run(frame, fde, initial, arch, others)


def _translated(
    fde: Fde, states: list[Span], translator: Translator
) -> tuple[list[tuple[int, Translation]], bool]:
    """The different rows of one FDE; `states` then has the reason where there is none.

    Returns:
        The rows; and whether the states are these rows at any address: none repeats.
    """
    spans: list[tuple[int, Translation]] = []
    anywhere = True
    signal = fde.cie.signal
    last: Translation | None = None
    for index, (offset, state) in enumerate(states):
        row: Translation
        if isinstance(state, NoRow):
            row = state
        else:
            row = translator.translate(state, signal)
            if isinstance(row, Repeated):
                anywhere = False
                if (fde.location.value + offset) % row.size:
                    row = _INSIDE
            if isinstance(row, NoRow):
                states[index] = offset, row
        if row is not last:
            spans.append((offset, row))
            last = row
    return spans, anywhere


def _functions(fde: Fde, spans: list[tuple[int, Translation]]) -> Iterator[FunctionRows]:
    """The rows of one FDE, cut where repeated rows begin and end."""
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
