"""Executions that were not exact, as the compiled check notes them, and the code they are of."""

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from emu.check import state as s
from emu.check.codemap import CodeRange, CodeSegment

Events = npt.NDArray[np.void]


class EventLog:
    """All events of a run; they are noted by runtime address, and belong to segments.

    Args:
        words: the state block of the check, which gets the log's addresses.
    """

    def __init__(self, words: npt.NDArray[np.int64]) -> None:
        self._words = words
        self._heads: npt.NDArray[np.int32] = np.zeros(s.HEAD_COUNT, np.int32)
        self._memory, self._bytes = s.lazy_bytes(s.EVENT_BYTES * s.EVENT_CAPACITY_DEFAULT)
        words[s.EVENTS] = self._bytes.ctypes.data
        words[s.EVENT_CAPACITY] = s.EVENT_CAPACITY_DEFAULT
        words[s.HEADS] = self._heads.ctypes.data
        self._retired: list[tuple[CodeSegment, Events]] = []

    @property
    def lost(self) -> int:
        """Executions whose event had no room; they are counted in the verdicts."""
        return int(self._words[s.EVENTS_LOST])

    def noted(self) -> Events:
        """The events by runtime address; key 0 is none."""
        count = int(self._words[s.EVENT_COUNT]) + 1
        return self._bytes[s.EVENT_BYTES : s.EVENT_BYTES * count].view(s.EVENT)

    def retire(self, ranges: Iterable[CodeRange]) -> None:
        """These are mapped no more: something else may come to their addresses."""
        noted = self.noted()
        for item in ranges:
            inside = _inside(noted, item)
            if inside.any():
                self._retired.append((item.segment, _linked(noted[inside], item)))
                # With this key no later event is counted; others in its chain still are.
                noted["key"][inside] = 0

    def drop(self, which: npt.NDArray[np.bool_]) -> None:
        """Forget some of `noted()`."""
        self.noted()["key"][which] = 0

    def by_segment(self, ranges: Iterable[CodeRange]) -> tuple[dict[CodeSegment, Events], Events]:
        """The events of each segment by link-time address, and those in no range by runtime one.

        Args:
            ranges: what is mapped now.
        """
        noted = self.noted()
        outside = noted["key"] != 0
        found: dict[CodeSegment, list[Events]] = {}
        for segment, events in self._retired:
            found.setdefault(segment, []).append(events)
        for item in ranges:
            inside = _inside(noted, item)
            outside &= ~inside
            found.setdefault(item.segment, []).append(_linked(noted[inside], item))
        return {segment: _merged(parts) for segment, parts in found.items()}, noted[outside]


def _inside(noted: Events, item: CodeRange) -> npt.NDArray[np.bool_]:
    pcs = noted["pc"]
    inside: npt.NDArray[np.bool_] = (item.start <= pcs) & (pcs < item.end) & (noted["key"] != 0)
    return inside


def _linked(events: Events, item: CodeRange) -> Events:
    events = events.copy()
    events["pc"] -= item.bias
    return events


def _merged(parts: list[Events]) -> Events:
    """Events of one address and key as one: the first has the values, all count."""
    if len(parts) == 1:
        return parts[0]
    events = np.concatenate(parts)
    names = ["pc", "key"]
    _, first, which = np.unique(events[names], return_index=True, return_inverse=True)
    merged = events[first]
    merged["count"] = np.bincount(which, events["count"]).astype(np.int64)
    return merged
