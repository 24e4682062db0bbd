"""Functions are independent of each other: they are shared out to processes."""

from __future__ import annotations

import mmap
import multiprocessing
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
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
        jobs: processes; 0: all is done in this one.
    """

    def __init__(self, room: Room, sites: Sites, pads: list[tuple[int, int]], jobs: int) -> None:
        self._room, self._sites, self._pads, self._jobs = room, sites, pads, jobs
        # Where each process is, for whoever finds it dead.
        self._places = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.int64)

    def explore(self, roots: Sequence[Root], advance: Callable[[int], None]) -> Findings:
        """Enter at each root; `advance` is told of every so many that are done.

        Raises:
            EmulationError: the emulator failed, or ended its process.
        """
        found = nothing(self._sites)
        if not roots:
            return found
        if self._jobs == 0:
            found.add(self._here(roots, advance))
            return found
        jobs = max(1, min(self._jobs, len(roots) // _CHUNK, len(self._places)))
        # Even one is another process: code can end the emulator, and all that runs with it.
        context = multiprocessing.get_context("fork")
        # Neighbours are of a kind; dealt out in chunks, all workers get some of each.
        chunks = [roots[at : at + _CHUNK] for at in range(0, len(roots), _CHUNK)]
        readers: list[Connection] = []
        workers = []
        for number in range(jobs):
            share = [root for chunk in chunks[number::jobs] for root in chunk]
            reader, writer = context.Pipe(False)
            work = (number, share, writer)
            worker = context.Process(target=self._serve, args=work, daemon=True)
            worker.start()
            writer.close()
            readers.append(reader)
            workers.append(worker)
        connections = list(readers)
        try:
            while readers:
                for reader in [each for each in wait(readers) if isinstance(each, Connection)]:
                    message = self._receive(reader, connections.index(reader))
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

    def _here(self, roots: Sequence[Root], advance: Callable[[int], None]) -> Findings:
        """What a worker does, leaving sites and room as they were, as the end of one does."""
        before = [records.copy() for records in self._sites.records]
        self._room.furnish()
        try:
            return self._work(0, roots, advance)
        finally:
            self._room.vacate()
            for records, unmarked in zip(self._sites.records, before, strict=True):
                records[:] = unmarked

    def _receive(self, reader: Connection, number: int) -> int | Findings:
        """What a worker has sent."""
        try:
            message = reader.recv()
        except EOFError:
            name, start, section = self._sites.placed.function_at(int(self._places[number]))
            address = self._sites.placed.link(int(self._places[number]))
            where = name if name and start is not None else section
            raise EmulationError(
                f"{self._sites.placed.image.path}: {where} at {address:#x}: "
                "the emulator ended itself while this function was swept"
            ) from None
        if isinstance(message, str):
            raise EmulationError(message)
        assert isinstance(message, int | Findings)
        return message

    def _serve(self, number: int, roots: Sequence[Root], writer: Connection) -> None:
        try:
            self._room.furnish()
            writer.send(self._work(number, roots, writer.send))
        except EmulationError as error:
            writer.send(str(error))
        writer.close()

    def _work(
        self, worker: int, roots: Sequence[Root], advance: Callable[[int], None]
    ) -> Findings:
        sites = self._sites
        with closing(Explorer(self._room, sites, self._pads)) as explorer:
            for number, root in enumerate(roots, 1):
                site = sites.at(root.pc)
                if root.how is Entry.ROW and site is not None and site["reached"]:
                    continue  # another one has led there
                self._places[worker] = root.pc
                explorer.explore(root.pc, root.tag, root.how)
                if number % _CHUNK == 0:
                    advance(_CHUNK)
            advance(len(roots) % _CHUNK)
            words = explorer.words
            return Findings(
                [records["reached"].copy() for records in sites.records],
                _wrong(explorer),
                explorer.faults,
                explorer.indirect.unresolved,
                explorer.cut,
                explorer.stores.repaired,
                Counter({name: int(words[word]) for name, word in _COUNTS.items()}),
                None if sites.mutants is None else sites.mutants.outcomes.copy(),
            )


def _wrong(explorer: Explorer) -> list[Wrong]:
    """Wrong rows of all candidates."""
    found = []
    for event in explorer.events()[1:]:
        number = int(event["key"]) >> 16
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


