"""The cache of compiled code, shared by processes while its sources change."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.compiled

ROOT = Path(__file__).parents[2]

CONSTANTS, EDITED = "FACTOR = 2\n", "FACTOR = 2 + 1\n"
KERNEL = """
import numba
from constants import FACTOR

@numba.njit(cache=True)
def scale(value):
    return value * FACTOR
"""
PROCESS = """
import fcntl, json, os, shutil, sys
from pathlib import Path
import numba, numpy
from emu import compiled

numba.config.CACHE_DIR = os.environ.get("NUMBA_CACHE_DIR", "")
folder = Path(sys.argv[1])
compiled._ROOT, compiled.SOURCES = folder, ("constants.py", "kernel.py")
compiled.choose_cache()
chosen = Path(numba.config.CACHE_DIR)
sys.path.insert(0, str(folder))
TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float32", "float64", "complex64", "complex128"]
"""
REPORT = """
print(json.dumps({
    "values": {name: complex(kernel.scale(getattr(numpy, name)(5))).real for name in order},
    "compiled": sum(kernel.scale.stats.cache_misses.values()),
    "chosen": str(chosen),
}))
"""
RUN = PROCESS + "import kernel\norder = TYPES[:2]\n" + REPORT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two sources, of which one freezes a constant of the other."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "constants.py").write_text(CONSTANTS)
    (tmp_path / "emu").mkdir()
    return tmp_path


def start(
    script: str, folder: Path, *arguments: str, **environment: str
) -> subprocess.Popen[str]:
    """A process that reads a line of stdin where the script does."""
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    return subprocess.Popen(
        [sys.executable, "-B", "-c", script, str(folder), *arguments], cwd=ROOT,
        env=kept | environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(script: str, folder: Path, **environment: str) -> Any:
    """What a process reports that must not fail."""
    process = start(script, folder, **environment)
    output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    return json.loads(output)


@pytest.mark.parametrize("environment", [{}, {"NUMBA_CACHE_DIR": "{}/numba"}])
def test_processes_that_begin_together(environment: dict[str, str], folder: Path) -> None:
    """Each compiles, in an order of its own, what the others compile; later ones load it right."""
    environment = {name: value.format(folder) for name, value in environment.items()}
    script = PROCESS + (
        "import kernel\n"
        "print('ready', flush=True)\n"
        "at = int(sys.stdin.readline())\n"
        "order = TYPES[at:] + TYPES[:at]\n"
    ) + REPORT  # fmt: skip
    processes = [start(script, folder, **environment) for _ in range(4)]
    assert [line_of(process) for process in processes] == ["ready"] * 4
    for number, process in enumerate(processes):
        assert process.stdin is not None
        process.stdin.write(f"{3 * number}\n")
        process.stdin.flush()
    answers = [process.communicate(timeout=120) for process in processes]
    assert [(process.returncode, errors) for process, (_, errors) in zip(
        processes, answers, strict=True)] == [(0, "")] * 4  # fmt: skip
    last = run(PROCESS + "import kernel\norder = TYPES\n" + REPORT, folder, **environment)
    for answer in (*(json.loads(output) for output, _ in answers), last):
        assert len(answer["values"]) == 12
        assert set(answer["values"].values()) == {10.0}
    assert last["compiled"] == 0


GATES = """
from numba.core.caching import IndexDataCacheFile as Files
def announced(work, word, gate):
    def run(*arguments):
        print(word, flush=True)
        if gate:
            sys.stdin.readline()
        return work(*arguments)
    return run
