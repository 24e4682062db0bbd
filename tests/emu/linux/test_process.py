import struct
from pathlib import Path

import pytest

from arch import ALL, Arch
from tests.emu.linux.programs import (
    DATA,
    READ_ONLY,
    arm_load,
    call,
    exit_with_result,
    machine,
    make,
    x86_load,
)
from tests.emu.machine.elf_program import CODE

pytestmark = pytest.mark.compiled


@pytest.fixture(params=ALL, ids=lambda arch: arch.name)
def arch(request: pytest.FixtureRequest) -> Arch:
    """Each machine in turn."""
    arch: Arch = request.param
    return arch


def test_hello(arch: Arch, tmp_path: Path) -> None:
    """Output and exit status of the simplest program; nothing is unsupported."""
    code = call(arch, "write", 1, DATA, 6) + call(arch, "exit_group", 7)
    process = make(tmp_path, arch, code, b"hello\n")
    process.run()
    assert (process.stdout, process.stderr) == (b"hello\n", b"")
    assert (process.finished, process.exit_status, process.killed_by) == (True, 7, "")
    assert not process.unsupported


def test_input(arch: Arch, tmp_path: Path) -> None:
    """What it reads is what the caller gave."""
    code = call(arch, "read", 0, DATA, 100) + call(arch, "write", 2, DATA, 3)
    process = make(tmp_path, arch, code + call(arch, "exit", 0), stdin=b"abcdef")
    process.run()
    assert (process.stdout, process.stderr) == (b"", b"abc")


def test_unknown_call(arch: Arch, tmp_path: Path) -> None:
    """ENOSYS comes back, and the call is counted by name."""
    process = make(tmp_path, arch, call(arch, "io_uring_setup", 0, 0) + exit_with_result(arch))
    process.run()
    assert process.exit_status == -38 & 0xFF
    assert process.unsupported == {"io_uring_setup": 1}


def test_bad_pointer(arch: Arch, tmp_path: Path) -> None:
    """EFAULT, not an exception of ours."""
    process = make(tmp_path, arch, call(arch, "uname", READ_ONLY) + exit_with_result(arch))
    process.run()
    assert process.exit_status == -14 & 0xFF


def test_mmap_takes_its_six_arguments(arch: Arch, tmp_path: Path) -> None:
    """In registers, or in a block of memory where the machine has it so."""
    six = (0x5000_0000, 0x1000, 3, 0x32, -1, 0)
    order = "<" if arch.byte_order == "little" else ">"
    data = struct.pack(order + "6Q", *(value % (1 << 64) for value in six))
    arguments = (DATA,) if arch.syscall.mmap_block else six
    code = call(arch, "mmap", *arguments) + call(arch, "read", 0, 0x5000_0000, 4)
    process = make(tmp_path, arch, code + exit_with_result(arch), data, stdin=b"abcd")
    process.run()
    assert process.exit_status == 4
    assert process.memory.read(0x5000_0000, 4) == b"abcd"


def test_killed_by_its_own_signal(arch: Arch, tmp_path: Path) -> None:
    """There is no exit status then."""
    process = make(tmp_path, arch, call(arch, "kill", 1000, 6) + exit_with_result(arch))
    process.run()
    assert (process.killed_by, process.exit_status) == ("SIGABRT", None)


def test_deadlock_ends_with_a_reason(arch: Arch, tmp_path: Path) -> None:
    """A wait that nothing can end does not hang."""
    process = make(tmp_path, arch, call(arch, "futex", DATA + 64, 0, 0, 0))
    process.run()
    assert (process.exit_status, process.killed_by) == (None, "")
    assert "deadlock" in process.reason


def test_stack_at_entry(arch: Arch, tmp_path: Path) -> None:
    """SP points at argc, the program itself counted; PC is the entry."""
    process = make(tmp_path, arch, call(arch, "exit", 0), arguments=["a", "b"])
    assert process.start() == process.engine.pc == CODE
    register = arch.register(arch.sp)
    assert register is not None
    pointer = process.engine.read(register.emulator)
    assert process.memory.read_word(pointer, arch.byte_order) == 3


