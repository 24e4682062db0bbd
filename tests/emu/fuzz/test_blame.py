"""Whose fault it is: a compiler's, an assembler's on trial, or of one inside a compiler."""

import sys
from pathlib import Path

import pytest

from emu.fuzz.making import Source
from emu.fuzz.matrix import Point
from emu.fuzz.reduce.witness import Reduction
from emu.fuzz.replay import replay
from emu.fuzz.task import Helpers, Task
from emu.fuzz.toolchains import Compiler, Tool, Toolchains
from tests.support.campaigns import PLANTED, campaign, plan_of, right_by_another
from tests.support.native import broken, native, needs_gcc

pytestmark = [needs_gcc, pytest.mark.compiled]

OWN_FAULT = """\
asm(".text\\n.type f, @function\\nf:\\n"
    ".cfi_startproc\\npush %rbx\\n.cfi_def_cfa_offset 24\\n.cfi_offset 3, -16\\n"
    "pop %rbx\\n.cfi_def_cfa_offset 8\\nret\\n.cfi_endproc\\n.size f, .-f\\n");
void h(void);
__attribute__((noinline, optimize("O2", "omit-frame-pointer"))) int g(int a) {
  h();
  return a + 1;
}
"""
"""f is wrong as it stands: its CFA is 8 too high behind the push."""


def test_a_fault_of_the_assembler_is_none_of_the_compilers(tmp_path: Path) -> None:
    """Both have the same symptom, in two functions: two buckets, and a witness of the new one."""
    found = native()
    command = (sys.executable, PLANTED, "def-cfa-offset-plus-8", "--one-in", "1", "--", "as")
    plan = plan_of(
        toolchains=Toolchains(found.compilers, (broken(command),)), references=found.assemblers,
        files=(Source(OWN_FAULT, "c"),), points=1,
    )  # fmt: skip
    what = "cfi wrong cfa by sp high after push"
    store = campaign(tmp_path / "store", plan, 1, f"as: {what}")
    buckets = {each.key.partition(" ")[2]: each for each in store.buckets()}
    assert buckets[f"gcc: {what}"].names[-1].startswith("gcc")
    assert buckets[f"as: {what}"].names == ("as 1.0 given",)
    (build,) = store.builds()
    assert replay(store, build, rebuild=True).same
    seen = {(s.function, s.whose) for s in store.build(build).symptoms if s.pattern == "push"}
    assert seen == {("f", ""), ("g", "as")}
    witness = store.witness(buckets[f"as: {what}"].key)
    assert witness is not None
    assert witness.symptom.whose == "as"
    assert "cfi_def_cfa_offset 24" not in witness.source.text
    right_by_another(witness, tmp_path)


CLANG_LIKE = f"""\
import subprocess, sys
of_clang = "-Qunused-arguments", "-fno-integrated-as"
arguments = [each for each in sys.argv[1:] if each not in of_clang]
if "-S" in arguments:
    sys.exit(subprocess.run(["gcc", *arguments]).returncode)
arguments[arguments.index("-c")] = "-S"
out = arguments.index("-o")
made = subprocess.run(["gcc", *arguments[:out], "-o", "-"], stdout=subprocess.PIPE)
command = [sys.executable, {PLANTED!r}, "def-cfa-offset-plus-8", "--one-in", "1", "--", "as"]
sys.exit(subprocess.run([*command, *arguments[out:]], input=made.stdout).returncode)
"""
"""With an assembler inside, which is wrong; what it compiles to is what gcc does."""


def test_the_assembler_inside_a_compiler_is_told_from_it(tmp_path: Path) -> None:
    found = native()
    (tmp_path / "clang.py").write_text(CLANG_LIKE)
    tool = Tool((sys.executable, str(tmp_path / "clang.py")), "1.0 given", None, True)
    arch = found.compilers[0].arch
    point = Point(Compiler(arch, "clang", tool, False), None, ("-O2",))
    helpers = Helpers(assembler=found.assemblers[0])
    task = Task(0, arch, "file", 0, (point,), helpers, source=Source(OWN_FAULT, "c"))
    (build,) = task.work().builds
    assert build.status == "judged", build.detail
    buckets = {s.bucket(arch, point.family): s for s in build.symptoms if s.pattern == "push"}
    what = "cfi wrong cfa by sp high after push"
    assert {key: s.function for key, s in buckets.items()} == {
        f"{arch} clang: {what}": "f", f"{arch} clang-as: {what}": "g",
    }  # fmt: skip
    symptom = buckets[f"{arch} clang-as: {what}"]
    source, reference = Source(OWN_FAULT, "c"), found.assemblers[0]
    job = Reduction("", arch, "file", 0, source, point, symptom, reference)
    witness = job.work().witness
    assert witness is not None
    assert (witness.symptom.function, witness.symptom.whose) == ("g", "clang-as")
    assert witness.right == reference.name
    assert "cfi_def_cfa_offset" not in witness.source.text
