"""A list, or the record of a generator, made smaller as long as it holds."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from emu.fuzz.reduce.trials import Budget, Trials, keep_few

T = TypeVar("T")
_Record = tuple[int, ...]

_BEHIND = 8
"""A number that says how many things follow is lowered together with the removal of up to that
many numbers behind it."""


def shrink_list(record: Sequence[T], holds: Callable[[list[T]], bool], budget: Budget) -> list[T]:
    """The list without all that is not needed: none of the rest can go, if the budget allows."""

    def chosen(kept: Sequence[int]) -> list[T]:
        return [record[at] for at in kept]

    ask = Trials[_Record](lambda kept: holds(chosen(kept)), budget)
    return chosen(keep_few(len(record), ask, budget))


def shrink_record(
    record: Sequence[int], holds: Callable[[Sequence[int]], bool], budget: Budget
) -> list[int]:
    """The simplest record found of `emu.fuzz.generate.choices`: a shorter one, then one of less.

    A record ends before its trailing zeros, for further draws are 0 anyway.
    """
    ask = Trials[_Record](holds, budget)
    best = _without_zeros(record)
    while not budget.spent():
        before = best
        for improve in (_delete, _zero, _lower, _lower_and_delete):
            best = improve(best, ask)
        if best == before:
            break
    return list(best)


def _without_zeros(record: Sequence[int]) -> _Record:
    end = len(record)
    while end and record[end - 1] == 0:
        end -= 1
    return tuple(record[:end])


def _delete(record: _Record, ask: Trials[_Record]) -> _Record:
    """Without chunks; all behind them moves forward and may come to mean something else."""

    def chosen(kept: Sequence[int]) -> _Record:
        return _without_zeros([record[at] for at in kept])

    return chosen(keep_few(len(record), lambda kept: ask(chosen(kept)), ask.budget))


def _zero(record: _Record, ask: Trials[_Record]) -> _Record:
    """With zeros for chunks; what is behind them stays where it is."""
    places = [at for at, value in enumerate(record) if value]

    def chosen(kept: Sequence[int]) -> _Record:
        places_kept = {places[at] for at in kept}
        return _without_zeros(
            [value if at in places_kept else 0 for at, value in enumerate(record)]
        )

    return chosen(keep_few(len(places), lambda kept: ask(chosen(kept)), ask.budget))


def _lower(record: _Record, ask: Trials[_Record]) -> _Record:
    """With single numbers as low as bisection finds them."""
    for at, value in enumerate(record):
        low, high = 0, value  # the lower was refused, or will be; the higher holds
        while high - low > 1 and not ask.budget.spent():
            middle = (low + high) // 2
            if ask(_with(record, at, middle)):
                high = middle
            else:
                low = middle
        record = _with(record, at, high)
    return record


def _lower_and_delete(record: _Record, ask: Trials[_Record]) -> _Record:
    """With a number lowered by one and some numbers behind it gone: one thing less in a list."""
    at = 0
    while at < len(record) and not ask.budget.spent():
        for start, end in _behind(at, len(record)) if record[at] else ():
            fewer = (*record[:at], record[at] - 1, *record[at + 1 : start], *record[end:])
            if ask(_without_zeros(fewer)):
                record = _without_zeros(fewer)
                at -= 1  # it may go lower still
                break
        at += 1
    return record


def _behind(at: int, length: int) -> list[tuple[int, int]]:
    """Ranges that may be one thing of a list: the first of them, or a single number."""
    last = min(at + 1 + _BEHIND, length)
    return [(at + 1, end) for end in range(at + 2, last + 1)] + [
        (start, start + 1) for start in range(at + 2, last)
    ]


def _with(record: _Record, at: int, value: int) -> _Record:
    return _without_zeros((*record[:at], value, *record[at + 1 :]))
