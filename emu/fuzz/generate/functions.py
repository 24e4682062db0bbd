"""Whole functions: their signatures, attributes and manners, and what is drawn for their bodies."""

from emu.fuzz.generate import flow, frames, inline_assembly
from emu.fuzz.generate.body import Body, Statement
from emu.fuzz.generate.calls import call, cold_call, pointer_call, recursion, tail
from emu.fuzz.generate.leaves import leaf
from emu.fuzz.generate.unit import RECURSION, Function, Shape, Unit

KINDS = tuple(
    kind
    for weight, kind in (
        (5, Statement(call)),
        (2, Statement(pointer_call)),
        (2, Statement(recursion)),
        (1, Statement(cold_call)),
        (3, Statement(frames.big_frame)),
        (2, Statement(frames.variable_array, sized_at_run=True)),
        (2, Statement(frames.alloca, sized_at_run=True)),
        (2, Statement(frames.aligned, sized_at_run=True)),
        (1, Statement(frames.copies)),
        (3, Statement(frames.live_integers)),
        (2, Statement(frames.live_doubles)),
        (1, Statement(frames.vectors, sized_at_run=True)),
        (1, Statement(frames.volatile_local, calls=False)),
        (3, Statement(flow.branch, calls=False, opens=True)),
        (3, Statement(flow.early_return, calls=False, opens=True)),
        (3, Statement(flow.loop, calls=False, opens=True)),
        (2, Statement(flow.dense_switch)),
        (1, Statement(flow.sparse_switch)),
        (1, Statement(flow.computed_goto, labels=True)),
        (1, Statement(flow.setjmp, sized_at_run=True)),
        (1, Statement(flow.builtin_setjmp, sized_at_run=True, labels=True)),
        (2, Statement(flow.nested_function, sized_at_run=True)),
        (2, Statement(flow.cleanup, opens=True)),
        (4, Statement(flow.guard, opens=True, language="c++")),
        (4, Statement(flow.throw, language="c++")),
        (4, Statement(flow.attempt, opens=True, language="c++")),
        (3, Statement(inline_assembly.clobber, calls=False)),
        (3, Statement(inline_assembly.clobber_frame, calls=False, fixed_frame=True)),
        (3, Statement(inline_assembly.move_stack, fixed_frame=True)),
        (1, Statement(inline_assembly.return_address, calls=False)),
        (1, Statement(inline_assembly.frame_address, calls=False, sized_at_run=True)),
        (1, Statement(inline_assembly.thread_local)),
    )
    for _ in range(weight)
)

_SHAPES = (
    *(Shape.PLAIN,) * 5, Shape.MANY, Shape.MANY, Shape.STRUCT, Shape.VARIADIC,
    Shape.DOUBLES, Shape.POINTER,
)  # fmt: skip


def function(unit: Unit) -> list[str]:
    """Draw one function, add it to the program, and return its lines."""
    manner = unit.choices.pick(*("general",) * 3, *("leaf",) * 3, "moves_stack")
    shape = unit.select(_SHAPES)
    drawn = unit.choices.draw(12)
    body = Body(unit, f"f{len(unit.functions)}", shape, 0, KINDS)
    head = _signature(body, drawn)
    attributes = _attributes(body, manner)
    if shape is Shape.VARIADIC:
        _read_arguments(body)
    if manner == "leaf":
        leaf(body)
    else:
        body.moves_stack = manner == "moves_stack"
        _general(body)
    return _finish(body, f"{attributes} {head} {{".lstrip(), "noinline" not in attributes)


def _signature(body: Body, drawn: int) -> str:
    """The head, and the first lines, which give `x` and other names their values."""
    name = body.name
    body.arguments = 2
    if body.shape is Shape.MANY:
        body.arguments = 4 + drawn
        names = [f"a{i}" for i in range(body.arguments)]
        taken = ", ".join(f"unsigned long {each}" for each in names)
        body.line("unsigned long x = a0;")
        body.names += names
    elif body.shape is Shape.STRUCT:
        body.arguments = words = (1, 2, 3, 4, 5, 8, 16, 33, 64, 100, 300, 1000)[drawn]
        body.unit.declare_words(words)
        body.line("unsigned long x = s.v[0];")
        body.line(f"unsigned long a = s.v[{words - 1}];")
        body.names += ["a", "b"]
        body.own_stack += 16 * words
        return f"struct words{words} {name}(struct words{words} s, unsigned long b)"
    elif body.shape is Shape.VARIADIC:
        taken = "unsigned long a, ..."
        body.line("unsigned long x = a;")
        body.names.append("a")
    elif body.shape is Shape.DOUBLES:
        body.arguments = 1 + drawn
        names = [f"a{i}" for i in range(body.arguments)]
        body.line("unsigned long x = 1;")
        for each in names:
            body.line(f"x = x * 3 + (unsigned long)(long){each};")
        return f"double {name}({', '.join(f'double {each}' for each in names)})"
    elif body.shape is Shape.POINTER:
        body.line("unsigned long x = a;")
        body.names.append("a")
        return f"void {name}(unsigned long a, unsigned long *out)"
    else:
        taken = "unsigned long a, unsigned long b"
        body.line("unsigned long x = a;")
        body.names += ["a", "b"]
    return f"unsigned long {name}({taken})"


