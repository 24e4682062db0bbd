"""What is installed, under which names."""

import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import arch
import emu

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_wheel_has_two_packages(tmp_path: Path) -> None:
    """A built wheel installs `arch` and `emu` and nothing else at the top level."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    information = f"{PROJECT['name']}-{PROJECT['version']}.dist-info"
    assert {name.split("/")[0] for name in names} == {"arch", "emu", information}
    assert "emu/check/hook.py" in names


def test_packages_share_one_folder() -> None:
    """Both come from this checkout, not one of them from elsewhere."""
    assert arch.__file__ is not None
    assert emu.__file__ is not None
    assert {Path(arch.__file__).parents[1], Path(emu.__file__).parents[1]} == {ROOT}


def test_no_other_distribution_has_the_names() -> None:
    """The plain names `arch` and `emu` are ours alone in this environment."""
    owners = metadata.packages_distributions()
    assert {*owners.get("arch", ()), *owners.get("emu", ())} <= {PROJECT["name"]}


def test_version_is_written_once() -> None:
    """The version stands in pyproject.toml only."""
    sources = [*(ROOT / "arch").rglob("*.py"), *(ROOT / "emu").rglob("*.py"), ROOT / "README.md"]
    assert [path for path in sources if PROJECT["version"] in path.read_text()] == []
    assert metadata.version(PROJECT["name"]) == PROJECT["version"]


def test_command_is_installed() -> None:
    """The command `unwindlab` stands beside the interpreter and explains itself."""
    command = Path(sys.executable).with_name("unwindlab")
    run = subprocess.run([command, "--help"], capture_output=True, text=True, check=True)
    assert "check" in run.stdout
    assert "Exit status: 0 nothing found, 1 findings, 2 the job could not be done." in run.stdout
