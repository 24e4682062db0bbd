"""The smallest sequence of steps that breaks an invariant, found by hypothesis."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample

from emu.deferred.kernel import NotNow
from emu.deferred.ledger import Violation
from emu.deferred.steps import Step
from tests.emu.deferred.machine import Player, World, verdict

Wanted = Callable[[list[Violation]], bool]
"""Whether these violations are what is looked for."""


def shortest(world: World, wanted: Wanted, examples: int = 5000) -> tuple[Step, ...]:
    """A smallest sequence of steps that breaks what is wanted; empty: none was found.

    Hypothesis finds and shrinks the choices. What it cannot know is then done to the steps: those
    that are not needed go, and plainer ones take the place of others.
    """
    possible = world.by_context()

    def played(choices: bytes) -> Player:
        player = Player(world, possible)
        for choice in choices:
            player.happen(choice)
        return player

    def breaks(choices: bytes) -> bool:
        return wanted(verdict(played(choices).session))

    options = settings(
        max_examples=examples, database=None, derandomize=True, deadline=None,
        phases=(Phase.generate, Phase.shrink), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    try:
        found = find(st.binary(min_size=40, max_size=250), breaks, settings=options)
    except NoSuchExample:
        return ()
    return simplest(world, wanted, tuple(played(found).steps))


def still(world: World, wanted: Wanted, steps: Sequence[Step]) -> bool:
    """Whether a sequence can happen and breaks what is wanted."""
    session = world.session()
    try:
        session.play(steps)
    except NotNow:
        return False
    return wanted(verdict(session))


def simplest(world: World, wanted: Wanted, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The sequence when no change makes it shorter or plainer any more."""
    while True:
        better = (other for other in _simpler(world, steps) if still(world, wanted, other))
        found = next(better, None)
        if found is None:
            return steps
        steps = found


def _simpler(world: World, steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    """Shorter sequences first, then those with a plainer step, then those on fewer names."""
    size = len(steps)
    for count in (1, 2, 3):
        for gone in combinations(range(size), count):
            yield tuple(step for number, step in enumerate(steps) if number not in gone)
    alphabet = world.alphabet()
    for number, step in enumerate(steps):
        for plainer in alphabet[: alphabet.index(step)]:
            if plainer.cpu == step.cpu:
                yield (*steps[:number], plainer, *steps[number + 1 :])
    for old, new in (("C", "B"), ("B", "A"), ("v", "u"), ("u", "t")):
        renamed = tuple(_renamed(step, old, new) for step in steps)
        if renamed != steps:
            yield renamed
    if any(step.cpu == 1 for step in steps):
        moved = tuple(_moved(step) for step in steps)
        for count in (0, 1, 2):
            for gone in combinations(range(size), count):
                yield tuple(step for number, step in enumerate(moved) if number not in gone)


def _renamed(step: Step, old: str, new: str) -> Step:
    words = tuple(new if word == old else word for word in step.words)
    inside = tuple(_renamed(one, old, new) for one in step.inside)
    return replace(step, words=words, inside=inside)


def _moved(step: Step) -> Step:
    return replace(step, cpu=min(step.cpu, 0), inside=tuple(_moved(one) for one in step.inside))
