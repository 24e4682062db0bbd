"""The steps of a scenario: one line each, and what happens inside a step indented below it.

    cpu0 syscall
    cpu0 sample cycles at cookie
      cpu0 nmi
      cpu0 sample trace
      cpu0 return
    cpu0 return
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from emu.deferred.design import Point
from emu.errors import UsageError

VERBS = {
    "run": "TASK",
    "syscall": "",
    "interrupt": "",
    "nmi": "",
    "return": "",
    "sample": "WHO",
    "user": "FRAME...",
    "fork": "TASK",
    "exec": "FRAME...",
    "exit": "",
    "cancel": "TRACER",
    "register": "TRACER",
    "counter": "NUMBER",
    "no-memory": "",
    "no-queue": "",
    "fill": "RING",
    "read": "",
}
"""What may happen on a CPU, and what it wants to know."""
ANYWHERE = ("no-memory", "no-queue", "fill", "read")
"""Those that no CPU has a part in."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Args:
        verb: one of `VERBS`.
        cpu: number of the CPU; -1 for those of `ANYWHERE`.
        words: the arguments.
        point: where `inside` happens, or nothing.
        inside: steps that happen at that point of this one.
    """

    verb: str
    cpu: int = -1
    words: tuple[str, ...] = ()
    point: Point | None = None
    inside: tuple["Step", ...] = ()


def read_steps(text: str) -> tuple[Step, ...]:
    """The steps of a text.

    Raises:
        UsageError: a line is none; names the line.
    """
    lines = [
        (number, len(line) - len(line.lstrip()), bare)
        for number, line in enumerate(text.expandtabs().splitlines(), 1)
        if (bare := line.split("#")[0].strip())
    ]
    steps, rest = _block(lines, lines[0][1] if lines else 0)
    if rest:
        raise UsageError(f"line {rest[0][0]}: indented less than the first step")
    return tuple(steps)


_Line = tuple[int, int, str]


def _block(lines: list[_Line], indent: int) -> tuple[list[Step], list[_Line]]:
    """The steps of one indentation, and the lines after them."""
    steps: list[Step] = []
    while lines and lines[0][1] >= indent:
        (number, here, text), lines = lines[0], lines[1:]
        if here > indent:
            raise UsageError(f"line {number}: indented, but the step above has no 'at POINT'")
        step = _step(number, text)
        if step.point is not None:
            if not lines or lines[0][1] <= indent:
                raise UsageError(f"line {number}: nothing is indented below it")
            inside, lines = _block(lines, lines[0][1])
            step = Step(step.verb, step.cpu, step.words, step.point, tuple(inside))
        steps.append(step)
    return steps, lines


def _step(number: int, text: str) -> Step:
    words = text.split()
    cpu = -1
    if words[0].startswith("cpu") and words[0][3:].isdigit():
        cpu = int(words.pop(0)[3:])
    if not words or words[0] not in VERBS:
        raise UsageError(f"line {number}: no step: {text!r} (known: {', '.join(VERBS)})")
    verb = words.pop(0)
    if (cpu < 0) != (verb in ANYWHERE):
        raise UsageError(f"line {number}: {verb} {'needs' if cpu < 0 else 'has no'} cpuN before it")
    point = None
    if len(words) >= 2 and words[-2] == "at":
        if words[-1] not in tuple(Point):
            raise UsageError(f"line {number}: no point {words[-1]!r} (known: {', '.join(Point)})")
        point, words = Point(words[-1]), words[:-2]
    wanted = VERBS[verb]
    if (not words) != (not wanted) or (len(words) > 1 and not wanted.endswith("...")):
        raise UsageError(f"line {number}: {verb} takes {wanted or 'nothing more'}")
    return Step(verb, cpu, tuple(words), point)


def step_lines(steps: Iterable[Step], indent: int = 0) -> Iterator[str]:
    """The steps as lines that `read_steps` reads."""
    for step in steps:
        words = ([f"cpu{step.cpu}"] if step.cpu >= 0 else []) + [step.verb, *step.words]
        if step.point is not None:
            words += ["at", step.point]
        yield "  " * indent + " ".join(words)
        yield from step_lines(step.inside, indent + 1)
