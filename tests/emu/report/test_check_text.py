"""The text report: what a reader sees of findings, gaps, samples and the guest."""

import re
from pathlib import Path

import pytest

from arch.x86_64 import X86_64
from emu.image import load_image
from emu.report.disassembly import Disassembler
from tests.support.made import outermost, write_program
from tests.support.runs import ILLEGAL, Command, patched, program

pytestmark = pytest.mark.compiled


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line."""
    return Command(capsys)


def text(command: Command, name: str, *options: str) -> list[str]:
    """Lines of the report of a case's program."""
    return command("check", *options, program(name)).stdout.splitlines()


def test_head_of_a_report(command: Command) -> None:
    """Program, machine and table; the guest's end; the counts."""
    lines = text(command, "x86_64-no-fre")
    assert lines[0] == f"{program('x86_64-no-fre')}: x86_64, table sframe"
    assert re.fullmatch(r"guest +\d+ instructions, exit status 0", lines[1])
    assert re.fullmatch(r"verdicts +exact \d+, outermost \d+, no-fre \d+", lines[2])


def test_finding_marks_its_instructions(command: Command) -> None:
    """Offsets 6 to 20 of skew are marked, their neighbours are not (from the disassembly)."""
    lines = [line.strip() for line in text(command, "x86_64-fp-off-by-8")]
    start = load_start("x86_64-fp-off-by-8", "skew")
    shown = {
        int(match[2], 16) - start: match[1] == ">"
        for line in lines
        if (match := re.match(r"(>?) *(0x[0-9a-f]+)  ", line))
    }
    assert {offset for offset, marked in shown.items() if marked} <= set(range(6, 20))
    assert {offset for offset, marked in shown.items() if not marked} & set(range(6, 20)) == set()
    assert 6 in shown
    assert shown[6]


def load_start(name: str, symbol: str) -> int:
    """Address of a function."""
    return next(s.value for s in load_image(program(name)).symbols if s.name == symbol)


def test_gaps_are_summed_by_function(command: Command) -> None:
    """bare has six instructions, each executed once and none of them described."""
    lines = text(command, "x86_64-no-table")
    assert "  no-fde    bare  6 executions" in lines
    assert lines[lines.index("gaps (the table says nothing there):") - 1] == ""


def test_last_line_of_the_report_counts(command: Command) -> None:
    """Findings and gaps, before what the guest wrote."""
    lines = text(command, "x86_64-stops")
    assert "3 findings, 0 gaps" in lines


def test_output_of_the_guest_has_its_own_section(command: Command) -> None:
    """Behind everything of ours, under a title."""
    lines = text(command, "x86_64-clean-chain")
    assert lines[-2:] == ["---- stdout of the guest ----", "clean chain"]


def test_a_stack_beside_the_truth(command: Command) -> None:
    """Each frame with the function of its call; equal addresses are ``same``."""
    lines = text(command, "x86_64-clean-chain", "--at", "leaf")
    frames = [line.split() for line in lines if line.strip().startswith("#")]
    assert frames == [
        ["#0", "0x400106", "same", "mid+0x9"],
        ["#1", "0x400123", "same", "big+0x18"],
        ["#2", "0x400147", "same", "dyn+0x18"],
        ["#3", "0x4000ba", "same", "_start+0xa"],
    ]
    assert "  sframe ended: outermost" in lines
    assert "  verdict of sframe: exact" in lines


def test_a_wrong_walk_shows_its_address(command: Command) -> None:
    """swapper has put 8 where its return address was."""
    lines = text(command, "x86_64-wrong-ra", "--at", "swapper+13")
    frames = [line.split() for line in lines if line.strip().startswith("#0")]
    assert frames == [["#0", "0x4000bc", "0x8", "_start+0xc"]]


def test_known_findings_stand_apart(command: Command, tmp_path: Path) -> None:
    """They are listed without their details and not counted."""
    known = tmp_path / "known.toml"
    known.write_text(
        '[[finding]]\nverdict = "wrong-end"\nmodule = "prog"\nfunction = "cut"\n'
        'row = "outermost"\nreason = "planted"\n'
    )
    lines = text(command, "x86_64-wrong-end", "--known", str(known))
    assert "known findings (1):" in lines
    assert "0 findings, 0 gaps" in lines


