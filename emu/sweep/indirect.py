"""Indirect jumps: tables are read by executing the code that reads them, once for each entry.

The load with base and index is the only thing that is looked for. Index and state are set
there, and everything up to the jump, and the jump itself, executes: whatever the code makes
of an entry is what it becomes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from arch.flow import Flow
from emu.sweep import state as w
from emu.sweep.items import bring_back, get_register, keep, push, set_register
from emu.sweep.operands import MemoryOperand, Operands
from emu.sweep.paths import judge_return
from emu.sweep.replay import Replay, Stretch
from emu.sweep.steer import unvisited
from emu.verdict import Verdict

if TYPE_CHECKING:
    from emu.sweep.explorer import Explorer

_LONGEST_TABLE = 1024
_WRONG_IN_A_ROW = 16
"""Wrong entries after which a table with a known bound is given up."""
_SIGN = 1 << 63


class IndirectJumps:
    """Where indirect jumps lead to.

    Args:
        explorer: whose machine stands before the jump.
        operands: of its instructions.
    """

    def __init__(self, explorer: Explorer, operands: Operands) -> None:
        self._explorer = explorer
        self._operands = operands
        self._replay = Replay(explorer)
        self._items = np.zeros((2, w.ITEM_LIMIT // 8), np.int64)
        self._here, self._at_load = (int(item.ctypes.data) for item in self._items)
        self._tables: set[int] = set()
        self.targets: dict[int, int] = {}
        """How many places each resolved jump leads to."""
        self.unresolved: dict[int, str] = {}
        """Jumps that nothing was found for, and why."""
        self.open: set[int] = set()
        """Those of them that were met on the ways from the last entry."""

    def forget(self) -> None:
        """Begin with another function: what is known of tables so far is that of the last one."""
        self._tables.clear()
        self.open.clear()

    def resolve(self, pc: int) -> None:
        """Put the places that the jump at `pc` leads to on the work list."""
        explorer = self._explorer
        mode = int(explorer.words[w.MODE])
        keep(explorer.block, self._here)
        blocks = self._replay.blocks(pc)
        try:
            found = self._load(blocks)
            if found is None or not self._table(pc, blocks, *found):
                bring_back(explorer.block, self._here)
                self._plain(pc, "no table" if found is None else "no constant table")
        finally:
            explorer.words[w.MODE] = mode

    # ---- the way to the jump

    def _load(self, blocks: list[Stretch]) -> tuple[int, int, MemoryOperand] | None:
        """(number of its block, address, operand) of the last load with base and index."""
        sites = self._explorer.sites
        for number, block in enumerate(blocks):
            for address in reversed(block.instructions):
                operand = self._operands.table_load(sites.code(address), address)
                if operand is not None:
                    return number, address, operand
        return None

    def _bound(self, blocks: list[Stretch]) -> int | None:
        """How many entries the comparison before the jump lets pass."""
        sites = self._explorer.sites
        for number, block in enumerate(blocks):
            last = sites.at(block.end)
            if number and (last is None or last["kind"] != Flow.BRANCH):
                continue
            for address in reversed(block.instructions):
                bound = self._operands.bound(sites.code(address), address)
                if bound is not None:
                    return bound if bound <= _LONGEST_TABLE else None
        return None

    # ---- tables

    def _table(
        self, pc: int, blocks: list[Stretch], number: int, at: int, operand: MemoryOperand
    ) -> bool:
        """Follow the jump for each entry; False: it reads no constant table.

        Args:
            pc: of the jump.
            blocks: its own and those before it.
            number, at, operand: as `_load` found them.
        """
        explorer, way = self._explorer, blocks[: number + 1]
        block, at_load = explorer.block, self._at_load
        bring_back(block, way[-1].item)
        if at != way[-1].start and not self._replay.run(way[-1].start, at):
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
        bound = self._bound(blocks)
        wrong = 0
        targets: set[int] = set()
        judged: dict[int | None, tuple[bool, bool]] = {None: (False, False)}
        for number in range(bound or _LONGEST_TABLE):
            if number and start + number * operand.entry in self._tables:
                break
            bring_back(block, at_load)
            set_register(block, index, number * operand.step)
            target = self._replay.follow(way, at, pc)
            if target is not None and target not in judged:
                likely = bound is not None or self._same_cfa(pc, target)
                judged[target] = self._fits(pc, target), likely
            fits, likely = judged[target]
            if target is None or not fits:
                wrong += 1
                if bound is None or wrong >= _WRONG_IN_A_ROW:
                    break
                continue
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
        target = self._replay.over(pc, pc)
        bring_back(explorer.block, self._here)
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

    def _value(self, register: int | None) -> int:
        if register is None:
            return 0
        return int(get_register(self._explorer.block, register)) % (2 * _SIGN)
