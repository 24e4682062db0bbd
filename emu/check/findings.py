"""Verdicts of single instructions grouped into findings and gaps."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arch import Row
from emu.check.state import (
    CALLER_ROLE,
    CodeMap,
)
from emu.symbols import FunctionNames
from emu.unwind.lookup import RowTable
from emu.verdict import Verdict

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class CheckedModule:
    """A loaded module as reports need it; `bias` is runtime minus link-time address."""

    name: str
    bias: int
    table: RowTable
    names: FunctionNames


@dataclass(frozen=True, slots=True)
class Values:
    """CFA, RA and FP of a caller, unsigned; None where there is none or it was not reached."""

    cfa: int | None
    ra: int | None
    fp: int | None


@dataclass(frozen=True, slots=True)
class Finding:
    """A range inside one function with one verdict; a gap has neither row nor values.

    Addresses are link-time, `end` is exclusive. `count` sums the wrong executions over the
    range, `checked` all of them. `instruction` is the number of the first wrong execution.
    """

    verdict: Verdict
    module: str | None
    function: str | None
    section: str
    role: str
    start: int
    end: int
    start_offset: int
    count: int
    checked: int
    expected: Values | None = None
    got: Values | None = None
    row: Row | None = None
    reason: str = ""
    instruction: int = 0


@dataclass(frozen=True, slots=True)
class _Spot:
    """One verdict at one instruction, with its place among the executed ones."""

    address: int
    size: int
    position: int
    count: int
    checked: int
    event: int
    """Index of the event that holds its values; 0: none."""


class Grouping:
    """Findings and gaps of a finished run.

    Args:
        code: the records of all executed instructions.
        modules: one for each range of `code`, in its order.
        events: the event array, structured as `state.EVENT`; entry 0 is not used.
    """

    def __init__(
        self, code: CodeMap, modules: Sequence[CheckedModule], events: npt.NDArray[np.void]
    ) -> None:
        self._code = code
        self._modules = modules
        self._events = events

    def groups(self) -> tuple[list[Finding], list[Finding]]:
        """(findings, gaps), both by module and address."""
        by_range: dict[int, list[int]] = {}
        for index in range(1, len(self._events)):
            by_range.setdefault(self._range_of(int(self._events[index]["pc"])), []).append(index)
        found: list[Finding] = []
        for number, module in enumerate(self._modules):
            found += self._of_range(number, module, by_range.get(number, []))
        found += self._outside(by_range.get(-1, []))
        return (
            [f for f in found if f.verdict.is_finding], [f for f in found if f.verdict.is_gap],
        )  # fmt: skip

    def _range_of(self, pc: int) -> int:
        for number, item in enumerate(self._code.ranges):
            if item.start <= pc < item.end:
                return number
        return -1

    def _of_range(self, number: int, module: CheckedModule, events: Sequence[int]) -> list[Finding]:
        item = self._code.ranges[number]
        records = self._code.records[number]
        executed = np.flatnonzero(self._code.executed(number))
        spots: dict[tuple[Verdict, str], list[_Spot]] = {}
        # Where there is no row the verdict is fixed by the address; no event was noted.
        for at in np.flatnonzero(records["code"][executed] < 0):
            record = records[executed[at]]
            address = item.start + (int(executed[at]) << self._code.shift)
            count = int(record["count"])
            spots.setdefault((Verdict(-int(record["code"])), "sampled"), []).append(
                _Spot(address, int(record["size"]), int(at), count, count, 0)
            )
        for index in events:
            event = self._events[index]
            slot = (int(event["pc"]) - item.start) >> self._code.shift
            caller = bool(int(event["key"]) & CALLER_ROLE)
            verdict = Verdict(int(event["key"]) & 0xFF)
            spots.setdefault((verdict, "caller" if caller else "sampled"), []).append(
                _Spot(
                    int(event["pc"]), int(event["size"]), int(np.searchsorted(executed, slot)),
                    int(event["count"]),
                    int(records[slot]["calls" if caller else "count"]), index,
                )
            )  # fmt: skip
        found: list[Finding] = []
        for (verdict, role), those in spots.items():
            if role == "caller":
                sampled = {s.address for s in spots.get((verdict, "sampled"), [])}
                those = [spot for spot in those if spot.address not in sampled]
            found += self._ranges(verdict, role, module, item.bias, those)
        return sorted(found, key=lambda f: (f.start, f.role, f.verdict))

    def _ranges(
        self, verdict: Verdict, role: str, module: CheckedModule, bias: int, spots: Iterable[_Spot]
    ) -> list[Finding]:
        """Spots that follow each other among the executed instructions of one function."""
        whole = bool(module.table.table and module.table.table.corrupt) and (
            verdict is Verdict.CORRUPT
        )
        runs: list[list[_Spot]] = []
        last_function: tuple[str | None, int | None, str] | None = None
        for spot in sorted(spots, key=lambda s: s.address):
            place = module.names.place(spot.address - bias)
            function = (place.function, place.start, place.section)
            if whole and runs:
                runs[-1].append(spot)
                continue
            if not runs or runs[-1][-1].position + 1 != spot.position or function != last_function:
                runs.append([])
            runs[-1].append(spot)
            last_function = function
        return [self._finding(verdict, role, module, bias, run, whole) for run in runs]

    def _finding(
        self, verdict: Verdict, role: str, module: CheckedModule, bias: int, run: list[_Spot],
        whole: bool,
    ) -> Finding:  # fmt: skip
        start = run[0].address - bias
        place = module.names.place(start)
        event = self._events[run[0].event] if run[0].event else None
        return Finding(
            verdict=verdict,
            module=module.name,
            function=None if whole else place.function,
            section=place.section,
            role=role,
            start=start,
            end=run[-1].address - bias + run[-1].size,
            start_offset=0 if whole or place.start is None else start - place.start,
            count=sum(spot.count for spot in run),
            checked=sum(spot.checked for spot in run),
            expected=None if event is None else _expected(event),
            got=None if event is None else _got(event),
            row=None if event is None or event["row"] < 0 else module.table.rows[event["row"]],
            reason=module.table.reason(start),
            instruction=0 if event is None else int(event["first"]),
        )

    def _outside(self, events: Sequence[int]) -> list[Finding]:
        """Instructions in no module: one gap for each run of touching ones."""
        found: list[Finding] = []
        sampled: set[int] = set()
        for role in ("sampled", "caller"):
            those = [
                event
                for event in (self._events[index] for index in events)
                if bool(int(event["key"]) & CALLER_ROLE) is (role == "caller")
                and int(event["pc"]) not in sampled
            ]
            sampled |= {int(event["pc"]) for event in those}
            runs: list[list[npt.NDArray[np.void]]] = []
            for event in sorted(those, key=lambda e: int(e["pc"])):
                if not runs or int(event["pc"]) > int(runs[-1][-1]["pc"] + runs[-1][-1]["size"]):
                    runs.append([])
                runs[-1].append(event)
            found += [_outside_gap(run, role) for run in runs]
        return found


def _outside_gap(run: Sequence[npt.NDArray[np.void]], role: str) -> Finding:
    count = sum(int(event["count"]) for event in run)
    verdict = Verdict(int(run[0]["key"]) & 0xFF)
    start, end = int(run[0]["pc"]), int(run[-1]["pc"] + run[-1]["size"])
    return Finding(verdict, None, None, "", role, start, end, 0, count, count)


def _expected(event: npt.NDArray[np.void]) -> Values:
    if not int(event["done"]) >> 8:
        return Values(None, None, None)
    return Values(*(int(event[name]) & _MASK for name in ("want_cfa", "want_ra", "want_fp")))


def _got(event: npt.NDArray[np.void]) -> Values:
    done = int(event["done"]) & 0xFF
    values = [int(event[name]) & _MASK for name in ("got_cfa", "got_ra", "got_fp")]
    return Values(*(value if done > at else None for at, value in enumerate(values)))
