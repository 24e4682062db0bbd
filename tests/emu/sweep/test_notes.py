"""Hand-written notes, right and wrong, in tests/data/sweep/notes."""

from pathlib import Path

import pytest

from arch import by_name
from emu.cli import main
from emu.sweep.result import SweepOptions, SweepResult
from emu.sweep.room import RETURN_ADDRESS, Room
from emu.sweep.sweep import Sweep
from emu.verdict import Verdict

pytestmark = pytest.mark.compiled

NOTES = Path(__file__).parents[2] / "data" / "sweep" / "notes"


def _sweep(name: str, seed: int = 0) -> SweepResult:
    return Sweep(str(NOTES / f"{name}.o"), SweepOptions("cfi", seed=seed)).run()


def _places(result: SweepResult) -> list[tuple[str | None, int, int]]:
    """Function, offset in it and bytes of each finding, all of which must be proven."""
    assert all(item.confirmed for item in result.findings)
    found = [item.finding for item in result.findings]
    return [(each.function, each.start_offset, each.end - each.start) for each in found]


def test_a_wrong_rule_of_the_stack_pointer() -> None:
    """Unwinders take SP from its rule: a slot, a register; without one they leave it as it is."""
    result = _sweep("stack-s390x")
    assert _places(result) == [("slot", 6, 16), ("elsewhere", 4, 12), ("silent", 10, 12)]
    assert {item.finding.verdict for item in result.findings} == {Verdict.WRONG_REG}
    slot, elsewhere, silent = (item.finding.reason for item in result.findings)
    job = Sweep(str(NOTES / "stack-s390x.o"), SweepOptions("cfi"))
    job.room.furnish()
    sp = job.room.cfa - 160
    assert slot == f"r15 (r15): 0xdeadbee0 instead of {sp:#x}"
    assert elsewhere.endswith(f"instead of {sp:#x}")
    assert silent == f"r15 (r15): {sp - 160:#x} instead of {sp:#x}"
    assert result.gaps == ()


def test_planted_faults_of_the_stack_pointer() -> None:
    """Each wrong or lost rule is seen; the other machines' files have no such rules."""
    job = Sweep(str(NOTES / "stack-s390x.o"), SweepOptions("cfi"))
    assert job.sites.rules.registers[-1] == job.arch.sp
    score = job.mutate()
    assert score.missed == 0
    # Of `right`; the other is wrong itself, and `parked` has no slot.
    assert score.by_kind["register offset +8"]["detected"] == 1
    assert score.by_kind["register lost"]["detected"] == 2
    frames = NOTES.parent / "frames"
    for machine in ("x86_64", "aarch64"):
        rules = Sweep(str(frames / f"frames-{machine}.o"), SweepOptions("cfi")).sites.rules
        assert rules.kept == len(rules.registers)


def test_a_row_that_says_signed_where_nothing_is() -> None:
    """Behind autiasp, before paciasp, and where it never is; saved, or still in its register."""
    result = _sweep("signature-aarch64")
    assert _places(result) == [("behind", 20, 4), ("before", 0, 4), ("never", 4, 16)]
    for item in result.findings:
        assert item.finding.verdict is Verdict.WRONG_RA
        assert item.finding.reason == "no signature, though the row says so"
    assert result.gaps == ()
    assert result.doubtful == ()


def test_a_signature_of_zeros_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a key of this run would sign the sentinel that way, no row can be refuted by it."""
    arch = by_name("aarch64")
    assert arch is not None
    room = Room(arch, 0)
    room.furnish()
    assert room.signs
    assert room.return_address(False) == RETURN_ADDRESS
    assert room.return_address(True) & ~arch.ra_sign_mask == RETURN_ADDRESS
    for zeros in ((1, RETURN_ADDRESS), (RETURN_ADDRESS, 1), ()):
        monkeypatch.setattr("emu.sweep.room.signatures", lambda *_, z=zeros: z)
        result = _sweep("signature-aarch64")
        # What is believed to be signed is not, then, and autiasp takes it for a forgery.
        assert {item.finding.function for item in result.findings} <= {"part.cold"}


@pytest.mark.parametrize("name", ["notes/signature-aarch64", "frames/pac-aarch64"])
def test_planted_faults_of_the_signature(name: str) -> None:
    """A note too many is seen like a note too few, wherever it was judged."""
    job = Sweep(str(NOTES.parent / f"{name}.o"), SweepOptions("cfi"))
    score = job.mutate()
    assert score.missed == 0
    signed = score.by_kind["ra signed"]
    assert signed["detected"] > 10
    assert signed["harmless"] == 0


def test_code_that_the_entry_of_its_function_leaves_out() -> None:
    """Before the entry's first instruction, and behind its last; filler is none.

    Nothing is said of a function without an entry, also around one that has one, of two entries
    that touch, and of data.
    """
    result = _sweep("start-x86_64")
    found = [(gap.function, gap.start, gap.end, gap.count) for gap in result.gaps]
    assert found == [("late", 0, 1, 1), ("early", 0x16, 0x18, 2), ("tail", 0x55, 0x57, 2)]
    assert {gap.verdict for gap in result.gaps} == {Verdict.NO_FDE}
    assert [gap.reason for gap in result.gaps] == [
        "the entry begins behind the symbol", *["the entry ends before the symbol does"] * 2,
    ]  # fmt: skip
    assert result.findings == ()


def test_gaps_fail(capsys: pytest.CaptureFixture[str]) -> None:
    """With the option for it, what is left out is a failure; of one function, if one is asked."""
    path = str(NOTES / "start-x86_64.o")
    for function, status in (("early", 1), ("tail", 1), ("two", 0), ("data", 0)):
        command = ["sweep", "--table", "cfi", "--gaps", "fail", "--function", function, path]
        assert main(command) == status, function
        assert main([*command[:3], *command[5:]]) == 0
    assert "no-fde    early [0x16, 0x18): the entry ends" in capsys.readouterr().out
