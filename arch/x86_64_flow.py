"""x86-64: what instructions do to the flow of control (Intel SDM, volume 2)."""

from arch.flow import Flow, FlowEncoding, Lookalike, RegisterField, Target

_REL8 = Target(-1, 1, bits=8, from_end=True)
_REL32 = Target(-4, 4, bits=32, from_end=True)
_REX_B = bytes(range(0x41, 0x50, 2))
_LOW = RegisterField(1, 0, (0, 2, 1, 3, 7, 6, 4, 5))
_HIGH = RegisterField(1, 0, tuple(range(8, 16)))


def _flow(
    flow: Flow, value: str, name: str, mask: str = "", target: Target | None = None,
    register: RegisterField | None = None, prefixes: bytes = b"",
) -> FlowEncoding:  # fmt: skip
    """From bytes in hexadecimal; without a mask all their bits count."""
    code = bytes.fromhex(value)
    bits = bytes.fromhex(mask) if mask else b"\xff" * len(code)
    return FlowEncoding(flow, code, bits, name, target, register, prefixes)


# Intel SDM, volume 2, appendix A (opcode maps); AMD64 APM, volume 3, section 1.2.5 (XOP).
X86_64_FLOW = (
    _flow(Flow.CALL, "e8", "call rel32", target=_REL32),
    _flow(Flow.JUMP, "e9", "jmp rel32", target=_REL32),
    _flow(Flow.JUMP, "eb", "jmp rel8", target=_REL8),
    _flow(Flow.BRANCH, "70", "jcc rel8", "f0", _REL8),
    _flow(Flow.BRANCH, "0f 80", "jcc rel32", "ff f0", _REL32),
    _flow(Flow.BRANCH, "e0", "loop, jrcxz", "fc", _REL8),
    _flow(Flow.BRANCH, "c7 f8", "xbegin: goes on, or is aborted", target=_REL32),
    _flow(Flow.CALL_INDIRECT, "ff 15", "call *disp32(%rip)", target=_REL32),
    _flow(Flow.CALL_INDIRECT, "ff d0", "call %r8", "ff f8", register=_HIGH, prefixes=_REX_B),
    _flow(Flow.CALL_INDIRECT, "ff d0", "call %rax", "ff f8", register=_LOW),
    _flow(Flow.CALL_INDIRECT, "ff 10", "call m64, m16:64", "ff 30"),
    _flow(Flow.JUMP_INDIRECT, "ff 25", "jmp *disp32(%rip)", target=_REL32),
    _flow(Flow.JUMP_INDIRECT, "ff e0", "jmp %r8", "ff f8", register=_HIGH, prefixes=_REX_B),
    _flow(Flow.JUMP_INDIRECT, "ff e0", "jmp %rax", "ff f8", register=_LOW),
    _flow(Flow.JUMP_INDIRECT, "ff 20", "jmp m64, m16:64", "ff 30"),
    _flow(Flow.RETURN, "c2", "ret, ret imm16", "fe"),
    _flow(Flow.RETURN, "ca", "retf, retf imm16", "fe"),
    _flow(Flow.SYSCALL, "0f 05", "syscall"),
    _flow(Flow.SYSCALL, "0f 34", "sysenter"),
    _flow(Flow.SYSCALL, "cd", "int imm8"),
    _flow(Flow.HALT, "cc", "int3"),
    _flow(Flow.HALT, "f4", "hlt"),
    _flow(Flow.HALT, "0f 0b", "ud2"),
    _flow(Flow.HALT, "0f b9", "ud1"),
    _flow(Flow.HALT, "0f ff", "ud0"),
    _flow(Flow.HALT, "cf", "iret"),
    _flow(Flow.HALT, "0f 07", "sysret"),
    _flow(Flow.HALT, "0f 35", "sysexit"),
    # What the emulator executes wrongly instead of refusing it: it knows no VEX but of BMI.
    _flow(Flow.SKIP, "c4", "VEX", "fe"),
    _flow(Flow.SKIP, "62", "EVEX"),
    _flow(Flow.SKIP, "8f 08", "XOP", "ff 08"),
    _flow(Flow.SKIP, "c6 f8", "xabort"),
    # The length is in a register, whose value means nothing on a forced path.
    _flow(Flow.SKIP, "a4", "rep movs, cmps", "fc", prefixes=b"\xf2\xf3"),
    _flow(Flow.SKIP, "aa", "rep stos", "fe", prefixes=b"\xf2\xf3"),
    _flow(Flow.SKIP, "ac", "rep lods, scas", "fc", prefixes=b"\xf2\xf3"),
    # Newer than the emulator's default CPU: it refuses them.
    _flow(Flow.SKIP, "0f 38 c8", "sha1nexte to sha256msg2, gf2p8mulb", "ff ff f8"),
    _flow(Flow.SKIP, "0f 38 f5", "wruss"),
    _flow(Flow.SKIP, "0f 38 f6", "adcx, adox, wrss"),
    _flow(Flow.SKIP, "0f 38 f8", "movdir64b, movdiri, enqcmd", "ff ff fe"),
    _flow(Flow.SKIP, "0f 3a cc", "sha1rnds4, gf2p8affineqb", "ff ff fc"),
    # Ports, privileged state, clocks, features of the CPU, the extended state as a whole.
    _flow(Flow.SKIP, "6c", "ins, outs", "fc"),
    _flow(Flow.SKIP, "e4", "in, out imm8", "fc"),
    _flow(Flow.SKIP, "ec", "in, out dx", "fc"),
    _flow(Flow.SKIP, "f1", "int1"),
    _flow(Flow.SKIP, "fa", "cli, sti", "fe"),
    _flow(Flow.SKIP, "0f 00", "sldt to verw", "ff fe"),  # and 0f 01: sgdt to rdtscp, xgetbv
    _flow(Flow.SKIP, "0f 06", "clts"),
    _flow(Flow.SKIP, "0f 08", "invd, wbinvd", "ff fe"),
    _flow(Flow.SKIP, "0f 20", "mov to and from control and debug registers", "ff fc"),
    _flow(Flow.SKIP, "0f 30", "wrmsr, rdtsc, rdmsr, rdpmc", "ff fc"),
    _flow(Flow.SKIP, "0f a2", "cpuid"),
    _flow(Flow.PLAIN, "0f c7 08", "cmpxchg8b, cmpxchg16b", "ff ff 38"),
    _flow(Flow.SKIP, "0f c7", "xsavec, xrstors, rdrand, rdseed, rdpid"),
    _flow(Flow.SKIP, "0f ae", "rdfsbase, incssp, umwait, clwb", prefixes=b"\x66\xf2\xf3"),
    _flow(Flow.PLAIN, "0f ae 10", "ldmxcsr, stmxcsr", "ff ff 30"),
    _flow(Flow.PLAIN, "0f ae e8", "lfence", "ff ff f8"),
    _flow(Flow.PLAIN, "0f ae f0", "mfence, sfence", "ff ff f0"),
    _flow(Flow.SKIP, "0f ae", "fxsave, xsave, xrstor, clflush"),
)

