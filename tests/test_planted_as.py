"""testprogs/planted_as.py, by samples of compilers' output in tests/data/fuzz."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from emu.sweep.result import SweepOptions, SweepResult
from emu.sweep.sweep import Sweep

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "testprogs" / "planted_as.py"


def load() -> ModuleType:
    """The script, which is in no package."""
    spec = importlib.util.spec_from_file_location("planted_as", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


planted_as = load()

# The sweep takes it that every function has a caller, so the outermost one has its own sample.
OUTERMOST = """\
	.text
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	pushq	%rdi
	.cfi_def_cfa_offset 16
	popq	%rdi
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	_start, .-_start
"""

SAMPLES = {
    path.stem.removeprefix("planted-"): path.read_text()
    for path in sorted((ROOT / "tests" / "data" / "fuzz").glob("*.s"))
} | {"outermost": OUTERMOST}

COUNTS: dict[str, tuple[int, ...]] = {
    "def-cfa-offset-drop": (40, 19, 15),
    "def-cfa-offset-delay": (40, 19, 15),
    "def-cfa-offset-plus-8": (40, 19, 15),
    "def-cfa-offset-minus-8": (40, 19, 15),
    "def-cfa-offset-negate": (40, 10, 15),
    "def-cfa-offset-double": (40, 10, 15),
    "adjust-cfa-offset-drop": (6, 4, 4),
    "adjust-cfa-offset-delay": (6, 4, 4),
    "adjust-cfa-offset-negate": (6, 4, 4),
    "adjust-cfa-offset-double": (6, 4, 4),
    "def-cfa-register-drop": (6, 0, 2),
    "def-cfa-register-delay": (6, 0, 2),
    "def-cfa-register-other": (6, 2, 6),
    "def-cfa-drop": (10, 2, 6),
    "def-cfa-delay": (10, 2, 6),
    "def-cfa-plus-8": (12, 2, 6),
    "def-cfa-other": (12, 2, 6),
    "fp-offset-drop": (8, 10, 9),
    "fp-offset-delay": (8, 10, 9),
    "fp-offset-plus-8": (9, 10, 10),
    "fp-offset-other": (8, 10, 9),
    "ra-offset-drop": (0, 10, 10),
    "ra-offset-delay": (0, 10, 10),
    "ra-offset-plus-8": (0, 10, 10),
    "ra-offset-other": (0, 10, 10),
    "sp-offset-drop": (0, 0, 10),
    "sp-offset-plus-8": (0, 0, 10),
    "saved-offset-drop": (20, 22, 20),
    "saved-offset-plus-8": (22, 22, 54),
    "saved-offset-negate": (22, 22, 54),
    "saved-offset-other": (20, 22, 20),
    "rel-offset-drop": (2, 2, 2),
    "rel-offset-plus-8": (2, 2, 2),
    "register-drop": (2, 2, 2),
    "register-other": (2, 2, 2),
    "restore-early": (4, 24, 44),
    "same-value-early": (2, 2, 2),
    "remember-state-drop": (4, 4, 4),
    "remember-state-delay": (4, 4, 4),
    "restore-state-drop": (4, 4, 4),
    "restore-state-delay": (4, 4, 4),
    "negate-ra-state-drop": (0, 21, 0),
    "negate-ra-state-delay": (0, 21, 0),
    "escape-drop": (4, 0, 0),
    "escape-plus-8": (4, 0, 0),
    "return-column-other": (2, 2, 2),
    "startproc-late": (11, 8, 8),
    "endproc-early": (21, 16, 16),
    "undefined-drop": (1, 0, 0),
    "signal-frame-drop": (2, 2, 2),
    "lsda-drop": (6, 4, 4),
    "lsda-other": (6, 4, 4),
}
"""Damaged notes of each kind: x86-64, aarch64, s390x, each of both samples."""

GAPS = {
    "startproc-late": "the first instruction has no row",
    "endproc-early": "the last instruction has no row",
    "return-column-other": "no unwinder of SP, FP and RA can follow",
}
"""Kinds whose fault takes rows away instead of making them wrong."""

UNSEEN = {
    "undefined-drop": "the sweep takes it that there is a caller: the right note is a finding",
    "signal-frame-drop": "it changes how the caller is looked up, and a sweep looks up no caller",
    "lsda-drop": "rows stay right; the landing pads are not reached any more",
    "lsda-other": "rows stay right; other landing pads are reached",
}
"""Kinds that the sweep cannot see on x86-64, with the reason."""

needs_as = pytest.mark.skipif(
    shutil.which("x86_64-linux-gnu-as") is None, reason="GNU as for x86-64 is not installed"
)


def samples_of(machine: str, kind: str) -> list[str]:
    """The texts of one machine."""
    if kind == "undefined-drop":
        return [OUTERMOST] if machine == "x86_64" else []
    return [text for name, text in SAMPLES.items() if name.startswith(machine)]


def without_notes(text: str) -> list[str]:
    """All other lines."""
    return [line for line in text.splitlines() if not re.match(r"\s*\.cfi_", line)]


def swept(text: str, folder: Path) -> SweepResult:
    """What a sweep of the assembled text finds."""
    (folder / "a.s").write_text(text)
    subprocess.run(["x86_64-linux-gnu-as", "-o", "a.o", "a.s"], cwd=folder, check=True)
    return Sweep(str(folder / "a.o"), SweepOptions(table="cfi", jobs=0)).run()


def damaged_counts(kind: str) -> tuple[int, ...]:
    """How many notes of each machine's samples are damaged."""
    return tuple(
        sum(planted_as.damage(text, kind, 1, 0)[1] for text in samples_of(machine, kind))
        for machine in ("x86_64", "aarch64", "s390x")
    )


