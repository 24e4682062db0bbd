"""Programs that are drawn: they replay, they compile, and they say the same however compiled."""

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch import Arch, by_name
from emu.fuzz.generate.choices import Choices
from emu.fuzz.generate.program import Program, generate, generate_assembly

HOST = by_name(platform.machine())
GCC = shutil.which("gcc")
PLUS = shutil.which("g++")

needs_gcc = pytest.mark.skipif(
    HOST is None or GCC is None, reason="no gcc for a machine that is known"
)

FEATURES = {
    "alloca", "asm", "big_frame", "branch", "builtin_setjmp", "c", "c++", "call_double_arguments",
    "call_handwritten", "call_many_arguments", "call_plain", "call_result_by_pointer",
    "call_struct_by_value", "call_through_pointer", "call_variadic", "catch", "cleanup", "clobber",
    "clobber_frame", "cold", "computed_goto", "dense_switch", "destructor", "double_arguments",
    "doubles_across_call", "ends_in_noreturn", "frame", "frame_address", "hand_at_once",
    "hand_base", "hand_behind", "hand_call", "hand_early_exit", "hand_hold", "hand_save",
    "hand_tail_call", "hand_unknown_size", "handwritten", "hot", "large_copy", "leaf",
    "leaf_pressure", "leaf_table", "live_across_call", "loop", "many_arguments", "move_stack",
    "nested_function", "noclone", "noinline", "noipa", "noreturn_call", "optimize", "over_aligned",
    "plain", "recursion", "result_by_pointer", "rethrow", "return_address", "setjmp",
    "several_returns", "shrink_wrap", "sparse_switch", "static_chain", "struct_by_value",
    "tail_call", "thread_local", "throw", "trampoline", "variadic", "vector", "vla",
    "volatile_local", "zero_call_used_regs",
}  # fmt: skip

SMALLEST = """\
extern int printf(const char *, ...);
static volatile unsigned long seed = 7;

__attribute__((noinline)) unsigned long f0(unsigned long a, unsigned long b) {
  unsigned long x = a;
  return x;
}

int main(void) {
  unsigned long sum = seed;
  sum = sum * 31 + f0(seed + 0, sum);
  printf("%lx\\n", sum);
  return (int)(sum & 127);
}
"""


def test_who_moves_r15_says_what_it_was() -> None:
    """On s390x SP is no CFA: without a rule it is taken for unchanged (GDB, elfutils)."""
    arch = by_name("s390x")
    assert arch is not None
    moves = re.compile(r"\t(?:aghi|lay|nill|sgr) %r15,")
    rule = re.compile(r"\.cfi_(?:offset|rel_offset|register) 15,")
    moved = 0
    for seed in range(30):
        for function in generate_assembly(Choices(seed=seed), arch).text.split(".cfi_startproc"):
            if move := moves.search(function):
                moved += 1
                assert rule.search(function, 0, move.start()), function
    assert moved > 100
    for text in arch.assembly.stack_moves:
        assert text.startswith(".cfi_escape 0x14, 15, 20")  # DW_CFA_val_offset r15, 20 * -8


@pytest.mark.parametrize("draw", [generate, generate_assembly])
def test_a_record_replays(arch: Arch, draw: type[Program]) -> None:
    """What was recorded gives the same text, without the random numbers behind it."""
    for seed in range(5):
        choices = Choices(seed=seed)
        program = draw(choices, arch)
        again = Choices(choices.record)
        assert draw(again, arch) == program
        assert again.record == choices.record


def test_nothing_recorded_is_the_smallest(arch: Arch) -> None:
    """One function that does nothing, and main."""
    assert generate(Choices(), arch).text.lstrip() == SMALLEST
    assert generate_assembly(Choices(), arch).text.count(".cfi_startproc") == 1


@settings(max_examples=60, deadline=None)
@given(record=st.lists(st.integers(0, 1 << 20), max_size=400))
def test_any_record_is_a_program(record: list[int]) -> None:
    """Whatever the numbers, there is a program and an end of it."""
    assert HOST is None or generate(Choices(record), HOST).text.count("int main(void) {") == 1
    assert HOST is None or generate_assembly(Choices(record), HOST).text.endswith("%progbits\n")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 99), start=st.floats(0, 1), length=st.integers(0, 60))
