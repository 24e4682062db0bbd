"""Something wrong at one place of one object, and what tells its cause from others."""

import re
from dataclasses import dataclass

import capstone

from arch import Arch, RegRule, Row, RuleKind
from arch.flow import Flow
from emu.check.findings import Finding
from emu.sweep.sweep import Sweep
from emu.verdict import Verdict

_WORD = re.compile(r"\b[a-z]\w*")  # not what a hexadecimal number has behind its 0


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that an oracle saw. Addresses are offsets in a section of the object."""

    oracle: str
    """``cfi`` and ``sframe``: that table is wrong; ``tables``: they contradict each other;
    ``assemblers``: two of them made tables of different meaning; ``output``: of a run."""
    verdict: str
    rule: str
    """What about the row is wrong, without its numbers. A wrong CFA is one whatever verdict the
    step came to with it: that depends on what happens to be in memory or in a register."""
    pattern: str
    """The kind of the instruction before the first wrong one."""
    function: str
    offset: int
    """Of the first wrong instruction in its function."""
    start: int
    end: int
    row: str = ""
    expected: str = ""
    got: str = ""
    proven: bool = False
    by: str = "sweep"
    """``sweep`` or ``run``."""
    detail: str = ""
    whose: str = ""
    """Of an assembler's, which another one does not have with the same assembly: ``as``, or that
    inside a family of compilers, ``clang-as``. Empty: the compiler's, or nobody knows."""

    @property
    def kind(self) -> str:
        """Which table is wrong, how, and behind what: a bucket without its tools."""
        what = "wrong" if self.rule.startswith("cfa by") else self.verdict
        return f"{self.oracle} {what} {self.rule} after {self.pattern}"

    def bucket(self, machine: str, family: str) -> str:
        """One for each cause.

        Args:
            machine: its name.
            family: of the compiler, or ``as``.
        """
        return f"{machine} {self.whose or family}: {self.kind}"


def rule_of(finding: Finding, arch: Arch) -> str:
    """What about a finding's row is wrong, in a word or two."""
    row, want, got = finding.row, finding.expected, finding.got
    if row is None or row.outermost or want is None or got is None:
        return "end" if row else "none"
    if finding.verdict is Verdict.WRONG_REG:
        sp = arch.saved_register(arch.sp)
        is_sp = sp is not None and finding.reason.startswith(f"{sp.name} (")
        return "sp" if is_sp else "saved register"
    if got.cfa is not None and got.cfa == want.cfa:
        # The CFA is right: RA was got wrong, or was not got.
        wrong_ra = finding.verdict is Verdict.WRONG_RA or got.ra != want.ra
        if finding.verdict is Verdict.WRONG_FP or not wrong_ra:
            return _rule(row.fp, "fp")
        return _rule(row.ra, "ra") + (" signed" if row.ra_signed else "")
    base = arch.register_name(row.cfa.register)
    if base != "sp" or got.cfa is None or want.cfa is None:
        # Too high or too low by another register is a matter of what it holds.
        return f"cfa by {base if base in ('sp', 'fp') else 'register'}"
    return f"cfa by sp {'low' if got.cfa < want.cfa else 'high'}"


def _rule(rule: RegRule, role: str) -> str:
    if rule.kind is RuleKind.KEEP:
        return f"{role} kept"
    return f"{role} in memory" if rule.kind is RuleKind.AT_CFA else f"{role} elsewhere"


def contrast(first: Row | None, second: Row | None) -> str:
    """Which rules of two rows differ."""
    if first is None or second is None:
        return "row"
    names = ("cfa", "ra", "fp", "outermost", "signal", "ra_signed")
    return ",".join(name for name in names if getattr(first, name) != getattr(second, name))


def pattern_at(job: Sweep, runtime: int) -> str:
    """The kind of the instruction before a place.

    ``entry``: there is none. ``branch``: control does not come from there, or not only, so that
    which one it is says nothing.
    """
    number = job.sites.function_at(runtime)
    place = job.sites.position(runtime)
    if number < 0 or place is None or job.sites.functions[number].start >= runtime:
        return "entry"
    span, at = place
    before = int(job.sites.addresses[span][at - 1])
    if job.sites.records[span]["kind"][at - 1] not in (Flow.PLAIN, Flow.CALL, Flow.CALL_INDIRECT):
        return "branch"
    return kind_of(job.placed.memory.read(before, runtime - before), job.arch)


def kind_of(code: bytes, arch: Arch) -> str:
    """An instruction's mnemonic, and which of the registers that rows are about it names.

    What else it names is the register allocator's and the scheduler's choice: no part of a cause.
    """
    reader = capstone.Cs(*arch.disassembler)
    roles = {arch.sp: "sp", arch.fp: "fp"} | ({arch.ra: "ra"} if arch.ra_in_register else {})
    names = {each.name: roles[each.dwarf] for each in arch.registers if each.dwarf in roles}
    for _, _, mnemonic, operands in reader.disasm_lite(code, 0):
        found = {names[word] for word in _WORD.findall(operands) if word in names}
        return " ".join([mnemonic, *sorted(found)])
    return "unknown"
