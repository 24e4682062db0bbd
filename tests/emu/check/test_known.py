"""Known findings: what matches, what is left, and files that are wrong."""

from pathlib import Path

import pytest

from emu.check.known import Known, read_known
from emu.errors import UsageError
from tests.support.runs import Command, program

ENTRY = """
[[finding]]
verdict = "{verdict}"
module = "prog"
function = "{function}"
row = "{row}"
reason = "planted"
"""
WHOLE = "[[finding]]\nverdict = 'wrong-cfa'\nmodule = 'm'\nreason = 'r'\n"
SKEW = {"verdict": "wrong-cfa", "function": "skew", "row": "CFA=fp+16 RA=c-8 FP=c-16"}


def known_file(folder: Path, text: str) -> str:
    """A file with this text."""
    path = folder / "known.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.compiled
def test_a_known_finding_does_not_count(command: Command, tmp_path: Path) -> None:
    """It is shown apart, and the exit status is that of a run without it."""
    path = known_file(tmp_path, ENTRY.format(**SKEW))
    answer = command.check("x86_64-fp-off-by-8", "--known", path, "--strict")
    assert (answer.status, answer.findings) == (0, [])
    (finding,) = answer.json["known"]
    assert (finding["verdict"], finding["function"]) == ("wrong-cfa", "skew")


@pytest.mark.compiled
@pytest.mark.parametrize(
    "change",
    [{"verdict": "wrong-ra"}, {"function": "other"}, {"row": "CFA=fp+24 RA=c-8 FP=c-16"}],
)
def test_every_part_of_the_key_must_match(
    change: dict[str, str], command: Command, tmp_path: Path
) -> None:
    """An entry that differs in one part matches nothing."""
    path = known_file(tmp_path, ENTRY.format(**(SKEW | change)))
    answer = command.check("x86_64-fp-off-by-8", "--known", path)
    assert (answer.status, len(answer.findings)) == (1, 1)


@pytest.mark.compiled
@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict",), 1)])
def test_an_entry_that_matches_nothing(
    options: tuple[str, ...], status: int, command: Command, tmp_path: Path
) -> None:
    """It is named, and fails under --strict alone."""
    path = known_file(tmp_path, ENTRY.format(**SKEW))
    answer = command("check", "--known", path, *options, program("x86_64-clean-chain"))
    assert answer.status == status
    assert "skew" in answer.stdout


SCOPES = [
    ("", True),
    ("arch = ['x86_64']", True),
    ("arch = ['s390x', 'x86_64']", True),
    ("arch = ['s390x']", False),
    ("table = ['cfi', 'sframe']", True),
    ("table = ['cfi']", False),
    ("arch = ['x86_64']\ntable = ['sframe']", True),
    ("arch = ['x86_64']\ntable = ['cfi']", False),
    ("arch = ['aarch64']\ntable = ['sframe']", False),
]


@pytest.mark.compiled
@pytest.mark.parametrize(("scope", "holds"), SCOPES)
def test_where_an_entry_holds(
    scope: str, holds: bool, command: Command, tmp_path: Path
) -> None:
    """On the machines and for the tables that it names, or everywhere."""
    path = known_file(tmp_path, ENTRY.format(**SKEW) + scope)
    answer = command.check("x86_64-fp-off-by-8", "--known", path)
    assert (answer.status, len(answer.findings)) == ((0, 0) if holds else (1, 1))


@pytest.mark.compiled
@pytest.mark.parametrize(("scope", "holds"), SCOPES)
def test_an_entry_about_other_runs_is_not_missed(
    scope: str, holds: bool, command: Command, tmp_path: Path
) -> None:
    """Only one that holds here and matches nothing is named, and fails under --strict."""
    path = known_file(tmp_path, ENTRY.format(**SKEW) + scope)
    answer = command("check", "--known", path, "--strict", program("x86_64-clean-chain"))
    assert answer.status == int(holds)
    assert ("known entry without a finding" in answer.stdout) is holds


def test_any_table() -> None:
    """Without a table only the machine counts."""
    entry = Known("corrupt", "prog", None, None, "planted", ("s390x",), ("cfi",))
    assert entry.holds("s390x", "cfi")
    assert entry.holds("s390x", None)
    assert not entry.holds("s390x", "sframe")
    assert not entry.holds("x86_64", None)


def test_entries_of_a_file(tmp_path: Path) -> None:
    """Function and row may be left out, as they are where there is none."""
    text = '[[finding]]\nverdict = "corrupt"\nmodule = "prog"\nreason = "planted"\n'
    text += text + 'arch = ["s390x", "x86_64"]\ntable = ["cfi"]\n'
    assert read_known(known_file(tmp_path, text)) == [
        Known("corrupt", "prog", None, None, "planted"),
        Known("corrupt", "prog", None, None, "planted", ("s390x", "x86_64"), ("cfi",)),
    ]


def test_an_empty_file_knows_nothing(tmp_path: Path) -> None:
    """No entries is no error."""
    assert read_known(known_file(tmp_path, "")) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[[finding", "no TOML"),
        ("finding = 3", "only"),
        ("other = 1", "only"),
        ("[[finding]]\nmodule = 'm'\nreason = 'r'", "no verdict"),
        ("[[finding]]\nverdict = 'wrong-cfa'\nreason = 'r'", "no module"),
        ("[[finding]]\nverdict = 'wrong-cfa'\nmodule = 'm'", "no reason"),
        ("[[finding]]\nverdict = 'wrong-cfa'\nmodule = 'm'\nreason = ''", "no reason"),
        ("[[finding]]\nverdict = 'wrong-cfa'\nmodule = 'm'\nreason = 'r'\nrow = 3", "row"),
        ("[[finding]]\nverdict = 'wrong-cfa'\nmodule = 'm'\nreason = 'r'\naddress = 3", "address"),
        ("finding = [3]", "not a table"),
        (f"{WHOLE}arch = 's390x'", "arch is no list of names, of x86_64, aarch64, s390x$"),
        (f"{WHOLE}arch = []", "arch is no list"),
        (f"{WHOLE}arch = ['arm']", "arch 'arm' is none of x86_64, aarch64, s390x$"),
        (f"{WHOLE}arch = [3]", "arch 3 is none of"),
        (f"{WHOLE}arch = [['s390x']]", "none of"),
        (f"{WHOLE}table = 'sframe'", "table is no list of names, of sframe, cfi, fp, backchain$"),
        (f"{WHOLE}table = ['eh_frame']", "table 'eh_frame' is none of sframe, cfi, fp, backchain$"),
        (f"{WHOLE}tables = ['cfi']", "unknown key tables"),
    ],
)
def test_files_that_are_wrong(text: str, reason: str, tmp_path: Path) -> None:
    """Each is refused with the file's name and what is wrong."""
    path = known_file(tmp_path, text)
    with pytest.raises(UsageError, match=reason) as caught:
        read_known(path)
    assert path in str(caught.value)
