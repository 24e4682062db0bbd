"""The way to an indirect jump, executed again and again: once for each entry of its table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from arch.flow import Flow
from emu.machine.engine import StopKind
from emu.sweep import state as w
from emu.sweep.items import peek

if TYPE_CHECKING:
    from emu.sweep.explorer import Explorer

_BLOCKS = 4
"""Blocks behind the jump that are searched for the load and for the bound."""
_LIMIT = 400
"""Instructions of one replay."""
_FAULTS = 8
"""Runs of one replay, each behind an instruction that could not be executed."""
_STRAIGHT = frozenset(map(int, (Flow.PLAIN, Flow.SKIP)))
_CALLS = frozenset(map(int, (Flow.CALL, Flow.CALL_INDIRECT)))


@dataclass(frozen=True, slots=True)
class Stretch:
    """A block on the way to the jump: the machine at its start, and its instructions."""

    item: int
    instructions: tuple[int, ...]

    @property
    def start(self) -> int:
        """Address of the first instruction."""
        return self.instructions[0]

    @property
    def end(self) -> int:
        """Address of the last instruction."""
        return self.instructions[-1]


class Replay:
    """Runs parts of the present path once more.

    Args:
        explorer: whose machine stands before the jump.
    """

    def __init__(self, explorer: Explorer) -> None:
        self._explorer = explorer

    def blocks(self, pc: int) -> list[Stretch]:
        """The jump's block and those before it on this path, nearest first."""
        sites = self._explorer.sites
        blocks: list[Stretch] = []
        item = int(self._explorer.words[w.HISTORY])
        while item and len(blocks) < _BLOCKS:
            address = peek(item + w.I_PC)
            instructions: list[int] = []
            while True:
                place = sites.position(address)
                if place is None:
                    return blocks
                kind = sites.kinds[place[0]][place[1]]
                instructions.append(address)
                if address == pc if not blocks else kind not in _STRAIGHT:
                    break
                if (not blocks and address > pc) or len(instructions) > _LIMIT:
                    return blocks
                address += sites.sizes[place[0]][place[1]]
                if blocks and address == blocks[-1].start:
                    break
            if blocks and kind in _CALLS:
                return blocks
            blocks.append(Stretch(item, tuple(instructions)))
            item = peek(item + w.I_PREVIOUS)
        return blocks

    def follow(self, way: list[Stretch], at: int, pc: int) -> int | None:
        """From the load to where the jump goes to; None: nowhere."""
        for block in reversed(way[1:]):
            if at != block.end and not self.run(at, block.end):
                return None
            at = way[way.index(block) - 1].start
        return self.over(pc, at)

    def run(self, start: int, end: int) -> bool:
        """Execute from one address up to another."""
        return self._go(start, end, False) == w.REACHED

    def over(self, pc: int, start: int) -> int | None:
        """Execute from an address up to the jump, and the jump; where it went to, or None."""
        if self._go(start, pc, True) != w.LANDING:
            return None
        return int(self._explorer.words[w.STOP_PC])

    def _go(self, start: int, end: int, over: bool) -> int:
        explorer, words = self._explorer, self._explorer.words
        words[w.MODE] = w.REPLAY
        words[w.STOP_AT] = end
        words[w.RUN_ON] = over
        words[w.LANDED] = 0
        words[w.CHASE_LEFT] = _LIMIT
        address = start
        for _ in range(_FAULTS):
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
