"""The parts of `make real` that decide, without packages or runs."""

from pathlib import Path
from typing import Any

import pytest

from benchmarks import real
from benchmarks.agree import disagreements
from benchmarks.entries import Place, places_of
from benchmarks.examine import Checked, Outcome, judge
from benchmarks.programs import read_programs, with_sources
from benchmarks.reference import Reference, calls_of
from benchmarks.roots import Root, inside
from emu.check.known import Known, read_known

PROGRAMS, SUITES = read_programs()
ROOT = Root("bookworm", "x86_64", {}, "")


def write_list(folder: Path, *programs: str) -> Path:
    """A list of programs, each given by its name and what it reads."""
    path = folder / "list.toml"
    entries = (
        f'[[program]]\nname = "{name}"\npackage = "p"\nrun = "p"\nstdin = "{stdin}"\n'
        for name, _, stdin in (each.partition(" < ") for each in programs)
    )
    path.write_text("[suites]\none = {}\n" + "".join(entries))
    return path


def finding(**changes: Any) -> dict[str, Any]:
    """One in a report."""
    return {
        "verdict": "wrong-cfa", "module": "libc.so.6", "function": None, "section": ".text",
        "role": "sampled", "start": "0x120", "end": "0x128", "count": 2, "checked": 2,
        "row": "CFA=sp+8", **changes,
    }  # fmt: skip


def report(
    findings: list[dict[str, Any]], gaps: list[dict[str, Any]], exact: int, **guest: Any
) -> dict[str, Any]:
    """What `check` writes."""
    counts = {"exact": exact}
    for each in [*findings, *gaps]:
        counts[each["verdict"]] = counts.get(each["verdict"], 0) + each["count"]
    guest = {"exit_status": 0, "stdout": "out\n", "stderr": "", **guest}
    return {
        "guest": guest, "verdicts": counts, "findings": findings, "gaps": gaps,
        "unsupported_syscalls": {},
    }  # fmt: skip


def known(**changes: Any) -> Known:
    values = {"function": None, "row": "CFA=sp+8", "reason": "f [0x100, 0x130), read", **changes}
    return Known("wrong-cfa", "libc.so.6", **values)


def judged(findings: list[dict[str, Any]], places: list[Place], **guest: Any) -> Outcome:
    outcome = Outcome(ROOT, PROGRAMS["sort"])
    checked = Checked("text", "", 1.0, report(findings, [], 10, **guest))
    outcome.same_output = judge(
        outcome, "cfi", checked, Reference(0, b"out\n", b"", (), ()), places
    )
    return outcome


def test_the_list_has_what_it_must() -> None:
    """Ten applets of busybox, twelve programs of coreutils, round trips, perl and python."""
    names = {program.name for program in PROGRAMS.values()}
    packages = [program.package for program in PROGRAMS.values()]
    applets = {program.run.split()[1] for program in PROGRAMS.values() if "busybox" in program.run}
    commands = {each.run.split()[0] for each in PROGRAMS.values() if each.package == "coreutils"}
    assert len(applets) >= 10
    assert len(commands) >= 12
    assert {"gzip -d", "xz -d", "bzip2 -d", "perl", "python", "python, one line"} <= names
    assert {"lua5.4", "bash", "sqlite3", "jq"} <= set(packages)


def test_a_suite_names_its_packages() -> None:
    """What a suite calls otherwise is filled in, but never in scripts."""
    python = PROGRAMS["python"]
    assert python.package_in(SUITES["sid"]) == SUITES["sid"]["python"]
    words = python.words(SUITES["bookworm"])
    assert words[:2] == ["python3.11", "-c"]
    assert words[2] == python.script
    assert PROGRAMS["busybox awk"].words({})[-2] == PROGRAMS["busybox awk"].script


def test_a_script_may_be_that_of_another() -> None:
    """The static shell runs what the dynamic one does."""
    assert PROGRAMS["bash, static"].script == PROGRAMS["bash"].script


