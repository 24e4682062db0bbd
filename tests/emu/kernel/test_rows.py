"""Every row of the facts is a test, or says why not."""

import ast
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def names_of_tests() -> set[str]:
    return {
        node.name.removeprefix("test_")
        for path in HERE.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_row_is_tested_or_not_modelled() -> None:
    """Each row has a test named after it, or a reason in not_modelled.toml, and not both."""
    tables = tomllib.loads((HERE / "rows.toml").read_text("utf-8"))
    rows = {key for table in tables.values() for key in table}
    reasons = tomllib.loads((HERE / "not_modelled.toml").read_text("utf-8"))
    there = names_of_tests()
    assert set(reasons) <= rows
    assert set(reasons) & there == set()
    assert rows - set(reasons) - there == set()
    assert all(str(reason).strip() for reason in reasons.values())
    assert sum(map(len, tables.values())) == len(rows)
