"""Programs whose right and wrong places are known by construction, checked whole."""

import ctypes
from typing import Any

import pytest

from arch import Arch, by_name
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from emu.errors import UsageError
from emu.image import load_image
from emu.linux.process import Process
from emu.linux.program import alone
from emu.machine.engine import Engine
from emu.memory import Memory
from emu.verdict import Verdict
from tests.support.runs import CASES, Case, Command, address_of, program

pytestmark = pytest.mark.compiled


def options_of(case: Case, **more: Any) -> RunOptions:
    """The options of a case."""
    table = case.options[case.options.index("--table") + 1]
    return RunOptions(table=table, pac="--pac" in case.options, **more)


def run(name: str, **options: Any) -> CheckResult:
    """A run of one case's program to its end."""
    return Run(program(name), RunOptions(**options)).to_end()


@pytest.fixture(scope="module")
def results() -> dict[str, CheckResult]:
    """Every case, run once."""
    return {case.name: Run(case.program, options_of(case)).to_end() for case in CASES}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_findings_are_exactly_the_planted_ones(
    case: Case, results: dict[str, CheckResult]
) -> None:
    """Verdict, function and range of each finding; nothing else, and none in clean functions."""
    found = [
        (f.verdict.text, f.function, f.start_offset, f.start_offset + f.end - f.start)
        for f in results[case.name].findings
    ]
    assert sorted(found) == sorted(case.findings)
    assert not {entry[1] for entry in found} & set(case.clean_functions)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_gaps_are_exactly_the_known_ones(case: Case, results: dict[str, CheckResult]) -> None:
    """Verdict and function of each gap."""
    found = {(gap.verdict.text, gap.function) for gap in results[case.name].gaps}
    assert found == set(case.gaps)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_program_runs_to_its_end(case: Case, results: dict[str, CheckResult]) -> None:
    """Its own checks of what it computed succeed, and it writes what it should."""
    guest = results[case.name].guest
    assert (guest.stopped, guest.exit_status, guest.stdout.decode()) == ("exit", 0, case.stdout)
    assert guest.instructions >= case.least_instructions


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_instruction_has_one_verdict(case: Case, results: dict[str, CheckResult]) -> None:
    """The verdicts sum to the instructions, those of callers to the calls."""
    result = results[case.name]
    assert sum(result.verdicts.values()) == result.guest.instructions
    assert sum(result.caller_verdicts.values()) == result.truth["calls"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_counts_of_findings_agree_with_the_verdicts(
    case: Case, results: dict[str, CheckResult]
) -> None:
    """Wrong executions by finding sum to the sampled verdicts, verdict by verdict."""
    result = results[case.name]
    for verdict in Verdict:
        if verdict.is_finding or verdict.is_gap:
            counts = [
                f.count
                for f in (*result.findings, *result.gaps)
                if f.verdict is verdict and f.role == "sampled"
            ]
            assert sum(counts) == result.verdicts[verdict]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_wrong_executions_are_at_most_all(case: Case, results: dict[str, CheckResult]) -> None:
    """A finding has 1 to `checked` wrong executions."""
    for finding in (*results[case.name].findings, *results[case.name].gaps):
        assert 1 <= finding.count <= finding.checked


@pytest.mark.parametrize(
    "name", ["x86_64-clean-chain", "aarch64-clean-chain", "s390x-clean-chain", "x86_64-stops"]
)
def test_instructions_are_those_that_the_emulator_executes(
    name: str, results: dict[str, CheckResult]
) -> None:
    """Counted by a plain hook in Python, without the check."""
    image = load_image(program(name))
    assert image.arch is not None
    memory = Memory(64 << 20)
    engine = Engine(image.arch, memory)
    count = 0

    def step(pc: int, size: int) -> None:
        nonlocal count
        count += 1

    process = Process(alone(image), engine, memory)
    engine.hook_code_python(step)
    process.run()
    assert results[name].guest.instructions == count


# ---- values, by hand


@pytest.mark.parametrize(
    ("name", "distance"),
    [
        ("x86_64-fp-off-by-8", 8),  # noted as rbp + 16, rbp is one word above its usual place
        ("x86_64-call-pop-bare", -8),  # the pushed PC is not noted
        ("x86_64-plt-stubs-wrong", -8),  # the pushed index is not noted
        ("s390x-no-bias", -160),  # the register save area is left out
    ],
)
def test_how_far_a_cfa_is_out(
    name: str, distance: int, results: dict[str, CheckResult]
) -> None:
    """Got less expected is what the note leaves out."""
    (finding,) = results[name].findings
    assert finding.got is not None
    assert finding.expected is not None
    assert finding.got.cfa - finding.expected.cfa == distance


@pytest.mark.parametrize(
    ("name", "function", "offset"),
    [("aarch64-swapped-slots", "_start", 4), ("s390x-ra-slot", "_start", None)],
)
def test_expected_return_address_is_behind_the_call(
    name: str, function: str, offset: int | None, results: dict[str, CheckResult]
) -> None:
    """What is expected lies in the caller; what was got does not equal it."""
    (finding,) = results[name].findings
    start = address_of(program(name), function)[0]
    assert finding.expected is not None
    assert finding.got is not None
    assert finding.module is not None
    bias = results[name].biases[finding.module]
    assert start < finding.expected.ra - bias < start + 64
    assert finding.got.ra != finding.expected.ra
    assert finding.got.cfa == finding.expected.cfa


def test_signature_in_the_return_address(results: dict[str, CheckResult]) -> None:
    """Where the note forgets the signature, got and expected differ in its bits alone."""
    (finding,) = results["aarch64-pac-unnoted"].findings
    assert finding.expected is not None
    assert finding.got is not None
    difference = finding.got.ra ^ finding.expected.ra
    assert difference
    assert difference & 0x0080_FFFF_FFFF_FFFF == 0


def test_a_wrong_end_expects_a_caller_and_got_none(results: dict[str, CheckResult]) -> None:
    """The row ends the stack: there is nothing that it yields."""
    (finding,) = results["x86_64-wrong-end"].findings
    assert finding.row is not None
    assert finding.row.outermost
    assert finding.expected is not None
    assert finding.expected.ra is not None
    assert finding.got is not None
    assert (finding.got.cfa, finding.got.ra, finding.got.fp) == (None, None, None)


def test_an_unmarked_start_yields_a_caller_that_is_not_there(
    results: dict[str, CheckResult],
) -> None:
    """The truth has ended: no values are expected."""
    (finding,) = results["x86_64-start-unmarked"].findings
    assert finding.expected is not None
    assert (finding.expected.cfa, finding.expected.ra, finding.expected.fp) == (None, None, None)
    assert finding.got is not None
    assert finding.got.cfa is not None


def test_a_block_reached_both_ways(results: dict[str, CheckResult]) -> None:
    """Right when the leaf jumps there, wrong when the framed routine does: once of twice."""
    (finding,) = results["x86_64-jump-in"].findings
    assert 2 * finding.count == finding.checked


def test_truth_of_a_longjmp(results: dict[str, CheckResult]) -> None:
    """Ten nested frames are abandoned by one jump, on each machine."""
    for name in ("x86_64-longjmp", "aarch64-longjmp", "s390x-longjmp"):
        assert results[name].truth["abandoned"] >= 10, name


def test_truth_of_a_stack_switch(results: dict[str, CheckResult]) -> None:
    """To the coroutine and back."""
    for name in ("x86_64-stack-switch", "aarch64-stack-switch", "s390x-stack-switch"):
        assert results[name].truth["stack_switches"] == 2, name


# ---- registers read from the host's memory


@pytest.mark.parametrize("name", ["x86_64-clean-chain", "aarch64-clean-chain", "s390x-fpr-parked"])
def test_direct_reads_equal_the_emulators_interface(name: str) -> None:
    """Every register of every machine, at each instruction of a program."""
    image = load_image(program(name))
    assert image.arch is not None
    memory = Memory(64 << 20)
    engine = Engine(image.arch, memory)
    process = Process(alone(image), engine, memory)
    places = engine.register_addresses()
    assert set(places) == {register.dwarf for register in image.arch.registers}
    different: list[tuple[int, str]] = []
    seen = 0

    def compare(pc: int, size: int) -> None:
        nonlocal seen
        seen += 1
        for register in image.arch.registers:
            value = ctypes.c_uint64.from_address(places[register.dwarf]).value
            if value != engine.read(register.emulator):
                different.append((pc, register.name))

    engine.hook_code_python(compare)
    process.run()
    assert seen > 10
    assert different == []


def test_looking_for_the_registers_changes_none(arch: Arch) -> None:
    """The values written for the search are taken back."""
    engine = Engine(arch, Memory(1 << 20))
    for number, register in enumerate(arch.registers, 1):
        engine.write(register.emulator, 0x1000 * number)
    before = engine.registers()
    engine.register_addresses()
    assert engine.registers() == before
    assert before[arch.registers[0].dwarf] == 0x1000


@pytest.mark.parametrize(
    "name",
    ["x86_64-realign", "x86_64-wrong-fp", "aarch64-pac-unnoted", "aarch64-longjmp",
     "s390x-fpr-wrong", "s390x-cfa-register"],
)  # fmt: skip
def test_the_same_report_without_direct_reads(
    name: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the emulator's interface the check finds the same, byte by byte."""
    case = next(case for case in CASES if case.name == name)
    direct = command.check(name, *case.options)
    monkeypatch.setattr(Engine, "register_addresses", lambda self: {})
    assert command.check(name, *case.options) == direct


# ---- what cannot be run


def test_machine_of_a_run() -> None:
    """Each case's program is of the machine that its name says."""
    for case in CASES:
        image = load_image(case.program)
        assert image.arch is by_name(case.name.partition("-")[0])


def test_no_code_at_the_point() -> None:
    """An address outside the program's code is refused before it runs."""
    with pytest.raises(UsageError, match="no code at 0x10"):
        run("x86_64-clean-chain", at="0x10")


def test_progress_is_told_the_instructions() -> None:
    """The callback gets the number of executed instructions."""
    told: list[int] = []
    Run(program("x86_64-clean-chain"), RunOptions(every=10), progress=told.append).to_end()
    assert told[:3] == [10, 20, 30]
