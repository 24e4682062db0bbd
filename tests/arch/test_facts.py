"""Facts of each machine against its ABI documents, ELF numbers and the SFrame format."""

import pytest
from elftools.elf import enums

from arch import ALL, Arch, CfaRule, RegRule, Row, RuleKind, by_elf, by_name, by_sframe_abi
from arch.aarch64 import AARCH64
from arch.descriptor import ByteOrder
from arch.s390x import S390X
from arch.x86_64 import X86_64


@pytest.mark.parametrize(
    ("arch", "machine", "order"),
    [(X86_64, "EM_X86_64", "little"), (AARCH64, "EM_AARCH64", "little"), (S390X, "EM_S390", "big")],
)
def test_elf_machine_and_byte_order(arch: Arch, machine: str, order: str) -> None:
    """e_machine as pyelftools has it, and the byte order of the ABI."""
    assert (arch.elf_machine, arch.byte_order) == (enums.ENUM_E_MACHINE[machine], order)


@pytest.mark.parametrize(
    ("arch", "ids"),
    [
        (AARCH64, {1: "big", 2: "little"}),  # SFRAME_ABI_AARCH64_ENDIAN_BIG, _LITTLE
        (X86_64, {3: "little"}),  # SFRAME_ABI_AMD64_ENDIAN_LITTLE
        (S390X, {4: "big"}),  # SFRAME_ABI_S390X_ENDIAN_BIG
    ],
)
def test_sframe_abi_ids(arch: Arch, ids: dict[int, ByteOrder]) -> None:
    """``sfh_abi_arch``, SFrame specification, section "SFrame Header"."""
    assert dict(arch.sframe.abi_ids) == ids
    assert set(arch.sframe.abi_names) == set(ids)


@pytest.mark.parametrize(
    ("arch", "fixed_ra", "bias", "scale", "registers", "filler", "pauth"),
    [
        (X86_64, -8, 0, 1, False, False, False),
        (AARCH64, 0, 0, 1, False, False, True),
        (S390X, 0, 160, 8, True, True, False),
    ],
)
def test_sframe_offsets(
    arch: Arch, fixed_ra: int, bias: int, scale: int, registers: bool, filler: bool, pauth: bool
) -> None:
    """The ABI-specific chapters of the SFrame specification."""
    facts = arch.sframe
    assert facts.fixed_ra_offset == fixed_ra
    assert (facts.cfa_bias, facts.cfa_scale) == (bias, scale)
    assert facts.registers_in_offsets is registers
    assert facts.zero_ra_is_filler is filler
    assert facts.pauth is pauth


@pytest.mark.parametrize(
    ("arch", "relocations"),
    [
        (X86_64, {enums.ENUM_RELOC_TYPE_x64["R_X86_64_PC32"]: 4,
                  enums.ENUM_RELOC_TYPE_x64["R_X86_64_PC64"]: 8}),
        (AARCH64, {enums.ENUM_RELOC_TYPE_AARCH64["R_AARCH64_PREL32"]: 4,
                   enums.ENUM_RELOC_TYPE_AARCH64["R_AARCH64_PREL64"]: 8}),
        (S390X, {enums.ENUM_RELOC_TYPE_S390X["R_390_PC32"]: 4,
                 enums.ENUM_RELOC_TYPE_S390X["R_390_PC64"]: 8}),
    ],
)  # fmt: skip
def test_relocations_of_function_starts(arch: Arch, relocations: dict[int, int]) -> None:
    """The PC-relative types and their widths, by pyelftools' numbers."""
    assert dict(arch.sframe.relocations) == relocations


@pytest.mark.parametrize(
    ("arch", "in_register", "entry", "distance"),
    [
        (X86_64, False, 8, 0),  # the call pushed the return address: CFA = SP + 8
        (AARCH64, True, 0, 0),  # nothing is pushed: CFA = SP
        (S390X, True, 160, -160),  # the caller's save area of 160 bytes lies at its SP
    ],
)
def test_state_at_function_entry(
    arch: Arch, in_register: bool, entry: int, distance: int
) -> None:
    """Where the return address is, CFA - SP, and caller's SP - CFA."""
    assert arch.ra_in_register is in_register
    assert arch.entry_cfa_offset == entry
    assert arch.sp_offset == distance


@pytest.mark.parametrize(
    ("arch", "unit", "longest"), [(X86_64, 1, 15), (AARCH64, 4, 4), (S390X, 2, 6)]
)
def test_instruction_lengths(arch: Arch, unit: int, longest: int) -> None:
    """Alignment of instructions and the length of the longest."""
    assert (arch.instruction_unit, arch.longest_instruction) == (unit, longest)


