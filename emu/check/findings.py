"""Verdicts of single instructions grouped into findings and gaps."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arch import Row
from emu.check.codemap import CheckedModule, CodeSegment
from emu.check.events import Events
from emu.check.state import CALLER_ROLE
from emu.verdict import Verdict

_MASK = (1 << 64) - 1


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
    event: np.void | None
    """What holds its values."""


class Grouping:
    """Findings and gaps of a finished run.

    Args:
        segments: all code that was ever mapped.
        events: those of each segment, by link-time address.
        outside: those in no module, by runtime address.
    """

    def __init__(
        self,
        segments: Iterable[CodeSegment],
        events: Mapping[CodeSegment, Events],
        outside: Events,
    ) -> None:
        self._segments = sorted(segments, key=lambda each: (each.module.name, each.start))
        self._events = events
        self._not_in_any = outside

    def groups(self) -> tuple[list[Finding], list[Finding]]:
        """(findings, gaps), both by module and address."""
        found: list[Finding] = []
        for segment in self._segments:
            found += self._of_segment(segment, self._events.get(segment, ()))
        found += self._outside(self._not_in_any)
        return (
            [f for f in found if f.verdict.is_finding], [f for f in found if f.verdict.is_gap],
        )  # fmt: skip

    def _of_segment(self, segment: CodeSegment, events: Iterable[np.void]) -> list[Finding]:
        records = segment.records
        executed = np.flatnonzero(segment.executed)
        spots: dict[tuple[Verdict, str], list[_Spot]] = {}
        # Where there is no row the verdict is fixed by the address; no event was noted.
        for at in np.flatnonzero(records["code"][executed] < 0):
            record = records[executed[at]]
            address = segment.start + (int(executed[at]) << segment.shift)
            count = int(record["count"])
            spots.setdefault((Verdict(-int(record["code"])), "sampled"), []).append(
                _Spot(address, int(record["size"]), int(at), count, count, None)
            )
        for event in events:
            slot = (int(event["pc"]) - segment.start) >> segment.shift
            caller = bool(int(event["key"]) & CALLER_ROLE)
            verdict = Verdict(int(event["key"]) & 0xFF)
            spots.setdefault((verdict, "caller" if caller else "sampled"), []).append(
                _Spot(
                    int(event["pc"]), int(event["size"]), int(np.searchsorted(executed, slot)),
                    int(event["count"]),
                    int(records[slot]["calls" if caller else "count"]), event,
                )
            )  # fmt: skip
        found: list[Finding] = []
        for (verdict, role), those in spots.items():
            if role == "caller":
                sampled = {s.address for s in spots.get((verdict, "sampled"), [])}
                those = [spot for spot in those if spot.address not in sampled]
            found += self._ranges(verdict, role, segment.module, those)
        return sorted(found, key=lambda f: (f.start, f.role, f.verdict))

    def _ranges(
        self, verdict: Verdict, role: str, module: CheckedModule, spots: Iterable[_Spot]
    ) -> list[Finding]:
        """Spots that follow each other among the executed instructions of one function."""
        whole = bool(module.table.corrupt) and verdict is Verdict.CORRUPT
        runs: list[list[_Spot]] = []
        last_function: tuple[str | None, int | None, str] | None = None
        for spot in sorted(spots, key=lambda s: s.address):
            place = module.names.place(spot.address)
            function = (place.function, place.start, place.section)
            if whole and runs:
                runs[-1].append(spot)
                continue
            if not runs or runs[-1][-1].position + 1 != spot.position or function != last_function:
                runs.append([])
            runs[-1].append(spot)
            last_function = function
        return [self._finding(verdict, role, module, run, whole) for run in runs]

    def _finding(
        self, verdict: Verdict, role: str, module: CheckedModule, run: list[_Spot], whole: bool
    ) -> Finding:
        start = run[0].address
        place = module.names.place(start)
        event = run[0].event
        expected = None if event is None else _expected(event)
        got = None if event is None else _got(event)
        return Finding(
            verdict=verdict,
            module=module.name,
            function=None if whole else place.function,
            section=place.section,
            role=role,
            start=start,
            end=run[-1].address + run[-1].size,
            start_offset=0 if whole or place.start is None else start - place.start,
            count=sum(spot.count for spot in run),
            checked=sum(spot.checked for spot in run),
            expected=expected,
            got=got,
            row=None if event is None or event["row"] < 0 else module.table.rows[event["row"]],
            reason=about_signature(verdict, expected, got) or module.table.reason(start),
            instruction=0 if event is None else int(event["first"]),
        )

    def _outside(self, events: Events) -> list[Finding]:
        """Instructions in no module: one gap for each run of touching ones."""
        found: list[Finding] = []
        sampled: set[int] = set()
        for role in ("sampled", "caller"):
            those = [
                event
                for event in events
                if bool(int(event["key"]) & CALLER_ROLE) is (role == "caller")
                and int(event["pc"]) not in sampled
            ]
            sampled |= {int(event["pc"]) for event in those}
            runs: list[list[np.void]] = []
            for event in sorted(those, key=lambda e: int(e["pc"])):
                if not runs or int(event["pc"]) > int(runs[-1][-1]["pc"] + runs[-1][-1]["size"]):
                    runs.append([])
                runs[-1].append(event)
            found += [_outside_gap(run, role) for run in runs]
        return found


def about_signature(verdict: Verdict, expected: Values | None, got: Values | None) -> str:
    """Why a return address is wrong that seems right: the row's signature is taken off it."""
    if verdict is not Verdict.WRONG_RA or expected is None or got is None:
        return ""
    return "no signature, though the row says so" if got.ra == expected.ra else ""


def _outside_gap(run: Sequence[np.void], role: str) -> Finding:
    count = sum(int(event["count"]) for event in run)
    verdict = Verdict(int(run[0]["key"]) & 0xFF)
    start, end = int(run[0]["pc"]), int(run[-1]["pc"] + run[-1]["size"])
    return Finding(verdict, None, None, "", role, start, end, 0, count, count)


def _expected(event: np.void) -> Values:
    if not int(event["done"]) >> 8:
        return Values(None, None, None)
    return Values(*(int(event[name]) & _MASK for name in ("want_cfa", "want_ra", "want_fp")))


def _got(event: np.void) -> Values:
    done = int(event["done"]) & 0xFF
    values = [int(event[name]) & _MASK for name in ("got_cfa", "got_ra", "got_fp")]
    return Values(*(value if done > at else None for at, value in enumerate(values)))
