"""Call-frame instructions -> the states of a function, by offset (emu.cfi.rules)."""

from typing import TypeAlias

from arch.descriptor import Arch
from emu.cfi.entries import Cie, Fde
from emu.cfi.instructions import Op, decode
from emu.cfi.reading import EhFrame
from emu.cfi.rules import Machine, State
from emu.errors import CfiError
from emu.tables import NoRow
from emu.verdict import Verdict

Span: TypeAlias = tuple[int, State | NoRow]
"""Offset in the function, and what holds from there to the next span."""

LOCATIONS = {
    Op.ADVANCE_LOC,
    Op.ADVANCE_LOC1,
    Op.ADVANCE_LOC2,
    Op.ADVANCE_LOC4,
    Op.ADVANCE_LOC8,
    Op.SET_LOC,
}
"""What moves the location."""
_MOVES = bytes(number in {*map(int, LOCATIONS)} for number in range(256))
"""The same by number: to look into a set takes longer."""
_SET_LOC = Op.SET_LOC


def initial_state(
    frame: EhFrame, cie: Cie, arch: Arch, others: tuple[int, ...] = ()
) -> State | NoRow:
    """The state that the CIE's initial instructions make, or CORRUPT with the reason."""
    machine = Machine(arch, cie, None, others)
    try:
        for instruction in decode(frame, cie.start, cie.end, cie.encoding):
            machine.execute(instruction)
    except CfiError as error:
        return NoRow(Verdict.CORRUPT, f"CIE at {cie.offset:#x}: {error}")
    return machine.state


def run(
    frame: EhFrame, fde: Fde, initial: State, arch: Arch, others: tuple[int, ...] = ()
) -> tuple[list[Span], int]:
    """The states of a function by ascending offset, the first at 0.

    Only the last state at an offset is kept. Where an instruction cannot be followed, the
    states before its location stand and CORRUPT holds from there on. Instructions for
    places behind the end of the function are not read.

    Returns:
        The states; and, if the same bytes say the same of any longer function of this CIE, the
        last offset they speak of, else -1.
    """
    spans: list[Span] = []
    machine = Machine(arch, fde.cie, initial, others)
    factor, size = fde.cie.code_factor, fde.size
    offset, changed, anywhere = 0, True, True
    try:
        for instruction in decode(frame, fde.start, fde.end, fde.cie.encoding):
            op = instruction.op
            if not _MOVES[op]:
                machine.execute(instruction)
                changed = True
                continue
            if op is _SET_LOC:
                anywhere = False
                if instruction.second != fde.location.section:
                    raise CfiError("the location moves to another section")
                move = instruction.first - fde.location.value - offset
            else:
                move = instruction.first * factor
            if move < 0:
                raise CfiError("the location moves backwards")
            if move:
                if changed:
                    spans.append((offset, machine.state))
                    changed = False
                offset += move
                if offset >= size:
                    return spans, -1
        if changed:
            spans.append((offset, machine.state))
    except CfiError as error:
        spans.append((offset, NoRow(Verdict.CORRUPT, f"FDE at {fde.offset:#x}: {error}")))
        return spans, -1
    return spans, offset if anywhere else -1
