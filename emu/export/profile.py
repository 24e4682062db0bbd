"""A profile: stacks of names and what each of them weighs."""

from collections.abc import Sequence
from dataclasses import dataclass

Stack = tuple[str, ...]
"""Names of functions, innermost first, as a walk gives them."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What one unwinder, or the truth, says of a run.

    Args:
        name: for people.
        stacks: in the order of time, each with its weight.
        unit: of the weights: ``none`` for counts, else ``nanoseconds`` to ``seconds``, ``bytes``.
    """

    name: str
    stacks: Sequence[tuple[Stack, int]]
    unit: str = "none"
