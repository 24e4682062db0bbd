"""Calls of every kind, as statements."""

from emu.fuzz.generate.body import Body
from emu.fuzz.generate.unit import COST_LIMIT, RECURSION, STACK_LIMIT, Function, Shape


def callee(body: Body, *shapes: Shape) -> Function | None:
    """An earlier function that may be called here; None: none can be, or the simplest is wanted."""
    wanted = body.choices.draw(16)
    fitting = [
        function
        for function in body.unit.functions
        if (not shapes or function.shape in shapes)
        and not (body.moves_stack and function.inlinable)
    ]
    if not wanted or not fitting:
        return None
    function = fitting[-wanted % len(fitting)]
    if body.cost + (function.cost + 4) * body.repeats > COST_LIMIT:
        return None
    if body.own_stack * RECURSION + function.stack > STACK_LIMIT:
        return None
    return function


def account(body: Body, function: Function) -> None:
    """Count a call of it."""
    body.spend(function.cost + 4)
    body.callee_stack = max(body.callee_stack, function.stack)
    if function.throws and not body.caught:
        body.throws = True


def call(body: Body) -> None:
    """A call of an earlier function, or of one that the optimiser knows nothing of."""
    function = callee(body)
    if function is None:
        body.need("opaque")
        body.spend(3)
        body.line(f"x = opaque({body.value(1)});")
        return
    account(body, function)
    give_call(body, function, body.choices.pick("^=", "+=", "-="), "x")


def give_call(body: Body, function: Function, operator: str, target: str) -> None:
    """``target operator function(...);`` with values for all arguments."""
    body.feature(f"call_{function.shape.value}")
    name = function.name
    if function.shape is Shape.STRUCT:
        with body.block():
            whole = body.fresh("s")
            body.line(f"struct words{function.arguments} {whole};")
            body.line(f"__builtin_memset(&{whole}, 0, sizeof {whole});")
            body.line(f"{whole}.v[0] = {body.value(1)};")
            body.line(f"{whole}.v[{function.arguments - 1}] = {body.variable()};")
            body.line(f"{whole} = {name}({whole}, {body.variable()});")
            body.line(f"{target} {operator} {whole}.v[0] + {whole}.v[{function.arguments - 1}];")
        # It lies in this frame, and perhaps once more among the arguments.
        body.own_stack += 16 * function.arguments
    elif function.shape is Shape.POINTER:
        with body.block():
            result = body.fresh("r")
            body.line(f"unsigned long {result} = 0;")
            body.line(f"{name}({body.value(1)}, &{result});")
            body.line(f"{target} {operator} {result};")
    elif function.shape is Shape.DOUBLES:
        values = ", ".join(
            f"(double)(long)({body.variable()} & {0xFF + i})" for i in range(function.arguments)
        )
        body.line(f"{target} {operator} (unsigned long)(long){name}({values});")
    elif function.shape is Shape.VARIADIC:
        count = body.choices.draw(12)
        values = "".join(f", {body.value(1)}" for _ in range(count))
        doubles = "".join(f", (double)(long)({body.variable()} & 0xff)" for _ in range(count))
        body.line(f"{target} {operator} {name}({count}UL{values}{doubles});")
    else:
        values = ", ".join(body.value(1) for _ in range(function.arguments))
        body.line(f"{target} {operator} {name}({values});")


def pointer_call(body: Body) -> None:
    """A call through a pointer that the optimiser does not see through."""
    function = callee(body, Shape.PLAIN, Shape.HANDWRITTEN)
    if function is None:
        body.need("opaque")
        target, arguments = "opaque", 1
    else:
        account(body, function)
        target, arguments = function.name, function.arguments
    body.feature("call_through_pointer")
    values = ", ".join(body.value(1) for _ in range(arguments))
    with body.block():
        pointer = body.fresh("p")
        # Functions of another calling convention have pointers of their own type.
        body.line(f"__typeof__({target}) *volatile {pointer} = {target};")
        body.line(f"x += {pointer}({values});")
    body.spend(4)


def recursion(body: Body) -> None:
    """A call of the function itself, as long as the budget of the program lasts."""
    body.feature("recursion")
    body.need("budget")
    body.recursive = True
    own = Function(body.name, body.shape, body.arguments, 0, 0)
    with body.block(f"if (budget > 0 && depth < {RECURSION - 1})"):
        body.line("budget--;")
        body.line("depth++;")
        give_call(body, own, body.choices.pick("^=", "+="), "x")
        body.line("depth--;")
    body.spend(4)


def cold_call(body: Body) -> None:
    """A call that never returns, on a path that is never taken."""
    body.feature("noreturn_call")
    body.need("fatal", "never")
    with body.block("if (never)"):
        body.line(f"fatal({body.variable()});")
    body.spend(1)


def tail(body: Body) -> bool:
    """End the function with a call in tail position, where it can be."""
    if body.shape not in (Shape.PLAIN, Shape.MANY, Shape.VARIADIC):
        return False
    function = callee(body, Shape.PLAIN, Shape.MANY, Shape.HANDWRITTEN)
    if function is None:
        return False
    body.feature("tail_call")
    account(body, function)
    values = ", ".join(body.value(1) for _ in range(function.arguments))
    body.line(f"return {function.name}({values});")
    return True
