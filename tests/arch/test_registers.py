"""Register numbers against the psABI documents, pyelftools and the emulator's constants."""

import pytest
from elftools.dwarf import descriptions
from unicorn import arm64_const, s390x_const, x86_const

from arch import Arch, by_name
from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64

# System V ABI, AMD64 supplement, figure 3.36.
AMD64 = "rax rdx rcx rbx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15"
# AADWARF64, section 4.1.
AADWARF64 = " ".join([*(f"x{n}" for n in range(31)), "sp"])
# ELF ABI s390x supplement, table 1.19: even numbers first, in two halves.
ZELF = (
    "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 r13 r14 r15 "
    "f0 f2 f4 f6 f1 f3 f5 f7 f8 f10 f12 f14 f9 f11 f13 f15"
)


@pytest.mark.parametrize(("arch", "names"), [(X86_64, AMD64), (AARCH64, AADWARF64), (S390X, ZELF)])
def test_dwarf_numbers_are_those_of_the_abi(arch: Arch, names: str) -> None:
    """Register n of the list has DWARF number n, and there is no other."""
    assert {r.dwarf: r.name for r in arch.registers} == dict(enumerate(names.split()))


@pytest.mark.parametrize(
    ("arch", "names"),
    [(X86_64, descriptions._REG_NAMES_x64), (AARCH64, descriptions._REG_NAMES_AArch64)],
)
def test_dwarf_numbers_are_those_of_pyelftools(arch: Arch, names: list[str]) -> None:
    """The same numbers as another reader of DWARF has (it has none for s390x)."""
    assert [r.name for r in arch.registers] == [names[r.dwarf] for r in arch.registers]


@pytest.mark.parametrize(
    ("arch", "constants", "prefix"),
    [
        (X86_64, x86_const, "UC_X86_REG_"),
        (AARCH64, arm64_const, "UC_ARM64_REG_"),
        (S390X, s390x_const, "UC_S390X_REG_"),
    ],
)
def test_emulator_numbers_are_the_emulators_own(arch: Arch, constants: object, prefix: str) -> None:
    """Each register has the number that the emulator's constants give its name."""
    for register in arch.registers:
        assert register.emulator == getattr(constants, prefix + register.name.upper())


@pytest.mark.parametrize(
    ("arch", "pc", "flags"),
    [
        (X86_64, x86_const.UC_X86_REG_RIP, x86_const.UC_X86_REG_EFLAGS),
        (AARCH64, arm64_const.UC_ARM64_REG_PC, arm64_const.UC_ARM64_REG_NZCV),
        (S390X, s390x_const.UC_S390X_REG_PC, s390x_const.UC_S390X_REG_INVALID),
    ],
)
def test_pc_and_flags_are_the_emulators_own(arch: Arch, pc: int, flags: int) -> None:
    """The program counter and the flags register (s390x has none of its own)."""
    assert (arch.pc_emulator, arch.flags_emulator) == (pc, flags)


@pytest.mark.parametrize(
    ("arch", "sp", "fp", "ra"),
    [(X86_64, "rsp", "rbp", None), (AARCH64, "sp", "x29", "x30"), (S390X, "r15", "r11", "r14")],
)
def test_roles_name_the_registers_of_the_calling_convention(
    arch: Arch, sp: str, fp: str, ra: str | None
) -> None:
    """SP, FP and, where it arrives in one, the register of the return address."""
    assert arch.register(arch.sp).name == sp
    assert arch.register(arch.fp).name == fp
    found = arch.register(arch.ra)
    assert (found.name if found else None) == ra


def test_return_column_of_amd64_is_16() -> None:
    """Figure 3.36 gives the return address the number 16, which no register has."""
    assert X86_64.ra == 16


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("x86_64", 7, "sp"), ("x86_64", 6, "fp"), ("x86_64", 10, "r10"),
        ("aarch64", 31, "sp"), ("aarch64", 29, "fp"), ("aarch64", 30, "r30"),
        ("s390x", 15, "sp"), ("s390x", 11, "fp"), ("s390x", 17, "r17"),
    ],
)  # fmt: skip
def test_names_for_reports(name: str, number: int, text: str) -> None:
    """The two roles by name, all others by DWARF number, as readelf prints them."""
    arch = by_name(name)
    assert arch is not None
    assert arch.register_name(number) == text


@pytest.mark.parametrize(("arch", "first_free"), [(X86_64, 16), (AARCH64, 32), (S390X, 32)])
def test_a_number_without_register_is_none(arch: Arch, first_free: int) -> None:
    """Numbers beyond the list name nothing that a row could read."""
    assert arch.register(first_free) is None
