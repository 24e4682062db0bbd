"""What Linux makes of an exception: the signal, the address, and the reason in words.

The emulator reports page faults exactly; of the other exceptions it tells a number, and
on one machine the same number for all of them. The descriptor's `Exceptions` says the
rest (Linux arch/x86/kernel/traps.c, arch/arm64/kernel/traps.c, arch/s390/kernel/traps.c).
"""

from dataclasses import dataclass

from arch import Arch
from arch.descriptor import Trap
from emu.linux.handled import code_at, find_handled, matches, opcode_of
from emu.linux.mappings import Mappings
from emu.linux.space import STACK_GAP
from emu.machine.engine import Engine, EngineStop, StopKind
from emu.memory import EXECUTE, PAGE, READ, WRITE, Memory


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a process dies of what it executed."""

    signal: str
    pc: int
    """Address of the instruction (behind it where the machine has it so: a breakpoint)."""
    address: int | None
    """What it wanted to access; for data the start of the page. None: not known."""
    reason: str

    def __str__(self) -> str:
        return f"{self.signal} at {self.pc:#x}: {self.reason}"


def classify(
    engine: Engine, stop: EngineStop, stack: tuple[int, int] | None = None,
    mappings: Mappings | None = None,
) -> Fault:  # fmt: skip
    """The fault behind a stop; STOPPED counts as an instruction that halts the CPU.

    Args:
        engine: as it stopped, with the PC at the faulting instruction.
        stop: what it said.
        stack: start and end of the main stack, to name its overflow.
        mappings: of files, to tell what lies behind the end of one.
    """
    arch, memory, pc = engine.arch, engine.memory, engine.pc
    if pc % arch.instruction_unit:
        return Fault(arch.exceptions.misaligned_pc, pc, pc, "misaligned instruction address")
    fault = _memory_fault(arch, memory, stop, pc, stack)
    if fault is not None:
        return _behind_file(fault, stop, mappings) or fault
    if stop.kind is StopKind.STOPPED:
        return Fault(arch.exceptions.halt or "SIGILL", pc, None, "instruction that halts the CPU")
    trap = _trap(engine, stop, pc)
    return Fault(trap.signal, pc, None, trap.reason)


def _memory_fault(
    arch: Arch, memory: Memory, stop: EngineStop, pc: int, stack: tuple[int, int] | None
) -> Fault | None:
    """The page fault, or None where the stop is another exception."""
    fetched = _unfetchable(arch, memory, pc)
    if fetched is not None and stop.kind is not StopKind.INTERRUPT:
        what = "non-executable" if memory.find(fetched) else "unmapped"
        return Fault("SIGSEGV", pc, fetched, f"instruction fetch from {what} memory")
    if stop.kind is not StopKind.MEMORY:
        return None
    if stop.access == "fetch":
        # Any other fetch elsewhere is the emulator's own: it looks at the page before an
        # instruction that it cannot translate.
        code = code_at(arch, memory, pc)
        executes = any(matches(code, value, mask) for value, mask in arch.exceptions.executes)
        if executes and stop.address != pc - 1 & -PAGE:
            return Fault("SIGSEGV", pc, stop.address, "fetch of the instruction to execute")
        return None
    page = stop.address
    if stack is not None and stack[0] - STACK_GAP <= page < stack[0]:
        return Fault("SIGSEGV", pc, page, f"stack overflow: {stop.access} below the stack")
    if memory.find(page) is None:
        what = "unmapped page"
    else:
        what = "read-only page" if stop.access == "write" else "unreadable page"
    return Fault("SIGSEGV", pc, page, f"{stop.access} at {what} {page:#x}")


def _behind_file(fault: Fault, stop: EngineStop, mappings: Mappings | None) -> Fault | None:
    """The SIGBUS in place of a page fault where a mapping has no file left (filemap_fault)."""
    if mappings is None or fault.address is None:
        return None
    mapping = mappings.find(fault.address)
    if mapping is None or fault.address < mapping.behind_file:
        return None
    fetches = stop.access == "fetch" or fault.address & -PAGE == fault.pc & -PAGE
    wanted = EXECUTE if fetches else WRITE if stop.access == "write" else READ
    if not mapping.permissions & wanted:
        return None
    name = mapping.file.path.decode("utf-8", "backslashreplace")
    what = "fetch" if fetches else stop.access
    reason = f"{what} behind the end of {name}, mapped at {mapping.start:#x}"
    return Fault("SIGBUS", fault.pc, fault.address, reason)


def _unfetchable(arch: Arch, memory: Memory, pc: int) -> int | None:
    """The first byte of the instruction at `pc` that cannot be fetched.

    An instruction may end on a page that is missing; one byte of it is enough to say so
    only where the unit is the whole instruction, so the longest is asked for last.
    """
    row = memory.find(pc)
    if row is None or not row[3] & EXECUTE:
        return pc
    border = (pc | PAGE - 1) + 1
    if border - pc >= arch.longest_instruction:
        return None
    row = memory.find(border)
    return border if row is None or not row[3] & EXECUTE else None


def _trap(engine: Engine, stop: EngineStop, pc: int) -> Trap:
    table = engine.arch.exceptions
    code = code_at(engine.arch, engine.memory, pc)
    handled = find_handled(engine.arch, engine.cpu, code)
    if handled is not None and handled.trap is not None:
        return handled.trap
    if stop.kind is StopKind.INTERRUPT:
        opcode = opcode_of(engine.arch, code)
        for entry in table.opcodes:
            if matches(opcode, entry.value, entry.mask):
                return entry.trap
        if table.status is not None and engine.read(table.status[0]) & table.status[1]:
            return table.status_trap
        return table.numbers.get(stop.number, table.other)
    return Trap("SIGILL", "undefined or privileged instruction")
