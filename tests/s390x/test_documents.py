"""README.md and docs/s390x.md have the results of these tests.

Where one has changed, the failing test says what should stand there.
"""

import re
from pathlib import Path

import pytest

from tests.s390x.facts import facts_of, gas_says
from tests.s390x.programs import EXTENSIONS, ROOT, VERSIONS, Extension, Suite, page
from tests.support.runs import Command


def cell(one: Extension, version: int, suite: Suite) -> str:
    """Bytes if all four facts hold, else the reason."""
    facts = facts_of(one, version, suite)
    if facts.expressible and facts.encoded and facts.decoded and facts.unwound:
        return f"`{facts.text}`"
    return facts.text


def extension_table(suite: Suite) -> list[str]:
    """Lines of the page's table."""
    lines = [
        "| Extension | Row | V1 | V2 | V3 | gas 2.47.50 | as a caller |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in EXTENSIONS:
        cells = [cell(one, version, suite) for version in VERSIONS]
        caller = facts_of(one, 3, suite).caller
        gas = gas_says(one)
        gas = f"`{gas}`" if gas.startswith("CFA") else gas
        lines.append(f"| {one.title} | `{one.row}` | {' | '.join(cells)} | {gas} | {caller} |")
    return lines


def summary_table(suite: Suite) -> list[str]:
    """Lines of the README's table."""
    lines = [
        "| On s390x | V1 | V2 | V3 | gas 2.47.50 writes it in V3 |",
        "|---|---|---|---|---|",
    ]
    words = {"same": "yes", "none": "left out", "signal frame without rows": "the mark alone"}
    for group in dict.fromkeys(one.group for one in EXTENSIONS):
        members = [one for one in EXTENSIONS if one.group == group]
        cells = []
        for version in VERSIONS:
            held = {cell(one, version, suite).startswith("`") for one in members}
            cells.append("yes" if held == {True} else "no" if held == {False} else "in part")
        gas = {words.get(gas_says(one), "**wrong**") for one in members}
        cells.append(" or ".join(sorted(gas, reverse=True)))
        lines.append(f"| {group} | {' | '.join(cells)} |")
    return lines


@pytest.mark.compiled
def test_the_page_has_the_results(suite: Suite) -> None:
    """Every cell of the table in docs/s390x.md came of these tests."""
    assert "\n".join(extension_table(suite)) in page()


@pytest.mark.compiled
def test_the_readme_has_the_results(suite: Suite) -> None:
    """And of the one in README.md."""
    assert "\n".join(summary_table(suite)) in (ROOT / "README.md").read_text()


@pytest.mark.compiled
def test_the_commands_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each command under "Validate an SFrame producer" prints the lines that stand below it."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "README.md").read_text().split("## Validate an SFrame producer\n")[1]
    command = Command(capsys)
    output: list[str] = []
    shown = 0
    for line in text.split("\n## ")[0].splitlines():
        if line.startswith("    $ unwindlab "):
            arguments = re.sub(r"\bbest\b", str(tmp_path / "best"), line).split()[2:]
            output = command(*arguments).stdout.splitlines()
            shown += 1
        elif line.startswith("    ") and line != "    [...]":
            assert line[4:] in output
    assert shown == 6
