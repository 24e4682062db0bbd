"""Folded stacks, a line each: ``outermost;...;innermost weight``. Flame graphs are made of them."""

from collections import Counter

from emu.export.profile import Profile


def folded_text(profile: Profile) -> str:
    """Equal stacks on one line, by name; empty stacks have none."""
    weights: Counter[str] = Counter()
    for stack, weight in profile.stacks:
        if stack:
            weights[";".join(map(_word, reversed(stack)))] += weight
    return "".join(f"{line} {weight}\n" for line, weight in sorted(weights.items()))


def _word(name: str) -> str:
    """A name that breaks no line and is no two frames; blanks may stay."""
    return " ".join(name.replace(";", ":").split()) or "?"
