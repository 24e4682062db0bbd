"""A program under the compiled check: everything is set up here, and run in slices."""

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch import Arch
from emu.check import state as s
from emu.check.findings import CheckedModule, Grouping
from emu.check.hook import check_hook
from emu.check.options import RunOptions
from emu.errors import UsageError
from emu.image import Image
from emu.linux.process import Process
from emu.machine.engine import Engine
from emu.memory import EXECUTE, Memory
from emu.sample import Sample
from emu.symbols import FunctionNames
from emu.truth import shadow
from emu.truth.classify import Recogniser
from emu.truth.shadow import ShadowStacks
from emu.unwind.lookup import RowTable
from emu.unwind.step import RESULT_WORDS
from emu.unwind.walker import ModuleTable
from emu.verdict import Verdict

_REGISTER_FILE = 128
_FOREVER = (1 << 62) - 1


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """A module in memory: its image, names, bias and executable runtime ranges."""

    image: Image
    names: FunctionNames
    bias: int
    ranges: tuple[tuple[int, int], ...]

    def tables(self, table: RowTable) -> list[ModuleTable]:
        """The module as the walker wants it, with rows of one kind."""
        return [ModuleTable(start, end, self.bias, table) for start, end in self.ranges]


class Session:
    """One program, ready to run under the check.

    Args:
        image: a program that can be loaded.
        table: the rows to check.
        options: of the run.

    Raises:
        UnwindlabError: the program cannot be loaded, or an option does not fit the machine.
    """

    def __init__(self, image: Image, table: RowTable, options: RunOptions) -> None:
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
        self.table = table
        self.memory = Memory(options.memory)
        self.engine = Engine(arch, self.memory, options.cpu, _keys(arch, options))
        self._words: npt.NDArray[np.int64] = np.zeros(s.WORDS, np.int64)
        self.process = Process(
            image,
            self.engine,
            self.memory,
            arguments=(f"/{image.name}", *options.arguments),
            environment=dict(entry.partition("=")[::2] for entry in options.env),
            stdin=options.stdin,
            seed=options.seed,
            instructions=lambda: self.executed,
        )
        loaded = self.process.loaded
        self.module = LoadedModule(
            image,
            FunctionNames(image),
            loaded.bias,
            tuple((low, high) for low, high, perms in loaded.ranges if perms & EXECUTE),
        )
        functions = _functions(self.module.names, table)
        self.code = s.CodeMap(
            [
                s.CodeRange(low, high, loaded.bias, table, functions)
                for low, high in self.module.ranges
            ],
            arch.instruction_unit,
        )
        stack = self.process.stack
        self.shadow = ShadowStacks(arch, stack.pointer, stack.high, stack.high - stack.low)
        self._recogniser = Recogniser(arch)
        self._fill()
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

    def break_at(self, address: int, nth: int) -> bool:
        """Stop when a link-time address is reached for the n-th time; False: no code there."""
        self._words[s.HIT_WANTED] = nth
        return self.code.mark(address + self.module.bias, s.BREAK)

    # ---- what is known

    def sample(self) -> Sample:
        """The machine as it stands."""
        return Sample(self.arch, self.engine.pc, self.engine.registers(), self.memory)

    def true_callers(self) -> tuple[int, ...]:
        """Return addresses of the current stack, innermost first."""
        return tuple(ra for ra, _, _ in self.shadow.frames())

    def verdicts(self) -> Counter[Verdict]:
        """Of sampled instructions; the sum is `executed`."""
        counts = _counter(self._verdicts)
        counts[Verdict.EXACT] = self.executed - sum(counts.values())
        return +counts

    def caller_verdicts(self) -> Counter[Verdict]:
        """Of the rows of return addresses, one for each call."""
        return _counter(self._caller_verdicts)

    def events(self) -> npt.NDArray[np.void]:
        """All events; entry 0 is not used."""
        count = int(self._words[s.EVENT_COUNT]) + 1
        return self._events[: s.EVENT_BYTES * count].view(s.EVENT)

    @property
    def events_lost(self) -> int:
        """Executions whose event had no room; they are counted in the verdicts."""
        return int(self._words[s.EVENTS_LOST])

    def grouping(self) -> Grouping:
        """The findings and gaps so far."""
        checked = CheckedModule(
            self.module.image.name, self.module.bias, self.table, self.module.names
        )
        return Grouping(self.code, [checked] * len(self.code.ranges), self.events())

    def table_bytes(self) -> int:
        """Bytes of executable memory that the table has entries for."""
        total = 0
        for item in self.code.ranges:
            low, high = item.start - item.bias, item.end - item.bias
            for start, end in self.table.function_bounds:
                total += max(0, min(end, high) - max(start, low))
                low = max(low, end)
        return total

    def checked_bytes(self) -> int:
        """Bytes of executed instructions that a row was found for."""
        total = 0
        for number, records in enumerate(self.code.records):
            executed = self.code.executed(number) & (records["code"] >= 0)
            total += int(records["size"][executed].sum())
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

    def _fill(self) -> None:
        """Everything that the hook reads, into the state block."""
        arch, words = self.arch, self._words
        self._verdicts: npt.NDArray[np.int64] = np.zeros(len(Verdict), np.int64)
        self._caller_verdicts: npt.NDArray[np.int64] = np.zeros(len(Verdict), np.int64)
        self._registers: npt.NDArray[np.int64] = np.zeros(_REGISTER_FILE, np.int64)
        self._places: npt.NDArray[np.int64] = np.zeros(_REGISTER_FILE, np.int64)
        self._numbers: npt.NDArray[np.int64] = np.zeros(_REGISTER_FILE, np.int64)
        self._heads: npt.NDArray[np.int32] = np.zeros(s.HEAD_COUNT, np.int32)
        self._result: npt.NDArray[np.int64] = np.zeros(RESULT_WORDS, np.int64)
        self._event_memory, self._events = s.lazy_bytes(s.EVENT_BYTES * s.EVENT_CAPACITY_DEFAULT)
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
            (s.RANGE_COUNT, len(self.code.ranges)),
            (s.SP_PLACE, self._places[arch.sp]),
            (s.FP_PLACE, self._places[arch.fp]),
            (s.SP_NUMBER, self._numbers[arch.sp]),
            (s.FP_NUMBER, self._numbers[arch.fp]),
            (s.REGISTERS, self._registers.ctypes.data),
            (s.REGISTER_PLACES, self._places.ctypes.data),
            (s.REGISTER_NUMBERS, self._numbers.ctypes.data),
            (s.VERDICTS, self._verdicts.ctypes.data),
            (s.CALLER_VERDICTS, self._caller_verdicts.ctypes.data),
            (s.EVENTS, self._events.ctypes.data),
            (s.EVENT_CAPACITY, s.EVENT_CAPACITY_DEFAULT),
            (s.HEADS, self._heads.ctypes.data),
            (s.RESULT, self._result.ctypes.data),
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