def test_a_crash(command: Command, tmp_path: Path) -> None:
    """The signal, the place and the stack there."""
    path = patched(tmp_path, "s390x-clean-chain", "leaf", 0, ILLEGAL["s390x"])
    lines = command("check", path).stdout.splitlines()
    assert re.search(r"SIGILL at 0x10000f6", lines[1])
    frames = [line.split() for line in lines if line.strip().startswith("#")]
    assert [(frame[2], frame[3].partition("+")[0]) for frame in frames] == [
        ("same", "mid"), ("same", "big"), ("same", "dyn"), ("same", "_start"),
    ]  # fmt: skip


def test_a_deep_stack_is_folded(command: Command) -> None:
    """The innermost 40 frames, the outermost 10, and how many lie between."""
    answer = command("backtrace", "--at", "deep", "--nth", "1000", program("x86_64-deep"))
    lines = [line.split() for line in answer.stdout.splitlines()]
    frames = [line[0] for line in lines if line and line[0].startswith("#")]
    assert frames == [f"#{n}" for n in (*range(40), *range(990, 1000))]
    assert lines.count(["...", "950", "frames"]) == 1
    assert lines[lines.index(["...", "950", "frames"]) + 1][0] == "#990"


def test_fifty_frames_are_not_folded(command: Command) -> None:
    """Nothing is left out where a line that says so would be all that is saved."""
    answer = command("backtrace", "--at", "deep", "--nth", "50", program("x86_64-deep"))
    assert answer.stdout.count("\n  #") == 50
    assert " frames\n" not in answer.stdout


@pytest.mark.parametrize("name", ["check", "backtrace"])
@pytest.mark.parametrize("descriptor", [1, 2])
def test_control_characters_of_the_guest_are_escaped(
    name: str, descriptor: int, command: Command, tmp_path: Path
) -> None:
    """It can write lines and tabs, but no colours, bells or returns: ESC, BEL, CR, C1 and DEL."""
    text = b"a\tb\n\x1b[31mred\a\r\xc2\x9b2J\xff\x7f\n"
    code = (
        b"\xb8\1\0\0\0\xbf" + bytes((descriptor, 0, 0, 0))  # mov $1, %eax; mov $1, %edi
        + b"\x48\x8d\x35\x13\0\0\0\xba" + bytes((len(text), 0, 0, 0))  # lea, mov
        + bytes.fromhex("0f05 31ff b83c000000 0f05 90 90 90") + text  # write; exit(0)
    )  # fmt: skip
    path = write_program(tmp_path / "prog", X86_64, [outermost(X86_64, code)])
    point = ("--at", "_start+24") if name == "backtrace" else ()
    answer = command(name, *point, path)
    assert answer.status == 0
    assert "a\tb\n\\x1b[31mred\\x07\\r\\x9b2J\\xff\\x7f" in answer.stdout
    assert {c for c in answer.stdout if not c.isprintable()} == {"\n", "\t"}


# ---- disassembly


@pytest.mark.parametrize(
    ("before", "after", "addresses"),
    [
        (0, 0, ["0x4000fe", "0x400101"]),
        (1, 0, ["0x4000fd", "0x4000fe", "0x400101"]),
        (5, 0, ["0x4000fd", "0x4000fe", "0x400101"]),  # no further than where it begins
        (0, 2, ["0x4000fe", "0x400101", "0x400106", "0x400109"]),
    ],
)
def test_instructions_around_a_range(before: int, after: int, addresses: list[str]) -> None:
    """mid of the x86-64 chain: push 0x4000fd, mov fe, call 101, add 106, pop 109, ret 10a."""
    image = load_image(program("x86_64-clean-chain"))
    assert image.arch is not None
    lines = Disassembler(image, image.arch).around(0x4000FD, 0x4000FE, 0x400106, before, after)
    assert [hex(line.address) for line in lines] == addresses


def test_text_of_an_instruction() -> None:
    """Mnemonic and operands, as Capstone prints them."""
    image = load_image(program("x86_64-clean-chain"))
    assert image.arch is not None
    (line,) = Disassembler(image, image.arch).around(0x4000FD, 0x400101, 0x400106, 0, 0)
    assert line.text == "call 0x4000f8"


def test_nothing_to_disassemble() -> None:
    """An address in no segment has no lines."""
    image = load_image(program("x86_64-clean-chain"))
    assert image.arch is not None
    assert Disassembler(image, image.arch).around(0x10, 0x10, 0x20, 2, 2) == []
