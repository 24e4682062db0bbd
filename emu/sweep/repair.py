"""Stores that no real run makes: on a forced path a loop may write over a saved register."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arch import Row
from emu.check import state as s
from emu.sweep import state as w
from emu.sweep.items import peek, poke
from emu.sweep.operands import Operands
from emu.unwind.step import FP_SLOT, RA_SLOT
from emu.verdict import Verdict

if TYPE_CHECKING:
    from emu.sweep.explorer import Explorer


class WildStores:
    """Puts saved values back that the instruction before has destroyed.

    Args:
        explorer: whose machine stands at a wrong row.
        operands: of its instructions.
    """

    def __init__(self, explorer: Explorer, operands: Operands) -> None:
        self._explorer = explorer
        self._operands = operands
        self.repaired: set[int] = set()
        """Addresses of the stores."""

    def repair(self, pc: int, verdict: Verdict) -> bool:
        """Try to explain a wrong value at `pc` by the instruction before; True: it is right now.

        It counts as wild where the rule of the value is the same before and after, the place
        lies in the live frame, and the instruction stores by a register other than SP or,
        where the CFA counts from it, FP.
        """
        explorer = self._explorer
        words, arch = explorer.words, explorer.arch
        before = int(words[w.PREVIOUS_PC])
        here, there = explorer.sites.at(pc), explorer.sites.at(before)
        if here is None or there is None or here["row"] < 0 or before == pc:
            return False
        row = explorer.sites.table.rows[int(here["row"])]
        slot, truth = self._slot(verdict, row)
        if not slot:
            return False
        if before + int(there["size"]) != pc or not self._same_rule(verdict, here, there):
            return False
        stack = slot - int(words[w.STACK_HOST]) + explorer.room.stack_low
        sp = explorer.engine.registers()[arch.sp]
        if not sp - w.BELOW <= stack < explorer.room.stack_high:
            return False
        frame = (arch.sp,) if row.cfa.register == arch.sp else (arch.sp, arch.fp)
        code = explorer.room.memory.read(before, int(there["size"]))
        if not self._operands.stores_astray(code, before, frame):
            return False
        poke(slot, _swapped(truth) if words[s.SWAP] else truth)
        self.repaired.add(before)
        return True

    def _slot(self, verdict: Verdict, row: Row) -> tuple[int, int]:
        """Host address of the word that the wrong value was loaded from, and what it should be."""
        words = self._explorer.words
        result = int(words[s.RESULT])
        if verdict is Verdict.WRONG_RA:
            return peek(result + RA_SLOT), self._explorer.room.return_address(row.ra_signed)
        if verdict is Verdict.WRONG_FP:
            values = self._explorer.room.entry_registers()
            return peek(result + FP_SLOT), values[self._explorer.arch.fp]
        if verdict is Verdict.WRONG_REG:
            truth = int(words[w.SAVED_TRUTH]) + 8 * int(words[w.BAD_REGISTER])
            return int(words[w.BAD_SLOT]), peek(truth)
        return 0, 0

    def _same_rule(
        self, verdict: Verdict, here: npt.NDArray[np.void], there: npt.NDArray[np.void]
    ) -> bool:
        sites = self._explorer.sites
        if here["function"] != there["function"] or there["row"] < 0:
            return False
        one, two = (sites.table.rows[int(site["row"])] for site in (here, there))
        if verdict is Verdict.WRONG_RA:
            return one.ra == two.ra and one.ra_signed == two.ra_signed
        if verdict is Verdict.WRONG_FP:
            return one.fp == two.fp
        number = int(self._explorer.words[w.BAD_REGISTER])
        rules = sites.rules.array
        return bool((rules[here["saved"], number] == rules[there["saved"], number]).all())




def _swapped(value: int) -> int:
    return int.from_bytes(value.to_bytes(8, "little", signed=True), "big", signed=True)
