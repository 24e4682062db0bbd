"""Programs of csmith, with what they need of its headers written into them.

So they compile wherever a compiler is, without any header.
"""

import re

_INCLUDE = '#include "csmith.h"'
_SAFE = re.compile(
    r"\bsafe_(unary_minus|add|sub|mul|div|mod|lshift|rshift)_func_(u?)int(8|16|32|64)_t(?:_[su])+\b"
)
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%"}
_PRELUDE = """\
typedef __INT8_TYPE__ int8_t;
typedef __INT16_TYPE__ int16_t;
typedef __INT32_TYPE__ int32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __UINT64_TYPE__ uint64_t;
int printf(const char *, ...);
static unsigned long checksum;
static void transparent_crc(uint64_t value, char *name, int flag) {
  checksum = checksum * 31 + value;
}
static void platform_main_begin(void) {
}
static void crc32_gentab(void) {
}
static int platform_main_end(unsigned long sum, int flag) {
  printf("%lx\\n", sum);
  return (int)(sum & 127);
}
#define crc32_context checksum
"""


def command(seed: int) -> list[str]:
    """Arguments for csmith."""
    return ["--seed", str(seed), "--no-argc"]


def standalone(text: str) -> str:
    """A program as csmith prints it, without its headers."""
    needed = sorted({match[0]: match for match in _SAFE.finditer(text)}.items())
    functions = "".join(_function(name, match) for name, match in needed)
    # Its main ends with that call and `return 0`.
    text = text.replace("platform_main_end(", "return platform_main_end(")
    return text.replace(_INCLUDE, _PRELUDE + functions)


def _function(name: str, match: re.Match[str]) -> str:
    """One of the operations that are defined for all operands (csmith's safe_math.h)."""
    operation, unsigned, bits = match[1], match[2], match[3]
    type_ = f"{unsigned}int{bits}_t"
    wide = "(unsigned long)"
    if operation == "unary_minus":
        return f"static {type_} {name}({type_} a) {{\n  return ({type_})(0 - {wide}a);\n}}\n"
    if operation in ("lshift", "rshift"):
        right = "int" if name.endswith("_s") else "unsigned int"
        bad = f"(unsigned int)b >= {bits}" + ("" if unsigned else " || a < 0")
        value = f"{wide}a << b" if operation == "lshift" else "a >> b"
    else:
        right = type_
        lowest = f"a == -__INT{bits}_MAX__ - 1 && b == -1"
        bad = "" if operation not in ("div", "mod") else "b == 0"
        if bad and not unsigned:
            bad += f" || ({lowest})"
        sign = _SIGNS[operation]
        value = f"a {sign} b" if bad else f"{wide}a {sign} {wide}b"
    guard = f"  if ({bad})\n    return a;\n" if bad else ""
    return (
        f"static {type_} {name}({type_} a, {right} b) {{\n"
        f"{guard}  return ({type_})({value});\n}}\n"
    )
