"""Functions are independent of each other: they are shared out to processes."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait

import numpy as np
import numpy.typing as npt

from emu.check import state as s
from emu.errors import EmulationError
from emu.sweep import state as w
from emu.sweep.entries import Entry
from emu.sweep.explorer import Explorer
from emu.sweep.result import Wrong
from emu.sweep.room import Room
from emu.sweep.sites import Sites
from emu.verdict import Verdict

_CHUNK = 64
"""Functions between two reports of progress."""
_COUNTS = {
    "calls": w.CALLS, "returns": w.RETURNED, "returns elsewhere": w.GIVEN_UP,
    "tail calls": w.TAIL_CALLS, "ways out of the function": w.LEFT,
    "instructions not executed": w.SKIPPED, "conditional indirect branches": w.INDIRECT_BRANCHES,
    "loops cut short": w.FORCED, "ways dropped": w.DROPPED, "executed": s.EXECUTED,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Root:
    """A place to enter at."""

    pc: int
    tag: int
    how: Entry = Entry.CALL


@dataclass(slots=True)
class Findings:
    """What the ways from some roots have shown; results of several add up."""

    reached: list[npt.NDArray[np.uint8]]
    """By span: S_REACHED of each site."""
    wrong: list[Wrong] = field(default_factory=list)
    faults: dict[int, str] = field(default_factory=dict)
    unresolved: dict[int, str] = field(default_factory=dict)
    cut: dict[int, str] = field(default_factory=dict)
    repaired: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    outcomes: npt.NDArray[np.uint8] | None = None
    """Of planted faults."""

    def add(self, other: Findings) -> None:
        """Take over what another worker has found."""
        for mine, theirs in zip(self.reached, other.reached, strict=True):
            mine |= theirs
        self.wrong += other.wrong
        self.faults |= other.faults
        for pc, why in other.unresolved.items():
            self.unresolved.setdefault(pc, why)
        self.cut |= other.cut
        self.repaired |= other.repaired
        self.counts += other.counts
        if other.outcomes is not None:
            self.outcomes = (
                other.outcomes if self.outcomes is None else self.outcomes | other.outcomes
            )


def nothing(sites: Sites) -> Findings:
    """Findings of no root."""
    return Findings([np.zeros(len(records), np.uint8) for records in sites.records])


class Workers:
    """Processes that enter functions; the answer does not depend on their number.

    Args:
        room: with the file in it, not yet furnished.
        sites, pads: of the file.
        jobs: processes.
    """

    def __init__(self, room: Room, sites: Sites, pads: list[int], jobs: int) -> None:
        self._room, self._sites, self._pads, self._jobs = room, sites, pads, jobs
        self._own: Explorer | None = None
        self.forked = False
        """The work was done by other processes than this one."""

    def explore(self, roots: Sequence[Root], advance: Callable[[int], None]) -> Findings:
        """Enter at each root; `advance` is told of every so many that are done."""
        jobs = min(self._jobs, len(roots) // _CHUNK)
        if jobs < 2 or self._own is not None:
            # Once this process has an emulator its copies would not be clean.
            return self._work(roots, advance)
        self.forked = True
        context = multiprocessing.get_context("fork")
        found = nothing(self._sites)
        # Neighbours are of a kind; dealt out in chunks, all workers get some of each.
        chunks = [roots[at : at + _CHUNK] for at in range(0, len(roots), _CHUNK)]
        readers: list[Connection] = []
        workers = []
        for number in range(jobs):
            share = [root for chunk in chunks[number::jobs] for root in chunk]
            reader, writer = context.Pipe(False)
            worker = context.Process(target=self._serve, args=(share, writer), daemon=True)
            worker.start()
            writer.close()
            readers.append(reader)
            workers.append(worker)
        try:
            while readers:
                for reader in [each for each in readers if each in wait(readers)]:
                    message = _receive(reader)
                    if isinstance(message, int):
                        advance(message)
                        continue
                    readers.remove(reader)
                    found.add(message)
        finally:
            for worker in workers:
                if readers:
                    worker.kill()
                worker.join()
        return found

    def _serve(self, roots: Sequence[Root], writer: Connection) -> None:
        try:
            writer.send(self._work(roots, writer.send))
        except EmulationError as error:
            writer.send(str(error))
        writer.close()

    def _work(self, roots: Sequence[Root], advance: Callable[[int], None]) -> Findings:
        sites = self._sites
        if self._own is None:
            self._room.furnish()
            self._own = Explorer(self._room, sites, self._pads)
        explorer = self._own
        for records in sites.records:
            records["reached"] = 0
        before = explorer.words.copy()
        candidates = len(explorer.candidates)
        for number, root in enumerate(roots, 1):
            site = sites.at(root.pc)
            if root.how is Entry.ROW and site is not None and site["reached"]:
                continue  # another one has led there
            explorer.explore(root.pc, root.tag, root.how)
            if number % _CHUNK == 0:
                advance(_CHUNK)
        advance(len(roots) % _CHUNK)
        words = explorer.words
        return Findings(
            [records["reached"].copy() for records in sites.records],
            _wrong(explorer, candidates),
            dict(explorer.faults),
            dict(explorer.indirect.unresolved),
            dict(explorer.cut),
            set(explorer.stores.repaired),
            Counter({name: int(words[word] - before[word]) for name, word in _COUNTS.items()}),
            None if sites.mutants is None else sites.mutants.outcomes.copy(),
        )


def _receive(reader: Connection) -> int | Findings:
    """What a worker has sent.

    Raises:
        EmulationError: it failed, or is gone.
    """
    try:
        message = reader.recv()
    except EOFError:
        raise EmulationError("a process of the sweep has died") from None
    if isinstance(message, str):
        raise EmulationError(message)
    assert isinstance(message, int | Findings)
    return message


def _wrong(explorer: Explorer, after: int) -> list[Wrong]:
    """Wrong rows of the candidates behind the first so many."""
    found = []
    for event in explorer.events()[1:]:
        number = int(event["key"]) >> 16
        if number <= after:
            continue
        candidate = explorer.candidates[number - 1]
        done = int(event["done"]) & 0xFF
        got = [int(event[name]) if done > at else None
               for at, name in enumerate(("got_cfa", "got_ra", "got_fp"))]  # fmt: skip
        found.append(
            Wrong(
                pc=int(event["pc"]),
                verdict=Verdict(int(event["key"]) & 0xFF),
                root=candidate.root,
                tag=candidate.tag,
                state=explorer.state_of(number),
                decisions=candidate.decisions,
                row=int(event["row"]),
                count=int(event["count"]),
                expected=tuple(int(event[n]) for n in ("want_cfa", "want_ra", "want_fp")),  # type: ignore[arg-type]
                doubtful=candidate.verdict is Verdict.EXACT,
                got=tuple(got),  # type: ignore[arg-type]
                reason=candidate.reason if int(event["key"]) & 0xFF == Verdict.WRONG_REG else "",
            )
        )
    return found


