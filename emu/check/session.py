"""A program under the compiled check: everything is set up here, and run in slices."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.check import state as s
from emu.check.codemap import CheckedModule, CodeMap, mark
from emu.check.events import EventLog
from emu.check.findings import Grouping
from emu.check.hook import check_hook
from emu.check.judge import close
from emu.check.modules import Modules
from emu.check.options import Point, RunOptions
from emu.check.signatures import by_chance
from emu.errors import UsageError
from emu.image import Image
from emu.linux.process import Process
from emu.linux.program import Program
from emu.machine.engine import Engine
from emu.memory import Memory
from emu.sample import Sample
from emu.truth import shadow
from emu.truth.classify import Recogniser
from emu.truth.shadow import ShadowStacks
from emu.unwind.lookup import RowTable
from emu.unwind.step import RESULT_WORDS
from emu.verdict import Verdict

_REGISTER_FILE = 128
_FOREVER = (1 << 62) - 1
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """The program in memory: its bias, and where its code was at the start."""

    module: CheckedModule
    bias: int
    ranges: tuple[tuple[int, int], ...]


class Session:
    """One program, ready to run under the check.

    Args:
        program: what is run, and the root directory of its files.
        table: the rows of a file that are checked.
        options: of the run.

    Raises:
        UnwindlabError: the program cannot be loaded, or an option does not fit the machine.
    """

    def __init__(
        self, program: Program, table: Callable[[Image], RowTable], options: RunOptions
    ) -> None:
        image = program.image
        arch = image.arch
        if arch is None:
            raise UsageError(f"{image.path}: machine {image.machine} is not supported")
        if options.pac and not arch.boot.pauth_model:
            raise UsageError(f"{image.path}: --pac: {arch.name} has no pointer authentication")
        if options.cpu and options.cpu not in arch.boot.cpu_models:
            models = ", ".join(arch.boot.cpu_models)
            raise UsageError(f"{image.path}: --cpu {options.cpu}: {arch.name} has {models}")
        self.arch: Arch = arch
        self.options = options
        self.memory = Memory(options.memory)
        self._keys = _keys(arch, options)
        self.engine = Engine(arch, self.memory, options.cpu, self._keys)
        self._words: npt.NDArray[np.int64] = np.zeros(s.WORDS, np.int64)
        self.process = Process(
            program,
            self.engine,
            self.memory,
            arguments=options.arguments,
            environment=dict(entry.partition("=")[::2] for entry in options.env),
            stdin=options.stdin,
            seed=options.seed,
            instructions=lambda: self.executed,
        )
        self.modules = Modules(arch, table, program.debug_file)
        self.code = CodeMap()
        self.events = EventLog(self._words)
        stack = self.process.stack
        self.shadow = ShadowStacks(arch, stack.pointer, stack.high, stack.high - stack.low)
        self._recogniser = Recogniser(arch)
        self._pending: Point | None = None
        self._fill()
        module = self.modules.of(self.process.file, image)
        assert module is not None
        self._remap()
        self.program = LoadedModule(
            module,
            self.process.loaded.bias,
            tuple((item.start, item.end) for item in self.code if item.module is module),
        )
        self.process.mappings.changed = self._remap
        self.engine.on_code_change = self.code.forget
        self.engine.hook_code(check_hook.address or 0, self._words.ctypes.data)

    # ---- running

    @property
    def state(self) -> int:
        """Address of the state block, for other hooks."""
        return int(self._words.ctypes.data)

    @property
    def executed(self) -> int:
        """Instructions that have got a verdict."""
        return int(self._words[s.EXECUTED])

    @property
    def last_pc(self) -> int:
        """Address of the instruction that got the last verdict."""
        return int(self.shadow.words[shadow.PREVIOUS_PC])

    @property
    def next_pc(self) -> int:
        """Address behind that instruction."""
        return int(self.shadow.words[shadow.NEXT_PC]) & _MASK

    @property
    def paused(self) -> bool:
        """The check itself stopped the run; the instruction at the PC is still to execute."""
        return bool(self._words[s.REPLAY])

    def execute_clock_read(self) -> bool:
        """Execute the instruction at the PC if it reads a clock; False: it must not store there.

        To be called once after each pause.
        """
        size = int(self._words[s.CLOCK_READ])
        if not size:
            return True
        self._words[s.CLOCK_READ] = 0
        if not self.process.clock_reads.execute(size):
            return False
        # It has executed: the hook must not take what comes next for a repetition of it.
        self._words[s.REPLAY] = 0
        return True

    @property
    def hit(self) -> bool:
        """The point to stop at was reached for the wanted time; reading it clears it."""
        hit = bool(self._words[s.HIT_STOPPED])
        self._words[s.HIT_STOPPED] = 0
        return hit

    @property
    def overflow(self) -> bool:
        """The shadow stack is full: calls that never return."""
        return bool(self.shadow.words[shadow.OVERFLOW])

    def pause_at(self, instruction: int) -> None:
        """Stop before the instruction with this number executes."""
        self._words[s.LIMIT] = min(instruction, _FOREVER)

    def break_at(self, point: Point, nth: int) -> bool:
        """Stop when a place in the code is reached for the n-th time.

        False: nothing is there, and no library can still bring it.
        """
        self._words[s.HIT_WANTED] = nth
        if point.symbol:
            self._pending = point
            self._place_break()
            return self._pending is None or self.process.dynamic
        for segment in self.program.module.segments:
            if segment.start <= point.address < segment.end:
                mark(segment, point.address, s.BREAK)
                return True
        return False

    def break_again(self) -> None:
        """Stop the next time that the place is reached."""
        self._words[s.HIT_WANTED] = self._words[s.HITS] + 1

    # ---- what is known

    def sample(self) -> Sample:
        """The machine as it stands."""
        return Sample(self.arch, self.engine.pc, self.engine.registers(), self.memory)

    def true_callers(self) -> tuple[int, ...]:
        """Return addresses of the current stack, innermost first."""
        return tuple(ra for ra, _, _ in self.shadow.frames())

    def verdicts(self) -> Counter[Verdict]:
        """Of sampled instructions; the sum is `executed`."""
        self._drop_chances()
        counts = _counter(self._verdicts)
        counts[Verdict.EXACT] = self.executed - sum(counts.values())
        return +counts

    def caller_verdicts(self) -> Counter[Verdict]:
        """Of the rows of return addresses, one for each call."""
        self._drop_chances()
        return _counter(self._caller_verdicts)

    def grouping(self) -> Grouping:
        """The findings and gaps so far."""
        self._drop_chances()
        segments = [segment for module in self.modules for segment in module.segments]
        return Grouping(segments, *self.events.by_segment(self.code))

    def table_bytes(self) -> int:
        """Bytes of executable segments, mapped now or before, that the table has entries for."""
        total = 0
        for module in self.modules:
            for segment in module.segments:
                low = segment.start
                for start, end in module.table.function_bounds:
                    total += max(0, min(end, segment.end) - max(start, low))
                    low = max(low, end)
        return total

    def checked_bytes(self) -> int:
        """Bytes of executed instructions that a row was found for."""
        total = 0
        for module in self.modules:
            for segment in module.segments:
                executed = segment.executed & (segment.records["code"] >= 0)
                total += int(segment.records["size"][executed].sum())
        return total

    def truth_counts(self) -> dict[str, int]:
        """What the shadow stacks saw."""
        words = self.shadow.words
        return {
            "calls": int(words[shadow.CALLS]),
            "returns": int(words[shadow.RETURNS]),
            "abandoned": int(words[shadow.ABANDONED]),
            "stack_switches": int(words[shadow.SWITCHES]),
        }

    # ---- inside

    def _remap(self) -> None:
        """Executable mappings have changed."""
        before = list(self.code)
        ranges = self.modules.ranges(self.process.mappings)
        gone = set(before) - set(ranges)
        if not gone and len(before) == len(ranges):
            return
        if gone:
            close(self.state)
            self._drop_chances()
            self.events.retire(gone)
        self.code.set(ranges)
        words, block = self._words, self.code.block
        words[s.RANGES] = block.ctypes.data
        words[s.RANGE_COUNT] = len(ranges)
        words[s.RANGE] = block[len(ranges) :].ctypes.data
        words[s.MEMO_ROW] = 0
        self._place_break()

    def _drop_chances(self) -> None:
        """Take back that a return address is not signed where its signature is of zeros.

        One of some ten thousands is: then it cannot be told, and the row is believed.
        """
        noted = self.events.noted()
        chances = by_chance(noted, self.arch, self._keys)
        for counts, caller in ((self._verdicts, False), (self._caller_verdicts, True)):
            those = chances & ((noted["key"] & s.CALLER_ROLE != 0) == caller)
            count = noted["count"][those].sum()
            counts[Verdict.WRONG_RA] -= count
            if caller:  # what is exact is counted for calls alone
                counts[Verdict.EXACT] += count
        self.events.drop(chances)

    def _place_break(self) -> None:
        """Find the symbol to stop at in what is mapped, if it was not found before."""
        if self._pending is None:
            return
        for item in self.code:
            address = item.module.names.find(self._pending.symbol)
            if address is None:
                continue
            address += self._pending.address
            if item.segment.start <= address < item.segment.end:
                mark(item.segment, address, s.BREAK)
                self._pending = None
                return

    def _fill(self) -> None:
        """Everything that the hook reads, into the state block."""
        arch, words = self.arch, self._words
        self._verdicts: npt.NDArray[np.int64] = np.zeros(len(Verdict), np.int64)
        self._caller_verdicts: npt.NDArray[np.int64] = np.zeros(len(Verdict), np.int64)
        self._registers: npt.NDArray[np.int64] = np.zeros(_REGISTER_FILE, np.int64)
        self._places: npt.NDArray[np.int64] = np.zeros(_REGISTER_FILE, np.int64)
        self._numbers: npt.NDArray[np.int64] = np.zeros(_REGISTER_FILE, np.int64)
        self._result: npt.NDArray[np.int64] = np.zeros(RESULT_WORDS, np.int64)
        places = self.engine.register_addresses()
        for register in arch.registers:
            self._numbers[register.dwarf] = register.emulator
            self._places[register.dwarf] = places.get(register.dwarf, 0)
        for word, value in (
            (s.ENGINE, self.engine.handle),
            (s.STOP, self.engine.function("uc_emu_stop")),
            (s.REG_READ, self.engine.function("uc_reg_read")),
            (s.MEMORY, self.memory.header.ctypes.data),
            (s.SWAP, arch.byte_order == "big"),
            (s.TRUTH, self.shadow.block),
            (s.RECOGNISER, self._recogniser.block),
            (s.RETURN_BACK, int(self.options.lookup == "return")),
            (s.LIMIT, _FOREVER),
            (s.RANGE, self.code.block.ctypes.data),
            (s.RANGES, self.code.block.ctypes.data),
            (s.SP_PLACE, self._places[arch.sp]),
            (s.FP_PLACE, self._places[arch.fp]),
            (s.SP_NUMBER, self._numbers[arch.sp]),
            (s.FP_NUMBER, self._numbers[arch.fp]),
            (s.REGISTERS, self._registers.ctypes.data),
            (s.REGISTER_PLACES, self._places.ctypes.data),
            (s.REGISTER_NUMBERS, self._numbers.ctypes.data),
            (s.VERDICTS, self._verdicts.ctypes.data),
            (s.CALLER_VERDICTS, self._caller_verdicts.ctypes.data),
            (s.RESULT, self._result.ctypes.data),
            (s.SIGNS, self._keys is not None and self.engine.cpu == arch.boot.pauth_model),
            (s.MEMO_RA_PLACE, words[s.ZERO :].ctypes.data),
            (s.MEMO_FP_PLACE, words[s.ZERO :].ctypes.data),
        ):
            words[word] = value


def _keys(arch: Arch, options: RunOptions) -> tuple[int, ...] | None:
    if not options.pac:
        return None
    source = random.Random(options.seed)
    return tuple(source.getrandbits(64) for _ in arch.boot.pauth_keys)


def _counter(counts: npt.NDArray[np.int64]) -> Counter[Verdict]:
    return +Counter({verdict: int(counts[verdict]) for verdict in Verdict})
