"""What instructions do to the flow of control, read from what objdump calls them.

The tables are the manuals' lists of mnemonics, not ours of encodings: Intel SDM volume 1,
section 5.1 and following; Arm ARM, section C3; z/Architecture Principles of Operation, appendix B.
"""

import re

from arch.flow import Flow

Expected = tuple[Flow, int | None]
"""The flow, and the direct target or the number of a register if the text tells it."""


def _words(text: str) -> list[str]:
    return text.split()


_X86_SKIPPED = _words(
    "in out insb insl outsb outsw outsl cli sti cpuid rdtsc rdtscp rdpmc rdmsr wrmsr xgetbv xsetbv "
    "fxsave fxsave64 fxrstor fxrstor64 xsave xsave64 xsavec xsavec64 xsaves xsaveopt xrstor "
    "xrstor64 xrstors xrstors64 rdfsbase rdgsbase wrfsbase wrgsbase rdpkru wrpkru rdrand rdseed "
    "rdpid clflush clflushopt clwb incsspd incsspq rstorssp saveprevssp xend xabort xtest tpause "
    "umonitor umwait adcx adox wrssd wrssq movdiri movdir64b sha1msg1 sha1msg2 sha1nexte "
    "sha1rnds4 sha256msg1 sha256msg2 sha256rnds2 gf2p8mulb "
    # VEX, without a letter that says so.
    "andn bextr blsi blsmsk blsr bzhi mulx pdep pext rorx sarx shlx shrx"
)
_X86_SIMPLE = {
    "ret": Flow.RETURN, "lret": Flow.RETURN, "int3": Flow.HALT, "hlt": Flow.HALT,
    "ud2": Flow.HALT, "ud1": Flow.HALT, "ud0": Flow.HALT, "iretq": Flow.HALT,
    "syscall": Flow.SYSCALL, "sysenter": Flow.SYSCALL, "int": Flow.SYSCALL,
    "xbegin": Flow.BRANCH, "loop": Flow.BRANCH, "loope": Flow.BRANCH, "loopne": Flow.BRANCH,
}  # fmt: skip
_X86_PREFIXES = {"bnd", "notrack", "data16", "addr32", "cs", "ds", "lock", "rex.W", "rep", "repz",
                 "repnz", "{vex}"}  # fmt: skip
_DWARF = dict(zip(_words("rax rdx rcx rbx rsi rdi rbp rsp"), range(8), strict=True))


def x86_64(text: str) -> Expected:
    """AT&T syntax."""
    words = text.split(" ")
    prefixes = []
    while len(words) > 1 and words[0] in _X86_PREFIXES:
        prefixes.append(words.pop(0))
    name, operands = words[0].split(",")[0], "".join(words[1:])
    direct = int(operands, 16) if re.fullmatch("[0-9a-f]+", operands) else None
    if name in ("call", "jmp"):
        if not operands.startswith("*"):
            return (Flow.CALL if name == "call" else Flow.JUMP), direct
        register = operands.removeprefix("*%")
        number = _DWARF.get(register)
        if number is None and re.fullmatch(r"r\d+", register):
            number = int(register[1:])
        return (Flow.CALL_INDIRECT if name == "call" else Flow.JUMP_INDIRECT), number
    if name in _X86_SIMPLE:
        return _X86_SIMPLE[name], direct
    if name.startswith("j"):
        return Flow.BRANCH, direct
    vector = name.startswith(("v", "k")) and not name.startswith("ver")
    if vector or name in _X86_SKIPPED or {"rep", "repz", "repnz"} & set(prefixes):
        return Flow.SKIP, None
    return Flow.PLAIN, None


_A64_SIMPLE = {
    "ret": Flow.RETURN, "retaa": Flow.RETURN, "retab": Flow.RETURN, "svc": Flow.SYSCALL,
    "brk": Flow.HALT, "hlt": Flow.HALT, "udf": Flow.HALT, "eret": Flow.HALT,
}  # fmt: skip
_A64_SKIPPED = _words(
    "dc ic sys sysl at tlbi hvc smc wfe wfi gcspopm gcsss1 gcsss2 smstart smstop msr irg gmi ldg "
    "stg st2g stzg stz2g"
)
_A64_ATOMIC = re.compile(r"(ld(add|clr|eor|set|[su]m(ax|in))|swp|casp?)(al?|l)?[bh]?|ldapr[bh]?")
_A64_COPY = re.compile(r"(cpy|set)(f|g)?[pme]\w*")
_A64_SCALABLE = re.compile(
    r"\bz\d+\b|\bp\d+\b|\bza|\bcnt[bhwd]\b|rdvl|rdsvl|add[sp]?[vp]l|while\w+|setffr"
)


