"""The emulator: the only module that imports it.

One physical buffer mapped at 0, guest addresses by our own page table (emu.memory) and
its compiled TLB-fill hook. Callbacks that raise stop the run; the first exception is
raised again from `Engine.run`.
"""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import unicorn as _unicorn
from unicorn.unicorn_py3 import unicorn as _binding

from arch import Arch
from arch.descriptor import UserEntry
from emu.errors import EmulationError
from emu.machine.host_registers import find_registers
from emu.machine.paging import FILL_FETCH, FILL_READ, FILL_WRITE, fill_block, fill_tlb
from emu.memory import EXECUTE, FAULT_ACCESS, FAULT_ADDRESS, PAGE, READ, Memory

# The binding's annotations are incomplete and contradict its behaviour.
unicorn: Any = _unicorn
_LIBRARY: Any = _binding.uclib
_WRITE_FLAG = 1 << 30
_FLUSH_TLB = ctypes.c_int(unicorn.UC_CTL_TLB_FLUSH | _WRITE_FLAG)
_MASK = (1 << 64) - 1
_INTERRUPT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)
_SYSCALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
_ENTRY_BELOW = 1 << 40
_EVERYWHERE, _NOWHERE = (1, 0), (_MASK, _MASK)
"""First and last address for which a hook is called; no instruction begins at the last of all."""
_ABOVE_BUFFER = (1 << 40, _MASK)
"""Places in the buffer are looked up among these, too: a hook there would make stores slow."""
_END = 0
"""Where the emulator stops by itself: a jump to nowhere, reported as the fault it is."""
_CODE_BUFFER = 32 << 20
"""Bytes of translated code per engine; the emulator's default is 1 GiB."""


class StopKind(Enum):
    """Why `Engine.run` came back."""

    STOPPED = "stopped"
    MEMORY = "memory"
    ILLEGAL = "illegal"
    INTERRUPT = "interrupt"


@dataclass(frozen=True, slots=True)
class EngineStop:
    """What the emulator met.

    `address` and `access` ("read", "write", "fetch") are those of the page for MEMORY;
    `number` is the exception number for INTERRUPT.
    """

    kind: StopKind
    address: int = 0
    access: str = ""
    number: int = 0


_STOPPED = EngineStop(StopKind.STOPPED)


