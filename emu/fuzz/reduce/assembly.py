"""Assembly made smaller, line by line, as long as it holds."""

import re
from collections.abc import Callable, Sequence

from emu.fuzz.reduce.trials import Budget, Trials, keep_few

_IDLE = re.compile(r"\s*(?:$|#|//|/\*.*\*/\s*$|\.(?:file|ident|loc|addrsig(?:_sym)?)\b)")
"""Lines that no code comes from."""

_SECTION = re.compile(r"\s*\.(?:section|pushsection|popsection|previous|text|data|bss)\b")
_DEBUG = re.compile(r"\s*\.(?:push)?section\s+\.(?:debug|zdebug|note\.GNU-stack|comment)")
_SIZE = re.compile(r"\s*\.size\s+([^\s,]+),\s*\.")
_PREAMBLE = re.compile(r"\s*\.(?:globl|global|type|p2align|align|weak|hidden|local)\b")

_PAIRS = (
    ("cfi_startproc", "cfi_endproc"),
    ("cfi_remember_state", "cfi_restore_state"),
    ("pushsection", "popsection"),
)
"""Directives of which neither may stay alone."""


def shrink_assembly(
    text: str, fixed: Callable[[str], bool], holds: Callable[[str], bool], budget: Budget
) -> str:
    """The shortest text found that still holds; the given one is taken to hold.

    Args:
        text: GNU assembly of any machine.
        fixed: whether a line must stay.
        holds: asked once for each candidate, which need not assemble.
        budget: what was found is returned when it is spent.
    """
    ask = Trials(holds, budget)
    lines = text.splitlines(keepends=True)
    while not budget.spent():
        before = lines
        for groups in (_idle, _functions, _singles, _paired):
            lines = _without(lines, groups(lines), fixed, ask)
        if lines == before:
            break
    return "".join(lines)


def _without(
    lines: list[str],
    groups: Sequence[Sequence[int]],
    fixed: Callable[[str], bool],
    ask: Trials[str],
) -> list[str]:
    """The lines without as many groups of them as can go."""
    groups = [group for group in groups if not any(fixed(lines[at]) for at in group)]

    def left(kept: Sequence[int]) -> list[str]:
        stays = set(kept)
        gone = {at for number, group in enumerate(groups) if number not in stays for at in group}
        return [line for at, line in enumerate(lines) if at not in gone]

    kept = keep_few(len(groups), lambda kept: ask("".join(left(kept))), ask.budget)
    return left(kept)


def _idle(lines: Sequence[str]) -> list[list[int]]:
    """Lines and sections that no code comes from."""
    groups: list[list[int]] = []
    in_debug = False
    for at, line in enumerate(lines):
        if _SECTION.match(line):
            in_debug = _DEBUG.match(line) is not None
            if in_debug:
                groups.append([])
        if in_debug:
            groups[-1].append(at)
        elif _IDLE.match(line):
            groups.append([at])
    return groups


def _functions(lines: Sequence[str]) -> list[range]:
    """From the directives before the label of each function to its size."""
    groups: list[range] = []
    for at, line in enumerate(lines):
        if size := _SIZE.match(line):
            label = next((n for n in range(at) if lines[n].startswith(size[1] + ":")), at)
            while label and _PREAMBLE.match(lines[label - 1]):
                label -= 1
            # The cold part of a function starts within the function and ends behind it.
            while groups and groups[-1].stop > label:
                label = min(label, groups.pop().start)
            groups.append(range(label, at + 1))
    return groups


def _singles(lines: Sequence[str]) -> list[list[int]]:
    return [[at] for at in range(len(lines))]


def _paired(lines: Sequence[str]) -> list[list[int]]:
    """Two lines each, of which the second belongs to the first."""
    groups = []
    for first, second in _PAIRS:
        opened: list[int] = []
        for at, line in enumerate(lines):
            if first in line:
                opened.append(at)
            elif second in line and opened:
                groups.append([opened.pop(), at])
    return groups
