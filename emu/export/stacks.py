"""A stored sample walked by every table, and where the tables contradict each other."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from emu.export.files import Files, Place
from emu.sample import Sample
from emu.trace import Frame, FrameKind, Trace
from emu.unwind.sources import KINDS
from emu.unwind.walker import walk
from emu.verdict import Verdict

TABLES = ("sframe", "cfi")
"""Kinds that must not contradict each other; the others are conventions, which code may break."""


@dataclass(frozen=True, slots=True)
class StoredStack:
    """One moment of one thread, without a truth."""

    tid: int
    pc: int
    at: str
    walks: Mapping[str, Trace]
    """By kind of table; empty: no file that was mapped could be read."""
    functions: tuple[str, ...]
    """Where each frame of the longest walk is, in words; the first is `at`."""
    time: int | None = None
    """Nanoseconds, in a recording."""
    recorded: tuple[int, ...] = field(default=(), repr=False)
    """The chain that was recorded with it, markers included."""

    @property
    def difference(self) -> int | None:
        """The first frame at which two tables contradict each other; None: they do not.

        A table that says nothing contradicts no one.
        """
        walks = [self.walks[kind] for kind in TABLES if kind in self.walks]
        for first, second in itertools.pairwise(walks):
            short = min(len(first.frames), len(second.frames))
            for depth, pair in enumerate(zip(first.frames, second.frames, strict=False)):
                if pair[0].pc != pair[1].pc:
                    return depth
            for one, other in ((first, second), (second, first)):
                if len(one.frames) < len(other.frames) and one.stop is Verdict.OUTERMOST:
                    return short
        return None


def stored_stack(
    sample: Sample, tid: int, files: Files, places: Sequence[Place], return_back: int = 1,
    time: int | None = None, recorded: tuple[int, ...] = (),
) -> StoredStack:  # fmt: skip
    """Walk a sample by all tables that there are.

    Args:
        sample: where to begin.
        tid: of the thread.
        files: what was mapped.
        places: and where.
        return_back: as for `walk`.
        time: of the sample, if known.
        recorded: the chain that came with it.
    """
    walks = {
        kind: walk(sample, files.tables(places, kind), return_back)
        for kind in KINDS
        if places and files.has(places, kind)
    }
    longest: Sequence[Frame] = max((trace.frames for trace in walks.values()), key=len, default=())
    known: dict[tuple[int, FrameKind], str] = {}  # a deep stack is recursion
    for frame in longest:
        if (frame.pc, frame.kind) not in known:
            back = int(frame.kind is FrameKind.CALLER)
            known[frame.pc, frame.kind] = files.where(places, frame.pc, back)
    functions = tuple(known[frame.pc, frame.kind] for frame in longest)
    at = files.where(places, sample.pc)
    return StoredStack(tid, sample.pc, at, walks, functions, time, recorded)
