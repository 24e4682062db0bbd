"""Every prebuilt program under the check, with every table it has.

Output and exit status must be those that were seen natively or in qemu-user, and the findings
must be those of `testprogs/known.toml` and no others: real errors of the tables, each proven
there, and each found on the machines and with the tables that its entry names. Clang's
epilogues on s390x are too many to list: `missing_epilogue` proves each.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import capstone
import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

import arch as machines
from emu.check.findings import Finding
from emu.check.known import read_known
from emu.check.options import RunOptions
from emu.check.result import CheckResult
from emu.check.run import Run
from emu.rowtext import row_text
from testprogs.unpack import HERE, Prebuilt
from tests.support.runs import Command
from tests.test_readelf import parse

pytestmark = pytest.mark.compiled

KNOWN = HERE / "known.toml"
KINDS = ("sframe", "cfi")
FEWEST_INSTRUCTIONS = 50_000_000
FEWEST_PROGRAMS = {"none": 20, "musl": 20, "glibc": 6}
FEWEST_EPILOGUES = 100

Key = tuple[str, str, str | None, str | None]
"""Verdict, module, function, row."""


@dataclass
class Outcome:
    """All runs of one machine with one kind of table."""

    runs: int = 0
    instructions: int = 0
    seconds: float = 0.0
    programs: Counter[str] = field(default_factory=Counter)
    """By C library."""
    problems: list[str] = field(default_factory=list)
    """Everything that a run should not have done."""
    findings: set[Key] = field(default_factory=set)
    """All but the epilogues."""
    epilogues: dict[str, list[Finding]] = field(default_factory=dict)
    """Proven ones, by program."""


# -------------------------------------------------------------------------------------- runs
def pac_settings(entry: Prebuilt) -> tuple[bool, ...]:
    """With and without signing, where a program signs; `retaa` is an instruction only with."""
    if "-march=armv8.3-a" in entry.flags:
        return (True,)
    signs = any(re.search("pac-ret|protection=standard", flag) for flag in entry.flags)
    return (False, True) if signs else (False,)


def run(entry: Prebuilt, kind: str, pac: bool) -> CheckResult:
    """Run a program to its end."""
    options = RunOptions(table=kind, pac=pac, arguments=tuple(entry.arguments or ()))
    return Run(str(entry.path), options).to_end()


def problems(entry: Prebuilt, result: CheckResult) -> Iterator[str]:
    """What a run did that it should not have done, findings aside."""
    guest = result.guest
    wanted = ("exit", entry.exit_status, (entry.stdout or "").encode(), b"")
    if (guest.stopped, guest.exit_status, guest.stdout, guest.stderr) != wanted:
        yield f"{guest} instead of {wanted}"
    if sum(result.verdicts.values()) != guest.instructions:
        yield f"{guest.instructions} instructions but {sum(result.verdicts.values())} verdicts"
    if result.unsupported:
        yield f"unsupported system calls: {dict(result.unsupported)}"
    if result.events_lost:
        yield f"{result.events_lost} events lost"


def run_all(entries: Sequence[Prebuilt], kind: str) -> Outcome:
    """Run programs of one machine."""
    outcome = Outcome()
    for entry in entries:
        for pac in pac_settings(entry):
            result = run(entry, kind, pac)
            outcome.runs += 1
            outcome.instructions += result.guest.instructions
            outcome.seconds += result.seconds
            outcome.problems += [f"{entry.name}: {problem}" for problem in problems(entry, result)]
            for finding in result.findings:
                if is_clang_s390x(entry) and not missing_epilogue(entry, kind, finding):
                    outcome.epilogues.setdefault(entry.name, []).append(finding)
                    continue
                row = None if finding.row is None else row_text(finding.row, result.arch)
                assert finding.module is not None
                outcome.findings.add((finding.verdict.text, finding.module, finding.function, row))
        outcome.programs[entry.libc] += 1
    return outcome


Matrix = Callable[[str, str], Outcome]


@pytest.fixture(scope="module")
def matrix(prebuilt: Mapping[tuple[str, str], Prebuilt]) -> Matrix:
    """All runs of a machine (its name) with a kind of table, done once."""

    @cache
    def outcome(arch: str, kind: str) -> Outcome:
        return run_all([one for one in prebuilt.values() if one.runs and one.arch == arch], kind)

    return outcome


def known(arch: str, kind: str) -> set[Key]:
    """Findings that are known for a machine and a kind of table."""
    return {
        (entry.verdict, entry.module, entry.function, entry.row)
        for entry in read_known(str(KNOWN))
        if entry.holds(arch, kind)
    }


# ----------------------------------------------------------------- Clang's epilogues on s390x
def is_clang_s390x(entry: Prebuilt) -> bool:
    """Whether a program's epilogues have no rows."""
    return entry.arch == "s390x" and "clang" in entry.compiler


