"""speedscope and folded stacks, by what their readers ask for."""

import json

from emu.export.folded import folded_text
from emu.export.profile import Profile
from emu.export.speedscope import speedscope_text

TRUTH = Profile("truth", [(("leaf", "main"), 3), (("main",), 1), (("leaf", "main"), 2), ((), 4)])
OTHER = Profile("sframe", [(("leaf", "odd", "main"), 5)], "nanoseconds")


def test_speedscope() -> None:
    """One list of frames; stacks outermost first; as many weights; a total."""
    content = json.loads(speedscope_text("a run", [TRUTH, OTHER]))
    assert content["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    names = [frame["name"] for frame in content["shared"]["frames"]]
    truth, other = content["profiles"]
    shown = [[names[number] for number in stack] for stack in truth["samples"]]
    assert shown == [["main", "leaf"], ["main"], ["main", "leaf"], []]
    assert (truth["type"], truth["name"], truth["unit"]) == ("sampled", "truth", "none")
    assert (truth["weights"], truth["startValue"], truth["endValue"]) == ([3, 1, 2, 4], 0, 10)
    assert [names[number] for number in other["samples"][0]] == ["main", "odd", "leaf"]
    assert other["unit"] == "nanoseconds"


def test_folded() -> None:
    """Equal stacks are one line, outermost first, with the sum of their weights."""
    assert folded_text(TRUTH) == "main 1\nmain;leaf 5\n"


def test_folded_names() -> None:
    """A semicolon or a line break in a name would make other frames; a blank may stay."""
    profile = Profile("odd", [(("operator new;x", "a\nb", ""), 1)])
    assert folded_text(profile) == "?;a b;operator new:x 1\n"
