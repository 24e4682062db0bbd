"""Instructions that are not the emulator's to execute, and those that it must let pass.

The lists of tests/data/instructions say what Linux makes of each at user level; the checked
run must end the same way, and name the reason.
"""

from pathlib import Path

import pytest

from arch import ALL, Arch
from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.check.options import RunOptions
from emu.check.result import CheckResult, Guest
from emu.check.run import Run
from emu.linux.faults import Fault
from emu.linux.handled import find_handled, opcode_of
from emu.linux.process import Process
from emu.machine.engine import Engine
from emu.memory import EXECUTE, PAGE, READ, Memory
from tests.emu.linux.programs import DATA, call, exit_with_result, machine, z_load
from tests.emu.machine.elf_program import CODE, R, Segment, W, code_program

pytestmark = pytest.mark.compiled

LISTS = Path(__file__).parents[2] / "data" / "instructions"
END = DATA + 0x2000
"""First address behind the data."""
EXIT = 42


def listed(name: str) -> list[tuple[str, str, bytes]]:
    """(machine, outcome, code), with the instruction's name as the id of the test."""
    rows = []
    for line in (LISTS / f"{name}.txt").read_text().splitlines():
        if not line.startswith("#"):
            outcome, code, instruction = line.split(maxsplit=2)
            rows.append(
                pytest.param(name, outcome, bytes.fromhex(code), id=f"{name}-{instruction}")
            )
    return rows  # type: ignore[return-value]


def run(folder: Path, arch: Arch, code: bytes, **options: object) -> tuple[Run, CheckResult]:
    """A checked run to its end."""
    data = Segment(DATA, b"data", R | W, 0x2000, memsz=END - DATA)
    image = code_program(arch, code, data).image(folder)
    started = Run(image.path, RunOptions(table="cfi", **options))  # type: ignore[arg-type]
    return started, started.to_end()


def guest(folder: Path, arch: Arch, code: bytes, **options: object) -> Guest:
    """How the program ended."""
    return run(folder, arch, code, **options)[1].guest


def process_of(folder: Path, arch: Arch, code: bytes) -> Process:
    """What is left of it."""
    return run(folder, arch, code)[0].session.process


def fault_of(folder: Path, arch: Arch, code: bytes) -> Fault:
    """Why the program died."""
    fault = process_of(folder, arch, code).last_fault
    assert fault is not None
    return fault


@pytest.mark.parametrize(
    ("name", "outcome", "code"), [row for arch in ALL for row in listed(arch.name)]
)
def test_ends_as_linux_ends_it(tmp_path: Path, name: str, outcome: str, code: bytes) -> None:
    """The signal and a reason in words, or no difference at all."""
    arch = machine(name)
    ended = guest(tmp_path, arch, code + call(arch, "exit_group", EXIT))
    if outcome == "exit":
        assert (ended.stopped, ended.signal) == ("exit", ""), ended.reason
    else:
        assert (ended.stopped, ended.signal) == ("fault", outcome)
        assert ended.reason


@pytest.mark.parametrize("arch", ALL, ids=lambda arch: arch.name)
def test_every_handled_instruction_is_recognised(arch: Arch) -> None:
    """Each has an encoding by which the check stops before it, and no other kind comes first."""
    for entry in arch.handled:
        model = "" if entry.models is None else min(entry.models)
        # What follows is an opcode that nothing here is extended by.
        found = find_handled(arch, model, entry.value.ljust(arch.longest_instruction, b"\xf4"))
        assert found is not None, entry.name
        assert found.trap == entry.trap


def test_prefixes_are_no_opcode() -> None:
    """Segment, size and REX prefixes stand before it; LOCK is part of the patterns."""
    assert opcode_of(X86_64, bytes.fromhex("66 64 48 0f31")) == bytes.fromhex("0f31")
    assert opcode_of(X86_64, bytes.fromhex("f0 0f31")) == bytes.fromhex("f00f31")


