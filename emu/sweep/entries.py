"""The machine at each kind of entry: by a call, by the kernel, by a stub, or as a row has it."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from arch import RuleKind
from emu.sweep.items import get_register, set_register
from emu.sweep.room import RETURN_ADDRESS

if TYPE_CHECKING:
    from emu.sweep.explorer import Explorer

_FRAME = 1024
"""Bytes of a frame whose size a row does not tell."""


class Entry(IntEnum):
    """How a place is entered."""

    CALL = 0
    BOTTOM = 1
    """Nothing has called it: the start of a program or of a thread."""
    SIGNAL = 2
    """A signal handler returns to it, and the kernel's frame is on the stack."""
    RESOLVER = 3
    """From a procedure linkage table, which has pushed something."""
    ROW = 4
    """Nobody knows: the row there is believed."""


class Entrance:
    """Changes the machine from a call's entry to another kind.

    Args:
        explorer: whose machine stands as after a call.
    """

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer

    def make(self, pc: int, how: Entry) -> bool:
        """Be at `pc` in the way that it is entered; False: that cannot be."""
        explorer = self._explorer
        arch, room, block = explorer.arch, explorer.room, explorer.block
        if how is Entry.BOTTOM and arch.ra_in_register:
            set_register(block, arch.ra, 0)
        elif how is Entry.SIGNAL:
            frame = arch.signal_frame
            if frame is None:
                return False
            sp = room.entry_sp - 4 * _FRAME
            values = room.entry_registers()
            for number, offset in frame.registers.items():
                room.poke(sp + offset, values[number])
            room.poke(sp + frame.sp, room.cfa + arch.sp_offset)
            room.poke(sp + frame.pc, RETURN_ADDRESS)
            set_register(block, arch.sp, sp)
        elif how is Entry.RESOLVER:
            binding = arch.lazy_binding
            if binding is None:
                return False
            sp = room.entry_sp - binding.size
            for number, offset in binding.registers.items():
                room.poke(sp + offset, self._value(number))
            set_register(block, arch.sp, sp)
        elif how is Entry.ROW:
            return self._believe(pc)
        return True

    def _believe(self, pc: int) -> bool:
        """Make the row at `pc` come true; False: there is none, or it ends the stack."""
        explorer = self._explorer
        sites, arch, room = explorer.sites, explorer.arch, explorer.room
        site = sites.at(pc)
        if site is None or site["row"] < 0:
            return False
        row = sites.table.rows[int(site["row"])]
        if row.outermost:
            return False
        block, cfa = explorer.block, room.cfa
        base, offset = row.cfa.register, row.cfa.offset
        set_register(block, arch.sp, cfa + arch.sp_offset - _FRAME)
        if row.cfa.deref:
            if base != arch.sp:
                set_register(block, base, cfa + arch.sp_offset - _FRAME // 2)
            room.poke(self._value(base) + offset, cfa - row.cfa.addend)
        else:
            set_register(block, base, cfa - offset)
        values = room.caller_registers()
        address = room.return_address(row.ra_signed)
        self._rule(row.ra.kind, row.ra.register, row.ra.offset, arch.ra, address)
        self._rule(row.fp.kind, row.fp.register, row.fp.offset, arch.fp, values[arch.fp])
        saved = int(site["saved"])
        if saved > 0:
            for number, rule in zip(sites.rules.registers, sites.rules.array[saved], strict=True):
                kind, register, offset = (int(word) for word in rule)
                self._rule(RuleKind(kind), register, offset, number, values[number])
        return True

    def _value(self, register: int) -> int:
        return int(get_register(self._explorer.block, register))

    def _rule(self, kind: RuleKind, register: int, offset: int, own: int, value: int) -> None:
        """Put a caller's value to where a rule looks for it."""
        explorer = self._explorer
        room = explorer.room
        if kind is RuleKind.AT_CFA:
            room.poke(room.cfa + offset, value)
        elif kind is RuleKind.AT_REGISTER:
            room.poke(self._value(register) + offset, value)
        elif kind is RuleKind.REGISTER:
            set_register(explorer.block, register, value - offset)
        elif kind is RuleKind.KEEP and explorer.arch.saved_register(own) is not None:
            set_register(explorer.block, own, value)
