"""Campaigns with this host's compiler, for tests."""

import subprocess
from pathlib import Path
from typing import Any

from emu.cli import main
from emu.fuzz.campaign import Campaign, Limits
from emu.fuzz.planning import Plan, begin
from emu.fuzz.pool import Processes
from emu.fuzz.reduce.witness import Witness
from emu.fuzz.store import Store
from tests.support.native import native

PLANTED = str(Path(__file__).resolve().parents[2] / "testprogs" / "planted_as.py")


def campaign(path: Path, plan: Plan, sources: int, reduced: str = "no bucket") -> Store:
    """One in this process's pool of one; witnesses only of buckets whose names have `reduced`."""
    store = Store(str(path), create=True)
    begin(store, plan)
    work = Campaign(store, Processes(1), Limits(sources), lambda b: reduced not in b.key)
    work.run(lambda done: None)
    assert not work.died
    return store


def plan_of(**changes: Any) -> Plan:
    """Generated sources at two points of this host's compiler, but for the changes."""
    machines = tuple(each.arch for each in native().compilers)
    values: dict[str, Any] = {
        "machines": machines, "origins": ("generated",), "points": 2, "toolchains": native(),
    }  # fmt: skip
    return Plan(**(values | changes))


def right_by_another(witness: Witness, tmp_path: Path) -> None:
    """It is the assembler's fault: this host's own makes a right table of the same text."""
    object = tmp_path / "right.o"
    text = witness.source.text
    subprocess.run(["as", "-o", object], input=text, text=True, check=True)
    assert main(["sweep", "--table", "cfi", str(object)]) == 0
