from pathlib import Path

import pytest

from emu.linux.faults import Fault
from tests.emu.linux.programs import (
    DATA,
    READ_ONLY,
    arm_load,
    machine,
    make,
    x86_load,
    z_load,
)
from tests.emu.machine.elf_program import CODE

pytestmark = pytest.mark.compiled

NOWHERE = 0x6666_0000


def code(text: str) -> bytes:
    return bytes.fromhex(text.replace(" ", ""))


X86_DIVIDE = code("31c9 31d2 b801000000 f7f1")  # xor ecx; xor edx; mov $1, eax; div ecx
X86_LOAD = x86_load(0, 0x10) + code("8b00")  # mov (rax), eax
X86_STORE = x86_load(0, READ_ONLY) + code("c60001")  # movb $1, (rax)
X86_JUMP = code("ffe0")  # jmp *rax
ARM_LOAD = code("000040f9")  # ldr x0, [x0]
ARM_STORE = code("000000f9")  # str x0, [x0]
ARM_JUMP = code("00001fd6")  # br x0
Z_LOAD = code("e32010000004")  # lg %r2, 0(%r1)
Z_STORE = code("92011000")  # mvi 0(%r1), 1
Z_JUMP = code("07f1")  # br %r1
Z_DIVIDE_LONG = z_load(1, 0) + code("b90d0021")  # dsgr %r2, %r1
Z_DIVIDE_MEMORY = z_load(1, DATA) + code("e3201000000d")  # dsg %r2, 0(%r1), the word is 0

CASES = {
    "x86_64 divide": ("x86_64", X86_DIVIDE, "SIGFPE", None),
    "x86_64 undefined": ("x86_64", code("0f0b"), "SIGILL", None),
    "x86_64 breakpoint": ("x86_64", code("cc"), "SIGTRAP", None),
    "x86_64 32-bit call": ("x86_64", code("cd80"), "SIGSEGV", None),
    "x86_64 privileged": ("x86_64", code("f4"), "SIGSEGV", None),
    "x86_64 null": ("x86_64", X86_LOAD, "SIGSEGV", 0),
    "x86_64 store": ("x86_64", X86_STORE, "SIGSEGV", READ_ONLY),
    "x86_64 jump": ("x86_64", x86_load(0, NOWHERE) + X86_JUMP, "SIGSEGV", NOWHERE),
    "x86_64 data": ("x86_64", x86_load(0, DATA + 8) + X86_JUMP, "SIGSEGV", DATA + 8),
    "aarch64 undefined": ("aarch64", code("00000000"), "SIGILL", None),
    "aarch64 breakpoint": ("aarch64", code("200020d4"), "SIGTRAP", None),
    "aarch64 privileged": ("aarch64", code("001018d5"), "SIGILL", None),
    "aarch64 null": ("aarch64", arm_load(0, 0x10) + ARM_LOAD, "SIGSEGV", 0),
    "aarch64 store": ("aarch64", arm_load(0, READ_ONLY) + ARM_STORE, "SIGSEGV", READ_ONLY),
    "aarch64 jump": ("aarch64", arm_load(0, NOWHERE) + ARM_JUMP, "SIGSEGV", NOWHERE),
    "aarch64 data": ("aarch64", arm_load(0, DATA + 8) + ARM_JUMP, "SIGSEGV", DATA + 8),
    "aarch64 odd": ("aarch64", arm_load(0, CODE + 0x802) + ARM_JUMP, "SIGBUS", CODE + 0x802),
    # ldxr x0, [x1] demands alignment
    "aarch64 misaligned": ("aarch64", arm_load(1, DATA + 1) + code("207c5fc8"), "SIGBUS", None),
    "s390x divide": ("s390x", Z_DIVIDE_LONG, "SIGFPE", None),
    "s390x divide by memory": ("s390x", Z_DIVIDE_MEMORY, "SIGFPE", None),
    "s390x compare and trap": ("s390x", code("b9728022"), "SIGFPE", None),  # crte %r2, %r2
    "s390x undefined": ("s390x", code("0000"), "SIGILL", None),
    "s390x breakpoint": ("s390x", code("0001"), "SIGILL", None),
    "s390x privileged": ("s390x", code("eb000000002f"), "SIGILL", None),  # lctlg
    "s390x null": ("s390x", z_load(1, 0x10) + Z_LOAD, "SIGSEGV", 0),
    "s390x store": ("s390x", z_load(1, READ_ONLY) + Z_STORE, "SIGSEGV", READ_ONLY),
    "s390x jump": ("s390x", z_load(1, NOWHERE) + Z_JUMP, "SIGSEGV", NOWHERE),
    "s390x data": ("s390x", z_load(1, DATA + 8) + Z_JUMP, "SIGSEGV", DATA + 8),
    "s390x odd": ("s390x", z_load(1, CODE + 0x801) + Z_JUMP, "SIGILL", CODE + 0x801),
}


@pytest.mark.parametrize("name", CASES)
def test_fault(tmp_path: Path, name: str) -> None:
    """The signal that Linux sends, and the page or instruction that was not to be had."""
    arch, program, signal, address = CASES[name]
    data = bytes(8) if "memory" in name else b"data"
    process = make(tmp_path, machine(arch), program, data)
    process.run()
    assert (process.killed_by, process.exit_status) == (signal, None)
    fault = process.last_fault
    assert fault is not None
    assert fault.address == address
    if address is None:
        # What follows the program is undefined everywhere, and must not be what is found.
        behind = name in ("x86_64 breakpoint", "x86_64 32-bit call")
        assert CODE <= fault.pc < CODE + len(program) + behind
    assert process.reason == fault.reason != ""


def test_stack_overflow_is_named(tmp_path: Path) -> None:
    """A push below the stack is said to be one."""
    # lea -9 MiB(%rsp), %rsp would jump over the gap; push in a loop: 1: push %rax; jmp 1b
    process = make(tmp_path, machine("x86_64"), code("50 ebfd"))
    process.run()
    assert process.killed_by == "SIGSEGV"
    assert "stack overflow" in process.reason
    assert process.last_fault is not None
    assert process.last_fault.address == process.stack.low - 0x1000


def test_fault_is_readable() -> None:
    """One line for a report."""
    assert str(Fault("SIGILL", 0x10, None, "why")) == "SIGILL at 0x10: why"