def test_kinds_are_listed() -> None:
    """Every kind has a line with a sentence."""
    run = subprocess.run(
        [sys.executable, SCRIPT, "--list"], capture_output=True, text=True, check=True
    )
    assert run.stdout.splitlines() == [f"{k}: {what}" for k, what in planted_as.KINDS.items()]


def test_counts_are_of_every_kind() -> None:
    """No kind is forgotten below."""
    assert COUNTS.keys() == planted_as.KINDS.keys()


@pytest.mark.parametrize("kind", planted_as.KINDS)
def test_number_of_damaged_notes(kind: str) -> None:
    """As many as fit in the samples; every kind fits somewhere."""
    assert damaged_counts(kind) == COUNTS[kind]
    assert any(COUNTS[kind])


EVERY_NOTE = (
    "def-cfa-offset-drop", "def-cfa-offset-delay", "def-cfa-offset-plus-8",
    "def-cfa-offset-minus-8", "adjust-cfa-offset-drop", "adjust-cfa-offset-delay",
    "adjust-cfa-offset-negate", "adjust-cfa-offset-double", "def-cfa-register-other",
    "def-cfa-plus-8", "def-cfa-other", "rel-offset-drop", "rel-offset-plus-8", "register-drop",
    "register-other", "same-value-early", "remember-state-drop", "remember-state-delay",
    "restore-state-drop", "restore-state-delay", "negate-ra-state-drop", "negate-ra-state-delay",
    "escape-drop", "escape-plus-8", "return-column-other", "endproc-early", "undefined-drop",
    "signal-frame-drop", "lsda-drop", "lsda-other",
)  # fmt: skip
"""Kinds that fit each note of their name in the samples; the others have conditions."""


@pytest.mark.parametrize("kind", planted_as.KINDS)
def test_counts_are_those_of_the_notes(kind: str) -> None:
    """As the samples' own text has them, counted without the script."""
    note = re.sub(r"^(fp|ra|sp|saved)-", "", kind)
    note = re.sub(r"-(drop|delay|plus-8|minus-8|negate|double|other|early|late)$", "", note)
    pattern = re.compile(rf"^\s*\.cfi_{note.replace('-', '_')}\b", re.MULTILINE)
    there = tuple(
        sum(len(pattern.findall(text)) for text in samples_of(machine, kind))
        for machine in ("x86_64", "aarch64", "s390x")
    )
    if kind in EVERY_NOTE:
        assert COUNTS[kind] == there
    else:
        assert all(one <= most for one, most in zip(COUNTS[kind], there, strict=True))
        assert COUNTS[kind] != there


