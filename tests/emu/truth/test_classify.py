"""The recogniser of calls and returns: literal encodings, then Capstone on every program."""

import re
from collections.abc import Iterator, Mapping

import capstone
import numba
import numpy as np
import pytest

from arch import Arch, by_name
from arch.descriptor import InstructionKind
from emu.image import load_image
from emu.native import load64, store64
from emu.truth.classify import Recogniser, classify
from testprogs.unpack import Prebuilt

PLAIN, CALL, RETURN = InstructionKind.PLAIN, InstructionKind.CALL, InstructionKind.RETURN
CLOCK, INDIRECT = InstructionKind.CLOCK, InstructionKind.INDIRECT
SLOT = 32
"""Bytes for each instruction; the recogniser reads up to 22."""


def kind_of(name: str, code: bytes) -> InstructionKind:
    """What the recogniser says of an instruction, with bytes behind it that mean nothing."""
    arch = by_name(name)
    assert arch is not None
    recogniser = Recogniser(arch)
    data = np.frombuffer(code.ljust(SLOT, b"\xe8"), np.uint8)
    return InstructionKind(classify(recogniser.block, data.ctypes.data))


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        ("call rel32", "e8 00 00 00 00", CALL),
        ("call *%rax", "ff d0", CALL),
        ("call *%r11", "41 ff d3", CALL),
        ("call *(%rax)", "ff 10", CALL),
        ("call *8(%rbx,%rcx,4)", "ff 54 8b 08", CALL),
        ("call *0x1000(%rip)", "ff 15 00 10 00 00", CALL),
        ("lcall *(%rax)", "ff 18", CALL),
        ("addr32 call rel32", "67 e8 00 00 00 00", CALL),  # what linkers relax call *GOT to
        ("bnd call rel32", "f2 e8 00 00 00 00", CALL),
        ("notrack call *%rax", "3e ff d0", CALL),
        ("rex.W call *%rax", "48 ff d0", CALL),
        ("data16 rex.W call rel32", "66 66 48 e8 00 00 00 00", CALL),  # __tls_get_addr sequence
        ("call *%fs:0x10", "64 ff 14 25 10 00 00 00", CALL),
        ("rdtsc", "0f 31", CLOCK),
        ("rdtscp", "0f 01 f9", CLOCK),
        ("swapgs", "0f 01 f8", PLAIN),
        ("ret", "c3", RETURN),
        ("rep ret", "f3 c3", RETURN),
        ("bnd ret", "f2 c3", RETURN),
        ("ret $16", "c2 10 00", RETURN),
        ("lret", "cb", RETURN),
        ("lretq", "48 cb", RETURN),
        ("lret $8", "ca 08 00", RETURN),
        ("jmp rel32", "e9 00 00 00 00", PLAIN),
        ("jmp rel8", "eb 00", PLAIN),
        ("jmp *%rax", "ff e0", INDIRECT),
        ("jmp *%r11", "41 ff e3", INDIRECT),
        ("notrack jmp *%rax", "3e ff e0", INDIRECT),
        ("jmp *(%rip)", "ff 25 00 00 00 00", INDIRECT),
        ("ljmp *(%rax)", "ff 28", INDIRECT),
        ("push *(%rax)", "ff 30", PLAIN),
        ("incl (%rax)", "ff 00", PLAIN),
        ("je rel8", "74 c3", PLAIN),  # the displacement looks like a ret
        ("mov $0xe8, %eax", "b8 e8 00 00 00", PLAIN),
        ("syscall", "0f 05", PLAIN),
        ("endbr64", "f3 0f 1e fa", PLAIN),
        ("nop", "90", PLAIN),
        ("vzeroupper", "c5 f8 77", CLOCK),
        ("iretq", "48 cf", PLAIN),
        ("leave", "c9", PLAIN),
    ],
)
def test_x86_64(text: str, code: str, kind: InstructionKind) -> None:
    """Opcodes of the SDM, with the prefixes that may stand before them."""
    assert kind_of("x86_64", bytes.fromhex(code)) == kind


@pytest.mark.parametrize(
    ("text", "word", "kind"),
    [
        ("bl +4", 0x94000001, CALL),
        ("bl -4", 0x97FFFFFF, CALL),
        ("blr x0", 0xD63F0000, CALL),
        ("blr x30", 0xD63F03C0, CALL),
        ("blraaz x1", 0xD63F083F, CALL),
        ("blrabz x1", 0xD63F0C3F, CALL),
        ("blraa x1, x2", 0xD73F0822, CALL),
        ("blrab x1, sp", 0xD73F0C3F, CALL),
        ("mrs x9, cntvct_el0", 0xD53BE049, CLOCK),
        ("mrs x10, cntfrq_el0", 0xD53BE00A, CLOCK),
        ("mrs x0, tpidr_el0", 0xD53BD040, PLAIN),
        ("ret", 0xD65F03C0, RETURN),
        ("ret x1", 0xD65F0020, RETURN),
        ("retaa", 0xD65F0BFF, RETURN),
        ("retab", 0xD65F0FFF, RETURN),
        ("b +4", 0x14000001, PLAIN),
        ("b.ne +8", 0x54000041, PLAIN),
        ("br x16", 0xD61F0200, INDIRECT),
        ("braaz x1", 0xD61F083F, INDIRECT),
        ("braa x1, x2", 0xD71F0822, INDIRECT),
        ("eret", 0xD69F03E0, PLAIN),
        ("cbz x0, +8", 0xB4000040, PLAIN),
        ("nop", 0xD503201F, PLAIN),
        ("svc #0", 0xD4000001, PLAIN),
        ("autiasp", 0xD50323BF, PLAIN),
    ],
)
def test_aarch64(text: str, word: int, kind: InstructionKind) -> None:
    """Encodings of the Arm ARM, section C4.1, branches."""
    assert kind_of("aarch64", word.to_bytes(4, "little")) == kind


