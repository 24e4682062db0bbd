"""Run a program to its end, or to a point, and say what was found."""

import threading
import time
from collections.abc import Callable

from emu.check.codemap import CheckedModule
from emu.check.options import Point, RunOptions, parse_point
from emu.check.result import CheckResult, Guest, SampledStack, judge_walk
from emu.check.session import Session
from emu.errors import UnwindlabError, UsageError
from emu.linux.program import find_program
from emu.machine.engine import EngineStop, StopKind
from emu.unwind.lookup import RowTable
from emu.unwind.sources import KINDS, choose_kind, has_table, row_table
from emu.unwind.walker import ModuleTable, walk

_SLICE = 5_000_000
"""Instructions between two reports of progress."""


class _Watchdog:
    """Stops the engine when the time is over, whatever the guest is doing."""

    def __init__(self, seconds: float, stop: Callable[[], None]) -> None:
        self._end = time.monotonic() + seconds
        self._stop = stop
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def expired(self) -> bool:
        """The time is over."""
        return time.monotonic() >= self._end

    def __enter__(self) -> "_Watchdog":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()

    def bite(self) -> None:
        """Stop the engine if the time is over."""
        if self.expired:
            self._stop()

    def _watch(self) -> None:
        while not self._over.wait(max(0.1, self._end - time.monotonic())):
            # Again and again: between two runs of the engine there is nothing to stop.
            self.bite()


