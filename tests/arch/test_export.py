"""Registers of cores and perf.data against the emulator's constants and Linux's headers."""

import dataclasses

import pytest
from unicorn import arm64_const, s390x_const, x86_const

from arch import ALL, Arch
from arch.aarch64 import AARCH64
from arch.export import ExportFacts, RegisterNote, Slot
from arch.s390x import S390X
from arch.x86_64 import X86_64

_A64, _S390, _X86 = vars(arm64_const), vars(s390x_const), vars(x86_const)
EMULATOR = {
    "x86_64": ("UC_X86_REG_", _X86, {"fctrl": "FPCW"}),
    "aarch64": ("UC_ARM64_REG_", _A64, {"tpidr": "TPIDR_EL0"}),
    "s390x": (
        "UC_S390X_REG_", _S390, {"fpc": "FPC", **{f"acr{n}": f"A{n}" for n in range(16)}},
    ),
}  # fmt: skip
"""Prefix of the constants, and names that differ."""

# struct user_regs_struct, struct user_pt_regs, s390_regs: words of each in order.
GENERAL = {
    "x86_64": "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax pc cs eflags "
    "rsp ss fs_base gs_base ds es fs gs",
    "aarch64": " ".join(f"x{n}" for n in range(31)) + " sp pc pstate",
    "s390x": "pswm pc " + " ".join(f"r{n}" for n in range(16)),
}
STATUS_SIZE = {"x86_64": 336, "aarch64": 392, "s390x": 336}
"""Bytes of struct elf_prstatus on a 64-bit kernel."""
FLOATING_SIZE = {"x86_64": 512, "aarch64": 528, "s390x": 136}
PERF = {
    "x86_64": "rax rbx rcx rdx rsi rdi rbp rsp pc eflags cs ss - - - - r8 r9 r10 r11 r12 r13 r14 "
    "r15",
    "aarch64": " ".join(f"x{n}" for n in range(31)) + " sp pc",
    "s390x": " ".join(f"r{n}" for n in range(16))
    + " "
    + " ".join(f"f{n}" for n in range(16))
    + " pswm pc",
}
"""enum perf_event_*_regs by bit; what is no register of user code is left out."""


def test_order_of_the_general_registers(arch: Arch) -> None:
    """Each word of the kernel's structure has its register."""
    words = {
        slot.offset // 8: slot.name for slot in arch.export.general.slots if slot.size == 8
    }
    names = GENERAL[arch.name].split()
    assert [words[number] for number in range(len(names))] == names


def test_sizes(arch: Arch) -> None:
    """NT_PRSTATUS and NT_FPREGSET as large as the kernel's."""
    assert 112 + arch.export.general.size + 8 == STATUS_SIZE[arch.name]
    assert arch.export.floating.size == FLOATING_SIZE[arch.name]


def test_bits_of_perf(arch: Arch) -> None:
    """Each bit of sample_regs_user means the register that perf means."""
    names = PERF[arch.name].split()
    assert dict(arch.export.perf) == {bit: name for bit, name in enumerate(names) if name != "-"}


@pytest.mark.parametrize(
    ("arch", "mask"), [(X86_64, 0xFF0FFF), (AARCH64, 0x1_FFFF_FFFF), (S390X, 0x3_FFFF_FFFF)]
)
def test_masks_of_perf(arch: Arch, mask: int) -> None:
    """PERF_REGS_MASK of tools/perf/arch/*/include/perf_regs.h."""
    assert arch.export.perf_mask == mask


def test_emulator_numbers(arch: Arch) -> None:
    """A slot that is read from the emulator is read from the register of its name."""
    prefix, constants, names = EMULATOR[arch.name]
    for note in arch.export.notes:
        for slot in note.slots:
            if slot.emulator:
                name = names.get(slot.name, slot.name.upper()).replace("PSWM", "PSWM")
                assert constants[prefix + name] == slot.emulator, slot.name


def test_dwarf_numbers(arch: Arch) -> None:
    """A slot that a DWARF number names has the name of that register."""
    for note in arch.export.notes:
        for slot in note.slots:
            register = arch.register(slot.dwarf) if slot.dwarf is not None else None
            assert register is None or register.name == slot.name


def test_every_register_of_rows_has_a_slot() -> None:
    """Whatever a walk may need is in a core."""
    for arch in ALL:
        slots = {slot.dwarf for note in arch.export.notes for slot in note.slots}
        assert {register.dwarf for register in arch.registers} <= slots


def test_a_slot_outside_its_note() -> None:
    """A register may not reach past its note."""
    note = RegisterNote(2, 8, (Slot("x", 4),))
    with pytest.raises(ValueError, match="x lies outside note 0x2"):
        dataclasses.replace(X86_64.export, floating=note)


def test_a_bit_without_a_slot() -> None:
    """perf's registers are all registers of a core."""
    with pytest.raises(ValueError, match="has no slot"):
        ExportFacts(X86_64.export.general, X86_64.export.floating, perf={0: "nothing"})
