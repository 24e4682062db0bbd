"""Functions are independent of each other: they are shared out to processes."""

from __future__ import annotations

import contextlib
import mmap
import multiprocessing
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

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


class Root(NamedTuple):
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

    They stay until `close`: what is known by then is entered later, and a new process would have
    to make its emulator first.

    Args:
        room: with the file in it, not yet furnished.
        sites, pads: of the file.
        jobs: processes; 0: all is done in this one.
    """

    def __init__(self, room: Room, sites: Sites, pads: list[tuple[int, int]], jobs: int) -> None:
        self._room, self._sites, self._pads, self._jobs = room, sites, pads, jobs
        # Where each process is, for whoever finds it dead.
        self._places = np.frombuffer(mmap.mmap(-1, mmap.PAGESIZE), np.int64)
        self._processes: list[BaseProcess] = []
        self._connections: list[Connection] = []

    def explore(
        self, roots: Sequence[Root], advance: Callable[[int], None], alone: bool = False
    ) -> Findings:
        """Enter at each root.

        Args:
            roots: where.
            advance: is told of every so many that are done.
            alone: by one process, in their order.

        Raises:
            EmulationError: the emulator failed, or ended its process.
        """
        found = nothing(self._sites)
        if not roots:
            return found
        if self._jobs == 0:
            found.add(self._here(roots, advance))
            return found
        most = 1 if alone else self._jobs
        jobs = max(1, min(most, len(roots) // _CHUNK, len(self._places)))
        # Neighbours are of a kind; dealt out in chunks, all workers get some of each.
        chunks = [roots[at : at + _CHUNK] for at in range(0, len(roots), _CHUNK)]
        for number in range(jobs):
            self._give(number, [root for chunk in chunks[number::jobs] for root in chunk])
        waiting = self._connections[:jobs]
        while waiting:
            for connection in [each for each in wait(waiting) if isinstance(each, Connection)]:
                message = self._receive(connection, self._connections.index(connection))
                if isinstance(message, int):
                    advance(message)
                    continue
                waiting.remove(connection)
                found.add(message)
        return found

    def close(self) -> None:
        """Let the processes end."""
        for connection in self._connections:
            connection.close()
        for process in self._processes:
            # It may be in the middle of its work, if another one has failed.
            process.kill()
            process.join()

    def _give(self, number: int, share: list[Root]) -> None:
        """Have a process enter at its share of the roots."""
        if number < len(self._connections):
            with contextlib.suppress(BrokenPipeError):  # is found when it is to answer
                self._connections[number].send(share)
            return
        # Even one is another process: code can end the emulator, and all that runs with it.
        context = multiprocessing.get_context("fork")
        mine, other = context.Pipe()
        process = context.Process(target=self._serve, args=(number, share, other), daemon=True)
        process.start()
        other.close()
        self._processes.append(process)
        self._connections.append(mine)

    def _here(self, roots: Sequence[Root], advance: Callable[[int], None]) -> Findings:
        """What a worker does, leaving sites and room as they were, as the end of one does."""
        before = [records.copy() for records in self._sites.records]
        self._room.furnish()
        try:
            with closing(Explorer(self._room, self._sites, self._pads)) as explorer:
                return self._work(explorer, 0, roots, advance)
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

    def _serve(self, number: int, share: list[Root], connection: Connection) -> None:
        """A process: enter at the roots that are given, until nobody is there to give any."""
        try:
            self._room.furnish()
            explorer = Explorer(self._room, self._sites, self._pads)
            with contextlib.suppress(EOFError):
                while True:
                    connection.send(self._work(explorer, number, share, connection.send))
                    share = connection.recv()
        except EmulationError as error:
            connection.send(str(error))
        connection.close()

    def _work(
        self,
        explorer: Explorer,
        worker: int,
        roots: Sequence[Root],
        advance: Callable[[int], None],
    ) -> Findings:
        sites = self._sites
        explorer.forget()
        words = explorer.words
        words[list(_COUNTS.values())] = 0
        for number, root in enumerate(roots, 1):
            if root.how is Entry.ROW:
                site = sites.at(root.pc)
                if site is not None and site["reached"]:
                    continue  # another one has led there
            self._places[worker] = root.pc
            explorer.explore(root.pc, root.tag, root.how)
            if number % _CHUNK == 0:
                advance(_CHUNK)
        advance(len(roots) % _CHUNK)
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
        cfa, ra, fp = (
            int(event[name]) if done > at else None
            for at, name in enumerate(("got_cfa", "got_ra", "got_fp"))
        )
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
                expected=(int(event["want_cfa"]), int(event["want_ra"]), int(event["want_fp"])),
                doubtful=candidate.verdict is Verdict.EXACT,
                got=(cfa, ra, fp),
                reason=candidate.reason if int(event["key"]) & 0xFF == Verdict.WRONG_REG else "",
            )
        )
    return found
