"""The SFrame extensions of s390x, from bytes to an unwound stack.

For each extension and version it is tested whether the row can be expressed, is encoded as the
bytes of `extensions.toml`, is decoded to the same row, and is right at every instruction that
the emulator executes; what a version cannot say must be a gap.
"""

import re

import pytest

from emu.verdict import Verdict
from tests.s390x.facts import facts_of
from tests.s390x.programs import EXTENSIONS, PROGRAM, VERSIONS, Extension, Suite, run

UNEXECUTED = 6
"""Bytes of extensions.s: its failing exit."""


@pytest.mark.compiled
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("one", EXTENSIONS, ids=lambda one: f"{one.function}:{one.row}")
def test_extension(one: Extension, version: int, suite: Suite) -> None:
    """Expressible, encoded, decoded and unwound right; or refused for the reason, and a gap."""
    facts = facts_of(one, version, suite)
    assert facts.text == one.wanted(version)
    there = re.fullmatch("[0-9a-f]{2}( [0-9a-f]{2})*", one.wanted(version)) is not None
    four = (facts.expressible, facts.encoded, facts.decoded, facts.unwound)
    if there:
        assert (four, facts.gap, facts.caller) == ((True,) * 4, False, one.caller)
    else:
        assert (four[:1], four[2:], facts.gap) == ((False,), (False, False), True)


@pytest.mark.compiled
def test_every_instruction_has_run_and_every_call_was_looked_at(suite: Suite) -> None:
    """So each cell is about code that ran; V3 lacks two rows, .eh_frame one."""
    result, whole = suite.results[3], run(PROGRAM, "cfi")
    assert result.table_bytes - result.checked_bytes == UNEXECUTED
    assert whole.findings == ()
    assert {(g.function, g.verdict, g.role) for g in whole.gaps} == {
        ("sp_elsewhere", Verdict.REFUSED, "sampled"),
        ("parked_caller", Verdict.REFUSED, "caller"),
        ("other_cfa", Verdict.REFUSED, "caller"),
    }
    assert result.caller_verdicts == whole.caller_verdicts
    for found in suite.results.values():
        assert found.findings == ()
