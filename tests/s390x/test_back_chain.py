"""The back chain beside the tables: its scores, and where it fails.

The tables in docs/s390x.md are the results of these tests. Where one has changed, the failing test
says what should stand there.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from arch import Row, RuleKind
from arch.s390x import S390X
from emu.image import load_image
from emu.tables import FunctionRows, NoRow
from emu.unwind.sources import read_table, row_table
from emu.verdict import Verdict
from testprogs.unpack import Prebuilt
from tests.s390x.programs import page, run, stretches
from tests.support.reference import Reference

CHAINED = (
    "frames-v3-O2-backchain", "frames-v3-O0-backchain", "flow-v3-O2-backchain",
    "calls-musl-v3-O2-backchain",
)  # fmt: skip
UNCHAINED = ("frames-v3-O2-nofp", "flow-v3-O2-nofp", "frames-v3-O2-packed")

LEAF = "leaf without a frame"
OUTSIDE = "before the frame is taken, or after it"
RA_KEPT = "frame, RA not saved"
IN_FRAME = "frame, chain not stored (yet)"
PLACES = (LEAF, OUTSIDE, RA_KEPT, IN_FRAME)

Programs = Mapping[tuple[str, str], Prebuilt]


def share(counts: Counter[Verdict]) -> str:
    """Percentage of what is right; only all of it is 100.0."""
    right, total = counts[Verdict.EXACT] + counts[Verdict.OUTERMOST], sum(counts.values())
    return f"{min(100 * right / total, 99.9 if right < total else 100.0):.1f}"


@cache
def score(path: Path, arguments: tuple[str, ...]) -> tuple[int, int, tuple[str, ...]]:
    """Instructions, calls, and by table the shares of both that are right."""
    shares: list[str] = []
    for kind in ("sframe", "cfi", "backchain"):
        result = run(path, kind, arguments=arguments)
        assert result.guest.stopped == "exit"
        shares += [share(result.verdicts), share(result.caller_verdicts)]
    return result.guest.instructions, sum(result.caller_verdicts.values()), tuple(shares)


def chain_table(prebuilt: Programs) -> list[str]:
    """Lines of the table of scores."""
    lines = [
        "| Program | Instructions | Calls | SFrame | `.eh_frame` | back chain |",
        "|---|---|---|---|---|---|",
    ]
    for name in (*CHAINED, *UNCHAINED):
        entry = prebuilt["s390x", name]
        instructions, calls, shares = score(entry.path, tuple(entry.arguments or ()))
        cells = [f"{shares[at]} / {shares[at + 1]}" for at in (0, 2, 4)]
        lines.append(f"| `{name}` | {instructions:,} | {calls:,} | " + " | ".join(cells) + " |")
    return lines


def place_in_function(row: Row, function: FunctionRows) -> str:
    """What an instruction is to the back chain, by the row that .eh_frame has for it."""

    def taken(row: Row | NoRow) -> bool:
        entry = S390X.entry_cfa_offset
        return isinstance(row, Row) and (row.cfa.register, row.cfa.offset) != (S390X.sp, entry)

    if not taken(row):
        return OUTSIDE if any(map(taken, function.rows)) else LEAF
    return RA_KEPT if row.ra.kind is RuleKind.KEEP else IN_FRAME


@cache
def failures(path: Path) -> tuple[int, Counter[str], Counter[Verdict]]:
    """Instructions, wrong ones by their place, all verdicts: checked in plain Python."""
    image = load_image(str(path))
    cfi = read_table(image, "cfi")
    assert cfi is not None
    reference = Reference(image, row_table(image, S390X, "backchain"))
    reference.run()
    counts: Counter[str] = Counter()
    for (address, _, role), count in reference.wrong.items():
        if role == "sampled":
            function = next(f for f in cfi.functions if f.start <= address < f.start + f.size)
            at = [low <= address - function.start < high for low, high, _ in stretches(function)]
            row = function.rows[at.index(True)]
            assert isinstance(row, Row)
            counts[place_in_function(row, function)] += count
    return reference.count, counts, reference.verdicts


def failure_table(prebuilt: Programs) -> list[str]:
    """Lines of the table of failures; all code of these programs has the chain."""
    lines = [f"| Program | {' | '.join(PLACES)} |", "|---" * (1 + len(PLACES)) + "|"]
    for name in CHAINED[:3]:
        count, counts, _ = failures(prebuilt["s390x", name].path)
        cells = [f"{100 * counts[place] / count:.1f}" for place in PLACES]
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines


@pytest.mark.compiled
def test_back_chain_beside_the_tables(prebuilt: Programs) -> None:
    """The page has the scores; where all code has the chain, every caller is right."""
    assert "\n".join(chain_table(prebuilt)) in page()
    for name in CHAINED[:3]:
        entry = prebuilt["s390x", name]
        _, _, shares = score(entry.path, tuple(entry.arguments or ()))
        assert (shares[:4], shares[5]) == (("100.0",) * 4, "100.0")
    for name in (*UNCHAINED, CHAINED[3]):
        entry = prebuilt["s390x", name]
        assert float(score(entry.path, tuple(entry.arguments or ()))[2][5]) < 5


@pytest.mark.compiled
def test_where_the_back_chain_fails(prebuilt: Programs) -> None:
    """The page has the places; outside a frame no instruction at all is right."""
    assert "\n".join(failure_table(prebuilt)) in page()
    for name in CHAINED[:3]:
        path = prebuilt["s390x", name].path
        count, counts, verdicts = failures(path)
        compiled = run(path, "backchain").verdicts
        assert verdicts == compiled
        right = verdicts[Verdict.EXACT] + verdicts[Verdict.OUTERMOST]
        assert right + sum(counts.values()) == count
        assert counts[LEAF] + counts[OUTSIDE] + counts[RA_KEPT] > counts[IN_FRAME]
