"""aarch64: what instructions do to the flow of control (Arm ARM, section C4.1)."""

from arch.flow import Flow, FlowEncoding, RegisterField, Stub, Target


def _bytes(value: int, mask: int) -> tuple[bytes, bytes]:
    return value.to_bytes(4, "little"), mask.to_bytes(4, "little")


_IMM26 = Target(0, 4, bits=26, scale=4)
_IMM19 = Target(0, 4, bits=19, shift=5, scale=4)
_IMM14 = Target(0, 4, bits=14, shift=5, scale=4)
_IMM9 = Target(0, 4, bits=9, shift=5, scale=4)
_RN = RegisterField(0, 5, (*range(31), -1))


def _flow(
    flow: Flow, value: int, mask: int, name: str, target: Target | None = None,
    register: RegisterField | None = None,
) -> FlowEncoding:  # fmt: skip
    return FlowEncoding(flow, *_bytes(value, mask), name, target, register)


# Arm ARM, section C4.1 (A64 instruction set encoding).
AARCH64_FLOW = (
    _flow(Flow.CALL, 0x94000000, 0xFC000000, "bl", _IMM26),
    _flow(Flow.JUMP, 0x14000000, 0xFC000000, "b", _IMM26),
    _flow(Flow.JUMP, 0x5400000E, 0xFF00000E, "b.al, b.nv", _IMM19),
    _flow(Flow.BRANCH, 0x54000000, 0xFF000000, "b.cond, bc.cond", _IMM19),
    _flow(Flow.BRANCH, 0x34000000, 0x7E000000, "cbz, cbnz", _IMM19),
    _flow(Flow.BRANCH, 0x36000000, 0x7E000000, "tbz, tbnz", _IMM14),
    _flow(Flow.BRANCH, 0x74000000, 0x7E000000, "cb.cond", _IMM9),
    _flow(Flow.CALL_INDIRECT, 0xD63F0000, 0xFFFFFC1F, "blr", register=_RN),
    _flow(Flow.CALL_INDIRECT, 0xD63F081F, 0xFFFFF81F, "blraaz, blrabz", register=_RN),
    _flow(Flow.CALL_INDIRECT, 0xD73F0800, 0xFFFFF800, "blraa, blrab", register=_RN),
    _flow(Flow.JUMP_INDIRECT, 0xD61F0000, 0xFFFFFC1F, "br", register=_RN),
    _flow(Flow.JUMP_INDIRECT, 0xD61F081F, 0xFFFFF81F, "braaz, brabz", register=_RN),
    _flow(Flow.JUMP_INDIRECT, 0xD71F0800, 0xFFFFF800, "braa, brab", register=_RN),
    _flow(Flow.RETURN, 0xD65F0000, 0xFFFFFC1F, "ret"),
    _flow(Flow.RETURN, 0xD65F0BE0, 0xFFFFFBE0, "retaa, retab, retaasppcr, retabsppcr"),
    _flow(Flow.RETURN, 0x5500001F, 0xFFC0001F, "retaasppc, retabsppc"),
    _flow(Flow.SYSCALL, 0xD4000001, 0xFFE0001F, "svc"),
    _flow(Flow.HALT, 0x00000000, 0xFFFF0000, "udf"),
    _flow(Flow.HALT, 0xD4200000, 0xFFE0001F, "brk"),
    _flow(Flow.HALT, 0xD4400000, 0xFFE0001F, "hlt"),
    _flow(Flow.HALT, 0xD4A00000, 0xFFE0001C, "dcps1 to dcps3"),
    _flow(Flow.HALT, 0xD69F03E0, 0xFFFFFFFF, "eret"),
    _flow(Flow.HALT, 0xD69F0BFF, 0xFFFFFBFF, "eretaa, eretab"),
    _flow(Flow.HALT, 0xD6BF03E0, 0xFFFFFFFF, "drps"),
    _flow(Flow.SKIP, 0xD4000002, 0xFFE0001E, "hvc, smc"),
    # User code may read and write its thread pointer; other system registers tell of the CPU.
    _flow(Flow.PLAIN, 0xD51BD040, 0xFFDFFFE0, "mrs, msr tpidr_el0"),
    _flow(Flow.SKIP, 0xD5100000, 0xFFD00000, "mrs, msr"),
    _flow(Flow.SKIP, 0xD5080000, 0xFFD80000, "sys, sysl: dc, ic, tlbi, gcspopm"),
    _flow(Flow.SKIP, 0xD5400000, 0xFFC00000, "sysp, mrrs, msrr"),
    _flow(Flow.SKIP, 0xD500401F, 0xFFF8F01F, "msr immediate, smstart, cfinv"),
    _flow(Flow.SKIP, 0xD503205F, 0xFFFFFFDF, "wfe, wfi"),
    _flow(Flow.SKIP, 0xD5031000, 0xFFFFFFC0, "wfet, wfit"),
    _flow(Flow.SKIP, 0x19000400, 0x3B200C00, "cpy*, set*: the length is a register's value"),
    # Newer than the emulator's default CPU: it refuses them.
    _flow(Flow.SKIP, 0x38200000, 0x3F200C00, "ldadd, ldclr, ldeor, ldset, swp, ldapr"),
    _flow(Flow.SKIP, 0x08A07C00, 0x3FA07C00, "cas"),
    _flow(Flow.SKIP, 0x08207C00, 0xBFA07C00, "casp"),
    _flow(Flow.SKIP, 0xD9200000, 0xFF200000, "stg, ldg, st2g, stzg"),
    _flow(Flow.SKIP, 0x9AC01000, 0xFFE0F800, "irg, gmi"),
    _flow(Flow.SKIP, 0x04000000, 0x1E000000, "SVE"),
    _flow(Flow.SKIP, 0x80000000, 0x9E000000, "SME"),
    _flow(Flow.BAD, 0x00000000, 0x9E000000, "reserved"),
    _flow(Flow.BAD, 0x02000000, 0x1A000000, "unallocated"),
)

# Bits 5 to 23 and 29 to 30 of adrp, 10 to 21 of ldr.
_PLT_WORD = (
    Target(0, 4, bits=19, shift=5, scale=0x4000),
    Target(0, 4, bits=2, shift=29, scale=0x1000, signed=False),
    Target(4, 4, bits=12, shift=10, scale=8, signed=False),
)


def _stub(*words: tuple[int, int]) -> Stub:
    code = [_bytes(*word) for word in words]
    value, mask = (b"".join(part) for part in zip(*code, strict=True))
    return Stub(value, mask, _PLT_WORD, align=4096)


_LOAD = (
    (0x90000010, 0x9F00001F),  # adrp x16, page
    (0xF9400211, 0xFFC003FF),  # ldr x17, [x16, #offset]
    (0x00000000, 0x00000000),  # add x16, x16, #offset; nop where that is 0
)
AARCH64_STUBS = (
    _stub(*_LOAD, (0xD61F0220, 0xFFFFFFFF)),  # br x17
    _stub(*_LOAD, (0xD503219F, 0xFFFFFFFF), (0xD61F0220, 0xFFFFFFFF)),  # autia1716; br x17
)
AARCH64_PADDING = (
    _bytes(0xD503201F, 0xFFFFFFFF),  # nop
    _bytes(0, 0xFFFFFFFF),
)
