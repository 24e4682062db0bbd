"""Stacks that a program switches to, and calls that are made by other means, in machine code."""

from pathlib import Path

import pytest

from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64
from tests.support.made import Made, outermost, write_program
from tests.support.runs import Answer, Command

pytestmark = pytest.mark.compiled

# Call frame instructions (DWARF 5, section 7.24); offsets are in units of -8.
UNDEFINED, REGISTER, DEF_CFA_OFFSET = 0x07, 0x09, 0x0E
RCX, RIP = 2, 16


def advance(size: int) -> bytes:
    """DW_CFA_advance_loc."""
    return bytes((0x40 | size,))


def cfa_offset(value: int) -> bytes:
    """DW_CFA_def_cfa_offset, of a number below 16384."""
    return bytes((DEF_CFA_OFFSET, value & 127 | 128, value >> 7))


def saved(register: int, below: int) -> bytes:
    """DW_CFA_offset: the register is saved `below` bytes under the CFA."""
    return bytes((0x80 | register, below // 8))


def restored(register: int) -> bytes:
    """DW_CFA_restore."""
    return bytes((0xC0 | register,))


def link(functions: list[tuple[str, str, bytes | None]]) -> list[Made]:
    """Functions of x86-64 code in hexadecimal, where @NAME is a distance in four bytes."""
    starts, at = {}, 0
    parts = [code.replace(" ", "").replace("@", " @").split() for _, code, _ in functions]
    sizes = [sum(map(size_of, part)) for part in parts]
    for (name, _, _), size in zip(functions, sizes, strict=True):
        starts[name] = at
        at += size
    made = []
    for (name, _, rules), part in zip(functions, parts, strict=True):
        code = b""
        for piece in part:
            if piece.startswith("@"):
                target, _, rest = piece[1:].partition(".")
                distance = starts[target] - starts[name] - len(code) - 4
                code += distance.to_bytes(4, "little", signed=True) + bytes.fromhex(rest)
            else:
                code += bytes.fromhex(piece)
        made.append(Made(name, code, rules))
    return made


def size_of(piece: str) -> int:
    """Bytes of a piece of code; what follows a name stands behind a full stop."""
    if not piece.startswith("@"):
        return len(piece) // 2
    return 4 + len(piece.partition(".")[2]) // 2


EXIT = "31ff b83c000000 0f05"
"""xor %edi, %edi; mov $60, %eax; syscall."""
# mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); mov %rax, %r12
MAP = "b809000000 31ff be00000100 ba03000000 41ba22000000 49c7c0ffffffff 4531c9 0f05 4989c4"
OUTERMOST = bytes((UNDEFINED, RIP))
# xchg %rsp, %rbx; push %rcx; ret. From the exchange on the caller is what %rcx says.
SWAP = (
    "swap",
    "4887e3 51 c3",
    advance(3) + cfa_offset(0) + bytes((REGISTER, RIP, RCX))
    + advance(1) + cfa_offset(8) + restored(RIP),
)  # fmt: skip
BACK = ("back", "4887e3 c3", b"")  # xchg %rsp, %rbx; ret
LEAF = ("leaf", "c3", b"")
G = ("g", "c3", b"")
# sub $8, %rsp; call leaf; exit(0)
BODY = "4883ec08 e8@leaf." + EXIT.replace(" ", "")
FRAME = advance(4) + cfa_offset(16)


def begin(top: int, ra: str, entry: str = "f") -> str:
    """Begin `entry` on the stack at %r12, with its return address at `top`."""
    store = f"488d15@{ra}.488913" if ra.isalpha() else f"48c703{ra}"  # lea, mov or movq
    lower = (top - 8).to_bytes(4, "little").hex()
    return f"498d9c24{lower} {store} 488d0d@{entry}.e8@swap."  # lea, ..., lea, call


def check(command: Command, folder: Path, functions: list[tuple[str, str, bytes | None]]) -> Answer:
    """The run of x86-64 code against .eh_frame."""
    path = write_program(folder / "prog", X86_64, link(functions))
    answer = command.check(path, "--table", "cfi")
    assert answer.json["guest"]["exit_status"] == 0
    assert sum(answer.json["verdicts"].values()) == answer.json["guest"]["instructions"]
    return answer


def gaps(answer: Answer) -> list[tuple[str, str, str, int]]:
    """(verdict, function, role, executions) of each gap."""
    return [(g["verdict"], g["function"], g["role"], g["count"]) for g in answer.json["gaps"]]


# ---- a coroutine that is entered by a return


@pytest.mark.parametrize(("ra", "verdict"), [("00000000", "outermost"), ("67452301", "exact")])
def test_a_coroutine_that_does_not_return(
    ra: str, verdict: str, command: Command, tmp_path: Path
) -> None:
    """What is below it is what lies where its return address should: nothing, or junk."""
    start = ("_start", MAP + begin(0x10000, ra) + EXIT, OUTERMOST)
    answer = check(command, tmp_path, [start, SWAP, ("f", BODY, FRAME), LEAF])
    assert (answer.findings, gaps(answer)) == ([], [])
    # f has five instructions, leaf one and swap three, the first on the main stack.
    exact = {"exact": 9, "outermost": 4}[verdict]
    assert answer.json["verdicts"]["exact"] == exact
    assert answer.json["caller_verdicts"][verdict] == {"exact": 1, "outermost": 2}[verdict]


@pytest.mark.parametrize(
    ("top", "left"), [(0xFF00, []), (0x10000, [("refused", "finish", "sampled", 3)])]
)
def test_a_coroutine_that_returns(
    top: int, left: list[object], command: Command, tmp_path: Path
) -> None:
    """Its return address is another function, which is then at the bottom.

    That one finds 0 where its own return address should be, or the end of the mapping.
    """
    start = ("_start", MAP + begin(top, "finish") + EXIT, OUTERMOST)
    body = ("f", "4883ec08 e8@leaf.4883c408 c3", FRAME + advance(9) + cfa_offset(8))
    finish = ("finish", EXIT, b"")
    answer = check(command, tmp_path, [start, SWAP, body, LEAF, finish])
    assert (answer.findings, gaps(answer)) == ([], left)
    assert answer.json["verdicts"]["exact"] == 3 + 4 + 1


def test_a_coroutine_that_is_marked(command: Command, tmp_path: Path) -> None:
    """Its row may say that nothing has called it, whatever its return address is."""
    start = ("_start", MAP + begin(0x10000, "67452301") + EXIT, OUTERMOST)
    answer = check(command, tmp_path, [start, SWAP, ("f", BODY, OUTERMOST), LEAF])
    assert (answer.findings, gaps(answer)) == ([], [])


def test_a_wrong_row_in_a_coroutine(command: Command, tmp_path: Path) -> None:
    """The first function of a stack is checked like any other, as a caller, too."""
    start = ("_start", MAP + begin(0xFF00, "67452301") + EXIT, OUTERMOST)
    wrong = advance(4) + cfa_offset(24)
    answer = check(command, tmp_path, [start, SWAP, ("f", BODY, wrong), LEAF])
    assert answer.findings == [("wrong-cfa", "f", "sampled", 4, 18)]
    assert answer.json["caller_verdicts"]["wrong-cfa"] == 1
    expected = answer.json["findings"][0]["expected"]
    assert expected["ra"] == "0x1234567"


def test_a_wrong_row_of_the_switch(command: Command, tmp_path: Path) -> None:
    """Until %rcx is pushed, the word at SP is no return address of swap."""
    start = ("_start", MAP + begin(0x10000, "67452301") + EXIT, OUTERMOST)
    functions = link([start, (*SWAP[:2], b""), ("f", BODY, FRAME), LEAF])
    sizes = [len(function.code) for function in functions]
    answer = check(command, tmp_path, [start, (*SWAP[:2], b""), ("f", BODY, FRAME), LEAF])
    assert answer.findings == [("wrong-cfa", "swap", "sampled", 3, 4)]
    # What was wanted is where swap returns to: f.
    expected = answer.json["findings"][0]["expected"]
    assert int(expected["ra"], 16) == 0x400000 + 64 + 56 + sizes[0] + sizes[1]


def test_a_switch_that_jumps(command: Command, tmp_path: Path) -> None:
    """It may be a tail call: what is below f is then below the switch, too."""
    start = ("_start", MAP + begin(0xFF00, "67452301") + EXIT, OUTERMOST)
    jumps = ("swap", "4887e3 ffe1", b"")  # xchg %rsp, %rbx; jmp *%rcx
    answer = check(command, tmp_path, [start, jumps, ("f", BODY, FRAME), LEAF])
    assert (answer.findings, gaps(answer)) == ([], [])


def test_a_switch_that_is_marked(command: Command, tmp_path: Path) -> None:
    """Right on a new stack; wrong on the way back, where there is a caller."""
    marked = advance(3) + OUTERMOST
    start = ("_start", MAP + begin(0xFF00, "67452301") + EXIT, OUTERMOST)
    body = ("f", "4883ec08 e8@back.0f0b", FRAME)
    switches = [(*SWAP[:2], marked), (*BACK[:2], marked)]
    answer = check(command, tmp_path, [start, *switches, body])
    assert answer.findings == [("wrong-end", "back", "sampled", 3, 4)]
    assert gaps(answer) == []


# ---- stacks that are used again


@pytest.mark.parametrize("second", [0x10000, 0xFFF0, 0x10010, 0xFFF8])
@pytest.mark.parametrize("ra", ["67452301", "finish"])
def test_a_stack_is_used_again(ra: str, second: int, command: Command, tmp_path: Path) -> None:
    """From the same place, above or below: nothing is left of what ran there first."""
    start = ("_start", MAP + begin(0x10000, ra) + begin(second, ra) + EXIT, OUTERMOST)
    body = ("f", "4883ec08 e8@leaf.e8@back.0f0b", FRAME)
    # The second mapping page above the first stack belongs to no one: 0x10010 needs room.
    start = (start[0], start[1].replace("be00000100", "be00100100"), start[2])
    answer = check(command, tmp_path, [start, SWAP, BACK, body, LEAF, ("finish", EXIT, b"")])
    assert (answer.findings, gaps(answer)) == ([], [])
    assert answer.json["truth"]["stack_switches"] == 4
    # Each time three instructions of swap, three of f, one of leaf and two of back.
    assert answer.json["verdicts"]["exact"] == 18


def test_a_stack_below_is_another_one(command: Command, tmp_path: Path) -> None:
    """Two stacks of 16 KiB in one mapping; the first coroutine switches to the second itself."""
    start = ("_start", MAP + begin(0x10000, "67452301") + EXIT, OUTERMOST)
    first = "4883ec08 e8@leaf." + begin(0xC000, "67452301", "g") + "0f0b"
    answer = check(command, tmp_path, [start, SWAP, ("f", first, FRAME), LEAF, ("g", BODY, FRAME)])
    assert (answer.findings, gaps(answer)) == ([], [])
    assert answer.json["truth"]["stack_switches"] == 2


@pytest.mark.parametrize(
    ("rules", "findings"),
    [
        (advance(7) + cfa_offset(0x2008) + advance(8) + cfa_offset(8), []),
        (b"", [("wrong-cfa", "f", "sampled", 7, 15)]),
    ],
)
def test_a_large_frame_is_no_other_stack(
    rules: bytes, findings: list[tuple[str, str, str, int, int]], command: Command, tmp_path: Path
) -> None:
    """8 KiB at once may be a stack below; what is wrong meanwhile is found all the same."""
    body = ("f", "4881ec00200000 90 4881c400200000 c3", rules)
    answer = check(command, tmp_path, [("_start", "e8@f." + EXIT, OUTERMOST), body])
    assert answer.findings == findings
    assert answer.json["truth"]["stack_switches"] == 0


def test_a_call_on_a_new_stack(command: Command, tmp_path: Path) -> None:
    """Whether the start routine has a caller cannot be told, where its rows say so: a gap."""
    start = ("_start", MAP + begin(0x10000, "67452301").replace("swap", "begin") + EXIT, OUTERMOST)
    routine = ("begin", "4887e3 ffd1", b"")  # xchg %rsp, %rbx; call *%rcx
    answer = check(command, tmp_path, [start, routine, ("f", BODY, FRAME), LEAF])
    assert answer.findings == []
    assert gaps(answer) == [("refused", "begin", "sampled", 1)]
    assert answer.json["caller_verdicts"] == {"outermost": 1, "refused": 1, "exact": 1}


def test_a_call_on_a_stack_that_is_used_again(command: Command, tmp_path: Path) -> None:
    """Below the place of before: what was called there is no caller of the start routine."""
    again = (begin(0x10000, "67452301") + begin(0xFF00, "67452301")).replace("swap", "begin")
    routine = ("begin", "4887e3 ffd1", b"")
    body = ("f", "4883ec08 e8@leaf.e8@back.0f0b", FRAME)
    start = ("_start", MAP + again + EXIT, OUTERMOST)
    answer = check(command, tmp_path, [start, routine, BACK, body, LEAF])
    assert answer.findings == []
    assert gaps(answer) == [("refused", "begin", "sampled", 2)]
    assert answer.json["caller_verdicts"]["refused"] == 2


def test_a_large_frame_that_is_never_left(command: Command, tmp_path: Path) -> None:
    """One wrong row behind the large step; the program ends without a return or a call."""
    # 0: sub $0x2000, %rsp; 7: nop; 8: nop; 9: mov $200, %ecx; 14: dec %ecx; 16: jnz 14
    code = "4881ec00200000 90 90 b9c8000000 ffc9 75fc" + EXIT
    body = ("f", code, advance(8) + cfa_offset(0x2008))
    answer = check(command, tmp_path, [("_start", "e8@f.", OUTERMOST), body])
    assert answer.findings == [("wrong-cfa", "f", "sampled", 7, 8)]


def test_a_function_that_comes_back(command: Command, tmp_path: Path) -> None:
    """f looks at another stack and goes on with its own: there it is checked as before."""
    start = ("_start", MAP + "498d9c2400800000 e8@f." + EXIT, OUTERMOST)  # lea 0x8000(%r12), %rbx
    # 0: xchg %rsp, %rbx; 3: the same; 6: nop; 7: call leaf; 12: ret
    body = (
        "f",
        "4887e3 4887e3 90 e8@leaf.c3",
        advance(6) + cfa_offset(16) + advance(6) + cfa_offset(8),
    )
    answer = check(command, tmp_path, [start, body, LEAF])
    assert answer.findings == [("wrong-cfa", "f", "sampled", 6, 12)]
    assert answer.json["findings"][0]["count"] == 2
    # On the other stack it finds a return address of 0; the other 14 are of _start.
    assert answer.json["verdicts"]["outermost"] == 15


# ---- calls into the own function that go on to another one

THUNK = (
    "4883ec08 488d05@g.eb11"  # 0: sub $8, %rsp; lea g, %rax; jmp 30
    "e807000000 f390 0faee8 ebf9"  # 13: call 25; 18: pause; lfence; jmp 18
    "48890424 c3"  # 25: mov %rax, (%rsp); ret
    "e8eaffffff 4883c408 c3"  # 30: call 13; add $8, %rsp; ret
)


@pytest.mark.parametrize(("inner", "findings"), [
    (32, []),
    (24, [("wrong-cfa", "f", "sampled", 25, 29)]),  # a call of 13, but for the frame
])  # fmt: skip
def test_a_thunk_inside_the_function(
    inner: int, findings: list[object], command: Command, tmp_path: Path
) -> None:
    """call *%rax by two calls and a return, as compilers do against speculation."""
    rules = (
        FRAME + advance(9) + cfa_offset(24) + advance(12) + cfa_offset(inner)
        + advance(4) + cfa_offset(32) + advance(1) + cfa_offset(16) + advance(9) + cfa_offset(8)
    )  # fmt: skip
    functions = [("_start", "e8@f." + EXIT, OUTERMOST), ("f", THUNK, rules), G]
    answer = check(command, tmp_path, functions)
    assert answer.findings == findings
    assert answer.json["truth"]["calls"] == 2
    assert answer.json["caller_verdicts"] == {"outermost": 1, "exact": 1}


def test_a_thunk_behind_fetches_of_the_pc(command: Command, tmp_path: Path) -> None:
    """Those before, of the same place, are over when SP is above them."""
    # mov $5, %ecx; call over a nop; pop %rax; dec %ecx; jnz back to the call
    fetches = "b905000000 e802000000 6690 58 ffc9 75f4"
    body = ("f", fetches + THUNK, None)
    answer = check(command, tmp_path, [("_start", "e8@f." + EXIT, OUTERMOST), body, G])
    assert answer.findings == []
    assert answer.json["truth"]["calls"] == 2
    assert answer.json["verdicts"]["exact"] == 1


def test_a_fetch_of_the_pc_before_a_tail_call(command: Command, tmp_path: Path) -> None:
    """bl inside f at the SP of its entry; then leaf runs in its place."""
    # mov x9, x30; bl +8; nop; mov x0, x30; mov x30, x9; b leaf
    code = (0xAA1E03E9, 0x94000002, 0xD503201F, 0xAA1E03E0, 0xAA0903FE, 0x14000001)
    moved = advance(4) + bytes((REGISTER, 30, 9)) + advance(16) + bytes((0x08, 30))
    functions = arm(b"")
    functions[1] = Made("f", b"".join(word.to_bytes(4, "little") for word in code), moved)
    path = write_program(tmp_path / "prog", AARCH64, functions)
    answer = command.check(path, "--table", "cfi")
    assert answer.findings == []
    assert (answer.json["truth"]["calls"], answer.json["truth"]["returns"]) == (1, 1)


def arm(rules: bytes) -> list[Made]:
    """f calls a stub of its own, which jumps to leaf."""
    code = (0xA9BF7BFD, 0x100000C1, 0x94000003, 0xA8C17BFD, 0xD65F03C0, 0xAA0103F0, 0xD61F0200)
    start = (0x94000004, 0xD2800000, 0xD2800BA8, 0xD4000001)
    frame = advance(4) + cfa_offset(16) + saved(29, 16) + saved(30, 8)
    gone = advance(12) + cfa_offset(0) + restored(29) + restored(30)
    return [
        outermost(AARCH64, b"".join(word.to_bytes(4, "little") for word in start)),
        Made("f", b"".join(word.to_bytes(4, "little") for word in code), frame + gone + rules),
        Made("leaf", (0xD65F03C0).to_bytes(4, "little"), b""),
    ]


@pytest.mark.parametrize(
    ("rules", "findings"),
    [
        (b"", []),  # the stub's rows are those of a function that was called
        (advance(4) + cfa_offset(16) + saved(29, 16) + saved(30, 8), []),  # those of f
        (advance(4) + cfa_offset(32), [("wrong-cfa", "f", "sampled", 20, 28)]),
    ],
)
def test_a_stub_inside_the_function_on_aarch64(
    rules: bytes, findings: list[object], command: Command, tmp_path: Path
) -> None:
    """bl to a jump: leaf is called, with the frame of f below it."""
    answer = command.check(write_program(tmp_path / "prog", AARCH64, arm(rules)), "--table", "cfi")
    assert answer.findings == findings
    assert (answer.json["truth"]["calls"], answer.json["truth"]["returns"]) == (2, 2)
    assert answer.json["caller_verdicts"] == {"outermost": 1, "exact": 1}


def test_a_stub_inside_the_function_on_s390x(command: Command, tmp_path: Path) -> None:
    """The same with brasl and br %r1."""
    start = bytes.fromhex("c0e500000006 a7290000 0a01".replace(" ", ""))
    code = bytes.fromhex(
        # stmg; aghi; larl %r1,leaf; brasl %r14,stub; lmg; br %r14; stub: br %r1
        "ebbff0580024 a7fbff60 c0100000000b c0e500000007 ebbff0f80004 07fe 07f1".replace(" ", "")
    )
    rules = (
        advance(6) + saved(14, 48) + saved(11, 72) + advance(4) + cfa_offset(320)
        + advance(18) + cfa_offset(160) + restored(14) + restored(11)
    )  # fmt: skip
    functions = [outermost(S390X, start), Made("f", code, rules), Made("leaf", b"\x07\xfe", b"")]
    path = write_program(tmp_path / "prog", S390X, functions)
    answer = command.check(path, "--table", "cfi")
    assert answer.findings == []
    assert answer.json["truth"]["calls"] == 2


# ---- calls by other means


def test_a_call_by_push_and_jump(command: Command, tmp_path: Path) -> None:
    """The return address that g is entered with is that behind the jump.

    One byte before it the row of f is another one: as a caller it is wrong.
    """
    # lea 6(%rip), %rax; push %rax; jmp g; ret
    rules = advance(8) + cfa_offset(16) + advance(5) + cfa_offset(8)
    body = ("f", "488d0506000000 50 e9@g.c3", rules)
    answer = check(command, tmp_path, [("_start", "e8@f." + EXIT, OUTERMOST), body, LEAF, G])
    assert answer.findings == [("wrong-cfa", "f", "caller", 8, 13)]
    assert answer.json["verdicts"]["exact"] == 5
    assert answer.json["truth"]["calls"] == 2


def test_a_start_that_stores_where_to_return(command: Command, tmp_path: Path) -> None:
    """Nothing is called yet: the return address may be in any function."""
    start = ("_start", "488d05@finish.50 e9@f.", OUTERMOST)  # lea finish, %rax; push %rax; jmp f
    body = ("f", "4883ec08 e8@leaf.4883c408 c3", FRAME + advance(9) + cfa_offset(8))
    answer = check(command, tmp_path, [start, LEAF, body, ("finish", EXIT, OUTERMOST)])
    assert (answer.findings, gaps(answer)) == ([], [])
    assert answer.json["verdicts"] == {"exact": 5, "outermost": 6}


def test_a_call_by_load_and_jump(command: Command, tmp_path: Path) -> None:
    """larl %r14, then jg: leaf returns to behind the jump."""
    start = bytes.fromhex("c0e500000006 a7290000 0a01".replace(" ", ""))
    code = bytes.fromhex(
        # stmg; aghi; larl %r14,22; jg leaf; lmg; br %r14
        "ebbff0580024 a7fbff60 c0e000000006 c0f400000007 ebbff0f80004 07fe".replace(" ", "")
    )
    rules = (
        advance(6) + saved(14, 48) + saved(11, 72) + advance(4) + cfa_offset(320)
        + advance(18) + cfa_offset(160) + restored(14) + restored(11)
    )  # fmt: skip
    functions = [outermost(S390X, start), Made("f", code, rules), Made("leaf", b"\x07\xfe", b"")]
    path = write_program(tmp_path / "prog", S390X, functions)
    answer = command.check(path, "--table", "cfi")
    assert (answer.findings, answer.json["gaps"]) == ([], [])
    assert answer.json["truth"]["calls"] == 2


@pytest.mark.parametrize(
    "register",
    [
        pytest.param("c0e00000000a", id="a function to call at exit"),  # larl %r14,finish
        pytest.param("c00400000000", id="what the call has left"),  # jgnop
    ],
)
def test_a_start_that_jumps_to_the_program(command: Command, tmp_path: Path, register: str) -> None:
    """An interpreter enters a program, which returns nowhere, whatever %r14 holds."""
    # brasl %r14,leaf; ...; jg main
    start = bytes.fromhex("c0e50000000c" + register + "c0f400000003")
    leave = bytes.fromhex("a72900000a01")
    functions = [
        outermost(S390X, start), outermost(S390X, leave),
        Made("leaf", b"\x07\xfe", b""), Made("finish", leave, None),
    ]  # fmt: skip
    path = write_program(tmp_path / "prog", S390X, functions)
    answer = command.check(path, "--table", "cfi")
    assert (answer.findings, answer.json["gaps"]) == ([], [])
    assert answer.json["verdicts"] == {"exact": 1, "outermost": 5}


# ---- calls inside what is all one function to its table


def test_a_call_inside_a_function_that_calls_on(command: Command, tmp_path: Path) -> None:
    """An interpreter in assembly has one FDE: calls among its parts are calls all the same."""
    # vm: sub $24, %rsp; call inner; add $24, %rsp; ret; inner: sub $8, %rsp; call leaf; ...
    body = "4883ec18 e805000000 4883c418 c3 4883ec08 e8@leaf.4883c408 c3"
    rules = (
        advance(4) + cfa_offset(32) + advance(9) + cfa_offset(8)
        + advance(5) + cfa_offset(16) + advance(9) + cfa_offset(8)
    )  # fmt: skip
    functions = [("_start", "e8@vm." + EXIT, OUTERMOST), ("vm", body, rules), LEAF]
    answer = check(command, tmp_path, functions)
    assert (answer.findings, gaps(answer)) == ([], [])
    assert answer.json["truth"]["calls"] == answer.json["truth"]["returns"] == 3


def test_wrong_rows_of_a_call_inside_a_function(command: Command, tmp_path: Path) -> None:
    """The same, but the row behind the inner prologue is that of before it."""
    body = "4883ec18 e805000000 4883c418 c3 4883ec08 e8@leaf.4883c408 c3"
    rules = advance(4) + cfa_offset(32) + advance(9) + cfa_offset(8)
    functions = [("_start", "e8@vm." + EXIT, OUTERMOST), ("vm", body, rules), LEAF]
    answer = check(command, tmp_path, functions)
    # From the call of leaf on it is certain; before it, both readings of `call inner` are wrong.
    assert answer.findings == [("wrong-cfa", "vm", "sampled", 18, 27)]


def test_a_recursion_inside_a_function(command: Command, tmp_path: Path) -> None:
    """Ten deep, without another call."""
    # vm: mov $10, %ecx; call inner; ret; inner: dec %ecx; jz out; push %rax; call inner; pop %rax
    body = "b90a000000 e801000000 c3 ffc9 7407 50 e8f6ffffff 58 c3"
    rules = advance(16) + cfa_offset(16) + advance(6) + cfa_offset(8)
    functions = [("_start", "e8@vm." + EXIT, OUTERMOST), ("vm", body, rules)]
    answer = check(command, tmp_path, functions)
    assert (answer.findings, gaps(answer)) == ([], [])


def test_a_call_inside_a_function_on_aarch64(command: Command, tmp_path: Path) -> None:
    """There the return address is saved by whom the call enters."""
    code = (
        0xA9BF7BFD, 0x94000003, 0xA8C17BFD, 0xD65F03C0,  # stp; bl inner; ldp; ret
        0xA9BF7BFD, 0x94000003, 0xA8C17BFD, 0xD65F03C0,  # inner: stp; bl leaf; ldp; ret
    )  # fmt: skip
    start = (0x94000004, 0xD2800000, 0xD2800BA8, 0xD4000001)
    frame = advance(4) + cfa_offset(16) + saved(29, 16) + saved(30, 8)
    gone = advance(8) + cfa_offset(0) + restored(29) + restored(30)
    functions = [
        outermost(AARCH64, b"".join(word.to_bytes(4, "little") for word in start)),
        Made("f", b"".join(word.to_bytes(4, "little") for word in code),
             frame + gone + advance(4) + frame + gone),
        Made("leaf", (0xD65F03C0).to_bytes(4, "little"), b""),
    ]  # fmt: skip
    answer = command.check(write_program(tmp_path / "prog", AARCH64, functions), "--table", "cfi")
    assert answer.findings == []
    assert answer.json["truth"]["calls"] == answer.json["truth"]["returns"] == 3