@pytest.mark.parametrize("kind", planted_as.KINDS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_only_notes_are_changed(sample: str, kind: str) -> None:
    """The text differs in its CFI lines if any note is damaged, and in nothing else."""
    text = SAMPLES[sample]
    damaged, count = planted_as.damage(text, kind, 1, 0)
    assert without_notes(damaged) == without_notes(text)
    assert (damaged != text) == (count > 0)


def test_fault_stays_when_other_lines_go() -> None:
    """What is damaged does not depend on lines of other functions, and not on far ones."""
    text = SAMPLES["x86_64"]
    one_function = "\t.text\n" + text[text.index("saved:") : text.index("\t.size\tsaved")]
    for seed in range(20):
        whole, _ = planted_as.damage(text, "saved-offset-drop", 3, seed)
        part, _ = planted_as.damage(one_function, "saved-offset-drop", 3, seed)
        start = whole.index("saved:")
        assert whole[start : whole.index("\t.size\tsaved")] == part[len("\t.text\n") :]


def test_fault_does_not_see_blanks() -> None:
    """Other white space makes no other choice."""
    text = SAMPLES["aarch64"]
    spaced = text.replace("\t", "    ").replace(", ", ",   ")
    for seed in range(5):
        count = planted_as.damage(text, "saved-offset-plus-8", 4, seed)[1]
        assert planted_as.damage(spaced, "saved-offset-plus-8", 4, seed)[1] == count


def test_seed_and_rate_choose() -> None:
    """About one of N notes is damaged, others with another seed."""
    text = SAMPLES["s390x"]
    counts = [planted_as.damage(text, "saved-offset-plus-8", 4, seed)[1] for seed in range(50)]
    all_notes = planted_as.damage(text, "saved-offset-plus-8", 1, 0)[1]
    assert len(set(counts)) > 3
    assert 0.7 * all_notes / 4 < sum(counts) / 50 < 1.3 * all_notes / 4


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("def-cfa-offset-delay", "push %rbx\n.cfi_def_cfa_offset 16\nnop\nnop\n",
         "push %rbx\nnop\n.cfi_def_cfa_offset 16\nnop\n"),
        ("saved-offset-plus-8", "push %rbx\n.cfi_offset %rbx, -16\nnop\n",
         "push %rbx\n\t.cfi_offset %rbx, -8\nnop\n"),
        ("saved-offset-drop", "push %rbx\n.cfi_offset 3, -16\nnop\nmov $1, %ebx\nnop\n",
         "push %rbx\nnop\nmov $1, %ebx\nnop\n"),
        ("saved-offset-drop", "push %rbx\n.cfi_offset 3, -16\ncmp $1, %ebx\nnop\n", ""),
        ("fp-offset-delay", "push %rbp\n.cfi_offset 6, -16\nmov %rsp, %rbp\nnop\nnop\n",
         "push %rbp\nmov %rsp, %rbp\nnop\n.cfi_offset 6, -16\nnop\n"),
        ("restore-early", "mov $1, %ebx\nnop\npop %rbx\n.cfi_restore 3\nret\n",
         "mov $1, %ebx\nnop\n.cfi_restore 3\npop %rbx\nret\n"),
        ("restore-early", "mov $1, %ebx\npop %rbx\npop %rbp\n.cfi_restore 3\nret\n", ""),
        ("remember-state-drop",
         ".cfi_remember_state\n.cfi_def_cfa 7, 8\nret\n.cfi_restore_state\nnop\n",
         ".cfi_def_cfa 7, 8\nret\nnop\n"),
        ("escape-plus-8", "nop\n.cfi_escape 0xf,0x3,0x76,0x78,0x6 # CFA\nnop\n",
         "nop\n\t.cfi_escape 0xf, 0x3, 0x76, 0x0, 0x6\nnop\n"),
        ("saved-offset-plus-8", "push %rbx\n.cfi_offset 3, -24+8\nnop\n",
         "push %rbx\n\t.cfi_offset 3, -8\nnop\n"),
        ("saved-offset-plus-8", "push %rbx\n.cfi_offset 3, SLOT\nnop\n", ""),
        ("def-cfa-offset-double", "push %rbx\n.cfi_def_cfa_offset WORD+8\nnop\n", ""),
        ("def-cfa-other", "leave # .cfi\n.cfi_def_cfa %rsp, 8\nret\n",
         "leave # .cfi\n\t.cfi_def_cfa 3, 8\nret\n"),
        ("endproc-early", "push %rax\npop %rax\nret\n",
         "push %rax\npop %rax\n.cfi_endproc\nret\n"),
    ],
)  # fmt: skip
def test_damage_by_text(kind: str, before: str, after: str) -> None:
    """Literal texts; nothing behind the arrow: the kind does not fit, for nothing would change."""
    text = f"f:\n.cfi_startproc\n{before}.cfi_endproc\n"
    end = "" if kind == "endproc-early" else ".cfi_endproc\n"
    expected = f"f:\n.cfi_startproc\n{after}{end}" if after else text
    assert planted_as.damage(text, kind, 1, 0)[0] == expected