# ---- reasons by name


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("x86_64", "ec", "I/O instruction"),
        ("x86_64", "0f33", "rdpmc"),
        ("x86_64", "fa", "cli or sti"),
        ("x86_64", "0f20c0", "control or debug register"),
        ("x86_64", "cd80", "32-bit interface"),
        ("x86_64", "f00f31", "lock prefix"),
        ("x86_64", "c5f877", "AVX"),
        ("aarch64", "00243bd5", "random"),
        ("s390x", "e50110001000", "privileged"),
        ("s390x", "0700 5d301000", "odd register"),
    ],
)
def test_the_reason_names_it(tmp_path: Path, name: str, code: str, reason: str) -> None:
    """A report says which kind of instruction it was."""
    assert reason in guest(tmp_path, machine(name), bytes.fromhex(code)).reason


def test_trapped_instructions_change_nothing(tmp_path: Path) -> None:
    """The PC stands at the instruction, and the run counts it as any that faults."""
    ended = guest(tmp_path, X86_64, b"\x90\xec")
    assert (ended.pc, ended.instructions) == (CODE + 1, 2)


# ---- what the emulator cannot raise


@pytest.mark.parametrize(
    ("arch", "code", "name"),
    [
        # push $0; ldmxcsr (%rsp)
        (X86_64, "6a00 0fae1424", "SSE exceptions"),
        # pushfq; orl $0x40000,(%rsp); popfq
        (X86_64, "9c 810c2400000400 9d", "alignment checks"),
        # iilf %r1,0x08000000; spm %r1
        (S390X, "c01908000000 0410", "program mask"),
    ],
    ids=["x86_64-sse", "x86_64-ac", "s390x-overflow"],
)
def test_enabled_exceptions_are_named(tmp_path: Path, arch: Arch, code: str, name: str) -> None:
    """A program that asks for exceptions which never come is told so in the report."""
    program = bytes.fromhex(code) + call(arch, "exit_group", EXIT)
    process = process_of(tmp_path, arch, program)
    assert process.exit_status == EXIT
    assert [key for key in process.unsupported if name in key]


# ---- s390x: store clock


@pytest.mark.parametrize("opcode", ["b205", "b27c", "b278"], ids=["stck", "stckf", "stcke"])
@pytest.mark.parametrize(("value", "before"), [(0, 0), (-1, 1), (1, 2)])
def test_store_clock_sets_the_condition_code(
    tmp_path: Path, opcode: str, value: int, before: int
) -> None:
    """Principles of Operation, STORE CLOCK: code 0, the clock is set."""
    order = z_load(1, DATA) + z_load(4, value) + bytes.fromhex("b9020044")  # ltgr %r4,%r4
    read = bytes.fromhex("b2220020 8820001c")  # ipm %r2; srl %r2,28
    with_clock = order + bytes.fromhex(opcode + "1000") + read
    for code, wanted in ((order + read, before), (with_clock, 0)):
        assert guest(tmp_path, S390X, code + exit_with_result(S390X)).exit_status == wanted


@pytest.mark.parametrize(
    ("opcode", "address", "page", "what"),
    [
        ("b205", 0x6666_0123, 0x6666_0000, "unmapped"),
        ("b27c", CODE + 0x10, CODE, "read-only"),
        ("b205", END - 4, END, "unmapped"),
        ("b278", END - 15, END, "unmapped"),
    ],
    ids=["nowhere", "code", "stck over the end", "stcke over the end"],
)
def test_store_clock_faults_at_its_operand(
    tmp_path: Path, opcode: str, address: int, page: int, what: str
) -> None:
    """The page that it cannot write, not the instruction; and nothing is stored."""
    load = z_load(1, address)
    process = process_of(tmp_path, S390X, load + bytes.fromhex(opcode + "1000"))
    assert process.last_fault == Fault(
        "SIGSEGV", CODE + len(load), page, f"write at {what} page {page:#x}"
    )
    assert process.memory.read(END - 16, 16) == bytes(16)


def test_execute_faults_at_its_target(tmp_path: Path) -> None:
    """EXECUTE fetches an instruction from elsewhere, and that page is what is missing."""
    load = z_load(1, 0x6666_0010)
    fault = fault_of(tmp_path, S390X, load + bytes.fromhex("44001000"))
    assert (fault.signal, fault.pc, fault.address) == ("SIGSEGV", CODE + len(load), 0x6666_0000)


# ---- random numbers

