"""Call-frame instructions, decoded one at a time (DWARF 5 sections 6.4.2 and 7.24).

Operands stay as they are stored: nothing is scaled by the factors of the CIE here.
Generic libraries lose all of an entry's instructions at the first one they do not know;
here those before it have been handed out when `CfiError` comes.
"""

from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from emu.cfi.reading import EhFrame, sleb, uleb
from emu.errors import CfiError


class Op(IntEnum):
    """DW_CFA_*; the first three have an operand in their low six bits."""

    ADVANCE_LOC = 0x40
    OFFSET = 0x80
    RESTORE = 0xC0
    NOP = 0x00
    SET_LOC = 0x01
    ADVANCE_LOC1 = 0x02
    ADVANCE_LOC2 = 0x03
    ADVANCE_LOC4 = 0x04
    OFFSET_EXTENDED = 0x05
    RESTORE_EXTENDED = 0x06
    UNDEFINED = 0x07
    SAME_VALUE = 0x08
    REGISTER = 0x09
    REMEMBER_STATE = 0x0A
    RESTORE_STATE = 0x0B
    DEF_CFA = 0x0C
    DEF_CFA_REGISTER = 0x0D
    DEF_CFA_OFFSET = 0x0E
    DEF_CFA_EXPRESSION = 0x0F
    EXPRESSION = 0x10
    OFFSET_EXTENDED_SF = 0x11
    DEF_CFA_SF = 0x12
    DEF_CFA_OFFSET_SF = 0x13
    VAL_OFFSET = 0x14
    VAL_OFFSET_SF = 0x15
    VAL_EXPRESSION = 0x16
    ADVANCE_LOC8 = 0x1D
    """DW_CFA_MIPS_advance_loc8, which assemblers may use for any machine."""
    NEGATE_RA_STATE_WITH_PC = 0x2C
    NEGATE_RA_STATE = 0x2D
    """DW_CFA_AARCH64_negate_ra_state; the same number is DW_CFA_GNU_window_save."""
    GNU_ARGS_SIZE = 0x2E
    GNU_NEGATIVE_OFFSET_EXTENDED = 0x2F


_OPERANDS = {
    Op.NOP: "",
    Op.SET_LOC: "p",
    Op.ADVANCE_LOC1: "1",
    Op.ADVANCE_LOC2: "2",
    Op.ADVANCE_LOC4: "4",
    Op.ADVANCE_LOC8: "8",
    Op.OFFSET_EXTENDED: "uu",
    Op.RESTORE_EXTENDED: "u",
    Op.UNDEFINED: "u",
    Op.SAME_VALUE: "u",
    Op.REGISTER: "uu",
    Op.REMEMBER_STATE: "",
    Op.RESTORE_STATE: "",
    Op.DEF_CFA: "uu",
    Op.DEF_CFA_REGISTER: "u",
    Op.DEF_CFA_OFFSET: "u",
    Op.DEF_CFA_EXPRESSION: "b",
    Op.EXPRESSION: "ub",
    Op.OFFSET_EXTENDED_SF: "us",
    Op.DEF_CFA_SF: "us",
    Op.DEF_CFA_OFFSET_SF: "s",
    Op.VAL_OFFSET: "uu",
    Op.VAL_OFFSET_SF: "us",
    Op.VAL_EXPRESSION: "ub",
    Op.NEGATE_RA_STATE_WITH_PC: "",
    Op.NEGATE_RA_STATE: "",
    Op.GNU_ARGS_SIZE: "u",
    Op.GNU_NEGATIVE_OFFSET_EXTENDED: "uu",
}
"""One letter an operand: u and s LEB128, b a block, p an encoded pointer, a digit its bytes."""
_BY_NUMBER = {int(op): (op, operands) for op, operands in _OPERANDS.items()}


class Instruction(NamedTuple):
    """An instruction and its operands in the order of the text of the standard."""

    op: Op
    first: int = 0
    second: int = 0
    block: bytes = b""


_OFFSET = Op.OFFSET
_WHOLE = [Instruction(Op(byte & 0xC0), byte & 0x3F) if byte & 0x40 else None for byte in range(256)]
"""By their one byte, those that are no longer: two of three in real tables."""


def decode(frame: EhFrame, position: int, end: int, encoding: int) -> Iterator[Instruction]:
    """The instructions in [position, end), padding left out.

    Args:
        encoding: of the operand of DW_CFA_set_loc, that of the entry's own location.

    Raises:
        CfiError: an unknown instruction, or an operand that reaches behind `end`.
    """
    data = frame.data
    while position < end:
        byte = data[position]
        position += 1
        if not byte:
            continue
        whole = _WHOLE[byte]
        if whole is not None:
            yield whole
            continue
        if byte & 0xC0 == _OFFSET:
            second, position = uleb(data, position, end)
            yield Instruction(_OFFSET, byte & 0x3F, second)
            continue
        known = _BY_NUMBER.get(byte)
        if known is None:
            raise CfiError(f"offset {position - 1:#x}: unknown call-frame instruction {byte:#04x}")
        op, operands = known
        values = [0, 0]
        block = b""
        for index, kind in enumerate(operands):
            if kind == "u":
                values[index], position = uleb(data, position, end)
            elif kind == "s":
                values[index], position = sleb(data, position, end)
            elif kind == "b":
                length, position = uleb(data, position, end)
                if length > end - position:
                    raise CfiError(f"offset {position:#x}: {length:#x} bytes are cut off")
                block = data[position : position + length]
                position += length
            elif kind == "p":
                pointer, position = frame.pointer(position, end, encoding)
                values = [pointer.value, pointer.section]
            else:
                values[index] = frame.word(position, int(kind), end)
                position += int(kind)
        yield Instruction(op, values[0], values[1], block)
