"""What the assembler refuses, case by case: its answers to the same directives.

Each case was assembled with gas 2.47.50 for every machine (V3), and with 2.44 where the
version is 2; the column says for which machines it wrote no FDE.
"""

from collections.abc import Callable

import pytest

from arch import Arch, by_name
from emu.cfi.entries import read_entries
from emu.cfi.likegas import GasReason, GasRefusal, gas_refusal
from emu.cfi.reading import EhFrame
from tests.emu.cfi.section import ADDRESS, cie, fde, initial, leb

ADVANCE = b"\x44"
X86, ARM, S390 = "x86_64", "aarch64", "s390x"
ALL = (X86, ARM, S390)
OTHER = 9
"""A register without a role on any machine."""

Rules = Callable[[Arch], bytes]


def offset(register: int, factored: int) -> bytes:
    """DW_CFA_offset_extended."""
    return b"\x05" + leb(register) + leb(factored)


def expression(register: int, base: int, end: bytes = b"\0", op: int = 0x10) -> bytes:
    """DW_CFA_expression or val_expression: register, at base + 0."""
    block = bytes((0x70 + base,)) + end
    return bytes((op, register, len(block))) + block


def cfa_expression(base: int, end: bytes) -> bytes:
    """DW_CFA_def_cfa_expression."""
    return bytes((0x0F, 1 + len(end), 0x70 + base)) + end


def on_fp(arch: Arch) -> bytes:
    """DW_CFA_def_cfa_register."""
    return bytes((0x0D, arch.fp))


R = GasReason
CASES: list[tuple[str, Rules, GasReason | None, tuple[str, ...]]] = [
    ("nothing", lambda a: b"", None, ()),
    ("cfa on another", lambda a: bytes((0x0D, OTHER)), R.CFA_REGISTER, (ARM,)),
    ("def_cfa on another", lambda a: bytes((0x0C, OTHER, 16)), R.CFA_REGISTER, (ARM,)),
    ("offset there", lambda a: bytes((0x0D, OTHER)) + ADVANCE + b"\x0e\x30", R.CFA_REGISTER,
     (ARM,)),
    ("cfa offset", lambda a: b"\x0e" + leb(1 << 35), R.CFA_OFFSET, ALL),
    ("largest", lambda a: b"\x0e" + leb(0x7FFFFFF0), None, ()),
    ("ra elsewhere", lambda a: offset(a.ra, 6), None, ()),
    ("fp in register", lambda a: bytes((0x09, a.fp, OTHER)), R.REGISTER, (ARM,)),
    ("ra in register", lambda a: bytes((0x09, a.ra, OTHER)), R.REGISTER, (ARM,)),
    ("sp in register", lambda a: bytes((0x09, a.sp, OTHER)), R.REGISTER, (X86, ARM)),
    ("fp an address", lambda a: bytes((0x14, a.fp, 2)), R.VAL_OFFSET, ALL),
    ("ra an address", lambda a: bytes((0x14, a.ra, 2)), R.VAL_OFFSET, (ARM, S390)),
    ("sp = cfa", lambda a: bytes((0x14, a.sp, 0)), R.VAL_OFFSET, (S390,)),
    ("sp = cfa - 160", lambda a: bytes((0x14, a.sp, 20)), R.VAL_OFFSET, (X86, ARM)),
    ("fp undefined", lambda a: bytes((0x07, a.fp)), R.UNDEFINED, ALL),
    ("sp undefined", lambda a: bytes((0x07, a.sp)), R.UNDEFINED, ALL),
    ("ra undefined", lambda a: bytes((0x07, a.ra)), None, ()),
    ("same value", lambda a: bytes((0x08, a.fp, 0x08, a.ra)), None, ()),
    ("fp without ra", lambda a: offset(a.fp, 2), R.FP_WITHOUT_RA, (ARM,)),
    ("fp kept longer", lambda a: offset(a.fp, 4) + offset(a.ra, 3) + ADVANCE
     + b"\x06" + leb(a.ra), R.FP_WITHOUT_RA, (ARM,)),
    ("state restored", lambda a: offset(a.fp, 4) + offset(a.ra, 3) + ADVANCE + b"\x0a\x06"
     + leb(a.ra) + b"\x06" + leb(a.fp) + ADVANCE + b"\x0b", None, ()),
    ("window", lambda a: b"\x2d", R.INSTRUCTION, (X86, S390)),
    ("other expression", lambda a: expression(OTHER, a.fp), None, ()),
    ("long expression", lambda a: expression(OTHER, a.fp, b"\x80\x7f"), R.EXPRESSION, ALL),
    ("fp expression", lambda a: expression(a.fp, a.fp), None, ()),
    ("ra expression", lambda a: expression(a.ra, a.fp), R.EXPRESSION, (ARM, S390)),
    ("sp expression", lambda a: expression(a.sp, a.fp), R.EXPRESSION, ALL),
    ("val expression", lambda a: expression(OTHER, a.fp, op=0x16), R.INSTRUCTION, ALL),
    ("cfa loaded", lambda a: cfa_expression(a.fp, b"\x78\x06"), R.EXPRESSION, (ARM, S390)),
    ("cfa loaded elsewhere", lambda a: cfa_expression(OTHER, b"\x78\x06"), R.EXPRESSION, ALL),
    ("cfa computed", lambda a: cfa_expression(a.fp, b"\x78"), R.EXPRESSION, ALL),
    ("no arguments", lambda a: b"\x2e\0", None, ()),
    ("arguments", lambda a: b"\x2e\x10", R.EXPRESSION, ALL),
    ("arguments on fp", lambda a: on_fp(a) + b"\x2e\x10", None, ()),
    ("many arguments", lambda a: on_fp(a) + b"\x2e\x90\x01", R.EXPRESSION, ALL),
]  # fmt: skip


