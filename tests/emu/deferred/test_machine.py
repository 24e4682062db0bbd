"""The state machine: what holds of the merged form, and what breaks the others."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from emu.deferred.ledger import Invariant
from emu.deferred.scenario import load, packaged
from tests.emu.deferred.cases import Case, cases, found
from tests.emu.deferred.machine import DeferredMachine, Player, verdict
from tests.emu.deferred.search import shortest, simplest, still
from tests.emu.deferred.table import BEGIN, DOCUMENT, END, tables

CASES = {case.key: case for case in cases()}
QUICK = ("trigger-in-loop: flaw", "first-cookie-0: flaw", "pending-in-other-task: flaw",
         "merged: tid-stitch", "cookie hack: cookie-unique")  # fmt: skip
"""Cases that are searched for in every run; `make deferred-table` searches for all."""


def run_machine(examples: int, rules: int) -> int:
    """Let the machine run; the number of steps that took place."""
    DeferredMachine.done = 0
    run: Any = run_state_machine_as_test  # typed in some releases only
    run(
        DeferredMachine,
        settings=settings(
            max_examples=examples, stateful_step_count=rules, deadline=None, database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return DeferredMachine.done


def test_merged_form_holds() -> None:
    """Ten thousand random steps break none of its invariants."""
    assert run_machine(30, 100) > 5_000


def test_sequences_are_of_the_cases() -> None:
    """The file has a sequence, or none, for each case and nothing else."""
    assert list(found()) == list(CASES)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_sequence_breaks_what_it_says(case: Case) -> None:
    """Each sequence that was found breaks its invariant still."""
    steps = found()[case.key]
    if steps:
        assert still(case.world, case.wanted, steps)


@pytest.mark.parametrize("key", QUICK)
def test_search_finds_it(key: str) -> None:
    """The search finds a sequence as short as the one in the file, and that cannot be shortened."""
    case = CASES[key]
    steps = shortest(case.world, case.wanted, 2000)
    assert 0 < len(steps) <= len(found()[key])
    assert simplest(case.world, case.wanted, steps) == steps


def test_merged_form_breaks_by_tid_alone() -> None:
    """As it comes, the merged form has no sequence but for stitching by tid."""
    broken = {key for key, steps in found().items() if key.startswith("merged: ") and steps}
    assert broken == {f"merged: {Invariant.TID_STITCH}"}


def test_every_named_flaw_breaks_something() -> None:
    """For each named flaw there is a sequence."""
    assert all(steps for key, steps in found().items() if key.endswith(": flaw"))


@pytest.mark.parametrize("name", packaged())
def test_table_knows_what_scenarios_break(name: str) -> None:
    """What a packaged scenario breaks does not stand in the table as holding."""
    scenario = load(name)
    rows = {"nmi-in-reset": "merged, an NMI in the reset", "cpu-counter-wraps": "cookie free"}
    sequences = found()
    for invariant in scenario.breaks:
        row = rows.get(name, scenario.design)
        # The table of layouts has no column for stitching by tid.
        key = f"{row}: {invariant}"
        assert sequences.get(key, sequences[f"{scenario.design}: {invariant}"])


def test_player_does_what_bytes_say() -> None:
    """The first choices of CPU 0 start a task, enter the kernel and leave it."""
    case = CASES["merged: tid-stitch"]
    player = Player(case.world, case.world.by_context())
    assert [player.happen(choice) for choice in (0, 0)] == [True, True]
    assert [step.verb for step in player.steps] == ["run", "syscall"]
    assert verdict(player.session) == []


def test_document_has_the_tables() -> None:
    """docs/deferred.md shows what the file of sequences says."""
    text = DOCUMENT.read_text("utf-8")
    assert text[text.index(BEGIN) : text.index(END) + len(END)] == tables()
