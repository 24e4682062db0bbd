"""What the disassembler says of operands: asked at indirect jumps and after wild stores only."""

import functools
from dataclasses import dataclass
from typing import Any

import capstone as _capstone

from arch import Arch

capstone: Any = _capstone


@dataclass(frozen=True, slots=True)
class MemoryOperand:
    """A place in memory that an instruction names: registers by DWARF number, None: none."""

    base: int | None
    index: int | None
    displacement: int
    step: int
    """What the index grows by from one entry of a table to the next."""
    entry: int
    """Bytes of an entry."""


@functools.cache
def _engine(machine: int, mode: int, detail: bool) -> Any:
    engine = capstone.Cs(machine, mode)
    engine.detail = detail
    return engine


class Operands:
    """Operands of single instructions.

    Args:
        arch: the machine.
    """

    def __init__(self, arch: Arch) -> None:
        self._arch = arch
        self._engine = _engine(*arch.disassembler, True)
        self._names = _engine(*arch.disassembler, False)
        # A place with an index does not depend on where its instruction stands.
        self._loads: dict[bytes, MemoryOperand | None] = {}
        self._bounds: dict[tuple[int, bytes], int | None] = {}
        self._named: dict[bytes, str] = {}
        names = {register.name: register.dwarf for register in arch.registers}
        self._numbers = names | {
            alias: names[name] for alias, name in arch.jump_tables.aliases.items()
        }

    def table_load(self, code: bytes, address: int) -> MemoryOperand | None:
        """The indexed place that an instruction loads an entry of a table from."""
        if code not in self._loads:
            self._loads[code] = self._table_load(code, address)
        return self._loads[code]

    def _table_load(self, code: bytes, address: int) -> MemoryOperand | None:
        # Prefixes such as notrack are part of the mnemonic.
        facts = self._arch.jump_tables
        size = facts.loads.get(self._name(code, address).rpartition(" ")[2])
        found = None if size is None else self._decode(code, address)
        if size is None or found is None:
            return None
        for operand in found.operands:
            if operand.type != capstone.CS_OP_MEM or not operand.mem.index:
                continue
            base = self._number(found, operand.mem.base)
            index = self._number(found, operand.mem.index)
            if index is None:
                continue
            if size == 0:  # of the register that is loaded
                first = found.operands[0]
                name = found.reg_name(first.reg) if first.type == capstone.CS_OP_REG else ""
                size = 4 if facts.narrow and name[:1] == facts.narrow else 8
            scale = getattr(operand.mem, "scale", 1)
            shift = getattr(getattr(operand, "shift", None), "value", 0)
            if scale > 1:
                return MemoryOperand(base, index, operand.mem.disp, 1, scale)
            return MemoryOperand(base, index, operand.mem.disp, 1 if shift else size, size)
        return None

    def bound(self, code: bytes, address: int) -> int | None:
        """How many values a comparison with a constant lets pass, if it is one."""
        key = address, code
        if key not in self._bounds:
            self._bounds[key] = self._bound(code, address)
        return self._bounds[key]

    def _bound(self, code: bytes, address: int) -> int | None:
        facts = self._arch.jump_tables
        name = self._name(code, address)
        masks = name in facts.masks
        if not masks and not name.startswith(facts.comparisons):
            return None
        found = self._decode(code, address)
        if found is None:
            return None
        for operand in found.operands[1:]:
            if operand.type == capstone.CS_OP_IMM:
                count = int(operand.imm & 0xFFFF_FFFF) + 1
                return None if masks and count & (count - 1) else count
        return None

    def stores_astray(self, code: bytes, address: int, frame: tuple[int, ...]) -> bool:
        """It names a place in memory, and by no register of `frame` (DWARF numbers)."""
        found = self._decode(code, address)
        if found is None:
            return False
        places = [operand for operand in found.operands if operand.type == capstone.CS_OP_MEM]
        if not places:
            return False
        first = places[0]
        return (
            self._number(found, first.mem.base) not in frame
            or self._number(found, first.mem.index) is not None
        )

    def _name(self, code: bytes, address: int) -> str:
        """The mnemonic, which costs a fifth of the operands; empty: there is none."""
        name = self._named.get(code)
        if name is None:
            found = next(self._names.disasm_lite(code, address, 1), None)
            name = self._named[code] = "" if found is None else str(found[2])
        return name

    def _decode(self, code: bytes, address: int) -> Any:
        return next(self._engine.disasm(code, address, 1), None)

    def _number(self, found: Any, register: int) -> int | None:
        if not register:
            return None
        name = found.reg_name(register)
        return self._numbers.get(name) if name else None
