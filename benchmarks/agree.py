"""Whether two reports of one run, by two kinds of tables, say the same wherever both say something.

The second kind may be silent where the first is not: what its format cannot express is a gap. It
must not be wrong where the first is right, nor right where the first is wrong, nor know more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

_Spans = dict[tuple[str, str], list[tuple[int, int]]]
"""Addresses by module and verdict."""


def disagreements(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """What the second report says that does not follow from the first, in words.

    Args:
        first: of `check`, by the table that the other one was made from.
        second: of `check`, by that other one.
    """
    found = []
    wrong, also_wrong = _spans(first["findings"]), _spans(second["findings"])
    silent, also_silent = _silent(first["gaps"]), _silent(second["gaps"])
    for (module, verdict), spans in also_wrong.items():
        found += [
            f"{verdict} in {module} {low:#x} only here"
            for low, high in spans
            if not _meets(low, high, wrong[module, verdict])
        ]
    for (module, verdict), spans in wrong.items():
        allowed = also_wrong[module, verdict] + also_silent[module]
        found += [
            f"{verdict} in {module} {low:#x} no longer, and no gap"
            for low, high in spans
            if not _meets(low, high, allowed)
        ]
    for module, gaps in silent.items():
        found += [
            f"gap in {module} {low:#x} no longer"
            for low, high in gaps
            if not _meets(low, high, also_silent[module])
        ]
    counts, also = Counter(first["verdicts"]), Counter(second["verdicts"])
    if counts.total() != also.total():
        return found  # Files of other sizes lie elsewhere, and some programs sort by addresses.
    # Spans only touch; the counts say that nothing within them is new.
    kinds = {finding["verdict"] for finding in second["findings"]} & set(also)
    for verdict in sorted({"exact", "outermost"} | kinds):
        if also[verdict] > counts[verdict]:
            found.append(f"{verdict} {also[verdict]} times, {counts[verdict]} before")
    return found


def _spans(findings: Iterable[dict[str, Any]]) -> _Spans:
    spans: _Spans = defaultdict(list)
    for each in findings:
        if each["module"] is None:
            continue  # Of no file: where it lies depends on the sizes of those mapped before.
        span = (int(each["start"], 16), int(each["end"], 16))
        spans[each["module"], each["verdict"]].append(span)
    return spans


def _silent(gaps: Iterable[dict[str, Any]]) -> dict[str, list[tuple[int, int]]]:
    """Addresses by module, whatever the reason."""
    spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for (module, _), some in _spans(gaps).items():
        spans[module] += some
    return spans


def _meets(low: int, high: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start < high and low < end for start, end in spans)