@cache
def code_of(path: Path) -> tuple[int, bytes]:
    """Address and bytes of .text."""
    with path.open("rb") as file:
        text: Any = ELFFile(file).get_section_by_name(".text")
        return text["sh_addr"], text.data()


@cache
def row_starts(path: Path, listing: Path | None) -> list[int]:
    """Addresses at which rows start: of a listing by readelf, or in .eh_frame by pyelftools."""
    if listing:
        functions = parse(listing.read_text()).functions
        return sorted(function.pc + row.start for function in functions for row in function.rows)
    with path.open("rb") as file:
        info: Any = ELFFile(file).get_dwarf_info()
        return sorted(
            row["pc"]
            for cfi in info.EH_CFI_entries()
            if isinstance(cfi, FDE)
            for row in cfi.get_decoded().table
        )


def missing_epilogue(entry: Prebuilt, kind: str, finding: Finding) -> str:
    """Why a finding is not what Clang's silence about epilogues explains; empty: it is.

    It is if the instruction before it gives the frame back, so that the register on which the
    CFA is based is the caller's again; if from there the code runs straight to the jump that
    ends the function; and if no row starts behind that instruction. Then one row is about the
    frame both while it stands and when it is gone, and cannot be right twice.
    """
    row = finding.row
    if row is None or finding.role != "sampled":
        return "no row of its own"
    base, code = code_of(entry.path)
    decoder = capstone.Cs(capstone.CS_ARCH_SYSZ, capstone.CS_MODE_BIG_ENDIAN)
    function = finding.start - finding.start_offset
    lines = list(decoder.disasm(code[function - base : finding.end - base], function))
    before = [line for line in lines if line.address < finding.start]
    inside = [line for line in lines if line.address >= finding.start]
    if not before or not inside or inside[0].address != finding.start:
        return "the disassembly does not meet its start"
    if inside[-1].address + inside[-1].size != finding.end:
        return "the disassembly does not meet its end"
    restored = _restored(before[-1].mnemonic, before[-1].op_str)
    if not {15, row.cfa.register} <= restored:
        return f"behind {before[-1].mnemonic} {before[-1].op_str}"
    if any(_jumps(line) for line in inside[:-1]) or not _jumps(inside[-1]):
        return "not straight to the end"
    starts = row_starts(entry.path, entry.readelf_path if kind == "sframe" else None)
    at = before[-1].address
    if bisect_right(starts, at) != bisect_right(starts, finding.end - 1):
        return "a row starts there"
    if row.cfa.register == 15:
        got, expected = finding.got, finding.expected
        if got is None or expected is None or got.cfa is None or expected.cfa is None:
            return "no values"
        # r15 + 160 is the CFA of a function without a frame.
        if got.cfa - expected.cfa != row.cfa.offset - 160 or row.cfa.offset <= 160:
            return "not wrong by the size of the frame"
    return ""


def _restored(mnemonic: str, operands: str) -> set[int]:
    """Registers that an instruction which can give a frame back gives the caller's values."""
    registers = [int(text) for text in re.findall(r"%r(\d+)", operands)]
    if mnemonic == "lmg":
        return set(range(registers[0], registers[1] + 1))
    if mnemonic in ("lg", "la", "lay"):
        return {registers[0]}
    if mnemonic in ("aghi", "agfi") and not operands.partition(", ")[2].startswith("-"):
        return {registers[0]}
    return set()


def _jumps(line: Any) -> bool:
    return bool(re.match("j|br|bas|bc|c.*j|cl?g?r?b", line.mnemonic))


# ------------------------------------------------------------------------------------- tests
@pytest.mark.parametrize("kind", KINDS)
def test_programs_do_what_they_do_elsewhere(arch: machines.Arch, kind: str, matrix: Matrix) -> None:
    """Output, exit status and counts are right, and no system call is unknown."""
    assert matrix(arch.name, kind).problems == []


