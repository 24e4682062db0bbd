"""Functions written by hand: pieces of prologues and their undoing, whose CFI is right.

What a machine has of them is data (`arch/assembly.py`); here they are put together so that each
finds what it relies on. Each function returns its argument + a constant, on every path.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from arch import Arch
from arch.assembly import FrameStep, HandwrittenFacts
from emu.fuzz.generate.choices import Choices
from emu.fuzz.generate.notation import STYLES, respell

_DRAWS = 720
"""A draw among what is not as many on every machine."""
_MOST_STEPS = 7
_GAP_LIMIT = 4096
"""Immediate operands of 12 bits reach below it."""


@dataclass(frozen=True, slots=True)
class Handwritten:
    """A function that others may call."""

    name: str
    added: int
    stack: int
    features: frozenset[str]
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Done:
    """A step as it was entered."""

    step: FrameStep
    fields: dict[str, str | int]
    before: int
    on_stack: bool
    """Whether the CFA was on SP before."""


def _features(step: FrameStep) -> set[str]:
    flags = {
        "hand_base": bool(step.base),
        "hand_hold": step.holds,
        "hand_unknown_size": step.unknown,
        "hand_stored_cfa": step.alone,
        "hand_save": bool(step.takes or step.keeps) and not step.holds,
    }
    return {name for name, there in flags.items() if there}


@dataclass(slots=True)
class _Writer:
    """One function; `depth` is CFA - SP."""

    choices: Choices
    facts: HandwrittenFacts
    name: str
    depth: int
    entry: int
    saved_return: bool
    """The return address is where calls do not change it."""
    lines: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    """Lines for behind the last exit."""
    done: list[_Done] = field(default_factory=list)
    kept: dict[str, int] = field(default_factory=dict)
    """Registers whose old values are saved; DWARF numbers."""
    held: set[str] = field(default_factory=set)
    base: str = ""
    """Register that has the CFA, if SP has not; it is `distance` below."""
    distance: int = 0
    unknown: bool = False
    alone: bool = False
    features: set[str] = field(default_factory=set)
    labels: int = 0

    def label(self) -> str:
        """A name for a place in this function."""
        self.labels += 1
        return f".L{self.name}_{self.labels}"

    def write(self, template: Sequence[str], **fields: str | int) -> None:
        """Lines with these fields."""
        self.lines += [line.format(**fields) for line in template]

    def free(self) -> list[tuple[str, int]]:
        """Registers that nothing is in."""
        return [each for each in self.facts.scratch if each[0] not in self.held]

    def may_call(self) -> bool:
        """Whether a call leaves everything where it is."""
        return self.saved_return and not any(done.step.holds for done in self.done)

    def fits(self, step: FrameStep, size: int) -> bool:
        """Whether all is there that this step relies on."""
        pool = [name for name, _ in self.facts.saved if name not in self.kept]
        gap = self.depth - self.distance
        return not (
            (step.first and self.done)
            or (self.done and self.done[-1].step.last)
            or (step.at_entry and self.depth != self.entry)
            or (self.alone and not (step.frees_stack and not step.unknown))
            or (self.unknown and not step.frees_stack)
            or (step.return_address and self.saved_return)
            or any(name in self.kept for name in step.keeps)
            or len(pool) < step.takes
            or (step.holds and len(self.free()) < 2)
            or (step.base and self.base)
            or (step.base == "a" and not self.bases())
            or (step.unknown and (not self.base or self.unknown or not 0 <= gap < _GAP_LIMIT))
        )

    def bases(self) -> list[tuple[str, int]]:
        """Registers that could hold the CFA: their old values are saved."""
        return [each for each in self.facts.saved if each[0] in self.kept]

    def enter(self, step: FrameStep, draws: Sequence[int]) -> None:
        """Do this step, if it fits."""
        unit = self.facts.unit
        size = unit * (1 + draws[3] % (step.sized // unit)) if step.sized else 0
        if not self.fits(step, size):
            return
        keeper = self.facts.before_stack
        if keeper and (step.down or size or step.unknown):
            self.enter(keeper, [0] * 4)  # which does not fit if it is there
        fields: dict[str, str | int] = {"size": size, "before": self.depth}
        pool = [each for each in self.facts.saved if each[0] not in self.kept]
        if step.base == "a":
            pool = self.bases()
        for letter, draw in zip("ab", draws, strict=False):
            if pool:
                name, number = pool.pop(draw % len(pool))
                fields |= {letter: name, f"n{letter}": number}
                if step.takes > "ab".index(letter):
                    self.kept[name] = number
        numbers = dict(self.facts.saved)
        self.kept |= {name: numbers.get(name, -1) for name in step.keeps}
        if step.holds:
            name, number = self.free()[draws[2] % len(self.free())]
            fields |= {"h": name, "nh": number}
            self.held.add(name)
        on_stack = not self.base and not self.alone
        self.done.append(_Done(step, fields, self.depth, on_stack))
        gap = self.depth - self.distance
        self.depth += step.down + size
        fields |= {"cfa": self.depth, "slot": -self.depth, "base": self.base, "gap": gap}
        self._lines_of(step.enter, fields, self.depth, on_stack)
        if step.base:
            self.base = str(fields["a"]) if step.base == "a" else step.base
            self.distance = self.depth - (size if step.base_above else 0)
        self.unknown = self.unknown or step.unknown
        self.alone = self.alone or step.alone
        self.saved_return = self.saved_return or step.return_address
        self.features |= _features(step)

    def _lines_of(
        self, template: Sequence[str], fields: dict[str, str | int], depth: int, on_stack: bool
    ) -> None:
        for line in template:
            if line != "@":
                self.lines.append(line.format(**fields))
            elif on_stack:
                self.lines.append(f".cfi_def_cfa_offset {depth}")

    def leave(self) -> None:
        """Undo all steps, some at once, so that a return could follow; nothing is forgotten."""
        at_once = self.choices.chance(50)
        left = len(self.done)
        while left:
            first = next((n for n in range(left) if at_once and self._covers(n, left)), None)
            done = self.done[left - 1 if first is None else first]
            if first is not None:
                self._at_once(done, first, left)
            elif done.step.alone:
                self._lines_of(done.step.at_once, done.fields, done.before, False)
            else:
                self._lines_of(done.step.leave, done.fields, done.before, done.on_stack)
            left = left - 1 if first is None else first

    def _covers(self, first: int, left: int) -> bool:
        """Whether the step `first` can be undone at once with all behind it that are left."""
        step = self.done[first].step
        anywhere = any("{from}" in line for line in step.at_once)
        return bool(step.at_once) and all(
            done.step.frees_stack or (anywhere and done.step.base == "a")
            for done in self.done[first + 1 : left]
        )

    def _at_once(self, done: _Done, first: int, left: int) -> None:
        based = any(each.step.base for each in self.done[:left])
        depth = self.done[left].before if left < len(self.done) else self.depth
        fields = dict(done.fields)
        fields["from"] = self.base if based else self.facts.stack[0]
        fields["distance"] = self.distance if based else depth
        if left - first > 1:
            self.features.add("hand_at_once")
        self._lines_of(done.step.at_once, fields, done.before, done.on_stack)


def handwritten(
    choices: Choices, arch: Arch, name: str, earlier: Sequence[Handwritten]
) -> Handwritten | None:
    """Draw a function; None: nothing is known of how this machine's look."""
    facts = arch.assembly.handwritten
    if facts is None:
        return None
    depth = arch.entry_cfa_offset
    writer = _Writer(choices, facts, name, depth, depth, not arch.ra_in_register)
    added = choices.draw(90) + 1
    own_section = choices.chance(30)
    writer.write(facts.begin, n=added)
    for _ in range(_MOST_STEPS):
        if not choices.chance(78):
            break
        step = facts.steps[choices.draw(_DRAWS) % len(facts.steps)]
        writer.enter(step, [choices.draw(_DRAWS) for _ in range(4)])
        if choices.chance(12):
            _exit_early(writer)
    calls = choices.chance(60)
    _prepare_calls(writer, calls)
    while choices.chance(70):
        _piece(writer, calls, earlier)
    tail = choices.chance(20)
    other = _one_of(choices, earlier)
    if tail and other:
        writer.write(facts.add, n=-other.added)
    if writer.behind:
        writer.lines.append(".cfi_remember_state")
    writer.leave()
    if tail and other:
        writer.features.add("hand_tail_call")
        writer.write(facts.tail, to=other.name)
    else:
        writer.write(facts.back)
    if writer.behind:
        writer.lines += [".cfi_restore_state", *writer.behind]
    body = respell(writer.lines, choices.draw(STYLES), arch)
    section = f'.section .text.{name}, "ax", %progbits' if own_section else ".text"
    lines = (
        section, ".balign 8", f".globl {name}", f".type {name}, %function", f"{name}:",
        ".cfi_startproc", *body, ".cfi_endproc", f".size {name}, .-{name}",
    )  # fmt: skip
    deepest = max((each.stack for each in earlier), default=0)
    return Handwritten(name, added, writer.depth + 256 + deepest, frozenset(writer.features), lines)


