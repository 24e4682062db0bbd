"""Statements that make paths: branches, loops, switches, jumps, and ways out of the middle."""

from emu.fuzz.generate.body import Body
from emu.fuzz.generate.calls import call


def branch(body: Body) -> None:
    """An if, with or without an else."""
    body.feature("branch")
    with body.block(f"if ({body.condition()})"):
        body.more(55)
    if body.choices.chance(40):
        with body.block("else"):
            body.more(55)
    body.spend(2)


def early_return(body: Body) -> None:
    """A way out before the end."""
    body.feature("several_returns")
    with body.block(f"if ({body.condition()})"):
        if body.choices.chance(25):
            body.more(50)
        body.give(body.value(1))
    body.spend(2)


def loop(body: Body) -> None:
    """A loop of at most 8 rounds."""
    body.feature("loop")
    index = body.fresh("i")
    most = body.choices.draw(3)
    limit = (1, 3, 7)[most]
    head = f"for (unsigned long {index} = 0; {index} <= ({body.variable()} & {limit}); {index}++)"
    with body.block(head, repeats=limit + 1):
        body.names.append(index)
        body.line(f"x += {index} ^ {body.variable()};")
        body.more(55)
        body.spend(3)


def dense_switch(body: Body) -> None:
    """A switch that becomes a jump table."""
    _switch(body, "dense_switch", f"{body.variable()} & 15", 1)


def sparse_switch(body: Body) -> None:
    """A switch that becomes a tree of comparisons."""
    _switch(body, "sparse_switch", f"{body.variable()} % 4099", 97)


def _switch(body: Body, name: str, value: str, step: int) -> None:
    body.feature(name)
    with body.block(f"switch ({value})"):
        number = 0
        while number < 14 and body.choices.chance(100 if number < 5 else 75):
            with body.block(f"case {number * step}:"):
                body.line(f"x = x * {2 * number + 3} + {body.variable()};")
                if body.choices.chance(25):
                    call(body)
                if body.choices.chance(10):
                    body.give(body.value(1))
                elif not body.choices.chance(15):
                    body.line("break;")
            number += 1
        with body.block("default:"):
            body.line("x ^= 5;")
    body.spend(20)


def computed_goto(body: Body) -> None:
    """A jump to one of several labels, whose addresses are in a table."""
    body.jumps = True
    body.feature("computed_goto")
    count = 2 + body.choices.draw(4)
    labels = [body.fresh("l") for _ in range(count)]
    done, table = body.fresh("l"), body.fresh("t")
    with body.block():
        addresses = ", ".join(f"&&{label}" for label in labels)
        body.line(f"static const void *const {table}[] = {{{addresses}}};")
        body.line(f"goto *{table}[{body.variable()} % {count}];")
        for i, label in enumerate(labels):
            body.line(f"{label}:")
            body.line(f"x = x * {2 * i + 3} + {body.constant()};")
            if body.choices.chance(40):
                call(body)
            if i + 1 < count and body.choices.chance(60):
                body.line(f"goto {done};")
        body.line(f"{done}:")
        body.line("x++;")
    body.spend(12)


def setjmp(body: Body) -> None:
    """A place that callees may jump back to; nothing changes between, so nothing is lost."""
    body.feature("setjmp")
    body.need("setjmp", "jump")
    body.own_stack += 600
    with body.block():
        here, before = body.fresh("h"), body.fresh("k")
        body.line(f"unsigned long {here}[64] __attribute__((aligned(16)));")
        body.line(f"unsigned long {before} = {body.value(1)};")
        with body.block(f"if (_setjmp({here}) == 0)"):
            body.line(f"jump({here}, {before});")
            body.line(f"x = {before} * 3;")
        with body.block("else"):
            body.line(f"x = {before} + 5;")
    body.spend(60)


