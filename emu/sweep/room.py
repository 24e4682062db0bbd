"""The machine that functions are entered on: memory, stack, and the state at a function's entry."""

import mmap
import random

import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.check.state import lazy_bytes
from emu.machine.engine import Engine
from emu.machine.signing import signatures
from emu.memory import PAGE, READ, WRITE, Memory
from emu.sweep import paging

STACK_SIZE = 8 << 20
_POOL_PAGES = 256
_GUARD = 1 << 30
"""Bytes below the stack where nothing may be read: a runaway frame ends there."""
_DIRTY_LIMIT = 1 << 16
_MEMORY = 8 << 30
_CODE_BUFFER = 4 << 20
"""Bytes of translated code: hardly any is executed twice, so it is to stay in the cache."""

RETURN_ADDRESS = 0xDEAD_BEE0
"""Where every function returns to: nothing is mapped there."""
_ARGUMENT = 0x3000
"""Words of the caller's frame: small numbers that are pointers, too."""
_CALLER_BYTES = 4096


class Room:
    """Memory, CPU and stack for forced execution.

    Args:
        arch: the machine.
        seed: of the keys that sign return addresses, on a machine that can.

    `memory` takes the file first; then `furnish` adds the stack and the CPU, and `vacate` takes
    them away.
    """

    def __init__(self, arch: Arch, seed: int) -> None:
        self.arch = arch
        self.memory = Memory(_MEMORY)
        self._block: npt.NDArray[np.int64] = np.zeros(paging.WORDS, np.int64)
        self._block_address = int(self._block.ctypes.data)
        self._dirty: npt.NDArray[np.int64] = np.zeros(_DIRTY_LIMIT, np.int64)
        self._block[paging.HEADER] = self.memory.header.ctypes.data
        keys = None
        if arch.boot.pauth_keys:
            source = random.Random(seed)
            keys = tuple(source.getrandbits(64) for _ in arch.boot.pauth_keys)
        self._keys = keys
        self._pristine: mmap.mmap | None = None

    def furnish(self) -> None:
        """Map the stack, start the CPU and keep everything as it is now."""
        arch, memory, block = self.arch, self.memory, self._block
        top = arch.layout.stack_top
        self.stack_low, self.stack_high = top - STACK_SIZE, top
        pool = self.stack_low - 2 * _GUARD - _POOL_PAGES * PAGE
        self._own = (self.stack_low, STACK_SIZE), (pool, _POOL_PAGES * PAGE)
        for low, size in self._own:
            memory.map(low, size, READ | WRITE)
        block[paging.POOL] = self._place(pool)
        block[paging.POOL_MASK] = (_POOL_PAGES - 1) * PAGE
        block[paging.GUARD_LOW] = self.stack_low - _GUARD
        block[paging.GUARD_HIGH] = self.stack_low
        block[paging.DIRTY] = self._dirty.ctypes.data
        block[paging.DIRTY_LIMIT] = _DIRTY_LIMIT
        self.cfa = self.stack_low + STACK_SIZE // 2
        self.entry_sp = self.cfa - arch.entry_cfa_offset
        fill = (paging.fill_anything.address or 0, self._block_address)
        self.engine = Engine(
            arch, memory, pauth_keys=self._keys, fill=fill, code_buffer=_CODE_BUFFER
        )
        self.engine.hook_syscalls(self.engine.stop)
        self._signed = signatures(arch, self._keys, RETURN_ADDRESS, self.entry_sp)
        order = "<u8" if arch.byte_order == "little" else ">u8"
        words = np.full(_CALLER_BYTES // 8, _ARGUMENT, order)
        if not arch.ra_in_register:
            words[0] = RETURN_ADDRESS
        memory.write(self.entry_sp, words.tobytes())
        self._remember()
        for dwarf, value in self.entry_registers().items():
            register = arch.saved_register(dwarf)
            assert register is not None
            self.engine.write(register.emulator, value)
        self._entry = self.engine.save()

    @property
    def signs(self) -> bool:
        """It can be told whether the return address is signed, by whichever key."""
        return bool(self._signed) and RETURN_ADDRESS not in self._signed

    def return_address(self, signed: bool) -> int:
        """Of the entered function, as it is, or as its prologue leaves it."""
        return self._signed[0] if signed and self._signed else RETURN_ADDRESS

    def vacate(self) -> None:
        """Leave memory as `furnish` has found it, and let go of the CPU."""
        paging.restore_pages(self._block_address)
        for low, size in self._own:
            self.memory.unmap(low, size)
        del self._entry
        self.engine.close()

    def entry_registers(self) -> dict[int, int]:
        """Every register's value at entry: what must be kept is told from everything else."""
        arch = self.arch
        values = {r.dwarf: 0x2000 + 0x440 * i for i, r in enumerate(arch.registers)}
        # What is begin and end to the code, or nothing and a size, must not be the other way round.
        ascending = sorted(values[number] for number in arch.arguments)
        values |= zip(arch.arguments, ascending, strict=True)
        values |= {number: 0xA0000 + 0x1110 * i for i, number in enumerate(arch.callee_saved)}
        values[arch.sp] = self.entry_sp
        if arch.ra_in_register:
            values[arch.ra] = RETURN_ADDRESS
        return values

    def caller_registers(self) -> dict[int, int]:
        """What unwinding one frame must give: the values at entry, with the caller's SP."""
        return self.entry_registers() | {self.arch.sp: self.cfa + self.arch.sp_offset}

    def reset(self) -> None:
        """Registers and memory as they are at every function's entry."""
        if paging.restore_pages(self._block_address):
            self.engine.flush_tlb()
        self.engine.restore(self._entry)

    def poke(self, address: int, value: int) -> None:
        """Store a word of the guest until the next reset; outside of the stack nothing happens."""
        if not self.stack_low <= address <= self.stack_high - 8:
            return
        self.memory.write(address, (value % (1 << 64)).to_bytes(8, self.arch.byte_order))
        for place in {address & -PAGE, (address + 7) & -PAGE}:
            count = int(self._block[paging.DIRTY_COUNT])
            if count < _DIRTY_LIMIT:
                self._dirty[count] = self._place(place)
                self._block[paging.DIRTY_COUNT] = count + 1

    @property
    def stack_host(self) -> int:
        """Host address of the stack's lowest byte."""
        return int(self.memory.buffer.ctypes.data) + self._place(self.stack_low)

    def _place(self, address: int) -> int:
        """Offset in the buffer of a mapped address."""
        row = self.memory.find(address)
        assert row is not None
        return row[2] + address - row[0]

    def _remember(self) -> None:
        """A copy of all that can be written to; what is zero takes no memory."""
        end = max(row[2] + row[1] - row[0] for row in self.memory.intervals)
        self._pristine, copy = lazy_bytes(end)
        own = dict(self._own)
        for start, stop, offset, permissions in self.memory.intervals:
            if permissions & WRITE and start not in own:
                self._keep(copy, offset, offset + stop - start)
        # To look through pages that were never touched makes them use memory, and takes time.
        caller = self._place(self.entry_sp)
        self._keep(copy, caller & -PAGE, -(-(caller + _CALLER_BYTES) // PAGE) * PAGE)
        self._copy = copy
        self._block[paging.PRISTINE] = copy.ctypes.data

    def _keep(self, copy: npt.NDArray[np.uint8], start: int, end: int) -> None:
        """Copy the pages between two places of the buffer that are not zero."""
        pages = self.memory.buffer[start:end].reshape(-1, PAGE)
        used = np.flatnonzero(pages.view(np.int64).any(1))
        copy[start:end].reshape(-1, PAGE)[used] = pages[used]