def test_signature_mask_of_aarch64() -> None:
    """Bits 63..56 and 54..48: all above a 48-bit address but 55, which selects the half."""
    assert sum(1 << bit for bit in (*range(48, 55), *range(56, 64))) == AARCH64.ra_sign_mask


def test_instructions_that_sign_on_aarch64() -> None:
    """Hints 25 and 27, PACIASP and PACIBSP (Arm ARM, C6.2): 0xD503201F with the number in 11..5."""
    hints = [(0xD503201F | number << 5).to_bytes(4, "little") for number in (25, 27)]
    assert list(AARCH64.ra_signing) == hints


@pytest.mark.parametrize("arch", [X86_64, S390X], ids=lambda arch: arch.name)
def test_no_signature_elsewhere(arch: Arch) -> None:
    """No other machine signs return addresses."""
    assert arch.ra_sign_mask == 0
    assert arch.ra_signing == ()


@pytest.mark.parametrize(("arch", "fp"), [(X86_64, 6), (AARCH64, 29)])
def test_frame_pointer_row(arch: Arch, fp: int) -> None:
    """Frame record at FP: the caller's FP, then the return address; the CFA lies above."""
    ra, saved = RegRule(RuleKind.AT_CFA, offset=-8), RegRule(RuleKind.AT_CFA, offset=-16)
    # AAPCS64 leaves the place of the record in the frame open, the x86-64 ABI does not.
    assert arch.frame_pointer_row == Row(
        CfaRule(fp, 16), ra, saved, 0, cfa_is_bound=arch is AARCH64
    )


def test_back_chain_row() -> None:
    """The word at SP is the caller's SP, %r14 is at 112 in the save area there (table 1.16)."""
    row = S390X.back_chain_row
    assert row is not None
    assert row.cfa == CfaRule(15, 0, deref=True, addend=160)
    assert row.ra == RegRule(RuleKind.AT_CFA, offset=112 - 160)
    assert row.fp.kind is RuleKind.UNKNOWN
    assert row.sp_offset == -160
    assert row.zero_ends


def test_conventions_that_a_machine_lacks() -> None:
    """Userspace of s390x keeps no frame pointer chain; the others keep no back chain."""
    assert S390X.frame_pointer_row is None
    assert X86_64.back_chain_row is None
    assert AARCH64.back_chain_row is None


def test_rows_of_a_convention_have_the_machines_sp_offset(arch: Arch) -> None:
    """A convention's row leads to the SP that the machine's own rule gives."""
    for row in (arch.frame_pointer_row, arch.back_chain_row):
        assert row is None or row.sp_offset == arch.sp_offset


def test_no_two_machines_share_an_identity() -> None:
    """Names, ELF identities and SFrame ids are unique."""
    assert len({arch.name for arch in ALL}) == 3
    assert len({(arch.elf_machine, arch.byte_order) for arch in ALL}) == 3
    assert sum(len(arch.sframe.abi_ids) for arch in ALL) == 4


@pytest.mark.parametrize("name", ["x86_64", "aarch64", "s390x"])
def test_look_up_by_name(name: str) -> None:
    """The machine of a name has it."""
    found = by_name(name)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("name", ["", "X86_64", "x86", "aarch64 ", "s390"])
def test_look_up_by_name_is_exact(name: str) -> None:
    """Nothing near a name is taken for it."""
    assert by_name(name) is None


@pytest.mark.parametrize(
    ("machine", "order", "name"),
    [(62, "little", "x86_64"), (183, "little", "aarch64"), (22, "big", "s390x")],
)
def test_look_up_by_elf(machine: int, order: ByteOrder, name: str) -> None:
    """e_machine and byte order together name a machine."""
    found = by_elf(machine, order)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("machine", "order"),
    [(62, "big"), (183, "big"), (22, "little"), (3, "little"), (243, "little")],
)
def test_look_up_by_elf_wants_both(machine: int, order: ByteOrder) -> None:
    """The other byte order is another machine, which may not be supported."""
    assert by_elf(machine, order) is None


@pytest.mark.parametrize(
    ("abi", "name"),
    [(0, None), (1, "aarch64"), (2, "aarch64"), (3, "x86_64"), (4, "s390x"), (5, None)],
)
def test_look_up_by_sframe_abi(abi: int, name: str | None) -> None:
    """``sfh_abi_arch`` 1 to 4; the rest is unknown."""
    found = by_sframe_abi(abi)
    assert (found.name if found else None) == name
