"""`backtrace --core` and `backtrace --perf` as a user calls them."""

import json
import lzma
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from arch.x86_64 import X86_64
from emu.export.perfdata import Host, write_perf
from testprogs.unpack import Prebuilt
from tests.emu.export.recording import events, records
from tests.support.runs import Command

RECORDED = Path(__file__).parents[2] / "data" / "recorded"
EXPECTED = json.loads((RECORDED / "expected.json").read_text())


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)


@pytest.fixture
def core(tmp_path: Path) -> str:
    """The kernel's core of a test program."""
    return unpacked("frames.core.xz", tmp_path)


@pytest.fixture
def recording(tmp_path: Path) -> str:
    """perf's recording of another one."""
    return unpacked("work.data.xz", tmp_path)


def unpacked(name: str, folder: Path) -> str:
    """A file of tests/data/recorded."""
    path = folder / name.removesuffix(".xz")
    path.write_bytes(lzma.decompress((RECORDED / name).read_bytes()))
    return str(path)


def program(prebuilt: Mapping[tuple[str, str], Prebuilt], name: str) -> str:
    """Path of a test program."""
    return str(prebuilt["x86_64", name].path)


def test_a_core_with_its_program(
    command: Command, core: str, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """One line a frame by every table; nothing contradicts."""
    answer = command("backtrace", "--core", core, program(prebuilt, "frames-v3-O2-nofp"))
    lines = answer.stdout.splitlines()
    assert (answer.status, answer.stderr) == (0, "")
    assert lines[0] == f"{core}: x86_64"
    assert ": frames-v3-O2-nofp: aligned_early+0x23, 0x401c53" in lines[2]
    assert lines[4].split() == [
        "#0", "0x401c8b", "same", "same", "frames-v3-O2-nofp:", "aligned_early+0x5b"
    ]  # fmt: skip
    assert lines[-1] == "1 stacks, 1 by both tables, 0 contradictions"


def test_a_core_in_json(
    command: Command, core: str, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """Return addresses as gdb has them, by both tables."""
    path = program(prebuilt, "frames-v3-O2-nofp")
    answer = command("backtrace", "--core", core, "--format", "json", path)
    (stack,) = answer.json["stacks"]
    assert [stack["pc"], *stack["walks"]["cfi"]["walk"]] == EXPECTED["gdb"]
    assert stack["walks"]["sframe"]["walk"] == stack["walks"]["cfi"]["walk"]
    assert (stack["difference"], answer.json["different"]) == (None, 0)


def test_a_core_whose_files_are_in_a_folder(
    command: Command, core: str, tmp_path: Path, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """--root has the files under the names that the core has for them."""
    root = tmp_path / "root"
    (root / "elsewhere").mkdir(parents=True)
    shutil.copy(program(prebuilt, "frames-v3-O2-nofp"), root / "elsewhere" / "file")
    (root / "prog").symlink_to("/elsewhere/file")
    answer = command("backtrace", "--core", core, "--root", str(root))
    assert answer.status == 0
    assert ": prog: aligned_early+0x23" in answer.stdout


def test_a_core_without_its_files(command: Command, core: str, tmp_path: Path) -> None:
    """Nothing to walk by: one line says which file is missing."""
    answer = command("backtrace", "--core", core, "--root", str(tmp_path))
    assert answer.status == 2
    assert "nothing could be walked: " in answer.stderr
    assert "/prog: not below --root" in answer.stderr


def test_a_recording(
    command: Command, recording: str, prebuilt: Mapping[tuple[str, str], Prebuilt], tmp_path: Path
) -> None:
    """All samples in JSON, walked as perf does it."""
    root = tmp_path / "root"
    root.mkdir()
    shutil.copy(program(prebuilt, "work-musl-v3-O2"), root / "work")
    words = ("backtrace", "--perf", recording, "--root", str(root))
    answer = command(*words, "--format", "json")
    stacks = [each for each in answer.json["stacks"] if each["walks"]]
    walked = [
        [s["time"], [s["pc"], *(hex(int(ra, 16) - 1) for ra in s["walks"]["cfi"]["walk"])]]
        for s in stacks
    ]
    assert walked == EXPECTED["perf"]
    text = command(*words)
    assert text.status == 0
    assert "more stacks" in text.stdout


def test_a_recording_without_stacks(command: Command, tmp_path: Path) -> None:
    """Samples that only have chains cannot be walked."""
    path = tmp_path / "perf.data"
    with path.open("wb") as file:
        write_perf(file, Host(X86_64), events(X86_64)[:1], records(X86_64)[:7])
    line = command.refuse("backtrace", "--perf", str(path))
    assert "no sample with registers and stack: record --call-graph dwarf" in line


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "backtrace: the following arguments are required: PROGRAM"),
        (("--core", "{file}"), "offset 0x0: not an ELF file"),
        (("--perf", "{file}"), "offset 0x0: not a perf.data file"),
        (("--core", "{file}", "--perf", "{file}"), "takes neither --at nor ARG"),
        (("--core", "{file}", "--at", "main"), "takes neither --at nor ARG"),
        (("--core", "{file}", "prog", "more"), "takes neither --at nor ARG"),
        (("--core", "{file}.none"), "No such file or directory"),
    ],
)
def test_refusals(command: Command, tmp_path: Path, words: tuple[str, ...], reason: str) -> None:
    """One line on stderr, exit status 2."""
    file = tmp_path / "file"
    file.write_bytes(b"neither" * 40)
    line = command.refuse("backtrace", *(word.format(file=file) for word in words))
    assert reason in line
