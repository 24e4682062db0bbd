"""Rows and their words, by the four readers in the order of READERS; section 7, FRE and words."""

from errno import EFAULT, EINVAL

import pytest

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.aarch64 import AARCH64
from arch.row import KEEP
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.kernel.events import Name
from emu.kernel.frame import Frame
from emu.kernel.header import Section
from emu.kernel.lookup import find_frame
from emu.kernel.reader import AS_SENT, REPAIRED, V2, V3, Reader
from emu.kernel.user_memory import ReadLimit, UserMemory
from emu.memory import READ, Memory
from emu.sframe import layout
from emu.tables import FunctionRows
from tests.emu.kernel.tasks import (
    READERS,
    TABLE,
    TEXT,
    TEXT_END,
    F,
    Values,
    answers,
    at,
    look,
    made,
    rows_of,
)


def info(version: int, number: int, **bits: int) -> int:
    """The info byte of a row with another count or size code of words."""
    encoded = made(version)
    offset, _ = encoded.fields()["row", number, "info"]
    value = encoded.data[offset]
    if "count" in bits:
        value = value & ~0x1E | bits["count"] << layout.WORD_COUNT_SHIFT
    if "code" in bits:
        value = value & ~0x60 | bits["code"] << layout.WORD_SIZE_SHIFT
    return value


def flex(*words: int, arch: Arch = X86_64) -> Frame:
    """What V3 makes of a FLEX row with these words, which it takes."""
    found = flex_answer(*words, arch=arch)
    assert isinstance(found, Frame), found
    return found


def flex_answer(*words: int, arch: Arch = X86_64) -> object:
    """A FLEX row of one-byte words, alone in its function."""
    one = (FunctionRows(F, 0x40, (0,), rows_of(arch)[:1]),)
    encoded = made(3, arch, one)
    places = encoded.fields()
    data = bytearray(encoded.patched({("fde", 0, "info2"): layout.FLEX}))
    start = places["row", 0, "info"][0]
    data[start:] = bytes((len(words) << 1, *(word & 0xFF for word in words)))
    offset, size = places["header", 0, "fre_len"]
    data[offset : offset + size] = (len(data) - encoded.fres_at).to_bytes(size, arch.byte_order)
    return look(V3, ip=F, arch=arch, functions=one, raw=bytes(data)).answer


def test_fre_type() -> None:
    """A FRE type above 2."""
    assert answers({("fde", 0, "info"): 3}) == [EINVAL, EINVAL, EFAULT, EFAULT]


def cut(row: int, field: str, ip: int) -> list[object]:
    """What each reader answers where the FREs end in front of a field of a row."""
    found: list[object] = []
    for reader in READERS:
        encoded = made(reader.version)
        end = encoded.fields()["row", row, field].offset - encoded.fres_at
        data = encoded.patched({("header", 0, "fre_len"): end})
        answer = look(reader, raw=data, ip=ip).answer
        found.append(0 if isinstance(answer, Frame) else answer)
    return found


def test_fre_start_and_info_beyond() -> None:
    """The FREs end before the info byte of a row, the wanted one or the next."""
    assert cut(1, "info", F + 2) == [0, 0, EFAULT, EFAULT]
    assert cut(2, "info", F + 2) == [0, 0, EFAULT, EFAULT]
    assert cut(3, "start", F + 8) == [0, 0, 0, 0]


def test_fre_start_above_size() -> None:
    """A row may start where the function ends, but not behind; 2024 does not look."""
    assert answers({("row", 1, "start"): 0x40}, ip=F + 2) == [0, 0, 0, 0]
    assert answers({("row", 1, "start"): 0x41}, ip=F + 2) == [0, 0, EFAULT, EFAULT]


def test_fre_start_above_size_where_rows_repeat() -> None:
    """Of repeated blocks it is not asked."""
    values = {("row", 1, "start"): 0x41, ("fde", 0, "info"): layout.PC_MASK,
              ("fde", 0, "rep_size"): 16}  # fmt: skip
    assert answers(values, ip=F + 2) == [0, 0, 0, 0]


def test_fre_size_code_3() -> None:
    """The unused code for the size of words, in the row itself or one before it."""
    for number in (0, 1):
        assert answers({("row", number, "info"): info(2, number, code=3)}) == [
            EINVAL, EINVAL, EFAULT, EFAULT,
        ]  # fmt: skip


def test_fre_no_words() -> None:
    """Until 2025 an error; in 2026 it means that the stack ends, and fails for another reason."""
    values = {("row", 2, "info"): info(2, 2, count=0)}
    assert answers(values, ip=F + 8) == [EINVAL, EINVAL, EFAULT, EINVAL]


def test_outermost_row_is_refused() -> None:
    """Its CFA rule fails for want of a register before anybody notes that the stack ends."""
    found = look(V3, {("row", 2, "info"): info(3, 2, count=0)}, ip=F + 8)
    assert (found.answer, found.names) == (EINVAL, [Name.OUTERMOST_REFUSED])


def test_fre_words_beyond() -> None:
    """The FREs end before the last word of a row."""
    assert cut(2, "word1", F + 8) == [0, 0, EFAULT, EFAULT]
    assert cut(2, "word0", F + 8) == [0, 0, EFAULT, EFAULT]