def aarch64(text: str) -> Expected:
    """The architecture's own syntax."""
    name, _, rest = text.partition(" ")
    operands = [part.strip() for part in rest.split(",")]
    if re.fullmatch(r"bl?|bc?\.\w+|cbn?z|tbn?z", name):
        flow = {"bl": Flow.CALL, "b": Flow.JUMP}.get(name, Flow.BRANCH)
        return flow, int(operands[-1], 16)
    if re.fullmatch(r"blr(a[ab]z?)?|br(a[ab]z?)?", name):
        flow = Flow.CALL_INDIRECT if name.startswith("blr") else Flow.JUMP_INDIRECT
        return flow, int(operands[0][1:])
    if name in _A64_SIMPLE:
        return _A64_SIMPLE[name], None
    if name in ("mrs", "msr") and "tpidr_el0" in operands:
        return Flow.PLAIN, None
    skipped = name == "mrs" or name in _A64_SKIPPED or _A64_ATOMIC.fullmatch(name)
    if skipped or _A64_COPY.fullmatch(name) or _A64_SCALABLE.search(text):
        return Flow.SKIP, None
    return Flow.PLAIN, None


_CONDITIONS = "o|h|p|nle|l|m|nhe|lh|ne|nz|e|z|nlh|he|nl|nm|le|nh|np|no"
_S390_SKIPPED = _words(
    "srp ex exrl mvcl mvcle mvclu clcl clcle clclu mvst cksm cuse tre stck stckf stcke "
    "tbegin tend tabort etnd pfpo mvcrl vstrsb vstrszb sqxbr lpdr su ledtr selgr selr ncrk "
    "stpt kmac kimd"
)


def s390x(text: str) -> Expected:
    """The Principles of Operation's syntax with names for conditions."""
    name, _, rest = text.partition(" ")
    operands = re.split(r",(?![^(]*\))", rest)
    last = operands[-1]
    register = int(last[2:]) if re.fullmatch(r"%r\d+", last) else None
    if name in ("brasl", "bras"):
        return (Flow.CALL if operands[0] == "%r14" else Flow.LINK), int(last, 16)
    if name in ("basr", "balr", "bassm", "bas", "bal"):
        if register == 0:
            return Flow.PLAIN, None
        return (Flow.CALL_INDIRECT if operands[0] == "%r14" else Flow.LINK), register
    if name in ("j", "jg"):
        return Flow.JUMP, int(last, 16)
    if re.fullmatch(f"jg?({_CONDITIONS})|br(x|c)\\w*|c(l?g?)[ri]j\\w*|j(ct|x)\\w*", name):
        return Flow.BRANCH, int(last, 16)
    if name in ("bctr", "bctgr", "bsm") and register == 0:
        return Flow.PLAIN, None
    if name in ("br", "b", "bi", "bsm"):
        if last in ("%r14", "0(%r14)"):
            return Flow.RETURN, None
        return (Flow.PLAIN, None) if register == 0 else (Flow.JUMP_INDIRECT, register)
    if re.fullmatch(f"b({_CONDITIONS})r?|c(l?g?)[ri]b\\w*|b(ct|x)\\w*|bcr?|bic?\\w*", name):
        if last in ("%r14", "0(%r14)"):
            return Flow.RETURN_IF, None
        return (Flow.PLAIN, None) if register == 0 else (Flow.BRANCH_INDIRECT, register)
    if name == "svc":
        return Flow.SYSCALL, None
    compares_and_traps = re.fullmatch(r"cl?(g|gf|f)?[ri]?t(e|h|l|ne|nh|nl)?", name)
    if name in _S390_SKIPPED or (compares_and_traps and name not in ("clt",)):
        return Flow.SKIP, None
    return Flow.PLAIN, None


FLOW_OF = {"x86_64": x86_64, "aarch64": aarch64, "s390x": s390x}