@needs_as
@pytest.mark.compiled
@pytest.mark.parametrize("sample", ["x86_64", "x86_64-fp"])
def test_samples_are_right(sample: str, tmp_path: Path) -> None:
    """Undamaged, they have no finding and no gap."""
    result = swept(SAMPLES[sample], tmp_path)
    assert result.findings == ()
    assert result.gaps == ()


@needs_as
@pytest.mark.compiled
@pytest.mark.parametrize("kind", [kind for kind in planted_as.KINDS if COUNTS[kind][0]])
def test_sweep_sees_it(kind: str, tmp_path: Path) -> None:
    """With all notes of a kind damaged the text assembles, and the sweep finds what is wrong."""
    results: list[SweepResult] = []
    for text in samples_of("x86_64", kind):
        damaged, count = planted_as.damage(text, kind, 1, 0)
        if count:
            results.append(swept(damaged, tmp_path))
    assert results
    assert all(bool(result.findings) == (kind not in UNSEEN | GAPS) for result in results)
    assert all(bool(result.gaps) >= (kind in GAPS) for result in results)


@needs_as
def test_in_place_of_as(tmp_path: Path) -> None:
    """The command assembles a file or stdin, damaged, and gives back what the assembler says."""
    source, plain, object_ = tmp_path / "a.s", tmp_path / "plain.o", tmp_path / "a.o"
    source.write_text(SAMPLES["x86_64"])
    assembler = ["x86_64-linux-gnu-as", "-o", str(object_)]
    wrapper = [sys.executable, str(SCRIPT), "saved-offset-drop", "--one-in", "1", "--"]
    subprocess.run(["x86_64-linux-gnu-as", "-o", plain, source], check=True)
    subprocess.run([*wrapper, *assembler, str(source)], check=True)
    from_file = object_.read_bytes()
    assert from_file != plain.read_bytes()
    assert source.read_text() == SAMPLES["x86_64"]
    with source.open() as file:
        subprocess.run([*wrapper, *assembler], stdin=file, check=True)
    assert object_.read_bytes() == from_file
    source.write_text("\tnonsense\n")
    run = subprocess.run([*wrapper, *assembler, str(source)], capture_output=True, text=True)
    assert run.returncode == 1
    assert "nonsense" in run.stderr


@pytest.mark.parametrize("arguments", [[], ["no-kind", "--", "as"], ["lsda-drop"],
                                       ["lsda-drop", "--one-in", "0", "--", "as"]])  # fmt: skip
def test_wrong_usage(arguments: list[str]) -> None:
    """Anything else ends with status 2 and one line."""
    run = subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True)
    assert run.returncode == 2
    assert run.stderr.startswith("usage: ")