def test_fre_not_ascending() -> None:
    """A start that is not above the one before, equal or lower; 2024 takes the last one."""
    assert answers({("row", 1, "start"): 0}) == [0, 0, EFAULT, EFAULT]
    assert answers({("row", 2, "start"): 1}, ip=F + 8) == [0, 0, EFAULT, EFAULT]
    # Noticed even where the row that is wanted comes before: one row is read ahead.
    assert answers({("row", 2, "start"): 0}, ip=F + 2) == [0, 0, EFAULT, EFAULT]


def test_fre_none_below() -> None:
    """The first row starts above: 2024 uses a pointer that was never set, and so it does for a
    function without rows."""
    unset = Name.UNINITIALISED_ROW
    assert answers({("row", 0, "start"): 1}, ip=F) == [unset, unset, EINVAL, EINVAL]
    assert answers({("fde", 0, "num_fres"): 0}) == [unset, unset, EINVAL, EINVAL]


def test_fre_start_is_signed() -> None:
    """As sent, a start of 2^31 is a negative one, and is passed over like any low start."""
    long = (FunctionRows(F, 1 << 17, (0, 1, 4), rows_of(X86_64)),)
    values: Values = {("row", 2, "start"): 0x8000_0000}
    sent = look(AS_SENT, values, ip=F + 2, functions=long)
    assert isinstance(sent.answer, Frame)
    assert sent.answer.row.cfa == rows_of(X86_64)[2].cfa
    assert Name.SIGNED_START in sent.names
    repaired = look(REPAIRED, values, ip=F + 2, functions=long)
    assert isinstance(repaired.answer, Frame)
    assert repaired.answer.row.cfa == rows_of(X86_64)[1].cfa


def test_words_ra_missing() -> None:
    """No word for RA where the header fixes none: retained in 2026, an error before."""
    found = {r.name: look(r, ip=F, fixed_ra=0).answer for r in READERS}
    assert list(found.values())[:3] == [EINVAL, EINVAL, EFAULT]
    last = found[V3.name]
    assert isinstance(last, Frame)
    assert last.row.ra == KEEP


def test_words_left_over() -> None:
    """More words than there are rules."""
    for reader, want in zip(READERS, (EINVAL, EINVAL, EFAULT, EFAULT), strict=True):
        # Row 0 takes the bytes of row 1 for words of its own.
        found = look(reader, {("row", 0, "info"): info(reader.version, 0, count=3)}, ip=F)
        assert found.answer == want


def test_words_fde_type_unknown() -> None:
    """V3: an FDE type that is neither DEFAULT nor FLEX."""
    assert look(V3, {("fde", 0, "info2"): 2}).answer == EFAULT


def test_flex_fewer_than_two_words() -> None:
    """A FLEX row with one word; without any it is outermost, and refused as such."""
    assert flex_answer(7 << 3 | 1) == EFAULT
    assert flex_answer() == EINVAL


def test_flex_cfa_without_register() -> None:
    """The CFA cannot count from itself."""
    assert flex_answer(2, 8) == EINVAL
    assert flex_answer(0, 8) == EINVAL


def test_words_default_rules() -> None:
    """DEFAULT: CFA by info bit 0, RA and FP loaded, 0 or absent retained."""
    found = [look(V3, ip=F + offset, arch=AARCH64).answer for offset in (0, 2, 5)]
    frames = [frame for frame in found if isinstance(frame, Frame)]
    assert [frame.row for frame in frames] == [
        Row(CfaRule(31, 0), KEEP, KEEP, 0),
        Row(CfaRule(31, 64), at(-48), at(-16), 0),
        Row(CfaRule(29, 64), at(-48), at(-16), 0),
    ]
    filled = look(V3, {("row", 1, "word1"): 0, ("row", 1, "word2"): 0}, arch=AARCH64).answer
    assert isinstance(filled, Frame)
    assert filled.row == Row(CfaRule(31, 64), KEEP, KEEP, 0)


def test_words_flex_control() -> None:
    """Base register, offset, load; RA and FP only while two words remain."""
    rdx, rsp, rbp = 1, 7, 6
    frame = flex(rdx << 3 | 3, 16, rdx << 3 | 1, 4, rbp << 3 | 3, -8)
    assert frame.row == Row(
        CfaRule(rdx, 16, deref=True),
        RegRule(RuleKind.REGISTER, rdx, 4),
        RegRule(RuleKind.AT_REGISTER, rbp, -8),
        0,
    )
    assert flex(rsp << 3 | 1, 16, 2, -24, 2, -16).row == Row(CfaRule(rsp, 16), at(-24), at(-16), 0)
    # One word is left for RA: it belongs to nothing.
    assert flex_answer(rsp << 3 | 1, 16, 0) == EFAULT


