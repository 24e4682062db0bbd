"""Every two settings that go together stand in some row, and nothing that does not."""

import itertools
import random

import pytest

from emu.fuzz.pairs import Partial, pairwise

SIZES = (4, 3, 2, 2, 5, 3)


def _excluded(row: Partial) -> bool:
    """Three rules that overlap: some pairs are impossible only because of a third setting."""
    first, second, third, fourth, fifth, _ = row
    return (
        (first == 0 and second == 1)
        or (first == 0 and second == 2)
        or (second == 0 and third == 1)
        or (fourth == 1 and fifth in (0, 1, 2, 3) and first == 3)
    )


@pytest.mark.parametrize("seed", range(5))
def test_every_possible_pair(seed: int) -> None:
    rows = pairwise(SIZES, lambda row: not _excluded(row), random.Random(seed))
    possible = set()
    for full in itertools.product(*(range(size) for size in SIZES)):
        if not _excluded(list(full)):
            possible.update(itertools.combinations(enumerate(full), 2))
    found = set()
    for row in rows:
        assert not _excluded(list(row))
        found.update(itertools.combinations(enumerate(row), 2))
    assert found == possible
    assert len(rows) < 40  # of 432 that are possible


def test_same_seed_same_rows() -> None:
    def rows(seed: int) -> list[tuple[int, ...]]:
        return pairwise(SIZES, lambda row: True, random.Random(seed))

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)
