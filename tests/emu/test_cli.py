"""The command line: usage errors, whose options are whose, and where the report goes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arch.x86_64 import X86_64
from tests.emu.machine.elf_program import code_program
from tests.support.runs import Command, program
from tests.support.waits import waits_at_most

CLEAN = "x86_64-clean-chain"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nonsense",),
        ("check",),
        ("check", "--nonsense", "prog"),
        ("check", "--table", "orc", "prog"),
        ("check", "--every", "0", "prog"),
        ("check", "--every", "-1", "prog"),
        ("check", "--nth", "0", "prog"),
        ("check", "--max-instructions", "many", "prog"),
        ("check", "--timeout", "0", "prog"),
        ("check", "--timeout", "inf", "prog"),
        ("check", "--timeout", "nan", "prog"),
        ("check", "--memory", "0", "prog"),
        ("check", "--memory", "2T", "prog"),
        ("check", "--env", "novalue", "prog"),
        ("check", "--env", "=x", "prog"),
        ("check", "--lookup", "other", "prog"),
        ("check", "--gaps", "maybe", "prog"),
        ("check", "--seed", "x", "prog"),
        ("check", "--format", "yaml", "prog"),
        ("dump",),
        ("dump", "one", "two"),
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_usage_errors(arguments: tuple[str, ...], command: Command) -> None:
    """One line that begins with the command's name, exit status 2."""
    assert command.refuse(*arguments).startswith("unwindlab")


@pytest.mark.parametrize("arguments", [("--help",), ("check", "--help"), ("dump", "--help")])
def test_help(arguments: tuple[str, ...], command: Command) -> None:
    """Help is no error and goes to stdout."""
    answer = command(*arguments)
    assert (answer.status, answer.stderr) == (0, "")
    assert "usage: unwindlab" in answer.stdout


# x86-64: writes what it is given, then exits with status 0.
ECHO_ARGUMENT = bytes.fromhex(
    "488b742418"  # mov 24(%rsp), %rsi: argv[2]
    "ba06000000 bf01000000 b801000000 0f05"  # write(1, argv[2], 6)
    "31ff b83c000000 0f05".replace(" ", "")  # exit(0)
)
ECHO_STDIN = bytes.fromhex(
    "4883ec20 31ff 4889e6 ba20000000 31c0 0f05"  # read(0, sp, 32)
    "89c2 bf01000000 4889e6 b801000000 0f05"  # write(1, sp, what came)
    "31ff b83c000000 0f05".replace(" ", "")
)
ECHO_ENVIRONMENT = bytes.fromhex(
    "488b742418"  # mov 24(%rsp), %rsi: envp[0], as argc is 1
    "ba05000000 bf01000000 b801000000 0f05 31ff b83c000000 0f05".replace(" ", "")
)
BYTES_NO_TEXT = bytes.fromhex(
    "6affbf01000000 4889e6 ba02000000 b801000000 0f05 31ff b83c000000 0f05".replace(" ", "")
)  # push $-1; write(1, sp, 2)


def made(folder: Path, code: bytes) -> str:
    """A program of this code, without any table."""
    path = folder / "echo"
    path.write_bytes(code_program(X86_64, code).to_bytes())
    return str(path)


def guest_output(command: Command, *arguments: str) -> str:
    """What the guest of ``check --format json --table sframe`` wrote."""
    answer = command("check", "--format", "json", "--table", "sframe", *arguments)
    assert answer.status == 0, answer
    output: str = answer.json["guest"]["stdout"]
    return output


@pytest.mark.compiled
def test_options_after_the_program_are_the_guests(command: Command, tmp_path: Path) -> None:
    """argv[1] and argv[2] look like our options."""
    path = made(tmp_path, ECHO_ARGUMENT)
    assert guest_output(command, path, "--table", "--pac1") == "--pac1"


@pytest.mark.compiled
@pytest.mark.parametrize("option", ["--help", "-o", "--seed", "--", "--format=json"])
def test_any_option_after_the_program(option: str, command: Command, tmp_path: Path) -> None:
    """Nothing behind PROGRAM is ours, whatever it is called."""
    path = made(tmp_path, ECHO_ARGUMENT)
    assert guest_output(command, path, option, "second") == "second"


@pytest.mark.compiled
def test_stdin_of_the_guest(command: Command, tmp_path: Path) -> None:
    """The bytes of --stdin, not ours."""
    (tmp_path / "input").write_bytes(b"from the file")
    path = made(tmp_path, ECHO_STDIN)
    assert guest_output(command, "--stdin", str(tmp_path / "input"), path) == "from the file"
    assert guest_output(command, path) == ""


