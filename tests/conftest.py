"""Fixtures of all tests, and what cannot run without the compiler."""

from collections.abc import Mapping

import pytest

import arch as machines
from arch import Arch
from emu.native import COMPILED
from testprogs.unpack import Prebuilt, unpack


@pytest.fixture(params=machines.ALL, ids=lambda arch: arch.name)
def arch(request: pytest.FixtureRequest) -> Arch:
    """Each machine in turn."""
    machine: Arch = request.param
    return machine


@pytest.fixture(scope="session")
def prebuilt() -> Mapping[tuple[str, str], Prebuilt]:
    """The prebuilt test programs, unpacked, by architecture and name."""
    return {(entry.arch, entry.name): entry for entry in unpack()}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect, and so count, what needs compiled code when the compiler is off."""
    if COMPILED:
        return
    unfit = [item for item in items if item.get_closest_marker("compiled")]
    if unfit:
        config.hook.pytest_deselected(items=unfit)
        items[:] = [item for item in items if item not in unfit]
