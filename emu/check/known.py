"""Known findings: a TOML file of findings that are expected, each with its reason.

    [[finding]]
    verdict = "wrong-end"
    module = "work"
    function = "_start"
    row = "outermost"
    reason = "..."
    arch = ["..."]
    table = ["sframe"]

The key is (verdict, module, function, row), never an address. `arch` and `table` say in which
runs an entry holds; without them it holds in all. In others it is as if it were not there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import arch as machines
from arch import Arch
from emu.check.findings import Finding
from emu.errors import UsageError
from emu.rowtext import row_text
from emu.unwind.sources import KINDS

_SCOPES = {"arch": tuple(machine.name for machine in machines.ALL), "table": KINDS}
"""Keys that hold a list, and what may stand in it."""
_KEYS = {"verdict", "module", "function", "row", "reason", *_SCOPES}


@dataclass(frozen=True, slots=True)
class Known:
    """One entry; `function` and `row` are None where the finding has none."""

    verdict: str
    module: str
    function: str | None
    row: str | None
    reason: str
    arch: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    """Machines and kinds of tables that it is about; empty: all."""

    def holds(self, arch: str, table: str | None) -> bool:
        """It is about a run on that machine that checks that kind of table (None: any)."""
        return (not self.arch or arch in self.arch) and (
            not self.table or table is None or table in self.table
        )

    def __str__(self) -> str:
        return f"{self.verdict} in {self.module}: {self.function or '(no function)'}"


@dataclass(frozen=True, slots=True)
class Sorted:
    """Findings split by a list of known ones."""

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    unused: tuple[Known, ...]
    """Entries that matched nothing."""


def read_known(path: str) -> list[Known]:
    """The entries of a file.

    Raises:
        UsageError: it cannot be read, is no TOML, or an entry lacks a key.
    """
    # Few runs have such a file.
    import tomllib

    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: no TOML: {error}") from error
    entries = content.get("finding", [])
    if set(content) - {"finding"} or not isinstance(entries, list):
        raise UsageError(f"{path}: only [[finding]] entries are expected")
    return [_entry(path, number, entry) for number, entry in enumerate(entries, 1)]


def _entry(path: str, number: int, entry: object) -> Known:
    where = f"{path}: finding {number}"
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: not a table")
    if unknown := set(entry) - _KEYS:
        raise UsageError(f"{where}: unknown key {min(unknown)}")
    for key in ("verdict", "module", "reason"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            raise UsageError(f"{where}: no {key}")
    for key in ("function", "row"):
        if not isinstance(entry.get(key, ""), str):
            raise UsageError(f"{where}: {key} is no text")
    return Known(
        entry["verdict"], entry["module"], entry.get("function"), entry.get("row"),
        entry["reason"], *(_scope(where, key, entry.get(key)) for key in _SCOPES),
    )  # fmt: skip


def _scope(where: str, key: str, values: object) -> tuple[str, ...]:
    """The names in a list that may be absent."""
    if values is None:
        return ()
    allowed = ", ".join(_SCOPES[key])
    if not isinstance(values, list) or not values:
        raise UsageError(f"{where}: {key} is no list of names, of {allowed}")
    for value in values:
        if value not in _SCOPES[key]:
            raise UsageError(f"{where}: {key} {value!r} is none of {allowed}")
    return tuple(values)


def sort_known(
    findings: Iterable[Finding], entries: Sequence[Known], arch: Arch, table: str | None = None
) -> Sorted:
    """Split findings into new and known ones, and name the entries that matched none.

    Args:
        findings: of one run.
        entries: those that are not about such a run are passed over.
        arch: that it ran on.
        table: the kind that it checked; None: whatever kind an entry is about.
    """
    entries = [entry for entry in entries if entry.holds(arch.name, table)]
    new: list[Finding] = []
    known: list[Finding] = []
    used: set[int] = set()
    for finding in findings:
        key = (
            finding.verdict.text, finding.module, finding.function,
            None if finding.row is None else row_text(finding.row, arch),
        )  # fmt: skip
        matches = [
            number
            for number, entry in enumerate(entries)
            if (entry.verdict, entry.module, entry.function, entry.row) == key
        ]
        used.update(matches)
        (known if matches else new).append(finding)
    unused = tuple(entry for number, entry in enumerate(entries) if number not in used)
    return Sorted(tuple(new), tuple(known), unused)
