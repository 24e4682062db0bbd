"""The check once more, in plain Python: slow, with no memory of earlier verdicts.

It shares the step, the look-up and the recogniser with the compiled check, each of which
has tests of its own; truth, comparison and counting are written anew from the rules.
"""

from collections import Counter
from dataclasses import dataclass, field

from arch import Arch, RuleKind
from arch.descriptor import InstructionKind
from emu.image import Image
from emu.linux.process import Process
from emu.linux.program import alone
from emu.machine.engine import Engine
from emu.memory import EXECUTE, Memory
from emu.symbols import FunctionNames
from emu.truth.classify import Recogniser, classify
from emu.unwind.lookup import RowTable, lookup
from emu.verdict import Verdict
from tests.support.stack import Stepped, take_step

MEGABYTE = 1 << 20
HEAD = 512


@dataclass
class Frame:
    """What a caller's registers are."""

    ra: int
    cfa: int
    fp: int
    serial: int


@dataclass
class Stack:
    """One stack of the guest."""

    low: int
    high: int
    frames: list[Frame] = field(default_factory=list)


class Reference:
    """One program, one table, no compiled hook.

    Args:
        image: a program.
        table: the rows to check.
        back: bytes subtracted from a return address before it is looked up.
    """

    def __init__(self, image: Image, table: RowTable, back: int = 1) -> None:
        assert image.arch is not None
        self.arch: Arch = image.arch
        self.table = table
        self.back = back
        self.memory = Memory(256 << 20)
        self.engine = Engine(self.arch, self.memory)
        self.count = 0
        self.process = Process(
            alone(image), self.engine, self.memory, instructions=lambda: self.count,
        )  # fmt: skip
        self.bias = self.process.loaded.bias
        self.names = FunctionNames(image)
        self.ranges = [(a, b) for a, b, perms in self.process.loaded.ranges if perms & EXECUTE]
        self.recogniser = Recogniser(self.arch)
        self.verdicts: Counter[Verdict] = Counter()
        self.caller_verdicts: Counter[Verdict] = Counter()
        self.wrong: Counter[tuple[int, Verdict, str]] = Counter()
        """(link-time address, verdict, role) of everything that is neither right nor no row."""
        entry = self.process.stack
        self.stacks = [Stack(entry.pointer, entry.high)]
        self.stack = self.stacks[0]
        self.serial = 0
        self.pairs: dict[tuple[int, int], tuple[int, int]] = {}
        self.previous = (0, 0, InstructionKind.PLAIN, 0)
        """Address, address behind it, kind and FP of the instruction before."""

    def run(self) -> None:
        """Run the program to its end."""
        self.engine.hook_code_python(self.instruction)
        self.process.run()

    def instruction(self, pc: int, size: int) -> None:
        """What the hook does before each instruction."""
        self.count += 1
        registers = self.engine.registers()
        sp, fp = registers[self.arch.sp], registers[self.arch.fp]
        self.place(sp)
        before, after, kind, old_fp = self.previous
        fell = pc == after
        entry = self.bounds(pc) is not None and self.bounds(pc)[0] == pc - self.bias
        if kind is InstructionKind.CALL and (not fell or entry):
            if entry or self.bounds(before) is None or self.bounds(before) != self.bounds(pc):
                self.push(before, after, sp, old_fp)
        elif not fell:
            self.jump(pc, sp)
        self.previous = (pc, pc + size, self.kind(pc), fp)
        if not any(low <= pc < high for low, high in self.ranges):
            verdict = Verdict.NO_MODULE
        else:
            verdict = self.judge(pc - self.bias, len(self.stack.frames), sp, fp, registers, True)
        self.verdicts[verdict] += 1
        if verdict.is_finding:
            self.wrong[(pc - self.bias, verdict, "sampled")] += 1

    # ---- truth

    def place(self, sp: int) -> None:
        """Find the stack of SP."""
        here = self.stack
        if here.low <= sp <= here.high:
            return
        known = [s for s in self.stacks if s is not here and s.low <= sp <= s.high]
        if here.low - MEGABYTE <= sp < here.low and not known:
            here.low = sp
            return
        if not known:
            known = [Stack(sp, sp + HEAD)]
            self.stacks += known
        self.stack = known[-1]
        while self.stack.frames and sp > self.caller_sp(self.stack.frames[-1]):
            self.stack.frames.pop()

    def push(self, call: int, ra: int, sp: int, fp: int) -> None:
        """A call: one more frame, and the row of its return address."""
        frames = self.stack.frames
        self.serial += 1
        frame = Frame(ra, sp + self.arch.entry_cfa_offset, fp, self.serial)
        self.pairs[(ra, self.caller_sp(frame))] = (
            frames[-1].serial if frames else 0, len(frames),
        )  # fmt: skip
        address = ra - self.back - self.bias
        verdict = self.judge(address, len(frames), self.caller_sp(frame), fp, {}, False)
        frames.append(frame)
        self.caller_verdicts[verdict] += 1
        if verdict.is_finding:
            self.wrong[(call - self.bias, verdict, "caller")] += 1

    def jump(self, pc: int, sp: int) -> None:
        """Any other transfer of control: a return, a longjmp, or nothing of the kind."""
        frames = self.stack.frames
        while frames and sp >= self.caller_sp(frames[-1]):
            if sp == self.caller_sp(frames[-1]):
                if pc == frames[-1].ra:
                    frames.pop()
                    return
                if self.arch.ra_in_register:
                    self.land(pc, sp)
                    return
            frames.pop()

    def land(self, pc: int, sp: int) -> None:
        """An old call may have returned again."""
        frames = self.stack.frames
        parent, depth = self.pairs.get((pc, sp), (0, len(frames)))
        if depth < len(frames) and (frames[depth - 1].serial if depth else 0) == parent:
            del frames[depth:]

    def caller_sp(self, frame: Frame) -> int:
        """The caller's SP of a frame."""
        return frame.cfa + self.arch.sp_offset

    # ---- comparison

    def judge(
        self, address: int, depth: int, sp: int, fp: int, registers: dict[int, int], topmost: bool
    ) -> Verdict:
        """One step, compared with frame `depth` - 1."""
        code = int(lookup(self.table.block, address))
        if code < 0:
            return Verdict(-code)
        row = self.table.rows[code]
        got: Stepped = take_step(self.arch, row, self.memory, sp, fp, registers, topmost)
        if got.verdict is Verdict.REFUSED:
            return got.verdict
        if depth == 0:
            ends = got.verdict is Verdict.OUTERMOST or (
                got.verdict is Verdict.EXACT and got.ra == 0
            )
            return Verdict.OUTERMOST if ends else Verdict.WRONG_END
        if got.verdict is Verdict.OUTERMOST:
            return Verdict.WRONG_END
        if got.verdict is not Verdict.EXACT:
            return got.verdict
        want = self.stack.frames[depth - 1]
        if got.cfa != want.cfa:
            return Verdict.WRONG_CFA
        if got.ra != want.ra:
            return Verdict.WRONG_RA
        if got.fp != want.fp and row.fp.kind is not RuleKind.UNKNOWN:
            return Verdict.WRONG_FP
        return Verdict.EXACT

    def bounds(self, pc: int) -> tuple[int, int] | None:
        """The function at a runtime address."""
        return self.names.bounds(pc - self.bias)

    def kind(self, pc: int) -> InstructionKind:
        """Call, return or neither."""
        row = self.memory.find(pc)
        assert row is not None
        code = self.memory.buffer[row[2] + pc - row[0] :][:32]
        return InstructionKind(classify(self.recogniser.block, code.ctypes.data))
