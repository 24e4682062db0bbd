"""What programs declare before their functions: each part only where something needs it."""

from collections.abc import Iterable

_PARTS: dict[str, tuple[str, str]] = {
    # name: (what it needs, text); what is needed stands first.
    "printf": ("", "EXTERN_C int printf(const char *, ...);"),
    "exit": ("", "EXTERN_C void exit(int) __attribute__((noreturn));"),
    "seed": ("", "static volatile unsigned long seed = 7;"),
    "never": ("", "static volatile int never = 0;"),
    "tenths": ("", "static volatile double half = 0.5;"),
    # Recursion: calls left in the whole run, and how many are active.
    "budget": ("", "static long budget = 40;\nstatic int depth = 0;"),
    "cleaned": ("", "static unsigned long cleaned = 1;"),
    "thread": ("", "static __thread unsigned long kept = 3;"),
    "barrier": (
        "",
        "#define USE(p) __asm__ volatile(\"\" : : \"r\"(p) : \"memory\")\n"
        "#define HIDE(v) __asm__ volatile(\"\" : \"+r\"(v))",
    ),
    "gcc": (
        "",
        "#ifdef __clang__\n"
        "#define GCC_ONLY(a)\n"
        "#else\n"
        "#define GCC_ONLY(a) __attribute__((a))\n"
        "#endif",
    ),
    "zero": (
        "",
        "#ifdef __has_attribute\n"
        "#if __has_attribute(zero_call_used_regs)\n"
        "#define ZERO_REGISTERS(a) __attribute__((zero_call_used_regs(a)))\n"
        "#endif\n"
        "#endif\n"
        "#ifndef ZERO_REGISTERS\n"
        "#define ZERO_REGISTERS(a)\n"
        "#endif",
    ),
    "setjmp": (
        "",
        "EXTERN_C int _setjmp(void *) __attribute__((returns_twice));\n"
        "EXTERN_C void longjmp(void *, int) __attribute__((noreturn));",
    ),
    "vector": (
        "", "typedef unsigned long vector __attribute__((vector_size(32)));"
    ),
    "opaque": (
        "barrier",
        "__attribute__((noinline)) static unsigned long opaque(unsigned long v) {\n"
        "  HIDE(v);\n"
        "  return v + 1;\n"
        "}",
    ),
    "fatal": (
        "exit printf",
        "__attribute__((noreturn, cold, noinline)) static void fatal(unsigned long v) {\n"
        "  printf(\"fatal %lx\\n\", v);\n"
        "  exit(100);\n"
        "}",
    ),
    "apply": (
        "",
        "__attribute__((noinline)) static unsigned long apply("
        "unsigned long (*f)(unsigned long), unsigned long v) {\n"
        "  return f(v) + 1;\n"
        "}",
    ),
    "jump": (
        "setjmp barrier",
        "__attribute__((noinline)) static void jump(void *where, unsigned long v) {\n"
        "  if ((v & 3) == 0) {\n"
        "    longjmp(where, 1);\n"
        "  }\n"
        "  if ((v & 3) != 3) {\n"
        "    jump(where, v - 1);\n"
        "  }\n"
        "  USE(where);\n"
        "}",
    ),
    "jump_back": (
        "barrier",
        "#ifndef __clang__\n"
        "__attribute__((noinline)) static void jump_back(void **where, unsigned long v) {\n"
        "  if ((v & 1) == 0) {\n"
        "    __builtin_longjmp(where, 1);\n"
        "  }\n"
        "  USE(where);\n"
        "}\n"
        "#endif",
    ),
    "clean": (
        "cleaned",
        "__attribute__((noinline)) static void clean(unsigned long *p) {\n"
        "  cleaned = cleaned * 3 + *p;\n"
        "}",
    ),
    "guard": (
        "cleaned",
        "struct guard {\n"
        "  unsigned long held;\n"
        "  explicit guard(unsigned long v) : held(v) {\n"
        "    cleaned = cleaned + v;\n"
        "  }\n"
        "  __attribute__((noinline)) ~guard() {\n"
        "    cleaned = cleaned * 5 + held;\n"
        "  }\n"
        "};",
    ),
    # Exceptions are slow: so many are thrown in a run.
    "throws": ("", "static int throws = 8;\nstruct failure {\n  unsigned long code;\n};"),
}  # fmt: skip


def preamble(needs: Iterable[str], language: str) -> list[str]:
    """The lines that declare these parts, and all that they need."""
    wanted: set[str] = set()
    todo = list(needs)
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo += _PARTS[name][0].split()
    text = "\n".join(text for name, (_, text) in _PARTS.items() if name in wanted)
    return text.replace("EXTERN_C", 'extern "C"' if language == "c++" else "extern").splitlines()
