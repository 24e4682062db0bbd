"""Statements that give frames their size and shape."""

from emu.fuzz.generate.body import Body
from emu.fuzz.generate.calls import call

EDGES = (8, 16, 24, 48, 112, 256, 504, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 200000)
"""About these sizes (pages, what immediate operands can hold) prologues change."""
_SLACK = (0, -8, 8, -16, 16, -32, 32, -48, -160, -176, 1, -1, 64)


def big_frame(body: Body) -> None:
    """An array of any size, alive across some statement."""
    edge = body.unit.select((*EDGES, *body.unit.facts.frame_edges))
    size = max(8, edge + body.unit.select(_SLACK))
    if size >= 4000 and body.moves_stack:
        size %= 2000
        size += 8
    if not body.reserve(size):
        size = 8
    body.feature("big_frame" if size >= 4096 else "frame")
    _array(body, f"unsigned char {{}}[{size}];", f"{size - 1}")


def variable_array(body: Body) -> None:
    """An array whose length is known when it is run."""
    size = 1 << body.choices.draw(13)
    if not body.reserve(size * 2 * body.repeats):
        size = 1
    body.feature("vla")
    length = f"({body.variable()} & {size - 1}) + {size}"
    _array(body, f"unsigned char {{}}[{length}];", f"{size - 1}", protected=True)


def alloca(body: Body) -> None:
    """A piece of stack that lives until the function returns."""
    size = 16 << body.choices.draw(12)
    if not body.reserve(size * 2 * body.repeats):
        size = 16
    body.feature("alloca")
    length = f"({body.variable()} & {size - 1}) + {size}"
    declared = f"unsigned char *{{}} = (unsigned char *)__builtin_alloca({length});"
    _array(body, declared, f"{size - 1}")


def aligned(body: Body) -> None:
    """An array with more alignment than the stack has, which is checked."""
    alignment = int(body.choices.pick("32", "64", "128", "16", "256"))
    length = 4 + body.choices.draw(29)
    body.reserve(8 * length + alignment)
    body.feature("over_aligned")
    with body.block():
        name, address = body.fresh("q"), body.fresh("p")
        body.line(f"unsigned long {name}[{length}] __attribute__((aligned({alignment})));")
        body.line(f"unsigned long {address} = (unsigned long){name};")
        body.need("barrier")
        body.line(f"HIDE({address});")
        body.line(f"{name}[{length - 1}] = {body.value(1)};")
        body.line(f"USE({name});")
        call(body)
        body.line(f"x += {name}[{length - 1}] + {address} % {alignment};")
    body.spend(6)


def _array(body: Body, declaration: str, last: str, protected: bool = False) -> None:
    body.need("barrier")
    with body.block(protected=protected):
        name = body.fresh("m")
        body.line(declaration.format(name))
        body.line(f"{name}[0] = (unsigned char){body.value(1)};")
        body.line(f"{name}[{last}] = (unsigned char){body.variable()};")
        body.line(f"USE({name});")
        if body.choices.chance(60):
            call(body)
        # The first and the last byte are one where the array has only one.
        body.line(f"x += {name}[0] * 3UL + {name}[{last}];")
    body.spend(8)


def copies(body: Body) -> None:
    """Whole structures, copied."""
    words = 1 << body.choices.draw(8)
    if not body.reserve(16 * words):
        words = 1
    body.unit.declare_words(words)
    body.need("barrier")
    body.feature("large_copy")
    with body.block():
        one, other = body.fresh("s"), body.fresh("s")
        body.line(f"struct words{words} {one};")
        body.line(f"struct words{words} {other};")
        body.line(f"__builtin_memset(&{one}, 0, sizeof {one});")
        body.line(f"{one}.v[{words - 1}] = {body.value(1)};")
        body.line(f"USE(&{one});")
        body.line(f"{other} = {one};")
        body.line(f"USE(&{other});")
        body.line(f"x ^= {other}.v[{words - 1}] + {other}.v[0];")
    body.spend(8 + words // 4)


def live_integers(body: Body) -> None:
    """Many values that live across a call, in the registers that it must keep."""
    count = 2 + body.choices.draw(16)
    body.feature("live_across_call")
    body.need("seed")
    body.own_stack += 8 * count
    with body.block():
        names = []
        for i in range(count):
            names.append(body.fresh("v"))
            body.line(f"unsigned long {names[-1]} = seed * {2 * i + 3} + {body.variable()};")
        body.names += names
        call(body)
        if body.choices.chance(40):
            call(body)
        body.line("x ^= " + " + ".join(f"{name} * {i + 2}" for i, name in enumerate(names)) + ";")
    body.spend(3 * count)


def live_doubles(body: Body) -> None:
    """Many floating-point values that live across a call; all of them are small whole numbers."""
    count = 2 + body.choices.draw(12)
    body.feature("doubles_across_call")
    body.need("tenths")
    body.own_stack += 8 * count
    with body.block():
        names = []
        for i in range(count):
            names.append(body.fresh("d"))
            value = f"(double)(long)({body.variable()} & {0x3F + i})"
            body.line(f"double {names[-1]} = {value} + half * {2 * i + 2};")
        call(body)
        total = " + ".join(f"{name} * {i + 2}" for i, name in enumerate(names))
        body.line(f"x += (unsigned long)(long)({total});")
    body.spend(4 * count)


def vectors(body: Body) -> None:
    """A vector that lives across a call."""
    body.feature("vector")
    body.need("vector", "barrier")
    body.own_stack += 128
    with body.block():
        name = body.fresh("w")
        body.line(f"vector {name} = {{{body.variable()}, {body.variable()}, 3UL, 4UL}};")
        body.line(f"{name} = {name} * 3UL + {body.constant()};")
        call(body)
        body.line(f"x ^= {name}[0] + {name}[3] * {name}[1];")
    body.spend(8)


def volatile_local(body: Body) -> None:
    """A variable that must be in memory."""
    body.feature("volatile_local")
    with body.block():
        name = body.fresh("n")
        body.line(f"volatile unsigned long {name} = {body.value(1)};")
        body.line(f"{name} = {name} + {body.constant()};")
        body.line(f"x ^= {name};")
    body.spend(3)
