"""A recording made by hand: every kind of record, on every machine."""

import io

from arch import Arch
from emu.export.perf_layout import (
    CONTEXT_KERNEL,
    CONTEXT_USER,
    AttrFlag,
    Event,
    SampleType,
    flag_bits,
)
from emu.export.perf_records import (
    Comm,
    DeferredChain,
    FinishedRound,
    Lost,
    Mmap,
    PerfSample,
    Record,
    SampleId,
    Task,
)
from emu.export.perfdata import Host, write_perf

BASE = (
    SampleType.IDENTIFIER | SampleType.IP | SampleType.TID | SampleType.TIME | SampleType.CPU
    | SampleType.PERIOD | SampleType.CALLCHAIN
)  # fmt: skip
FLAGS = flag_bits(
    AttrFlag.MMAP, AttrFlag.COMM, AttrFlag.TASK, AttrFlag.SAMPLE_ID_ALL, AttrFlag.MMAP2,
    AttrFlag.COMM_EXEC, AttrFlag.DEFER_CALLCHAIN, AttrFlag.DEFER_OUTPUT,
)  # fmt: skip
HIGH = (1 << 64) - 16
"""Of a cookie: the highest bits count."""


def events(arch: Arch) -> list[Event]:
    """Chains by the first event, registers and stacks by the second."""
    wanted = BASE | SampleType.REGS_USER | SampleType.STACK_USER
    return [
        Event("chains", BASE, FLAGS, 1000, (11, 12)),
        Event("stacks", wanted, FLAGS, 7, (13,), user_registers=arch.export.perf_mask,
              user_stack=64, most_frames=40),
    ]  # fmt: skip


def records(arch: Arch) -> list[Record]:
    """One of each kind and form."""
    at = SampleId(pid=100, tid=101, time=5, cpu=3, id=11)
    other = SampleId(pid=100, tid=101, time=9, cpu=1, id=13)
    registers = tuple(0x0102_0304_0506_0708 * (n % 16) for n in range(len(arch.export.perf)))
    return [
        Comm(100, 101, b"name", True, at),
        Comm(100, 102, b"a thread's name", False, at),
        Mmap(100, 101, 0x10000, 0x2000, 0x1000, b"/bin/program", 5, 2, b"", (8, 1), 42, at),
        Mmap(100, 101, 0x20000, 0x1000, 0, b"/lib/library.so", 5, 2, bytes(range(20)), where=at),
        Mmap(100, 101, 0x30000, 0x1000, 0, b"data", 3, 1, where=at),
        Mmap((1 << 32) - 1, 0, 0xFFFF_8000_0000_0000, 1 << 24, 0xFFFF_8000_0000_0000,
             b"[kernel.kallsyms]_text", where=at, kernel=True),
        Task(102, 100, 102, 101, 6, False, at),
        PerfSample(at, 0x10010, 0, 1000, (CONTEXT_USER, 0x10010, 0x10020)),
        FinishedRound(),
        PerfSample(other, 0x10030, 0, 7, (), registers, bytes(range(61))),
        PerfSample(other, 0x10030, 0, 7, (CONTEXT_USER,), (), b""),
        DeferredChain(HIGH, (0x10010, 0x10020, 0x10030), at),
        DeferredChain(1, (), at),
        PerfSample(at, 0xFFFF_8000_0000_0010, 0, 1000, (CONTEXT_KERNEL, 5), misc=1),
        Lost(3, False, 11, at),
        Lost(4, True, 0, at),
        Task(102, 100, 102, 101, 12, True, at),
    ]


def recording(arch: Arch, *more: Record) -> bytes:
    """The file."""
    file = io.BytesIO()
    write_perf(file, Host(arch, cpus=4), events(arch), [*records(arch), *more])
    return file.getvalue()
