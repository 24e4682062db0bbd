import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emu.errors import UnwindlabError
from emu.report.dump import dump
from tests.emu.elf_file import ElfFile, ElfSection
from tests.emu.sframe.section import Function, section

DATA = Path(__file__).parents[2] / "data" / "sframe"
EXPECTATIONS = sorted(DATA.glob("*.json"))
ROWS = bytes.fromhex("000308 040310")


def good() -> bytes:
    return section(3, 3, [Function(0x100, 16, ROWS, 2)], fixed_ra=-8)


def answer(path: Path, tmp_path: Path) -> tuple[int, Any]:
    """Exit status and JSON of one dump."""
    output = tmp_path / "answer.json"
    status = dump(str(path), "json", str(output))
    return status, json.loads(output.read_text())


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "emu.cli", "dump", *arguments],
        stdout=options.pop("stdout", subprocess.PIPE),
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        **options,
    )


def difference(want: Any, got: Any, path: str = "") -> str:
    """Where `got` lacks something of `want`; lists must have equal lengths."""
    if isinstance(want, dict):
        for key, value in want.items():
            if key not in got:
                return f"{path}.{key} is missing"
            if found := difference(value, got[key], f"{path}.{key}"):
                return found
        return ""
    if isinstance(want, list):
        if len(want) != len(got):
            return f"{path}: {len(got)} entries, not {len(want)}"
        pairs = enumerate(zip(want, got, strict=True))
        return next((d for n, (w, g) in pairs if (d := difference(w, g, f"{path}[{n}]"))), "")
    return "" if want == got else f"{path}: {got!r}, not {want!r}"


# ------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"", "offset 0x0: the file is empty", id="empty"),
        pytest.param(b"#!/bin/sh\n", "offset 0x0: neither ELF nor SFrame", id="script"),
        pytest.param(b"\x7fELF\2\1\1", "offset 0x7", id="cut ELF file"),
        pytest.param(ElfFile([]).write(), "no section .sframe", id="no section"),
        pytest.param(b"\xe2\xde\7" + bytes(40), "offset 0x2: unknown version 7", id="version"),
        pytest.param(
            ElfFile([ElfSection(".sframe", 1, b"\0" * 40)]).write(),
            ".sframe: offset 0x0: magic 00 00",
            id="magic in an ELF file",
        ),
    ],
)
def test_refusal(content: bytes, words: str, tmp_path: Path) -> None:
    """What cannot be decoded is one line with the file, the offset and the reason."""
    path = tmp_path / "subject"
    path.write_bytes(content)
    with pytest.raises(UnwindlabError) as caught:
        dump(str(path), "json", str(tmp_path / "answer"))
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert words in text
    assert "\n" not in text


def test_refusal_on_the_command_line(tmp_path: Path) -> None:
    """The command prints that line to stderr, nothing to stdout, and exits with 2."""
    result = run(str(tmp_path / "none"), "--format", "json")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"unwindlab: {tmp_path / 'none'}: No such file or directory\n"


def test_output_cannot_be_written(tmp_path: Path) -> None:
    """A full disk or a missing folder is one line and exit status 2 too."""
    path = tmp_path / "good.sframe"
    path.write_bytes(good())
    with open("/dev/full", "w") as full:
        result = run(str(path), stdout=full)
    assert result.returncode == 2
    assert result.stderr == "unwindlab: stdout: cannot be written: No space left on device\n"
    result = run(str(path), "-o", str(tmp_path / "no" / "file"))
    assert result.returncode == 2
    reason = "cannot be written: No such file or directory"
    assert result.stderr == f"unwindlab: {tmp_path}/no/file: {reason}\n"


def test_closed_pipe(tmp_path: Path) -> None:
    """A reader that has seen enough is no error."""
    path = tmp_path / "long.sframe"
    path.write_bytes(section(3, 3, [Function(0x100, 16, ROWS, 2)] * 4000, fixed_ra=-8))
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as pipe:
        result = run(str(path), stdout=pipe)
    assert (result.returncode, result.stderr) == (0, "")


# -------------------------------------------------------------------------------- answers


def test_faults_are_exit_status_1(tmp_path: Path) -> None:
    """Faults come with offset and reason, everything else is still there."""
    path = tmp_path / "bad.sframe"
    data = bytearray(good())
    data[46] = 0x40  # info: reserved bit 6
    path.write_bytes(data)
    status, found = answer(path, tmp_path)
    assert status == 1
    assert found["faults"] == [{"offset": 46, "reason": "reserved bits 0x40 are set"}]
    assert [row["cfa"] for row in found["fdes"][0]["rows"]] == ["sp+8", "sp+16"]
    text = run(str(path))
    assert text.returncode == 1
    assert "1 fault\n  offset 0x2e: reserved bits 0x40 are set\n" in text.stdout


@pytest.mark.parametrize("expectation", EXPECTATIONS, ids=lambda path: path.stem)
def test_files_of_the_assembler(expectation: Path, tmp_path: Path) -> None:
    """Files that assembler and linker made give what their own readelf prints."""
    wanted = json.loads(expectation.read_text())
    status, found = answer(DATA / wanted["file"], tmp_path)
    assert status == wanted["exit"]
    assert difference(wanted["json"], found) == ""


def test_there_are_expectations() -> None:
    """An empty folder would let the test above pass."""
    assert len(EXPECTATIONS) >= 8


def test_text() -> None:
    """The text has readelf's columns, and names where the file has symbols."""
    lines = run(str(DATA / "v3-amd64-endsexe.elf")).stdout.splitlines()
    assert any(line.endswith("STARTPC           CFA         FP          RA") for line in lines)
    assert any("RA undefined" in line for line in lines)
    assert any("signal frame" in line for line in lines)
    assert any("<" in line and "flex" in line for line in lines)
    assert lines[-1] == "0 faults"


def test_dump_loads_no_heavy_library() -> None:
    """A small section is decoded without compiler, emulator, disassembler or ELF writer."""
    code = (
        "import sys; from emu.report.dump import dump;"
        f"dump({str(DATA / 'v3-amd64-obj.o')!r}, 'json', '/dev/null');"
        "print([m for m in ('numba', 'unicorn', 'capstone', 'lief') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    assert result.stdout == "[]\n"
