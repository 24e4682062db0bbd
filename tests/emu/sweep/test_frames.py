"""Objects fresh from a compiler: all of them reached and right, and each planted fault seen."""

from pathlib import Path

import pytest

from arch import by_name
from emu.check.findings import Finding
from emu.sweep.result import SweepOptions, SweepResult
from emu.sweep.room import Room
from emu.sweep.sweep import Sweep
from emu.verdict import Verdict

pytestmark = pytest.mark.compiled

FRAMES = Path(__file__).parents[2] / "data" / "sweep" / "frames"
MACHINES = ("x86_64", "aarch64", "s390x")


def _sweep(name: str, table: str) -> SweepResult:
    return Sweep(str(FRAMES / f"{name}.o"), SweepOptions(table)).run()


def _only(result: SweepResult) -> Finding:
    [item] = result.findings
    assert item.confirmed
    assert item.reached_by == "entry"
    return item.finding


@pytest.mark.parametrize("table", ["sframe", "cfi"])
@pytest.mark.parametrize("name", [*(f"frames-{machine}" for machine in MACHINES), "pac-aarch64"])
def test_every_instruction_is_reached_and_right(name: str, table: str) -> None:
    """Tables that GCC and GNU as made, over frames of every kind."""
    result = _sweep(name, table)
    assert result.findings == ()
    assert result.gaps == ()
    assert result.coverage.unreached == ()
    assert result.coverage.reached == result.coverage.instructions > 200
    assert result.coverage.frame_given_up == ()
    assert result.contradicted == 0


@pytest.mark.parametrize("table", ["sframe", "cfi"])
def test_a_register_that_the_callee_leaves_alone(table: str) -> None:
    """GCC takes SP back from r8 behind a call of a function that it has compiled itself."""
    result = _sweep("kept-x86_64", table)
    assert result.findings == ()
    assert result.coverage.unreached == ()
    assert result.coverage.frame_given_up == ()
    assert result.counts["returns"] == 4


@pytest.mark.parametrize("table", ["sframe", "cfi"])
def test_a_size_in_a_register_that_the_callee_leaves_alone(table: str) -> None:
    """Were it lost, the array would have no bytes, and stores into it would hit the saved FP."""
    result = _sweep("sized-aarch64", table)
    assert result.findings == ()
    assert result.coverage.unreached == ()


@pytest.mark.parametrize("table", ["sframe", "cfi"])
def test_a_way_that_loses_fp_proves_nothing_about_fp(table: str) -> None:
    """The probe that no run makes stores to where FP is saved: FP is 0 then, also at the return."""
    result = _sweep("probe-aarch64", table)
    assert result.findings == ()
    assert [item.finding.verdict for item in result.doubtful] == [Verdict.WRONG_FP]
    assert result.coverage.unreached == ()


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_ascend(machine: str) -> None:
    """Code that takes two of them for the two ends of something finds a size above 0."""
    arch = by_name(machine)
    room = Room(arch, 0)
    room.furnish()
    values = room.entry_registers()
    arguments = [values[number] for number in arch.arguments]
    assert len(arguments) > 4
    assert arguments == sorted(arguments)
    assert len(set(values.values())) == len(values)


# Where the note holds, by objdump -d: from the instruction behind the one that it is about to the
# next note of the CFA, in front of the instruction that the assembler shows there.
@pytest.mark.parametrize("table", ["sframe", "cfi"])
@pytest.mark.parametrize(
    ("machine", "start", "end", "row"),
    [
        ("x86_64", 0x2E1, 0x2E7, 24),  # push %rbx .. sub $0x20,%rsp
        ("aarch64", 0x364, 0x3B8, 56),  # stp x29,x30,[sp,#-48]! .. ldp x29,x30,[sp],#48
        ("s390x", 0x3A0, 0x43C, 352),  # lay %r15,-184(%r15) .. lmg %r11,%r15,272(%r15)
    ],
)
def test_a_wrong_cfa_offset(machine: str, table: str, start: int, end: int, row: int) -> None:
    """One .cfi_def_cfa_offset is a word too large, in both tables."""
    finding = _only(_sweep(f"offset-{machine}", table))
    assert finding.verdict is Verdict.WRONG_CFA
    assert (finding.function, finding.section) == ("floats", ".text")
    assert (finding.start, finding.end) == (start, end)
    assert finding.row is not None
    assert finding.row.cfa.offset == row
    assert finding.expected is not None
    assert finding.got is not None
    assert finding.expected.cfa is not None
    assert finding.got.cfa == finding.expected.cfa + 8


@pytest.mark.parametrize(
    ("machine", "start", "end", "register"),
    [
        ("x86_64", 0x2E1, 0x339, "rbx"),  # push %rbx .. pop %rbx
        ("aarch64", 0x380, 0x3B8, "x19"),  # str x19,[sp,#16] .. ldp x29,x30,[sp],#48
        ("s390x", 0x3B4, 0x43C, "f8"),  # the saves of floats end .. lmg
    ],
)
def test_a_wrong_rule_of_a_register(machine: str, start: int, end: int, register: str) -> None:
    """It is in .eh_frame alone: SFrame has no such rules."""
    finding = _only(_sweep(f"register-{machine}", "cfi"))
    assert finding.verdict is Verdict.WRONG_REG
    assert (finding.start, finding.end) == (start, end)
    assert finding.reason.startswith(f"{register} (")
    assert _sweep(f"register-{machine}", "sframe").findings == ()


@pytest.mark.parametrize("table", ["sframe", "cfi"])
def test_a_missing_note_of_the_signature(table: str) -> None:
    """From behind paciasp to behind autiasp the return address is signed, and no row says so."""
    finding = _only(_sweep("signed-aarch64", table))
    assert finding.verdict is Verdict.WRONG_RA
    assert finding.function == "floats"
    assert finding.expected is not None
    assert finding.got is not None
    assert finding.got.ra is not None
    assert finding.got.ra & 0xFFFF_FFFF_FFFF == finding.expected.ra
    assert finding.got.ra != finding.expected.ra
