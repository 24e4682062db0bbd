"""The emulator behind its door: registers, stops, faults, hooks, and registers in host memory."""

import ctypes
import struct

import pytest

from arch import Arch, by_name
from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.machine.engine import Engine, EngineStop, StopKind
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory

pytestmark = pytest.mark.compiled

CODE, DATA, NOWHERE = 0x400000, 0x500000, 0x600000
RW, RX = READ | WRITE, READ | EXECUTE
NOP = {"x86_64": b"\x90", "aarch64": b"\x1f\x20\x03\xd5", "s390x": b"\x07\x00"}
SYSCALL = {"x86_64": b"\x0f\x05", "aarch64": b"\x01\0\0\xd4", "s390x": b"\x0a\x01"}
ILLEGAL = {"x86_64": b"\x0f\x0b", "aarch64": bytes(4), "s390x": bytes(2)}
# A register and an instruction through it: load a word, store a word, jump.
POINTER = {"x86_64": 0, "aarch64": 1, "s390x": 1}
LOAD = {"x86_64": "488b08", "aarch64": "220040f9", "s390x": "e32010000004"}
STORE = {"x86_64": "488908", "aarch64": "220000f9", "s390x": "e32010000024"}
JUMP = {"x86_64": "ffe0", "aarch64": "20001fd6", "s390x": "07f1"}


def machine(arch: Arch, code: bytes, **options: object) -> Engine:
    """A CPU with a page of code and a page of data."""
    memory = Memory(1 << 20)
    memory.map(CODE, PAGE, RX)
    memory.map(DATA, PAGE, RW)
    memory.write(CODE, code, force=True)
    return Engine(arch, memory, **options)  # type: ignore[arg-type]


def set_register(engine: Engine, dwarf: int, value: int) -> None:
    """Set a register by DWARF number."""
    register = engine.arch.register(dwarf)
    assert register is not None
    engine.write(register.emulator, value)


def through(arch: Arch, code: dict[str, str], address: int) -> tuple[Engine, EngineStop]:
    """Run one instruction that uses an address in a register."""
    engine = machine(arch, bytes.fromhex(code[arch.name]) + ILLEGAL[arch.name])
    set_register(engine, POINTER[arch.name], address)
    return engine, engine.run(CODE)


# ---- registers


def test_registers_keep_what_is_written(arch: Arch) -> None:
    """Each register has its own value, and all 64 bits of it."""
    engine = machine(arch, b"")
    wanted = {r.dwarf: 0x8000_0000_0000_0000 + 0x10 * r.dwarf for r in arch.registers}
    for dwarf, value in wanted.items():
        set_register(engine, dwarf, value)
    assert engine.registers() == wanted


def test_pc(arch: Arch) -> None:
    """The program counter is read and written as any register."""
    engine = machine(arch, b"")
    engine.pc = CODE + 8
    assert engine.pc == CODE + 8


def test_registers_of_another_width() -> None:
    """A register is 64 bits: what is above is cut off."""
    engine = machine(X86_64, b"")
    set_register(engine, 0, 1 << 64 | 5)
    assert engine.registers()[0] == 5


# ---- stops


def test_illegal_instruction(arch: Arch) -> None:
    """The stop is one that Linux makes SIGILL of, and PC stays at the instruction."""
    engine = machine(arch, NOP[arch.name] + ILLEGAL[arch.name])
    stop = engine.run(CODE)
    assert stop.kind in (StopKind.ILLEGAL, StopKind.INTERRUPT)
    assert engine.pc == CODE + len(NOP[arch.name])


@pytest.mark.parametrize(
    ("code", "access"), [(LOAD, "read"), (STORE, "write"), (JUMP, "fetch")],
    ids=["load", "store", "jump"],
)  # fmt: skip
def test_fault_of_no_memory(arch: Arch, code: dict[str, str], access: str) -> None:
    """The page of the address, and what was tried."""
    _, stop = through(arch, code, NOWHERE + 0x18)
    assert stop == EngineStop(StopKind.MEMORY, stop.address, access)
    assert stop.address & -PAGE == NOWHERE


