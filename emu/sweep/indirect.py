"""Indirect jumps: tables are read by executing the code that reads them, once for each entry.

The load with base and index is the only thing that is looked for. Index and state are set
there, and everything up to the jump, and the jump itself, executes: whatever the code makes
of an entry is what it becomes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from arch.flow import Flow
from emu.machine.engine import StopKind
from emu.sweep import state as w
from emu.sweep.items import bring_back, get_register, keep, peek, push, set_register
from emu.sweep.operands import MemoryOperand, Operands
from emu.sweep.steer import judge_return, unvisited
from emu.verdict import Verdict

if TYPE_CHECKING:
    from emu.sweep.explorer import Explorer

_BLOCKS = 4
"""Blocks behind the jump that are searched for the load and for the bound."""
_LONGEST_TABLE = 1024
_WRONG_IN_A_ROW = 16
"""Wrong entries after which a table with a known bound is given up."""
_REPLAY_LIMIT = 400
"""Instructions of one replay."""
_SHARED_LIMIT = 40
"""Instructions of a block that several jumps share."""
_DIRECT = (Flow.BRANCH, Flow.JUMP, Flow.LINK)
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class _Block:
    """A block on the way to the jump: the machine at its start, and its instructions."""

    item: int
    instructions: tuple[int, ...]

    @property
    def start(self) -> int:
        return self.instructions[0]

    @property
    def end(self) -> int:
        return self.instructions[-1]


class IndirectJumps:
    """Where indirect jumps lead to.

    Args:
        explorer: whose machine stands before the jump.
        operands: of its instructions.
    """

    def __init__(self, explorer: Explorer, operands: Operands) -> None:
        self._explorer = explorer
        self._operands = operands
        self._here = np.zeros(w.ITEM_LIMIT // 8, np.int64)
        self._at_load = np.zeros(w.ITEM_LIMIT // 8, np.int64)
        self._tables: set[int] = set()
        self.targets: dict[int, int] = {}
        """How many places each resolved jump leads to."""
        self.unresolved: dict[int, str] = {}
        """Jumps that nothing was found for, and why."""
        self.open: set[int] = set()
        """Those of them that were met on the ways from the last entry."""
        self._mark_shared()

    def forget(self) -> None:
        """Begin with another function: what is known of tables so far is that of the last one."""
        self._tables.clear()
        self.open.clear()

    def resolve(self, pc: int) -> None:
        """Put the places that the jump at `pc` leads to on the work list."""
        explorer = self._explorer
        mode = int(explorer.words[w.MODE])
        keep(explorer.block, self._here.ctypes.data)
        blocks = self._blocks(pc)
        try:
            found = self._load(blocks)
            if found is None or not self._table(pc, blocks[: found[0] + 1], *found[1:]):
                bring_back(explorer.block, self._here.ctypes.data)
                self._plain(pc, "no table" if found is None else "no constant table")
        finally:
            explorer.words[w.MODE] = mode

    def _mark_shared(self) -> None:
        """Let blocks be passed more than once that end in a jump and load nothing for it.

        Compilers merge the jumps of several tables: the loads stand in the blocks before.
        """
        for records, addresses in zip(
            self._explorer.sites.records, self._explorer.sites.addresses, strict=True
        ):
            targets = set(records["target"][np.isin(records["kind"], _DIRECT)].tolist())
            for at in np.flatnonzero(records["kind"] == Flow.JUMP_INDIRECT).tolist():
                first = at
                while (
                    first
                    and at - first < _SHARED_LIMIT
                    and int(addresses[first]) not in targets
                    and records["kind"][first - 1] in (Flow.PLAIN, Flow.SKIP)
                    and records["function"][first - 1] == records["function"][at]
                ):
                    first -= 1
                block = range(first, at + 1)
                if not any(
                    self._operands.table_load(self._code(int(addresses[i])), int(addresses[i]))
                    for i in block
                ):
                    records["flags"][first : at + 1] |= w.REVISIT

    # ---- the way to the jump

    def _blocks(self, pc: int) -> list[_Block]:
        """The jump's block and those before it on this path, nearest first."""
        sites = self._explorer.sites
        blocks: list[_Block] = []
        item = int(self._explorer.words[w.HISTORY])
        while item and len(blocks) < _BLOCKS:
            address = int(peek(item + w.I_PC))
            instructions: list[int] = []
            while True:
                site = sites.at(address)
                if site is None:
                    return blocks
                instructions.append(address)
                if address == pc if not blocks else site["kind"] not in (Flow.PLAIN, Flow.SKIP):
                    break
                if (not blocks and address > pc) or len(instructions) > _REPLAY_LIMIT:
                    return blocks
                address += int(site["size"])
                if blocks and address == blocks[-1].start:
                    break
            if blocks and site["kind"] in (Flow.CALL, Flow.CALL_INDIRECT):
                return blocks
            blocks.append(_Block(item, tuple(instructions)))
            item = int(peek(item + w.I_PREVIOUS))
        return blocks

    def _code(self, address: int) -> bytes:
        site = self._explorer.sites.at(address)
        assert site is not None
        return self._explorer.room.memory.read(address, int(site["size"]))

    def _load(self, blocks: list[_Block]) -> tuple[int, int, MemoryOperand] | None:
        """(number of its block, address, operand) of the last load with base and index."""
        for number, block in enumerate(blocks):
            for address in reversed(block.instructions):
                operand = self._operands.table_load(self._code(address), address)
                if operand is not None:
                    return number, address, operand
        return None

    def _bound(self, blocks: list[_Block]) -> int | None:
        """How many entries the comparison before the jump lets pass."""
        sites = self._explorer.sites
        for number, block in enumerate(blocks):
            last = sites.at(block.end)
            if number and (last is None or last["kind"] != Flow.BRANCH):
                continue
            for address in reversed(block.instructions):
                bound = self._operands.bound(self._code(address), address)
                if bound is not None:
                    return bound if bound <= _LONGEST_TABLE else None
        return None

    # ---- tables

    def _table(self, pc: int, way: list[_Block], at: int, operand: MemoryOperand) -> bool:
        """Follow the jump for each entry; False: it reads no constant table."""
        explorer = self._explorer
        block, at_load = explorer.block, self._at_load.ctypes.data
        bring_back(block, way[-1].item)
        if at != way[-1].start and not self._replay(way[-1].start, at):
            return False
        keep(block, at_load)
        base, index = operand.base, operand.index
        start = self._value(base) + operand.displacement
        assert index is not None
        placed = explorer.sites.placed
        if not placed.readable_constant(start) and base is not None and operand.step > 1:
            other = self._value(index) + operand.displacement
            if placed.readable_constant(other):
                base, index, start = index, base, other
        if not placed.readable_constant(start) or (base is None and operand.step > 1):
            return False
        self._tables.add(start)
        bound = self._bound(self._blocks(pc))
        wrong = 0
        targets: set[int] = set()
        for number in range(bound or _LONGEST_TABLE):
            if number and start + number * operand.entry in self._tables:
                break
            bring_back(block, at_load)
            set_register(block, index, number * operand.step)
            target = self._follow(way, at, pc)
            if target is None or not self._fits(pc, target):
                wrong += 1
                if bound is None or wrong >= _WRONG_IN_A_ROW:
                    break
                continue
            likely = bound is not None or self._same_cfa(pc, target)
            wrong = 0 if likely else wrong + 1
            if wrong >= _WRONG_IN_A_ROW:
                break
            if target not in targets:
                targets.add(target)
                if unvisited(block, target):
                    self._push(pc, target, likely)
        if targets:
            self.targets[pc] = max(len(targets), self.targets.get(pc, 0))
            self.unresolved.pop(pc, None)
            self.open.discard(pc)
        else:
            self._leave_open(pc, f"no entry of the table at {start:#x} leads into the function")
        return True

    def _leave_open(self, pc: int, reason: str) -> None:
        if pc not in self.targets:
            self.open.add(pc)
            self.unresolved[pc] = reason

    def _push(self, pc: int, target: int, likely: bool) -> None:
        """Go on at a target later; where it may be none of the table's, with suspicion."""
        explorer, words = self._explorer, self._explorer.words
        before = int(words[w.CANDIDATE])
        if likely or before or explorer.suspect(pc, Verdict.EXACT, ""):
            function = explorer.sites.function_at(target)
            push(explorer.block, target, function, pc, w.BY_TABLE)
        words[w.CANDIDATE] = before

    def _fits(self, pc: int, target: int) -> bool:
        """A table of the function at `pc` can lead there."""
        sites = self._explorer.sites
        site, jump = sites.at(target), sites.at(pc)
        if site is None or jump is None or site["flags"] & w.PADDING:
            return False
        if site["function"] != jump["function"]:
            start = sites.functions[int(site["function"])].row if site["function"] >= 0 else -1
            return start >= 0 and start != sites.entry_code
        return True

    def _same_cfa(self, pc: int, target: int) -> bool:
        """The rows there and here have the same rule of the CFA: no push or pop lies between."""
        sites = self._explorer.sites
        site, jump = sites.at(target), sites.at(pc)
        if site is None or jump is None or site["row"] < 0 or jump["row"] < 0:
            return True
        rows = sites.table.rows
        return rows[int(jump["row"])].cfa == rows[int(site["row"])].cfa

    def _plain(self, pc: int, reason: str) -> None:
        """No table: a tail call, or a jump to one place that is known by now."""
        explorer = self._explorer
        at_entry = self._value(explorer.arch.sp) == explorer.room.entry_sp
        sites = explorer.sites
        jump = sites.at(pc)
        if jump is not None and jump["kind"] == Flow.RETURN:
            judge_return(explorer.block)
            return
        target = self._over(pc)
        bring_back(explorer.block, self._here.ctypes.data)
        site = None if target is None else sites.at(target)
        if site is not None and jump is not None and site["function"] == jump["function"]:
            assert target is not None
            if unvisited(explorer.block, target):
                push(explorer.block, target, int(site["function"]), pc, w.BY_TABLE)
        elif at_entry:
            explorer.words[w.TAIL_CALLS] += 1
            judge_return(explorer.block)
            if pc in sites.stub_jumps:
                # Until the word is bound it holds the address behind the jump.
                self._behind(pc)
        elif explorer.frame_is_gone():
            explorer.hand_over()
        elif pc not in sites.stub_jumps:
            self._leave_open(pc, reason)

    def _behind(self, pc: int) -> None:
        explorer = self._explorer
        jump = explorer.sites.at(pc)
        assert jump is not None
        after = pc + int(jump["size"])
        site = explorer.sites.at(after)
        if site is not None and site["function"] == jump["function"]:
            push(explorer.block, after, int(site["function"]), pc, int(explorer.words[w.TAG]))

    # ---- running

    def _value(self, register: int | None) -> int:
        if register is None:
            return 0
        return int(get_register(self._explorer.block, register)) % (2 * _SIGN)

    def _follow(self, way: list[_Block], at: int, pc: int) -> int | None:
        """From the load to where the jump goes to; None: nowhere."""
        for block in reversed(way[1:]):
            if at != block.end and not self._replay(at, block.end):
                return None
            at = way[way.index(block) - 1].start
        if at != pc and not self._replay(at, pc):
            return None
        return self._over(pc)

    def _replay(self, start: int, end: int) -> bool:
        """Execute from one address up to another."""
        return self._run(start, end, False) == w.REACHED

    def _over(self, pc: int) -> int | None:
        """Execute the jump; where it went to, or None."""
        if self._run(pc, pc, True) != w.LANDING:
            return None
        return int(self._explorer.words[w.STOP_PC])

    def _run(self, start: int, end: int, over: bool) -> int:
        explorer, words = self._explorer, self._explorer.words
        words[w.MODE] = w.REPLAY
        words[w.STOP_AT] = end
        words[w.RUN_ON] = over
        words[w.LANDED] = 0
        words[w.CHASE_LEFT] = _REPLAY_LIMIT
        address = start
        for _ in range(8):
            words[w.STOPPED_BY] = w.NOTHING
            stop = explorer.engine.run(address)
            if words[w.STOPPED_BY] != w.NOTHING:
                return int(words[w.STOPPED_BY])
            fetch = stop.kind is StopKind.MEMORY and stop.access == "fetch"
            site = explorer.sites.at(int(words[w.PREVIOUS_PC]))
            if words[w.LANDED] or fetch or site is None:
                return w.NOTHING
            address = int(words[w.PREVIOUS_PC]) + int(site["size"])
        return w.NOTHING
