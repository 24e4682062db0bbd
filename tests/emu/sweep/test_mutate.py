"""Planted faults: what they are, which are seen, and that judging them is like having them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from arch import Row, by_name
from emu.sweep.plant import Fault, entry_row, plant
from emu.sweep.result import SweepOptions
from emu.sweep.run import FaultyRun
from emu.sweep.sweep import Sweep
from emu.tables import FunctionRows
from emu.unwind.lookup import RowTable
from testprogs.unpack import Prebuilt

pytestmark = pytest.mark.compiled

FRAMES = Path(__file__).parents[2] / "data" / "sweep" / "frames"
MACHINES = ("x86_64", "aarch64", "s390x")
Programs = Mapping[tuple[str, str], Prebuilt]


@pytest.mark.parametrize("table", ["sframe", "cfi"])
@pytest.mark.parametrize("machine", MACHINES)
def test_no_fault_that_matters_is_missed(machine: str, table: str) -> None:
    """In code that is reached whole nothing is missed, and most kinds are always seen."""
    score = Sweep(str(FRAMES / f"frames-{machine}.o"), SweepOptions(table)).mutate()
    assert score.missed == 0
    assert score.planted > 200
    for kind in ("cfa offset +8", "cfa offset -8", "outermost", "size cut", "entry dropped"):
        outcomes = score.by_kind[kind]
        assert outcomes["detected"] == outcomes.total() > 10, kind
    if machine == "s390x":
        assert score.by_kind["cfa bias lost"]["detected"] > 10
    if table == "cfi":
        assert score.by_kind["register offset +8"]["detected"] > 5
    else:
        assert "register offset +8" not in score.by_kind


def _with_fault(function: FunctionRows, fault: Fault) -> FunctionRows:
    """The function as a producer with this fault would have written it."""
    [planted] = fault.planted
    assert isinstance(planted.row, Row)
    low, high = planted.start - function.start, planted.end - function.start
    starts: list[int] = []
    rows = []
    ends = (*function.starts[1:], function.size)
    for start, end, row in zip(function.starts, ends, function.rows, strict=True):
        for begin, stop, one in (
            (start, min(end, low), row),
            (max(start, low), min(end, high), planted.row),
            (max(start, high), end, row),
        ):
            if begin < stop:
                starts.append(begin)
                rows.append(one)
    return replace(function, starts=tuple(starts), rows=tuple(rows))


@pytest.mark.parametrize("machine", MACHINES)
def test_a_detected_fault_is_a_finding_when_it_is_really_there(machine: str) -> None:
    """Faults judged beside the right row agree with sweeps of tables that have them."""
    options = SweepOptions("sframe")
    path = str(FRAMES / f"frames-{machine}.o")
    probe = Sweep(path, options)
    table = probe.sites.table.table
    assert table is not None
    faults: list[tuple[int, Fault]] = []
    for number, function in enumerate(table.functions):
        places = probe.sites.places(function.start, function.start + function.size)
        faults += [
            (number, fault)
            for fault in plant(function, places, probe.arch)
            if isinstance(fault.planted[0].row, Row) and len(fault.planted) == 1
        ]
    for number, fault in faults[:: max(1, len(faults) // 15)]:
        detected = Sweep(path, options).judge([fault]).detected == 1
        real = Sweep(path, options)
        functions = list(table.functions)
        functions[number] = _with_fault(functions[number], fault)
        real.use(RowTable(replace(table, functions=tuple(functions)), real.arch))
        result = real.run()
        # A way that never returns, as from a landing pad, proves nothing.
        wrong = [
            item
            for item in (*result.findings, *result.doubtful)
            if fault.planted[0].start <= item.runtime < fault.planted[0].end
        ]
        assert bool(wrong) == detected, fault


def test_faults_of_one_function() -> None:
    """Each field of a row is changed, one at a time."""
    arch = by_name("x86_64")
    row = entry_row(arch)
    pushed = replace(row, cfa=replace(row.cfa, offset=16))
    function = FunctionRows(0x1000, 9, (0, 1), (row, pushed))
    faults = list(plant(function, [0x1000, 0x1001, 0x1004, 0x1008], arch))
    by_kind: dict[str, list[Fault]] = {}
    for fault in faults:
        by_kind.setdefault(fault.kind, []).append(fault)
    [early] = by_kind["row early"]
    assert early.planted[0] == type(early.planted[0])(0x1000, 0x1001, pushed)
    [late] = by_kind["row late"]
    assert late.planted[0] == type(late.planted[0])(0x1001, 0x1004, row)
    [cut] = by_kind["size cut"]
    assert (cut.planted[0].start, cut.planted[0].end) == (0x1008, 0x1009)
    assert len(by_kind["cfa offset +8"]) == 2
    assert "ra lost" not in by_kind  # the return address has no register
    assert {p.row for p in by_kind["start late"][0].planted[1:]} == {row, pushed}


@pytest.mark.parametrize("machine", MACHINES)
def test_faults_are_judged_in_a_real_run(prebuilt: Programs, machine: str) -> None:
    """By the check of a program that runs to its end: none that it meets is missed."""
    run = FaultyRun(str(prebuilt[machine, "work-musl-v3-O2"].path), "sframe")
    score = run.judge()
    assert score.missed == 0
    assert score.detected > 2000
    assert score.unreached > 1000  # a run does not reach everything
    for kind in ("cfa offset -8", "row dropped"):
        assert score.by_kind[kind]["detected"] > 200


def test_faults_of_a_row_that_is_wrong_itself(prebuilt: Programs) -> None:
    """LLVM's notes for s390x come an instruction late; other wrong values there are seen, too."""
    run = FaultyRun(str(prebuilt["s390x", "frames-v3-clang-O0-fp"].path), "sframe")
    assert run.judge().missed == 0
