"""speedscope's own format: several profiles in one JSON file, over one list of frames.

The viewer takes a file for its own by the address of its schema. A profile is a list of stacks,
outermost first, and one of weights of the same length; without an end value it shows no total.
"""

import json
from collections.abc import Iterable
from typing import Any

from emu.export.profile import Profile

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope_text(name: str, profiles: Iterable[Profile]) -> str:
    """The file as text, in ASCII.

    Args:
        name: of the recording.
        profiles: at least one; the viewer shows the first.
    """
    numbers: dict[str, int] = {}
    shown: list[dict[str, Any]] = []
    for profile in profiles:
        samples = [
            [numbers.setdefault(function, len(numbers)) for function in reversed(stack)]
            for stack, _ in profile.stacks
        ]
        weights = [weight for _, weight in profile.stacks]
        shown.append(
            {
                "type": "sampled", "name": profile.name, "unit": profile.unit, "startValue": 0,
                "endValue": sum(weights), "samples": samples, "weights": weights,
            }
        )  # fmt: skip
    content = {
        "$schema": SCHEMA,
        "name": name,
        "exporter": "unwindlab",
        "shared": {"frames": [{"name": function} for function in numbers]},
        "profiles": shown,
    }
    return json.dumps(content, indent=1) + "\n"
