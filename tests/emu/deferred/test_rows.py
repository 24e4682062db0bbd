"""Every row of the facts is a test, or says why not."""

import ast
import tomllib
from pathlib import Path

HERE = Path(__file__).parent


def table(name: str) -> dict[str, object]:
    return tomllib.loads((HERE / name).read_text("utf-8"))


def names_of_tests() -> set[str]:
    return {
        node.name.removeprefix("test_")
        for path in HERE.glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_row_is_tested_or_not_modelled() -> None:
    """Each row has a test named after it, or a reason in not_modelled.toml, and not both."""
    rows, missing = set(table("rows.toml")), set(table("not_modelled.toml"))
    there = names_of_tests()
    assert missing <= rows
    assert missing & there == set()
    assert rows - missing - there == set()
    assert all(str(reason).strip() for reason in table("not_modelled.toml").values())
