"""Points of a program's run as files of other tools: a core each, and recordings of all."""

from __future__ import annotations

import functools
import io
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elftools.dwarf.callframe import FDE, RegisterRule
from elftools.elf.elffile import ELFFile

from benchmarks.stopping import Stop, span, spread, stops
from emu.check.options import RunOptions
from emu.check.session import Session
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
from emu.image import Image
from emu.linux.credentials import PID
from emu.memory import EXECUTE
from emu.unwind.walker import ModuleTable, walk
from emu.verdict import Verdict

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
_SPARE = 6
"""So many times more points are tried than are wanted."""


@dataclass(frozen=True, slots=True)
class Truth:
    """PC and true return addresses, innermost first.

    `ends`: the .eh_frame says so of the last one. A start in assembly often has no rows, and what
    a reader finds behind it is its own guess. `names`: of the functions in which the addresses
    lie, all that each has; empty where no symbol covers one. `image` and `address`: the first
    PC's file, and where it is there.
    """

    pcs: tuple[int, ...]
    ends: bool
    names: tuple[frozenset[str], ...]
    image: Image
    address: int

    def keeps_in_registers(self) -> bool:
        """The first function keeps registers of its caller in others, as its .eh_frame says."""
        file = ELFFile(io.BytesIO(self.image.data))
        for entry in file.get_dwarf_info().EH_CFI_entries():
            if not isinstance(entry, FDE):
                continue
            start, size = entry["initial_location"], entry["address_range"]
            if start <= self.address < start + size:
                rows = [row for row in entry.get_decoded().table if row["pc"] <= self.address]
                kinds = [rule.type for rule in rows[-1].values() if isinstance(rule, RegisterRule)]
                return RegisterRule.REGISTER in kinds
        return False


@dataclass(slots=True)
class Recorded:
    """What was written.

    `truths` has one of each point; `cores` a core each, `recordings` the perf.data files by
    kind; `passed` counts the points at which not even .eh_frame leads to the true stack, so that
    no reader could be asked.
    """

    truths: list[Truth] = field(default_factory=list)
    cores: list[Path] = field(default_factory=list)
    recordings: dict[str, Path] = field(default_factory=dict)
    passed: int = 0


def record(
    program: str, options: RunOptions, path: Callable[[bytes], bytes],
    folder: Path, count: int, most: int, seed: int,
) -> Recorded:  # fmt: skip
    """Run a program and write its files.

    Args:
        program: its path.
        options: of the run.
        path: the name in what is written of a file that the guest knows by its argument.
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
    for number, stop in enumerate(stops(program, options, points)):
        # One of each part of the run; for a part without a good one, one more of the next.
        if len(found.truths) > number // _SPARE:
            continue
        truth = _truth(stop)
        if truth is None:
            found.passed += 1
            continue
        core = folder / f"core-{len(found.cores)}"
        with core.open("wb") as file:
            write_core(file, stop.process(), path)
        found.cores.append(core)
        found.truths.append(truth)
        recorder.add(stop)
    found.recordings = recorder.write(folder)
    return found


def _truth(stop: Stop) -> Truth | None:
    """None: .eh_frame does not lead to the true stack, or that does not fit into a sample."""
    session = stop.session
    sample, callers = session.sample(), session.true_callers()
    tables = [ModuleTable(i.start, i.end, i.bias, i.module.table) for i in session.code]
    size = session.process.stack.high - sample.registers[session.arch.sp]
    trace = walk(sample, tables)
    if (
        tuple(trace.return_addresses[: len(callers)]) != callers
        or len(callers) >= MOST_FRAMES
        or not 0 < size < _COPY
    ):
        return None
    ends = len(trace.return_addresses) == len(callers) and trace.stop is Verdict.OUTERMOST
    item = session.code.find(sample.pc)
    if item is None:
        return None
    names = tuple(_names(session, pc) for pc in stop.truth)
    return Truth(stop.truth, ends, names, item.module.image, sample.pc - item.bias)


def _names(session: Session, pc: int) -> frozenset[str]:
    item = session.code.find(pc)
    if item is None:
        return frozenset()
    bounds = item.module.names.bounds(pc - item.bias)
    if bounds is None:
        return frozenset()
    return _aliases(item.module.image).get(bounds[0], frozenset())


@functools.cache
def _aliases(image: Image) -> dict[int, frozenset[str]]:
    """By address."""
    found: dict[int, set[str]] = defaultdict(set)
    for symbol in image.symbols:
        found[symbol.value].add(symbol.name)
    return {address: frozenset(names) for address, names in found.items()}


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