def test_what_a_reducer_does_to_records(seed: int, start: float, length: int) -> None:
    """A record without a part of it, or with zeros there, is one of a program too."""
    arch = HOST or by_name("x86_64")
    assert arch is not None
    choices = Choices(seed=seed)
    generate(choices, arch)
    at = int(start * len(choices.record))
    before, after = choices.record[:at], choices.record[at + length :]
    for record in (before + after, before + [0] * length + after):
        assert "int main(void) {" in generate(Choices(record), arch).text


def test_draws_are_the_same_on_every_machine() -> None:
    """One seed gives one program, but for what is in assembly: outputs can be compared."""
    for seed in range(20):
        records = []
        for name in ("x86_64", "aarch64", "s390x"):
            arch = by_name(name)
            assert arch is not None
            choices = Choices(seed=seed)
            generate(choices, arch)
            records.append(choices.record)
        assert records[0] == records[1] == records[2]


def test_every_feature_appears(arch: Arch) -> None:
    """In 200 programs there is everything that is asked for, on each machine."""
    seen: set[str] = set()
    for seed in range(200):
        seen |= generate(Choices(seed=seed), arch).features
    seen |= generate_assembly(Choices(), arch).features
    own = {f"attribute {attribute.text}" for attribute in arch.assembly.attributes}
    assert own
    assert seen - {"hand_stored_cfa"} == FEATURES | own


def test_one_statement_on_a_line(arch: Arch) -> None:
    """Lines can be taken away one by one: blocks open at the end of one and close on their own."""
    for seed in range(20):
        for line in generate(Choices(seed=seed), arch).text.splitlines():
            bare = line.strip()
            assert "}" not in bare or bare in ("}", "};") or "{" in bare
            if not bare.startswith(("for (", "__asm__", "#")):
                assert bare.count(";") <= 1


@needs_gcc
@pytest.mark.parametrize("seed", range(6))
def test_output_is_that_of_every_level(seed: int, tmp_path: Path) -> None:
    """The same checksum and status from no optimisation and much of it."""
    assert HOST is not None
    program = generate(Choices(seed=seed), HOST)
    compiler = PLUS if program.language == "c++" else GCC
    if compiler is None:
        pytest.skip("this seed draws C++, and there is no g++ here")
    source = tmp_path / ("p.cc" if program.language == "c++" else "p.c")
    source.write_text(program.text)
    plain = _output(compiler, source, "-O0")
    assert plain[1].strip("0123456789abcdef\n") == ""
    assert plain == _output(compiler, source, "-O2", "-fomit-frame-pointer", "-DUNWINDLAB_SP_CFA")


def _output(compiler: str, source: Path, *flags: str) -> tuple[int, str]:
    program = source.with_suffix("")
    subprocess.run([compiler, "-w", *flags, "-o", program, source], check=True, timeout=60)
    run = subprocess.run([program], capture_output=True, text=True, timeout=10)
    assert 0 <= run.returncode < 128
    return run.returncode, run.stdout


@needs_gcc
@pytest.mark.compiled
@pytest.mark.parametrize("seed", range(8))
def test_handwritten_functions_are_right(seed: int, tmp_path: Path) -> None:
    """No row of them is wrong, and all of them is reached."""
    # Imported late: elsewhere in this file nothing needs the compiled hook.
    from emu.sweep.result import SweepOptions
    from emu.sweep.sweep import Sweep

    assert HOST is not None
    source, target = tmp_path / "p.s", tmp_path / "p.o"
    source.write_text(generate_assembly(Choices(seed=seed), HOST).text)
    subprocess.run(["as", "--fatal-warnings", "-o", target, source], check=True, timeout=60)
    result = Sweep(str(target), SweepOptions(table="cfi", jobs=0)).run()
    assert result.findings == ()
    assert result.coverage.reached > result.coverage.instructions * 0.9
