"""Findings in reports against lists of known ones, also where functions have no names.

Distributions strip the names of local functions, and a key of `--known` has no address. An entry
without a function's name goes by the addresses of functions in its reason, each written as
[0xSTART, 0xEND).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from emu.check.known import Known


@dataclass(frozen=True, slots=True)
class Place:
    """An entry, or what it says of one function."""

    entry: Known
    addresses: range | None

    def matches(self, machine: str, table: str, finding: dict[str, Any]) -> bool:
        """It is about a finding of a report."""
        entry = self.entry
        return (
            entry.holds(machine, table)
            and finding["verdict"] == entry.verdict
            and finding["module"] == entry.module
            and finding["function"] == entry.function
            and finding["row"] == entry.row
            and (self.addresses is None or int(finding["start"], 16) in self.addresses)
        )

    def __str__(self) -> str:
        where = f" {self.addresses.start:#x}" if self.addresses else ""
        return f"{self.entry}{where}"


def places_of(entries: Iterable[Known]) -> list[Place]:
    """The entries, one place for each function of those that name none."""
    return [Place(entry, addresses) for entry in entries for addresses in _addresses(entry)]


def _addresses(entry: Known) -> list[range | None]:
    if entry.function is not None:
        return [None]
    bounds = re.findall(r"\[(0x[0-9a-f]+), (0x[0-9a-f]+)\)", entry.reason)
    return [range(int(start, 16), int(end, 16)) for start, end in bounds] or [None]
