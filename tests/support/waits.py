"""A limit on what a test may wait for."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def waits_at_most(seconds: float) -> Iterator[None]:
    """Fail, from inside a call into the system too, what would go on for ever."""

    def late(number: int, frame: object) -> None:
        pytest.fail(f"it waits for more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
