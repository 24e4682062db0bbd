"""Where a run is sampled, limited and looked up: options of `check` and `backtrace`."""

from pathlib import Path

import pytest

from emu.image import load_image
from emu.symbols import FunctionNames
from tests.support.runs import ENDLESS, ILLEGAL, Answer, Command, patched, program

pytestmark = pytest.mark.compiled

CHAINS = ["x86_64-clean-chain", "aarch64-clean-chain", "s390x-clean-chain"]
chain = pytest.mark.parametrize("name", CHAINS)

# From the disassembly: behind the calls in mid, big, dyn and _start.
X86_CALLERS = ["0x400106", "0x400123", "0x400147", "0x4000ba"]


def functions(name: str, addresses: list[str]) -> list[str | None]:
    """The function of the call before each return address."""
    names = FunctionNames(load_image(program(name)))
    return [names.place(int(address, 16) - 1).function for address in addresses]


# ---- points


def test_a_symbol(command: Command) -> None:
    """leaf is first reached through mid, big and dyn; the walk says the same as the truth."""
    (sample,) = command.check("x86_64-clean-chain", "--at", "leaf").json["samples"]
    assert sample["truth"] == X86_CALLERS
    assert sample["walk"] == X86_CALLERS
    assert (sample["stop"], sample["verdict"]) == ("outermost", "exact")
    assert (sample["at"], sample["pc"]) == ("leaf+0x0", "0x4000f8")


@chain
def test_a_symbol_on_every_machine(name: str, command: Command) -> None:
    """The functions that the source calls, innermost first."""
    (sample,) = command.check(name, "--at", "leaf").json["samples"]
    assert functions(name, sample["truth"]) == ["mid", "big", "dyn", "_start"]
    assert sample["walk"] == sample["truth"]
    assert sample["verdict"] == "exact"


@pytest.mark.parametrize("text", ["mid+9", "mid+0x9", "0x400106", "0X400106"])
def test_offsets_and_addresses(text: str, command: Command) -> None:
    """All of these are the instruction behind the call of leaf."""
    (sample,) = command.check("x86_64-clean-chain", "--at", text).json["samples"]
    assert (sample["at"], sample["truth"]) == ("mid+0x9", X86_CALLERS[1:])


def test_an_instruction_by_number(command: Command) -> None:
    """Instructions are counted from 1: mov, call, push, mov."""
    found = [
        command.check("x86_64-clean-chain", "--at", f"#{number}").json["samples"][0]
        for number in (1, 2, 3, 4)
    ]
    assert [sample["at"] for sample in found] == [
        "_start+0x0", "_start+0x5", "dyn+0x0", "dyn+0x1",
    ]  # fmt: skip
    assert [sample["instruction"] for sample in found] == [1, 2, 3, 4]


@chain
@pytest.mark.parametrize("nth", [1, 2, 5])
def test_the_nth_time(name: str, nth: int, command: Command) -> None:
    """rec calls itself: the n-th time there are n - 1 of it above _start."""
    (sample,) = command.check(name, "--at", "rec", "--nth", str(nth)).json["samples"]
    assert functions(name, sample["truth"]) == ["rec"] * (nth - 1) + ["_start"]
    assert sample["verdict"] == "exact"


def test_a_point_that_is_not_reached(command: Command) -> None:
    """The run goes on to its end; the report says that there is no sample."""
    answer = command.check("x86_64-clean-chain", "--at", "leaf", "--nth", "1000")
    assert (answer.status, answer.json["samples"]) == (0, [])
    assert answer.json["guest"]["stopped"] == "exit"


@chain
def test_every_nth_instruction(name: str, command: Command) -> None:
    """A sample at each tenth instruction, all of them right."""
    answer = command.check(name, "--every", "10").json
    numbers = [sample["instruction"] for sample in answer["samples"]]
    assert numbers == list(range(10, answer["guest"]["instructions"] + 1, 10))
    assert {sample["verdict"] for sample in answer["samples"]} == {"exact"}


def test_sampling_changes_no_verdict(command: Command) -> None:
    """With and without samples the run is the same one."""
    plain = command.check("x86_64-jump-in").json
    sampled = command.check("x86_64-jump-in", "--every", "1").json
    assert len(sampled.pop("samples")) == sampled["guest"]["instructions"]
    assert plain.pop("samples") == []
    assert sampled == plain


