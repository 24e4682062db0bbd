"""Register numbers against the psABI documents, pyelftools and the emulator's constants."""

import ctypes
import dataclasses

import pytest
from elftools.dwarf import descriptions
from unicorn import arm64_const, s390x_const, x86_const

from arch import Arch, by_name
from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.machine.engine import Engine
from emu.memory import Memory

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


# System V ABI, AMD64 supplement, section 3.2.1: "Registers %rbp, %rbx and %r12 through %r15
# 'belong' to the calling function and the called function is required to preserve their values."
AMD64_KEPT = "rbx rbp r12 r13 r14 r15"
# AAPCS64, sections 6.1.1 and 6.1.2: "Registers r19-r29 and SP are Callee-saved"; "Registers v8-v15
# are Callee-saved [...] only the bottom 64 bits of each value stored in v8-v15 need to be".
AAPCS64_KEPT = " ".join([*(f"x{n}" for n in range(19, 30)), *(f"d{n}" for n in range(8, 16))])
# ELF ABI s390x supplement, "Register usage across function calls", call effect "Saved": r6,
# r7...r10, r11, r12, r13, r15 (SP), f8...f15; here in the order of table 1.19, by DWARF numbers.
ZELF_KEPT = "r6 r7 r8 r9 r10 r11 r12 r13 f8 f10 f12 f14 f9 f11 f13 f15"


@pytest.mark.parametrize(
    ("arch", "names"), [(X86_64, AMD64_KEPT), (AARCH64, AAPCS64_KEPT), (S390X, ZELF_KEPT)]
)
def test_callee_saved_registers_are_those_of_the_abi(arch: Arch, names: str) -> None:
    """All that a function must keep but SP, by ascending DWARF number."""
    kept = [arch.saved_register(number) for number in arch.callee_saved]
    assert [register.name for register in kept if register] == names.split()
    assert list(arch.callee_saved) == sorted(arch.callee_saved)
    assert arch.fp in arch.callee_saved


def test_the_low_halves_of_vector_registers() -> None:
    """AADWARF64, section 4.1: 64 to 95 are v0 to v31; the emulator has their halves as d0 to d31.

    Rows cannot name them.
    """
    assert [r.name for r in AARCH64.saved_only] == [f"d{n}" for n in range(8, 16)]
    for register in AARCH64.saved_only:
        assert descriptions._REG_NAMES_AArch64[register.dwarf] == "v" + register.name[1:]
        assert register.emulator == getattr(arm64_const, f"UC_ARM64_REG_{register.name.upper()}")
        assert AARCH64.saved_register(register.dwarf) == register
        assert AARCH64.register(register.dwarf) is None


def test_other_machines_keep_nothing_that_rows_cannot_name() -> None:
    """Vector registers of s390x are volatile but for f8 to f15; x86-64 keeps none."""
    assert X86_64.saved_only == S390X.saved_only == ()


def test_the_emulator_reads_and_places_what_is_saved_only() -> None:
    """As numbers of 64 bits, each at a place of its own that the hook can load from."""
    registers = (*AARCH64.registers, *AARCH64.saved_only)
    arch = dataclasses.replace(AARCH64, registers=registers, saved_only=(), _by_dwarf={})
    engine = Engine(arch, Memory(1 << 20))
    places = engine.register_addresses()
    wanted = {r.dwarf: 0xFEDC_0000_0000_0000 + r.dwarf for r in registers}
    for register in registers:
        engine.write(register.emulator, wanted[register.dwarf])
    assert engine.registers() == wanted
    read = {n: ctypes.c_uint64.from_address(place).value for n, place in places.items()}
    assert read == wanted


@pytest.mark.parametrize(("arch", "first_free"), [(X86_64, 16), (AARCH64, 32), (S390X, 32)])
def test_a_number_without_register_is_none(arch: Arch, first_free: int) -> None:
    """Numbers beyond the list name nothing that a row could read."""
    assert arch.register(first_free) is None
    assert arch.saved_register(first_free) is None
