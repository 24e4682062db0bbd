"""The `compare` command over test programs."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from emu.cli import main
from testprogs.unpack import Prebuilt

Programs = Mapping[tuple[str, str], Prebuilt]


def path_of(prebuilt: Programs, arch: str, name: str) -> str:
    return str(prebuilt[arch, name].path)


def test_tables_that_agree(
    prebuilt: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 0, and the bytes add up to the executable ones."""
    path = path_of(prebuilt, "s390x", "flow-v3-O2-nofp")
    assert main(["compare", "--format", "json", path]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["differences"] == []
    assert sum(answer["addresses"].values()) == answer["coverage"]["executable"]
    assert set(answer["sizes"][path]) == {".sframe", ".eh_frame"}


def test_a_contradiction_is_named(
    prebuilt: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    """binutils 2.40 writes a CFA on rbx as one on SP: exit 1, function and both rows."""
    path = path_of(prebuilt, "x86_64", "handcfi-v1-O2-nofp")
    assert main(["compare", path]) == 1
    text = capsys.readouterr().out
    assert "differs hand_other_cfa" in text
    assert "first   CFA=sp+16 RA=c-8 FP=u\n  second  CFA=r3+16 RA=c-8 FP=u" in text


def test_two_files(prebuilt: Programs, capsys: pytest.CaptureFixture[str]) -> None:
    """One file's table against the same file's other one, named on both sides."""
    path = path_of(prebuilt, "aarch64", "flow-v3-O2-nofp")
    assert main(["compare", "--format", "json", f"{path}:cfi", f"{path}:sframe"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["first"], answer["second"]) == (f"{path}:cfi", f"{path}:sframe")


def test_what_cannot_be_compared(
    prebuilt: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two machines, a program and an object, no such file: exit 2 and one line."""
    one = path_of(prebuilt, "aarch64", "flow-v3-O2-nofp")
    for other in (
        path_of(prebuilt, "s390x", "flow-v3-O2-nofp"),
        path_of(prebuilt, "aarch64", "flow-v3-object"),
        str(tmp_path / "missing"),
    ):
        assert main(["compare", one, other]) == 2
        error = capsys.readouterr().err
        assert other in error
        assert error.count("\n") == 1
