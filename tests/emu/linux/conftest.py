"""A kernel over a small tree of the host, on each machine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from arch import ALL, Arch
from tests.emu.linux.caller import Caller


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A directory of the host that the guest may see, still empty."""
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture(params=ALL, ids=lambda arch: arch.name)
def start(request: pytest.FixtureRequest, tmp_path: Path, root: Path) -> Callable[[], Caller]:
    """Starts a guest of each machine when `root` is ready."""
    arch: Arch = request.param
    return lambda: Caller(tmp_path, arch, root)


@pytest.fixture
def call(start: Callable[[], Caller]) -> Caller:
    """System calls of a guest of each machine, whose tree is an empty directory."""
    return start()


@pytest.fixture
def one(tmp_path: Path, root: Path) -> Caller:
    """As `call`, on one machine, for what machines do not see differently."""
    return Caller(tmp_path, ALL[0], root)
