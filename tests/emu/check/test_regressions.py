"""Faults that the check once had, each by the smallest program that shows it.

Those that a whole program shows by its findings and gaps are cases of `tests/data/run`.
"""

import os
import struct
from importlib.metadata import version
from pathlib import Path

import pytest

from arch import Arch
from arch.x86_64 import X86_64
from emu.check.result import judge_walk
from emu.image import load_image
from emu.trace import Frame, FrameKind, Trace
from emu.unwind.walker import MOST_FRAMES
from emu.verdict import Verdict
from tests.emu.machine.elf_program import CODE, Program, Segment
from tests.support.made import Made, outermost, write_program
from tests.support.runs import ENDLESS, Answer, Command, patched, program
from tests.support.waits import waits_at_most

pytestmark = pytest.mark.compiled

CHAINS = {arch: f"{arch}-clean-chain" for arch in ("x86_64", "aarch64", "s390x")}
HIGH = 1 << 63
EXIT = bytes.fromhex("31ffb83c0000000f05")
"""xor %edi, %edi; mov $60, %eax; syscall."""


# ---- addresses in the upper half


def high_function(arch: Arch, folder: Path) -> str:
    """_start loops for ever; a second function's FDE says that it lies below address 0."""
    path = write_program(
        folder / "prog", arch, [outermost(arch, ENDLESS[arch.name]), Made("ghost", bytes(16), b"")]
    )
    section = load_image(path).section(".eh_frame")
    assert section is not None
    data = bytearray(Path(path).read_bytes())
    # The last entry has 17 bytes; its relative start is the third word.
    field = section.offset + section.size - 17 + 8
    data[field : field + 4] = (-0x4000_0000).to_bytes(4, arch.byte_order, signed=True)
    Path(path).write_bytes(data)
    return path


def test_a_function_above_the_middle_in_eh_frame(
    arch: Arch, command: Command, tmp_path: Path
) -> None:
    """An FDE at or above 2^63 describes nothing that runs; the others hold."""
    path = high_function(arch, tmp_path)
    answer = command.check(path, "--table", "cfi", "--max-instructions", "100")
    assert answer.json["verdicts"] == {"outermost": 100}
    assert "limit of 100 instructions" in answer.stderr


def test_a_function_above_the_middle_in_sframe(command: Command, tmp_path: Path) -> None:
    """leaf's entry is moved to 2^63: leaf is a gap, everything else is right."""
    image = load_image(program("x86_64-clean-chain"))
    section = image.section(".sframe")
    assert section is not None
    leaf = next(s.value for s in image.symbols if s.name == "leaf")
    data = bytearray(image.data)
    # SFrame V3: a header of 28 bytes, then entries of 16, which begin with the start's distance.
    for at in range(section.offset + 28, section.offset + section.size, 16):
        address = section.addr + at - section.offset
        if struct.unpack_from("<q", data, at)[0] + address == leaf:
            struct.pack_into("<q", data, at, HIGH + 0x1000 - address)
            break
    else:
        pytest.fail("no entry of leaf")
    path = tmp_path / "prog"
    path.write_bytes(data)
    answer = command.check(str(path), "--table", "sframe")
    assert {gap["function"] for gap in answer.json["gaps"]} == {"leaf"}


@pytest.mark.parametrize("table", ["fp", "cfi", "sframe"])
def test_code_above_the_middle_cannot_be_loaded(
    table: str, command: Command, tmp_path: Path
) -> None:
    """No user address space reaches there: refused with the file's name."""
    made = Program(X86_64, [Segment(HIGH + CODE, EXIT)], entry=HIGH + CODE)
    path = tmp_path / "prog"
    path.write_bytes(made.to_bytes())
    assert str(path) in command.refuse("check", "--table", table, str(path))


def test_more_code_above_the_middle(command: Command, tmp_path: Path) -> None:
    """A second segment there, which nothing jumps to: the program is refused as well."""
    made = Program(X86_64, [Segment(CODE, EXIT), Segment(HIGH + CODE, EXIT)])
    path = tmp_path / "prog"
    path.write_bytes(made.to_bytes())
    assert str(path) in command.refuse("check", "--table", "fp", str(path))


# ---- files


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",), ("backtrace", "--at", "leaf"), ("dump",), ("synth",), ("compare",),
        ("convert", "--sframe-version", "3"),
    ],
    ids=lambda arguments: arguments[0],
)  # fmt: skip
def test_a_pipe_is_no_file(
    arguments: tuple[str, ...], command: Command, tmp_path: Path
) -> None:
    """A FIFO that nobody writes to is refused at once, by every command that reads a file."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with waits_at_most(5):
        line = command.refuse(*arguments, str(path))
    assert str(path) in line
    assert "not a regular file" in line


@pytest.mark.parametrize("name", CHAINS.values())
def test_too_little_memory_for_the_program(name: str, command: Command) -> None:
    """The stack alone does not fit into 64 KiB: the line names the program."""
    assert program(name) in command.refuse("check", "--memory", "64K", program(name))


@pytest.mark.parametrize("name", ["check", "backtrace"])
def test_an_empty_point(name: str, command: Command) -> None:
    """``--at ''`` is no way to say that there is no point."""
    assert "--at" in command.refuse(name, "--at", "", program("x86_64-clean-chain"))


def test_version(command: Command) -> None:
    """The installed one, on a line of standard output."""
    answer = command("--version")
    assert (answer.status, answer.stdout) == (0, f"unwindlab {version('unwindlab')}\n")


# ---- a program without section headers


def without_headers(name: str, folder: Path) -> str:
    """A case's program whose section headers cannot be found."""
    data = bytearray(Path(program(name)).read_bytes())
    order = "<" if data[5] == 1 else ">"
    struct.pack_into(order + "Q", data, 40, 0)  # e_shoff
    struct.pack_into(order + "3H", data, 58, 0, 0, 0)  # e_shentsize, e_shnum, e_shstrndx
    path = folder / "prog"
    path.write_bytes(data)
    return str(path)


