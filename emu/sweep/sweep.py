"""Sweep a file: place it, enter every function, say what was wrong and what was not reached."""

import contextlib
import re
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from arch.flow import Flow
from emu.cfi.saved import SavedRows, read_both
from emu.errors import UnwindlabError, UsageError
from emu.image import Image, load_image
from emu.sweep import state as w
from emu.sweep.entries import Entry
from emu.sweep.landing import landing_pads
from emu.sweep.mutants import Score
from emu.sweep.noreturn import noreturn
from emu.sweep.place import Placed, place_file
from emu.sweep.plant import Fault, plant, plant_rules
from emu.sweep.result import SweepOptions, SweepResult
from emu.sweep.room import Room
from emu.sweep.shared import mark_shared
from emu.sweep.sites import Function, Sites
from emu.sweep.stubs import find_stubs, names_in
from emu.sweep.summary import given_up, summarise
from emu.sweep.worker import Findings, Root, Workers
from emu.unwind.lookup import RowTable
from emu.unwind.sources import choose_kind, has_table, read_table

_LSDA_LIMIT = 1 << 16
"""Bytes of one language-specific data area."""


class Sweep:
    """One file, ready to be swept.

    Args:
        path: an executable, a shared library or a relocatable object.
        options: of the sweep.

    Raises:
        UnwindlabError: it cannot be swept.
    """

    def __init__(self, path: str, options: SweepOptions) -> None:
        self._begin = time.monotonic()
        self.image: Image = load_image(path)
        image = self.image
        if image.arch is None:
            raise UsageError(
                f"{path}: machine {image.machine}, {image.byte_order} endian: not supported"
            )
        self.arch = image.arch
        self.options = options
        self.kind = choose_kind(options.table, [image])
        both = read_both(image) if self.kind == "cfi" or has_table(image, "cfi") else None
        table = both[0] if both and self.kind == "cfi" else read_table(image, self.kind)
        if table is None or not table.functions:
            why = "none" if table is None else table.corrupt or "no functions in it"
            raise UsageError(f"{path}: table {self.kind}: {why}")
        self.room = Room(self.arch, options.seed)
        self.placed: Placed = place_file(image, self.room.memory)
        self.stubs = find_stubs(self.arch, self.placed)
        self._frames = self._placed_frames(both[1] if both else ())
        self.bad_areas = 0
        """Language-specific data areas that could not be read: their pads may be missed."""
        self.symbols = frozenset(self.placed.functions().values())
        self.use(RowTable(self.placed.place(table), self.arch))

    def use(self, table: RowTable) -> None:
        """Check these rows, by runtime address, from now on."""
        frames = self._frames
        self.sites = Sites(
            self.arch, self.placed, table, frames if self.kind == "cfi" else (), self.stubs
        )
        self.called = self.sites.called()
        bounds = [(function.start, function.end) for function in self.sites.functions]
        never, likely = noreturn(self.sites.instructions, bounds, self._names())
        self.pads = self.sites.mark_calls(never, likely, self._landing_pads(frames))
        mark_shared(self.sites)

    def run(self, progress: Callable[[int], None] | None = None) -> SweepResult:
        """Enter every function; `progress` is told now and then how many are done."""
        found = self._explore(progress)
        return summarise(self, found, time.monotonic() - self._begin)

    def mutate(self, progress: Callable[[int], None] | None = None) -> Score:
        """Plant every single fault in the table, and see which of them the sweep sees."""
        table = self.sites.table.table
        assert table is not None
        faults: list[Fault] = []
        for function in table.functions:
            places = self.sites.places(function.start, function.start + function.size)
            faults += plant(function, places, self.arch)
        for start, spans in self.sites.rules.spans():
            faults += plant_rules(start, spans, self.sites.rules.kept, self.arch.sp)
        return self.judge(faults, progress)

    def judge(
        self, faults: Sequence[Fault], progress: Callable[[int], None] | None = None
    ) -> Score:
        """See which of these faults the sweep sees."""
        mutants = self.sites.plant(faults)
        found = self._explore(progress)
        score = mutants.score(mutants.outcomes if found.outcomes is None else found.outcomes)
        return replace(score, given_up=given_up(self, found))

    def _explore(self, progress: Callable[[int], None] | None) -> Findings:
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            if progress:
                progress(done)

        with closing(Workers(self.room, self.sites, self.pads, self.options.jobs)) as workers:
            found = workers.explore(self.roots(), advance)
            # Each step enters what no way from the entries before has led to.
            found.add(workers.explore(self.unnamed_roots(found), advance))
            found.add(workers.explore(self.part_roots(found), advance, alone=True))
        return found

    def roots(self) -> list[Root]:
        """Where to enter first: functions that have a name or are called, and stubs."""
        wanted = self.wanted()
        roots: list[Root] = []
        for number, function in enumerate(self.sites.functions):
            if wanted is not None and number not in wanted:
                continue
            flags = self.sites.flags(function.start)
            if flags is None:
                continue
            how = self._entry(function, flags)
            if how is not None:
                roots.append(Root(function.start, w.BY_ENTRY, how))
        known = {root.pc for root in roots}
        for address in self.stubs.entries:
            site = self.sites.at(address)
            if site is None or address in known or not site["flags"] & w.ENTRY_ROW:
                continue
            if wanted is None or int(site["function"]) in wanted:
                roots.append(Root(address, w.BY_ENTRY))
        return roots

    def unnamed_roots(self, found: Findings) -> list[Root]:
        """Functions that nothing but their first row makes one.

        It may be wrong, in a part that is jumped to with a frame: then it has been reached.
        """
        wanted = self.wanted()
        roots: list[Root] = []
        for number, function in enumerate(self.sites.functions):
            place = self.sites.position(function.start)
            if place is None or found.reached[place[0]][place[1]]:
                continue
            site = self.sites.records[place[0]][place[1]]
            if site["flags"] & w.ENTRY_ROW and (wanted is None or number in wanted):
                roots.append(Root(function.start, w.BY_ENTRY))
        return roots

    def part_roots(self, found: Findings) -> list[Root]:
        """Symbols inside functions, if they have an entry's row, and parts by their first row."""
        wanted = self.wanted()
        roots: list[Root] = []
        starts = {function.start for function in self.sites.functions}
        for address in sorted(starts.union(self.symbols)):
            place = self.sites.position(address)
            if place is None or found.reached[place[0]][place[1]]:
                continue
            site = self.sites.records[place[0]][place[1]]
            if site["flags"] & w.BOTTOM or (wanted and int(site["function"]) not in wanted):
                continue
            if site["row"] == self.sites.entry_code and site["saved"] <= 0:
                roots.append(Root(address, w.BY_ENTRY))
            elif address in starts:
                roots.append(Root(address, w.BY_PART, Entry.ROW))
        return roots

    def _entry(self, function: Function, flags: int) -> Entry | None:
        """How a function is entered; None: it is a part of another one.

        The table is asked last: where its first row is wrong, that is to be found.
        """
        address = function.start
        if address in self.called:
            return Entry.CALL
        if flags & w.BOTTOM:
            return Entry.BOTTOM
        name = self.placed.function_at(address)[0] or ""
        binding = self.arch.lazy_binding
        row = self.sites.table.rows[function.row] if function.row >= 0 else None
        if binding is not None and name.startswith(binding.resolvers):
            return Entry.RESOLVER
        if row is not None and row.signal and self.arch.signal_frame is not None:
            return Entry.SIGNAL
        return Entry.CALL if address in self.symbols and ".cold" not in name else None

    def wanted(self) -> set[int] | None:
        """Numbers of the functions that are asked for; None: all."""
        name = self.options.function
        if name is None:
            return None
        address = self.placed.functions().get(name)
        if address is None and self.image.kind != "rel" and re.fullmatch("0[xX][0-9a-fA-F]+", name):
            address = self.placed.runtime(-1, int(name, 16))
        number = -1 if address is None else self.sites.function_at(address)
        if number < 0:
            raise UsageError(
                f"{self.image.path}: --function {name}: the table has none of that name"
            )
        return {number}

    # ---- what is known beforehand

    def _placed_frames(self, frames: Sequence[SavedRows]) -> tuple[SavedRows, ...]:
        """What .eh_frame says beside rows, by runtime address."""
        found = []
        for one in frames:
            try:
                start = self.placed.runtime(one.section, one.start)
            except (KeyError, UnwindlabError):
                continue
            found.append(
                replace(one, start=start)
            )
        return tuple(found)

    def _names(self) -> dict[int, str]:
        """Names of functions, of symbols that are elsewhere, and of stubs that lead to them."""
        placed = self.placed
        names = dict(placed.undefined) | dict(placed.slots)
        names |= {address: name for name, address in placed.functions().items()}
        for span, code in zip(placed.spans, self.sites.instructions, strict=True):
            names |= names_in(self.arch, placed, span, code)
        return names | self.stubs.names

    def _landing_pads(self, frames: Sequence[SavedRows]) -> dict[int, list[tuple[int, int]]]:
        """Runtime address of each call that an exception may leave -> its landing pads."""
        pads: dict[int, list[tuple[int, int]]] = {}
        places = {}
        arguments = {frame.start: frame.arguments for frame in frames}
        for frame in frames:
            if frame.lsda is not None:
                with contextlib.suppress(KeyError, UnwindlabError):
                    places[frame.start] = self.placed.runtime(
                        frame.lsda.section, frame.lsda.value
                    )
        ends = sorted({*places.values()})
        for start, place in places.items():
            # Some compilers give a table the length of all that follow it.
            behind = bisect_right(ends, place)
            size = ends[behind] - place if behind < len(ends) else _LSDA_LIMIT
            data = self.room.memory.read_some(place, min(size, _LSDA_LIMIT))
            try:
                areas = landing_pads(data, start, self.image.byte_order, place)
            except UnwindlabError:
                self.bad_areas += 1
                continue
            for low, high, pad in areas:
                for call in self._calls(low, high):
                    pads.setdefault(call, []).append((pad, _pushed(arguments[start], call - start)))
        return pads

    def _calls(self, start: int, end: int) -> list[int]:
        """Calls whose last byte lies in a range: that is what an unwinder looks up."""
        span = self.sites.span_at(start)
        if span < 0:
            return []
        records, addresses = self.sites.records[span], self.sites.addresses[span]
        found = []
        low, high = addresses.searchsorted((start - self.arch.longest_instruction, end))
        for at in range(low, high):
            kind = records["kind"][at]
            last = int(addresses[at]) + int(records["size"][at]) - 1
            if kind in (Flow.CALL, Flow.CALL_INDIRECT) and start <= last < end:
                found.append(int(addresses[at]))
        return found


def _pushed(arguments: Sequence[tuple[int, int]], offset: int) -> int:
    """Bytes that have been pushed for the call at an offset."""
    number = bisect_right(arguments, offset, key=lambda each: each[0])
    return arguments[number - 1][1] if number else 0
