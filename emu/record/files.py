"""A recording as files of other tools: perf.data, speedscope, folded stacks."""

from collections.abc import Iterator
from typing import BinaryIO

from arch import Arch
from emu.deferred.records import Deferred, Entry, Lost, Round
from emu.deferred.stitch import Stitched
from emu.export.folded import folded_text
from emu.export.perf_layout import CONTEXT_MAX, AttrFlag, Event, SampleType, flag_bits
from emu.export.perf_records import (
    Comm,
    DeferredChain,
    FinishedRound,
    Mmap,
    PerfSample,
    Record,
    SampleId,
)
from emu.export.perf_records import Lost as PerfLost
from emu.export.perfdata import Host, write_perf
from emu.export.profile import Profile
from emu.export.speedscope import speedscope_text
from emu.linux.credentials import PID
from emu.record.plan import EVENT, Recording, RecordPlan

_TYPE = (
    SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.CPU
    | SampleType.PERIOD | SampleType.CALLCHAIN
)  # fmt: skip
_FLAGS = (
    AttrFlag.MMAP, AttrFlag.COMM, AttrFlag.TASK, AttrFlag.SAMPLE_ID_ALL, AttrFlag.MMAP2,
    AttrFlag.COMM_EXEC,
)  # fmt: skip
_DEFERRED = (AttrFlag.DEFER_CALLCHAIN, AttrFlag.DEFER_OUTPUT)
_KERNEL, _KERNEL_SIZE = 0xFFFF_FFFF_8100_0000, 0x100_0000


def write_perf_data(
    file: BinaryIO, arch: Arch, name: bytes, plan: RecordPlan, recording: Recording
) -> None:
    """Write what perf has recorded.

    Args:
        file: empty, open for writing, with seek.
        arch: the machine.
        name: of the program.
        plan: how it was sampled.
        recording: what came of it.
    """
    flags = (*_FLAGS, *_DEFERRED) if plan.deferral != "none" else _FLAGS
    event = Event("instructions", _TYPE, flag_bits(*flags), plan.every or 1, (EVENT,))
    host = Host(arch, cpus=plan.cpus)
    write_perf(file, host, [event], _records(name, plan, recording))


def _records(name: bytes, plan: RecordPlan, recording: Recording) -> Iterator[Record]:
    """In the order of the file; a mapping comes before what is later."""
    yield Comm(PID, PID, name, True, SampleId(PID, PID, 0, 0, EVENT))
    yield Mmap(
        -1, 0, _KERNEL, _KERNEL_SIZE, _KERNEL, b"[kernel.kallsyms]_text",
        where=SampleId(0, 0, 0, 0, EVENT), kernel=True,
    )  # fmt: skip
    waiting = list(recording.mappings)
    for entry in recording.perf:
        while waiting and not isinstance(entry, Round) and waiting[0].where.time <= entry.time:
            yield waiting.pop(0)
        yield _record(entry, plan, recording)
    yield from waiting


def _record(entry: Entry, plan: RecordPlan, recording: Recording) -> Record:
    if isinstance(entry, Round):
        return FinishedRound()
    if isinstance(entry, Lost):
        return PerfLost(entry.count, False, EVENT, SampleId(PID, PID, entry.time, 0, EVENT))
    moment = recording.moments[entry.entry]
    where = SampleId(entry.pid, entry.tid, entry.time, moment.cpu, EVENT)
    if isinstance(entry, Deferred):
        return DeferredChain(entry.cookie, entry.ips, where)
    # The innermost address, which the kernel's part begins with where there is one.
    address = next((ip for ip in entry.chain[1:2] if ip < CONTEXT_MAX), moment.pc)
    if entry.waits and len(entry.chain) == 2:
        address = moment.pc
    in_kernel = address >= _KERNEL
    return PerfSample(
        where, address, 0, plan.every or 1, entry.chain, misc=1 if in_kernel else 2
    )


def profiles(plan: RecordPlan, recording: Recording) -> list[Profile]:
    """What the policy found, as far as it was stitched, and the truth of the same samples."""
    own = [one for one in recording.stitched["cookie"] if one.sample.event == "cycles"]
    weight = plan.every or 1
    found, truth = [], []
    for one in own:
        moment = recording.moments[one.sample.entry]
        found.append((_found(one, recording), weight))
        truth.append((moment.names, weight))
    return [Profile(plan.policy, found), Profile("truth", truth)]


def _found(one: Stitched, recording: Recording) -> tuple[str, ...]:
    if one.record is None:
        return ("[lost]",)
    return recording.moments[one.record.entry].found_names


def write_profile(kind: str, name: str, plan: RecordPlan, recording: Recording) -> str:
    """The text of a file for a viewer: ``speedscope``, or ``folded`` stacks of the policy."""
    both = profiles(plan, recording)
    return speedscope_text(name, both) if kind == "speedscope" else folded_text(both[0])


