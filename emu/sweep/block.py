"""The state block of an exploration, and the memory behind it."""

import numpy as np
import numpy.typing as npt

from emu.check import state as s
from emu.check.state import lazy_bytes
from emu.sweep import state as w
from emu.sweep.room import RETURN_ADDRESS, Room
from emu.sweep.rules import row_keeps
from emu.sweep.sites import Sites
from emu.truth import shadow
from emu.truth.shadow import ShadowStacks
from emu.unwind.step import RESULT_WORDS

_REGISTER_FILE = 128
_ITEMS_BYTES = 64 << 20
_NODES = 1 << 16
_MOST_DECISIONS = 64
"""Of one path that are told."""
_BEGIN = np.array([
    w.TOP, w.HISTORY, w.NODE, w.NODE_COUNT, w.CANDIDATE, w.RECENT_COUNT, w.FREE_LEFT, w.MODE,
    w.NEW_BLOCK, w.ITEMS, w.HISTORY_NEXT,
])  # fmt: skip
"""Words that are the same at the entry of each function."""


class Block:
    """Everything that the compiled exploration reads and writes.

    Args:
        room: the machine, furnished.
        sites: all instructions.
        pads: lists of landing pads, as `Sites.mark_calls` returned them.
    """

    def __init__(self, room: Room, sites: Sites, pads: list[tuple[int, int]]) -> None:
        self.words: npt.NDArray[np.int64] = np.zeros(w.WORDS, np.int64)
        self.address = int(self.words.ctypes.data)
        """Of the words."""
        self.states: npt.NDArray[np.uint8] = np.zeros(1024, np.uint8)
        """By candidate: how its ways came out."""
        self._kept: list[npt.NDArray[np.generic]] = []
        self._item_memory, self._items = lazy_bytes(_ITEMS_BYTES)
        self._history_memory, self._history = lazy_bytes(_ITEMS_BYTES)
        self._event_memory, self._events = lazy_bytes(s.EVENT_BYTES * s.EVENT_CAPACITY_DEFAULT)
        self._heads: npt.NDArray[np.int32] = np.zeros(s.HEAD_COUNT, np.int32)
        self._nodes: npt.NDArray[np.int64] = np.zeros((_NODES, 2), np.int64)
        values = room.entry_registers()
        self._shadow = ShadowStacks(room.arch, room.entry_sp, room.stack_high, w.SITE_BYTES)
        self._shadow.push(RETURN_ADDRESS, room.cfa, values[room.arch.fp])
        self._begin = np.array(
            [*[0] * 7, w.CLEAN, 1, self._items.ctypes.data, self._history.ctypes.data], np.int64
        )
        self._fill_check(room)
        self._fill_sweep(room, sites, values)
        self.words[w.PADS] = self._array(pads, np.int64)
        mutants = sites.mutants
        if mutants is not None:
            self.words[w.FAULTS] = mutants.entries.ctypes.data
            self.words[w.FAULT_ROWS] = mutants.rows.ctypes.data
            self.words[w.FAULT_SETS] = mutants.sets.ctypes.data
            self.words[w.OUTCOMES] = mutants.outcomes.ctypes.data

    def forget(self) -> None:
        """No path has been wrong so far."""
        self.states[:] = 0
        self._events[: s.EVENT_BYTES * (int(self.words[s.EVENT_COUNT]) + 1)] = 0
        self._heads[:] = 0
        self.words[s.EVENT_COUNT] = 0

    def clear(self, called: bool) -> None:
        """Begin with another function; `called`: there is a frame above it."""
        self.words[_BEGIN] = self._begin
        self._shadow.words[shadow.DEPTH] = called

    def make_room(self, candidate: int) -> None:
        """There is a candidate of this number now."""
        if candidate >= len(self.states):
            self.states = np.concatenate([self.states, np.zeros_like(self.states)])
            self.words[w.CANDIDATES] = self.states.ctypes.data

    def decisions(self) -> tuple[int, ...]:
        """Branches that were taken on the present path."""
        taken: list[int] = []
        node = int(self.words[w.NODE])
        while node and len(taken) < _MOST_DECISIONS:
            taken.append(int(self._nodes[node, 0]))
            node = int(self._nodes[node, 1])
        return tuple(reversed(taken))

    def events(self) -> npt.NDArray[np.void]:
        """All events; entry 0 is not used."""
        count = int(self.words[s.EVENT_COUNT]) + 1
        return self._events[: s.EVENT_BYTES * count].view(s.EVENT)

    # ---- set-up

    def _array(self, data: object, kind: type) -> int:
        """Address of an array that lives as long as this object."""
        self._kept.append(np.array(data, kind))
        return int(self._kept[-1].ctypes.data)

    def _zeros(self, count: int, kind: type) -> int:
        """As `_array`, of zeros."""
        self._kept.append(np.zeros(count, kind))
        return int(self._kept[-1].ctypes.data)

    def _fill_check(self, room: Room) -> None:
        """The words of the compiled check."""
        arch, engine = room.arch, room.engine
        numbers = np.zeros(_REGISTER_FILE, np.int64)
        places = np.zeros(_REGISTER_FILE, np.int64)
        found = engine.register_addresses()
        for register in (*arch.registers, *arch.saved_only):
            numbers[register.dwarf] = register.emulator
            places[register.dwarf] = found.get(register.dwarf, 0)
        for word, value in (
            (s.ENGINE, engine.handle), (s.STOP, engine.function("uc_emu_stop")),
            (s.REG_READ, engine.function("uc_reg_read")),
            (s.MEMORY, room.memory.header.ctypes.data), (s.SWAP, arch.byte_order == "big"),
            (s.TRUTH, self._shadow.block),
            (s.REGISTERS, self._zeros(_REGISTER_FILE, np.int64)),
            (s.REGISTER_PLACES, self._array(places, np.int64)),
            (s.REGISTER_NUMBERS, self._array(numbers, np.int64)),
            (s.EVENTS, self._events.ctypes.data), (s.EVENT_CAPACITY, s.EVENT_CAPACITY_DEFAULT),
            (s.HEADS, self._heads.ctypes.data),
            (s.RESULT, self._zeros(RESULT_WORDS, np.int64)), (s.SIGNS, room.signs),
        ):  # fmt: skip
            self.words[word] = value

    def _fill_sweep(self, room: Room, sites: Sites, values: dict[int, int]) -> None:
        """The words of the exploration; `values` are those of the registers at entry."""
        arch, engine = room.arch, room.engine
        saved, caller = sites.rules.registers, room.caller_registers()
        every = [register.dwarf for register in (*arch.registers, *arch.saved_only)]
        kept = (*arch.callee_saved, *arch.reserved, arch.sp, arch.ra)
        clobbered = [r.dwarf for r in arch.registers if r.dwarf not in kept]
        result = next(r.dwarf for r in arch.registers if r.emulator == arch.syscall.result)
        for word, value in (
            (w.SPANS, sites.block.ctypes.data), (w.SPAN, sites.block.ctypes.data),
            (w.SPAN_COUNT, len(sites.records)), (w.ROWS, sites.table.rows_address),
            (w.ENTRY_SP, room.entry_sp), (w.ENTRY_RA, RETURN_ADDRESS),
            (w.RA_MASK, _signed(arch.ra_sign_mask)), (w.CALLER_SP, room.cfa + arch.sp_offset),
            (w.WRITE_PC, engine.function("uc_reg_write")), (w.PC_NUMBER, arch.pc_emulator),
            (w.STACK_LOW, room.stack_low), (w.STACK_HIGH, room.stack_high),
            (w.STACK_HOST, room.stack_host),
            (w.ITEMS_END, self._items.ctypes.data + _ITEMS_BYTES),
            (w.HISTORY_END, self._history.ctypes.data + _ITEMS_BYTES),
            (w.CANDIDATES, self.states.ctypes.data), (w.NODES, self._nodes.ctypes.data),
            (w.NODE_CAPACITY, _NODES), (w.CLOBBERED, self._array(clobbered, np.uint8)),
            (w.CLOBBERED_COUNT, len(clobbered)),
            (w.KEEPS, self._array(row_keeps(sites.table), np.int64)),
            (w.SET_KEEPS, self._array(sites.rules.named, np.int64)),
            (w.SAVED, self._array(saved, np.uint8)), (w.SAVED_COUNT, len(saved)),
            (w.KEPT_COUNT, sites.rules.kept),
            (w.SAVED_TRUTH, self._array([caller[number] for number in saved], np.int64)),
            (w.SAVED_RULES, sites.rules.array.ctypes.data), (w.RESULT_NUMBER, result),
            (w.RA_NUMBER, arch.ra if arch.ra_in_register else -1), (w.SP_NUMBER, arch.sp),
            (w.FP_NUMBER, arch.fp), (w.ENTRY_FP, values[arch.fp]),
            (w.RECENT, self._zeros(2 * w.RECENT_SIZE, np.int64)),
            (w.FREE_ITEM, self._zeros(w.ITEM_LIMIT // 8, np.int64)),
            (w.ALL, self._array(every, np.uint8)), (w.ALL_COUNT, len(every)),
        ):  # fmt: skip
            self.words[word] = value


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
