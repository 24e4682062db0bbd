"""Fixtures of the tests that record."""

import pytest

from tests.support.runs import Command


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)