def test_a_sample_in_a_wrong_place(command: Command) -> None:
    """The walk by a wrong row differs from the truth, and the sample says so."""
    answer = command.check("x86_64-wrong-ra", "--at", "swapper+13").json
    (sample,) = answer["samples"]
    assert sample["truth"] == ["0x4000bc"]
    assert sample["walk"] != sample["truth"]
    assert sample["verdict"] != "exact"


# ---- backtrace


@chain
def test_backtrace_by_every_table(name: str, command: Command) -> None:
    """The run stops at the point; each table there is has its walk."""
    answer = command("backtrace", "--format", "json", "--at", "leaf", program(name))
    (sample,) = answer.json["samples"]
    assert (answer.status, answer.json["guest"]["stopped"]) == (0, "point")
    assert functions(name, sample["truth"]) == ["mid", "big", "dyn", "_start"]


def test_backtrace_where_the_table_is_wrong(command: Command) -> None:
    """Exit status 1: the walk by the checked table differs."""
    answer = command("backtrace", "--at", "swapper+13", program("x86_64-wrong-ra"))
    assert answer.status == 1


def test_backtrace_that_is_not_reached(command: Command) -> None:
    """There is nothing to show: exit status 2."""
    line = command.refuse("backtrace", "--at", "leaf", "--nth", "99", program(CHAINS[0]))
    assert "prog" in line
    assert "leaf" in line


def test_backtrace_needs_a_point(command: Command) -> None:
    """One line, not a run without an end."""
    assert "--at" in command.refuse("backtrace", program(CHAINS[0]))


# ---- look-up of return addresses


def caller_findings(answer: Answer) -> list[tuple[str, str, str, int, int]]:
    """Findings about rows of return addresses."""
    return [finding for finding in answer.findings if finding[2] == "caller"]


def test_linux_takes_the_row_of_the_next_function(command: Command) -> None:
    """last_call ends with its call: Linux reads CFA=sp+8 of the function behind it, not sp+80."""
    answer = command.check("x86_64-noreturn", "--lookup", "kernel")
    assert answer.status == 1
    assert answer.findings == [("wrong-cfa", "last_call", "caller", 8, 13)]
    (finding,) = answer.json["findings"]
    assert int(finding["got"]["cfa"], 16) - int(finding["expected"]["cfa"], 16) == 8 - 80


def test_linux_finds_a_leaf_behind_the_call(command: Command) -> None:
    """The row behind says CFA=sp: the walk would not get on."""
    answer = command.check("aarch64-noreturn", "--lookup", "kernel")
    assert answer.findings == [("no-progress", "last", "caller", 8, 12)]


def test_linux_looks_up_every_return_address_so(command: Command) -> None:
    """Where rows do not change at a call both ways of looking up agree."""
    answer = command.check("x86_64-clean-chain", "--lookup", "kernel")
    assert (answer.status, answer.findings) == (0, [])


def test_a_walk_with_linux_lookup(command: Command) -> None:
    """From quit, called by last_call: the true caller, then the wrong row leads astray."""
    answer = command.check("x86_64-noreturn", "--lookup", "kernel", "--at", "quit")
    (sample,) = answer.json["samples"]
    assert sample["truth"][0] == sample["walk"][0] == "0x400123"
    assert sample["walk"] != sample["truth"]
    assert sample["verdict"] != "exact"


# ---- limits


@chain
def test_limit_of_instructions(name: str, command: Command) -> None:
    """Exactly so many have a verdict; exit status 2, and the report is there."""
    answer = command.check(name, "--max-instructions", "20")
    assert answer.status == 2
    assert answer.json["guest"]["stopped"] == "limit"
    assert answer.json["guest"]["instructions"] == 20
    assert sum(answer.json["verdicts"].values()) == 20
    assert len(answer.stderr.splitlines()) == 1
    assert "limit of 20 instructions" in answer.stderr


def test_a_limit_behind_the_end_is_none(command: Command) -> None:
    """A program that ends before the limit has ended."""
    total = command.check("x86_64-clean-chain").json["guest"]["instructions"]
    answer = command.check("x86_64-clean-chain", "--max-instructions", str(total + 1))
    assert (answer.status, answer.json["guest"]["stopped"]) == (0, "exit")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "s390x"])
def test_endless_loop_at_its_limit(machine: str, command: Command, tmp_path: Path) -> None:
    """leaf jumps to itself for ever."""
    path = patched(tmp_path, f"{machine}-clean-chain", "leaf", 0, ENDLESS[machine])
    answer = command.check(path, "--max-instructions", "100000")
    assert answer.status == 2
    assert (answer.json["guest"]["stopped"], answer.json["guest"]["instructions"]) == (
        "limit", 100000,
    )  # fmt: skip
    assert "leaf" in answer.stderr