# Intel SDM, NOP ("Recommended Multi-Byte Sequence"), and what GNU as and LLVM put before it.
_LONG_NOPS = (
    *(b"\x66" * count + b"\x0f\x1f" for count in range(3)),
    *(b"\x66" * count + b"\x2e\x0f\x1f" for count in range(6)),
    b"\x66" * 6 + b"\x2e\x0f",
)
X86_64_PADDING = tuple(
    (code, b"\xff" * len(code)) for code in (b"\x90", b"\x66\x90", b"\xcc", b"\xf4", *_LONG_NOPS)
)


def _lookalike(value: str, mask: str, keep: str, put: str) -> Lookalike:
    return Lookalike(*(bytes.fromhex(text) for text in (value, mask, keep, put)))


# Every instruction of opcode map 3 has an immediate byte, none of maps 2, 5 and 6 has: what
# stands for them is vpalignr and vpshufb (Intel SDM, volume 2, sections 2.3 and 2.7).
X86_64_LOOKALIKES = (
    _lookalike("c4 02", "ff 1f", "ff ff 7c 00", "00 00 01 00"),
    _lookalike("c4 03", "ff 1f", "ff ff 7c 00", "00 00 01 0f"),
    _lookalike("62 03", "ff 07", "ff f0 7c 08 00", "00 03 01 00 0f"),
    _lookalike("62 02", "ff 03", "ff f0 7c 08 00", "00 02 01 00 00"),  # 2 and 6
    _lookalike("62 05", "ff 07", "ff f0 7c 08 00", "00 02 01 00 00"),
    # ud1 and ud0 have operands, like imul.
    *(
        _lookalike(f"{prefix}0f {last}", f"{prefix and 'ff'}ff ff", f"{prefix and 'ff'}00 00",
                   f"{prefix and '00'}0f af")
        for prefix in ("", "67 ") for last in ("b9", "ff")
    ),
)  # fmt: skip
