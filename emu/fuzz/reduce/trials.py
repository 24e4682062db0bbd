"""What all reductions share: a budget of tries, answers that are remembered, and one search.

Reductions know nothing of compilers: they ask `holds` about candidates, each once, and return what
was seen to hold, or what they were given.
"""

import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Budget:
    """Tries that may still be made; one budget can serve several reductions in turn.

    Args:
        tries: stop after that many.
        seconds: stop that long after now.
        clock: tells seconds.
    """

    def __init__(
        self,
        tries: int | None = None,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tries = 0
        """Made so far."""
        self._limit = tries
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    def count(self) -> None:
        """One more try is made."""
        self.tries += 1

    def spent(self) -> bool:
        """No further try may be made."""
        if self._limit is not None and self.tries >= self._limit:
            return True
        return self._end is not None and self._clock() >= self._end


class Trials(Generic[K]):
    """Asks whether a candidate holds, once for each candidate and within the budget."""

    def __init__(self, holds: Callable[[K], bool], budget: Budget) -> None:
        self._holds = holds
        self._answers: dict[K, bool] = {}
        self.budget = budget

    def __call__(self, candidate: K) -> bool:
        """Whether it was seen to hold; a candidate that may not be tried any more does not."""
        known = self._answers.get(candidate)
        if known is not None:
            return known
        if self.budget.spent():
            return False
        self.budget.count()
        answer = self._answers[candidate] = self._holds(candidate)
        return answer


def keep_few(
    count: int,
    holds: Callable[[tuple[int, ...]], bool],
    budget: Budget,
    largest: int | None = None,
) -> tuple[int, ...]:
    """The few of `count` things that must be kept so that it still holds, as their numbers.

    Delta debugging without the complements: chunks of decreasing size are left out, then single
    things until none can go. From the end to the start, since what is used stands before its uses.

    Args:
        count: of things; all of them are taken to hold.
        holds: of the numbers that are kept, in order.
        budget: the search ends when it is spent; `holds` itself counts the tries.
        largest: chunk to begin with; None: everything at once.
    """
    kept = tuple(range(count))
    size = min(count, largest or count)
    while size > 1 and kept:
        end = len(kept)
        while end > 0 and not budget.spent():
            start = max(0, end - size)
            if holds(kept[:start] + kept[end:]):
                kept = kept[:start] + kept[end:]
            end = start
        size = min(size, len(kept) + 1) // 2
    at = len(kept) - 1
    failures = 0  # in a row, around the end: as many as things are left means that none can go
    while failures < len(kept) and not budget.spent():
        if holds(kept[:at] + kept[at + 1 :]):
            kept = kept[:at] + kept[at + 1 :]
            failures = 0
        else:
            failures += 1
        at = (at or len(kept)) - 1
    return kept