def _functions(names: FunctionNames, table: RowTable) -> npt.NDArray[np.int64]:
    """Disjoint functions by symbols and table entries: int64[n, 3] of start, end, owner.

    The owner of a function is its number, from 1; that of a cold part, which a compiler
    moved out of its function, is the function's.
    """
    ends: dict[int, int] = {}
    starts, stops = names.all_bounds()
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        # A label inside a function is no function.
        bounds = names.bounds(start)
        if bounds is not None and bounds[0] == start:
            ends[start] = max(ends.get(start, 0), stop)
    for start, stop in table.function_bounds:
        inside = names.bounds(start)
        if inside is None or inside[0] == start or stop > inside[1]:
            ends[start] = max(ends.get(start, 0), stop)
    ordered = sorted(ends)
    following = [*ordered[1:], _FOREVER][: len(ordered)]
    called = [names.place(start).function for start in ordered]
    numbers = {name: number for number, name in enumerate(called, 1) if name is not None}
    rows = []
    for number, (start, after, name) in enumerate(zip(ordered, following, called, strict=True), 1):
        whole, cold, _ = (name or "").partition(".cold")
        owner = numbers.get(whole, number) if cold else number
        rows.append((start, min(ends[start], after), owner))
    return np.array(rows, np.int64).reshape(-1, 3)