def _prepare_calls(writer: _Writer, calls: bool) -> None:
    """Leave the space that whom is called may use, below everything else."""
    space = writer.facts.call_space
    if calls and writer.may_call() and space:
        # The first step only moves SP.
        writer.enter(writer.facts.steps[0], [0, 0, 0, space // writer.facts.unit - 1])


def _one_of(choices: Choices, earlier: Sequence[Handwritten]) -> Handwritten | None:
    number = choices.draw(8)
    return earlier[-number % len(earlier)] if earlier else None


def _exit_early(writer: _Writer) -> None:
    """A return on some results, behind what is done so far."""
    label = writer.label()
    writer.features.add("hand_early_exit")
    writer.write(writer.facts.skip, label=label)
    writer.lines.append(".cfi_remember_state")
    writer.leave()
    writer.write(writer.facts.back)
    writer.lines += [".cfi_restore_state", f"{label}:"]


def _piece(writer: _Writer, calls: bool, earlier: Sequence[Handwritten]) -> None:
    """Something that a body does."""
    choices, facts = writer.choices, writer.facts
    kind = choices.pick(
        "scratch", "change", "change", "repeat", "skip", "call", "call", "exit", "behind"
    )
    which, number = choices.draw(_DRAWS), choices.draw(120) + 1
    changing = [
        name
        for name, _ in writer.bases()
        if name != writer.base and not (writer.alone and name in writer.done[0].step.keeps)
    ]
    other = _one_of(choices, earlier)
    callable_here = other if calls and writer.may_call() else None
    scratch = writer.free()[which % len(writer.free())][0]
    if kind == "change" and changing:
        writer.write(facts.change, a=changing[which % len(changing)], n=number)
    elif kind == "repeat":
        writer.write(facts.repeat, h=scratch, label=writer.label())
    elif kind == "skip":
        label = writer.label()
        writer.write(facts.skip, label=label)
        writer.write(facts.scratch_change, h=scratch, n=number)
        writer.lines.append(f"{label}:")
    elif kind == "call" and callable_here:
        writer.features.add("hand_call")
        writer.write(facts.call, to=callable_here.name)
        writer.write(facts.add, n=-callable_here.added)
    elif kind == "exit":
        _exit_early(writer)
    elif kind == "behind":
        _go_behind(writer, callable_here)
    else:
        writer.write(facts.scratch_change, h=scratch, n=number)


def _go_behind(writer: _Writer, other: Handwritten | None) -> None:
    """A piece that stands behind the last exit, as compilers place what is seldom executed."""
    facts, away, back = writer.facts, writer.label(), writer.label()
    writer.features.add("hand_behind")
    writer.write(facts.skip, label=away)
    writer.lines.append(f"{back}:")
    writer.behind.append(f"{away}:")
    if other:
        behind = (*facts.call, *facts.add)
        writer.behind += [line.format(to=other.name, n=-other.added) for line in behind]
    writer.behind += [line.format(label=back) for line in facts.jump]
