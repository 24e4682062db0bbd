"""What differs between machines, as data.

To add a machine, write one file with one `Arch` constant and name it in
`arch/__init__.py`; nothing in `emu/` changes. Facts come from the psABI supplement,
the SFrame specification and the Linux sources that each file names. Emulator numbers
are literals: a test compares them with the emulator's own constants.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from arch.assembly import AssemblyFacts
from arch.compilers import CompilerFacts
from arch.entries import LazyBinding, SignalFrame
from arch.export import ExportFacts
from arch.files import FileFacts
from arch.files import StatLayout as StatLayout
from arch.flow import Flow, FlowEncoding, Lookalike, Stub
from arch.instructions import Encoding as Encoding
from arch.instructions import Exceptions as Exceptions
from arch.instructions import Handled as Handled
from arch.instructions import InstructionKind as InstructionKind
from arch.instructions import OpcodeTrap as OpcodeTrap
from arch.instructions import Operand as Operand
from arch.instructions import Source as Source
from arch.instructions import Trap as Trap
from arch.jump_tables import JumpTables
from arch.kernel import KernelFacts
from arch.relocations import RelocationFacts
from arch.row import Row

ByteOrder = Literal["little", "big"]


@dataclass(frozen=True, slots=True)
class Register:
    """A register that rows may name."""

    name: str
    dwarf: int
    emulator: int
    """Number in the emulator's register list."""


@dataclass(frozen=True, slots=True)
class SFrameFacts:
    """How this machine's SFrame sections are read (sframe-spec, ABI sections)."""

    abi_ids: Mapping[int, ByteOrder]
    """``sfh_abi_arch`` values and the byte order that each of them means."""
    abi_names: Mapping[int, str]
    fixed_ra_offset: int
    """What producers write; 0 = none, the return address is tracked by rows."""
    cfa_bias: int
    cfa_scale: int
    """CFA offset = stored * scale + bias (s390x: 8 and 160)."""
    registers_in_offsets: bool
    """V2: an odd RA or FP word names register ``word >> 1``."""
    zero_ra_is_filler: bool
    """A RA word 0 means not saved (FP saved while RA is not)."""
    pauth: bool
    """Info bit 5 (key) and bit 7 of fre_info (signed RA) have a meaning."""
    relocations: Mapping[int, int]
    """PC-relative relocation types that a function's start may have, and their bytes."""
    v1_rep_size: int
    """Bytes of a repeated block in V1, which does not store them; 0: none is known."""


@dataclass(frozen=True, slots=True)
class SyscallConvention:
    """How user code enters Linux (syscall(2), table "Architecture calling conventions")."""

    number: int
    """Emulator number of the register with the call's number."""
    arguments: tuple[int, ...]
    result: int
    interrupt: int | None
    """Exception number that the emulator reports; None: it has an instruction hook."""
    instruction: int = 0
    """Emulator number of the hooked instruction, when `interrupt` is None."""
    pc_advance: int = 0
    """Bytes that the handler must add to the PC, which still points at the call."""
    immediate: bool = False
    """The low byte of the instruction is the number, unless it is 0."""
    mmap_block: bool = False
    """mmap takes one pointer to its six arguments."""
    number_mask: int = 0xFFFF_FFFF
    """Bits of the number register that count."""
    next_pc: int = 0
    """Bytes from the PC that the handler sees to the next instruction."""
    next_pc_register: int = 0
    flags_register: int = 0
    """Emulator registers that the instruction fills with these two (0: none)."""
    segment_set: Mapping[int, int] = field(default_factory=dict)
    segment_get: Mapping[int, int] = field(default_factory=dict)
    """arch_prctl(2): operation -> emulator register of the segment base."""


@dataclass(frozen=True, slots=True)
class CoprocessorWrite:
    """``register |= value`` of a system register (op0, op1, crn, crm, op2)."""

    op0: int
    op1: int
    crn: int
    crm: int
    op2: int
    value: int


