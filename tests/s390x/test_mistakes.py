"""`check` must see each mistake of a producer, in its function and nowhere else."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from emu.elf.rewrite import find_room
from emu.image import load_image
from emu.sframe.decode import decode
from emu.sframe.encode import encode
from emu.sframe.form import FormFunction, read_form
from emu.verdict import Verdict
from tests.s390x.mistakes import SPOILT, Spoilt
from tests.s390x.programs import (
    PROGRAM,
    SIGNALS,
    Made,
    Suite,
    at_handler,
    names_of,
    page,
    run,
    true_callers,
)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("spoilt", "version"),
    [(spoilt, version) for spoilt in SPOILT for version in spoilt.versions],
    ids=lambda value: value.name.replace(" ", "-") if isinstance(value, Spoilt) else f"v{value}",
)
def test_a_spoilt_function_is_found(
    spoilt: Spoilt, version: int, suite: Suite, tmp_path: Path
) -> None:
    """`check` finds the mistake in its function, and nothing in the others."""
    found = run(respell(suite.made[PROGRAM, version], spoilt.function, spoilt.change, tmp_path))
    assert spoilt.verdict in {f.verdict.text for f in found.findings}
    assert {f.function for f in found.findings} == {spoilt.function}


def respell(
    made: Made, name: str, change: Callable[[FormFunction], FormFunction], folder: Path
) -> Path:
    """A program with one function's rows changed; the table is written anew."""
    image = load_image(str(made.source))
    room = find_room(str(made.source), image.data)
    form = read_form(made.data)
    starts = [fde.start for fde in decode(made.data, room.address, "big").fdes]
    functions = tuple(
        change(function) if names_of(made.source).place(start).function == name else function
        for start, function in zip(starts, form.functions, strict=True)
    )
    assert functions != form.functions
    path = folder / "spoilt"
    path.write_bytes(room.fill(encode(replace(form, functions=functions)).data))
    return path


@pytest.mark.compiled
def test_a_lost_signal_mark_is_seen_by_the_walk(suite: Suite, tmp_path: Path) -> None:
    """The interrupted PC is then looked up one byte too early, in the row before."""
    unmarked: Callable[[FormFunction], FormFunction] = lambda f: replace(f, signal=False)  # noqa: E731
    path = respell(suite.made[SIGNALS, 3], "trampoline", unmarked, tmp_path)
    callers, stop = at_handler(path, 1)
    assert (callers, stop) == (true_callers(1)[:2], Verdict.NO_PROGRESS)


@pytest.mark.compiled
def test_signal_frame_without_rows_is_refused() -> None:
    """The assembler's mark alone: nothing says yet how such a frame is left."""
    assert at_handler(SIGNALS, 1) == (true_callers(1), Verdict.OUTERMOST)
    assert at_handler(SIGNALS, 2) == (true_callers(2)[:1], Verdict.REFUSED)


def test_the_page_names_every_mistake_that_is_tested() -> None:
    """A reader sees which wrong producers were tried."""
    assert [spoilt.name for spoilt in SPOILT if spoilt.name not in page()] == []
