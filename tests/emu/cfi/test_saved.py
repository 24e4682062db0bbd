"""Rules of callee-saved registers: literal instructions, with answers from DWARF 5 section 6.4."""

import pytest

from arch.aarch64 import AARCH64
from arch.descriptor import Arch
from arch.row import UNKNOWN, RegRule, Row, RuleKind
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.cfi.functions import read_functions
from emu.cfi.reading import EhFrame, Pointer
from emu.cfi.saved import SavedRows, SavedRule, read_rows
from emu.tables import NoRow
from emu.verdict import Verdict
from tests.emu.cfi.section import ADDRESS, DATA, START, cie, fde, initial, section

RBX, R12, R13 = 3, 12, 13
Rules = list[tuple[int, dict[int, RegRule]]]


def at_cfa(offset: int) -> RegRule:
    return RegRule(RuleKind.AT_CFA, offset=offset)


def rows(arch: Arch, data: bytes) -> SavedRows:
    """Those of the one function of a section; its rows must be those of plain reading."""
    frame = EhFrame(data, ADDRESS, arch.byte_order)
    reading, (found,) = read_rows(frame, arch)
    assert reading == read_functions(frame, arch)
    for rules in found.rules:
        numbers = [rule.register for rule in rules]
        assert numbers == sorted(set(numbers))
    return found


def rules(arch: Arch, instructions: bytes, cie_extra: bytes = b"") -> Rules:
    """(offset, register -> rule) of each stretch of one function."""
    found = rows(arch, section(arch, instructions, cie_extra=cie_extra))
    return [
        (start, {rule.register: rule.rule for rule in rules})
        for start, rules in zip(found.starts, found.rules, strict=True)
    ]


def test_a_function_that_keeps_all_registers():
    """Without a rule a register has the caller's value, and is not listed."""
    found = rows(X86_64, section(X86_64, b"\x44\x0e\x10"))
    assert found == SavedRows(START, 64, -1, None, False, (0,), ((),))


@pytest.mark.parametrize(
    ("instructions", "rule"),
    [
        (b"\x83\x03", at_cfa(-24)),
        (b"\x05\x03\x03", at_cfa(-24)),
        (b"\x11\x03\x7d", at_cfa(24)),
        (b"\x2f\x03\x03", at_cfa(24)),
        (b"\x09\x03\x0a", RegRule(RuleKind.REGISTER, 10)),
        (b"\x09\x03\x0c", RegRule(RuleKind.REGISTER, 12)),
        (b"\x10\x03\x02\x76\x78", RegRule(RuleKind.AT_REGISTER, 6, -8)),
        (b"\x16\x03\x02\x7c\x08", RegRule(RuleKind.REGISTER, 12, 8)),
        (b"\x16\x03\x03\x73\x08\x06", RegRule(RuleKind.AT_REGISTER, 3, 8)),
        (b"\x07\x03", UNKNOWN),
        (b"\x14\x03\x02", UNKNOWN),
        (b"\x15\x03\x02", UNKNOWN),
        (b"\x09\x03\x11", UNKNOWN),
        (b"\x10\x03\x03\x76\x00\x06", UNKNOWN),
        (b"\x10\x03\x01\x96", UNKNOWN),
        (b"\x10\x03\x00", UNKNOWN),
    ],
)
def test_rules_of_a_register(instructions: bytes, rule: RegRule):
    """Each instruction that gives one; what is lost or cannot be followed is unknown."""
    assert rules(X86_64, instructions) == [(0, {RBX: rule})]


@pytest.mark.parametrize(
    "instructions",
    [b"\x83\3\x08\3", b"\x83\3\xc3", b"\x83\3\x06\3", b"\x09\3\3", b"\x16\3\2\x73\0"],
    ids=["same value", "restore", "restore_extended", "register", "val_expression"],
)  # fmt: skip
def test_a_register_that_is_kept_after_all(instructions: bytes):
    """Each way to say so."""
    assert rules(X86_64, instructions) == [(0, {})]


@pytest.mark.parametrize("register", [0, 1, 6, 7, 10, 16, 17, 40])
def test_registers_that_are_not_asked_for(register: int):
    """Those that are not kept, FP, SP, the return address, and numbers without a register."""
    assert rules(X86_64, bytes([0x05, register, 3])) == [(0, {})]


@pytest.mark.parametrize("arch", [X86_64, AARCH64, S390X], ids=lambda arch: arch.name)
def test_every_register_that_is_kept(arch: Arch):
    """All but FP, in ascending order, whatever the order of the instructions."""
    wanted = [number for number in arch.callee_saved if number != arch.fp]
    saves = b"".join(bytes([0x05, number, 20]) for number in reversed(wanted))
    assert rules(arch, saves) == [(0, dict.fromkeys(wanted, at_cfa(-160)))]


def test_only_what_changes_starts_anew():
    """Changes of the CFA, of FP and of other registers, and equal rules said again, do not."""
    text = "44 0e10 44 8303 44 8604 0e20 44 8c05 8003 44 8303 1103 03 0e30 44 0d06 44 0903 03"
    assert rules(X86_64, bytes.fromhex(text)) == [
        (0, {}), (8, {RBX: at_cfa(-24)}), (16, {RBX: at_cfa(-24), R12: at_cfa(-40)}),
        (28, {R12: at_cfa(-40)}),
    ]  # fmt: skip