class Run:
    """One run of one program.

    Args:
        program: path of a program, below the root directory if it is there.
        options: of the run.
        every_table: walk each sample by all tables there are, not only the checked one.
        progress: called now and then with the number of executed instructions.

    Raises:
        UnwindlabError: it cannot be run as asked.
    """

    def __init__(
        self,
        program: str,
        options: RunOptions,
        every_table: bool = False,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        self._program = program
        self._options = options
        target = find_program(program, options.root)
        arch = target.image.arch
        if arch is None:
            image = target.image
            raise UsageError(
                f"{program}: machine {image.machine}, {image.byte_order} endian: not supported"
            )
        self.kind = choose_kind(options.table, target.images)
        self._kinds = KINDS if every_table else (self.kind,)
        self._other: dict[tuple[str, str], RowTable] = {}
        try:
            self.session = Session(
                target, lambda image: row_table(image, arch, self.kind), options
            )
            self._point = self._parse_point(options.at)
        except UnwindlabError as error:
            # Not every part that refuses knows the file.
            if program in str(error):
                raise
            raise UsageError(f"{program}: {error}") from error
        self._progress = progress
        self._samples: list[SampledStack] = []
        self._reached = False
        self._stopped = ""
        self._reason = ""

    def _parse_point(self, text: str) -> Point | None:
        if not text:
            return None
        names = self.session.program.module.names
        return parse_point(text, names, self._program, self.session.process.dynamic)

    def to_end(self, stop_at_point: bool = False) -> CheckResult:
        """Run on until the program ends or a limit is reached.

        Args:
            stop_at_point: end the run when the point was sampled (`backtrace`).
        """
        session, options, process = self.session, self._options, self.session.process
        number = self._arm()
        begin = time.monotonic()
        address = process.start()
        with _Watchdog(options.timeout, session.engine.stop) as watchdog:
            process.after_call = watchdog.bite
            while not process.finished and not self._stopped:
                session.pause_at(self._next_pause(number))
                stop = session.engine.run(address)
                address = session.engine.pc
                if process.finished:
                    break
                if watchdog.expired:
                    self._stop("timeout", f"after {options.timeout:g} s")
                elif stop.kind is StopKind.STOPPED and session.paused:
                    self._pause(number, stop_at_point)
                    if not session.execute_clock_read():
                        process.fault(EngineStop(StopKind.MEMORY, address, "write"))
                        break
                    address = session.engine.pc
                else:
                    if stop.kind is StopKind.STOPPED:
                        # Halted: the emulator's PC stands behind the instruction.
                        session.engine.pc = session.last_pc
                    process.fault(stop)
                    break
        return self._result(time.monotonic() - begin)

    def _pause(self, number: int, stop_at_point: bool) -> None:
        """The check stopped the run: at the point, for a sample, or at a limit."""
        session, options = self.session, self._options
        here = session.executed
        if self._progress:
            self._progress(here)
        if session.overflow:
            self._stop("limit", "the shadow stack is full, of calls that never return")
        elif session.hit or here == number:
            self._reached = True
            self._sample()
            if stop_at_point:
                self._stop("point", "")
        elif options.every and here % options.every == 0:
            self._sample()
        if here >= options.max_instructions:
            self._stop("limit", f"the limit of {options.max_instructions} instructions")

    def _arm(self) -> int:
        """Prepare to stop at the point; the instruction's number if it is one, else 0."""
        if self._point is None:
            return 0
        if self._point.instruction:
            return self._point.instruction
        if not self.session.break_at(self._point, self._options.nth):
            place = self._point.symbol or f"{self._point.address:#x}"
            raise UsageError(f"{self._program}: --at {self._options.at}: no code at {place}")
        return 0

    def _next_pause(self, number: int) -> int:
        here = self.session.executed
        pauses = [self._options.max_instructions, here + _SLICE]
        if number > here:
            pauses.append(number)
        if self._options.every:
            pauses.append(here - here % self._options.every + self._options.every)
        return min(pauses)

    def _stop(self, why: str, reason: str) -> None:
        if not self._stopped:
            self._stopped, self._reason = why, reason

    def _sample(self) -> None:
        session = self.session
        sample = session.sample()
        truth = session.true_callers()
        back = int(self._options.lookup == "return")
        walks = {
            kind: walk(sample, self._tables(kind), back)
            for kind in dict.fromkeys((self.kind, *self._kinds))
            if kind == self.kind or self._has(kind)
        }
        self._samples.append(
            SampledStack(
                at=self.where(sample.pc),
                instruction=session.executed,
                pc=sample.pc,
                truth=truth,
                walks=walks,
                verdict=judge_walk(walks[self.kind], truth),
                functions=tuple(self.where(ra, 1) for ra in truth),
            )
        )

    def _has(self, kind: str) -> bool:
        """Some module has a table of that kind, or the machine the convention."""
        arch = self.session.arch
        if kind == "fp":
            return arch.frame_pointer_row is not None
        if kind == "backchain":
            return arch.back_chain_row is not None
        return any(has_table(module.image, kind) for module in self.session.modules)

    def _tables(self, kind: str) -> list[ModuleTable]:
        """All that is mapped, with rows of one kind."""
        return [
            ModuleTable(item.start, item.end, item.bias, self._table(kind, item.module))
            for item in self.session.code
        ]

    def _table(self, kind: str, module: CheckedModule) -> RowTable:
        if kind == self.kind:
            return module.table
        key = (kind, module.name)
        if key not in self._other:
            self._other[key] = row_table(module.image, self.session.arch, kind)
        return self._other[key]

    def where(self, pc: int, back: int = 0) -> str:
        """A runtime address as ``function+0x12``, in a library ``libc.so.6: function+0x12``.

        Where no symbol covers it, as a section or a link-time address. A return address is
        looked up `back` bytes earlier.
        """
        item = self.session.code.find(pc - back)
        if item is None:
            return f"{pc:#x}"
        module, address = item.module, pc - item.bias
        place = module.names.place(address - back)
        where = place.section if back else f"{address:#x}"
        if place.function is not None and place.start is not None:
            where = f"{place.function}+{address - place.start:#x}"
        return where if module is self.session.program.module else f"{module.name}: {where}"

    def _result(self, seconds: float) -> CheckResult:
        session, process = self.session, self.session.process
        if process.finished and not process.killed_by and process.exit_status is None:
            self._stop("timeout", process.reason)
        if process.killed_by and not self._stopped:
            self._stopped = "fault" if process.last_fault else "signal"
            self._reason = process.reason
            self._sample()
        findings, gaps = session.grouping().groups()
        return CheckResult(
            program=self._program,
            arch=session.arch,
            table=self.kind,
            guest=Guest(
                stopped=self._stopped or "exit",
                exit_status=process.exit_status,
                instructions=session.executed,
                stdout=process.stdout,
                stderr=process.stderr,
                signal=process.killed_by,
                reason=self._reason,
                pc=session.engine.pc,
                dropped_output=process.dropped,
            ),
            verdicts=session.verdicts(),
            caller_verdicts=session.caller_verdicts(),
            table_bytes=session.table_bytes(),
            checked_bytes=session.checked_bytes(),
            unsupported=process.unsupported,
            refused=process.refused,
            findings=tuple(findings),
            gaps=tuple(gaps),
            samples=tuple(self._samples),
            missed_point="" if self._reached else self._options.at,
            modules={module.name: module for module in session.modules},
            biases=session.modules.biases,
            truth=session.truth_counts(),
            events_lost=session.events.lost,
            seconds=seconds,
        )