def builtin_setjmp(body: Body) -> None:
    """The compiler's own: GCC's alone, since not every clang knows it on every machine."""
    # GCC 12 to 16 make an endless loop of this and a computed goto in one function.
    body.jumps = True
    body.feature("builtin_setjmp")
    body.need("jump_back")
    with body.block():
        here, before = body.fresh("h"), body.fresh("k")
        body.line(f"unsigned long {before} = {body.value(1)};")
        body.line("#ifdef __clang__")
        body.line(f"x = ({before} & 1) == 0 ? {before} + 5 : {before} * 3;")
        body.line("#else")
        body.line(f"void *{here}[8];")
        with body.block(f"if (__builtin_setjmp({here}) == 0)"):
            body.line(f"jump_back({here}, {before});")
            body.line(f"x = {before} * 3;")
        with body.block("else"):
            body.line(f"x = {before} + 5;")
        body.line("#endif")
    body.spend(20)


def nested_function(body: Body) -> None:
    """A function inside, that reaches this one's variables: GCC and C alone."""
    body.feature("nested_function")
    captured, constant = body.variable(), body.constant()
    by_pointer = body.choices.chance(50)
    body.feature("trampoline" if by_pointer else "static_chain")
    if by_pointer:
        body.need("apply")
    with body.block():
        inner, before = body.fresh("n"), body.fresh("k")
        body.line(f"unsigned long {before} = {captured};")
        body.line("#if defined(__clang__) || defined(__cplusplus)")
        body.line(f"x += (x ^ {constant}) + {before}{' + 1' if by_pointer else ''};")
        body.line(f"{before}++;")
        body.line("#else")
        body.line(f"__attribute__((noinline)) unsigned long {inner}(unsigned long v) {{")
        body.line(f"  unsigned long given = (v ^ {constant}) + {before};")
        body.line(f"  {before}++;")
        body.line("  return given;")
        body.line("}")
        body.line(f"x += {f'apply({inner}, x)' if by_pointer else f'{inner}(x)'};")
        body.line("#endif")
        body.line(f"x ^= {before};")
    body.spend(12)


def cleanup(body: Body) -> None:
    """A variable with a clean-up, which is a landing pad where there are exceptions."""
    body.feature("cleanup")
    body.need("clean")
    _held(body, "unsigned long {} __attribute__((cleanup(clean))) = {};", "x += {};")


def guard(body: Body) -> None:
    """The same with a destructor."""
    body.feature("destructor")
    body.need("guard")
    _held(body, "guard {}({});", "x += {}.held;")


def _held(body: Body, declaration: str, use: str) -> None:
    """A call while something is held, by a declaration of a name with a value."""
    with body.block(protected=True):
        name = body.fresh("g")
        body.line(declaration.format(name, body.value(1)))
        call(body)
        body.more(40)
        body.line(use.format(name))
    body.spend(6)


def throw(body: Body) -> None:
    """An exception, for some values, a few times in a run."""
    body.feature("throw")
    body.need("throws")
    with body.block(f"if (({body.condition()}) && throws > 0)"):
        body.line("throws--;")
        if body.choices.chance(50):
            body.line(f"throw failure{{{body.value(1)}}};")
        else:
            body.line(f"throw {body.variable()};")
    body.throws = body.throws or not body.caught
    body.spend(3)


def attempt(body: Body) -> None:
    """A try, with what it catches, some of which goes on."""
    body.feature("catch")
    body.need("throws")
    again = body.choices.chance(25)
    error = body.fresh("e")
    body.caught += not again
    with body.block("try", protected=True):
        throw(body) if body.choices.chance(50) else call(body)
        body.more(50)
    body.caught -= not again
    with body.block(f"catch (unsigned long {error})", protected=True):
        body.line(f"x += {error} * 3;")
        if body.choices.chance(30):
            call(body)
    with body.block("catch (...)", protected=True):
        body.line("x ^= 9;")
        if again:
            body.feature("rethrow")
            body.line("throw;")
    body.spend(4)
