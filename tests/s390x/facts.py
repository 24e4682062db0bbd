"""What came of each extension in each version, and what the assembler writes for it."""

from dataclasses import dataclass
from pathlib import Path

from emu.image import load_image
from emu.sframe.container import find_section
from emu.sframe.decode import decode
from emu.sframe.encode import encode
from emu.sframe.form import read_form
from emu.sframe.table import sframe_table
from emu.tables import Table
from emu.verdict import Verdict
from tests.s390x.programs import (
    PROGRAM,
    Extension,
    Place,
    Suite,
    at_handler,
    place_of,
    places,
    start_of,
    stored,
    true_callers,
)


@dataclass(frozen=True)
class Facts:
    """What came of an extension in a version."""

    expressible: bool
    encoded: bool
    decoded: bool
    unwound: bool
    gap: bool
    """The run has a gap there and nothing else."""
    caller: str
    text: str
    """Bytes, or the reasons of the refusal."""


def facts_of(one: Extension, version: int, suite: Suite) -> Facts:
    """Look at the table and at the run."""
    made, place = suite.made[one.program, version], place_of(one)
    reasons = {
        reason
        for low, high, reason in made.refused.get(one.function, ())
        if low < place.high and place.low < high
    }
    raw = made.encoded.get((one.function, place.low), "")
    table = sframe_table(made.image)
    assert table is not None
    texts = {p.low: p.text for p in places(table, one.program).get(one.function, ())}
    if one.signal:
        callers, stop = at_handler(made.path, one.signal)
        unwound = callers == true_callers(one.signal) and stop is Verdict.OUTERMOST
        gap = stop is Verdict.NO_FDE and callers == true_callers(one.signal)[:1]
        caller = "right" if unwound else ""
    else:
        result = suite.results[version]
        low = start_of(PROGRAM, one.function) + place.low
        high = start_of(PROGRAM, one.function) + place.high
        wrong = [f for f in result.findings if f.start < high and low < f.end]
        gaps = [g for g in result.gaps if g.start < high and low < g.end]
        sampled = [g for g in gaps if g.role == "sampled"]
        unwound, gap = not wrong and not sampled, bool(sampled) and not wrong
        caller = "refused" if {g.verdict for g in gaps} == {Verdict.REFUSED} else "right"
    return Facts(
        expressible=not reasons,
        encoded=raw == one.wanted(version),
        decoded=texts.get(place.low) == one.row,
        unwound=unwound,
        gap=gap,
        caller=caller if one.caller else "",
        text=", ".join(sorted(reasons)) or raw,
    )


def gas_rows(path: Path) -> tuple[dict[tuple[str, int], str], dict[str, list[Place]], Table]:
    """The assembler's own table: bytes and rows."""
    image = load_image(str(path))
    contained, table = find_section(image), sframe_table(image)
    assert contained is not None
    assert table is not None
    fdes = decode(contained.data, contained.address, "big").fdes
    encoded = encode(read_form(contained.data))
    assert encoded.data == contained.data
    return stored(encoded, [fde.start for fde in fdes], path), places(table, path), table


def gas_says(one: Extension) -> str:
    """The last column but one of the table."""
    raw, rows, _ = gas_rows(one.program)
    place = place_of(one)
    if raw.get((one.function, place.low)) == one.v3:
        return "same"
    found = [p.text for p in rows.get(one.function, ()) if p.low <= place.low < p.high]
    if found == [Verdict.REFUSED.text] and one.signal:
        return "signal frame without rows"
    return found[0] if found else "none"
