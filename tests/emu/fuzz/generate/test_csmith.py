"""Operations that csmith's programs take from a header: what they give at the edges."""

import itertools
import subprocess
from pathlib import Path

from emu.fuzz.generate.csmith import standalone
from tests.support.native import needs_gcc

VALUES = (0, 1, 2, 5, 31, 63, 127, 128, 255, 32767, 2**31 - 1, 2**31, 2**63 - 1)
OPERATIONS = ("add", "sub", "mul", "div", "mod", "lshift", "rshift")
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _wrapped(value: int, type_: str) -> int:
    bits = int(type_.lstrip("uint"))
    value %= 1 << bits
    return value - (1 << bits) if type_[0] == "i" and value >> (bits - 1) else value


def _model(operation: str, type_: str, a: int, b: int) -> int:
    """As csmith defines it: `a` itself where C would not be defined."""
    bits, signed = int(type_.lstrip("uint")), type_[0] == "i"
    if operation in ("lshift", "rshift"):
        if not 0 <= b < bits or (signed and a < 0):
            return a
        return _wrapped(a << b if operation == "lshift" else a >> b, type_)
    if operation in ("div", "mod"):
        if b == 0 or (signed and a == -(1 << (bits - 1)) and b == -1):
            return a
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operation == "div" else a - quotient * b
    return _wrapped({"add": a + b, "sub": a - b, "mul": a * b}[operation], type_)


@needs_gcc
def test_operations_are_csmiths(tmp_path: Path) -> None:
    """Every operation of every type with every two values, the inner loop the second operand."""
    values = (*VALUES, *(-value for value in VALUES))
    loops, expected = [], []
    for operation, type_ in itertools.product(OPERATIONS, TYPES):
        suffix = "s_s" if type_[0] == "i" else "u_u"
        loops.append(_loop(f"safe_{operation}_func_{type_}_t_{suffix}", type_, len(values)))
        shift = operation in ("lshift", "rshift")
        right = ("int32" if suffix == "s_s" else "uint32") if shift else type_
        for a, b in itertools.product(values, repeat=2):
            answer = _model(operation, type_, _wrapped(a, type_), _wrapped(b, right))
            expected.append(answer % (1 << 64))
    numbers = ", ".join(f"{value % (1 << 64)}UL" for value in values)
    lines = [
        '#include "csmith.h"', f"static unsigned long v[] = {{{numbers}}};", "int main(void) {",
        *loops, "return 0;", "}", "",
    ]  # fmt: skip
    (tmp_path / "x.c").write_text(standalone("\n".join(lines)))
    subprocess.run(["gcc", "-w", "-O1", "-o", tmp_path / "x", tmp_path / "x.c"], check=True)
    said = subprocess.run([tmp_path / "x"], capture_output=True, text=True, check=True).stdout
    assert [int(line) for line in said.split()] == expected


def _loop(name: str, type_: str, count: int) -> str:
    return (
        f"for (int i = 0; i < {count}; i++) for (int j = 0; j < {count}; j++) "
        f'printf("%lu\\n", (unsigned long){name}(({type_}_t)v[i], v[j]));'
    )
