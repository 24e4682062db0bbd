"""Emulator and disassembler ids against Unicorn's and Capstone's own constants."""

import re

import capstone
import pytest
import unicorn
from unicorn import arm64_const, s390x_const, x86_const

from arch import Arch
from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64

A64, S390, X86 = arm64_const, s390x_const, x86_const


@pytest.mark.parametrize(
    ("arch", "emulator", "mode"),
    [
        (X86_64, unicorn.UC_ARCH_X86, unicorn.UC_MODE_64),
        (AARCH64, unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM),
        (S390X, unicorn.UC_ARCH_S390X, unicorn.UC_MODE_BIG_ENDIAN),
    ],
)
def test_machine_and_mode(arch: Arch, emulator: int, mode: int) -> None:
    """The emulator's architecture and mode."""
    assert (arch.boot.emulator_arch, arch.boot.emulator_mode) == (emulator, mode)


@pytest.mark.parametrize(
    ("arch", "disassembler", "mode"),
    [
        (X86_64, capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        (AARCH64, capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
        (S390X, capstone.CS_ARCH_SYSZ, capstone.CS_MODE_BIG_ENDIAN),
    ],
)
def test_disassembler_and_mode(arch: Arch, disassembler: int, mode: int) -> None:
    """Capstone's architecture and mode."""
    assert arch.disassembler == (disassembler, mode)


@pytest.mark.parametrize(
    ("arch", "constants", "prefix", "spelling"),
    [
        (X86_64, X86, "UC_CPU_X86_", {"skylake": "SKYLAKE_CLIENT"}),
        (AARCH64, A64, "UC_CPU_ARM64_", {}),
        (S390X, S390, "UC_CPU_S390X_", {}),
    ],
)
def test_cpu_models(
    arch: Arch, constants: object, prefix: str, spelling: dict[str, str]
) -> None:
    """Each name for --cpu has the number of the emulator's model of that name."""
    assert dict(arch.boot.cpu_models) == {
        name: getattr(constants, prefix + spelling.get(name, name.upper()))
        for name in arch.boot.cpu_models
    }


@pytest.mark.parametrize(
    ("arch", "number", "arguments", "result"),
    [
        (X86_64, X86.UC_X86_REG_RAX, "X86_REG_RDI X86_REG_RSI X86_REG_RDX X86_REG_R10 X86_REG_R8 "
         "X86_REG_R9", X86.UC_X86_REG_RAX),
        (AARCH64, A64.UC_ARM64_REG_X8, "ARM64_REG_X0 ARM64_REG_X1 ARM64_REG_X2 ARM64_REG_X3 "
         "ARM64_REG_X4 ARM64_REG_X5", A64.UC_ARM64_REG_X0),
        (S390X, S390.UC_S390X_REG_R1, "S390X_REG_R2 S390X_REG_R3 S390X_REG_R4 S390X_REG_R5 "
         "S390X_REG_R6 S390X_REG_R7", S390.UC_S390X_REG_R2),
    ],
)  # fmt: skip
def test_system_call_registers(arch: Arch, number: int, arguments: str, result: int) -> None:
    """The table "Architecture calling conventions" of syscall(2)."""
    constants = {**vars(X86), **vars(A64), **vars(S390)}
    wanted = tuple(constants["UC_" + name] for name in arguments.split())
    assert arch.syscall.number == number
    assert arch.syscall.arguments == wanted
    assert arch.syscall.result == result


def test_x86_system_call_is_an_instruction_hook() -> None:
    """syscall is hooked by the emulator's number for it, and clobbers rcx and r11 (SDM)."""
    assert X86_64.syscall.instruction == X86.UC_X86_INS_SYSCALL
    assert X86_64.syscall.next_pc_register == X86.UC_X86_REG_RCX
    assert X86_64.syscall.flags_register == X86.UC_X86_REG_R11


def test_x86_segment_bases() -> None:
    """arch_prctl(2): ARCH_SET_GS 0x1001, SET_FS 0x1002, GET_FS 0x1003, GET_GS 0x1004."""
    fs, gs = X86.UC_X86_REG_FS_BASE, X86.UC_X86_REG_GS_BASE
    assert dict(X86_64.syscall.segment_set) == {0x1001: gs, 0x1002: fs}
    assert dict(X86_64.syscall.segment_get) == {0x1003: fs, 0x1004: gs}


@pytest.mark.parametrize(
    ("arch", "registers"),
    [
        (X86_64, (X86.UC_X86_REG_FPCW, X86.UC_X86_REG_MXCSR)),
        (AARCH64, (A64.UC_ARM64_REG_PSTATE,)),
        (S390X, (S390.UC_S390X_REG_PSWM,)),
    ],
)
def test_boot_registers(arch: Arch, registers: tuple[int, ...]) -> None:
    """What is set before the first instruction: floating-point control, or the user mode."""
    assert tuple(register for register, _ in arch.boot.set_registers) == registers


def test_control_registers() -> None:
    """CPACR_EL1 and the coprocessor access of aarch64; control register 0 of s390x."""
    assert [r for r, _ in AARCH64.boot.or_registers] == [A64.UC_ARM64_REG_CPACR_EL1]
    assert AARCH64.boot.coprocessor_register == A64.UC_ARM64_REG_CP_REG
    assert [r for r, _ in S390X.boot.or_registers] == [S390.UC_S390X_REG_CR0]


def test_s390x_data_exception_code_is_in_the_fpc() -> None:
    """Principles of Operation: DXC is byte 2 of the floating-point-control register."""
    assert S390X.exceptions.status == (S390.UC_S390X_REG_FPC, 0x0000FF00)


@pytest.mark.parametrize(
    ("arch", "model"), [(X86_64, ""), (AARCH64, "max"), (S390X, "")]
)
def test_only_aarch64_has_pointer_authentication(arch: Arch, model: str) -> None:
    """--pac needs a model that the machine has, and there the keys of APIA and APIB."""
    assert arch.boot.pauth_model == model
    assert bool(arch.boot.pauth_keys) == bool(model)


def test_key_registers_of_aarch64() -> None:
    """APIAKeyLo, APIAKeyHi, APIBKeyLo, APIBKeyHi: S3_0_C2_C1_0 to _3 (Arm ARM, D19)."""
    names = ["S{}_{}_C{}_C{}_{}".format(*key) for key in AARCH64.boot.pauth_keys]
    assert names == ["S3_0_C2_C1_0", "S3_0_C2_C1_1", "S3_0_C2_C1_2", "S3_0_C2_C1_3"]


def test_emulator_constants_are_no_guesses() -> None:
    """No descriptor has a register number that the emulator does not know."""
    for arch, constants, prefix in (
        (X86_64, X86, "UC_X86_REG_"), (AARCH64, A64, "UC_ARM64_REG_"),
        (S390X, S390, "UC_S390X_REG_"),
    ):  # fmt: skip
        known = {v for k, v in vars(constants).items() if re.match(prefix, k)}
        assert {r.emulator for r in arch.registers} <= known