def test_a_program_comes_with_what_it_reads(tmp_path: Path) -> None:
    """Sources of sources are needed too, each once."""
    path = write_list(tmp_path, "a", "b < output of a", "c < output of b", "d")
    programs, _ = read_programs(path)
    assert programs["c"].source == "b"
    assert {each.name for each in with_sources([programs["c"]], programs)} == {"a", "b", "c"}


@pytest.mark.parametrize("names", [("a", "a"), ("a < output of b",)])
def test_a_list_that_is_wrong_is_refused(tmp_path: Path, names: tuple[str, ...]) -> None:
    """A name that stands there twice, or a source that is none."""
    with pytest.raises(ValueError, match=r"twice|no program"):
        read_programs(write_list(tmp_path, *names))


def test_all_sources_can_be_had() -> None:
    """No program of the part for CI reads what is not in the list."""
    quick = [program for program in PROGRAMS.values() if program.quick]
    assert quick
    assert all(each.source in PROGRAMS for each in with_sources(quick, PROGRAMS) if each.source)


def test_an_entry_without_a_name_goes_by_addresses() -> None:
    """Each function in the reason is a place, and what lies elsewhere is new."""
    places = places_of([known(reason="f [0x100, 0x130) and g [0x200, 0x210)")])
    assert [str(place)[-5:] for place in places] == ["0x100", "0x200"]
    outcome = judged([finding(), finding(start="0x20f"), finding(start="0x210")], places)
    assert (outcome.known, outcome.new, len(outcome.failures)) == (2, 1, 1)
    assert outcome.used == set(places)


@pytest.mark.parametrize(
    "changes",
    [
        {"row": "CFA=sp+16"}, {"function": "f"}, {"module": "ld.so"}, {"verdict": "wrong-ra"},
        {"start": "0x130"},
    ],
)  # fmt: skip
def test_what_differs_from_an_entry_is_new(changes: dict[str, Any]) -> None:
    """An entry is about one verdict, one row and one function of one module."""
    outcome = judged([finding(**changes)], places_of([known()]))
    assert (outcome.known, outcome.new, len(outcome.failures)) == (0, 1, 1)


@pytest.mark.parametrize("changes", [{"arch": ("s390x",)}, {"table": ("sframe",)}])
def test_an_entry_of_other_runs_matches_nothing(changes: dict[str, Any]) -> None:
    """An entry for another machine or kind of table does not excuse a finding."""
    assert judged([finding()], places_of([known(**changes)])).new == 1


def test_an_unused_entry_is_named() -> None:
    """What no run had is said, with its place."""
    places = places_of([known(), known(reason="h [0x300, 0x308)")])
    outcomes = [judged([finding()], places)]
    (left,) = real.unused(places, outcomes)
    assert left.endswith("libc.so.6: (no function) 0x300")


@pytest.mark.parametrize(
    ("guest", "expected"),
    [
        ({"stdout": "out?\n"}, "cfi: stdout: differs at 3 of 4: 'out?\\n', not 'out\\n'"),
        ({"stderr": "x"}, "cfi: stderr: differs at 0 of 0: 'x', not ''"),
        ({"exit_status": 1}, "cfi: exit 1, not 0"),
    ],
)
def test_another_output_is_a_failure(guest: dict[str, Any], expected: str) -> None:
    """Output, errors and exit status must be the reference's."""
    outcome = judged([], [], **guest)
    assert not outcome.same_output
    assert outcome.failures == [f"bookworm x86_64 sort: {expected}"]


def test_the_same_output_is_none() -> None:
    """Nothing to say."""
    outcome = judged([], [])
    assert outcome.same_output
    assert outcome.failures == []


def test_the_list_of_true_errors_has_proofs() -> None:
    """Each entry shows code and rows, and one without a function's name says where that is."""
    for place in places_of(read_known(str(real._KNOWN))):
        assert "FDE" in place.entry.reason, str(place)
        assert place.entry.arch, str(place)
        assert place.entry.function or place.addresses, str(place)