def _attributes(body: Body, manner: str) -> str:
    """How it is linked and optimised."""
    choices = body.choices
    words = []
    inlining = choices.pick("noinline", "noinline", "", "noclone", "noipa")
    if inlining == "noinline" or manner == "moves_stack":
        words.append("__attribute__((noinline))")
    elif inlining:
        words.append(f"__attribute__((noinline)) GCC_ONLY({inlining})")
        body.need("gcc")
    if inlining:
        body.feature(inlining)
    temperature = choices.pick("", "", "", "", "cold", "hot")
    if temperature:
        body.feature(temperature)
        words.append(f"__attribute__(({temperature}))")
    if choices.chance(12):
        level = choices.pick('"Os"', '"O0"', '"O3"', '"no-omit-frame-pointer"', '"O1"')
        if manner != "moves_stack":
            body.feature("optimize")
            body.need("gcc")
            words.append(f"GCC_ONLY(optimize({level}))")
    if choices.chance(6):
        body.feature("zero_call_used_regs")
        body.need("zero")
        which = choices.pick('"used"', '"all"', '"used-gpr"')
        words.append(f"ZERO_REGISTERS({which})")
    if choices.chance(15):
        words += _of_machine(body, manner)
    elif choices.chance(40):
        words.append("static")
    return " ".join(words)


def _of_machine(body: Body, manner: str) -> list[str]:
    """One attribute that only this machine has."""
    number = body.choices.draw(720)
    known = body.unit.facts.attributes
    if not known or manner == "moves_stack":
        return []
    attribute = known[number % len(known)]
    if attribute.changes_convention and body.shape is Shape.VARIADIC:
        return []
    body.feature(f"attribute {attribute.text}")
    name = f"MACHINE{number % len(known)}"
    body.unit.declarations[
        f"#if {attribute.condition}\n#define {name} __attribute__(({attribute.text}))\n"
        f"#else\n#define {name}\n#endif"
    ] = None
    return [name]


def _read_arguments(body: Body) -> None:
    """The variable arguments: `a` words, and as many doubles."""
    body.line("__builtin_va_list rest;")
    body.line("__builtin_va_start(rest, a);")
    with body.block("for (unsigned long i = 0; i < a; i++)"):
        body.line("x = x * 3 + __builtin_va_arg(rest, unsigned long);")
    with body.block("for (unsigned long i = 0; i < a; i++)"):
        body.line("x += (unsigned long)(long)__builtin_va_arg(rest, double);")
    body.line("__builtin_va_end(rest);")
    body.own_stack += 256
    body.spend(60)


def _general(body: Body) -> None:
    if body.choices.chance(25):
        # Before anything needs the frame: compilers set it up only behind this.
        body.feature("shrink_wrap")
        flow.early_return(body)
    if body.moves_stack:
        inline_assembly.move_stack(body)
        call(body)
    body.more(68)
    if body.moves_stack and body.choices.chance(50):
        inline_assembly.move_stack(body)
    if body.choices.chance(8) and not body.moves_stack:
        # Nothing stands behind the call: its return address is in the next function.
        body.feature("ends_in_noreturn")
        body.need("fatal", "never")
        with body.block("if (!never)"):
            body.give("x")
        body.line("fatal(x);")
        body.line("__builtin_unreachable();")
    elif not (body.choices.chance(25) and tail(body)):
        body.give("x")


def _finish(body: Body, head: str, inlinable: bool) -> list[str]:
    unit = body.unit
    active = RECURSION if body.recursive else 1
    unit.features.add(body.shape.value)
    unit.functions.append(
        Function(
            body.name, body.shape, body.arguments, body.cost,
            body.own_stack * active + body.callee_stack, body.throws, inlinable,
        )
    )  # fmt: skip
    return [head, *body.lines, "}"]
