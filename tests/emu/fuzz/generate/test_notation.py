"""CFI in other words, by hand: what each note says is computed from the lines before it."""

import pytest

from arch import by_name
from emu.fuzz.generate.notation import respell

LINES = (
    "push %rbp", ".cfi_def_cfa_offset 16", ".cfi_offset 6, -24+8", ".cfi_remember_state",
    "sub $32, %rsp", ".cfi_def_cfa_offset 48", "push %rbx", ".cfi_adjust_cfa_offset 8",
    ".cfi_offset 3, -56", "ret", ".cfi_restore_state", "pop %rbp", ".cfi_restore 6",
    ".cfi_restore 16", ".cfi_def_cfa_offset 8", "ret",
)  # fmt: skip


@pytest.mark.parametrize(
    ("style", "changed"),
    [
        (0, {}),
        (1, {1: ".cfi_adjust_cfa_offset 8", 5: ".cfi_adjust_cfa_offset 32",
             14: ".cfi_adjust_cfa_offset -8"}),
        (2, {2: ".cfi_rel_offset 6, 0", 8: ".cfi_rel_offset 3, 0"}),
        (4, {12: ".cfi_same_value 6"}),  # the return address has a rule from the start
    ],
)  # fmt: skip
def test_each_style(style: int, changed: dict[int, str]) -> None:
    arch = by_name("x86_64")
    assert arch is not None
    expected = [changed.get(at, line) for at, line in enumerate(LINES)]
    assert list(respell(LINES, style, arch)) == expected


def test_an_expression_leaves_the_offset_open() -> None:
    """The CFA is read from memory; what an adjustment would start from is not to be known."""
    arch = by_name("x86_64")
    assert arch is not None
    lines = (".cfi_escape 0x0f, 3, 0x76, 0x78, 6", ".cfi_offset 3, -24", ".cfi_def_cfa_offset 8")
    assert list(respell(lines, 3, arch)) == list(lines)
