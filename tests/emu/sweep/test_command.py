"""The commands `sweep` and `mutate`, over programs."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from emu.cli import main
from emu.sweep.result import SweepOptions
from emu.sweep.sweep import Sweep
from testprogs.unpack import Prebuilt

pytestmark = pytest.mark.compiled

FRAMES = Path(__file__).parents[2] / "data" / "sweep" / "frames"
Programs = Mapping[tuple[str, str], Prebuilt]


def _report(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, object]]:
    status = main([*arguments[:1], "--format", "json", *arguments[1:]])
    answer = json.loads(capsys.readouterr().out)
    assert isinstance(answer, dict)
    return status, answer


def test_the_object_has_the_keys_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 with a finding; what is known of it is there."""
    path = str(FRAMES / "offset-x86_64.o")
    status, answer = _report(capsys, "sweep", path)
    assert status == 1
    assert answer["program"] == path
    assert (answer["arch"], answer["table"]) == ("x86_64", "sframe")
    assert answer["verdicts"] == {"exact": 216, "wrong-cfa": 2}
    coverage = answer["coverage"]
    assert isinstance(coverage, dict)
    assert coverage["functions"] == 12
    assert coverage["instructions"] == coverage["reached"] == 218
    assert coverage["bytes"] == coverage["reached_bytes"] == 762
    assert coverage["unreached"] == coverage["frame_given_up"] == []
    [finding] = answer["findings"]  # type: ignore[misc]
    assert finding["function"] == "floats"  # type: ignore[index]
    assert finding["disassembly"] == [  # type: ignore[index]
        "0x2e0: push rbx", "0x2e1: xor ebx, ebx", "0x2e3: sub rsp, 0x20",
        "0x2e7: movsd qword ptr [rsp + 0x18], xmm2",
    ]  # fmt: skip
    assert finding["confirmed"] is True  # type: ignore[index]
    assert finding["reached_by"] == "entry"  # type: ignore[index]


def test_one_function(capsys: pytest.CaptureFixture[str]) -> None:
    """Others, and their faults, are left alone."""
    path = str(FRAMES / "offset-s390x.o")
    status, answer = _report(capsys, "sweep", "--function", "tail", path)
    assert status == 0
    assert answer["findings"] == []
    status, answer = _report(capsys, "sweep", "--function", "floats", path)
    assert status == 1
    reached = answer["coverage"]["reached"]  # type: ignore[index]
    assert 30 < reached < 60


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "s390x"])
def test_the_number_of_processes_changes_nothing(
    prebuilt: Programs, capsys: pytest.CaptureFixture[str], machine: str
) -> None:
    """A whole C library by one process and by several: the same report to the byte."""
    path = str(prebuilt[machine, "work-glibc-O2"].path)
    reports = []
    for jobs in ("1", "3"):
        main(["sweep", "--table", "cfi", "--jobs", jobs, "--format", "json", path])
        reports.append(capsys.readouterr().out)
    assert reports[0] == reports[1]
    # 0 is no choice of the command: all in the own process.
    results = [Sweep(path, SweepOptions("cfi", jobs=jobs)).run() for jobs in (0, 1, 2)]
    assert replace(results[0], seconds=0) == replace(results[1], seconds=0)
    assert replace(results[0], seconds=0) == replace(results[2], seconds=0)
    answer = json.loads(reports[0])
    coverage = answer["coverage"]
    floor = 0.99 if machine == "x86_64" else 0.998
    assert coverage["reached_bytes"] >= floor * coverage["bytes"]
    assert len(coverage["frame_given_up"]) <= 10


# True errors of glibc 2.36: ../../../docs/true-errors.md has the proofs.
KNOWN = {
    "x86_64": {("wrong-cfa", "__mpn_submul_1"), ("wrong-cfa", "__mpn_addmul_1")},
    "aarch64": {("wrong-cfa", "_dl_runtime_resolve"), ("wrong-way", "_dl_runtime_resolve")},
    "s390x": {("wrong-reg", "__strcspn_vx"), ("wrong-reg", "__strspn_vx")},
}


@pytest.mark.parametrize("machine", sorted(KNOWN))
def test_a_c_library_has_its_true_errors_and_no_others(
    prebuilt: Programs, capsys: pytest.CaptureFixture[str], machine: str
) -> None:
    """Every finding is one that was proven, and each of those is found."""
    path = str(prebuilt[machine, "work-glibc-O2"].path)
    status, answer = _report(capsys, "sweep", "--table", "cfi", path)
    assert status == 1
    findings = answer["findings"]
    assert isinstance(findings, list)
    assert {(f["verdict"], f["function"]) for f in findings} == KNOWN[machine]
    assert all(f["confirmed"] for f in findings)


@pytest.mark.parametrize("table", ["sframe", "cfi"])
@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "s390x"])
def test_compiled_programs_are_reached_whole(
    prebuilt: Programs, capsys: pytest.CaptureFixture[str], machine: str, table: str
) -> None:
    """Code that a compiler made, without a C library: 100 % of it, and nothing wrong."""
    for name in ("flow-v3-O0-fp", "flow-v3-O2-nofp", "calls-v3-O2-nofp"):
        if (machine, name) not in prebuilt:
            continue
        status, answer = _report(
            capsys, "sweep", "--table", table, str(prebuilt[machine, name].path)
        )
        coverage = answer["coverage"]
        assert isinstance(coverage, dict)
        assert status == 0, name
        assert coverage["reached_bytes"] == coverage["bytes"] > 500, name


def test_mutate_reports_every_fault(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 0 where none is missed; the counts add up."""
    status, answer = _report(capsys, "mutate", str(FRAMES / "frames-s390x.o"))
    mutants = answer["mutants"]
    assert isinstance(mutants, dict)
    assert status == 0
    assert answer["misses"] == []
    assert mutants["missed"] == mutants["unreached"] == 0
    assert mutants["planted"] == mutants["detected"] + mutants["harmless"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--function", "nobody"], "--function nobody"),
        (["--function", "0x12"], "--function 0x12"),
        (["--table", "nothing"], "invalid choice"),
    ],
)
def test_what_cannot_be_done(
    capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    """Exit 2 and one line."""
    try:
        status = main(["sweep", *arguments, str(FRAMES / "frames-x86_64.o")])
    except SystemExit as exit:
        status = int(exit.code or 0)
    assert status == 2
    [line] = capsys.readouterr().err.splitlines()
    assert reason in line


def test_files_that_are_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Text, an empty file, and half an object."""
    for name, data in (
        ("text", b"int main;"),
        ("empty", b""),
        ("half", (FRAMES / "frames-aarch64.o").read_bytes()[:3000]),
    ):
        path = tmp_path / name
        path.write_bytes(data)
        assert main(["sweep", str(path)]) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert str(path) in line
