"""A progress bar on stderr, where that is a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from emu.report.text import printable

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def progress(
    title: str, total: int, unit: str = "instructions"
) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that takes the work done so far, or None where nobody would see it."""
    if not sys.stderr.isatty():
        yield None
        return
    with _bar("{task.completed:,.0f} " + unit) as bar:
        task = bar.add_task(printable(title), total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def waiting(title: str, what: str) -> Iterator[None]:
    """Show that something is going on whose end is not known."""
    if not sys.stderr.isatty():
        yield
        return
    with _bar(what) as bar:
        bar.add_task(printable(title), total=None)
        yield


def _bar(text: str) -> "Progress":
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn(text),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)
