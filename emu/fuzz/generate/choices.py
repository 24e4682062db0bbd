"""What a generator draws from: a sequence of small numbers that is recorded, and can be replayed.

Every sequence replays: a number is taken modulo what is asked for, and where the sequence ends all
further draws are 0. So a generator must give its simplest answer for 0, and reduction works on the
numbers alone (the idea is Hypothesis's).
"""

import random
from collections.abc import Sequence


class Choices:
    """A recorded sequence of draws.

    Args:
        recorded: draws to repeat first.
        seed: of the draws behind these; None: they are all 0.
    """

    def __init__(self, recorded: Sequence[int] = (), seed: int | None = None) -> None:
        self._recorded = recorded
        self._random = None if seed is None else random.Random(seed)
        self.record: list[int] = []
        """All draws so far, as they were answered."""

    def draw(self, count: int) -> int:
        """A number from 0 to count - 1."""
        at = len(self.record)
        if at < len(self._recorded):
            value = self._recorded[at] % count
        else:
            value = self._random.randrange(count) if self._random else 0
        self.record.append(value)
        return value

    def chance(self, percent: int) -> bool:
        """True that often; recorded as 1, so that False is the simplest answer."""
        at = len(self.record)
        if at >= len(self._recorded) and self._random:
            value = int(self._random.randrange(100) < percent)
        else:
            value = self._recorded[at] % 2 if at < len(self._recorded) else 0
        self.record.append(value)
        return bool(value)

    def pick(self, *options: str) -> str:
        """One of these; the first is the simplest."""
        return options[self.draw(len(options))]