@pytest.mark.parametrize("kind", KINDS)
def test_findings_are_the_known_ones(arch: machines.Arch, kind: str, matrix: Matrix) -> None:
    """No false alarm and no fault missed: exactly the proven errors of the tables are found."""
    outcome, expected = matrix(arch.name, kind), known(arch.name, kind)
    assert outcome.findings - expected == set()
    assert expected - outcome.findings == set()


@pytest.mark.parametrize("kind", KINDS)
def test_epilogues_that_clang_does_not_describe_are_found(
    kind: str, matrix: Matrix, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """Each of these programs has some, and none is found anywhere else."""
    epilogues = matrix("s390x", kind).epilogues
    clang = {entry.name for entry in prebuilt.values() if is_clang_s390x(entry) and entry.runs}
    assert set(epilogues) == clang
    assert sum(map(len, epilogues.values())) >= FEWEST_EPILOGUES
    assert all(matrix(machine.name, kind).epilogues == {} for machine in machines.ALL[:2])


def test_the_proof_of_an_epilogue_can_fail(
    matrix: Matrix, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """A finding elsewhere, or wrong by another amount, is not taken for such an epilogue."""
    entry = prebuilt["s390x", "frames-v3-clang-O2-nofp"]
    for finding in matrix("s390x", "sframe").epilogues[entry.name]:

        def refused(finding: Finding = finding, **changes: Any) -> str:
            return missing_epilogue(entry, "sframe", replace(finding, **changes))

        assert refused() == ""
        assert refused(role="caller") == "no row of its own"
        for earlier in (2, 4, 6):
            # The instruction that gives the frame back, or its middle.
            offset = finding.start_offset - earlier
            assert refused(start=finding.start - earlier, start_offset=offset) != ""
        assert refused(end=finding.end + 2) != ""
        if finding.row is not None and finding.row.cfa.register == 15:
            smaller = replace(finding.row.cfa, offset=finding.row.cfa.offset - 8)
            assert refused(row=replace(finding.row, cfa=smaller)) == (
                "not wrong by the size of the frame"
            )


def test_known_findings_are_listed_once() -> None:
    """No entry repeats another for the same machine and table, and each names those it is about."""
    keys = Counter(
        (arch, kind, one.verdict, one.module, one.function, one.row)
        for one in read_known(str(KNOWN))
        for arch in one.arch
        for kind in one.table
    )
    assert [key for key, count in keys.items() if count > 1] == []
    assert [str(one) for one in read_known(str(KNOWN)) if not (one.arch and one.table)] == []


@pytest.mark.parametrize("kind", KINDS)
def test_known_findings_as_the_command_has_them(
    arch: machines.Arch, kind: str, prebuilt: Mapping[tuple[str, str], Prebuilt],
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """`check --known` passes over the entries of other machines and tables, and uses the rest."""
    entry = prebuilt[arch.name, "flow-v1-O2-nofp" if arch.name != "s390x" else "flow-v3-O2-nofp"]
    answer = Command(capsys)("check", "--table", kind, "--known", str(KNOWN), str(entry.path))
    assert answer.status == 0
    named = answer.stdout.count("known entry without a finding")
    used = sum(1 for one in known(arch.name, kind) if one[1] == entry.name)
    assert named == len(known(arch.name, kind)) - used
    assert (f"known findings ({used})" in answer.stdout) is (used > 0)


def test_enough_was_run(matrix: Matrix, capsys: pytest.CaptureFixture[str]) -> None:
    """Enough programs and instructions of each C library stand behind these results."""
    outcomes = [matrix(machine.name, kind) for machine in machines.ALL for kind in KINDS]
    programs = sum((outcome.programs for outcome in outcomes[::2]), Counter[str]())
    instructions = sum(outcome.instructions for outcome in outcomes)
    with capsys.disabled():
        print(
            f"\nmatrix: {sum(programs.values())} programs ({programs['musl']} musl, "
            f"{programs['glibc']} glibc), {sum(outcome.runs for outcome in outcomes)} runs, "
            f"{instructions / 1e6:.1f} M instructions checked in "
            f"{sum(outcome.seconds for outcome in outcomes):.1f} s"
        )
    assert instructions >= FEWEST_INSTRUCTIONS
    assert all(programs[libc] >= count for libc, count in FEWEST_PROGRAMS.items())