def test_restore_goes_back_to_the_cie():
    """To the rule that its initial instructions give, not to that of the place before."""
    instructions = bytes.fromhex("44 8303 44 0703 44 c3 44 0803 44 0603")
    assert rules(X86_64, instructions, cie_extra=b"\x83\x05\x8d\x06") == [
        (0, {RBX: at_cfa(-40), R13: at_cfa(-48)}), (4, {RBX: at_cfa(-24), R13: at_cfa(-48)}),
        (8, {RBX: UNKNOWN, R13: at_cfa(-48)}), (12, {RBX: at_cfa(-40), R13: at_cfa(-48)}),
        (16, {R13: at_cfa(-48)}), (20, {RBX: at_cfa(-40), R13: at_cfa(-48)}),
    ]  # fmt: skip


def test_remember_and_restore_nest():
    """Rules that were made meanwhile go, those that were taken away come back."""
    instructions = bytes.fromhex("8303 0a 44 8c04 0a 44 c3 8d05 44 0b 44 0b 44 0703")
    assert rules(X86_64, instructions) == [
        (0, {RBX: at_cfa(-24)}), (4, {RBX: at_cfa(-24), R12: at_cfa(-32)}),
        (8, {R12: at_cfa(-32), R13: at_cfa(-40)}), (12, {RBX: at_cfa(-24), R12: at_cfa(-32)}),
        (16, {RBX: at_cfa(-24)}), (20, {RBX: UNKNOWN}),
    ]  # fmt: skip


def test_a_restored_state_does_not_change_the_cie():
    """Restoring a rule after restoring a state still goes back to the beginning."""
    instructions = bytes.fromhex("8303 0a 44 0b 44 c3")
    assert rules(X86_64, instructions, cie_extra=b"\x83\x05") == [
        (0, {RBX: at_cfa(-24)}), (8, {RBX: at_cfa(-40)}),
    ]  # fmt: skip


def test_low_halves_of_vector_registers():
    """aarch64: d8 (72) is kept, and may hold another's value; v16 (80) is neither."""
    instructions = bytes.fromhex("054802 44 091348 44 091350")
    assert rules(AARCH64, instructions) == [
        (0, {72: at_cfa(-16)}), (4, {19: RegRule(RuleKind.REGISTER, 72), 72: at_cfa(-16)}),
        (8, {19: UNKNOWN, 72: at_cfa(-16)}),
    ]  # fmt: skip


@pytest.mark.parametrize("instructions", [b"\x0d\x48", b"\x09\x1d\x48", b"\x09\x1e\x48"])
def test_rows_still_cannot_name_them(instructions: bytes):
    """CFA, FP or return address in d8: no row, as ever, and so no rules."""
    data = section(AARCH64, b"\x93\x02\x44" + instructions)
    (function,) = read_functions(EhFrame(data, ADDRESS, "little"), AARCH64).functions
    assert isinstance(function.rows[1], NoRow)
    assert "register 72, which cannot be read" in function.rows[1].reason
    found = rows(AARCH64, data)
    assert found.starts == (0, 4)
    assert found.rules == ((SavedRule(19, at_cfa(-16)),), ())


def test_floating_point_registers_that_hold_others():
    """s390x: a leaf function parks %r13 in %f0 (16), and keeps %f8 (24) in a slot."""
    assert rules(S390X, bytes.fromhex("090d10 44 051803")) == [
        (0, {13: RegRule(RuleKind.REGISTER, 16)}),
        (4, {13: RegRule(RuleKind.REGISTER, 16), 24: at_cfa(-24)}),
    ]


def test_the_stack_pointer_where_it_is_not_the_cfa():
    """s390x: %r15 (15) is saved like any other; aarch64 and x86-64 refuse what is not the CFA."""
    assert rules(S390X, bytes.fromhex("8f05 8e06 44 cf 44 090f11 44 090f0f 44 080f")) == [
        (0, {15: at_cfa(-40)}), (4, {}), (8, {15: RegRule(RuleKind.REGISTER, 17)}),
        (12, {15: RegRule(RuleKind.REGISTER, 15)}), (16, {}),
    ]  # fmt: skip
    for arch in (X86_64, AARCH64):
        assert rules(arch, bytes([0x05, arch.sp, 5])) == [(0, {})]


def test_a_stack_pointer_in_a_register_that_cannot_be_read():
    """s390x: an access register (48)."""
    assert rules(S390X, bytes.fromhex("090f30")) == [(0, {15: UNKNOWN})]


def test_rules_of_the_stack_pointer_that_are_the_cfa():
    """s390x: CFA - 160 said as such, and CFA - 160 by the expression of the CFA itself."""
    assert rules(S390X, bytes.fromhex("140f14")) == [(0, {})]
    assert rules(S390X, bytes.fromhex("160f027f00")) == [(0, {})]


