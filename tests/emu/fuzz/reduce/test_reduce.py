import random
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.fuzz.reduce.assembly import shrink_assembly
from emu.fuzz.reduce.c import shrink_c
from emu.fuzz.reduce.lists import shrink_list, shrink_record
from emu.fuzz.reduce.trials import Budget


def csmith_like(functions: int, seed: int) -> str:
    """About 21 lines for each function: globals, nested blocks, calls of earlier functions."""
    draw = random.Random(seed)
    lines = ["/* Made up. */", "#include <stdint.h>", ""]
    lines += [f"static int32_t g_{n} = 0x{draw.getrandbits(32):X}L;" for n in range(20)]
    for n in range(functions):
        uses = [f"g_{draw.randrange(20)}" for _ in range(8)]
        call = f"func_{draw.randrange(n)}({uses[0]}, 0x{draw.getrandbits(16):X}UL)" if n else "3"
        lines += f"""
/* ---------- */
static uint32_t  func_{n}(int32_t  p_1, uint64_t  p_2)
{{ /* block id: {n} */
    int32_t *l_1 = &{uses[1]};
    uint16_t l_2[3] = {{0x8FB5L, 0xD1L, {n}UL}};
    for (p_1 = 0; (p_1 <= 2); p_1 += 1)
    {{ /* block id: inner */
        (*l_1) |= (((p_2 && {uses[2]}) , 4294967295UL) <= (l_2[p_1] ^ {uses[3]}));
        if (({uses[4]} >= l_2[0]))
            continue;
        if (p_2)
        {{
            {uses[5]} ^= ({call} & (~({uses[6]})));
            l_1 = (void*)0;
        }}
        else
        {{
            return {uses[7]};
        }}
    }}
    (*l_1) = (l_2[1] = 65535UL);
    return p_1;
}}
""".splitlines()
    lines += [
        "int main(void)",
        "{",
        "    int x = 7;",
        f"    return func_{functions - 1}(x, 1);",
        "}",
    ]
    return "\n".join(lines) + "\n"


def balanced(text: str) -> bool:
    """Brackets that match, as a compiler wants them."""
    opened = []
    for c in text:
        if c in "([{":
            opened.append(")]}"["([{".index(c)])
        elif c in ")]}" and (not opened or opened.pop() != c):
            return False
    return not opened


def words(text: str) -> list[str]:
    return text.split()


def counting(holds: Callable[[str], bool]) -> tuple[Callable[[str], bool], list[str]]:
    """The predicate, and all that it is asked."""
    asked: list[str] = []

    def counted(text: str) -> bool:
        asked.append(text)
        return holds(text)

    return counted, asked


def test_budget_of_tries() -> None:
    """It is spent after that many, by whomever they are made."""
    budget = Budget(tries=2)
    budget.count()
    assert not budget.spent()
    budget.count()
    assert budget.spent()
    assert budget.tries == 2


def test_budget_of_seconds() -> None:
    """It is spent when the clock has gone on by that much."""
    now = 5.0
    budget = Budget(seconds=10, clock=lambda: now)
    assert not budget.spent()
    now = 15.0
    assert budget.spent()


def test_list_becomes_what_is_needed() -> None:
    """Two of a thousand are found, with few tries."""
    budget = Budget()
    assert shrink_list(range(1000), lambda some: {17, 800} <= set(some), budget) == [17, 800]
    assert budget.tries < 60


def test_list_is_one_minimal() -> None:
    """Nothing of the rest can go alone, also where what holds is not monotone."""

    def holds(some: Sequence[int]) -> bool:
        return sum(some) % 7 == 3 and len(some) > 2

    left = shrink_list([3, *range(70)], holds, Budget())
    assert holds(left)
    assert not any(holds([*left[:at], *left[at + 1 :]]) for at in range(len(left)))


def test_list_may_become_empty() -> None:
    """Where everything holds one try is enough, and none for what is empty already."""
    budget = Budget()
    assert shrink_list(list("abc"), lambda some: True, budget) == []
    assert budget.tries == 1
    assert shrink_list([], lambda some: False, budget) == []
    assert budget.tries == 1