GAP = finding(verdict="no-fde", start="0x500", end="0x510", count=5)


@pytest.mark.parametrize(
    ("findings", "gaps", "exact", "expected"),
    [
        pytest.param([finding()], [GAP], 10, [], id="the same"),
        pytest.param([], [GAP, finding(verdict="refused")], 10, [], id="silent"),
        pytest.param([finding(row="CFA=fp+8")], [GAP], 10, [], id="in other words"),
        pytest.param(
            [], [GAP], 12, ["wrong-cfa in libc.so.6 0x120 no longer, and no gap",
            "exact 12 times, 10 before"], id="suddenly right",
        ),
        pytest.param(
            [finding(), finding(start="0x700", end="0x708")], [GAP], 8,
            ["wrong-cfa in libc.so.6 0x700 only here", "wrong-cfa 4 times, 2 before"], id="new",
        ),
        pytest.param(
            [finding(verdict="wrong-ra")], [GAP], 10,
            ["wrong-ra in libc.so.6 0x120 only here",
            "wrong-cfa in libc.so.6 0x120 no longer, and no gap", "wrong-ra 2 times, 0 before"],
            id="another verdict",
        ),
        pytest.param(
            [finding()], [], 15, ["gap in libc.so.6 0x500 no longer", "exact 15 times, 10 before"],
            id="knows more",
        ),
        pytest.param(
            [finding(count=3)], [GAP], 9, ["wrong-cfa 3 times, 2 before"], id="more often",
        ),
    ],
)  # fmt: skip
def test_tables_agree(
    findings: list[dict[str, Any]], gaps: list[dict[str, Any]], exact: int, expected: list[str]
) -> None:
    """A table made from another one may be silent, but says nothing else."""
    assert disagreements(report([finding()], [GAP], 10), report(findings, gaps, exact)) == expected


def test_counts_of_other_runs_are_not_compared() -> None:
    """Where the program ran otherwise, only places can be compared."""
    assert disagreements(report([finding()], [GAP], 10), report([finding()], [GAP], 11)) == []


def test_code_of_no_file_may_lie_elsewhere() -> None:
    """Where generated code lies is no matter."""
    first = finding(verdict="no-module", module=None, start="0x7000", end="0x7010")
    second = finding(verdict="no-module", module=None, start="0x9000", end="0x9010")
    assert disagreements(report([], [first], 10), report([], [second], 10)) == []


def test_log_of_calls() -> None:
    """What was opened, in order and once, and by what a process came to be."""
    log = (
        '12 openat(AT_FDCWD,"/etc/x",O_RDONLY) = -1 errno=2 (No such file or directory)\n'
        '12 openat(AT_FDCWD,"/lib/libc.so.6",O_RDONLY|O_CLOEXEC) = 3\n'
        '12 open("/data/text",O_RDONLY) = 4\n'
        '12 openat(AT_FDCWD,"/lib/libc.so.6",O_RDONLY|O_CLOEXEC) = 3\n'
        "12 clone(0x1200011,child_stack=0x0) = 13\n"
        "12 write(1,0x1000,9)clone( = 9\n"
    )
    assert calls_of(log) == (("/lib/libc.so.6", "/data/text"), ("clone",))


def test_links_are_followed_as_the_guest_would(tmp_path: Path) -> None:
    """An absolute link starts at the root again, none leads out of it, and a loop ends."""
    (tmp_path / "usr" / "lib").mkdir(parents=True)
    (tmp_path / "usr" / "lib" / "real").write_bytes(b"x")
    (tmp_path / "lib").symlink_to("/usr/lib")
    (tmp_path / "up").symlink_to("../../usr/lib/real")
    (tmp_path / "loop").symlink_to("loop")
    wanted = tmp_path / "usr" / "lib" / "real"
    assert inside(tmp_path, "/lib/real") == wanted
    assert inside(tmp_path, "/up") == wanted
    assert inside(tmp_path, "/loop") is None
    assert inside(tmp_path, "/lib") is None