fcntl.flock = announced(fcntl.flock, "waiting", False)
Files._save_index = announced(Files._save_index, "index", sys.argv[2] == "index")
Files._save_data = announced(Files._save_data, "data", sys.argv[2] == "data")
import kernel
kernel.scale(int(1) if sys.argv[2] == "data" else 1.0)
"""


def test_two_that_write_at_once(folder: Path) -> None:
    """One stops between the reading and the writing of numba's index, the other before its data.

    Without a lock both would take the same number, and the code of one be found as the other's.
    """
    assert run(PROCESS + "print(0)", folder) == 0
    first = start(PROCESS + GATES, folder, "index")
    while (word := line_of(first)) != "index":
        assert word == "waiting"
    second = start(PROCESS + GATES, folder, "data")
    while (word := line_of(second)) not in ("waiting", "data"):
        assert word == "index"
    for process in (first, second):
        _, errors = process.communicate("\n", timeout=120)
        assert (process.returncode, errors) == (0, "")
    answer = run(PROCESS + "import kernel\norder = ['int64', 'float64']\n" + REPORT, folder)
    assert (answer["compiled"], answer["values"]) == (0, {"int64": 10.0, "float64": 10.0})


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate(timeout=120)
    return line.rstrip()


def test_sources_that_change_while_a_process_runs(folder: Path) -> None:
    """Code of the changed sources is right, and is not taken for that of the old ones."""
    edit = (
        "(folder / 'constants.py').write_text(sys.stdin.readline())\n"
        "import kernel\norder = TYPES[:2]\n"
    )
    process = start(PROCESS + edit + REPORT, folder)
    output, errors = process.communicate(EDITED, timeout=120)
    assert errors == ""
    assert json.loads(output)["values"] == {"int8": 15.0, "int16": 15.0}
    (folder / "constants.py").write_text(CONSTANTS)
    answer = run(RUN, folder)
    assert answer["chosen"] == json.loads(output)["chosen"]
    assert answer["values"] == {"int8": 10.0, "int16": 10.0}
    assert answer["compiled"] == 2
    assert run(RUN, folder)["compiled"] == 0


@pytest.mark.parametrize("size", [0, 40])
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_damaged_files(ending: str, size: int, folder: Path) -> None:
    """What was cut when the power failed is compiled again, and whole again."""
    assert run(RUN, folder)["compiled"] == 2
    cut = list(folder.rglob(f"*.{ending}"))
    assert cut
    for path in cut:
        os.truncate(path, size)
    for compiled in (2, 0):
        answer = run(RUN, folder)
        assert (answer["compiled"], answer["values"]) == (compiled, {"int8": 10.0, "int16": 10.0})


def test_a_folder_that_is_gone(folder: Path) -> None:
    """Somebody removes it while it is in use: the process compiles, and does not fail."""
    gone = (
        "import kernel\nkernel.scale(1)\n"
        "shutil.rmtree(chosen)\nchosen.write_text('in the way')\norder = TYPES[:2]\n"
    )
    assert run(PROCESS + gone + REPORT, folder)["values"] == {"int8": 10.0, "int16": 10.0}


def test_no_folder_at_all(folder: Path) -> None:
    """Where none can be written there is one for the process alone, and nothing stays."""
    (folder / "temporary").mkdir()
    environment = {"NUMBA_CACHE_DIR": "/dev/null/cache", "TMPDIR": str(folder / "temporary")}
    answer = run(RUN, folder, **environment)
    assert (answer["compiled"], answer["values"]) == (2, {"int8": 10.0, "int16": 10.0})
    assert answer["chosen"].startswith(f"{folder}/temporary/unwindlab-")
    assert os.listdir(folder / "temporary") == []


def old_folders(parent: Path) -> list[str]:
    """Folders of six earlier sources, oldest first, beside what has such a name by chance."""
    names = [f"compiled-{number:016x}" for number in range(6)]
    parent.mkdir(parents=True)
    for age, name in enumerate(names):
        (parent / name).mkdir()
        (parent / name / "code.nbc").write_text("code")
        os.utime(parent / name, (1000 + age, 1000 + age))
    for name in ("compiled-notes", "compiled-0123456789ABCDEF", "compiled-00000000000000000"):
        (parent / name).mkdir()
        os.utime(parent / name, (1, 1))
    return names


def test_folders_of_earlier_sources(folder: Path) -> None:
    """Only the oldest go, only where the folder is our own, and only when a new one is made."""
    parent = folder / "emu" / "__pycache__"
    names = old_folders(parent)
    others = {"compiled-notes", "compiled-0123456789ABCDEF", "compiled-00000000000000000"}
    chosen = Path(run(RUN, folder)["chosen"])
    assert chosen.parent == parent
    left = {path.name for path in parent.iterdir()}
    assert left == {*names[-3:], *others, chosen.name, "compiled.lock"}
    assert Path(run(RUN, folder)["chosen"]) == chosen
    assert {path.name for path in parent.iterdir()} == left


def test_nothing_is_removed_from_a_folder_of_the_user(folder: Path) -> None:
    """Whatever is in NUMBA_CACHE_DIR stays, caches of other versions of this program too."""
    parent = folder / "numba"
    old_folders(parent)
    before = {path.name for path in parent.iterdir()}
    chosen = Path(run(RUN, folder, NUMBA_CACHE_DIR=str(parent))["chosen"])
    assert {path.name for path in parent.iterdir()} == {*before, chosen.name, "compiled.lock"}
    assert (parent / "compiled-0000000000000000" / "code.nbc").read_text() == "code"
