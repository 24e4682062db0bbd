"""Every instruction's effect on the row, with answers from the text of DWARF 5 section 6.4."""

import pytest

from arch.aarch64 import AARCH64
from arch.row import KEEP, CfaRule, RegRule, Row, RuleKind
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.tables import FunctionRows, NoRow
from emu.verdict import Verdict
from tests.emu.cfi.section import START, only, read, section

SP, FP = X86_64.sp, X86_64.fp
AT_MINUS_8 = RegRule(RuleKind.AT_CFA, offset=-8)


def cfas(function: FunctionRows) -> list[tuple[int, int, int]]:
    """(offset in the function, register, offset from it) of each row."""
    return [
        (start, row.cfa.register, row.cfa.offset)
        for start, row in zip(function.starts, function.rows, strict=True)
    ]


def test_a_function_without_instructions_has_the_row_of_its_cie():
    """Initial instructions hold at the first address."""
    function = only(X86_64, b"")
    assert (function.start, function.size, function.starts) == (START, 64, (0,))
    assert function.rows == (Row(CfaRule(SP, 8), AT_MINUS_8, KEEP, 0),)


@pytest.mark.parametrize(
    ("instructions", "register", "offset"),
    [
        (b"\x0c\x06\x10", FP, 16),
        (b"\x12\x06\x7e", FP, 16),
        (b"\x12\x06\x02", FP, -16),
        (b"\x0d\x06", FP, 8),
        (b"\x0e\x90\x01", SP, 144),
        (b"\x13\x7c", SP, 32),
    ],
    ids=["def_cfa", "def_cfa_sf", "negative", "register", "offset", "offset_sf"],
)
def test_cfa_rules(instructions: bytes, register: int, offset: int):
    """The _sf forms are scaled by the data factor (-8), the others not at all."""
    assert cfas(only(X86_64, instructions)) == [(0, register, offset)]


@pytest.mark.parametrize(
    ("advance", "offset"),
    [
        (b"\x44", 4),
        (b"\x02\x10", 16),
        (b"\x03\x10\x00", 16),
        (b"\x04\x10\x00\x00\x00", 16),
        (b"\x1d\x10" + bytes(7), 16),
        (b"\x41\x42\x02\x01", 4),
    ],
)
def test_advances(advance: bytes, offset: int):
    """Each width moves the location; several in a row add up."""
    assert cfas(only(X86_64, advance + b"\x0e\x10")) == [(0, SP, 8), (offset, SP, 16)]


def test_advances_are_scaled_by_the_code_factor():
    """On machines with instructions of four bytes compilers use the factor 4."""
    data = section(AARCH64, b"\x42\x0e\x10")
    data = data.replace(b"zR\0\x01", b"zR\0\x04", 1)
    (function,) = read(AARCH64, data).functions
    assert function.starts == (0, 8)


def test_set_loc_is_an_encoded_pointer():
    """It uses the encoding of the FDE, relative to its own place."""
    data = section(X86_64, b"\x01" + bytes(4) + b"\x0e\x10")
    place = len(data) - 6
    distance = (START + 32 - 0x8000 - place).to_bytes(4, "little", signed=True)
    (function,) = read(X86_64, data[:place] + distance + data[place + 4 :]).functions
    assert function.starts == (0, 32)


def test_one_row_for_each_address():
    """Several instructions at one address are one row, and equal neighbours are one."""
    function = only(X86_64, b"\x0e\x10\x86\x02\x44\x0e\x18\x40\x0e\x20\x44\x0e\x20")
    assert function.starts == (0, 4)
    assert cfas(function) == [(0, SP, 16), (4, SP, 32)]


def test_rows_past_the_end_are_not_read():
    """What is said of addresses behind the function concerns nobody, even if malformed."""
    assert only(X86_64, b"\x02\x40\x0e\x10\x3f").starts == (0,)


