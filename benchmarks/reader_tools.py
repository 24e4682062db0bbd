"""The debuggers and profilers that must read our files, fetched below the cache folder.

They come unpacked from Debian sid and run on this host by their own dynamic linker: nothing is
installed, and no root is needed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.packages import forget_lists, needed, unpack_into
from emu.fuzz.roots import cache_folder
from testprogs.build import BuildError

SUITE, MACHINE = "sid", "x86_64"
PACKAGES = {"gdb-multiarch": "gdb", "elfutils": "eu-stack", "linux-perf": "perf"}
"""Package -> what the table calls it."""
_LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LINKER = f"{_LIBRARIES}/ld-linux-x86-64.so.2"
_TIMEOUT = 600
_FRAME = re.compile(r"#\d+\s+0x([0-9a-f]+)")

# The program counters of each thread of each core, outermost last. A function that was inlined,
# or that called another one in its place, has no frame: gdb shows them by debug information.
_GDB = """
import gdb, json, os
request = json.loads(os.environ["READERS"])
for line in request["setup"]:
    gdb.execute(line, to_string=True)
answer = []
for core in request["cores"]:
    gdb.execute("core-file " + core, to_string=True)
    gdb.execute("maintenance flush dcache", to_string=True)  # else it shows the last core's stack
    stacks = []
    for thread in gdb.selected_inferior().threads():
        thread.switch()
        pcs = []
        try:
            frame = gdb.newest_frame()
            while frame is not None:
                if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
                    pcs.append(frame.pc())
                frame = frame.older()
        except gdb.error:
            pass
        while pcs and not pcs[-1]:
            pcs.pop()  # a return address of 0 ends the stack, but is shown
        stacks.append([thread.ptid[1], pcs])
    answer.append(stacks)
with open(request["out"], "w") as out:
    json.dump(answer, out)
"""


@dataclass(frozen=True, slots=True)
class Tools:
    """The readers; made by `fetch_tools`."""

    folder: Path
    versions: dict[str, str]

    def run(self, name: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run one of their programs."""
        linker = [str(self.folder / _LINKER), "--library-path", str(self.folder / _LIBRARIES)]
        return subprocess.run(
            [*linker, str(self.folder / "usr/bin" / name), *words], capture_output=True,
            text=True, errors="replace", check=False, timeout=_TIMEOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONHOME": str(self.folder / "usr"), "LC_ALL": "C", **env},
        )  # fmt: skip

    def gdb(self, program: Path, cores: Sequence[Path], sysroot: Path | None) -> list[list[int]]:
        """The program counters of all frames of each core's first thread, innermost first.

        Raises:
            BuildError: gdb gives no answer.
        """
        return [stacks[-1][1] for stacks in self._gdb(program, cores, sysroot)]

    def gdb_threads(self, program: Path, core: Path) -> dict[int, list[int]]:
        """As `gdb`, of one core's threads by their ids."""
        return dict(self._gdb(program, [core], None)[0])

    def _gdb(
        self, program: Path, cores: Sequence[Path], sysroot: Path | None
    ) -> list[list[tuple[int, list[int]]]]:
        out = cores[0].with_name("gdb.json")
        script = out.with_suffix(".py")
        script.write_text(_GDB)
        # With libc's debug file at hand, gdb 18.1 loses callers that it finds without it.
        setup = [
            "set debug-file-directory /nowhere", "set backtrace past-main on", f"file {program}"
        ]  # fmt: skip
        if sysroot is not None:
            setup.insert(0, f"set sysroot {sysroot}")
        request = {"setup": setup, "cores": [str(core) for core in cores], "out": str(out)}
        out.unlink(missing_ok=True)
        data = f"--data-directory={self.folder}/usr/share/gdb"
        done = self.run(
            "gdb-multiarch", "-nx", "-batch", data, "-x", str(script), READERS=json.dumps(request)
        )
        if not out.exists():
            raise BuildError(f"gdb: {done.stderr[-300:]}")
        answer: list[list[tuple[int, list[int]]]] = json.loads(out.read_text())
        return answer

    def eu_stack(self, program: Path, core: Path, sysroot: Path | None) -> list[int]:
        """As `gdb`, for one core."""
        more = [f"--sysroot={sysroot}"] if sysroot is not None else []
        done = self.run("eu-stack", "-n", "0", "-e", str(program), *more, f"--core={core}")
        return [int(match[1], 16) for match in _FRAME.finditer(done.stdout)]

    def perf_script(self, data: Path, symfs: Path | None) -> list[tuple[list[int], list[str]]]:
        """Addresses and symbols of each sample, innermost first, as perf shows them.

        Raises:
            BuildError: perf cannot read the file.
        """
        words = ["script", "-f", "-i", str(data), "-F", "time,ip,sym", "--no-inline"]
        done = self.run("perf", *words, *_symfs(symfs))
        if done.returncode:
            raise BuildError(f"perf script: {done.stderr.strip()[-300:]}")
        samples: list[tuple[list[int], list[str]]] = []
        for line in done.stdout.splitlines():
            if line.rstrip().endswith(":"):
                samples.append(([], []))
            elif line.strip():
                address, symbol = line.split(maxsplit=1)
                samples[-1][0].append(int(address, 16))
                samples[-1][1].append(symbol.strip())
        return samples

    def perf_report(self, data: Path, symfs: Path | None) -> int:
        """Samples that `perf report` counts.

        Raises:
            BuildError: perf cannot read the file.
        """
        words = ["report", "-f", "-i", str(data), "--stdio", "-n", "-g", "none", "-F", "sample"]
        done = self.run("perf", *words, *_symfs(symfs))
        if done.returncode:
            raise BuildError(f"perf report: {done.stderr.strip()[-300:]}")
        lines = (line.strip() for line in done.stdout.splitlines())
        return sum(int(line) for line in lines if line.isdigit())


def fetch_tools() -> Tools:
    """Fetch what is missing.

    Raises:
        BuildError: it cannot be had.
    """
    folder = cache_folder() / "readers"
    record = folder.with_name("readers.json")
    if not record.exists():
        versions = needed(SUITE, MACHINE, PACKAGES)
        partial = folder.with_name(".readers")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            unpack_into(SUITE, MACHINE, sorted(versions), partial)
        except BuildError:
            forget_lists(SUITE, MACHINE)
            versions = needed(SUITE, MACHINE, PACKAGES)
            unpack_into(SUITE, MACHINE, sorted(versions), partial)
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)
        record.write_text(json.dumps({name: versions[name] for name in PACKAGES}) + "\n")
    return Tools(folder, json.loads(record.read_text()))


def _symfs(folder: Path | None) -> list[str]:
    return [f"--symfs={folder}"] if folder is not None else []
