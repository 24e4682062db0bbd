"""The same campaign on a real scheduler with two workers, of which one is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from emu.cli import main
from emu.fuzz.campaign import Campaign, Limits
from emu.fuzz.cluster import Cluster
from emu.fuzz.planning import Plan, begin
from emu.fuzz.pool import Processes
from emu.fuzz.store import Store
from tests.support.native import native, needs_gcc

pytestmark = [needs_gcc, pytest.mark.compiled]

ROOT = Path(__file__).resolve().parents[3]
SOURCES = 10


@contextmanager
def _dask(*arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_one_of_two_workers_is_killed(tmp_path: Path) -> None:
    machines = tuple(each.arch for each in native().compilers)
    plan = Plan(machines, ("generated",), 0, 1, native())
    file = tmp_path / "scheduler.json"
    store = Store(str(tmp_path / "cluster"), create=True)
    begin(store, plan)
    worker = ("dask_worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard",
              "--local-directory", str(tmp_path))  # fmt: skip
    with (
        _dask("dask_scheduler", "--scheduler-file", str(file), "--host", "127.0.0.1",
              "--port", "0", "--no-dashboard"),
        _dask(*worker) as first,
        _dask(*worker),
    ):  # fmt: skip
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = _address(file)
        cluster = Cluster(address)
        _wait_for_two(cluster)
        done = []

        def progress(count: int) -> None:
            done.append(count)
            if count == 2:
                os.killpg(first.pid, signal.SIGKILL)

        campaign = Campaign(store, cluster, Limits(SOURCES), lambda bucket: True)
        campaign.run(progress)
    assert not campaign.died
    assert done == list(range(1, SOURCES + 1))
    here = Store(str(tmp_path / "here"), create=True)
    begin(here, plan)
    Campaign(here, Processes(1), Limits(SOURCES), lambda bucket: True).run(lambda count: None)
    assert _objects(store) == _objects(here)


def _address(file: Path) -> str:
    while True:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            time.sleep(0.1)


def _wait_for_two(cluster: Cluster[object]) -> None:
    deadline = time.monotonic() + 60
    while cluster.workers() < 2:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _objects(store: Store) -> list[tuple[str, bytes]]:
    builds = [store.build(number) for number in store.builds()]
    return sorted((build.name, build.object) for build in builds)


def test_nobody_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = str(tmp_path / "store")
    arguments = ["fuzz", "run", store, "--sources", "1", "--scheduler", "tcp://127.0.0.1:1"]
    assert main(arguments) == 2
    assert "--scheduler tcp://127.0.0.1:1" in capsys.readouterr().err
    assert not Path(store).exists()