@dataclass(frozen=True, slots=True)
class UserEntry:
    """How the CPU comes to user level, where writing a register cannot do it."""

    code: bytes
    """Executed once; it goes to the address in `target`, which is the one behind it."""
    msr: int
    """Emulator number through which model-specific registers are written."""
    msrs: tuple[tuple[int, int], ...]
    target: int
    flags: tuple[int, int]
    """Emulator register and the value that becomes the flags."""
    table: bytes
    """Segment descriptors, which the CPU reads where `code` says that they are."""
    table_page: int
    """That address: one of the kernel, page-aligned."""


@dataclass(frozen=True, slots=True)
class Boot:
    """The state of the CPU before the first instruction of a user program."""

    emulator_arch: int
    emulator_mode: int
    cpu_models: Mapping[str, int]
    """Names for --cpu and the emulator's numbers."""
    emulator_page_size: int = 0
    """Set where the emulator's default is not the 4096 bytes of the page table."""
    pauth_model: str = ""
    """The model that --pac needs; empty: the machine has none."""
    set_registers: tuple[tuple[int, int], ...] = ()
    or_registers: tuple[tuple[int, int], ...] = ()
    coprocessor: tuple[CoprocessorWrite, ...] = ()
    coprocessor_register: int = 0
    pauth: tuple[CoprocessorWrite, ...] = ()
    user_entry: UserEntry | None = None
    pauth_keys: tuple[tuple[int, int, int, int, int], ...] = ()
    """(op0, op1, crn, crm, op2) of the key registers, filled from the seed."""


@dataclass(frozen=True, slots=True)
class AddressLayout:
    """Where a new process has its parts."""

    stack_top: int
    mmap_base: int
    pie_base: int
    platform: bytes
    """AT_PLATFORM."""
    user_end: int
    """First address that no mapping may reach (Linux TASK_SIZE)."""
    hwcap: int = 0
    hwcap2: int = 0
    page_size: int = 4096


def numbered(*runs: tuple[int, str]) -> dict[str, int]:
    """A table of names from runs: the first number, and names of consecutive numbers."""
    return {name: start + i for start, names in runs for i, name in enumerate(names.split())}


