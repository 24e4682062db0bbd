"""The tables of docs/deferred.md, from the sequences that a search found."""

import sys
from collections.abc import Iterator
from pathlib import Path

from emu.deferred.ledger import Invariant
from emu.deferred.steps import Step, step_lines
from tests.emu.deferred.cases import DESIGNS, FILE, FLAWS, LAYOUTS, UNWRAPPED, cases, found
from tests.emu.deferred.search import shortest

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "deferred.md"
BEGIN, END = "<!-- made by make deferred-table -->", "<!-- end of what is made -->"


def write_tables(examples: int) -> None:
    """Search for everything, write the file of sequences and the part of the document."""
    lines = [
        "# The smallest sequence found for each case of cases.py; empty: none in",
        f"# {examples} random sequences, or 15 times as many where a counter jumps. Written by",
        "# make deferred-table.",
        "",
    ]
    for case in cases():
        # Two CPUs have to meet beyond a wrap: rare, and known to be there.
        effort = 15 if case.world.counters else 1
        steps = shortest(case.world, case.wanted, effort * examples)
        print(f"{case.key:<50} {len(steps) or '-'}", file=sys.stderr)
        lines += [f'"{case.key}" = """', *step_lines(steps), '"""']
    FILE.write_text("\n".join(lines) + "\n", "utf-8")
    text = DOCUMENT.read_text("utf-8")
    head, _, rest = text.partition(BEGIN)
    DOCUMENT.write_text(f"{head}{tables()}{rest.partition(END)[2]}", "utf-8")


def tables() -> str:
    """The part of the document, markers included."""
    sequences = found()
    numbers: dict[tuple[Step, ...], int] = {}
    layouts = [f"cookie {name}" for name in LAYOUTS]
    layouts += [f"cookie {name}, no wrap" for name in UNWRAPPED]
    few = (Invariant.COOKIE_UNIQUE, Invariant.COOKIE_STITCH)
    parts = [
        BEGIN,
        *_table("Design", list(DESIGNS), tuple(Invariant), sequences, numbers),
        "",
        *_table("Merged form with", layouts, few, sequences, numbers),
        "",
        "| Flaw | of | broken by |",
        "|---|---|---|",
        *(
            f"| `{flaw}` | {design} | {_cell(sequences[f'{flaw}: flaw'], numbers)} |"
            for flaw, (design, _) in FLAWS.items()
        ),
        "",
    ]
    for steps, number in numbers.items():
        parts += [f"Sequence {number}:", "", *("    " + line for line in step_lines(steps)), ""]
    return "\n".join([*parts, END])


def _table(
    head: str,
    rows: list[str],
    columns: tuple[Invariant, ...],
    sequences: dict[str, tuple[Step, ...]],
    numbers: dict[tuple[Step, ...], int],
) -> Iterator[str]:
    yield f"| {head} | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for row in rows:
        cells = [_cell(sequences[f"{row}: {column}"], numbers) for column in columns]
        yield f"| {row} | " + " | ".join(cells) + " |"


def _cell(steps: tuple[Step, ...], numbers: dict[tuple[Step, ...], int]) -> str:
    """Holds, or the number of the sequence that breaks it."""
    return f"broken by {numbers.setdefault(steps, len(numbers) + 1)}" if steps else "holds"
