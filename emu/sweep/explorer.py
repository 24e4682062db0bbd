"""One function after the other is entered, and followed along every way through it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.check import state as s
from emu.check.state import lazy_bytes
from emu.machine.engine import EngineStop
from emu.sweep import state as w
from emu.sweep.entries import Entrance, Entry
from emu.sweep.hook import sweep_hook
from emu.sweep.indirect import IndirectJumps
from emu.sweep.items import bring_back, pop
from emu.sweep.operands import Operands
from emu.sweep.repair import WildStores
from emu.sweep.room import RETURN_ADDRESS, Room
from emu.sweep.sites import Sites, row_keeps
from emu.sweep.steer import return_from_call
from emu.truth import shadow
from emu.truth.shadow import ShadowStacks
from emu.unwind.step import RESULT_WORDS
from emu.verdict import Verdict

_REGISTER_FILE = 128
_ITEMS_BYTES = 64 << 20
_NODES = 1 << 16
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

    def __init__(self, room: Room, sites: Sites, pads: list[int]) -> None:
        self.room, self.sites = room, sites
        self.arch: Arch = room.arch
        self.engine = room.engine
        self.words: npt.NDArray[np.int64] = np.zeros(w.WORDS, np.int64)
        self.shadow = ShadowStacks(self.arch, room.entry_sp, room.stack_high, s.EVENT_BYTES)
        self.candidates: list[Candidate] = []
        self.faults: dict[int, str] = {}
        """Instructions that the emulator could not execute, by runtime address."""
        self.cut: dict[int, str] = {}
        """Functions that could not be followed to the end, by their start."""
        self._pads = np.array(pads, np.int64)
        self._states: npt.NDArray[np.uint8] = np.zeros(1024, np.uint8)
        self._entered = 0
        self._fill()
        operands = Operands(self.arch)
        self.indirect = IndirectJumps(self, operands)
        self.stores = WildStores(self, operands)
        self.entrance = Entrance(self)
        self.engine.hook_code(sweep_hook.address or 0, self.words.ctypes.data)

    @property
    def block(self) -> int:
        """Address of the state block."""
        return int(self.words.ctypes.data)

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
        words[w.TOP] = 0
        words[w.ITEMS] = self._items.ctypes.data
        words[w.HISTORY] = 0
        words[w.HISTORY_NEXT] = self._history.ctypes.data
        words[w.NODE] = words[w.NODE_COUNT] = 0
        words[w.MODE] = w.CLEAN
        words[w.CANDIDATE] = words[w.RECENT_COUNT] = words[w.FREE_LEFT] = 0
        words[w.NEW_BLOCK] = 1
        words[w.TAG] = tag
        words[w.CURRENT] = self.sites.function_at(pc)
        words[w.STEP_LIMIT] = words[s.EXECUTED] + _STEPS
        self.shadow.words[shadow.DEPTH] = how is not Entry.BOTTOM
        self._root = pc
        self._new = 0
        self._run(pc)

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
        records = self.sites.records[position[0]]
        after = pc + int(records["size"][position[1]])
        return_from_call(self.block, records.ctypes.data + w.SITE_BYTES * position[1], after)
        return after

    def suspect(self, pc: int, verdict: Verdict, reason: str) -> bool:
        """From here on the path is a candidate; False: there have been too many."""
        self._new += 1
        if self._new > _MOST_CANDIDATES:
            self.cut[self._root] = f"more than {_MOST_CANDIDATES} paths with a wrong row"
            return False
        tag = int(self.words[w.TAG])
        self.candidates.append(
            Candidate(pc, self._root, verdict, tag, self._decisions(), reason)
        )
        number = len(self.candidates)
        if number >= len(self._states):
            self._states = np.concatenate([self._states, np.zeros_like(self._states)])
            self.words[w.CANDIDATES] = self._states.ctypes.data
        self.words[w.CANDIDATE] = number
        self.words[w.MODE] = w.TAINTED
        return True

    def _register_text(self) -> str:
        number = self.sites.rules.registers[int(self.words[w.BAD_REGISTER])]
        register = self.arch.saved_register(number)
        assert register is not None
        wanted = self.room.entry_registers()[number]
        got = int(self.words[w.BAD_VALUE]) % (1 << 64)
        return f"{register.name} (r{number}): {got:#x} instead of {wanted:#x}"

    def frame_is_gone(self) -> bool:
        """SP is on another stack, or above its value in the caller: there is nothing to unwind."""
        sp = self.engine.registers()[self.arch.sp]
        room = self.room
        return not room.stack_low <= sp <= room.cfa + self.arch.sp_offset

    def hand_over(self) -> None:
        """The path has given its frame to another function, or to another stack."""
        self._states[int(self.words[w.CANDIDATE])] |= w.HANDED_OVER

    def _decisions(self) -> tuple[int, ...]:
        taken: list[int] = []
        node = int(self.words[w.NODE])
        while node and len(taken) < 64:
            taken.append(int(self._nodes[node, 0]))
            node = int(self._nodes[node, 1])
        return tuple(reversed(taken))

    def state_of(self, candidate: int) -> int:
        """w.CONFIRMED and w.HANDED_OVER bits of a candidate, from 1."""
        return int(self._states[candidate])

    def events(self) -> npt.NDArray[np.void]:
        """All events; entry 0 is not used."""
        count = int(self.words[s.EVENT_COUNT]) + 1
        return self._events[: s.EVENT_BYTES * count].view(s.EVENT)

    # ---- set-up

    def _fill(self) -> None:
        arch, words, room, sites = self.arch, self.words, self.room, self.sites
        engine = self.engine
        every = [*arch.registers, *arch.saved_only]
        numbers = np.zeros(_REGISTER_FILE, np.int64)
        places = np.zeros(_REGISTER_FILE, np.int64)
        found = engine.register_addresses()
        for register in every:
            numbers[register.dwarf] = register.emulator
            places[register.dwarf] = found.get(register.dwarf, 0)
        values = room.entry_registers()
        frame = self.shadow.words[shadow.FRAMES]
        np.frombuffer(self.shadow._memory, np.int64, 4)[:3] = (  # the only frame
            RETURN_ADDRESS, room.cfa, values[arch.fp],
        )  # fmt: skip
        assert frame
        saved = sites.rules.registers
        clobbered = [
            r.dwarf
            for r in arch.registers
            if r.dwarf not in (*arch.callee_saved, arch.sp, arch.ra)
        ]
        result = next(r.dwarf for r in arch.registers if r.emulator == arch.syscall.result)
        self._item_memory, self._items = lazy_bytes(_ITEMS_BYTES)
        self._history_memory, self._history = lazy_bytes(_ITEMS_BYTES)
        self._nodes: npt.NDArray[np.int64] = np.zeros((_NODES, 2), np.int64)
        self._event_memory, self._events = lazy_bytes(s.EVENT_BYTES * s.EVENT_CAPACITY_DEFAULT)
        self._heads: npt.NDArray[np.int32] = np.zeros(s.HEAD_COUNT, np.int32)
        kept: list[npt.NDArray[np.generic]] = []

        def array(data: object, kind: type) -> int:
            kept.append(np.array(data, kind))
            return int(kept[-1].ctypes.data)

        self._kept = kept
        for word, value in (
            (s.ENGINE, engine.handle), (s.STOP, engine.function("uc_emu_stop")),
            (s.REG_READ, engine.function("uc_reg_read")),
            (s.MEMORY, room.memory.header.ctypes.data), (s.SWAP, arch.byte_order == "big"),
            (s.TRUTH, self.shadow.block), (s.REGISTERS, array([0] * _REGISTER_FILE, np.int64)),
            (s.REGISTER_PLACES, array(places, np.int64)),
            (s.REGISTER_NUMBERS, array(numbers, np.int64)),
            (s.EVENTS, self._events.ctypes.data), (s.EVENT_CAPACITY, s.EVENT_CAPACITY_DEFAULT),
            (s.HEADS, self._heads.ctypes.data), (s.RESULT, array([0] * RESULT_WORDS, np.int64)),
            (w.SPANS, sites.block.ctypes.data), (w.SPAN, sites.block.ctypes.data),
            (w.SPAN_COUNT, len(sites.records)), (w.ROWS, sites.table.rows_address),
            (w.ENTRY_SP, room.entry_sp),
            (w.ENTRY_RA, RETURN_ADDRESS),
            (w.RA_MASK, _signed(arch.ra_sign_mask)),
            (w.WRITE_PC, engine.function("uc_reg_write")), (w.PC_NUMBER, arch.pc_emulator),
            (w.STACK_LOW, room.stack_low), (w.STACK_HIGH, room.stack_high),
            (w.STACK_HOST, room.stack_host), (w.CALLER_SP, room.cfa + arch.sp_offset),
            (w.ITEMS_END, self._items.ctypes.data + _ITEMS_BYTES),
            (w.HISTORY_END, self._history.ctypes.data + _ITEMS_BYTES),
            (w.CANDIDATES, self._states.ctypes.data), (w.NODES, self._nodes.ctypes.data),
            (w.NODE_CAPACITY, _NODES), (w.CLOBBERED, array(clobbered, np.uint8)),
            (w.CLOBBERED_COUNT, len(clobbered)), (w.KEEPS, array(row_keeps(sites.table), np.int64)),
            (w.SET_KEEPS, array(sites.rules.named, np.int64)),
            (w.SAVED, array(saved, np.uint8)), (w.SAVED_COUNT, len(saved)),
            (w.SAVED_TRUTH, array([values[number] for number in saved], np.int64)),
            (w.SAVED_RULES, sites.rules.array.ctypes.data), (w.RESULT_NUMBER, result),
            (w.RA_NUMBER, arch.ra if arch.ra_in_register else -1), (w.SP_NUMBER, arch.sp),
            (w.FP_NUMBER, arch.fp), (w.RECENT, array([0] * (2 * w.RECENT_SIZE), np.int64)),
            (w.FREE_ITEM, array([0] * (w.ITEM_LIMIT // 8), np.int64)),
            (w.PADS, self._pads.ctypes.data),
            (w.ALL, array([r.dwarf for r in every], np.uint8)), (w.ALL_COUNT, len(every)),
        ):  # fmt: skip
            words[word] = value
        mutants = sites.mutants
        if mutants is not None:
            words[w.FAULTS] = mutants.entries.ctypes.data
            words[w.FAULT_ROWS] = mutants.rows.ctypes.data
            words[w.FAULT_SETS] = mutants.sets.ctypes.data
            words[w.OUTCOMES] = mutants.outcomes.ctypes.data


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


__all__ = ["Candidate", "Explorer", "bring_back"]