def refusal(
    arch: Arch, rules: bytes, *, version: int = 3, start: bytes | None = None, column: int = -1
) -> GasRefusal | None:
    """The answer for a function whose second row has `rules`."""
    head = cie(
        arch.byte_order,
        initial(arch) if start is None else start,
        column=arch.ra if column < 0 else column,
    )
    data = head + fde(arch.byte_order, len(head), ADVANCE + rules)
    frame = EhFrame(data, ADDRESS, arch.byte_order)
    (function,) = read_entries(frame).functions
    return gas_refusal(frame, function, arch, version)


@pytest.mark.parametrize(("name", "rules", "reason", "machines"), CASES, ids=[c[0] for c in CASES])
def test_refused_by_the_assembler(
    arch: Arch, name: str, rules: Rules, reason: GasReason | None, machines: tuple[str, ...]
) -> None:
    """The reason, on those machines and no others."""
    found = refusal(arch, rules(arch))
    expected = reason if arch.name in machines else None
    assert (None if found is None else found.reason) == expected
    if found is not None and reason is not R.FP_WITHOUT_RA:
        assert found.offset == 4


def test_return_column(arch: Arch) -> None:
    """Another column than the usual one."""
    found = refusal(arch, b"", column=OTHER)
    assert found == GasRefusal(R.RETURN_COLUMN, f"the return address is in column {OTHER}", 0)


def test_offset_before_register(arch: Arch) -> None:
    """A function that is described from nothing (.cfi_startproc simple)."""
    found = refusal(arch, b"\x0e\x10", start=b"")
    assert found is not None
    assert found.reason is R.CFA_OFFSET


def test_remembered_before_any_rule(arch: Arch) -> None:
    """There is nothing to remember; at the first instruction of a usual function there is."""
    found = refusal(arch, b"\x0a", start=b"")
    assert found is not None
    assert found.reason is R.REMEMBER
    head = cie(arch.byte_order, initial(arch), column=arch.ra)
    data = head + fde(arch.byte_order, len(head), b"\x0a" + ADVANCE + b"\x0b")
    frame = EhFrame(data, ADDRESS, arch.byte_order)
    (function,) = read_entries(frame).functions
    assert gas_refusal(frame, function, arch, 3) is None
    older = gas_refusal(frame, function, arch, 2)
    assert older is not None
    assert older.reason is R.REMEMBER


def test_signed_with_pc() -> None:
    """DW_CFA_AARCH64_negate_ra_state_with_pc; the plain one toggles."""
    arch = by_name(ARM)
    found = refusal(arch, b"\x2c")
    assert found is not None
    assert found.reason is R.SIGNED_WITH_PC
    assert refusal(arch, b"\x2d") is None


def test_too_many_rows() -> None:
    """65535 rows are the most."""
    arch = by_name(X86)
    change = b"\x41\x0e\x10"
    assert refusal(arch, change * 65533) is None
    found = refusal(arch, change * 65535)
    assert found is not None
    assert found.reason is R.ROW_COUNT


@pytest.mark.parametrize("version", [1, 2])
def test_older_ones_refuse_every_expression(arch: Arch, version: int) -> None:
    """And a CFA on another register; .cfi_undefined they pass over."""
    for rules in (expression(OTHER, arch.fp), b"\x2e\0", cfa_expression(arch.fp, b"\x78\x06")):
        found = refusal(arch, rules, version=version)
        assert found is not None
        assert found.reason is R.INSTRUCTION
    found = refusal(arch, bytes((0x0D, OTHER)), version=version)
    assert found is not None
    assert found.reason is R.CFA_REGISTER
    assert refusal(arch, bytes((0x07, arch.sp)), version=version) is None


def test_malformed_is_not_its_business(arch: Arch) -> None:
    """An instruction that is cut off: the rows say that they are corrupt."""
    assert refusal(arch, b"\x0e\x80") is None