@dataclass(frozen=True, slots=True)
class Arch:
    """Everything that `emu` must be told about one machine."""

    name: str
    elf_machine: int
    byte_order: ByteOrder
    instruction_unit: int
    """Instructions start at multiples of this many bytes."""
    longest_instruction: int
    registers: tuple[Register, ...]
    sp: int
    fp: int
    ra: int
    """DWARF numbers of the three roles."""
    callee_saved: tuple[int, ...]
    """Ascending DWARF numbers of the registers whose values "belong" to the caller by the
    psABI, FP among them, SP and `ra` not: every table says where those two are."""
    pc_emulator: int
    flags_emulator: int
    """Emulator number of the flags register (0: none)."""
    ra_in_register: bool
    """At entry the return address is in register `ra`, else in the word at SP."""
    entry_cfa_offset: int
    """CFA - SP at the first instruction of a function."""
    sp_offset: int
    """Caller's SP - CFA."""
    sframe: SFrameFacts
    encodings: tuple[Encoding, ...]
    """In order of precedence."""
    prefixes: bytes
    """Bytes that may stand before an opcode."""
    syscall: SyscallConvention
    boot: Boot
    layout: AddressLayout
    syscalls: Mapping[str, int]
    stat: StatLayout
    handled: tuple[Handled, ...]
    """In order of precedence; each has an encoding above."""
    exceptions: Exceptions
    export: ExportFacts
    frame_pointer_row: Row | None = None
    back_chain_row: Row | None = None
    ra_sign_mask: int = 0
    """Bits of a user address that hold a signature."""
    ra_signing: tuple[bytes, ...] = ()
    """The instructions that sign the return address where it is at entry, with SP: one by each
    key that compilers use."""
    reserved: tuple[int, ...] = ()
    """DWARF numbers of registers that a call leaves alone, though the ABI saves them nowhere."""
    arguments: tuple[int, ...] = ()
    """DWARF numbers of the registers that hold the first arguments of a call, in their order."""
    crashing: tuple[bytes, ...] = ()
    """Beginnings of instructions that end the emulator when it only translates them."""
    signal_frame: SignalFrame | None = None
    lazy_binding: LazyBinding | None = None
    """None: the resolver is entered with the stack as the caller left it."""
    jump_tables: JumpTables = field(default_factory=lambda: JumpTables({}, ()))
    disassembler: tuple[int, int] = (0, 0)
    """Capstone's architecture and mode."""
    saved_only: tuple[Register, ...] = ()
    """Registers that only rules of callee-saved ones may name, as kept or as holding another's
    value; a row that looks for the CFA, RA or FP there stays refused."""
    instruction_lengths: tuple[int, ...] = ()
    """Bytes of an instruction, by the top two bits of its first byte in memory; empty: only the
    disassembler knows."""
    flow: tuple[FlowEncoding, ...] = ()
    """Instructions that are not plain, in order of precedence."""
    padding: tuple[tuple[bytes, bytes], ...] = ()
    """(value, mask) of instructions, prefixes included, that only fill: alignment of code."""
    lookalikes: tuple[Lookalike, ...] = ()
    """Where `instruction_lengths` is empty: for what the disassembler does not know,"""
    misread: tuple[str, ...] = ()
    """and for what it calls by these names, but takes for shorter than it is."""
    stubs: tuple[Stub, ...] = ()
    """How PLT entries load their address, where no single instruction names the word."""
    relocation: RelocationFacts = field(default_factory=RelocationFacts)
    files: FileFacts = field(default_factory=FileFacts)
    kernel: KernelFacts = field(default_factory=KernelFacts)
    assembly: AssemblyFacts = field(default_factory=AssemblyFacts)
    compilers: CompilerFacts = field(default_factory=CompilerFacts)
    _by_dwarf: dict[int, Register] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a descriptor that contradicts itself."""
        self._by_dwarf.update((register.dwarf, register) for register in self.registers)
        if len(self._by_dwarf) != len(self.registers):
            raise ValueError(f"{self.name}: two registers share a DWARF number")
        for role in (self.sp, self.fp, *((self.ra,) if self.ra_in_register else ())):
            if role not in self._by_dwarf:
                raise ValueError(f"{self.name}: no register {role}")
        if not self._by_dwarf.keys().isdisjoint(register.dwarf for register in self.saved_only):
            raise ValueError(f"{self.name}: a row can name a register that is saved only")
        for number in self.callee_saved:
            if self.saved_register(number) is None or number in (self.sp, self.ra):
                raise ValueError(f"{self.name}: {number} is no callee-saved register")
        patterns: tuple[Encoding | FlowEncoding, ...] = (*self.encodings, *self.flow)
        for encoding in patterns:
            if len(encoding.value) != len(encoding.mask) or any(
                v & ~m for v, m in zip(encoding.value, encoding.mask, strict=True)
            ):
                raise ValueError(f"{self.name}: {encoding.name}: value outside its mask")

    @property
    def kinds(self) -> tuple[Encoding, ...]:
        """`encodings`, and behind them what `flow` knows of indirect jumps."""
        wanted = {
            Flow.PLAIN: InstructionKind.PLAIN,
            Flow.JUMP_INDIRECT: InstructionKind.INDIRECT,
            Flow.BRANCH_INDIRECT: InstructionKind.INDIRECT,
        }
        return self.encodings + tuple(
            Encoding(wanted[each.flow], each.value, each.mask, each.name)
            for each in self.flow
            if each.flow in wanted and not each.prefixes
        )

    def register(self, dwarf: int) -> Register | None:
        """The register with this DWARF number, or None where none is readable."""
        return self._by_dwarf.get(dwarf)

    def saved_register(self, dwarf: int) -> Register | None:
        """The register that a rule of a callee-saved register may name, or None."""
        only = next((register for register in self.saved_only if register.dwarf == dwarf), None)
        return only or self._by_dwarf.get(dwarf)

    def register_name(self, dwarf: int) -> str:
        """A name for reports: ``sp``, ``fp``, or ``r`` and the DWARF number."""
        if dwarf == self.sp:
            return "sp"
        return "fp" if dwarf == self.fp else f"r{dwarf}"