@pytest.mark.parametrize(
    ("text", "code", "kind"),
    [
        ("brasl %r14,.", "c0 e5 00 00 00 00", CALL),
        ("bras %r14,.", "a7 e5 00 00", CALL),
        ("basr %r14,%r1", "0d e1", CALL),
        ("basr %r14,%r14", "0d ee", CALL),
        ("bas %r14,0(%r1)", "4d e0 10 00", CALL),
        ("balr %r14,%r2", "05 e2", CALL),
        ("bal %r14,0(%r1)", "45 e0 10 00", CALL),
        ("bassm %r14,%r3", "0c e3", CALL),
        ("basr %r14,0", "0d e0", PLAIN),  # only fetches the PC
        ("balr %r14,0", "05 e0", PLAIN),
        ("bassm %r14,0", "0c e0", PLAIN),
        ("basr %r13,0", "0d d0", PLAIN),
        ("basr %r13,%r1", "0d d1", PLAIN),  # the link register of no convention
        ("bras %r13,.", "a7 d5 00 00", PLAIN),
        ("brasl %r1,.", "c0 15 00 00 00 00", PLAIN),
        ("br %r14", "07 fe", RETURN),
        ("ber %r14", "07 8e", RETURN),
        ("bnher %r14", "07 5e", RETURN),
        ("bor %r14", "07 1e", RETURN),
        ("nopr %r14", "07 0e", PLAIN),  # a mask of 0 never branches
        ("nopr", "07 00", PLAIN),
        ("bcr 14,0", "07 e0", PLAIN),  # serialisation
        ("br %r1", "07 f1", INDIRECT),
        ("ber %r3", "07 83", INDIRECT),
        ("b 8(%r1)", "47 f0 10 08", INDIRECT),
        ("nop 0(%r1)", "47 00 10 00", PLAIN),
        ("bi 0(%r1)", "e3 f0 10 00 00 47", INDIRECT),
        ("j .", "a7 f4 00 00", PLAIN),
        ("jg .", "c0 f4 00 00 00 00", PLAIN),
        ("brct %r14,.", "a7 e6 00 00", PLAIN),
        ("bctr %r14,%r1", "06 e1", INDIRECT),
        ("svc 1", "0a 01", PLAIN),
        ("stck 0", "b2 05 00 00", CLOCK),
        ("stckf 0(%r15)", "b2 7c f0 00", CLOCK),
        ("stcke 8(%r15)", "b2 78 f0 08", CLOCK),
        ("larl %r14,.", "c0 e0 00 00 00 00", PLAIN),
        ("iihf %r14,0", "c0 e8 00 00 00 00", PLAIN),
        ("tmll %r14,0", "a7 e1 00 00", PLAIN),
    ],
)
def test_s390x(text: str, code: str, kind: InstructionKind) -> None:
    """Formats RR, RI, RIL and RX of the Principles of Operation; only %r14 links a call."""
    assert kind_of("s390x", bytes.fromhex(code)) == kind


@pytest.mark.parametrize(
    ("name", "code"), [("x86_64", "66" * 14 + "e8"), ("aarch64", "00" * 4), ("s390x", "00" * 4)]
)
def test_hostile_bytes_end(name: str, code: str) -> None:
    """A run of prefixes as long as an instruction may be, and undefined instructions."""
    assert kind_of(name, bytes.fromhex(code)) in (PLAIN, CALL)


# ---- every instruction of the test programs, against Capstone


def capstone_kind_x86_64(mnemonic: str, operands: str) -> InstructionKind:
    """By mnemonic; prefixes stand before it."""
    word = mnemonic.split()[-1]
    if word in ("call", "lcall"):
        return CALL
    if word in ("rdtsc", "rdtscp", "rdrand", "rdseed", "in", "out", "int", "sysenter", "rdpmc"):
        return CLOCK
    # What VEX and EVEX encode, but for BMI: vector and mask registers.
    if word[0] in "vk":
        return CLOCK
    if word in ("jmp", "ljmp") and not operands[0].isdigit():
        return INDIRECT
    return RETURN if word in ("ret", "retf", "retfq") else PLAIN


