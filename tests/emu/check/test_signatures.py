"""Rows that say of a return address that it is signed, in runs with --pac and without."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from arch import Arch
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from emu.verdict import Verdict

pytestmark = pytest.mark.compiled

PROGRAM = Path(__file__).parents[2] / "data" / "sweep" / "notes" / "run-aarch64"


def _run(pac: bool) -> CheckResult:
    return Run(str(PROGRAM), RunOptions(table="cfi", pac=pac)).to_end()


def test_a_row_that_says_signed_where_nothing_is() -> None:
    """As in a sweep: behind autiasp, before paciasp, and where it never is."""
    result = _run(pac=True)
    found = [(f.function, f.start_offset, f.end - f.start, f.role) for f in result.findings]
    assert found == [
        ("behind", 20, 4, "sampled"), ("before", 0, 4, "sampled"), ("never", 4, 16, "sampled"),
    ]  # fmt: skip
    for finding in result.findings:
        assert finding.verdict is Verdict.WRONG_RA
        assert finding.reason == "no signature, though the row says so"
        assert finding.got == finding.expected
    assert result.verdicts[Verdict.WRONG_RA] == 6
    assert result.caller_verdicts[Verdict.WRONG_RA] == 1  # of `never`


def test_without_signatures_nothing_can_be_told() -> None:
    """Without --pac the instructions sign nothing."""
    result = _run(pac=False)
    assert result.findings == ()
    assert result.verdicts[Verdict.WRONG_RA] == result.caller_verdicts[Verdict.WRONG_RA] == 0


def test_a_signature_of_zeros_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were each signature of zeros, all rows would be right; all are counted as such."""

    def zeros(
        arch: Arch, keys: tuple[int, ...] | None, pairs: Sequence[tuple[int, int]]
    ) -> list[tuple[int, ...]]:
        return [(1, address) for address, _ in pairs]

    before = _run(pac=True)
    monkeypatch.setattr("emu.check.signatures.all_signatures", zeros)
    result = _run(pac=True)
    assert result.findings == ()
    for counts, others in (
        (result.verdicts, before.verdicts), (result.caller_verdicts, before.caller_verdicts),
    ):  # fmt: skip
        assert counts[Verdict.WRONG_RA] == 0
        assert counts.total() == others.total()
