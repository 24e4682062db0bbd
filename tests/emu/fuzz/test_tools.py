"""Limits of the tools that are run, and values that come back from the store."""

import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from emu.fuzz.plain import from_plain
from emu.fuzz.planning import Plan
from emu.fuzz.tools import Clock, ToolError, bench
from tests.support.toolchains import made_up


def test_a_tool_works_in_its_folder() -> None:
    with bench(None) as place:
        done = place.run(["sh", "-c", "cat; echo said >&2; echo made > file"], b"given")
        assert (done.status, done.stdout, done.stderr) == (0, b"given", "said\n")
        assert place.path("file").read_text() == "made\n"
    assert not place.folder.exists()


def test_time_is_limited_also_of_what_it_starts(tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    script = f"(while :; do touch {mark}; sleep 0.1; done) & wait"
    begun = time.monotonic()
    with bench(None) as place, pytest.raises(ToolError, match="stopped after"):
        place.run(["sh", "-c", script], seconds=1)
    assert time.monotonic() - begun < 20
    mark.unlink()
    time.sleep(0.5)
    assert not mark.exists()


def test_processor_time_is_limited() -> None:
    with bench(None) as place:
        done = place.run([sys.executable, "-c", "while True: pass"], seconds=1)
    assert done.status < 0


def test_memory_and_files_are_limited() -> None:
    with bench(None) as place:
        greedy = place.run([sys.executable, "-c", "x = bytearray(6 << 30)"])
        assert "MemoryError" in greedy.stderr
        place.run([sys.executable, "-c", "f = open('big', 'wb')\nf.truncate(1 << 30)"])
        assert not place.path("big").exists() or place.path("big").stat().st_size < 1 << 30


def test_what_a_tool_says_is_told_without_its_line() -> None:
    with bench(None) as place:
        done = place.run(["sh", "-c", "echo '{standard input}:12: Error: no such op' >&2; exit 1"])
    with pytest.raises(ToolError, match=r"^as: status 1: Error: no such op$"):
        done.check("as")


def test_no_such_tool() -> None:
    with bench(None) as place, pytest.raises(ToolError, match="/no/such/tool"):
        place.run(["/no/such/tool"]).check("it")


def test_time_is_told_apart() -> None:
    clock = Clock()
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    own, tools = clock.lap()
    assert tools > 0.05
    assert own < tools


def test_a_plan_survives_json() -> None:
    plan = Plan(("a", "b"), seed=5, toolchains=made_up("a"), references=made_up("a").assemblers)
    assert from_plain(Plan, json.loads(json.dumps(asdict(plan)))) == plan