def test_words_zero_control_word() -> None:
    """A control word 0 falls back to the header's fixed offset, or to RETAIN."""
    rsp = 7
    assert flex(rsp << 3 | 1, 16, 0, 2, -16).row == Row(CfaRule(rsp, 16), at(-8), at(-16), 0)
    sp = 31
    found = flex(sp << 3 | 1, 16, 0, 2, -16, arch=AARCH64)
    assert found.row == Row(CfaRule(sp, 16), KEEP, at(-16), 0)
    # A lone filler for FP cannot be: it would be the only word left.
    assert flex_answer(sp << 3 | 1, 16, 2, -8, 0, arch=AARCH64) == EFAULT


def test_words_senseless_rules() -> None:
    """CFA + offset as a value of RA or FP: found, but the step has no case for it."""
    rsp = 7
    assert flex(rsp << 3 | 1, 16, 4 | 8, -8).ra_warns
    assert flex(rsp << 3 | 1, 16, 0, 8, -8).fp_warns


def test_words_cfa_deref_of_fp() -> None:
    """DRAP, CFA = *(rbp - 8): the rule for FP has no case with a load."""
    frame = flex(6 << 3 | 3, -8, 0, 6 << 3 | 3, 0)
    assert frame.cfa_warns
    assert flex(7 << 3 | 3, -8).cfa_warns
    assert not flex(1 << 3 | 3, -8).cfa_warns


def test_words_s390x_cfa_is_scaled() -> None:
    """CFA offset = 8 * word + 160, DEFAULT and FLEX alike; RA and FP are not scaled."""
    found = look(V3, {("row", 1, "word0"): 22}, arch=S390X).answer
    assert isinstance(found, Frame)
    assert found.row.cfa == CfaRule(15, 336)
    frame = flex(15 << 3 | 1, 0, 2, -48, 17 << 3 | 1, 0, arch=S390X)
    assert frame.row == Row(
        CfaRule(15, 160), at(-48), RegRule(RuleKind.REGISTER, 17, 0), -160
    )


def test_pcmask_is_a_remainder() -> None:
    """The offset in the function modulo the size of the block."""
    values = {("fde", 0, "info"): layout.PC_MASK, ("fde", 0, "rep_size"): 16}
    for reader in READERS:
        for offset, row in ((0, 0), (16, 0), (17, 1), (0x24, 2), (0x3F, 2)):
            found = look(reader, values, ip=F + offset).answer
            assert isinstance(found, Frame)
            assert found.row.cfa == rows_of(X86_64)[row].cfa


def test_rep_size_0() -> None:
    """Nobody refuses a block of 0 bytes: a division by zero that a program can cause."""
    values = {("fde", 0, "info"): layout.PC_MASK, ("fde", 0, "rep_size"): 0}
    assert answers(values) == [Name.DIVISION_BY_ZERO] * 4


def test_cfa_is_unsigned() -> None:
    """As sent, a negative CFA offset of one or two bytes is a large one; four bytes come right."""
    sent = look(AS_SENT, {("row", 1, "word0"): 0xF8})
    assert isinstance(sent.answer, Frame)
    assert (sent.answer.row.cfa.offset, sent.names) == (0xF8, [Name.UNSIGNED_CFA])
    for reader in (REPAIRED, V2, V3):
        found = look(reader, {("row", 1, "word0"): 0xF8}).answer
        assert isinstance(found, Frame)
        assert found.row.cfa.offset == -8


def test_ra_offset_0_in_2024() -> None:
    """A RA word 0 is no slot and no error: the next ip would be a variable that was never set."""
    values = {("row", 0, "word1"): 0}
    one = (FunctionRows(F, 0x40, (0,), rows_of(AARCH64)[1:2]),)
    for reader in (AS_SENT, REPAIRED):
        found = look(reader, values, arch=AARCH64, functions=one).answer
        assert isinstance(found, Frame)
        assert found.ra_unset
    found = look(V2, values, arch=AARCH64, functions=one).answer
    assert isinstance(found, Frame)
    assert (found.ra_unset, found.row.ra) == (False, at(0))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_reads_are_bounded(reader: Reader) -> None:
    """A function that claims rows without end, over memory without end, is given up."""
    memory = Memory(1 << 26)
    size = 1 << 25
    memory.map(TABLE, size, READ)
    count = {2: 0xFFFF_FFFF, 3: 0xFFFF}[reader.version]
    encoded = made(reader.version, functions=(FunctionRows(F, 0x40, (0,), rows_of(X86_64)[:1]),))
    data = encoded.patched(
        {("fde", 0, "num_fres"): count, ("fde", 0, "info"): 2, ("fde", 0, "size"): 1 << 19}
    )
    first = encoded.fres_at + (5 if reader.version == 3 else 0)
    # Four bytes of start, an info byte with one word, a word.
    rows = b"".join(number.to_bytes(4, "little") + b"\3\x08" for number in range(1 << 16))
    memory.write(TABLE, data[:first] + rows, force=True)
    section = Section(
        TABLE, TABLE + size, TEXT, TEXT_END, 1, TABLE + encoded.fdes_at, TABLE + encoded.fres_at,
        TABLE + size, -8, 0,
    )  # fmt: skip
    user = UserMemory(memory, most=10_000)
    with pytest.raises(ReadLimit):
        find_frame(reader, section, user, X86_64, F + (1 << 18), lambda event: None)
    assert user.reads == 10_001
