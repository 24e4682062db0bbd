"""Rows of settings in which every two that go together do so at least once.

Two libraries were tried: allpairspy leaves pairs out as soon as some settings exclude each other,
and covertable takes seconds and does not give the same rows for the same seed.
"""

import itertools
import random
from collections.abc import Callable, Sequence

Partial = list[int | None]
"""A setting for each factor, by number; None: not chosen yet."""
_Pair = tuple[tuple[int, int], tuple[int, int]]
"""((factor, setting), (later factor, setting))"""


def pairwise(
    sizes: Sequence[int], allowed: Callable[[Partial], bool], source: random.Random
) -> list[tuple[int, ...]]:
    """Rows that hold every possible pair of settings.

    Args:
        sizes: how many settings each factor has.
        allowed: whether a row, maybe only begun, holds no settings that exclude each other; what
            it refuses it must refuse with more settings, too.
        source: of the order in which settings are tried.
    """
    missing = {
        ((one, a), (other, b)): None
        for one, other in itertools.combinations(range(len(sizes)), 2)
        for a in range(sizes[one])
        for b in range(sizes[other])
    }
    order = list(missing)
    source.shuffle(order)
    rows = []
    for pair in order:
        if pair not in missing:
            continue
        row: Partial = [None] * len(sizes)
        for factor, setting in pair:
            row[factor] = setting
        if not _complete(row, sizes, allowed, missing, source):
            del missing[pair]  # nothing goes with these two
            continue
        done = tuple(each for each in row if each is not None)
        for two in itertools.combinations(enumerate(done), 2):
            missing.pop(two, None)
        rows.append(done)
    return rows


def _complete(
    row: Partial,
    sizes: Sequence[int],
    allowed: Callable[[Partial], bool],
    missing: dict[_Pair, None],
    source: random.Random,
) -> bool:
    """Choose the rest of a row, each time what brings most missing pairs; False: impossible."""
    if not allowed(row):
        return False
    if None not in row:
        return True
    # In the order given: what excludes most should stand first, so that little is tried in vain.
    factor = row.index(None)
    settings = source.sample(range(sizes[factor]), sizes[factor])
    settings.sort(key=lambda setting: -_gain(row, factor, setting, missing))
    for setting in settings:
        row[factor] = setting
        if _complete(row, sizes, allowed, missing, source):
            return True
    row[factor] = None
    return False


def _gain(row: Partial, factor: int, setting: int, missing: dict[_Pair, None]) -> int:
    new = (factor, setting)
    chosen = [(at, each) for at, each in enumerate(row) if each is not None and at != factor]
    return sum((min(new, old), max(new, old)) in missing for old in chosen)
