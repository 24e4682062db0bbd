"""Every instruction of the file, with all that is known of it before anything executes."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arch import Arch
from arch.flow import Flow
from emu.cfi.saved import SavedRows
from emu.sweep import state as w
from emu.sweep.defuse import defuse
from emu.sweep.instructions import Instructions, decode
from emu.sweep.mutants import Mutants
from emu.sweep.operands import Operands
from emu.sweep.place import CodeSpan, Placed
from emu.sweep.plant import Fault, entry_row
from emu.sweep.rules import Rules, last_before
from emu.sweep.stubs import Stubs, is_stub_span
from emu.unwind.lookup import RowTable, look_up_all

_START = "_start"
"""What objects call the start of a program."""
_MARK = 4
"""Bytes of the mark that a place may carry to which indirect calls may go."""


class Function(NamedTuple):
    """A function of the table: runtime range, and the number of its first row."""

    start: int
    end: int
    row: int


class Sites:
    """Sites of all spans.

    Args:
        arch: the machine.
        placed: the file in memory.
        table: the rows under check, by runtime address.
        saved: rules of callee-saved registers, by runtime address; empty for other tables.
        stubs: of the file.
    """

    def __init__(
        self,
        arch: Arch,
        placed: Placed,
        table: RowTable,
        saved: Sequence[SavedRows],
        stubs: Stubs,
    ) -> None:
        self.arch = arch
        self.table = table
        self.operands = Operands(arch)
        self.placed = placed
        bounds = [b for b in table.function_bounds if placed.span_at(b[0]) is not None]
        starts = np.array([start for start, _ in bounds], np.int64)
        rows = self._rows_at(starts).tolist()
        self.functions = [Function(*b, row) for b, row in zip(bounds, rows, strict=True)]
        self._named = frozenset(placed.functions().values())
        self._starts = starts
        self._ends = np.array([f.end for f in self.functions], np.int64)
        self._start_list = self._starts.tolist()
        self._span_starts = [span.start for span in placed.spans]
        self._codes: list[bytes] = []
        self.instructions = [self._decode(span, stubs.cuts(span)) for span in placed.spans]
        self._span_ends = [code.end for code in self.instructions]
        marked = self._rows_at(starts + _MARK).tolist()
        pairs = zip(self.functions, marked, strict=True)
        self._bottoms = np.array([self._is_bottom(f, row) for f, row in pairs], bool)
        wanted = entry_row(arch)
        self.entry_code = table.rows.index(wanted) if wanted in table.rows else -(1 << 30)
        self.rules = Rules(arch, saved)
        self.mutants: Mutants | None = None
        self.stub_jumps: set[int] = set()
        """Indirect jumps of procedure linkage tables."""
        self.addresses: list[npt.NDArray[np.int64]] = []
        self.records: list[npt.NDArray[np.void]] = []
        self.kinds: list[bytes] = []
        self.sizes: list[bytes] = []
        """As in `records`, for single looks: those cost a tenth in bytes of what they do there."""
        self._index: list[npt.NDArray[np.int32]] = []
        self.block: npt.NDArray[np.int64] = np.zeros((len(placed.spans) + 1, 5), np.int64)
        for number, (span, found) in enumerate(zip(placed.spans, self.instructions, strict=True)):
            self._fill(number, span.start, span.end, found)
            if is_stub_span(span):
                self._mark_stubs(self.records[number], self.addresses[number], stubs)
        for crashing in arch.crashing:
            for span, records, addresses in zip(
                placed.spans, self.records, self.addresses, strict=True
            ):
                defuse(placed.memory, span, addresses, records["size"], crashing)

    # ---- look-ups

    def at(self, address: int) -> npt.NDArray[np.void] | None:
        """The site that begins at a runtime address."""
        place = self.position(address)
        return None if place is None else self.records[place[0]][place[1]]

    def flags(self, address: int) -> int | None:
        """Those of the site that begins at a runtime address."""
        place = self.position(address)
        return None if place is None else int(self.records[place[0]]["flags"][place[1]])

    def span_at(self, address: int) -> int:
        """Number of the span that holds a runtime address; -1: none."""
        number = bisect_right(self._span_starts, address) - 1
        return number if number >= 0 and address < self._span_ends[number] else -1

    def position(self, address: int) -> tuple[int, int] | None:
        """(span, number in it) of the site that begins at a runtime address."""
        number = self.span_at(address)
        if number < 0:
            return None
        item = self.instructions[number]
        offset = address - item.start
        place = int(self._index[number][offset >> item.shift])
        if place == 0 or offset & ((1 << item.shift) - 1):
            return None
        return number, place - 1

    def numbers(self, span: int, addresses: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Numbers of the sites of a span that begin at some of the addresses."""
        item = self.instructions[span]
        offsets = addresses - item.start
        offsets = offsets[(offsets >= 0) & (offsets < len(item.sizes) << item.shift)]
        offsets = offsets[offsets & ((1 << item.shift) - 1) == 0]
        found: npt.NDArray[np.int64] = self._index[span][offsets >> item.shift].astype(np.int64)
        return found[found > 0] - 1

    def code(self, address: int) -> bytes:
        """The bytes of the site that begins at a runtime address."""
        place = self.position(address)
        assert place is not None
        offset = address - self._span_starts[place[0]]
        return self._codes[place[0]][offset : offset + self.sizes[place[0]][place[1]]]

    def function_at(self, address: int) -> int:
        """Number of the function of the table that holds an address; -1: none."""
        number = bisect_right(self._start_list, address) - 1
        return number if number >= 0 and address < self.functions[number].end else -1

    def called(self) -> frozenset[int]:
        """Where functions begin that a direct call goes to, from outside of them."""
        found: set[int] = set()
        for records in self.records:
            calls = records[records["kind"] == Flow.CALL]
            number = np.searchsorted(self._starts, calls["target"], "right") - 1
            number = np.maximum(number, 0)
            if len(self._starts):
                others = calls["function"] != number
                begins = self._starts[number] == calls["target"]
                found.update(calls["target"][others & begins].tolist())
        return frozenset(found)

    def plant(self, faults: Sequence[Fault]) -> Mutants:
        """Have faults of the table judged beside the right rows."""
        addresses = np.concatenate(self.addresses) if self.addresses else np.zeros(0, np.int64)
        mutants = Mutants(faults, addresses, self.table.rows, self.arch)
        at = 0
        for records in self.records:
            records["faults"] = mutants.first[at : at + len(records)]
            at += len(records)
        self.mutants = mutants
        return mutants

    def places(self, start: int, end: int) -> list[int]:
        """Where instructions begin in a range of one span."""
        span = self.span_at(start)
        if span < 0:
            return []
        low, high = np.searchsorted(self.addresses[span], (start, end))
        return [int(address) for address in self.addresses[span][low:high]]

    # ---- inside

    def _rows_at(self, addresses: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        """The row for each runtime address, as `lookup` says it."""
        codes = np.zeros(len(addresses), np.int32)
        look_up_all(self.table.block, addresses, codes)
        return codes

    def _is_bottom(self, function: Function, marked: int) -> bool:
        """Nothing has called it: its first row, or the one behind a mark, ends the stack.

        The table is believed where nothing speaks against it: a function with a name is called
        by somebody, unless it is where the program starts.
        """
        rows = self.table.rows
        codes = (function.row, marked)
        if function.start + _MARK >= function.end or not any(
            code >= 0 and rows[code].outermost for code in codes
        ):
            return False
        name = self.placed.function_at(function.start)[0]
        entry = self.placed.image.entry and self.placed.runtime(-1, self.placed.image.entry)
        called = name and name != _START and function.start in self._named
        return not called or function.start == entry

    def _decode(self, span: CodeSpan, cuts: list[int]) -> Instructions:
        """Decode each function of the table by itself, and what lies between them."""
        start, end = span.start, span.end
        parts: list[tuple[int, int]] = []
        between: list[tuple[int, int]] = []
        at = start
        # Functions seldom overlap, and never by more than their neighbours.
        first, last = np.searchsorted(self._starts, (start, end))
        for function in self.functions[max(0, int(first) - 1) : int(last)]:
            low, high = max(function.start, start), min(function.end, end)
            if low >= high:
                continue
            if at < low:
                between.append((at, low))
            inner = [low, *(cut for cut in cuts if low < cut < high), high]
            parts += pairwise(inner)
            at = max(at, high)
        if at < end:
            between.append((at, end))
        code = self.placed.memory.read(start, end - start)
        self._codes.append(code)
        return decode(self.arch, code, start, parts + between)

    def _mark_stubs(
        self, records: npt.NDArray[np.void], addresses: npt.NDArray[np.int64], stubs: Stubs
    ) -> None:
        """Stubs are entered like functions, each by itself; numbers between them are filler."""
        entries = np.isin(addresses, np.array(stubs.entries, np.int64))
        plain = (records["row"] == self.entry_code) & (records["saved"] <= 0)
        records["flags"][entries & plain] |= w.START | w.ENTRY_ROW
        self.stub_jumps.update(addresses[records["kind"] == Flow.JUMP_INDIRECT].tolist())
        behind = np.concatenate([[False], records["kind"][:-1] == Flow.JUMP])
        records["flags"][behind & ~entries] |= w.PADDING

    def _fill(self, number: int, start: int, end: int, found: Instructions) -> None:
        places = found.places()
        addresses = start + (places.astype(np.int64) << found.shift)
        index = np.zeros(len(found.sizes) + 1, np.int32)
        index[places] = np.arange(1, len(places) + 1)
        records = np.zeros(len(places), w.SITE)
        records["target"] = found.targets[places]
        records["kind"] = found.kinds[places]
        records["size"] = found.sizes[places]
        codes = self._rows_at(addresses)
        records["row"] = codes
        records["saved"] = self.rules.at(addresses)
        # Where -1 stands for a number, the last element is meant, which is of no function.
        starts, ends = np.append(self._starts, -1), np.append(self._ends, -1)
        function = last_before(self._starts, addresses)
        inside = addresses < ends[function]
        records["function"] = np.where(inside, function, -1)
        flags = np.zeros(len(places), np.uint8)
        begins = inside & (addresses == starts[function])
        flags[begins] |= w.START
        plain = (codes == self.entry_code) & (records["saved"] <= 0)
        flags[begins & plain] |= w.ENTRY_ROW
        flags[inside & np.append(self._bottoms, False)[function]] |= w.BOTTOM
        flags[found.padding[places] != 0] |= w.PADDING
        indirect = inside & (records["kind"] == Flow.JUMP_INDIRECT)
        having = np.zeros(len(starts), bool)
        having[function[indirect]] = True
        flags[inside & having[function]] |= w.INDIRECTS
        # What an instruction executes out of its place is an operand of it.
        operands = records["target"][(records["kind"] == Flow.SKIP) & (records["target"] >= start)]
        flags[np.isin(addresses, operands)] |= w.PADDING
        records["flags"] = flags
        self.addresses.append(addresses)
        self.records.append(records)
        self.kinds.append(records["kind"].tobytes())
        self.sizes.append(records["size"].tobytes())
        self._index.append(index)
        self.block[number] = (
            start, end, found.shift, index.ctypes.data, records.ctypes.data,
        )  # fmt: skip

    def mark_calls(
        self,
        never: frozenset[int],
        likely: frozenset[int],
        pads: Mapping[int, Sequence[tuple[int, int]]],
    ) -> list[tuple[int, int]]:
        """Note on each call whether it returns, and its landing pads.

        Args:
            never: runtime addresses of functions that do not return.
            likely: of those that perhaps do not.
            pads: runtime address of a call -> (landing pad, bytes that SP is higher there).

        Returns:
            The lists of pads, each ended by zeros; a site's `pads` is an index in it.
        """
        lists = [(0, 0)]
        certain, doubtful = (np.array(sorted(each), np.int64) for each in (never, likely))
        for records, addresses in zip(self.records, self.addresses, strict=True):
            kinds = records["kind"]
            calls = np.flatnonzero((kinds == Flow.CALL) | (kinds == Flow.CALL_INDIRECT))
            calls = calls[records["function"][calls] >= 0]
            after = np.minimum(calls + 1, len(records) - 1)
            targets = np.where(kinds[calls] == Flow.CALL, records["target"][calls], -1)
            ends = (
                (records["function"][after] != records["function"][calls])
                | (addresses[after] != addresses[calls] + records["size"][calls])
                | np.isin(targets, certain)
            )
            records["flags"][calls[ends]] |= w.NORETURN
            # A call changes no rule.
            other = (
                (records["row"][after] != records["row"][calls])
                | (records["saved"][after] != records["saved"][calls])
                | np.isin(targets, doubtful)
            )
            records["flags"][calls[other & ~ends]] |= w.DOUBTFUL
        for address, places in sorted(pads.items()):
            position = self.position(address)
            if position is not None:
                self.records[position[0]]["pads"][position[1]] = len(lists)
                lists += [*places, (0, 0)]
        return lists