def test_endless_loop_and_the_clock(command: Command, tmp_path: Path) -> None:
    """Time ends it where instructions would not."""
    path = patched(tmp_path, "x86_64-clean-chain", "leaf", 0, ENDLESS["x86_64"])
    answer = command.check(path, "--timeout", "0.05")
    assert (answer.status, answer.json["guest"]["stopped"]) == (2, "timeout")
    assert len(answer.stderr.splitlines()) == 1


def test_findings_before_a_limit_are_reported(command: Command, tmp_path: Path) -> None:
    """Exit status 2 wins, the findings are there."""
    answer = command.check("x86_64-start-unmarked", "--max-instructions", "5")
    assert answer.status == 2
    assert [finding[:2] for finding in answer.findings] == [("wrong-end", "_start")]


# ---- a guest that dies


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "s390x"])
def test_crash_with_a_backtrace(machine: str, command: Command, tmp_path: Path) -> None:
    """An illegal instruction in leaf: the signal, the place, and the stack there."""
    name = f"{machine}-clean-chain"
    path = patched(tmp_path, name, "leaf", 0, ILLEGAL[machine])
    answer = command.check(path)
    assert answer.status == 2
    guest = answer.json["guest"]
    assert (guest["stopped"], guest["signal"]) == ("fault", "SIGILL")
    (sample,) = answer.json["samples"]
    assert functions(name, sample["truth"]) == ["mid", "big", "dyn", "_start"]
    assert sample["walk"] == sample["truth"]
    (line,) = answer.stderr.splitlines()
    assert "SIGILL" in line
    assert "leaf" in line
    assert path in line


def test_crash_at_an_address(command: Command, tmp_path: Path) -> None:
    """A store through a null pointer: SIGSEGV at the second instruction of leaf."""
    code = bytes.fromhex("31c08800")  # xor %eax, %eax; mov %al, (%rax)
    path = patched(tmp_path, "x86_64-clean-chain", "leaf", 0, code)
    answer = command.check(path)
    guest = answer.json["guest"]
    assert (answer.status, guest["stopped"], guest["signal"]) == (2, "fault", "SIGSEGV")
    assert guest["pc"] == "0x4000fa"


def test_a_jump_to_nowhere(command: Command, tmp_path: Path) -> None:
    """leaf jumps to 0: the fault is there, and no instruction of it is counted."""
    path = patched(tmp_path, "x86_64-clean-chain", "leaf", 0, bytes.fromhex("31c0ffe0"))
    answer = command.check(path)
    guest = answer.json["guest"]
    assert (answer.status, guest["signal"], guest["pc"]) == (2, "SIGSEGV", "0x0")
    assert sum(answer.json["verdicts"].values()) == guest["instructions"]


# ---- gaps, seed


def test_gaps_may_fail(command: Command) -> None:
    """Code without a row: a failure only if asked for."""
    assert command.check("x86_64-no-table").status == 0
    assert command.check("x86_64-no-table", "--gaps", "fail").status == 1


def test_no_gaps_do_not_fail(command: Command) -> None:
    """A table that describes everything passes."""
    assert command.check("x86_64-clean-chain", "--gaps", "fail").status == 0


@pytest.mark.parametrize("name", ["x86_64-jump-in", "aarch64-pac-unnoted", "s390x-no-bias"])
def test_the_same_seed_gives_the_same_report(name: str, command: Command) -> None:
    """Byte by byte, keys of pointer authentication included."""
    options = ("--pac",) if "pac" in name else ()
    first = command.check(name, "--seed", "7", *options)
    assert command.check(name, "--seed", "7", *options) == first


def test_another_seed_gives_other_keys(command: Command) -> None:
    """The signature is another one, the verdicts are the same."""
    reports = [command.check("aarch64-pac-unnoted", "--pac", "--seed", n).json for n in "12"]
    got = [report["findings"][0]["got"]["ra"] for report in reports]
    assert got[0] != got[1]
    assert reports[0]["verdicts"] == reports[1]["verdicts"]


def test_text_shows_the_finding(command: Command) -> None:
    """Function, place, row, both values and the disassembly."""
    answer = command("check", program("x86_64-fp-off-by-8"))
    assert answer.status == 1
    assert "wrong-cfa prog: skew+6..20 " in answer.stdout
    for part in ("row ", "expected ", "got ", "fp+16", "call"):
        assert part in answer.stdout
    assert "skew\n" in answer.stdout  # what the guest wrote, in its own section
