"""Other producers and readers of these rows: the assembler, readelf, conversion to and fro."""

import re
from collections import Counter
from pathlib import Path

import pytest

from emu.sframe import convert
from emu.sframe.decode import decode
from emu.sframe.table import function_rows
from tests.s390x.facts import gas_says
from tests.s390x.programs import (
    DATA,
    EXTENSIONS,
    PROGRAM,
    SIGNALS,
    Extension,
    make,
    run,
    stretches,
    text_of,
)
from tests.test_readelf import differences, dumped, listing_of, parse


@pytest.mark.parametrize("one", EXTENSIONS, ids=lambda one: f"{one.function}:{one.row}")
def test_what_the_assembler_writes(one: Extension) -> None:
    """Binutils 2.47.50 writes the same bytes, leaves the function out, or is wrong."""
    assert gas_says(one) == one.gas


@pytest.mark.compiled
def test_what_the_assembler_gets_wrong_is_found() -> None:
    """A CFA that is no 160 + 8n is rounded; RA saved at the CFA is taken for not saved."""
    result = run(PROGRAM)
    assert {(f.function, f.verdict.text) for f in result.findings} == {
        ("misaligned", "wrong-way"), ("ra_at_cfa", "wrong-ra"),
    }  # fmt: skip


@pytest.mark.parametrize("version", [2, 3])
def test_readelf_reads_the_same(version: int, tmp_path: Path) -> None:
    """`readelf --sframe` of 2.47.50 reads our V2, which it cannot write, and our V3 as we do."""
    made = make(PROGRAM, version, tmp_path)
    text = (DATA / f"extensions-v{version}.readelf.txt").read_text()
    # It prints a negative offset behind a plus; and of a register in V2 no offset, as we do.
    theirs = parse(re.sub(r" (r\d+) ", r" \1+0 ", text.replace("+-", "-")))
    answer = dumped(made.path, tmp_path)
    for fde in answer["fdes"]:
        for row in fde["rows"]:
            row.update({k: re.sub(r"^r\d+$", r"\g<0>+0", row[k] or "") for k in ("fp", "ra")})
    ours = listing_of(answer)
    assert [str(d) for d in differences(theirs, ours)] == []


@pytest.mark.parametrize("path", [PROGRAM, SIGNALS], ids=lambda path: path.name)
def test_conversion_keeps_what_both_can_say(path: Path, tmp_path: Path) -> None:
    """V3 to V2 and back: registers change their form twice; the losses are those of `synth`."""
    there, old = make(path, 3, tmp_path), make(path, 2, tmp_path)
    down = convert.convert(decode(there.data, 0, "big"), 2)
    lost = Counter(reason for spans in old.refused.values() for _, _, reason in spans)
    lost -= Counter(reason for spans in there.refused.values() for _, _, reason in spans)
    assert down.reasons() == dict(lost)
    up = convert.convert(decode(down.data, 0, "big"), 3)
    assert up.reasons() == {}
    assert meaning(up.data) == meaning(down.data)
    assert meaning(down.data) <= meaning(there.data)


def meaning(data: bytes) -> set[tuple[int, int, str]]:
    """(first address, last, row) of each stretch with one row."""
    return {
        (function.start + low, function.start + high, text_of(row))
        for function in function_rows(decode(data, 0, "big"))
        for low, high, row in stretches(function)
    }
