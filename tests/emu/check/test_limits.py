"""A run always ends in time: limits that hold whatever the guest does, and waits without an end."""

import time
from pathlib import Path

import pytest

from arch import Arch
from arch.aarch64 import AARCH64
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.check.options import RunOptions
from emu.check.run import Run
from emu.verdict import Verdict
from tests.emu.machine.elf_program import CODE, Program, R, Segment, W, X
from tests.support.made import outermost, write_program
from tests.support.runs import Answer, Command, program

pytestmark = pytest.mark.compiled

SECONDS = 0.3
MOST = 1_000_000
"""Instructions: so that a limit of time that is not kept fails the test and does not hang it."""


def timed_out(command: Command, path: str, *options: str) -> Answer:
    """Run it for SECONDS: it must have stopped for that reason, and not much later."""
    begin = time.monotonic()
    answer = command.check(
        path, "--timeout", str(SECONDS), "--max-instructions", str(MOST), *options
    )
    taken = time.monotonic() - begin
    assert (answer.status, answer.json["guest"]["stopped"]) == (2, "timeout")
    (line,) = answer.stderr.splitlines()
    assert path in line
    assert f"{SECONDS:g} s" in line
    assert taken < 2 * SECONDS + 3
    return answer


@pytest.mark.parametrize(
    ("arch", "code"),
    [
        (X86_64, "b8270000000f05ebf7"),  # mov $39, %eax; syscall; jmp back
        (AARCH64, "881580d2010000d4feffff17"),  # mov x8, #172; svc #0; b back
        (S390X, "0a14a7f4ffff"),  # svc 20; j back
    ],
    ids=["x86_64", "aarch64", "s390x"],
)
def test_time_ends_a_loop_of_system_calls(
    arch: Arch, code: str, command: Command, tmp_path: Path
) -> None:
    """getpid for ever: the emulator is left and entered again at each of them."""
    path = write_program(tmp_path / "prog", arch, [outermost(arch, bytes.fromhex(code))])
    timed_out(command, path)


def test_time_ends_code_that_changes_itself(command: Command, tmp_path: Path) -> None:
    """Each turn of the loop increments an operand in it, so that it is translated anew."""
    # 1: incb 2f+1(%rip); 2: mov $5, %al; jmp 1b
    code = bytes.fromhex("fe0501000000b005ebf6")
    path = tmp_path / "prog"
    path.write_bytes(Program(X86_64, [Segment(CODE, code, R | W | X)]).to_bytes())
    timed_out(command, str(path), "--table", "cfi")


def test_verdicts_of_a_run_that_time_ended(command: Command, tmp_path: Path) -> None:
    """Each instruction until then has one, and all are of _start."""
    code = bytes.fromhex("b8270000000f05ebf7")
    path = write_program(tmp_path / "prog", X86_64, [outermost(X86_64, code)])
    answer = timed_out(command, path).json
    assert answer["verdicts"] == {"outermost": answer["guest"]["instructions"]}


# ---- waits for what cannot happen


@pytest.mark.parametrize(
    ("arch", "code", "reason"),
    [
        # mov $34, %eax; syscall: pause; a nop, here and below, so that the PC stays in _start
        (X86_64, "b8220000000f0590", "signal"),
        # poll(NULL, 0, -1): xor %edi, %edi; xor %esi, %esi; or $-1, %edx; mov $7, %eax; syscall
        (X86_64, "31ff31f683caffb8070000000f0590", "poll"),
        # rt_sigsuspend(_start, 8): lea (%rip), %rdi at _start; mov $8, %esi; mov $130, %eax
        (X86_64, "488d3df9ffffffbe08000000b8820000000f0590", "signal"),
        # ppoll(NULL, 0, NULL, NULL): x0 to x3 are 0; mov x8, #73; svc #0
        (AARCH64, "000080d2010080d2020080d2030080d2280980d2010000d41f2003d5", "poll"),
        # rt_sigsuspend: adr x0, .; mov x1, #8; mov x8, #133; svc #0
        (AARCH64, "00000010010180d2a81080d2010000d41f2003d5", "signal"),
        (S390X, "0a1d0707", "signal"),  # svc 29: pause
        # poll(NULL, 0, -1): lghi %r2, 0; lghi %r3, 0; lghi %r4, -1; svc 168
        (S390X, "a7290000a7390000a749ffff0aa80707", "poll"),
    ],
    ids=["x86_64-pause", "x86_64-poll", "x86_64-sigsuspend", "aarch64-ppoll",
         "aarch64-sigsuspend", "s390x-pause", "s390x-poll"],
)  # fmt: skip
def test_a_wait_without_an_end(
    arch: Arch, code: str, reason: str, command: Command, tmp_path: Path
) -> None:
    """Nothing can wake the only thread: exit status 2, the place and the reason, at once."""
    path = write_program(tmp_path / "prog", arch, [outermost(arch, bytes.fromhex(code))])
    answer = command.check(path, "--timeout", "20", "--max-instructions", "1000")
    assert answer.status == 2
    assert answer.json["guest"]["stopped"] == "timeout"
    assert answer.json["guest"]["exit_status"] is None
    (line,) = answer.stderr.splitlines()
    assert path in line
    assert "_start" in line
    assert reason in line


def test_a_poll_that_ends(command: Command, tmp_path: Path) -> None:
    """With a time-out it returns, and the guest goes on."""
    # poll(NULL, 0, 9): then exit(0)
    code = bytes.fromhex(
        "31ff31f6ba09000000b8070000000f05"  # ...; mov $9, %edx; mov $7, %eax; syscall
        "31ffb83c0000000f05"  # xor %edi, %edi; mov $60, %eax; syscall
    )
    path = write_program(tmp_path / "prog", X86_64, [outermost(X86_64, code)])
    answer = command.check(path)
    assert (answer.status, answer.json["guest"]["stopped"]) == (0, "exit")


# ---- deep stacks


def test_a_walk_of_a_deep_stack_gets_to_its_end() -> None:
    """deep calls itself 139,999 times, then leaf: with the call of _start 140,001 callers."""
    run = Run(program("x86_64-deep"), RunOptions(table="sframe", at="leaf"))
    (sample,) = run.to_end(stop_at_point=True).samples
    assert len(sample.truth) == 140_001
    walk = sample.walks["sframe"]
    assert (walk.stop, sample.verdict) == (Verdict.OUTERMOST, Verdict.EXACT)
    assert tuple(walk.return_addresses) == sample.truth
