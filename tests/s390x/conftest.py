"""What is made and run once for all tests of the extensions."""

import pytest

from tests.s390x.programs import PROGRAM, SIGNALS, VERSIONS, Suite, make, run


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """All that is made and run once."""
    folder = tmp_path_factory.mktemp("s390x")
    made = {(path, v): make(path, v, folder) for path in (PROGRAM, SIGNALS) for v in VERSIONS}
    results = {v: run(made[PROGRAM, v].path) for v in VERSIONS}
    for result in results.values():
        guest = result.guest
        assert (guest.stopped, guest.exit_status, guest.stdout) == ("exit", 0, b"s390x\n")
    return Suite(made, results)
