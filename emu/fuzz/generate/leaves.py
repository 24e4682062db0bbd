"""Functions that call nothing and keep very many values in registers.

Compilers have special ways for these: s390x GCC saves callee-saved registers in floating-point
registers, SP among them where there are locals.
"""

from emu.fuzz.generate.body import Body


def leaf(body: Body) -> None:
    """A body of loops over many variables, with several ways out."""
    body.leaf = True
    choices = body.choices
    if choices.chance(25):
        body.give_early()
    count = 2 + choices.draw(19)
    body.feature("leaf_pressure" if count >= 8 else "leaf")
    names = []
    for i in range(count):
        names.append(body.fresh("v"))
        body.line(f"unsigned long {names[-1]} = {body.variable()} * {2 * i + 3};")
    body.names += names
    table = ""
    if choices.chance(65):
        body.feature("leaf_table")
        table = body.fresh("m")
        body.line(f"unsigned long {table}[16];")
        index = body.fresh("i")
        with body.block(f"for (unsigned long {index} = 0; {index} < 16; {index}++)"):
            body.line(f"{table}[{index}] = {index} * {body.variable()};")
        body.own_stack += 128
        body.spend(64)
    while choices.chance(60):
        _round(body, names, table)
    body.more(30)
    body.give(" ^ ".join(f"{name} * {i + 1}" for i, name in enumerate((*names, "x"))))
    body.spend(3 * count)


def _round(body: Body, names: list[str], table: str) -> None:
    """A loop that uses all of them, and perhaps leaves the function."""
    index = body.fresh("i")
    limit = 3 + 4 * body.choices.draw(2)
    head = f"for (unsigned long {index} = 0; {index} <= ({body.variable()} & {limit}); {index}++)"
    with body.block(head, repeats=limit + 1):
        body.names.append(index)
        for i, name in enumerate(names):
            other = names[(i + 1 + body.choices.draw(len(names))) % len(names)]
            operator = body.choices.pick("+=", "^=", "-=")
            if table and body.choices.chance(20):
                body.line(f"{table}[{other} & 15] {operator} {name};")
            else:
                body.line(f"{name} {operator} {other} >> {1 + i % 7};")
        if table:
            body.line(f"x += {table}[{body.variable()} & 15];")
        if body.choices.chance(35):
            body.give_early()
        body.more(15)
        body.spend(4 * len(names))
