"""What this machine itself writes, read by us and by its own tools: cores and a recording.

Only where the host is an x86-64 Linux that leaves cores in the folder of the program, and lets
perf sample; what cannot be had is said in words.
"""

from __future__ import annotations

import os
import platform
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.reader_tools import Tools
from emu.export.files import Files
from emu.export.perf_layout import CONTEXT_MAX
from emu.export.perf_samples import machine_of, stack_samples
from emu.export.read_core import read_core
from emu.export.read_perf import read_perf
from emu.unwind.walker import walk
from emu.verdict import Verdict

_PATTERN = Path("/proc/sys/kernel/core_pattern")
_THREADS = (
    "import os, threading, time\n"
    "for _ in range(3): threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    "time.sleep(0.2); sorted([2, 1], key=lambda n: os.abort())"
)
_CRASHES = {"sh": ["/bin/sh", "-c", "kill -SEGV $$"], "python": [sys.executable, "-c", _THREADS]}
_RECORDED = ["ls", "-lR", "/usr/share"]


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """How many stacks of a file of this machine we and its own reader show alike.

    `first` is the first other one, in words, and `left_out` counts those that a copy of the
    stack cannot tell: a register of the caller lies below SP, where nothing was copied.
    """

    file: str
    reader: str
    stacks: int
    equal: int
    left_out: int = 0
    first: str = ""


def host_files(tools: Tools, folder: Path) -> Iterator[HostAnswer | str]:
    """Answers, or why there is none."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        yield "this host is no x86-64 Linux: no files of its own"
        return
    for name, words in _CRASHES.items():
        yield _core(tools, name, words, folder)
    yield _recording(tools, folder)


def _core(tools: Tools, name: str, words: list[str], folder: Path) -> HostAnswer | str:
    program = Path(os.path.realpath(words[0]))
    pattern = _PATTERN.read_text().strip()
    if "/" in pattern or pattern.startswith("|"):
        return f"no core of {name}: core_pattern is {pattern!r}"
    place = folder / name
    place.mkdir()
    size = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    done = subprocess.run(
        [program, *words[1:]], cwd=place, capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, size),
    )  # fmt: skip
    found = list(place.iterdir())
    if done.returncode not in (-signal.SIGSEGV, -signal.SIGABRT) or len(found) != 1:
        return f"no core of {name}: it ended with {done.returncode}"
    core = read_core(str(found[0]))
    files = core.files()
    places = files.places(core.mapped_code())
    tables = files.tables(places, "cfi")
    ours = {
        thread.tid: [frame.pc for frame in walk(core.sample(thread), tables).frames]
        for thread in core.threads
    }
    theirs = tools.gdb_threads(program, found[0])
    wrong = [tid for tid in theirs if theirs[tid] != ours.get(tid)]
    first = ""
    if wrong:
        shown = [" ".join(map(hex, each.get(wrong[0], []))) for each in (theirs, ours)]
        first = f"thread {wrong[0]}: gdb {shown[0]}, we {shown[1]}"
    return HostAnswer(f"core of {name}", "gdb", len(theirs), len(theirs) - len(wrong), 0, first)


def _recording(tools: Tools, folder: Path) -> HostAnswer | str:
    data = folder / "perf.data"
    done = tools.run(
        "perf", "record", "-q", "-e", "cpu-clock:u", "-F", "499", "--call-graph", "dwarf,16384",
        "-o", str(data), "--", *_RECORDED,
    )  # fmt: skip
    if done.returncode or not data.exists():
        return f"no recording: perf: {done.stderr.strip()[-200:]}"
    file = read_perf(str(data))
    arch = machine_of(file)
    files = Files(arch)
    theirs = [
        [pc for pc in pcs if pc < CONTEXT_MAX] for pcs, _ in tools.perf_script(data, None)
    ]
    equal = left_out = 0
    first = ""
    samples = list(stack_samples(file, arch))
    if len(samples) != len(theirs):
        return HostAnswer("perf record", "perf", len(theirs), 0, 0, f"we read {len(samples)}")
    for sample, wanted in zip(samples, theirs, strict=True):
        trace = walk(sample.sample, files.tables(files.places(sample.code), "cfi"))
        got = [trace.frames[0].pc, *(pc - 1 for pc in trace.return_addresses)]
        if got == wanted:
            equal += 1
        elif trace.stop is Verdict.UNREADABLE and wanted[: len(got)] == got:
            left_out += 1
        elif not first:
            shown = [" ".join(map(hex, each)) for each in (wanted, got)]
            first = f"at {sample.time}: perf {shown[0]}, we {shown[1]}"
    return HostAnswer("perf record", "perf", len(theirs), equal, left_out, first)