# ---- where there is no row


@pytest.mark.parametrize(
    ("instructions", "verdict"),
    [
        (b"\x3f", Verdict.CORRUPT), (b"\x0b", Verdict.CORRUPT), (b"\x07\x06", Verdict.REFUSED),
        (b"\x0f\x01\x96", Verdict.REFUSED), (b"\x07\x10", None),
    ],
    ids=["unknown", "no state", "FP undefined", "CFA", "outermost"],
)  # fmt: skip
def test_no_rules_without_a_row(instructions: bytes, verdict: Verdict | None):
    """From the place on where a row is corrupt or refused, or the stack ends."""
    data = section(X86_64, b"\x83\x03\x44" + instructions)
    (function,) = read_functions(EhFrame(data, ADDRESS, "little"), X86_64).functions
    row = function.rows[1]
    assert (row.verdict if isinstance(row, NoRow) else None) is verdict
    assert isinstance(row, NoRow) or row.outermost
    found = rows(X86_64, data)
    assert (found.starts, found.rules) == ((0, 4), ((SavedRule(RBX, at_cfa(-24)),), ()))


def test_rules_come_back_with_the_row():
    """A refused stretch in the middle."""
    instructions = bytes.fromhex("8303 0a 44 0f0196 44 0b 44 0e20")
    assert rules(X86_64, instructions) == [
        (0, {RBX: at_cfa(-24)}), (4, {}), (8, {RBX: at_cfa(-24)}),
    ]  # fmt: skip


def test_a_cie_that_nobody_can_use():
    """Its functions have neither rows nor rules; their addresses stand."""
    for extra, column in ((b"\x3f", 16), (b"\x83\x03", 15)):
        first = cie("little", initial(X86_64) + extra, column=column)
        found = rows(X86_64, first + fde("little", len(first), b"\x83\x03"))
        assert (found.start, found.starts, found.rules) == (START, (0,), ((),))


def test_a_rule_that_cannot_be_true_harms_no_row():
    """An offset of more than 64 bits: the row does not name that register, and stands."""
    data = section(X86_64, b"\x83\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x44\xc3")
    (function,) = read_functions(EhFrame(data, ADDRESS, "little"), X86_64).functions
    assert isinstance(function.rows[0], Row)
    found = rows(X86_64, data)
    assert (found.starts, found.rules) == ((0, 4), ((SavedRule(RBX, UNKNOWN),), ()))


def test_repeated_rows_are_one_function():
    """A procedure linkage table, whose rows are cut, is one FDE; its rules hold in every slot."""
    instructions = bytes.fromhex("8303 0e18 42 0f0b 7708 8000 3f1a3b2a332422 50 8c04")
    frame = EhFrame(section(X86_64, instructions, start=0x2010 - 2), ADDRESS, "little")
    reading, (found,) = read_rows(frame, X86_64)
    assert [function.rep_size for function in reading.functions] == [0, 16]
    assert (found.start, found.size, found.starts) == (0x200E, 64, (0, 18))
    assert found.rules[0] == (SavedRule(RBX, at_cfa(-24)),)
    assert found.rules[1] == (SavedRule(RBX, at_cfa(-24)), SavedRule(R12, at_cfa(-32)))


def test_repeated_rows_inside_a_block():
    """The same where a block would be cut: refused, and no rules."""
    instructions = bytes.fromhex("8303 44 0f0b 7708 8000 3f1a3b2a332422")
    found = rows(X86_64, section(X86_64, instructions, start=0x2000))
    assert (found.starts, found.rules) == ((0, 4), ((SavedRule(RBX, at_cfa(-24)),), ()))


# ---- entries


def test_order_and_what_is_left_out():
    """As in the table: by address, without empty functions and what linkers left of others."""
    first = cie("little", initial(X86_64), column=16)
    data = first
    for start, size in ((0x3000, 8), (0x2000, 8), (0x2800, 0), (0, 8)):
        data += fde("little", len(data), b"", start=start, size=size)
    frame = EhFrame(data, ADDRESS, "little")
    _, found = read_rows(frame, X86_64)
    assert [one.start for one in found] == [0x2000, 0x3000]
    _, found = read_rows(frame, X86_64, code_at_zero=True)
    assert [one.start for one in found] == [0, 0x2000, 0x3000]


def test_signal_frames_and_data_areas():
    """Both are the FDE's own; where the data area cannot be read the reason stands beside it."""
    first = cie("little", initial(X86_64), column=16, augmentation=b"zLRS", data=b"\x1b\x1b")
    data = first + fde("little", len(first), b"\x83\x03", data=b"\x10\0\0\0")
    found = rows(X86_64, data)
    assert found.signal
    assert found.lsda == Pointer(ADDRESS + len(first) + DATA + 16)
    assert found.lsda_fault == ""
    found = rows(X86_64, data.replace(b"\x1b\x1b", b"\x9b\x1b", 1))
    assert found.lsda is None
    assert "indirect pointer encoding" in found.lsda_fault
    assert found.rules == ((SavedRule(RBX, at_cfa(-24)),),)