class Engine:
    """A CPU of one machine in its user-mode boot state.

    Args:
        arch: the machine.
        memory: its address space.
        cpu: a name of `arch.boot.cpu_models`; empty: the emulator's default. Any other
            name is a KeyError.
        pauth_keys: values for `arch.boot.pauth_keys`; None: pointer authentication off.
        fill: another compiled TLB-fill hook than that of emu.machine.paging, and its block.
        code_buffer: bytes for translated code; when they are full, all of it is made anew.
    """

    def __init__(
        self,
        arch: Arch,
        memory: Memory,
        cpu: str = "",
        pauth_keys: tuple[int, ...] | None = None,
        fill: tuple[int, int] | None = None,
        code_buffer: int = _CODE_BUFFER,
    ) -> None:
        self.arch = arch
        self.memory = memory
        boot = arch.boot
        if pauth_keys is not None and not cpu:
            cpu = boot.pauth_model
        self.cpu = cpu
        self._uc = unicorn.Uc(boot.emulator_arch, boot.emulator_mode)
        # Order matters: model and page size are refused once the TLB mode is set.
        if cpu:
            self._uc.ctl_set_cpu_model(boot.cpu_models[cpu])
        self._uc.ctl_set_tcg_buffer_size(code_buffer)
        if arch.boot.emulator_page_size:
            self._uc.ctl_set_page_size(arch.boot.emulator_page_size)
        self._uc.ctl_set_tlb_mode(unicorn.UC_TLB_VIRTUAL)
        self._call(
            "uc_mem_map_ptr",
            ctypes.c_uint64(0),
            ctypes.c_size_t(memory.size),
            ctypes.c_uint32(7),
            ctypes.c_void_p(memory.buffer.ctypes.data),
        )
        entry = boot.user_entry
        self._block = fill_block(memory, entry.table_page if entry is not None else None)
        function, user = fill or (fill_tlb.address or 0, self._block.ctypes.data)
        self._hook(unicorn.UC_HOOK_TLB_FILL, function, user)
        self._callbacks: list[object] = []
        """Native functions that call Python; they live as long as the hooks."""
        self.on_code_change: Callable[[int, int], None] | None = None
        """Told of ranges whose code is no longer what it was."""
        # The binding's own functions cost six times as much, and every system call takes ten.
        self._value = ctypes.c_uint64()
        self._at_value = ctypes.byref(self._value)
        self._boot(pauth_keys)
        self._failure: BaseException | None = None
        self._interrupt: int | None = None

    # ---- state

    @property
    def handle(self) -> int:
        """Address of the emulator's object, for its C functions."""
        return int(self._uc._uch.value)

    @property
    def pc(self) -> int:
        """The program counter."""
        return self.read(self.arch.pc_emulator)

    @pc.setter
    def pc(self, value: int) -> None:
        self.write(self.arch.pc_emulator, value)

    def read(self, register: int) -> int:
        """An emulator register as an unsigned number."""
        self._value.value = 0
        if _LIBRARY.uc_reg_read(self._uc._uch, register, self._at_value):
            raise EmulationError(f"the emulator has no register {register}")
        return self._value.value

    def write(self, register: int, value: int) -> None:
        """Set an emulator register."""
        self._value.value = value & _MASK
        if _LIBRARY.uc_reg_write(self._uc._uch, register, self._at_value):
            raise EmulationError(f"the emulator refused a value of register {register}")

    def registers(self) -> dict[int, int]:
        """All registers that rows may name, by DWARF number."""
        return {register.dwarf: self.read(register.emulator) for register in self.arch.registers}

    def save(self) -> object:
        """All registers, those that rows cannot name included, for `restore`."""
        return self._uc.context_save()

    def restore(self, saved: object) -> None:
        """Set all registers as they were at `save`."""
        self._uc.context_restore(saved)

    def function(self, name: str) -> int:
        """Host address of one of the emulator's C functions."""
        return ctypes.cast(getattr(_LIBRARY, name), ctypes.c_void_p).value or 0

    # ---- hooks

    def hook_code(self, function: int, user: int, seldom: bool = False) -> None:
        """Call native code before each instruction: void (engine, pc, size, user).

        Args:
            function, user: what to call, and the last argument.
            seldom: most instructions are executed once or twice.
        """
        self._hook(unicorn.UC_HOOK_CODE, function, user)
        if seldom:
            # The call of a hook that is the only one is written into the code, with a description
            # of it that is made anew, and never freed, for each instruction that is translated.
            self._hook(unicorn.UC_HOOK_CODE, function, user, bounds=_NOWHERE)
            # After each translation the emulator looks through its whole TLB for what may write
            # to the page, which our fills never let stand beside the code, but not where hooks
            # of memory are. Nobody calls this one: the buffer has all permissions.
            stop = self.function("uc_emu_stop")
            self._hook(unicorn.UC_HOOK_MEM_FETCH_PROT, stop, 0, bounds=_ABOVE_BUFFER)

    def hook_code_python(self, callback: Callable[[int, int], None]) -> None:
        """Call Python before each instruction with (pc, size). Slow; the benchmark's peer."""
        self._uc.hook_add(unicorn.UC_HOOK_CODE, lambda uc, pc, size, user: callback(pc, size))

    def hook_syscalls(self, callback: Callable[[], None]) -> None:
        """Call Python at each system call.

        The callback sees the PC as the emulator has it; `arch.syscall` says what that is.
        """
        self._hook_interrupts(callback)
        if self.arch.syscall.interrupt is None:
            instruction = ctypes.c_int(self.arch.syscall.instruction)
            called = _SYSCALL(lambda engine, user: self._guard(callback))
            self._hook_python(unicorn.UC_HOOK_INSN, called, instruction)

    # ---- running

    def run(self, start: int) -> EngineStop:
        """Run from an address until something stops the CPU.

        Raises:
            EmulationError: the emulator failed for a reason that is not the guest's.
        """
        self._failure = None
        self._interrupt = None
        self.memory.header[FAULT_ACCESS] = 0
        try:
            # Any other end address is looked up in the page table after a stop, and faults.
            self._uc.emu_start(start, _END)
        except unicorn.UcError as error:
            if self._failure is not None:
                raise self._failure from None
            if self._interrupt is None:
                return self._fault(error)
        if self._failure is not None:
            raise self._failure
        if self._interrupt is not None:
            return EngineStop(StopKind.INTERRUPT, number=self._interrupt)
        if self.pc == _END:
            return EngineStop(StopKind.MEMORY, address=_END, access="fetch")
        return _STOPPED

    def stop(self) -> None:
        """Come back from `run` as soon as possible; for use in callbacks."""
        self._uc.emu_stop()

    def flush_tlb(self) -> None:
        """Forget all cached translations; needed after every change of the page table."""
        if _LIBRARY.uc_ctl(self._uc._uch, _FLUSH_TLB):
            raise EmulationError("the emulator refused to flush its TLB")

    def forget_code(self, start: int, end: int) -> None:
        """Drop translated code of a range: host writes to code are not noticed otherwise."""
        self._uc.ctl_remove_cache(start, end)
        if self.on_code_change is not None:
            self.on_code_change(start, end)

    def close(self) -> None:
        """Give back what the emulator holds; nothing else may be called afterwards.

        Callbacks refer to the engine that refers to them: a process that makes many engines and
        waits for Python's collector holds the buffers of all.
        """
        del self._uc
        self._callbacks.clear()

    # ---- registers as host memory

    def register_addresses(self) -> dict[int, int]:
        """Host addresses of the registers by DWARF number; empty if they cannot be found.

        Then a hook has to call the emulator's interface.
        """
        return find_registers(self.handle, self.registers(), self._write_all)

    def _write_all(self, values: Mapping[int, int]) -> None:
        for register in self.arch.registers:
            self.write(register.emulator, values[register.dwarf])

    # ---- inside

    def _boot(self, pauth_keys: tuple[int, ...] | None) -> None:
        boot = self.arch.boot
        for register, value in boot.or_registers:
            self.write(register, self.read(register) | value)
        # Before the system registers: only a write of these makes the emulator look at
        # the level of execution that the flags have set.
        for register, value in boot.set_registers:
            self.write(register, value)
        writes = boot.coprocessor + (boot.pauth if pauth_keys is not None else ())
        for item in writes:
            name = (item.crn, item.crm, item.op0, item.op1, item.op2)
            old = self._uc.reg_read(boot.coprocessor_register, (*name, 0))
            self._uc.reg_write(boot.coprocessor_register, (*name, old | item.value))
        for (op0, op1, crn, crm, op2), key in zip(boot.pauth_keys, pauth_keys or (), strict=False):
            self._uc.reg_write(boot.coprocessor_register, (crn, crm, op0, op1, op2, key))
        if boot.user_entry is not None:
            self._enter_user_level(boot.user_entry)

    def _enter_user_level(self, entry: UserEntry) -> None:
        """Execute the instruction that leaves the kernel, on a page that is gone afterwards."""
        for number, value in entry.msrs:
            self._uc.reg_write(entry.msr, (number, value))
        self.memory.buffer[: len(entry.table)] = list(entry.table)
        page = self.memory.free_range(PAGE, _ENTRY_BELOW)
        behind = page + len(entry.code)
        self.memory.map(page, PAGE, READ | EXECUTE)
        self.memory.write(page, entry.code, force=True)
        self.write(entry.target, behind)
        self.write(entry.flags[0], entry.flags[1])
        self._uc.emu_start(page, behind)
        self.write(entry.target, 0)
        self.write(entry.flags[0], 0)
        self.forget_code(page, behind)
        self.memory.unmap(page, PAGE)
        self.flush_tlb()

    def _hook_interrupts(self, callback: Callable[[], None]) -> None:
        def on_interrupt(engine: object, number: int, user: object) -> None:
            if number == self.arch.syscall.interrupt:
                self._guard(callback)
            else:
                self._interrupt = number
                self.stop()

        self._hook_python(unicorn.UC_HOOK_INTR, _INTERRUPT(on_interrupt))

    def _guard(self, callback: Callable[[], None]) -> None:
        try:
            callback()
        except BaseException as error:
            self._failure = self._failure or error
            self.stop()

    def _fault(self, error: Any) -> EngineStop:
        if error.errno == unicorn.UC_ERR_INSN_INVALID:
            return EngineStop(StopKind.ILLEGAL)
        if error.errno == unicorn.UC_ERR_EXCEPTION:
            header = self.memory.header
            access = {FILL_READ: "read", FILL_WRITE: "write", FILL_FETCH: "fetch"}.get(
                int(header[FAULT_ACCESS])
            )
            if access is not None:
                return EngineStop(
                    StopKind.MEMORY, address=int(header[FAULT_ADDRESS]) & _MASK, access=access
                )
            return EngineStop(StopKind.ILLEGAL)
        raise EmulationError(f"the emulator gave up at {self.pc:#x}: {error}")

    def _hook_python(self, kind: int, callback: Any, *arguments: object) -> None:
        # Not by the binding, nor with ctypes.cast: both tie cycles that only a collection frees.
        self._callbacks.append(callback)
        function = ctypes.c_void_p.from_buffer(callback).value or 0
        self._hook(kind, function, 0, *arguments)

    def _hook(
        self,
        kind: int,
        function: int,
        user: int,
        *arguments: object,
        bounds: tuple[int, int] = _EVERYWHERE,
    ) -> None:
        handle = ctypes.c_size_t()
        self._call(
            "uc_hook_add",
            ctypes.byref(handle),
            ctypes.c_int(kind),
            ctypes.c_void_p(function),
            ctypes.c_void_p(user),
            ctypes.c_uint64(bounds[0]),
            ctypes.c_uint64(bounds[1]),
            *arguments,
        )

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(_LIBRARY, name)(self._uc._uch, *arguments)
        if status:
            raise EmulationError(f"the emulator refused {name}: error {status}")