def capstone_kind_aarch64(mnemonic: str, operands: str) -> InstructionKind:
    """By mnemonic."""
    if mnemonic in ("bl", "blr", "blraa", "blraaz", "blrab", "blrabz"):
        return CALL
    if mnemonic == "mrs" and operands.endswith(("cntvct_el0", "cntfrq_el0", "midr_el1")):
        return CLOCK
    if mnemonic in ("br", "braa", "braaz", "brab", "brabz"):
        return INDIRECT
    return RETURN if mnemonic in ("ret", "retaa", "retab") else PLAIN


def capstone_kind_s390x(mnemonic: str, operands: str) -> InstructionKind:
    """By mnemonic and the first operand, which is the link register of a call."""
    if mnemonic in ("stck", "stckf", "stcke"):
        return CLOCK
    if mnemonic in ("brasl", "bras", "bas", "bal") and operands.startswith("%r14,"):
        return CALL
    if mnemonic in ("basr", "balr", "bassm") and operands.startswith("%r14,"):
        return PLAIN if operands in ("%r14, 0", "%r14, %r0") else CALL
    # br, ber, bnher, b, be, bnhe, ...: one operand; bcr with a mask that has no name: two.
    if re.fullmatch(r"b(o|h|nle|l|nhe|lh|ne|e|nlh|he|nl|le|nh|no)?r?", mnemonic):
        if mnemonic.endswith("r"):
            return {"%r14": RETURN, "%r0": PLAIN}.get(operands, INDIRECT)
        return INDIRECT
    if mnemonic == "bcr" and operands.endswith(", %r14"):
        return PLAIN if operands.startswith("0,") else RETURN
    # Compare and branch, to an address in a register.
    if re.fullmatch(r"c(l?g)?[ir]b(e|h|l|ne|nh|nl|he|le|lh)?", mnemonic) or mnemonic == "bsm":
        return INDIRECT
    return PLAIN


CAPSTONE_KINDS = {
    "x86_64": capstone_kind_x86_64,
    "aarch64": capstone_kind_aarch64,
    "s390x": capstone_kind_s390x,
}


def functions(programs: list[Prebuilt]) -> Iterator[bytes]:
    """The code of each function symbol, once, and of executable sections beside .text."""
    seen: set[bytes] = set()
    for program in programs:
        image = load_image(str(program.path))
        for symbol in image.symbols:
            if symbol.kind != 2 or not 0 < symbol.section_index < len(image.sections):
                continue
            section = image.sections[symbol.section_index]
            if not section.flags & 4:
                continue
            offset = section.offset + symbol.value - (0 if image.kind == "rel" else section.addr)
            code = image.data[offset : offset + symbol.size]
            if code and code not in seen:
                seen.add(code)
                yield code
        for section in image.sections:
            # Stubs, start-up code and what else has no function symbol with a size.
            if section.kind == 1 and section.flags & 4 and section.name != ".text":
                yield image.data[section.offset : section.offset + section.size]


def length(name: str, code: bytes) -> int:
    """Bytes of an instruction that Capstone does not know, to go on behind it; 0: unknown."""
    if name == "s390x":
        return (2, 4, 4, 6)[code[0] >> 6]
    return 4 if name == "aarch64" else 0


def instructions(arch: Arch, code: bytes) -> Iterator[tuple[bytes, str, str]]:
    """(bytes, mnemonic, operands) of linear disassembly."""
    disassembler = capstone.Cs(*arch.disassembler)
    at = 0
    while at < len(code):
        begin = at
        for address, size, mnemonic, operands in disassembler.disasm_lite(code[at:], at):
            yield code[address : address + size], mnemonic, operands
            at = address + size
        if at < len(code):
            skip = length(arch.name, code[at:])
            at += skip
            if not skip or at == begin:
                return


@numba.njit
def classify_all(block, codes, kinds, count):
    for number in range(count):
        store64(kinds + 8 * number, classify(block, load64(codes + 8 * number)))


@pytest.mark.compiled
def test_agrees_with_capstone_on_every_instruction(
    arch: Arch, prebuilt: Mapping[tuple[str, str], Prebuilt]
) -> None:
    """All functions of all prebuilt programs: calls, returns and everything else."""
    programs = [program for (name, _), program in prebuilt.items() if name == arch.name]
    known: dict[bytes, tuple[str, str]] = {}
    for code in functions(programs):
        for encoding, mnemonic, operands in instructions(arch, code):
            known[encoding] = (mnemonic, operands)
    data = np.frombuffer(b"".join(code.ljust(SLOT, b"\0") for code in known), np.uint8)
    places = data.ctypes.data + SLOT * np.arange(len(known))
    kinds = np.zeros(len(known), np.int64)
    recogniser = Recogniser(arch)
    classify_all(recogniser.block, places.ctypes.data, kinds.ctypes.data, len(known))
    wanted = [CAPSTONE_KINDS[arch.name](*text) for text in known.values()]
    different = [
        (code.hex(), *text, InstructionKind(kind).name)
        for (code, text), kind, want in zip(known.items(), kinds.tolist(), wanted, strict=True)
        if kind != want
    ]
    assert different == []
    assert wanted.count(CALL) > 1000
    assert wanted.count(RETURN) >= 1
