"""One function after the other is entered, and followed along every way through it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.check import state as s
from emu.machine.engine import EngineStop
from emu.sweep import state as w
from emu.sweep.block import Block
from emu.sweep.entries import Entrance, Entry
from emu.sweep.hook import sweep_hook
from emu.sweep.indirect import IndirectJumps
from emu.sweep.items import bring_back, pop
from emu.sweep.repair import WildStores
from emu.sweep.room import Room
from emu.sweep.sites import Sites
from emu.verdict import Verdict

_STEPS = 4_000_000
"""Instructions that the ways through one function may take."""
_FAULTS = 1000
"""Instructions of one function that may be skipped because the emulator cannot execute them."""
_MOST_CANDIDATES = 64
"""Paths with a wrong row that are followed in one function."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A path on which a row is wrong, from the first wrong one on."""

    pc: int
    root: int
    verdict: Verdict
    """EXACT: nothing is wrong yet, but the way there may be none."""
    tag: int
    decisions: tuple[int, ...]
    """Runtime addresses of the branches that were taken since the entry."""
    reason: str
    """Of WRONG_REG: the register, and its values."""


class Explorer:
    """Forced execution of single functions.

    Args:
        room: the machine, furnished.
        sites: all instructions.
        pads: what `Sites.mark_calls` returned.
    """

    def __init__(self, room: Room, sites: Sites, pads: list[tuple[int, int]]) -> None:
        self.room, self.sites = room, sites
        self.arch: Arch = room.arch
        self.engine = room.engine
        self._block = Block(room, sites, pads)
        self.words = self._block.words
        self.block = self._block.address
        """Of the state block."""
        self.candidates: list[Candidate] = []
        self.faults: dict[int, str] = {}
        """Instructions that the emulator could not execute, by runtime address."""
        self.cut: dict[int, str] = {}
        """Functions that could not be followed to the end, by their start."""
        self._entered = 0
        self.indirect = IndirectJumps(self, sites.operands)
        self.stores = WildStores(self, sites.operands)
        self.entrance = Entrance(self)
        self.engine.hook_code(sweep_hook.address or 0, self.words.ctypes.data, seldom=True)

    def explore(self, pc: int, tag: int, how: Entry) -> None:
        """Follow every way from an address.

        Args:
            pc: runtime address.
            tag: by what it was found, w.BY_*.
            how: it is entered.
        """
        for order in (w.NEAREST, w.OLDEST, w.FARTHEST):
            self._explore(pc, tag, how, order)
            if not self.indirect.open:
                return

    def _explore(self, pc: int, tag: int, how: Entry, order: int) -> None:
        words = self.words
        self.room.reset()
        self.indirect.forget()
        if not self.entrance.make(pc, how):
            return
        self._entered += 1
        words[w.EPOCH] = self._entered
        words[w.ORDER] = order
        self._block.clear(how is not Entry.BOTTOM)
        words[w.TAG] = tag
        words[w.CURRENT] = self.sites.function_at(pc)
        words[w.STEP_LIMIT] = words[s.EXECUTED] + _STEPS
        self._root = pc
        self._new = 0
        self._run(pc)

    def forget(self) -> None:
        """What is found from here on is told by itself."""
        self.candidates, self.faults, self.cut = [], {}, {}
        self._block.forget()
        self.indirect = IndirectJumps(self, self.sites.operands)
        self.stores = WildStores(self, self.sites.operands)

    def close(self) -> None:
        """Let go of the parts, which refer to this object: no cycle keeps its memory."""
        del self.indirect, self.stores, self.entrance

    # ---- the run and its stops

    def _run(self, address: int) -> None:
        faults = 0
        while address:
            self.words[w.STOPPED_BY] = w.NOTHING
            stop = self.engine.run(address)
            why = int(self.words[w.STOPPED_BY])
            if why == w.INDIRECT:
                self.indirect.resolve(int(self.words[w.STOP_PC]))
                address = self._next()
            elif why == w.MISMATCH:
                address = self._mismatch()
            elif why == w.DOUBT:
                address = self._doubt()
            elif why == w.NOTHING:
                faults += 1
                if faults > _FAULTS:
                    self.cut[self._root] = "too many faults"
                    return
                address = self._skip(stop)
            elif why == w.DONE:
                return
            else:
                self.cut[self._root] = f"more than {_STEPS} instructions"
                return

    def _next(self) -> int:
        """Give this path up and take the next one."""
        return int(pop(self.block))

    def _skip(self, stop: EngineStop) -> int:
        """The emulator cannot execute an instruction: go on behind it."""
        pc = int(self.words[w.PREVIOUS_PC])
        if self.words[w.FREE_LEFT]:
            # A loop that ran out of the stack: leave it after its first round.
            self.words[w.FREE_LEFT] = 0
            self.words[w.FORCED] += 1
            bring_back(self.block, int(self.words[w.FREE_ITEM]))
            return int(self.words[w.FREE_EXIT])
        for register, value in self.arch.boot.set_registers:
            self.engine.write(register, value)
        site = self.sites.at(pc)
        if site is None:
            return self._next()
        self.faults[pc] = stop.kind.value
        return pc + int(site["size"])

    def _mismatch(self) -> int:
        pc = int(self.words[w.STOP_PC])
        verdict = Verdict(int(self.words[w.VERDICT]))
        if self.stores.repair(pc, verdict):
            return pc
        reason = self._register_text() if verdict is Verdict.WRONG_REG else ""
        return pc if self.suspect(pc, verdict, reason) else self._next()

    def _doubt(self) -> int:
        """A call with another row behind it: go on there, to see whether the path returns."""
        pc = int(self.words[w.STOP_PC])
        position = self.sites.position(pc)
        assert position is not None
        if not self.suspect(pc, Verdict.EXACT, ""):
            return self._next()
        return pc + int(self.sites.records[position[0]]["size"][position[1]])

    def suspect(self, pc: int, verdict: Verdict, reason: str) -> bool:
        """From here on the path is a candidate; False: there have been too many."""
        self._new += 1
        if self._new > _MOST_CANDIDATES:
            self.cut[self._root] = f"more than {_MOST_CANDIDATES} paths with a wrong row"
            return False
        tag = int(self.words[w.TAG])
        self.candidates.append(
            Candidate(pc, self._root, verdict, tag, self._block.decisions(), reason)
        )
        number = len(self.candidates)
        self._block.make_room(number)
        self.words[w.CANDIDATE] = number
        self.words[w.MODE] = w.TAINTED
        return True

    def _register_text(self) -> str:
        number = self.sites.rules.registers[int(self.words[w.BAD_REGISTER])]
        register = self.arch.saved_register(number)
        assert register is not None
        wanted = self.room.caller_registers()[number]
        got = int(self.words[w.BAD_VALUE]) % (1 << 64)
        return f"{register.name} (r{number}): {got:#x} instead of {wanted:#x}"

    def frame_is_gone(self) -> bool:
        """SP is on another stack, or above its value in the caller: there is nothing to unwind."""
        sp = self.engine.registers()[self.arch.sp]
        room = self.room
        return not room.stack_low <= sp <= room.cfa + self.arch.sp_offset

    def hand_over(self) -> None:
        """The path has given its frame to another function, or to another stack."""
        self._block.states[int(self.words[w.CANDIDATE])] |= w.HANDED_OVER

    def state_of(self, candidate: int) -> int:
        """w.CONFIRMED and w.HANDED_OVER bits of a candidate, from 1."""
        return int(self._block.states[candidate])

    def events(self) -> npt.NDArray[np.void]:
        """All events; entry 0 is not used."""
        return self._block.events()
