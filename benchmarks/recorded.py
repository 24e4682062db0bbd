"""Points of a program's run as files of other tools: a core each, and recordings of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.stopping import Stop, span, spread, stops
from emu.check.options import RunOptions
from emu.export.core import write_core
from emu.export.perf_layout import (
    CONTEXT_USER,
    CONTEXT_USER_DEFERRED,
    MOST_FRAMES,
    AttrFlag,
    Event,
    SampleType,
    flag_bits,
)
from emu.export.perf_records import Comm, DeferredChain, Mmap, PerfSample, Record, SampleId
from emu.export.perfdata import Host, write_perf
from emu.export.registers import pack_perf, values
from emu.linux.credentials import PID
from emu.memory import EXECUTE
from emu.unwind.walker import ModuleTable, walk

CHAIN, STACK, DEFERRED = "perf, chain", "perf, stack", "perf, deferred"
_BASE = (
    SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.PERIOD
    | SampleType.CALLCHAIN
)  # fmt: skip
_FLAGS = flag_bits(
    AttrFlag.MMAP, AttrFlag.COMM, AttrFlag.TASK, AttrFlag.SAMPLE_ID_ALL, AttrFlag.MMAP2,
    AttrFlag.COMM_EXEC,
)  # fmt: skip
_COPY = 60_000
"""Most bytes of stack in a sample."""
_SPARE = 3
"""So many points are tried in each part of a run."""


@dataclass(slots=True)
class Recorded:
    """What was written.

    `truths` has the PC and the true return addresses of each point, innermost first; `cores`
    one core each, `recordings` the perf.data files by kind; `passed` counts the points at which
    not even .eh_frame leads to the true stack, so that no reader could be asked.
    """

    truths: list[tuple[int, ...]] = field(default_factory=list)
    cores: list[Path] = field(default_factory=list)
    recordings: dict[str, Path] = field(default_factory=dict)
    passed: int = 0


def record(
    program: str, options: RunOptions, path: Callable[[bytes], bytes], folder: Path, count: int,
    most: int, seed: int,
) -> Recorded:  # fmt: skip
    """Run a program and write its files.

    Args:
        program: its path.
        options: of the run.
        path: the reader's name of a file that the guest knows by its argument.
        folder: where the files go.
        count: points, fewer where a part of the run has no good one.
        most: instructions that are looked at.
        seed: of the choice of points.

    Raises:
        UnwindlabError: it cannot be run.
    """
    first, last = span(program, options, most)
    points = spread(first, last, count * _SPARE, seed)
    found, recorder = Recorded(), _Recorder(path)
    part = -1
    for number, stop in enumerate(stops(program, options, points)):
        if number // _SPARE == part:
            continue
        if not _good(stop):
            found.passed += 1
            continue
        part = number // _SPARE
        core = folder / f"core-{len(found.cores)}"
        with core.open("wb") as file:
            write_core(file, stop.process(), path)
        found.cores.append(core)
        found.truths.append(stop.truth)
        recorder.add(stop)
    found.recordings = recorder.write(folder)
    return found


def _good(stop: Stop) -> bool:
    """The .eh_frame leads to the true stack, and that fits into a sample.

    Whether it says that the last frame is the last is another question: a start in assembly
    often has no rows.
    """
    session = stop.session
    sample, truth = session.sample(), session.true_callers()
    tables = [ModuleTable(i.start, i.end, i.bias, i.module.table) for i in session.code]
    high = session.process.stack.high
    return (
        walk(sample, tables).return_addresses == list(truth)
        and len(truth) < MOST_FRAMES
        and 0 < high - sample.registers[session.arch.sp] < _COPY
    )


class _Recorder:
    """Makes the same samples in three ways."""

    def __init__(self, path: Callable[[bytes], bytes]) -> None:
        self._path = path
        self._records: dict[str, list[Record]] = {CHAIN: [], STACK: [], DEFERRED: []}
        self._mapped: set[tuple[int, int, bytes]] = set()
        self._host: Host | None = None
        self._mask = 0

    def add(self, stop: Stop) -> None:
        """A sample of a run, which has gone on since the last one."""
        session = stop.session
        arch, time = session.arch, stop.number
        where = SampleId(PID, PID, time, 0, 1)
        if self._host is None:
            self._host, self._mask = Host(arch), arch.export.perf_mask
            self._to_all([Comm(PID, PID, b"recorded", True, SampleId(PID, PID, 0, 0, 1))])
        for mapping in session.process.mappings:
            key = (mapping.start, mapping.end, mapping.file.path)
            if mapping.permissions & EXECUTE and key not in self._mapped:
                self._mapped.add(key)
                size, name = mapping.end - mapping.start, self._path(mapping.file.path)
                self._to_all(
                    [Mmap(PID, PID, mapping.start, size, mapping.offset, name, where=where)]
                )
        sample = session.sample()
        sp = sample.registers[arch.sp]
        registers = pack_perf(arch, self._mask, values(arch, stop.process().threads[0]))
        stack = session.memory.read_some(sp, session.process.stack.high - sp)
        pc, truth = sample.pc, stop.truth
        self._records[CHAIN].append(PerfSample(where, pc, 0, 1, (CONTEXT_USER, *truth)))
        self._records[STACK].append(PerfSample(where, pc, 0, 1, (), registers, stack))
        # Two samples of one entry to the kernel, which have one user part.
        chain = (CONTEXT_USER_DEFERRED, time)
        later = SampleId(PID, PID, time + 1, 0, 1)
        self._records[DEFERRED] += [
            PerfSample(where, pc, 0, 1, chain),
            PerfSample(later, pc, 0, 1, chain),
            DeferredChain(time, truth, SampleId(PID, PID, time + 2, 0, 1)),
        ]

    def write(self, folder: Path) -> dict[str, Path]:
        """The files by kind; none if there was no sample."""
        if self._host is None:
            return {}
        events = {
            CHAIN: Event("instructions", _BASE, _FLAGS, 1, (1,)),
            STACK: Event(
                "instructions", _BASE | SampleType.REGS_USER | SampleType.STACK_USER,
                _FLAGS | flag_bits(AttrFlag.EXCLUDE_CALLCHAIN_USER), 1, (1,),
                user_registers=self._mask, user_stack=_COPY // 8 * 8,
            ),
            DEFERRED: Event(
                "instructions", _BASE,
                _FLAGS | flag_bits(AttrFlag.DEFER_CALLCHAIN, AttrFlag.DEFER_OUTPUT), 1, (1,),
            ),
        }  # fmt: skip
        found = {}
        for kind, event in events.items():
            found[kind] = folder / f"{kind.replace(', ', '-')}.data"
            with found[kind].open("wb") as file:
                write_perf(file, self._host, [event], self._records[kind])
        return found

    def _to_all(self, records: Sequence[Record]) -> None:
        for each in self._records.values():
            each.extend(records)
