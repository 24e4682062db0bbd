"""Runs of programs, written as cores and recordings, read back and walked: the true stack."""

import io
from collections.abc import Mapping

import pytest

from arch import Arch
from benchmarks.stopping import Stop, span, spread, stops
from emu.check.options import RunOptions
from emu.export.core import write_core
from emu.export.files import Files
from emu.export.perf_layout import Event, SampleType
from emu.export.perf_records import Mmap, PerfSample, SampleId
from emu.export.perf_samples import stack_samples
from emu.export.perfdata import Host, write_perf
from emu.export.read_core import core_of
from emu.export.read_perf import parse_perf
from emu.export.registers import pack_perf, values
from emu.image import load_image
from emu.memory import EXECUTE
from emu.trace import Trace
from emu.unwind.walker import ModuleTable, walk
from testprogs.unpack import Prebuilt

pytestmark = pytest.mark.compiled

_POINTS = 6
_WANTED = SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.REGS_USER
_WANTED |= SampleType.STACK_USER


def live(stop: Stop) -> Trace:
    """The walk of the stopped program itself."""
    session = stop.session
    tables = [ModuleTable(i.start, i.end, i.bias, i.module.table) for i in session.code]
    return walk(session.sample(), tables)


def reached(trace: Trace) -> list[tuple[int, int]]:
    """PC and SP of each frame."""
    return [(frame.pc, frame.sp) for frame in trace.frames]


def points(path: str, options: RunOptions) -> list[int]:
    """Instructions to stop at, all over the run."""
    first, last = span(path, options, 1_000_000)
    return spread(first, last, _POINTS, 1)


@pytest.mark.parametrize("name", ["work-musl-v3-O2", "calls-musl-v3-O2-pie"])
def test_cores(arch: Arch, prebuilt: Mapping[tuple[str, str], Prebuilt], name: str) -> None:
    """A core has all that a walk needs: its frames are those of the process."""
    path = str(prebuilt[arch.name, name].path)
    count = true = 0
    for stop in stops(path, RunOptions(), points(path, RunOptions())):
        file = io.BytesIO()
        write_core(file, stop.process())
        core = core_of("a.core", file.getvalue())
        files = core.files(program=load_image(path))
        places = files.places(core.mapped_code())
        trace = walk(core.sample(core.threads[0]), files.tables(places, "cfi"))
        wanted = live(stop)
        assert reached(trace) == reached(wanted)
        assert (trace.stop, files.problems) == (wanted.stop, [])
        count += 1
        true += tuple(trace.return_addresses[: len(stop.truth) - 1]) == stop.truth[1:]
    assert count == _POINTS
    assert true >= 2  # elsewhere code without rows is in between


def test_recordings(arch: Arch, prebuilt: Mapping[tuple[str, str], Prebuilt]) -> None:
    """Registers and a copy of the stack are enough, whatever the byte order."""
    path = str(prebuilt[arch.name, "work-musl-v3-O2"].path)
    event = Event("x", _WANTED, 0, ids=(1,), user_registers=arch.export.perf_mask)
    records: list[Mmap | PerfSample] = []
    wanted = []
    for stop in stops(path, RunOptions(), points(path, RunOptions())):
        session = stop.session
        if not records:
            records += [
                Mmap(1, 1, m.start, m.end - m.start, m.offset, b"/program")
                for m in session.process.mappings
                if m.permissions & EXECUTE
            ]
        known = values(arch, stop.process().threads[0])
        sp = session.sample().registers[arch.sp]
        stack = session.memory.read(sp, session.process.stack.high - sp)
        registers = pack_perf(arch, event.user_registers, known)
        where = SampleId(1, 1, stop.number)
        records.append(PerfSample(where, known["pc"], 0, 0, (), registers, stack))
        wanted.append(reached(live(stop)))
    file = io.BytesIO()
    write_perf(file, Host(arch), [event], records)
    files = Files(arch)
    files.add("/program", load_image(path))
    walked = []
    for sample in stack_samples(parse_perf("a.data", file.getvalue()), arch):
        tables = files.tables(files.places(sample.code), "cfi")
        walked.append(reached(walk(sample.sample, tables)))
    assert walked == wanted
