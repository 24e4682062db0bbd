"""The compiled check against a slow one in plain Python, with right and with damaged tables."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest

from arch import Arch, RegRule, Row, RuleKind
from emu.check.options import RunOptions
from emu.check.session import Session
from emu.image import Image, load_image
from emu.linux.program import alone
from emu.tables import FunctionRows, NoRow, Table
from emu.unwind.lookup import RowTable
from emu.unwind.sources import row_table
from emu.verdict import Verdict
from testprogs.unpack import Prebuilt
from tests.support.reference import Reference

pytestmark = pytest.mark.compiled

PROGRAMS = ["flow-v3-O0-fp", "frames-v3-O2-nofp", "jumps-v3-O2-nofp"]


def damaged(row: Row, choice: random.Random) -> Row | NoRow:
    """A row with one rule changed, as a wrong table could have it."""
    distance = choice.choice((-16, -8, -1, 8, 16))
    kinds = [
        lambda: replace(row, cfa=replace(row.cfa, offset=row.cfa.offset + distance)),
        lambda: replace(row, cfa=replace(row.cfa, deref=True)),
        lambda: replace(row, ra=RegRule(RuleKind.AT_CFA, offset=row.ra.offset + distance)),
        lambda: replace(row, fp=RegRule(RuleKind.AT_CFA, offset=-16 + distance)),
        lambda: replace(row, fp=RegRule(RuleKind.KEEP)),
        lambda: replace(row, fp=RegRule(RuleKind.AT_REGISTER, row.cfa.register, distance)),
        lambda: replace(row, fp=RegRule(RuleKind.REGISTER, 1)),
        lambda: replace(row, ra=RegRule(RuleKind.REGISTER, 2, distance)),
        lambda: replace(row, outermost=True),
        lambda: NoRow(Verdict.REFUSED, "planted"),
        lambda: NoRow(Verdict.CORRUPT, "planted"),
    ]
    return choice.choice(kinds)()


def table_of(image: Image, arch: Arch, seed: int) -> RowTable:
    """The program's own rows; with a seed, one in four of them is damaged."""
    right = row_table(image, arch, "sframe")
    if not seed:
        return right
    assert right.table is not None
    choice = random.Random(seed)
    functions = []
    for function in right.table.functions:
        rows = tuple(
            damaged(row, choice) if isinstance(row, Row) and choice.random() < 0.25 else row
            for row in function.rows
        )
        functions.append(FunctionRows(function.start, function.size, function.starts, rows))
    return RowTable(Table("sframe", tuple(functions), right.table.size), arch)


def wrong_places(session: Session) -> Counter[tuple[int, Verdict, str]]:
    """(link-time address, verdict, role) of each event of the compiled check."""
    found: Counter[tuple[int, Verdict, str]] = Counter()
    for event in session.events.noted():
        key = int(event["key"])
        verdict = Verdict(key & 0xFF)
        if verdict.is_finding:
            role = "caller" if key >> 8 else "sampled"
            found[(int(event["pc"]) - session.program.bias, verdict, role)] += int(event["count"])
    return found


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_the_slow_check(
    name: str, seed: int, arch: Arch, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """The same verdicts, of samples and callers, at the same places, as often."""
    image = load_image(str(prebuilt[arch.name, name].path))
    table = table_of(image, arch, seed)
    slow = Reference(image, table)
    slow.run()
    fast = Session(alone(image), lambda image: table, RunOptions())
    fast.pause_at(1 << 40)
    fast.engine.run(fast.process.start())
    assert fast.process.finished
    assert fast.executed == slow.count
    assert fast.verdicts() == slow.verdicts
    assert fast.caller_verdicts() == slow.caller_verdicts
    corrupt = {entry for entry in slow.wrong if entry[1:] == (Verdict.CORRUPT, "sampled")}
    wanted = {key: n for key, n in slow.wrong.items() if key not in corrupt}
    assert dict(wrong_places(fast)) == wanted
    assert bool(wanted) is bool(seed)
