"""Names of files and functions in text: whatever they hold, a line stays a line."""

import io
import json
import os
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from emu.report import progress
from emu.report.text import complain, printable, text_of
from testprogs.unpack import Prebuilt
from tests.support.runs import Command

Programs = Mapping[tuple[str, str], Prebuilt]

ROOT = Path(__file__).parents[3]
STRANGE = "line\nbreak\t\x1b[31m\u202e\udcff"
"""\udcff is how Python has a byte 0xff of a file name."""
SHOWN = r"line\nbreak\t\x1b[31m\u202e\xff"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "emu.cli", *arguments],
        capture_output=True, check=False, cwd=ROOT, env={**os.environ, **environment}, timeout=120,
    )  # fmt: skip


@pytest.fixture
def strange(prebuilt: Programs, tmp_path: Path) -> str:
    """A program with wrong rows and a name that is no line of text."""
    path = tmp_path / STRANGE
    path.write_bytes(prebuilt["x86_64", "handcfi-v1-O2-nofp"].path.read_bytes())
    return str(path)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain café 日本", "plain café 日本"),
        (STRANGE, SHOWN),
        ("\r\0\x7f\x9b\u2028\U000e0001", r"\r\x00\x7f\x9b\u2028\U000e0001"),
        ("\ud800", r"\ud800"),
    ],
)
def test_printable(text: str, shown: str) -> None:
    """Letters stay; line breaks, controls, invisible characters and raw bytes are escaped."""
    assert printable(text) == shown
    assert text_of([text, "b"]) == f"{shown}\nb\n"


def test_complaint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """On stderr, and on nothing where that is closed."""
    complain(STRANGE)
    assert capsys.readouterr() == ("", f"{SHOWN}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        complain(STRANGE)
    assert capsys.readouterr() == ("", "")


COMMANDS = (
    ("dump",), ("compare",), ("synth",), ("convert", "--sframe-version", "2"),
    pytest.param(("check",), marks=pytest.mark.compiled),
    pytest.param(("backtrace", "--at", "main"), marks=pytest.mark.compiled),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_text_reports(command: tuple[str, ...], strange: str) -> None:
    """The name stands in its line, and nothing but it differs from the report of a plain one."""
    # Of the same length: the guest has it on its stack.
    name = "p" * len(os.fsencode(STRANGE))
    plain = str(Path(strange).parent / name)
    os.link(strange, plain)
    output = run(*command, strange).stdout.decode()
    assert SHOWN in output
    assert all(char.isprintable() or char in "\n\t" for char in output)
    assert output.replace(SHOWN, name) == run(*command, plain).stdout.decode()


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_json_reports(command: tuple[str, ...], encoding: str, strange: str) -> None:
    """JSON whatever stdout can encode, and with the name itself where it has one."""
    done = run(command[0], "--format", "json", *command[1:], strange, PYTHONIOENCODING=encoding)
    assert done.stderr == b""
    answer = json.loads(done.stdout)
    name = {"compare": "first", "synth": "file"}.get(command[0], "program")
    if name in answer:
        assert answer[name].removesuffix(":sframe") == strange


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_errors(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that is missing: one line that names it."""
    line = Command(capsys).refuse(*command, str(tmp_path / STRANGE))
    assert line == f"unwindlab: {tmp_path}/{SHOWN}: No such file or directory"


def test_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """What the option parser says is one line, too."""
    assert SHOWN in Command(capsys).refuse("dump", "one", STRANGE)


@pytest.mark.compiled
def test_a_guest_that_dies(strange: str) -> None:
    """The line about the guest's end names the program."""
    done = run("check", "--max-instructions", "5", strange)
    assert done.returncode == 2
    assert done.stderr.startswith(f"unwindlab: {Path(strange).parent}/{SHOWN}: stopped".encode())
    assert done.stderr.count(b"\n") == 1


def test_progress_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    """The title is no markup and no code of the terminal."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with progress.progress(STRANGE + "[/b]", 10) as advance:
        assert advance is not None
        advance(5)
    assert f"{SHOWN}[/b]" in terminal.getvalue()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_one_corrupt_name_of_a_symbol(
    command: tuple[str, ...], strange: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command takes the file, and nothing but that name is another one."""
    folder = Path(strange).parent
    data = bytearray(Path(strange).read_bytes())
    (folder / "whole").write_bytes(data)
    struct.pack_into("<I", data, symbol(data, b"hand_ra_slot"), 0x7FFFFFFF)
    (folder / "spoil").write_bytes(data)
    whole, spoilt = (Command(capsys)(*command, str(folder / n)) for n in ("whole", "spoil"))
    assert (spoilt.status, spoilt.stderr) == (whole.status, "")
    wanted = whole.stdout.replace("hand_ra_slot", "<corrupt name 0x7fffffff>")
    assert spoilt.stdout.replace("spoil", "whole") == wanted


def symbol(data: bytes, name: bytes) -> int:
    """Offset of the entry of a symbol."""
    (shoff,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    headers = list(struct.iter_unpack("<IIQQQQIIQQ", data[shoff : shoff + 64 * count]))
    table = next(header for header in headers if header[1] == 2)
    strings = headers[table[6]][4]
    for at in range(table[4], table[4] + table[5], 24):
        begin = strings + struct.unpack_from("<I", data, at)[0]
        if data[begin : data.index(b"\0", begin)] == name:
            return at
    raise AssertionError(f"no symbol {name!r}")
