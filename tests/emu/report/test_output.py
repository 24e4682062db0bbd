"""Files of -o: whole or not at all, never over an input, and what is no file as it is."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from emu.errors import UsageError
from emu.report.output import refuse_inputs, write_file, write_pieces, write_report
from testprogs.unpack import Prebuilt
from tests.support.runs import Command
from tests.support.waits import waits_at_most

Programs = Mapping[tuple[str, str], Prebuilt]

ROOT = Path(__file__).parents[3]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)


@pytest.fixture
def program(prebuilt: Programs, tmp_path: Path) -> Path:
    """A copy of a program."""
    path = tmp_path / "program"
    path.write_bytes(prebuilt["x86_64", "flow-v3-O2-nofp"].path.read_bytes())
    return path


# ------------------------------------------------------------------------------------- the inputs
COMMANDS = (
    ("dump", "{}"), ("synth", "{}"), ("convert", "--sframe-version", "2", "{}"),
    ("compare", "{}"), ("compare", "{}:sframe", "{}:cfi"), ("compare", "/bin/true", "{}:cfi"),
    pytest.param(("check", "{}"), marks=pytest.mark.compiled),
    pytest.param(("check", "--known", "{}", "/bin/true"), marks=pytest.mark.compiled),
    pytest.param(("check", "--stdin", "{}", "/bin/true"), marks=pytest.mark.compiled),
    pytest.param(("backtrace", "--at", "main", "{}"), marks=pytest.mark.compiled),
)  # fmt: skip


@pytest.mark.parametrize("name", ["itself", "symlink", "hardlink", "other/../program"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_an_input_is_not_written_over(
    arguments: tuple[str, ...], name: str, command: Command, program: Path
) -> None:
    """Whatever the output is called: one line, and the file is as it was."""
    folder = program.parent
    (folder / "other").mkdir()
    (folder / "symlink").symlink_to("program")
    os.link(program, folder / "hardlink")
    before, files = program.read_bytes(), sorted(os.listdir(folder))
    output = str(program) if name == "itself" else f"{folder}/{name}"
    words = [word.format(program) for word in arguments]
    line = command.refuse(words[0], "-o", output, *words[1:])
    assert line == f"unwindlab: {output}: cannot be written: it is the input {program}"
    assert program.read_bytes() == before
    assert sorted(os.listdir(folder)) == files


@pytest.mark.parametrize("arguments", COMMANDS[:5], ids=" ".join)
def test_another_file_is_written(
    arguments: tuple[str, ...], command: Command, program: Path, tmp_path: Path
) -> None:
    """An equal file is not the same file; the input stays as it was."""
    before, output = program.read_bytes(), tmp_path / "output"
    output.write_bytes(before)
    words = [word.format(program) for word in arguments]
    assert command(words[0], "-o", str(output), *words[1:]).status == 0
    assert program.read_bytes() == before
    assert output.read_bytes() != before


def test_a_device_may_be_input_and_output() -> None:
    """Nothing is lost when /dev/null is written over."""
    refuse_inputs("/dev/null", "/dev/null")


# ------------------------------------------------------------------------------------ whole or not
def failing() -> Iterator[str]:
    """A report whose second part cannot be made."""
    yield "first\n" * 100_000
    raise KeyboardInterrupt


@pytest.mark.parametrize("there", [True, False])
def test_an_interrupted_report_leaves_the_old_file(there: bool, tmp_path: Path) -> None:
    """Or none, where there was none; and nothing else in the folder."""
    path = tmp_path / "report"
    if there:
        path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_pieces(failing(), str(path))
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("report", "old")][:there]


def test_a_reader_sees_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    """While a report is written the old one is there as a whole."""
    path = tmp_path / "report"
    path.write_text("old")

    def pieces() -> Iterator[str]:
        yield "first " * 100_000
        assert path.read_text() == "old"
        yield "last"

    write_pieces(pieces(), str(path))
    assert path.read_text() == "first " * 100_000 + "last"


def test_a_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    path = tmp_path / "report"
    path.write_text("old")
    script = (
        "import resource, signal, sys\n"
        "from emu.report.output import write_report\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "write_report('x' * 100_000, sys.argv[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], cwd=ROOT, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert f"UsageError: {path}: cannot be written: File too large" in done.stderr
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("report", "old")]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o4755])
def test_permissions_stay(mode: int, tmp_path: Path) -> None:
    """Those of the file that was there; but other contents do not run as somebody else."""
    path = tmp_path / "report"
    path.write_text("old")
    path.chmod(mode)
    write_report("new", str(path))
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode & 0o777


def test_permissions_of_a_new_file(tmp_path: Path) -> None:
    """Those that the umask leaves, or those of a file that it is like."""
    old, plain, like = (tmp_path / name for name in ("old", "plain", "like"))
    old.write_bytes(b"x")
    old.chmod(0o4751)
    before = os.umask(0o027)
    try:
        write_file(str(plain), b"contents")
        write_file(str(like), b"contents", like=str(old))
    finally:
        os.umask(before)
    assert stat.S_IMODE(plain.stat().st_mode) == 0o640
    assert stat.S_IMODE(like.stat().st_mode) == 0o751


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_one(there: bool, tmp_path: Path) -> None:
    """What it leads to, over another one and from elsewhere, is written or made."""
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "target"
    if there:
        target.write_text("old")
    (tmp_path / "folder" / "second").symlink_to("target")
    (tmp_path / "first").symlink_to("folder/second")
    write_report("new", str(tmp_path / "first"))
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "folder" / "second").is_symlink()
    assert target.read_text() == "new"
    assert sorted(os.listdir(tmp_path / "folder")) == ["second", "target"]


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """No folder, a folder, a strange name, no such model: one line, and no file is left."""
    for name in ("missing/new", "", "new/", "a\0b", "x" * 300, "loop"):
        if name == "loop":
            (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(UsageError, match=r"cannot be written: [A-Za-z]"):
            write_file(f"{tmp_path}/{name}", b"contents")
    (tmp_path / "loop").unlink()
    with pytest.raises(UsageError, match="cannot be written"):
        write_file(str(tmp_path / "new"), b"contents", like=str(tmp_path / "gone"))
    assert os.listdir(tmp_path) == []


def test_a_protected_file_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rename would not ask for the permission to write that the file itself refuses."""
    path = tmp_path / "report"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda name, mode: False)
    with pytest.raises(UsageError, match="Permission denied"):
        write_report("new", str(path))
    assert path.read_text() == "old"