@pytest.mark.parametrize(
    ("instructions", "rule"),
    [
        (b"\x86\x02", RegRule(RuleKind.AT_CFA, offset=-16)),
        (b"\x05\x06\x02", RegRule(RuleKind.AT_CFA, offset=-16)),
        (b"\x11\x06\x02", RegRule(RuleKind.AT_CFA, offset=-16)),
        (b"\x11\x06\x7e", RegRule(RuleKind.AT_CFA, offset=16)),
        (b"\x2f\x06\x02", RegRule(RuleKind.AT_CFA, offset=16)),
        (b"\x09\x06\x03", RegRule(RuleKind.REGISTER, 3)),
        (b"\x09\x06\x06", KEEP),
        (b"\x86\x02\x08\x06", KEEP),
        (b"\x86\x02\xc6", KEEP),
        (b"\x86\x02\x06\x06", KEEP),
        (b"\x10\x06\x02\x76\x78", RegRule(RuleKind.AT_REGISTER, 6, -8)),
        (b"\x10\x06\x03\x92\x06\x78", RegRule(RuleKind.AT_REGISTER, 6, -8)),
        (b"\x16\x06\x02\x73\x08", RegRule(RuleKind.REGISTER, 3, 8)),
        (b"\x16\x06\x03\x73\x08\x06", RegRule(RuleKind.AT_REGISTER, 3, 8)),
        (b"\x16\x06\x02\x76\x00", KEEP),
        (b"\x83\x02\x09\x0c\x03\x07\x0d", KEEP),
    ],
)
def test_rules_of_the_frame_pointer(instructions: bytes, rule: RegRule):
    """Each instruction that gives FP a rule; those of other registers change nothing."""
    (row,) = only(X86_64, instructions).rows
    assert isinstance(row, Row)
    assert (row.fp, row.ra) == (rule, AT_MINUS_8)


@pytest.mark.parametrize(
    ("instructions", "reason"),
    [
        (b"\x07\x06", "FP is undefined"),
        (b"\x14\x06\x02", "FP is an address: CFA-16"),
        (b"\x15\x06\x7e", "FP is an address: CFA+16"),
        (b"\x09\x06\x11", "FP by register 17, which cannot be read"),
        (b"\x10\x06\x01\x30", "FP by the expression 30"),
        (b"\x10\x06\x03\x76\x00\x06", "FP by the expression 760006"),
        (b"\x0c\x11\x08", "CFA by register 17, which cannot be read"),
        (b"\x0f\x01\x96", "CFA by the expression 96"),
        (b"\x0f\x00", "CFA by the expression "),
        (b"\x08\x10", "no rule for the return address, which has no register"),
        (b"\x09\x10\x10", "RA by register 16, which cannot be read"),
        (b"\x14\x10\x01", "RA is an address: CFA-8"),
    ],
)
def test_what_no_row_can_say_is_refused(instructions: bytes, reason: str):
    """Valid DWARF that an unwinder of three registers cannot follow is a gap with its reason."""
    assert only(X86_64, instructions).rows == (NoRow(Verdict.REFUSED, reason),)


def test_a_missing_return_address_is_refused_where_it_has_no_register():
    """On x86-64 nothing but a rule says where it is."""
    data = section(X86_64, b"").replace(b"\x90\x01", b"\0\0")
    (function,) = read(X86_64, data).functions
    assert function.rows[0].verdict is Verdict.REFUSED
    (row,) = only(AARCH64, b"").rows
    assert row.ra == KEEP


@pytest.mark.parametrize("arch", [X86_64, AARCH64, S390X], ids=lambda arch: arch.name)
def test_an_undefined_return_address_ends_the_stack(arch):
    """DWARF 5 section 6.4.4; whatever else the row says is not followed."""
    (row,) = only(arch, bytes([0x07, arch.ra, 0x07, arch.fp])).rows
    assert isinstance(row, Row)
    assert row.outermost


