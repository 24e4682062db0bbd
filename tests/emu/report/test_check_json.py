"""The JSON report: values of findings, gaps and samples."""

from collections.abc import Mapping

import pytest

from emu.image import load_image
from testprogs.unpack import Prebuilt
from tests.support.runs import Command, program

pytestmark = pytest.mark.compiled


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)


def test_a_finding_in_full(command: Command) -> None:
    """skew: rbp lies one word above its usual place, so the CFA is 8 too high."""
    answer = command.check("x86_64-fp-off-by-8").json
    (finding,) = answer["findings"]
    assert {key: finding[key] for key in ("verdict", "module", "function", "section", "role")} == {
        "verdict": "wrong-cfa", "module": "prog", "function": "skew", "section": ".text",
        "role": "sampled",
    }  # fmt: skip
    assert int(finding["start"], 16) - finding["start_offset"] == skew_start()
    assert finding["row"] == "CFA=fp+16 RA=c-8 FP=c-16"
    assert finding["count"] == finding["checked"]


def skew_start() -> int:
    """Address of skew."""
    image = load_image(program("x86_64-fp-off-by-8"))
    return next(s.value for s in image.symbols if s.name == "skew")


def test_addresses_are_link_time(command: Command) -> None:
    """The range of a finding is that of the file, wherever the program was loaded."""
    (finding,) = command.check("s390x-no-bias").json["findings"]
    assert int(finding["start"], 16) >> 20 == 0x1000000 >> 20


def test_values_that_are_missing(command: Command) -> None:
    """A row that ends the stack yields nothing; where the truth ends nothing is expected."""
    (cut,) = command.check("x86_64-wrong-end").json["findings"]
    assert cut["got"] == {"cfa": None, "ra": None, "fp": None}
    (start,) = command.check("x86_64-start-unmarked").json["findings"]
    assert start["expected"] == {"cfa": None, "ra": None, "fp": None}


def test_values_up_to_a_stop(command: Command) -> None:
    """misaligned, unreadable and wrong-way know the CFA and not the return address."""
    findings = command.check("x86_64-stops").json["findings"]
    assert {f["verdict"]: (f["got"]["cfa"] is None, f["got"]["ra"] is None) for f in findings} == {
        "misaligned": (False, True), "unreadable": (False, True), "wrong-way": (False, True),
    }  # fmt: skip


def test_a_corrupt_function(command: Command) -> None:
    """There is neither row nor value, but a reason."""
    (finding,) = command.check("x86_64-corrupt").json["findings"]
    assert (finding["row"], finding["got"], finding["expected"]) == (None, None, None)
    assert finding["reason"]


def test_gap_entries(command: Command) -> None:
    """No table at all: one gap for each function."""
    gaps = command.check("x86_64-no-sframe", "--table", "sframe").json["gaps"]
    assert {(g["verdict"], g["function"], g["section"]) for g in gaps} == {
        ("no-table", "_start", ".text"), ("no-table", "leaf", ".text"),
    }  # fmt: skip


def test_no_table_is_no_failure(command: Command) -> None:
    """Every instruction is a gap and the exit status 0."""
    answer = command.check("x86_64-no-sframe", "--table", "sframe")
    assert answer.status == 0
    assert set(answer.json["verdicts"]) == {"no-table"}


def test_auto_prefers_sframe(command: Command) -> None:
    """A program with both tables is checked against .sframe, one with .eh_frame alone by that."""
    assert command.check("x86_64-clean-chain").json["table"] == "sframe"
    assert command.check("x86_64-no-sframe").json["table"] == "cfi"


@pytest.mark.parametrize("name", ["x86_64-clean-chain", "aarch64-clean-chain"])
def test_frame_pointer_convention(name: str, command: Command) -> None:
    """It holds in dyn alone once its frame is set up; elsewhere it is wrong."""
    answer = command.check(name, "--table", "fp")
    assert (answer.status, answer.json["table"]) == (1, "fp")
    assert "no-fde" not in answer.json["verdicts"]


def test_back_chain_convention(command: Command) -> None:
    """Hand-written frames keep no back chain: there are findings, and it is followed."""
    answer = command.check("s390x-clean-chain", "--table", "backchain")
    assert (answer.status, answer.json["table"]) == (1, "backchain")


def test_back_chain_says_nothing_of_the_frame_pointer(
    command: Command, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """A program built to keep the chain: it is followed, and %r11 is not compared."""
    path = str(prebuilt["s390x", "flow-v3-O2-backchain"].path)
    verdicts = command.check(path, "--table", "backchain").json["verdicts"]
    assert "wrong-fp" not in verdicts
    assert verdicts["exact"] > sum(verdicts.values()) / 2


def test_coverage(command: Command) -> None:
    """Checked bytes are at most those that the table describes."""
    coverage = command.check("x86_64-clean-chain").json["coverage"]
    # _start 72, leaf 5, mid 14, big 36, dyn 30, rec 22; _start does not run its failure path.
    assert coverage["table_bytes"] == 179
    assert coverage["checked_bytes"] == 179 - (0x4000F8 - 0x4000F1)