# ------------------------------------------------------------------------------- what is no file
def test_devices(tmp_path: Path) -> None:
    """They are written to and stay what they are; a full one says so."""
    write_report("text", "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    (tmp_path / "null").symlink_to("/dev/null")
    write_report("text", str(tmp_path / "null"))
    assert stat.S_ISCHR((tmp_path / "null").stat().st_mode)
    with pytest.raises(UsageError, match="/dev/full: cannot be written: No space left"):
        write_report("text", "/dev/full")


def test_a_pipe(tmp_path: Path) -> None:
    """The reader of a FIFO gets the report; one that has seen enough is no error."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for size in (100, 1 << 20):
        with subprocess.Popen(["head", "-c", "100", path], stdout=subprocess.PIPE) as reader:
            try:
                with waits_at_most(30):
                    write_report("x" * size, str(path))
                    assert reader.communicate()[0] == b"x" * 100
            finally:
                reader.kill()
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_stdout_by_name(name: str, tmp_path: Path) -> None:
    """The open file is written, so that what the shell writes next comes behind it."""
    path = tmp_path / "out"
    script = f"from emu.report.output import write_report; write_report('text\\n', {name!r})"
    with path.open("ab") as file:
        subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, stdout=file, check=True, timeout=60
        )
        file.write(b"more\n")
    assert path.read_text() == "text\nmore\n"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=True, timeout=60
    )
    assert done.stdout == b"text\n"


def test_a_closed_stdout() -> None:
    """Any command refuses it in one line."""
    line = f"exec {sys.executable} -m emu.cli dump tests/data/s390x/extensions >&-"
    done = subprocess.run(
        ["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (2, "unwindlab: stdout: closed\n")