def places(answer: Answer) -> list[tuple[str, str, str, str]]:
    """Verdict, role, start and end of each finding."""
    return [(f["verdict"], f["role"], f["start"], f["end"]) for f in answer.json["findings"]]


@pytest.mark.parametrize("name", ["x86_64-wrong-ra", "aarch64-two-steps", "s390x-no-bias"])
@pytest.mark.parametrize("table", ["auto", "sframe"])
def test_the_segment_is_the_table(
    name: str, table: str, command: Command, tmp_path: Path
) -> None:
    """PT_GNU_SFRAME alone leads to the table, as the kernel finds it: the same findings."""
    path = without_headers(name, tmp_path)
    assert load_image(path).sections == ()
    whole, bare = (command.check(p, "--table", table) for p in (name, path))
    assert bare.status == whole.status == 1
    assert places(bare) == places(whole)
    assert bare.json["verdicts"] == whole.json["verdicts"]


@pytest.mark.parametrize("name", CHAINS.values())
def test_dump_by_the_segment(name: str, command: Command, tmp_path: Path) -> None:
    """The decoded functions and rows are those of the section."""
    path = without_headers(name, tmp_path)
    whole, bare = (command("dump", "--format", "json", p).json for p in (program(name), path))
    assert len(bare["fdes"]) == whole["num_fdes"] > 0
    for mine, wanted in zip(bare["fdes"], whole["fdes"], strict=True):
        # The name is that of a symbol, which the section headers lead to.
        assert mine | {"function": ""} == wanted | {"function": ""}


# ---- faults of the guest


@pytest.mark.parametrize(
    "code", [b"\xfa\xc3", b"\xf4\xc3", b"\xfb\xc3", b"\x0f\x20\xc0\xc3", b"\x0f\x30\xc3"],
    ids=["cli", "hlt", "sti", "mov-cr0", "wrmsr"],
)  # fmt: skip
def test_privileged_instructions(code: bytes, command: Command, tmp_path: Path) -> None:
    """SIGSEGV at the instruction itself, which has a verdict and is not executed."""
    path = patched(tmp_path, "x86_64-clean-chain", "leaf", 0, code)
    answer = command.check(path, "--table", "sframe")
    guest = answer.json["guest"]
    assert (answer.status, guest["stopped"], guest["signal"]) == (2, "fault", "SIGSEGV")
    assert guest["pc"] == "0x4000f8"
    (sample,) = answer.json["samples"]
    assert (sample["at"], sample["verdict"]) == ("leaf+0x0", "exact")
    (line,) = answer.stderr.splitlines()
    assert "(leaf+0x0)" in line


# ---- gaps


def test_code_in_no_module_is_one_gap(command: Command) -> None:
    """Twelve bytes run twice: one range, and not once more for the call in it."""
    (gap,) = command.check("x86_64-jit").json["gaps"]
    assert (gap["verdict"], gap["role"]) == ("no-module", "sampled")
    assert int(gap["end"], 16) - int(gap["start"], 16) == 12
    # sub, call, add, ret
    assert (gap["count"], gap["checked"]) == (8, 8)


def trace(stop: Verdict, *addresses: int) -> Trace:
    """A walk through these return addresses."""
    frames = [Frame(0x1000, FrameKind.SAMPLED, 0, 0)]
    frames += [Frame(address, FrameKind.CALLER, 0, 0) for address in addresses]
    return Trace(tuple(frames), stop)


@pytest.mark.parametrize(
    ("stop", "addresses", "wanted"),
    [
        (Verdict.OUTERMOST, (1, 2), Verdict.EXACT),
        (Verdict.NO_FDE, (1, 2), Verdict.NO_FDE),  # at the true bottom
        (Verdict.NO_TABLE, (1, 2), Verdict.NO_TABLE),
        (Verdict.REFUSED, (1, 2), Verdict.REFUSED),
        (Verdict.NO_FDE, (1,), Verdict.NO_FDE),
        (Verdict.NO_FDE, (3,), Verdict.WRONG_RA),
        (Verdict.NO_FDE, (1, 2, 3), Verdict.WRONG_END),
        (Verdict.UNREADABLE, (1, 2), Verdict.WRONG_END),
        (Verdict.UNREADABLE, (1,), Verdict.UNREADABLE),
        (Verdict.OUTERMOST, (1,), Verdict.WRONG_END),
    ],
)
def test_verdict_of_a_walk(stop: Verdict, addresses: tuple[int, ...], wanted: Verdict) -> None:
    """The true callers are 1 and 2; a table that says nothing more is a gap, and not wrong."""
    assert judge_walk(trace(stop, *addresses), (1, 2)) is wanted


def test_backtrace_to_a_start_without_notes(command: Command, tmp_path: Path) -> None:
    """_start has no FDE: its callees' stacks end in that gap, and nothing is wrong."""
    # call leaf; exit(0). leaf: ret
    start = bytes.fromhex("e809000000") + EXIT
    path = write_program(
        tmp_path / "prog", X86_64, [Made("_start", start, None), Made("leaf", b"\xc3", b"")]
    )
    answer = command("backtrace", "--format", "json", "--at", "leaf", path)
    (sample,) = answer.json["samples"]
    assert answer.status == 0
    assert sample["walk"] == sample["truth"]
    assert (sample["stop"], sample["verdict"]) == ("no-fde", "no-fde")


def test_frames_of_a_walk() -> None:
    """As many as a main stack of 8 MiB can hold, at the eight bytes of a bare call."""
    assert MOST_FRAMES >= 1 << 20
