"""Who is blamed, for what range, in which role: programs made by hand, byte by byte."""

import struct
from pathlib import Path

import pytest

from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64
from tests.support.made import Made, outermost, write_program
from tests.support.runs import Answer, Command

pytestmark = pytest.mark.compiled

# Call frame instructions (DWARF 5, section 7.24); offsets are in units of -8.
UNDEFINED, DEF_CFA, DEF_CFA_OFFSET = 0x07, 0x0C, 0x0E


def advance(size: int) -> bytes:
    """DW_CFA_advance_loc."""
    return bytes((0x40 | size,))


def saved(register: int, below: int) -> bytes:
    """DW_CFA_offset: the register is saved `below` bytes under the CFA."""
    return bytes((0x80 | register, below // 8))


def cfa_offset(value: int) -> bytes:
    """DW_CFA_def_cfa_offset."""
    return bytes((DEF_CFA_OFFSET,)) + leb(value)


def cfa(register: int, value: int) -> bytes:
    """DW_CFA_def_cfa."""
    return bytes((DEF_CFA, register)) + leb(value)


def leb(value: int) -> bytes:
    """ULEB128 of a number below 16384."""
    return bytes((value,)) if value < 128 else bytes((value & 127 | 128, value >> 7))


def words(*values: int) -> bytes:
    """aarch64 instructions."""
    return struct.pack(f"<{len(values)}I", *values)


STP, LDP, RET = 0xA9BF7BFD, 0xA8C17BFD, 0xD65F03C0
"""stp x29, x30, [sp, #-16]!; ldp x29, x30, [sp], #16; ret."""
# bl to the function behind these four; exit(0).
ARM_START = words(0x94000004, 0xD2800000, 0xD2800BA8, 0xD4000001)
ARM_LEAF = Made("leaf", words(RET), b"")
# f: its call is at offset 4, leaf follows at once (three instructions further).
ARM_FRAMED = words(STP, 0x94000003, LDP, RET)


def check(command: Command, path: str) -> Answer:
    """The run against .eh_frame."""
    return command.check(path, "--table", "cfi")


def caller_gaps(answer: Answer) -> list[tuple[str, str, int, int]]:
    """(verdict, function, first offset, offset behind) of gaps with the caller's role."""
    return [
        (g["verdict"], g["function"], g["start_offset"],
         g["start_offset"] + int(g["end"], 16) - int(g["start"], 16))
        for g in answer.json["gaps"] if g["role"] == "caller"
    ]  # fmt: skip


def arm_program(folder: Path, rules: bytes) -> str:
    """_start calls f, which has a frame record and calls leaf."""
    functions = [outermost(AARCH64, ARM_START), Made("f", ARM_FRAMED, rules), ARM_LEAF]
    return write_program(folder / "prog", AARCH64, functions)


def test_right_rows(command: Command, tmp_path: Path) -> None:
    """The same program with the rules of a compiler: nothing is found."""
    frame = advance(4) + cfa_offset(16) + saved(29, 16) + saved(30, 8)
    path = arm_program(tmp_path, frame + advance(8) + cfa_offset(0) + b"\xdd\xde")
    answer = check(command, path)
    assert (answer.status, answer.findings, answer.json["gaps"]) == (0, [], [])
    assert answer.json["caller_verdicts"] == {"exact": 1, "outermost": 1}


def test_return_address_lost_by_the_call(command: Command, tmp_path: Path) -> None:
    """No rule for x30: right until the call, lost for the caller, wrong behind the call."""
    path = arm_program(tmp_path, advance(4) + cfa_offset(16) + advance(8) + cfa_offset(0))
    answer = check(command, path)
    assert answer.status == 1
    assert answer.findings == [
        ("lost-register", "f", "caller", 4, 8), ("wrong-ra", "f", "sampled", 8, 12),
    ]  # fmt: skip
    assert answer.json["caller_verdicts"] == {"lost-register": 1, "outermost": 1}


def test_two_verdicts_at_one_call(command: Command, tmp_path: Path) -> None:
    """CFA=sp in a frame: wrong where it is sampled, no progress where it is a caller's."""
    path = arm_program(tmp_path, advance(4) + saved(30, 8) + advance(8) + b"\xde")
    assert check(command, path).findings == [
        ("no-progress", "f", "caller", 4, 8), ("wrong-cfa", "f", "sampled", 4, 12),
    ]  # fmt: skip


def test_the_same_verdict_is_not_reported_twice(command: Command, tmp_path: Path) -> None:
    """CFA 16 too high: the caller's row is as wrong as the sampled one, and one finding."""
    frame = advance(4) + cfa_offset(32) + saved(29, 32) + saved(30, 24)
    path = arm_program(tmp_path, frame + advance(8) + cfa_offset(0) + b"\xdd\xde")
    answer = check(command, path)
    assert answer.findings == [("wrong-cfa", "f", "sampled", 4, 12)]
    assert answer.json["caller_verdicts"]["wrong-cfa"] == 1


def test_caller_cfa_in_another_register_on_x86_64(command: Command, tmp_path: Path) -> None:
    """f keeps its CFA in r10, which no unwinder tracks above the first frame: a gap, no finding."""
    start = bytes.fromhex("e809000000 31ff b83c000000 0f05".replace(" ", ""))
    f = bytes.fromhex("4c8d542408 e801000000 c3".replace(" ", ""))  # lea 8(%rsp), %r10; call
    rules = advance(5) + cfa(10, 0) + advance(5) + cfa(7, 8)
    functions = [outermost(X86_64, start), Made("f", f, rules), Made("leaf", b"\xc3", b"")]
    answer = check(command, write_program(tmp_path / "prog", X86_64, functions))
    assert (answer.status, answer.findings) == (0, [])
    assert caller_gaps(answer) == [("refused", "f", 5, 10)]
    assert answer.json["caller_verdicts"] == {"outermost": 1, "refused": 1}
    assert set(answer.json["verdicts"]) == {"exact", "outermost"}


def test_caller_cfa_in_another_register_on_s390x(command: Command, tmp_path: Path) -> None:
    """f keeps its CFA on r1; sampled it is right, as a caller it cannot be followed."""
    # brasl %r14,f; lghi %r2,0; svc 1
    start = bytes.fromhex("c0e500000006 a7290000 0a01".replace(" ", ""))
    f = bytes.fromhex(
        # stmg %r11,%r15,88(%r15); lgr %r1,%r15; aghi %r15,-160; brasl %r14,leaf;
        # lmg %r11,%r15,248(%r15); br %r14
        "ebbff0580024 b904001f a7fbff60 c0e500000007 ebbff0f80004 07fe".replace(" ", "")
    )
    rules = (
        advance(6) + saved(14, 48) + saved(11, 72) + advance(4) + cfa(1, 160)
        + advance(16) + cfa(15, 160) + b"\xce\xcb"
    )  # fmt: skip
    functions = [outermost(S390X, start), Made("f", f, rules), Made("leaf", b"\x07\xfe", b"")]
    answer = check(command, write_program(tmp_path / "prog", S390X, functions))
    assert (answer.status, answer.findings) == (0, [])
    assert caller_gaps(answer) == [("refused", "f", 14, 20)]


def test_a_call_from_code_without_rows(command: Command, tmp_path: Path) -> None:
    """The sampled gap covers the call: it is not listed a second time as a caller's."""
    functions = [outermost(AARCH64, ARM_START), Made("f", ARM_FRAMED, None), ARM_LEAF]
    answer = check(command, write_program(tmp_path / "prog", AARCH64, functions))
    assert [(g["verdict"], g["function"], g["role"]) for g in answer.json["gaps"]] == [
        ("no-fde", "f", "sampled")
    ]
    assert answer.json["caller_verdicts"] == {"no-fde": 1, "outermost": 1}


def test_what_is_not_executed_does_not_split_a_finding(command: Command, tmp_path: Path) -> None:
    """f jumps over one of its three instructions; all rows are wrong: one range, two executions."""
    code = words(0x14000002, 0xD503201F, RET)  # b +8; nop; ret
    functions = [outermost(AARCH64, ARM_START), Made("f", code, cfa_offset(16))]
    answer = check(command, write_program(tmp_path / "prog", AARCH64, functions))
    assert answer.findings == [("wrong-cfa", "f", "sampled", 0, 12)]
    assert answer.json["findings"][0]["count"] == 2


def test_a_right_instruction_splits_a_finding(command: Command, tmp_path: Path) -> None:
    """wrong, right, wrong."""
    code = words(0xD503201F, 0xD503201F, RET)
    rules = cfa_offset(16) + advance(4) + cfa_offset(0) + advance(4) + cfa_offset(16)
    functions = [outermost(AARCH64, ARM_START), Made("f", code, rules)]
    answer = check(command, write_program(tmp_path / "prog", AARCH64, functions))
    assert answer.findings == [
        ("wrong-cfa", "f", "sampled", 0, 4), ("wrong-cfa", "f", "sampled", 8, 12),
    ]  # fmt: skip


def test_findings_do_not_cross_functions(command: Command, tmp_path: Path) -> None:
    """f runs on into leaf, both are wrong: one finding each."""
    functions = [
        outermost(AARCH64, ARM_START), Made("f", words(0xD503201F), cfa_offset(16)),
        Made("leaf", words(RET), cfa_offset(16)),
    ]  # fmt: skip
    answer = check(command, write_program(tmp_path / "prog", AARCH64, functions))
    assert answer.findings == [
        ("wrong-cfa", "f", "sampled", 0, 4), ("wrong-cfa", "leaf", "sampled", 0, 4),
    ]  # fmt: skip


def test_a_return_address_of_zero_at_the_bottom(command: Command, tmp_path: Path) -> None:
    """_start is not marked, but its row reads the zero behind argv: the stack ends there too."""
    start = bytes.fromhex("31ff b83c000000 0f05".replace(" ", ""))  # exit(0)
    # The stack is argc, argv[0], 0: the word at SP + 16 is CFA - 8 with CFA = SP + 24.
    path = write_program(tmp_path / "prog", X86_64, [Made("_start", start, cfa_offset(24))])
    answer = check(command, path)
    assert (answer.status, answer.findings) == (0, [])
    assert answer.json["verdicts"] == {"outermost": 3}


def test_a_return_address_of_zero_elsewhere(command: Command, tmp_path: Path) -> None:
    """In f a zero is a wrong return address, not an end."""
    start = bytes.fromhex("6a00 e809000000 31ff b83c000000 0f05".replace(" ", ""))  # push $0; call
    # f: the word above its return address is the pushed 0, so RA = c+0 reads it.
    rules = bytes((0x11, 16, 0))  # DW_CFA_offset_extended_sf: at CFA + 0
    functions = [outermost(X86_64, start), Made("f", b"\xc3", rules)]
    answer = check(command, write_program(tmp_path / "prog", X86_64, functions))
    assert answer.findings == [("wrong-ra", "f", "sampled", 0, 1)]
    assert answer.json["findings"][0]["got"]["ra"] == "0x0"


def test_a_program_without_symbols_or_rows(command: Command, tmp_path: Path) -> None:
    """Nothing is known of any function: all of it is one gap."""
    start = bytes.fromhex("31ff b83c000000 0f05".replace(" ", ""))
    path = write_program(tmp_path / "prog", X86_64, [Made("", start, None)])
    answer = check(command, path)
    assert answer.status == 0
    assert [(g["verdict"], g["role"], g["count"]) for g in answer.json["gaps"]] == [
        ("no-fde", "sampled", 3)
    ]


# ---- loops: later executions rest on what an earlier verdict of the same row found


def looped(command: Command, folder: Path, code: str, rules: bytes = b"") -> Answer:
    """_start calls f of this x86-64 code."""
    start = bytes.fromhex("e809000000 31ff b83c000000 0f05".replace(" ", ""))
    functions = [outermost(X86_64, start), Made("f", bytes.fromhex(code.replace(" ", "")), rules)]
    return check(command, write_program(folder / "prog", X86_64, functions))


def test_return_address_overwritten_in_a_loop(command: Command, tmp_path: Path) -> None:
    """Each time around its slot holds 0 for one instruction."""
    answer = looped(
        command, tmp_path,
        "488b1424"  # 0: mov (%rsp), %rdx
        "b903000000"  # 4: mov $3, %ecx
        "48c7042400000000"  # 9: movq $0, (%rsp)
        "48891424"  # 17: mov %rdx, (%rsp)
        "ffc9"  # 21: dec %ecx
        "75f0"  # 23: jne 9
        "c3",
    )  # fmt: skip
    assert answer.findings == [("wrong-ra", "f", "sampled", 17, 21)]
    assert (answer.json["findings"][0]["count"], answer.json["findings"][0]["checked"]) == (3, 3)


def test_saved_fp_overwritten_in_a_loop(command: Command, tmp_path: Path) -> None:
    """The slot of %rbp holds 7 for one instruction each time."""
    answer = looped(
        command, tmp_path,
        "55"  # 0: push %rbp
        "b903000000"  # 1: mov $3, %ecx
        "48c7042407000000"  # 6: movq $7, (%rsp)
        "48892c24"  # 14: mov %rbp, (%rsp)
        "ffc9"  # 18: dec %ecx
        "75f0"  # 20: jne 6
        "5d"  # 22: pop %rbp
        "c3",
        advance(1) + cfa_offset(16) + saved(6, 16) + advance(22) + cfa_offset(8) + b"\xc6",
    )  # fmt: skip
    assert answer.findings == [("wrong-fp", "f", "sampled", 14, 18)]
    assert answer.json["findings"][0]["count"] == 3


def test_sp_moved_in_a_loop(command: Command, tmp_path: Path) -> None:
    """A push and a pop that are not noted: the pop is wrong each time."""
    answer = looped(
        command, tmp_path,
        "b903000000"  # 0: mov $3, %ecx
        "50"  # 5: push %rax
        "58"  # 6: pop %rax
        "ffc9"  # 7: dec %ecx
        "75fa"  # 9: jne 5
        "c3",
    )  # fmt: skip
    assert answer.findings == [("wrong-cfa", "f", "sampled", 6, 7)]
    assert answer.json["findings"][0]["count"] == 3


def test_fp_changed_in_a_loop(command: Command, tmp_path: Path) -> None:
    """%rbp of the caller is lost for one instruction each time."""
    answer = looped(
        command, tmp_path,
        "4889e8"  # 0: mov %rbp, %rax
        "b903000000"  # 3: mov $3, %ecx
        "bd07000000"  # 8: mov $7, %ebp
        "4889c5"  # 13: mov %rax, %rbp
        "ffc9"  # 16: dec %ecx
        "75f4"  # 18: jne 8
        "c3",
    )  # fmt: skip
    assert answer.findings == [("wrong-fp", "f", "sampled", 13, 16)]
    assert answer.json["findings"][0]["count"] == 3


def test_a_scratch_fp_in_a_loop_is_right(command: Command, tmp_path: Path) -> None:
    """Where %rbp is saved it may hold anything."""
    answer = looped(
        command, tmp_path,
        "55"  # 0: push %rbp
        "b903000000"  # 1: mov $3, %ecx
        "01cd"  # 6: add %ecx, %ebp
        "ffc9"  # 8: dec %ecx
        "75fa"  # 10: jne 6
        "5d"  # 12: pop %rbp
        "c3",
        advance(1) + cfa_offset(16) + saved(6, 16) + advance(12) + cfa_offset(8) + b"\xc6",
    )  # fmt: skip
    assert (answer.status, answer.findings) == (0, [])


def test_a_leaf_called_in_a_loop(command: Command, tmp_path: Path) -> None:
    """f keeps its return address in x9 and does not say so: wrong from the first return on.

    leaf has the same row and the same SP, so only the return tells f from it.
    """
    code = words(
        0xAA1E03E9,  # 0: mov x9, x30
        0xD280006A,  # 4: mov x10, #3
        0x94000005,  # 8: bl leaf
        0xF100054A,  # 12: subs x10, x10, #1
        0x54FFFFC1,  # 16: b.ne 8
        0xAA0903FE,  # 20: mov x30, x9
        RET,  # 24
    )
    functions = [outermost(AARCH64, ARM_START), Made("f", code, b""), ARM_LEAF]
    answer = check(command, write_program(tmp_path / "prog", AARCH64, functions))
    assert answer.findings == [
        ("no-progress", "f", "caller", 8, 12), ("wrong-ra", "f", "sampled", 8, 24),
    ]  # fmt: skip
    assert [(f["count"], f["checked"]) for f in answer.json["findings"]] == [(3, 3), (9, 10)]


def test_a_call_into_the_own_function(command: Command, tmp_path: Path) -> None:
    """call over two bytes to a pop: it only fetches the PC, and its note says so."""
    answer = looped(
        command, tmp_path,
        "e802000000"  # 0: call 7
        "6690"  # 5: nop
        "58"  # 7: pop %rax
        "c3",
        advance(7) + cfa_offset(16) + advance(1) + cfa_offset(8),
    )  # fmt: skip
    assert (answer.status, answer.findings) == (0, [])
    assert answer.json["truth"]["calls"] == 1
