"""x86-64 instructions that trap, or get their result from the guest's clock and seed.

Intel SDM volume 2, and what Linux makes of it (arch/x86/kernel/traps.c). The emulator is
too kind to user code: it performs I/O, ignores LOCK where it is not allowed, and takes
AVX for SSE, which gives wrong results. CPUID says that there is no AVX.
"""

from arch.instructions import (
    Encoding,
    Exceptions,
    Handled,
    InstructionKind,
    OpcodeTrap,
    Operand,
    Source,
    Trap,
)

_RAX, _RCX, _RDX, _EFLAGS, _MXCSR = 35, 38, 40, 25, 249
_STATUS_FLAGS = 0x8D5
"""CF, PF, AF, ZF, SF and OF."""
_WITH_RANDOM = frozenset(("", "haswell", "skylake", "epyc"))
"""Models of the emulator whose CPUID shows RDRAND and RDTSCP; none shows RDSEED."""

_UNDEFINED = Trap("SIGILL", "undefined instruction")
_LOCK = Trap("SIGILL", "lock prefix where none is allowed")
_AVX = Trap("SIGILL", "AVX instruction: the CPU has none")
_IO = Trap("SIGSEGV", "I/O instruction at user level")
_SOFTWARE = Trap("SIGSEGV", "software interrupt that user code may not raise")
_COMPAT = Trap("SIGSEGV", "system call of the 32-bit interface: not supported")


def _bytes(value: str, mask: str) -> tuple[bytes, bytes]:
    code = bytes.fromhex(value)
    return code, bytes.fromhex(mask) if mask else b"\xff" * len(code)


def _left(name: str, value: str, mask: str = "") -> Encoding:
    return Encoding(InstructionKind.PLAIN, *_bytes(value, mask), name)


def _traps(trap: Trap, name: str, value: str, mask: str = "") -> Handled:
    return Handled(name, *_bytes(value, mask), trap)


# Read-modify-write instructions with a destination in memory. Whether it is in memory
# (but of xchg), and the rest of the opcode in the groups, the emulator looks at itself.
_LOCKABLE = (
    ("and, or, add, sub, xor, adc, sbb", "00", "c6"), ("the same with an immediate", "80", "fc"),
    *(("xchg", f"86 {mod}", "fe c0") for mod in ("00", "40", "80")),
    ("not, neg", "f6", "fe"), ("inc, dec", "fe", "fe"),
    ("bts, btr, btc", "0f a3", "ff e7"), ("bts, btr, btc with an immediate", "0f ba", ""),
    ("cmpxchg", "0f b0", "ff fe"), ("xadd", "0f c0", "ff fe"), ("cmpxchg8b", "0f c7", ""),
)  # fmt: skip

X86_64_LEFT = (
    _left("int $3", "cd 03"),
    _left("lock and a prefix", "f0 64", "ff fc"),
    _left("lock and a segment", "f0 26", "ff e7"),
    _left("lock and rep", "f0 f2", "ff fe"),
    *(
        _left(f"lock {name}", f"f0 {rex} {value}", f"ff {rex_mask} {mask or 'ff ff'}")
        for rex, rex_mask in (("", ""), ("40", "f0"))
        for name, value, mask in _LOCKABLE
    ),
    # VEX maps 2 and 3: the general registers of BMI1 and BMI2.
    _left("andn", "c4 02 00 f2", "ff 1f 00 ff"),
    _left("blsr, blsmsk, blsi", "c4 02 00 f3", "ff 1f 00 ff"),
    _left("bzhi, pext, pdep", "c4 02 00 f5", "ff 1f 00 ff"),
    _left("mulx, bextr, shlx, sarx, shrx", "c4 02 00 f6", "ff 1f 00 fe"),
    _left("rorx", "c4 03 00 f0", "ff 1f 00 ff"),
    _left("pop", "8f 00", "ff 38"),
)
"""Left to the emulator although the patterns of `X86_64_HANDLED` hold too."""

