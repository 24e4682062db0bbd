"""What is found on this host, and tools that the user names."""

import platform
import shutil
import sys
from pathlib import Path

import pytest

from emu.cli import main
from emu.fuzz.roots import make_root, roots
from emu.fuzz.toolchains import discover, given_assembler, given_compiler
from emu.fuzz.tools import ToolError
from tests.support.native import needs_gcc


@needs_gcc
def test_this_hosts_own() -> None:
    found = discover().of(platform.machine())
    assert any(each.family == "gcc" and each.tool.root is None for each in found.compilers)
    assert any(each.tool.root is None for each in found.assemblers)
    assert all(each.arch == platform.machine() for each in (*found.compilers, *found.assemblers))


@needs_gcc
def test_given_tools() -> None:
    compiler = given_compiler(["gcc", "-fno-strict-aliasing"])
    assert (compiler.arch, compiler.family) == (platform.machine(), "gcc")
    assert compiler.tool.version[0].isdigit()
    assembler = given_assembler(["as"])
    assert assembler.arch == platform.machine()
    assert assembler.name.endswith(" given")


@needs_gcc
def test_given_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools run in folders of their own."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "as.sh"
    script.write_text('#!/bin/sh\nexec as "$@"\n')
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert given_assembler(["sh", "bin/as.sh"]).arch == platform.machine()
    assert given_assembler(["./bin/as.sh"]).tool.words == (str(script),)


def test_given_tools_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        given_compiler([str(tmp_path / "absent")])
    with pytest.raises(ToolError, match="makes code for nothing known"):
        given_compiler([sys.executable, "-c", "pass"])
    with pytest.raises(ToolError, match="names no machine"):
        given_assembler([sys.executable, "-c", "pass"])


def test_roots_are_those_that_are_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNWINDLAB_CACHE", str(tmp_path))
    assert roots() == []
    half = tmp_path / "toolchains" / "half"
    half.mkdir(parents=True)
    assert roots() == []
    (half / ".unwindlab-packages").write_text("gcc\n")
    assert roots() == [str(half)]
    assert make_root("half", None, print) == half  # made once
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert main(["toolchain", "other"]) == 2
    assert "needs mmdebstrap" in capsys.readouterr().err


@needs_gcc
def test_an_assembler_that_assembles_nothing(tmp_path: Path) -> None:
    """It says what it is; what it says of everything else is told."""
    script = tmp_path / "as"
    script.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec as "$@"\necho "Error: none" >&2\nexit 1\n'
    )
    script.chmod(0o755)
    with pytest.raises(ToolError, match="status 1: Error: none"):
        given_assembler([str(script)])