# rdrand %rax; or $-1,%r9d; rdrand %r9d; or $-1,%rcx; rdrand %cx; all pushed, the flags first.
RANDOM = bytes.fromhex("480fc7f0 4183c9ff 410fc7f1 4883c9ff 660fc7f1 9c50415151")
WRITE = bytes.fromhex("4889e6ba20000000bf01000000b8010000000f05 31ffb83c0000000f05")


def numbers(folder: Path, seed: int) -> tuple[int, ...]:
    """rcx, r9, rax and the flags as the program left them."""
    data = guest(folder, X86_64, RANDOM + WRITE, seed=seed).stdout
    return tuple(int.from_bytes(data[at : at + 8], "little") for at in range(0, 32, 8))


def test_random_numbers_come_from_the_seed(tmp_path: Path) -> None:
    """Equal seeds give equal numbers, others do not."""
    one, again, other = (numbers(tmp_path, seed) for seed in (3, 3, 4))
    assert one == again
    assert all(a != b for a, b in zip(one[:3], other[:3], strict=True))


def test_rdrand_writes_its_operand(tmp_path: Path) -> None:
    """SDM: 64 bits; 32 bits clear the upper half; 16 bits leave the rest; CF is set alone."""
    rcx, r9, rax, flags = numbers(tmp_path, 1)
    assert rcx >> 16 == (1 << 48) - 1
    assert rcx & 0xFFFF != 0xFFFF
    assert 0 < r9 < (1 << 32) - 1
    assert rax >> 32
    assert flags & 0x8D5 == 1


def cpuid(model: str, leaf: int) -> tuple[int, int, int]:
    """ebx, ecx and edx of a leaf, subleaf 0."""
    memory = Memory(1 << 20)
    memory.map(CODE, PAGE, READ | EXECUTE)
    memory.write(CODE, bytes.fromhex("0fa2 0f0b"), force=True)
    engine = Engine(X86_64, memory, model)
    engine.write(35, leaf)
    engine.write(38, 0)
    engine.run(CODE)
    return engine.read(37), engine.read(38), engine.read(40)


@pytest.mark.parametrize("model", ["", *X86_64.boot.cpu_models])
def test_random_numbers_are_there_where_cpuid_says_so(tmp_path: Path, model: str) -> None:
    """RDRAND (leaf 1, ecx bit 30), RDTSCP (leaf 0x80000001, edx bit 27); RDSEED nowhere."""
    shown = {
        "480fc7f0": bool(cpuid(model, 1)[1] >> 30 & 1),
        "0f01f9": bool(cpuid(model, 0x8000_0001)[2] >> 27 & 1),
        "0fc7f8": bool(cpuid(model, 7)[0] >> 18 & 1),
    }
    for code, there in shown.items():
        program = bytes.fromhex(code) + call(X86_64, "exit_group", EXIT)
        ended = guest(tmp_path, X86_64, program, cpu=model)
        assert ended.signal == ("" if there else "SIGILL"), code


@pytest.mark.parametrize("model", AARCH64.boot.cpu_models)
def test_no_model_of_aarch64_has_random_numbers(tmp_path: Path, model: str) -> None:
    """AT_HWCAP2 has no HWCAP2_RNG (bit 16), so rndr is undefined on all of them."""
    assert not AARCH64.layout.hwcap2 >> 16 & 1
    assert guest(tmp_path, AARCH64, bytes.fromhex("00243bd5"), cpu=model).signal == "SIGILL"


# ---- aarch64: registers that the kernel shows


@pytest.mark.parametrize("model", ["", *AARCH64.boot.cpu_models])
def test_the_main_id_register_is_that_of_the_model(tmp_path: Path, model: str) -> None:
    """The kernel gives user code the real one (emulate_id_reg)."""
    engine = Engine(AARCH64, Memory(1 << 20), model)
    real = engine._uc.reg_read(AARCH64.boot.coprocessor_register, (0, 0, 3, 0, 0, 0))
    # mrs x1, midr_el1; str x1, [sp, #-16]!; write(1, sp, 8); exit
    code = bytes.fromhex("010038d5 e10f1ff8 200080d2 e1030091 020180d2 080880d2 010000d4") + call(
        AARCH64, "exit_group", 0
    )
    data = guest(tmp_path, AARCH64, code, cpu=model).stdout
    assert int.from_bytes(data, "little") == real & 0xFFFF_FFFF
