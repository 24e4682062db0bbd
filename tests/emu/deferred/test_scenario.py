"""Scenarios and the command that prints them."""

import json
from pathlib import Path

import pytest

from emu.cli import main
from emu.deferred.scenario import load, packaged, read_scenario
from emu.deferred.session import DESIGNS
from emu.errors import UsageError

ABOUT = {
    "three-interrupts", "lost-request-and-record", "tid-reuse", "late-tracer", "cancel-pending",
    "request-in-callback", "nmi-before-request", "software-event", "cpu-counter-wraps",
}  # fmt: skip
"""What the discussions of the kernel's lists gave as examples."""


def test_the_discussions_examples_are_there() -> None:
    """Each example of the discussions is a packaged scenario."""
    assert set(packaged()) >= ABOUT


@pytest.mark.parametrize("name", packaged())
def test_scenario_breaks_what_it_announces(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A packaged scenario breaks exactly what it says, and prints its timeline."""
    assert main(["deferred", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith(load(name).title + "\n")
    assert "user mode" in out


@pytest.mark.parametrize("design", DESIGNS)
def test_the_same_steps_by_every_design(design: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A scenario can be played by each design; v4 alone loses the request in a callback."""
    status = main(["deferred", "request-in-callback", "--deferral", design, "--format", "json"])
    answer = json.loads(capsys.readouterr().out)
    assert answer["deferral"] == design
    assert status == (design == "posting-v4")
    assert bool(answer["broken"]) == (design == "posting-v4")


def test_three_interrupts_share_a_cookie(capsys: pytest.CaptureFixture[str]) -> None:
    """Three samples and one record have cookie 0:3, the next entry has 0:5."""
    main(["deferred", "three-interrupts", "--format", "json"])
    answer = json.loads(capsys.readouterr().out)
    shown = [(event["kind"], event["cookie"]) for event in answer["events"]
             if event["kind"] in ("sample", "record")]  # fmt: skip
    assert shown == [("sample", "0:3")] * 3 + [("record", "0:3"), ("sample", "0:5"),
                                               ("record", "0:5")]  # fmt: skip
    assert (answer["requests"], answer["unwinds"], answer["callbacks"]) == (4, 2, 2)
    assert answer["stitched"]["by_perf7"] == {"right": 4, "wrong": 0, "missing": 0}


def test_a_wrong_tid_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """In the reported cases stitching by tid is wrong, by cookie only a stack is missing."""
    for name in ("lost-request-and-record", "tid-reuse"):
        main(["deferred", name, "--format", "json"])
        stitched = json.loads(capsys.readouterr().out)["stitched"]
        assert stitched["by_tid"] == {"right": 0, "wrong": 1, "missing": 0}
        assert stitched["by_cookie"] == {"right": 0, "wrong": 0, "missing": 1}


def test_what_is_not_announced_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broken invariant that the file does not announce is exit status 1."""
    path = tmp_path / "mine.toml"
    path.write_text(
        'deferral = "posting-v4"\nsteps = """\ncpu0 run A\ncpu0 syscall\ncpu0 sample t\n'
        'cpu0 return\n"""\n[[task]]\nname = "A"\n[[tracer]]\nname = "t"\n'
    )
    assert main(["deferred", str(path)]) == 1
    assert "broken at" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("steps = 3", "x: steps is no str"),
        ("colour = 1", "x: unknown 'colour'"),
        ('deferral = "magic"', "x: deferral: 'magic' is none of sketch, posting-v4, merged"),
        ('cookie = "magic"', "x: cookie: 'magic' is none of"),
        ("cpus = 0", "x: cpus: 0 is not 1 to 65536"),
        ("cpus = true", "x: cpus is no int"),
        ("[[task]]\ntid = 1", "x: a task without name"),
        ('[[task]]\nname = "A"\nshape = 1', "x: task A: unknown 'shape'"),
        ('breaks = ["all"]', "x: breaks: 'all' is none of"),
        ('steps = "cpu0 fly"', "x: steps: line 1: no step: 'cpu0 fly'"),
        ("[rings]\na = -1", "x: rings: a is no number of bytes"),
        ("=", "x: "),
    ],
)
def test_malformed_scenarios_are_named(text: str, reason: str) -> None:
    """An error names the file, the place and the reason."""
    with pytest.raises(UsageError) as caught:
        read_scenario("x", text)
    assert str(caught.value).startswith(reason)


def test_unusable_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is no scenario, or no layout, is one line on stderr and exit status 2."""
    assert main(["deferred", "no-such"]) == 2
    assert "no-such: no such scenario" in capsys.readouterr().err
    assert main(["deferred", "late-tracer", "--cookie", "magic"]) == 2
    assert "no cookie layout 'magic'" in capsys.readouterr().err
