"""The log of executions that were not exact, across changes of what is mapped."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from emu.check import state as s
from emu.check.code import note_frame
from emu.check.codemap import CodeRange, CodeSegment
from emu.check.events import EventLog
from emu.unwind.step import RESULT_WORDS
from emu.verdict import Verdict

pytestmark = pytest.mark.compiled

KEY = int(Verdict.WRONG_CFA)
FIRST, SECOND = 0x10000, 0x20000
"""Where two modules are mapped, both linked for 0."""


class Log:
    """A log, and what the hook does to it."""

    def __init__(self) -> None:
        self._words: npt.NDArray[np.int64] = np.zeros(s.WORDS, np.int64)
        self._result: npt.NDArray[np.int64] = np.zeros(RESULT_WORDS, np.int64)
        self._words[s.RESULT] = self._result.ctypes.data
        self.events = EventLog(self._words)

    def note(self, pc: int) -> None:
        """One execution."""
        note_frame(int(self._words.ctypes.data), pc, 4, KEY, 0, 0, False, 1)


def mapped(start: int) -> CodeRange:
    """A page of a module of its own."""
    module: Any = SimpleNamespace(segments=[])
    return CodeRange(start, start + 0x1000, start, CodeSegment(module, 0, 0x1000, 0))


def test_one_event_however_often_code_is_unmapped() -> None:
    """What stays mapped goes on being counted under the event that it has."""
    log, stays = Log(), mapped(FIRST)
    for _ in range(3):
        goes = mapped(SECOND)
        log.note(FIRST + 8)
        log.note(SECOND + 8)
        log.events.retire([goes])
    found, outside = log.events.by_segment([stays])
    (event,) = found[stays.segment]
    assert (event["pc"], event["count"]) == (8, 3)
    assert len(outside) == 0


def test_other_code_at_the_same_address_has_its_own_events() -> None:
    """Those of before belong to what was mapped then."""
    log, old, new = Log(), mapped(SECOND), mapped(SECOND)
    log.note(SECOND + 8)
    log.note(SECOND + 8)
    log.events.retire([old])
    log.note(SECOND + 8)
    found, _ = log.events.by_segment([new])
    assert [int(found[each.segment]["count"].sum()) for each in (old, new)] == [2, 1]


def test_code_that_is_mapped_again_goes_on() -> None:
    """At another place: the same module, the same link-time address."""
    log, first = Log(), mapped(FIRST)
    again = CodeRange(SECOND, SECOND + 0x1000, SECOND, first.segment)
    log.note(FIRST + 8)
    log.events.retire([first])
    log.note(SECOND + 8)
    log.note(SECOND + 12)
    found, _ = log.events.by_segment([again])
    counts = {int(e["pc"]): int(e["count"]) for e in found[first.segment]}
    assert counts == {8: 2, 12: 1}


def test_code_of_no_module() -> None:
    """It keeps its runtime address."""
    log = Log()
    log.note(FIRST)
    found, outside = log.events.by_segment([mapped(SECOND)])
    assert [len(each) for each in found.values()] == [0]
    assert outside["pc"].tolist() == [FIRST]
