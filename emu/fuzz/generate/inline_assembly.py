"""Statements of inline assembly and other things that only compilers know."""

from collections.abc import Sequence

from emu.fuzz.generate.body import Body
from emu.fuzz.generate.calls import call


def clobber(body: Body) -> None:
    """Assembly that says it changes some callee-saved registers."""
    facts = body.unit.facts
    names = _some(body, facts.clobbers, 10)
    if body.choices.chance(30):
        names += _some(body, facts.float_clobbers, 8)
    _write(body, "clobber", names)
    if body.choices.chance(30):
        call(body)


def clobber_frame(body: Body) -> None:
    """The same with those that may be needed for the frame, so only where they are not."""
    body.line("#ifdef UNWINDLAB_SP_CFA")
    _write(body, "clobber_frame", _some(body, body.unit.facts.frame_clobbers, 2))
    body.line("#endif")


def move_stack(body: Body) -> None:
    """Assembly that moves SP and says so, where the CFA is on SP."""
    size = 16 + 16 * body.choices.draw(240)
    moves = body.unit.facts.stack_moves
    if not moves:
        return
    body.feature("move_stack")
    text = body.unit.select(moves).replace("{size}", str(size)).replace("%", "%%")
    body.line("#ifdef UNWINDLAB_SP_CFA")
    body.line(f'__asm__ volatile("{text}" : : : "memory", "cc");')
    body.line("#endif")
    body.spend(3)


def return_address(body: Body) -> None:
    """Where this function returns to, which is never 0."""
    body.feature("return_address")
    body.line("x += __builtin_return_address(0) == (void *)0;")
    body.spend(2)


def frame_address(body: Body) -> None:
    """Where the frame is, which makes the compiler keep a frame pointer."""
    body.feature("frame_address")
    body.line("x += __builtin_frame_address(0) == (void *)0;")
    body.spend(2)


def thread_local(body: Body) -> None:
    """A variable of the thread, which may take a call to find."""
    body.feature("thread_local")
    body.need("thread")
    body.line(f"kept = kept * 3 + {body.variable()};")
    body.line("x ^= kept;")
    body.spend(4)


def _some(body: Body, names: Sequence[str], most: int) -> list[str]:
    """Some of them; the draws are as many on each machine."""
    drawn = [body.choices.draw(2) for _ in range(most)]
    return [name for name, one in zip(names, drawn, strict=False) if one]


def _write(body: Body, feature: str, names: Sequence[str]) -> None:
    if names:
        body.feature(feature)
        changed = ", ".join(f'"{name}"' for name in names)
        body.line(f'__asm__ volatile("" : : : {changed});')
    else:
        body.line('__asm__ volatile("");')
