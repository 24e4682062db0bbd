"""The doctor: its rows, its exit status, and the cache that it fills."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

import pytest

from arch import Arch
from emu.image import parse_image
from emu.report import doctor
from testprogs.unpack import Prebuilt

ROOT = Path(__file__).resolve().parents[3]


def test_libraries_are_those_of_the_project() -> None:
    """The doctor looks for exactly what pyproject.toml requires."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert sorted(doctor.LIBRARIES) == sorted(re.split(r"[<>=]", text)[0] for text in required)


def test_program_of_one_return(arch: Arch) -> None:
    """The sample that each machine executes is a program that the loader accepts."""
    image = parse_image("sample", doctor._program(arch))
    assert image.arch is arch
    assert [segment.flags for segment in image.segments] == [5]


def test_missing_library_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing library is a row that says how to get it, and exit status 2."""
    version = metadata.version

    def without_numba(name: str) -> str:
        if name == "numba":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without_numba)
    assert doctor.doctor() == 2
    output = capsys.readouterr()
    assert re.search(r"^MISSING +numba +pip install numba$", output.out, re.MULTILINE)
    assert output.err.count("\n") == 1


def test_absent_tool_is_no_failure() -> None:
    """What is optional has a row that names its package."""
    item = doctor._tool("no-such-tool", ("--version",), "some-package")
    assert str(item) == "absent   no-such-tool            optional; package some-package"
    assert not item.needed


@pytest.mark.compiled
def test_nothing_is_left_to_compile(
    prebuilt: Mapping[tuple[str, str], Prebuilt], arch: Arch
) -> None:
    """After the doctor, `check` and a full walk compile nothing at first use."""
    command = [sys.executable, "-m", "emu.cli"]
    report = subprocess.run(
        [*command, "doctor"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert report.stdout.count("starts and executes") == 3
    run = subprocess.run(
        [*command, "check", "--every", "1000", prebuilt[arch.name, "frames-v3-O2-nofp"].path],
        cwd=ROOT, env={**os.environ, "NUMBA_DEBUG_CACHE": "1"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert "data loaded" in run.stdout
    assert "data saved" not in run.stdout
