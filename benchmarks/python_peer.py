"""The check written the ordinary way: a Python function called before each instruction.

It is what the compiled check is measured against, so it is meant to be fair: registers by
the emulator's own read function, rows in a dictionary by PC, and whatever belongs to an
address worked out once. The rules are those of `emu.truth.shadow` for calls and returns,
and of `emu.unwind.step` for rows over SP and FP, which is what compiled C needs.
"""

from bisect import bisect_right
from collections import Counter

from arch import Arch, Row, RuleKind
from arch.descriptor import InstructionKind
from arch.row import RegRule
from emu.errors import MemoryFault
from emu.machine.engine import Engine
from emu.memory import Memory
from emu.tables import NoRow, Table
from emu.verdict import Verdict

_MASK = (1 << 64) - 1


class Peer:
    """One run's check; `verdicts` and `caller_verdicts` count as those of the real one.

    Args:
        engine: about to run the program; the peer hooks itself in.
        memory: the engine's.
        table: rows by link-time address, which must be where the program is loaded.
    """

    def __init__(self, engine: Engine, memory: Memory, table: Table) -> None:
        arch: Arch = engine.arch
        self.verdicts: Counter[Verdict] = Counter()
        self.caller_verdicts: Counter[Verdict] = Counter()
        self.executed = 0
        self._arch = arch
        self._engine = engine
        self._memory = memory
        self._order = arch.byte_order
        self._numbers = {register.dwarf: register.emulator for register in arch.registers}
        self._sp = self._numbers[arch.sp]
        self._fp = self._numbers[arch.fp]
        self._functions = sorted(table.functions, key=lambda f: f.start)
        self._starts = [function.start for function in self._functions]
        self._rows: dict[int, Row | Verdict] = {}
        self._calls: dict[int, bool] = {}
        self._frames: list[tuple[int, int, int]] = []
        """(return address, CFA, caller's FP), outermost first."""
        self._previous = (0, 0, 0)
        """PC, size and FP of the instruction before."""
        engine.hook_code_python(self._on_instruction)

    def _on_instruction(self, pc: int, size: int) -> None:
        self.executed += 1
        sp = self._engine.read(self._sp)
        fp = self._engine.read(self._fp)
        before, length, previous_fp = self._previous
        if pc != before + length:
            if self._calls.get(before):
                cfa = sp + self._arch.entry_cfa_offset
                self._frames.append((before + length, cfa, previous_fp))
                caller = cfa + self._arch.sp_offset
                verdict = self._judge(before + length - 1, caller, previous_fp, 1)
                self.caller_verdicts[verdict] += 1
            else:
                self._return(pc, sp)
        if pc not in self._calls:
            self._calls[pc] = self._is_call(pc, size)
        self._previous = (pc, size, fp)
        self.verdicts[self._judge(pc, sp, fp, 0)] += 1

    def _return(self, pc: int, sp: int) -> None:
        """Control came to `pc` by a jump: drop the frames that are over."""
        frames = self._frames
        while frames:
            ra, cfa, _ = frames[-1]
            caller = cfa + self._arch.sp_offset
            if sp < caller:
                return
            if sp == caller and pc == ra:
                frames.pop()
                return
            if sp == caller and self._arch.ra_in_register:
                return
            frames.pop()

    def _judge(self, address: int, sp: int, fp: int, above: int) -> Verdict:
        """One step from (sp, fp), compared with the true caller `above` frames up."""
        row = self._rows.get(address)
        if row is None:
            row = self._rows[address] = self._find(address)
        if isinstance(row, Verdict):
            return row
        topmost = above == 0
        depth = len(self._frames) - above
        if row.outermost:
            return Verdict.WRONG_END if depth else Verdict.OUTERMOST
        try:
            found = self._step(row, sp, fp, topmost)
        except MemoryFault:
            found = Verdict.UNREADABLE
        if isinstance(found, Verdict):
            return found if depth or found is Verdict.REFUSED else Verdict.WRONG_END
        cfa, ra, caller_fp = found
        if depth == 0:
            return Verdict.WRONG_END if ra else Verdict.OUTERMOST
        true_ra, true_cfa, true_fp = self._frames[depth - 1]
        if cfa != true_cfa:
            return Verdict.WRONG_CFA
        if ra != true_ra:
            return Verdict.WRONG_RA
        if caller_fp != true_fp and row.fp.kind is not RuleKind.UNKNOWN:
            return Verdict.WRONG_FP
        return Verdict.EXACT

    def _step(self, row: Row, sp: int, fp: int, topmost: bool) -> tuple[int, int, int] | Verdict:
        """(CFA, RA, FP) of the caller, or why there is none."""
        base = self._register(row.cfa.register, sp, fp, topmost)
        if base is None:
            return Verdict.REFUSED
        cfa = (base + row.cfa.offset) & _MASK
        if row.cfa.deref:
            cfa = (self._memory.read_word(cfa, self._order) + row.cfa.addend) & _MASK
        caller = (cfa + row.sp_offset) & _MASK
        if caller < sp:
            return Verdict.WRONG_WAY
        if caller == sp and not topmost:
            return Verdict.NO_PROGRESS
        if caller % 8:
            return Verdict.MISALIGNED
        if row.ra.kind is RuleKind.KEEP:
            if not topmost:
                return Verdict.LOST_REGISTER
            ra = self._engine.read(self._numbers[self._arch.ra])
        else:
            value = self._follow(row.ra, cfa, sp, fp, topmost)
            if value is None:
                return Verdict.REFUSED
            ra = value
        if row.ra_signed:
            ra &= ~self._arch.ra_sign_mask
        if row.fp.kind in (RuleKind.KEEP, RuleKind.UNKNOWN):
            return cfa, ra, fp
        value = self._follow(row.fp, cfa, sp, fp, topmost)
        return Verdict.REFUSED if value is None else (cfa, ra, value)

    def _follow(self, rule: RegRule, cfa: int, sp: int, fp: int, topmost: bool) -> int | None:
        if rule.kind is RuleKind.AT_CFA:
            return self._memory.read_word((cfa + rule.offset) & _MASK, self._order)
        base = self._register(rule.register, sp, fp, topmost)
        if base is None:
            return None
        value = (base + rule.offset) & _MASK
        if rule.kind is RuleKind.REGISTER:
            return value
        return self._memory.read_word(value, self._order)

    def _register(self, register: int, sp: int, fp: int, topmost: bool) -> int | None:
        """A register's value; None: no unwinder knows it in this frame."""
        if register == self._arch.sp:
            return sp
        if register == self._arch.fp:
            return fp
        return self._engine.read(self._numbers[register]) if topmost else None

    def _find(self, address: int) -> Row | Verdict:
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self._starts[index] + self._functions[index].size:
            return Verdict.NO_FDE
        function = self._functions[index]
        offset = address - function.start
        if function.rep_size:
            offset %= function.rep_size
        number = bisect_right(function.starts, offset) - 1
        if number < 0:
            return Verdict.NO_FRE
        row = function.rows[number]
        return row.verdict if isinstance(row, NoRow) else row

    def _is_call(self, pc: int, size: int) -> bool:
        code = self._memory.read(pc, size)
        while code[:1] and code[0] in self._arch.prefixes:
            code = code[1:]
        for encoding in self._arch.encodings:
            masked = bytes(c & m for c, m in zip(code, encoding.mask, strict=False))
            if masked == encoding.value:
                return encoding.kind is InstructionKind.CALL
        return False
