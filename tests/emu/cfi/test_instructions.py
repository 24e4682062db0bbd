import io
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE, CallFrameInfo
from elftools.dwarf.structs import DWARFStructs

from emu.cfi.entries import read_entries
from emu.cfi.instructions import Instruction, Op, decode
from emu.cfi.reading import EhFrame
from emu.errors import CfiError
from emu.image import load_image

DATA = Path(__file__).parents[2] / "data" / "cfi"


def instructions(data: bytes, order="little", encoding=0x1B) -> list[Instruction]:
    return list(decode(EhFrame(data, 0x1000, order), 0, len(data), encoding))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        (b"\x45", Instruction(Op.ADVANCE_LOC, 5)),
        (b"\x86\x02", Instruction(Op.OFFSET, 6, 2)),
        (b"\xc6", Instruction(Op.RESTORE, 6)),
        (b"\x02\xff", Instruction(Op.ADVANCE_LOC1, 255)),
        (b"\x03\x34\x12", Instruction(Op.ADVANCE_LOC2, 0x1234)),
        (b"\x04\x78\x56\x34\x12", Instruction(Op.ADVANCE_LOC4, 0x12345678)),
        (b"\x1d" + b"\2" + bytes(7), Instruction(Op.ADVANCE_LOC8, 2)),
        (b"\x01\xfe\x0f\0\0", Instruction(Op.SET_LOC, 0x2000, -1)),
        (b"\x05\x80\x01\x02", Instruction(Op.OFFSET_EXTENDED, 128, 2)),
        (b"\x11\x10\x7f", Instruction(Op.OFFSET_EXTENDED_SF, 16, -1)),
        (b"\x12\x07\x7e", Instruction(Op.DEF_CFA_SF, 7, -2)),
        (b"\x13\x7e", Instruction(Op.DEF_CFA_OFFSET_SF, -2)),
        (b"\x15\x0f\x14", Instruction(Op.VAL_OFFSET_SF, 15, 20)),
        (b"\x0f\x02\x77\x08", Instruction(Op.DEF_CFA_EXPRESSION, 0, 0, b"\x77\x08")),
        (b"\x10\x06\x02\x76\x00", Instruction(Op.EXPRESSION, 6, 0, b"\x76\x00")),
        (b"\x16\x06\x01\x30", Instruction(Op.VAL_EXPRESSION, 6, 0, b"\x30")),
        (b"\x2d", Instruction(Op.NEGATE_RA_STATE)),
        (b"\x2e\x10", Instruction(Op.GNU_ARGS_SIZE, 16)),
        (b"\x2f\x06\x02", Instruction(Op.GNU_NEGATIVE_OFFSET_EXTENDED, 6, 2)),
    ],
)
def test_operands(stored: bytes, expected: Instruction):
    """Number, width and sign of operands, DWARF 5 table 7.29; padding vanishes."""
    assert instructions(b"\0" + stored + b"\0\0") == [expected]


def test_words_have_the_byte_order_of_the_machine():
    """The same bytes of an advance mean another distance."""
    assert instructions(b"\x03\x01\x00", "big") == [Instruction(Op.ADVANCE_LOC2, 256)]


@pytest.mark.parametrize("stored", [b"\x02", b"\x04\0\0\0", b"\x0c\x07", b"\x0f\x05\x77", b"\x86"])
def test_an_operand_past_the_end_is_refused(stored: bytes):
    """Bytes of the next entry are never read, and what came before is handed out."""
    data = b"\x45" + stored + b"\x01" * 16
    found = decode(EhFrame(data, 0, "little"), 0, 1 + len(stored), 0x1B)
    assert next(found) == Instruction(Op.ADVANCE_LOC, 5)
    with pytest.raises(CfiError):
        next(found)


@pytest.mark.parametrize("number", [0x17, 0x1C, 0x20, 0x2B, 0x30, 0x3F])
def test_an_unknown_number_is_refused(number: int):
    """Nothing says how long its operands are."""
    with pytest.raises(CfiError, match=f"{number:#04x}"):
        instructions(bytes([number]))


@pytest.mark.parametrize("name", ["x86_64", "aarch64", "s390x"])
def test_agrees_with_another_decoder(name: str):
    """Same functions and same instructions as pyelftools finds in real files."""
    image = load_image(str(DATA / f"{name}.so"))
    section = image.section(".eh_frame")
    assert section is not None
    data = image.section_bytes(section)
    frame = EhFrame(data, section.addr, image.byte_order)
    ours = {
        (f.location.value, f.size): [
            (int(i.op), i.first, i.second or i.block)
            for i in decode(frame, f.start, f.end, f.cie.encoding)
        ]
        for f in read_entries(frame).functions
    }
    structs = DWARFStructs(image.byte_order == "little", 32, 8)
    other = CallFrameInfo(io.BytesIO(data), len(data), section.addr, structs, for_eh_frame=True)
    theirs = {}
    for entry in other.get_entries():
        if isinstance(entry, FDE):
            rows = theirs[entry["initial_location"], entry["address_range"]] = []
            for instruction in entry.instructions:
                if int(instruction.opcode):
                    operands = [bytes(x) if isinstance(x, list) else x for x in instruction.args]
                    if int(instruction.opcode) == Op.DEF_CFA_EXPRESSION:
                        operands.insert(0, 0)
                    first, second = (*operands, 0, 0)[:2]
                    rows.append((int(instruction.opcode), first, second or b""))
    assert len(ours) >= 9
    assert ours == theirs
