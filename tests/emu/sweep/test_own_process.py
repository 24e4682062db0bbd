"""Sweeps in the own process: nothing is left of one when the next begins."""

import gc
import os
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from emu.errors import EmulationError
from emu.machine.engine import Engine, EngineStop
from emu.sweep.result import SweepOptions, SweepResult
from emu.sweep.sweep import Sweep

pytestmark = pytest.mark.compiled

FRAMES = Path(__file__).parents[2] / "data" / "sweep" / "frames"
OBJECTS = tuple(str(FRAMES / f"offset-{name}.o") for name in ("x86_64", "aarch64", "s390x"))
_WARM, _ROUNDS = 40, 60
_MOST_GROWTH = 8 << 20
"""Bytes; one buffer that is left behind has more."""


def _result(sweep: Sweep) -> SweepResult:
    return replace(sweep.run(), seconds=0)


@pytest.fixture
def uncollected() -> Iterator[None]:
    """What is in a cycle stays."""
    gc.disable()
    yield
    gc.enable()


def _held() -> tuple[int, int, int]:
    """Address space and memory of this process in bytes; open files."""
    pages = Path("/proc/self/statm").read_text().split()
    space, memory = (int(count) * os.sysconf("SC_PAGE_SIZE") for count in pages[:2])
    return space, memory, len(os.listdir("/proc/self/fd"))


@pytest.mark.usefixtures("uncollected")
def test_many_sweeps_take_no_more_memory_than_some() -> None:
    """Not even where nobody looks for cycles: emulator, guest memory and files are given back."""
    for number in range(_WARM + _ROUNDS):
        if number == _WARM:
            before = _held()
        path = OBJECTS[number % len(OBJECTS)]
        sweep = Sweep(path, SweepOptions("cfi", jobs=0))
        assert sweep.run().findings
        parts = [weakref.ref(part) for part in (sweep, sweep.room, sweep.room.engine, sweep.sites)]
        del sweep
        assert [part() for part in parts] == [None] * len(parts)
    after = _held()
    assert after[0] - before[0] < _MOST_GROWTH
    assert after[1] - before[1] < _MOST_GROWTH
    assert after[2] == before[2]


@pytest.mark.parametrize("path", OBJECTS)
def test_a_sweep_may_run_again(path: str) -> None:
    """Marks and memory are what they were, whether faults are planted or not."""
    other = SweepOptions("cfi", jobs=1)
    sweep = Sweep(path, SweepOptions("cfi", jobs=0))
    first = _result(sweep)
    assert _result(sweep) == first == _result(Sweep(path, other))
    assert sweep.mutate() == Sweep(path, other).mutate()


def test_a_failure_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the emulator has done up to there is taken back."""
    sweep = Sweep(OBJECTS[0], SweepOptions("cfi", jobs=0))
    count = 0
    run = Engine.run

    def fail(self: Engine, start: int) -> EngineStop:
        nonlocal count
        count += 1
        if count == 20:
            raise EmulationError("not today")
        return run(self, start)

    monkeypatch.setattr(Engine, "run", fail)
    with pytest.raises(EmulationError, match="not today"):
        sweep.run()
    assert _result(sweep) == _result(Sweep(OBJECTS[0], SweepOptions("cfi", jobs=1)))