@settings(deadline=None)
@given(st.lists(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.integers(0, 40))
def test_list_always_holds(some: list[int], needed: set[int], tries: int) -> None:
    """What is returned was seen to hold, or is what was given, however small the budget."""
    seen = [some]

    def holds(candidate: list[int]) -> bool:
        answer = needed & set(candidate) == needed & set(some)
        if answer:
            seen.append(candidate)
        return answer

    budget = Budget(tries=tries)
    assert shrink_list(some, holds, budget) in seen
    assert budget.tries <= tries


def test_record_is_shorter_then_smaller() -> None:
    """A number above 50 somewhere and nothing else: one number, and that is 51."""
    budget = Budget()
    draw = random.Random(1)
    record = [draw.randrange(100) for _ in range(300)]
    assert shrink_record(record, lambda some: any(n > 50 for n in some), budget) == [51]
    assert budget.tries < 60


def test_record_keeps_places() -> None:
    """What must stay at its place stays there, with zeros before it and no zeros behind."""

    def holds(some: Sequence[int]) -> bool:
        return len(some) > 5 and some[5] >= 7

    assert shrink_record([9] * 40, holds, Budget()) == [0, 0, 0, 0, 0, 7]


def test_record_of_a_list_with_its_length() -> None:
    """Where a number counts those behind it, it is lowered along with their removal."""

    def holds(some: Sequence[int]) -> bool:
        items = some[1 : 1 + some[0]] if some else ()
        return len(some) == 1 + len(items) and some[0] == len(items) and 8 in items

    assert shrink_record([6, 1, 2, 3, 8, 5, 6], holds, Budget()) == [1, 8]


def test_record_without_need_is_empty() -> None:
    """Zeros at the end never matter: an empty record is the simplest."""
    assert shrink_record([0, 0], lambda some: False, Budget()) == []
    assert shrink_record([4, 0, 3], lambda some: True, Budget()) == []


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), max_size=12), st.integers(0, 60), st.integers(0, 3))
def test_record_is_simpler_and_holds(record: list[int], least: int, length: int) -> None:
    """The result holds and is no less simple, by length, then by numbers."""

    def holds(some: Sequence[int]) -> bool:
        return sum(some) >= least and len(some) >= length

    while record and record[-1] == 0:
        record.pop()
    if not holds(record):
        return
    result = shrink_record(record, holds, Budget())
    assert holds(result)
    assert (len(result), result) <= (len(record), record)


def test_c_keeps_two_statements_and_their_block() -> None:
    """Of 400 lines two statements stay, in the one function that holds them."""
    text = csmith_like(18, 3)
    assert text.count("\n") > 400
    text = text.replace("    int x = 7;\n", "    int x = 7;\n    first(x + 1, g_3);\n", 1)
    text = text.replace("    return p_1;\n", "    second();\n    return p_1;\n", 1)

    def has_both(text: str) -> bool:
        places = [text.find(name) for name in ("first(", "second(")]
        return balanced(text) and all(
            at >= 0 and text[:at].count("{") > text[:at].count("}") for at in places
        )

    holds, asked = counting(has_both)
    budget = Budget()
    result = shrink_c(text, holds, budget)
    assert words(result) == words("{ second(); } { first(); }")
    assert len(asked) == len(set(asked)) == budget.tries < 300


def test_c_drops_comments_in_one_go() -> None:
    """Comments and blank lines go first, but not those in strings."""
    text = '/* a */\n\nint x; // b\n#define A "/*" /* c */\n\nchar *s = "//";\n'
    holds, asked = counting(lambda text: "x" in text and '"//"' in text)
    shrink_c(text, holds, Budget())
    assert asked[0] == 'int x;\n#define A "/*"\nchar *s = "//";\n'


def test_c_that_needs_its_comments() -> None:
    """Where comments matter whole lines are left out."""
    text = "int a;\n// keep\n\nint b;\n"
    assert shrink_c(text, lambda text: "// keep" in text, Budget()) == "// keep\n"


@pytest.mark.parametrize(
    ("text", "needed", "result"),
    [
        ("void f(){ if (a) { x(); } }", r"f\(\).* x\(\)", "f(){ x(); }"),
        ("void f(){ if (a) { y(); } else { x(); } }", r"f\(\).* x\(\)", "f(){ x(); }"),
        ("void f(){ if (a) y(); else x(); }", r"f\(\).* x\(\)", "f(){ x(); }"),
        ("void f(){ if (a && b()) { y(); } }", r"f\(\).*b\(\)", "f(){ b(); }"),
        ("void f(){ do { x(); } while (1); }", r"f\(\).* x\(\)", "f(){ x(); }"),
        ("int a = 123456UL, b = 3;", "a.*b", "a,b"),
        ("int f(void) { return g(1, h(2) + 3, x); }", r"g\(.*h\(.*\).*\)", "{ g(h()) }"),
        ("int f(void) { return (a * b) + 0x12345678; }", r"return.*b", "{ return b }"),
        ("char buffer[4096];", r"\[[1-9]", "[1]"),
    ],
)
def test_c_of_one_construct(text: str, needed: str, result: str) -> None:
    """Bodies, conditions, operands and arguments come out of what holds them."""

    def holds(text: str) -> bool:
        return balanced(text) and re.search(needed, text, re.DOTALL) is not None

    reduced = shrink_c(text, holds, Budget())
    assert holds(reduced)
    assert re.sub(r"[\s;]", "", reduced) == re.sub(r"[\s;]", "", result)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(0, 200))