def test_restore_goes_back_to_the_cie():
    """The initial instructions of the CIE, not the state before, are restored."""
    extra = bytes([0x80 | AARCH64.fp, 2])
    data = section(AARCH64, bytes([0x9D, 4, 0x44, 0xDD]), cie_extra=extra)
    (function,) = read(AARCH64, data).functions
    assert [row.fp.offset for row in function.rows] == [-32, -16]


def test_remember_and_restore_nest():
    """The whole state comes back, CFA and signature included, but not the location."""
    instructions = bytes.fromhex("0a 44 2d 0e10 0a 44 0e20 9d02 44 0b 44 0b")
    function = only(AARCH64, instructions)
    assert [(row.cfa.offset, row.ra_signed, row.fp.offset) for row in function.rows] == [
        (0, False, 0), (16, True, 0), (32, True, -16), (16, True, 0), (0, False, 0),
    ]  # fmt: skip
    assert function.starts == (0, 4, 8, 12, 16)


def test_the_signature_toggles_and_has_a_number_of_its_own():
    """AADWARF64: DW_CFA_AARCH64_negate_ra_state, and RA_SIGN_STATE as pseudo register 34."""
    function = only(AARCH64, b"\x44\x2d\x44\x2d\x44\x2d\x44\x06\x22")
    assert [row.ra_signed for row in function.rows] == [False, True, False, True, False]
    (row,) = only(AARCH64, b"\x16\x22\x01\x31").rows
    assert row == NoRow(Verdict.REFUSED, "the signature state has a rule of its own")


def test_a_signature_with_the_pc_is_refused():
    """DW_CFA_AARCH64_negate_ra_state_with_pc: the rows before it stand."""
    first, second = only(AARCH64, b"\x44\x2c").rows
    assert isinstance(first, Row)
    assert second == NoRow(Verdict.REFUSED, "the return address is signed with the PC")


def test_outgoing_arguments_change_no_row():
    """DW_CFA_GNU_args_size is for exceptions only."""
    assert cfas(only(X86_64, b"\x44\x2e\x10\x44\x0e\x10")) == [(0, SP, 8), (8, SP, 16)]


@pytest.mark.parametrize(
    ("arch", "instructions", "reason"),
    [
        (X86_64, b"\x0b", "never remembered"),
        (X86_64, b"\x3f", "unknown call-frame instruction 0x3f"),
        (X86_64, b"\x2d", "no meaning on this machine"),
        (S390X, b"\x2c", "no meaning on this machine"),
        (X86_64, b"\x0f\x01\x96\x0e\x10", "DEF_CFA_OFFSET where the CFA is not"),
        (X86_64, b"\x0e\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "exceeds 64 bits"),
        (X86_64, b"\x86\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "exceeds 64 bits"),
        (X86_64, b"\x01\0\0\0\0", "backwards"),
    ],
)
def test_malformed_instructions_are_corrupt_from_their_place_on(arch, instructions, reason):
    """Rows before stand; the reason names the FDE."""
    first, second = only(arch, b"\x44" + instructions + b"\x44\x0a").rows
    assert isinstance(first, Row)
    assert second.verdict is Verdict.CORRUPT
    assert reason in second.reason
    assert "FDE at 0x" in second.reason


@pytest.mark.parametrize("extra", [b"\xc6", b"\x44", b"\x3f", b"\x0b"])
def test_a_malformed_cie_makes_its_functions_corrupt(extra: bytes):
    """Restores, advances and unknown numbers have no place in initial instructions."""
    (function,) = read(X86_64, section(X86_64, b"", cie_extra=extra)).functions
    (row,) = function.rows
    assert row.verdict is Verdict.CORRUPT
    assert row.reason.startswith("CIE at 0x0")


def test_a_function_without_cfa_is_corrupt():
    """DWARF asks for a CFA rule in every row."""
    data = section(X86_64, b"").replace(b"\x0c\x07\x08", b"\0\0\0")
    (function,) = read(X86_64, data).functions
    assert function.rows == (NoRow(Verdict.CORRUPT, "no rule for the CFA"),)