@pytest.mark.compiled
def test_stdin_of_the_guest_from_a_pipe(command: Command, tmp_path: Path) -> None:
    """A FIFO is read to its end, as the shell's <(...) needs it; so is one of --known."""
    for name in ("input", "known"):
        os.mkfifo(tmp_path / name)
    writers = [
        subprocess.Popen(["sh", "-c", f"printf '{text}' > '{tmp_path}/{name}'"])
        for name, text in (("input", "from a pipe"), ("known", ""))
    ]
    path = made(tmp_path, ECHO_STDIN)
    with waits_at_most(60):
        options = ("--stdin", str(tmp_path / "input"), "--known", str(tmp_path / "known"))
        assert guest_output(command, *options, path) == "from a pipe"
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]


@pytest.mark.parametrize("arguments", [
    ("dump",), ("compare",), ("synth",), ("convert", "--sframe-version", "2"), ("check",),
    ("backtrace", "--at", "main"),
], ids=lambda arguments: arguments[0])  # fmt: skip
def test_a_pipe_is_no_program(
    arguments: tuple[str, ...], command: Command, tmp_path: Path
) -> None:
    """It cannot be read twice, and nobody waits for one who writes to it."""
    os.mkfifo(tmp_path / "pipe")
    with waits_at_most(60):
        line = command.refuse(*arguments, str(tmp_path / "pipe"))
    assert line == f"unwindlab: {tmp_path}/pipe: not a regular file"


@pytest.mark.compiled
def test_environment_of_the_guest(command: Command, tmp_path: Path) -> None:
    """Only what --env gives, first things first."""
    path = made(tmp_path, ECHO_ENVIRONMENT)
    assert guest_output(command, "--env", "A=b=c", "--env", "D=e", path) == "A=b=c"


@pytest.mark.compiled
def test_output_that_is_no_text(command: Command, tmp_path: Path) -> None:
    """In JSON, bytes that are no UTF-8 become U+FFFD."""
    assert guest_output(command, made(tmp_path, BYTES_NO_TEXT)) == "\ufffd\ufffd"


@pytest.mark.compiled
def test_json_is_one_object(command: Command) -> None:
    """Nothing else is on stdout, and nothing on stderr."""
    answer = command("check", "--format", "json", program(CLEAN))
    assert isinstance(json.loads(answer.stdout), dict)
    assert answer.stderr == ""


@pytest.mark.compiled
def test_json_has_the_keys_of_the_contract(command: Command) -> None:
    """Keys may be added; these stay."""
    answer = command("check", "--format", "json", program("x86_64-fp-off-by-8")).json
    assert set(answer) >= {
        "program", "arch", "table", "guest", "verdicts", "caller_verdicts", "coverage",
        "unsupported_syscalls", "findings", "gaps", "samples",
    }  # fmt: skip
    assert set(answer["guest"]) >= {"exit_status", "stopped", "instructions", "stdout", "stderr"}
    assert set(answer["coverage"]) >= {"table_bytes", "checked_bytes"}
    (finding,) = answer["findings"]
    assert set(finding) >= {
        "verdict", "module", "function", "section", "role", "start", "end", "start_offset",
        "count", "checked", "expected", "got", "row", "disassembly",
    }  # fmt: skip
    assert set(finding["expected"]) == set(finding["got"]) == {"cfa", "ra", "fp"}


@pytest.mark.compiled
@pytest.mark.parametrize("format", ["text", "json"])
def test_report_to_a_file(format: str, command: Command, tmp_path: Path) -> None:
    """-o FILE has what stdout would have, and stdout has nothing."""
    target = tmp_path / "report"
    shown = command("check", "--format", format, program(CLEAN))
    answer = command("check", "--format", format, "-o", str(target), program(CLEAN))
    assert (answer.status, answer.stdout, answer.stderr) == (0, "", "")
    assert target.read_text() == shown.stdout


@pytest.mark.compiled
def test_a_reader_that_has_seen_enough() -> None:
    """A closed pipe is no error of ours: no traceback, the exit status stays."""
    process = subprocess.Popen(
        [sys.executable, "-m", "emu.cli", "check", "--format", "json", program(CLEAN)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(timeout=60), errors) == (0, b"")


@pytest.mark.compiled
def test_exit_status_of_the_process() -> None:
    """Findings are exit status 1 to the shell as well."""
    done = subprocess.run(
        [sys.executable, "-m", "emu.cli", "check", program("x86_64-wrong-fp")],
        capture_output=True, cwd=ROOT, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.compiled
@pytest.mark.parametrize("target", ["/dev/full", "&-"])
def test_a_report_that_cannot_be_written(target: str) -> None:
    """A full device or a closed stdout is a refusal of one line, not a finding."""
    command = f"exec {sys.executable} -m emu.cli check {program(CLEAN)} >{target}"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("unwindlab: stdout: ")
    assert done.stderr.count("\n") == 1