def test_fault_of_a_store_to_code(arch: Arch) -> None:
    """Code is readable and not writable; the PC stays at the store."""
    engine, stop = through(arch, STORE, CODE + 0x100)
    assert (stop.kind, stop.access, engine.pc) == (StopKind.MEMORY, "write", CODE)
    assert stop.address & -PAGE == CODE


def test_fault_of_executing_data(arch: Arch) -> None:
    """Data is not executable."""
    engine, stop = through(arch, JUMP, DATA)
    assert (stop.kind, stop.access, engine.pc) == (StopKind.MEMORY, "fetch", DATA)


def test_a_jump_to_zero_is_a_fault(arch: Arch) -> None:
    """Address 0 is no place where a run ends well."""
    _, stop = through(arch, JUMP, 0)
    assert (stop.kind, stop.access, stop.address) == (StopKind.MEMORY, "fetch", 0)


def test_allowed_accesses_do_not_stop(arch: Arch) -> None:
    """A load from data is no fault: the run gets to the illegal instruction behind it."""
    engine, stop = through(arch, LOAD, DATA)
    assert stop.kind is not StopKind.MEMORY
    assert engine.pc == CODE + len(bytes.fromhex(LOAD[arch.name]))


def test_words_are_in_the_byte_order_of_the_machine(arch: Arch) -> None:
    """What a store leaves in memory is what the descriptor says."""
    engine = machine(arch, bytes.fromhex(STORE[arch.name]) + ILLEGAL[arch.name])
    set_register(engine, POINTER[arch.name], DATA + 8)
    set_register(engine, 2, 0x0102030405060708)  # rcx, x2, r2
    engine.run(CODE)
    assert engine.memory.read_word(DATA + 8, arch.byte_order) == 0x0102030405060708


def test_x86_64_division_by_zero() -> None:
    """Exception 0 (SDM, divide error)."""
    engine = machine(X86_64, bytes.fromhex("31c9f7f1"))
    engine.hook_syscalls(lambda: None)
    assert engine.run(CODE) == EngineStop(StopKind.INTERRUPT, number=0)


# ---- changes of memory


def test_a_mapping_that_goes_faults_after_a_flush(arch: Arch) -> None:
    """The translation of a page is cached until it is flushed."""
    engine, _ = through(arch, LOAD, DATA)
    engine.memory.unmap(DATA, PAGE)
    engine.flush_tlb()
    assert engine.run(CODE).kind is StopKind.MEMORY


def test_code_written_by_the_host(arch: Arch) -> None:
    """Translations of changed code must be dropped: then the new code runs."""
    engine = machine(arch, NOP[arch.name] + ILLEGAL[arch.name])
    engine.run(CODE)
    nops = NOP[arch.name] * 3
    engine.memory.write(CODE, nops + ILLEGAL[arch.name], force=True)
    engine.forget_code(CODE, CODE + PAGE)
    engine.run(CODE)
    assert engine.pc == CODE + len(nops)


# ---- callbacks


def test_system_calls_are_seen(arch: Arch) -> None:
    """The callback runs at the call, and the program goes on behind it."""
    engine = machine(arch, SYSCALL[arch.name] + NOP[arch.name] + ILLEGAL[arch.name])
    seen: list[int] = []

    def call() -> None:
        seen.append(engine.pc)
        if arch.syscall.pc_advance:
            engine.pc += arch.syscall.pc_advance

    engine.hook_syscalls(call)
    engine.run(CODE)
    assert len(seen) == 1
    assert engine.pc == CODE + len(SYSCALL[arch.name] + NOP[arch.name])


def test_an_exception_of_a_callback_is_raised_by_run(arch: Arch) -> None:
    """The run stops, and the caller gets the first exception itself."""
    engine = machine(arch, SYSCALL[arch.name] + ILLEGAL[arch.name])

    def call() -> None:
        raise LookupError("from the callback")

    engine.hook_syscalls(call)
    with pytest.raises(LookupError, match="from the callback"):
        engine.run(CODE)