X86_64_HANDLED = (
    Handled(
        "rdtsc", b"\x0f\x31", b"\xff\xff", source=Source.UPTIME,
        registers=((_RAX, 0, 32), (_RDX, 32, 32)),
    ),
    Handled(
        "rdtscp", b"\x0f\x01\xf9", b"\xff\xff\xff", models=_WITH_RANDOM, source=Source.UPTIME,
        # rcx gets the number of the CPU.
        registers=((_RAX, 0, 32), (_RDX, 32, 32), (_RCX, 64, 32)),
    ),
    Handled(
        "rdrand", b"\x0f\xc7\xf0", b"\xff\xff\xf8", models=_WITH_RANDOM, source=Source.RANDOM,
        operand=Operand.MODRM, numbers=(0, 2, 1, 3, 7, 6, 4, 5, *range(8, 16)),
        condition=(_EFLAGS, _STATUS_FLAGS, 1),
    ),
    _traps(_UNDEFINED, "rdseed", "0f c7 f8", "ff ff f8"),
    _traps(_IO, "in, out", "e4", "fc"),
    _traps(_IO, "in, out (%dx)", "ec", "fc"),
    _traps(_IO, "ins, outs", "6c", "fc"),
    _traps(Trap("SIGSEGV", "rdpmc at user level"), "rdpmc", "0f 33"),
    # Its registers (IA32_SYSENTER_CS) are 0 in a kernel without the 32-bit interface.
    _traps(_COMPAT, "sysenter", "0f 34"),
    _traps(_COMPAT, "int $0x80", "cd 80"),
    _traps(_SOFTWARE, "int", "cd"),
    _traps(Trap("SIGTRAP", "int1"), "int1", "f1"),
    # Control registers 1 and 5 to 7.
    _traps(_UNDEFINED, "mov cr1", "0f 20 08", "ff fd 38"),
    _traps(_UNDEFINED, "mov cr5, cr7", "0f 20 28", "ff fd 28"),
    _traps(_UNDEFINED, "mov cr6", "0f 20 30", "ff fd 38"),
    _traps(_UNDEFINED, "xop", "8f"),
    _traps(_AVX, "vex", "c4", "fe"),
    _traps(_AVX, "evex", "62"),
    _traps(_LOCK, "lock", "f0"),
)  # fmt: skip

X86_64_EXCEPTIONS = Exceptions(
    numbers={
        0: Trap("SIGFPE", "integer division by zero or overflow"),
        1: Trap("SIGTRAP", "debug exception"),
        3: Trap("SIGTRAP", "breakpoint"),
        6: _UNDEFINED,
        12: Trap("SIGBUS", "stack segment fault"),
        13: Trap("SIGSEGV", "privileged instruction or non-canonical address"),
        16: Trap("SIGFPE", "x87 floating-point exception"),
        17: Trap("SIGBUS", "misaligned access"),
        19: Trap("SIGFPE", "SIMD floating-point exception"),
        128: _COMPAT,
    },
    other=Trap("SIGSEGV", "software interrupt"),
    opcodes=tuple(
        OpcodeTrap(*_bytes(value, mask), Trap("SIGSEGV", f"privileged instruction: {name}"))
        for name, value, mask in (
            ("hlt", "f4", ""), ("cli or sti", "fa", "fe"), ("clts", "0f 06", ""),
            ("sysret", "0f 07", ""), ("invd or wbinvd", "0f 08", "ff fe"),
            ("wrmsr", "0f 30", ""), ("rdmsr", "0f 32", ""), ("sysexit", "0f 35", ""),
            ("mov of a control or debug register", "0f 20", "ff fc"),
            ("swapgs", "0f 01 f8", ""), ("lgdt or lidt", "0f 01 10", "ff ff 30"),
            ("invlpg", "0f 01 38", "ff ff 38"), ("lldt or ltr", "0f 00 10", "ff ff 30"),
        )
    ),
    silent=(
        (_MXCSR, 0x1F80, 0x1F80, "SSE exceptions that are not masked"),
        (_EFLAGS, 1 << 18, 0, "alignment checks (EFLAGS.AC)"),
    ),
    halt="SIGSEGV",
)