def test_c_always_holds(seed: int, tries: int) -> None:
    """What is returned holds and is no longer, and the budget is kept."""
    text = csmith_like(3, seed)
    needed = random.Random(seed).sample(re.findall(r"\w+", text), 4)

    def holds(text: str) -> bool:
        return balanced(text) and all(word in text for word in needed)

    budget = Budget(tries=tries)
    result = shrink_c(text, holds, budget)
    assert holds(result)
    assert len(result) <= len(text)
    assert budget.tries <= tries


@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
def test_c_with_a_compiler(tmp_path: Path) -> None:
    """A call that gcc still makes: two functions of 400 lines are left."""
    source, made = tmp_path / "a.c", tmp_path / "a.o"

    def calls(text: str) -> bool:
        source.write_text(text)
        compiling = ["gcc", "-c", "-w", "-fno-inline", "-o", str(made), str(source)]
        if subprocess.run(compiling, capture_output=True).returncode:
            return False
        listing = subprocess.run(["objdump", "-dr", made], capture_output=True, text=True).stdout
        return re.search(r"call.*(\n.*R_\w+\s+|<)func_0\b", listing) is not None

    text = csmith_like(18, 3)
    budget = Budget(tries=600)
    result = shrink_c(text, calls, budget)
    assert calls(result)
    assert result.count("\n") <= 6
    assert budget.tries < 300


ASSEMBLY = """\
	.file	"a.c"
	.text
	.section	.debug_info,"",@progbits
	.long	1
	.text
	.globl	f
	.type	f, @function
f:
.LFB0:
	.loc 1 1
	.cfi_startproc
	push	rbx
	.cfi_def_cfa_offset 16
	ret
	.cfi_endproc
	.size	f, .-f
	.globl	g
	.type	g, @function
g:
	.cfi_startproc
	nop
	leave
	.cfi_endproc
	.section	.text.unlikely
	.type	g.cold, @function
g.cold:
	hlt
	.text
	.size	g, .-g
	.section	.text.unlikely
	.size	g.cold, .-g.cold
"""


def assembles(text: str) -> bool:
    """What gas wants: procedures in pairs, and sizes of what there is."""
    return text.count("startproc") == text.count("endproc") and all(
        f"\n{name}:" in "\n" + text for name in re.findall(r"\.size\s+([\w.]+)", text)
    )


def test_assembly_starts_with_what_is_idle() -> None:
    """What no code comes from goes first, then functions with their cold parts."""
    holds, asked = counting(lambda text: assembles(text) and "push" in text)
    assert shrink_assembly(ASSEMBLY, lambda line: False, holds, Budget()) == "\tpush\trbx\n"
    assert not re.search(r"file|loc|debug|\.long", asked[0])
    assert "g.cold" not in asked[2]
    assert len(asked) == len(set(asked)) < 40


def test_assembly_keeps_fixed_lines() -> None:
    """A line that is fixed is in every candidate; pairs go only as pairs."""
    holds, asked = counting(assembles)
    result = shrink_assembly(ASSEMBLY, lambda line: "leave" in line, holds, Budget())
    assert result == "\tleave\n"
    assert all("leave" in text for text in asked)


@settings(deadline=None)
@given(st.integers(0, 60), st.sampled_from(["push", "hlt", ".type\tg,", "leave", ".loc", "f:"]))
def test_assembly_always_holds(tries: int, needed: str) -> None:
    """What is returned holds, however small the budget."""
    budget = Budget(tries=tries)

    def holds(text: str) -> bool:
        return assembles(text) and needed in text

    assert holds(shrink_assembly(ASSEMBLY, lambda line: False, holds, budget))
    assert budget.tries <= tries