def test_stopping_from_a_callback(arch: Arch) -> None:
    """The run comes back as stopped."""
    engine = machine(arch, SYSCALL[arch.name] + ILLEGAL[arch.name])
    engine.hook_syscalls(engine.stop)
    assert engine.run(CODE).kind is StopKind.STOPPED


def test_python_hook_sees_every_instruction(arch: Arch) -> None:
    """Address and size, in order, the faulting one at last."""
    engine = machine(arch, NOP[arch.name] * 3 + ILLEGAL[arch.name])
    seen: list[tuple[int, int]] = []
    engine.hook_code_python(lambda pc, size: seen.append((pc, size)))
    engine.run(CODE)
    size = len(NOP[arch.name])
    assert seen[:3] == [(CODE, size), (CODE + size, size), (CODE + 2 * size, size)]


# ---- models and pointer authentication


@pytest.mark.parametrize("name", ["x86_64", "aarch64", "s390x"])
def test_every_cpu_model_starts(name: str) -> None:
    """Each name that --cpu offers runs an instruction."""
    arch = by_name(name)
    assert arch is not None
    for model in arch.boot.cpu_models:
        engine = machine(arch, NOP[name] + ILLEGAL[name], cpu=model)
        engine.run(CODE)
        assert engine.pc == CODE + len(NOP[name]), model


def signed_lr(keys: tuple[int, ...] | None) -> int:
    """x30 after paciasp."""
    engine = machine(AARCH64, struct.pack("<II", 0xD503233F, 0), pauth_keys=keys)
    set_register(engine, 30, 0x401234)
    set_register(engine, 31, 0x7FFF0000)
    engine.run(CODE)
    return engine.registers()[30]


def test_pointer_authentication_off() -> None:
    """paciasp is a hint: nothing is signed."""
    assert signed_lr(None) == 0x401234


def test_pointer_authentication_on() -> None:
    """The signature lies in the bits of the mask, and depends on the key."""
    signed = [signed_lr((n, n, n, n)) for n in (1, 2)]
    assert signed[0] != signed[1]
    for value in signed:
        assert value != 0x401234
        assert value & ~AARCH64.ra_sign_mask == 0x401234


# ---- registers as host memory


def test_places_of_the_registers(arch: Arch) -> None:
    """Every register is found, and what is written through the emulator is there."""
    engine = machine(arch, b"")
    places = engine.register_addresses()
    for register in arch.registers:
        engine.write(register.emulator, 0x1000 + register.dwarf)
    assert {
        dwarf: ctypes.c_uint64.from_address(place).value for dwarf, place in places.items()
    } == {register.dwarf: 0x1000 + register.dwarf for register in arch.registers}


def test_places_are_found_beside_other_engines(arch: Arch) -> None:
    """Thirty CPUs in one process: the search of one is not confused by what others hold."""
    engines: list[Engine] = []
    found: list[dict[int, int]] = []
    for _ in range(30):
        engines.append(machine(arch, b""))
        found.append(engines[-1].register_addresses())
    assert [len(places) for places in found] == [len(arch.registers)] * 30
    assert len({place for places in found for place in places.values()}) == (
        30 * len(arch.registers)
    )


@pytest.mark.parametrize(
    ("arch", "code"),
    [(S390X, "0700b20d0000"), (AARCH64, "001018d5")],  # nopr and ptlb; msr sctlr_el1, x0
    ids=["s390x", "aarch64"],
)
def test_privileged_instructions_trap(arch: Arch, code: str) -> None:
    """The boot state is that of user code: what stops is the last instruction, not a later one."""
    program = bytes.fromhex(code)
    engine = machine(arch, program)
    engine.hook_syscalls(lambda: None)
    assert engine.run(CODE).kind is StopKind.INTERRUPT
    assert engine.pc == CODE + len(program) - 4