def test_syscall_clobbers_as_the_instruction_does(tmp_path: Path) -> None:
    """Syscall leaves the next PC in rcx and the flags in r11, and no other register changes."""
    arch = machine("x86_64")
    before = x86_load(3, 0x1234) + call(arch, "getpid")
    # mov %rcx, %rdi; sub $next, %rdi is 0; or %r11 has bit 1 set: exit(rcx == next ? 1 : 0)
    next_pc = CODE + len(before)
    code = before + x86_load(0, next_pc) + bytes.fromhex("4839c1 0f94c0 0fb6f8 4983e302 4409df")
    process = make(tmp_path, arch, code + call(arch, "exit_group")[:])
    process.run()
    assert process.exit_status == 3


def test_mprotect_makes_data_code(tmp_path: Path) -> None:
    """Code that the program writes, runs, writes anew and runs again, is the new one."""
    arch = machine("aarch64")
    load_5, load_6 = b"\xa0\x00\x80\x52", b"\xc0\x00\x80\x52"  # mov w0, #5; mov w0, #6
    give_back = b"\xc0\x03\x5f\xd6"  # ret
    visit = arm_load(9, DATA) + b"\x20\x01\x3f\xd6"  # blr x9
    patch = arm_load(9, DATA) + arm_load(10, int.from_bytes(load_6, "little"))
    code = (
        call(arch, "mprotect", DATA, 0x1000, 5) + visit
        + call(arch, "mprotect", DATA, 0x1000, 3) + patch + b"\x2a\x01\x00\xb9"  # str w10, [x9]
        + call(arch, "mprotect", DATA, 0x1000, 5) + visit + exit_with_result(arch)
    )  # fmt: skip
    process = make(tmp_path, arch, code, load_5 + give_back)
    process.run()
    assert process.exit_status == 6


def test_pointer_authentication_with_a_high_stack(tmp_path: Path) -> None:
    """A return address on a stack just below 2^48 is signed, stored, and checked."""
    arch = machine("aarch64")
    signed = (
        "3f2303d5"  # paciasp
        "fd7bbfa9"  # stp x29, x30, [sp, #-16]!
        "fd7bc1a8"  # ldp x29, x30, [sp], #16
        "bf2303d5"  # autiasp
        "c0035fd6"  # ret
    )
    # bl over two instructions to the function, exit with the top byte of what it stored
    start = b"\x1e\x00\x00\x94"  # bl +120
    look = bytes.fromhex("e0835ff8") + bytes.fromhex("00fc70d3")  # ldur x0, [sp, #-8]; lsr #48
    body = start + look + exit_with_result(arch)
    code = body.ljust(120, b"\x1f\x20\x03\xd5"[:1]) + bytes.fromhex(signed)
    process = make(tmp_path, arch, code, keys=(1 << 40 | 12345, 67890, 3, 4))
    process.run()
    assert process.exit_status is not None
    assert process.exit_status != 0


def test_user_level(tmp_path: Path) -> None:
    """What Linux gives to EL0 works there: ctr_el0 and dc zva."""
    arch = machine("aarch64")
    code = bytes.fromhex("20003bd5") + arm_load(0, DATA) + bytes.fromhex("20740bd5")
    process = make(tmp_path, arch, code + call(arch, "exit", 3), b"\xff" * 64)
    process.run()
    assert process.exit_status == 3
    assert process.memory.read(DATA, 64) == bytes(64)


def test_same_seed_same_run(arch: Arch, tmp_path: Path) -> None:
    """Time and randomness are equal in two runs."""
    code = call(arch, "clock_gettime", 0, DATA) + call(arch, "getrandom", DATA + 16, 16, 0)
    code += call(arch, "write", 1, DATA, 32) + call(arch, "exit", 0)
    outputs = []
    for _ in range(2):
        process = make(tmp_path, arch, code)
        process.run()
        outputs.append(process.stdout)
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) == 32
