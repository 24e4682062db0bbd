"""What the oracles say of objects that are right or wrong by construction."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from arch import ALL, Arch
from emu.fuzz.judge import Judgement, blame, judge_object, judge_pair, judge_run, only_run
from emu.fuzz.symptom import Symptom, kind_of
from tests.support.native import needs_gcc

FRAMES = Path(__file__).resolve().parents[2] / "data" / "sweep" / "frames"

TEXT = """\
.text
.globl f
.type f, @function
f:
.cfi_startproc
push %rbx
.cfi_def_cfa_offset 16
.cfi_offset %rbx, -16
mov %rdi, %rbx
call g
mov %rbx, %rax
pop %rbx
.cfi_def_cfa_offset 8
ret
.cfi_endproc
.size f, .-f
"""


def _assemble(text: str, place: Path) -> bytes:
    subprocess.run(["as", "-o", place], input=text, text=True, check=True)
    return place.read_bytes()


@pytest.mark.compiled
@pytest.mark.parametrize("arch", ALL, ids=lambda arch: arch.name)
def test_nothing_wrong(arch: Arch) -> None:
    judgement = judge_object((FRAMES / f"frames-{arch.name}.o").read_bytes())
    assert judgement.symptoms == []
    assert judgement.counts["functions"] > 5
    assert judgement.counts["bytes"] == judgement.counts["reached bytes"] > 500


@needs_gcc
@pytest.mark.compiled
def test_wrong_cfa(tmp_path: Path) -> None:
    made = _assemble(TEXT.replace("offset 16", "offset 24"), tmp_path / "x.o")
    (symptom,) = judge_object(made).symptoms
    assert symptom.proven
    assert (symptom.oracle, symptom.verdict) == ("cfi", "wrong-cfa")
    assert (symptom.function, symptom.offset, symptom.end - symptom.start) == ("f", 1, 12)
    # 8 too high; the first wrong instruction stands behind a push that names no role's register.
    bucket = "m gcc: cfi wrong cfa by sp high after push"
    assert symptom.bucket("m", "gcc") == bucket


@needs_gcc
@pytest.mark.compiled
def test_a_lost_register(tmp_path: Path) -> None:
    made = _assemble(TEXT.replace(".cfi_offset %rbx, -16\n", ""), tmp_path / "x.o")
    (symptom,) = judge_object(made).symptoms
    assert (symptom.verdict, symptom.rule) == ("wrong-reg", "saved register")
    assert "rbx" in symptom.detail


@needs_gcc
@pytest.mark.compiled
def test_two_assemblers(tmp_path: Path) -> None:
    """Tables of the same code must mean the same; those of other code are not compared."""
    one = _assemble(TEXT, tmp_path / "one.o")
    same = _assemble(TEXT.replace(".size", ".ident \"other\"\n.size"), tmp_path / "same.o")
    other = _assemble(TEXT.replace("offset 16", "offset 24"), tmp_path / "other.o")
    code = _assemble(TEXT.replace("offset 16", "offset 24\nnop"), tmp_path / "code.o")
    assert judge_pair(one, same) == []
    (symptom,) = judge_pair(one, other)
    assert (symptom.oracle, symptom.verdict, symptom.rule) == ("assemblers", "differs", "cfa")
    assert (symptom.function, symptom.offset) == ("f", 1)
    assert judge_pair(one, code) == []


@needs_gcc
@pytest.mark.compiled
def test_a_fault_of_both_tables_is_told_once(tmp_path: Path) -> None:
    """.sframe says what .eh_frame says, so only what it says alone is its own fault."""
    lost = TEXT.replace("offset 16", "offset 24")
    lost = lost.replace("call g", "nop\n.cfi_def_cfa %rbx, 8\nnop")
    path = tmp_path / "x.o"
    command = ["as", "--gsframe", "-o", path]
    subprocess.run(command, input=lost, text=True, check=True, capture_output=True)
    found = [(s.oracle, s.offset) for s in judge_object(path.read_bytes()).symptoms]
    assert ("cfi", 1) in found
    assert not [each for each in found if each == ("sframe", 1)]


@needs_gcc
@pytest.mark.compiled
def test_what_a_sweep_and_a_run_show_is_at_one_place(tmp_path: Path) -> None:
    """The addresses of both are those of the object, wherever it is in the program."""
    wrong = TEXT.replace("offset 16", "offset 24")
    source = f"asm({json.dumps(wrong)});long g(void){{return 1;}}long f(void);"
    (tmp_path / "x.c").write_text(f"{source}int main(void){{return f()-1;}}")
    subprocess.run(["gcc", "-O1", "-c", "x.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-static", "x.o", "-o", "x"], cwd=tmp_path, check=True)
    made = (tmp_path / "x.o").read_bytes()
    swept = judge_object(made)
    run = judge_run((tmp_path / "x").read_bytes(), made, (0, b""))
    places = [(s.function, s.kind, s.offset, s.start, s.end) for s in swept.symptoms]
    assert len(places) == 1
    assert [(s.function, s.kind, s.offset, s.start, s.end) for s in run.symptoms] == places
    assert only_run(swept.symptoms, run.symptoms) == []


def test_a_run_adds_what_no_sweep_has_shown() -> None:
    one = Symptom("cfi", "wrong-cfa", "cfa by fp", "pop fp", "f", 8, 8, 20)
    seen = replace(one, verdict="wrong-way", start=12, end=16, by="run")
    behind = replace(seen, start=20, end=24)
    elsewhere = replace(seen, function="g")
    assert only_run([one], [seen, behind, elsewhere]) == [behind, elsewhere]


def test_the_assembler_is_blamed_for_what_another_does_not_do() -> None:
    mine = Symptom("cfi", "wrong-cfa", "cfa by sp high", "push", "f", 8, 8, 20)
    there = replace(mine, function="g")
    # Code and so offsets may differ; how the CFA was wrong is no part of a kind.
    right = Judgement([replace(there, verdict="wrong-way", offset=16, start=40, end=44)])
    blamed = replace(mine, whose="as")
    assert blame("as", [mine, there], right, True) == [blamed, there]
    assert blamed.bucket("m", "gcc") == "m as: cfi wrong cfa by sp high after push"
    # One that writes no .sframe says nothing about it.
    table = replace(mine, oracle="sframe")
    assert blame("as", [mine, table], Judgement(), False) == [blamed, table]
    assert blame("as", [mine, table], Judgement(), True) == [blamed, replace(table, whose="as")]


@pytest.mark.parametrize(
    ("machine", "code", "kind"),
    [
        ("x86_64", "5d", "pop fp"),
        ("x86_64", "4883ec18", "sub sp"),
        ("x86_64", "4889e5", "mov fp sp"),
        ("x86_64", "4989fc", "mov"),
        ("aarch64", "fd7bbfa9", "stp fp ra sp"),
        ("aarch64", "ffc300d1", "sub sp"),
        ("s390x", "b3cd00b0", "lgdr fp"),
        ("s390x", "ebeff0700024", "stmg ra sp"),
        ("x86_64", "06", "unknown"),
    ],
)
def test_kinds_of_instructions(machine: str, code: str, kind: str) -> None:
    """Bytes as the manuals encode them."""
    arch = next(each for each in ALL if each.name == machine)
    assert kind_of(bytes.fromhex(code), arch) == kind
