"""What instructions do to the flow of control: by the manuals, objdump, Capstone, the emulator."""

import random
from collections.abc import Mapping
from pathlib import Path

import capstone
import numpy as np
import pytest

from arch import Arch, by_name
from arch.flow import Flow
from emu.image import load_image
from emu.machine.engine import Engine, StopKind
from emu.memory import EXECUTE, READ, WRITE, Memory
from emu.sweep.instructions import Instructions, decode
from testprogs.unpack import Prebuilt
from tests.support.flow_of import FLOW_OF

SLOT = 16
"""Bytes for each instruction that is looked at alone."""
DATA = Path(__file__).parent / "data" / "flow"
START = 0x40_1000
(
    PLAIN, CALL, CALL_INDIRECT, BRANCH, JUMP, JUMP_INDIRECT, RETURN, RETURN_IF, BRANCH_INDIRECT,
    SYSCALL, HALT, SKIP, LINK, BAD,
) = Flow  # fmt: skip


def decoded(name: str, code: bytes, start: int = START) -> Instructions:
    """One part, from its first byte to its last."""
    arch = by_name(name)
    assert arch is not None
    return decode(arch, code, start, [(start, start + len(code))])


def first(name: str, code: bytes) -> tuple[Flow, int | None, int]:
    """(flow, target as a distance if it is an address, size) of the instruction there."""
    found = decoded(name, code)
    target = int(found.targets[0])
    distance = target - START if target >= 64 else target if target >= 0 else None
    return Flow(int(found.kinds[0])), distance, int(found.sizes[0])


@pytest.mark.parametrize(
    ("text", "code", "flow", "target"),
    [
        ("call +0x10", "e8 0b 00 00 00", CALL, 0x10),
        ("call -0x10", "e8 eb ff ff ff", CALL, -0x10),
        ("addr32 call +0x10", "67 e8 0a 00 00 00", CALL, 0x10),
        ("bnd jmp +0x10", "f2 e9 0a 00 00 00", JUMP, 0x10),
        ("jmp +2", "eb 00", JUMP, 2),
        ("jmp .", "eb fe", JUMP, 0),
        ("je -0x7e", "74 80", BRANCH, -0x7E),
        ("jg,pt +0x106", "3e 0f 8f ff 00 00 00", BRANCH, 0x106),
        ("loopne +2", "e0 00", BRANCH, 2),
        ("jrcxz +2", "e3 00", BRANCH, 2),
        ("xbegin +6", "c7 f8 00 00 00 00", BRANCH, 6),
        ("call *%rax", "ff d0", CALL_INDIRECT, 0),
        ("call *%rdx", "ff d2", CALL_INDIRECT, 1),
        ("call *%r11", "41 ff d3", CALL_INDIRECT, 11),
        ("notrack jmp *%rcx", "3e ff e1", JUMP_INDIRECT, 2),
        ("notrack jmp *%r15", "3e 41 ff e7", JUMP_INDIRECT, 15),
        ("jmp *(%rax,%rcx,8)", "ff 24 c8", JUMP_INDIRECT, None),
        ("jmp *0x1000(%rip)", "ff 25 00 10 00 00", JUMP_INDIRECT, 0x1006),
        ("bnd jmp *0x1000(%rip)", "f2 ff 25 00 10 00 00", JUMP_INDIRECT, 0x1007),
        ("call *0x1000(%rip)", "ff 15 00 10 00 00", CALL_INDIRECT, 0x1006),
        ("lcall *(%rax)", "ff 18", CALL_INDIRECT, None),
        ("push (%rax)", "ff 30", PLAIN, None),
        ("ret", "c3", RETURN, None),
        ("rep ret", "f3 c3", RETURN, None),
        ("ret $8", "c2 08 00", RETURN, None),
        ("lret", "cb", RETURN, None),
        ("iretq", "48 cf", HALT, None),
        ("sysretq", "48 0f 07", HALT, None),
        ("ud2", "0f 0b", HALT, None),
        ("ud1l 2(%eax),%eax", "67 0f b9 40 02", HALT, None),  # LLVM's traps of UBSan
        ("int3", "cc", HALT, None),
        ("hlt", "f4", HALT, None),
        ("syscall", "0f 05", SYSCALL, None),
        ("int $0x80", "cd 80", SYSCALL, None),
        ("rep stosq", "f3 48 ab", SKIP, None),
        ("stosq", "48 ab", PLAIN, None),
        ("pause", "f3 90", PLAIN, None),
        ("endbr64", "f3 0f 1e fa", PLAIN, None),
        ("rdsspq %rax", "f3 48 0f 1e c8", PLAIN, None),
        ("vzeroupper", "c5 f8 77", SKIP, None),
        ("shlx %rax,(%rcx),%rdx", "c4 e2 f9 f7 11", SKIP, None),
        ("vmovdqu64 (%rdi),%zmm16", "62 e1 fe 48 6f 07", SKIP, None),
        ("pop (%rax)", "8f 00", PLAIN, None),
        ("vpcomb $0,%xmm0,%xmm0,%xmm0", "8f e8 78 cc c0 00", SKIP, None),
        ("ldmxcsr (%rax)", "0f ae 10", PLAIN, None),
        ("lfence", "0f ae e8", PLAIN, None),
        ("mfence", "0f ae f0", PLAIN, None),
        ("xrstor (%rax)", "0f ae 28", SKIP, None),
        ("rdfsbase %rax", "f3 48 0f ae c0", SKIP, None),
        ("cmpxchg16b (%rax)", "48 0f c7 08", PLAIN, None),
        ("rdrand %rax", "48 0f c7 f0", SKIP, None),
        ("mov %cr0,%rax", "0f 20 c0", SKIP, None),
        ("movaps (%rax),%xmm0", "0f 28 00", PLAIN, None),
        ("none", "06", BAD, None),
    ],
)
def test_x86_64(text: str, code: str, flow: Flow, target: int | None) -> None:
    """Opcodes and prefixes of the SDM."""
    data = bytes.fromhex(code)
    assert first("x86_64", data) == (flow, target, len(data))


@pytest.mark.parametrize(
    ("text", "word", "flow", "target"),
    [
        ("bl +4", 0x94000001, CALL, 4),
        ("bl -0x400000", 0x97F00000, CALL, -0x400000),
        ("b -4", 0x17FFFFFF, JUMP, -4),
        ("b.ne +8", 0x54000041, BRANCH, 8),
        ("bc.ne +8", 0x54000051, BRANCH, 8),
        ("b.al +8", 0x5400004E, JUMP, 8),
        ("cbz x0, +8", 0xB4000040, BRANCH, 8),
        ("cbnz w1, -4", 0x35FFFFE1, BRANCH, -4),
        ("tbz w0, #3, +8", 0x36180040, BRANCH, 8),
        ("tbnz x0, #63, -0x8000", 0xB7FC0000, BRANCH, -0x8000),
        ("cbgt w1, w0, +8", 0x74000041, BRANCH, 8),  # FEAT_CMPBR
        ("cblt w1, #0, -4", 0x75203FE1, BRANCH, -4),
        ("blr x8", 0xD63F0100, CALL_INDIRECT, 8),
        ("blraaz x1", 0xD63F083F, CALL_INDIRECT, 1),
        ("blrab x2, x3", 0xD73F0C43, CALL_INDIRECT, 2),
        ("br x16", 0xD61F0200, JUMP_INDIRECT, 16),
        ("br xzr", 0xD61F03E0, JUMP_INDIRECT, None),
        ("braa x17, x16", 0xD71F0A30, JUMP_INDIRECT, 17),
        ("brabz x9", 0xD61F0D3F, JUMP_INDIRECT, 9),
        ("ret", 0xD65F03C0, RETURN, None),
        ("ret x1", 0xD65F0020, RETURN, None),
        ("retaa", 0xD65F0BFF, RETURN, None),
        ("retab", 0xD65F0FFF, RETURN, None),
        ("retaasppc -4", 0x5500003F, RETURN, None),  # FEAT_PAuth_LR
        ("retabsppcr x1", 0xD65F0FE1, RETURN, None),
        ("eret", 0xD69F03E0, HALT, None),
        ("eretab", 0xD69F0FFF, HALT, None),
        ("brk #1000", 0xD4207D00, HALT, None),
        ("hlt #0", 0xD4400000, HALT, None),
        ("udf #0", 0x00000000, HALT, None),
        ("udf #1", 0x00000001, HALT, None),
        ("svc #0", 0xD4000001, SYSCALL, None),
        ("smc #0", 0xD4000003, SKIP, None),
        ("mrs x0, tpidr_el0", 0xD53BD040, PLAIN, None),
        ("msr tpidr_el0, x0", 0xD51BD040, PLAIN, None),
        ("mrs x0, ctr_el0", 0xD53B0020, SKIP, None),
        ("msr daifset, #2", 0xD50342DF, SKIP, None),
        ("dc zva, x3", 0xD50B7423, SKIP, None),
        ("gcspopm", 0xD52B773F, SKIP, None),
        ("wfi", 0xD503207F, SKIP, None),
        ("yield", 0xD503203F, PLAIN, None),
        ("bti c", 0xD503245F, PLAIN, None),
        ("paciasp", 0xD503233F, PLAIN, None),
        ("dmb ish", 0xD5033BBF, PLAIN, None),
        ("ptrue p0.b", 0x2518E3E0, SKIP, None),
        ("smstart", 0xD503477F, SKIP, None),
        ("mov za0h.b[w12, 0], p0/m, z0.b", 0xC0000000, SKIP, None),
        ("cpyfp [x0]!, [x1]!, x2!", 0x19010440, SKIP, None),
        ("casal w0, w1, [x2]", 0x88E0FC41, SKIP, None),
        ("ldaddal w0, w0, [x1]", 0xB8E00020, SKIP, None),
        ("ldr x0, [x1, x2]", 0xF8626820, PLAIN, None),
        ("ldrb w0, [x1], #1", 0x38401420, PLAIN, None),
        ("stlxr w0, w1, [x2]", 0x8800FC41, PLAIN, None),
        ("none (op0 1)", 0x02000000, BAD, None),
        ("none (op0 3)", 0x06000000, BAD, None),
        ("none (op0 0)", 0x00010000, BAD, None),
    ],
)
def test_aarch64(text: str, word: int, flow: Flow, target: int | None) -> None:
    """Encodings of the Arm ARM, section C4.1."""
    assert first("aarch64", word.to_bytes(4, "little")) == (flow, target, 4)


@pytest.mark.parametrize(
    ("text", "code", "flow", "target"),
    [
        ("brasl %r14,+0x10", "c0 e5 00 00 00 08", CALL, 0x10),
        ("brasl %r0,-2", "c0 05 ff ff ff ff", LINK, -2),
        ("bras %r14,-0x10", "a7 e5 ff f8", CALL, -0x10),
        ("bras %r13,+8", "a7 d5 00 04", LINK, 8),
        ("basr %r14,%r1", "0d e1", CALL_INDIRECT, 1),
        ("basr %r14,0", "0d e0", PLAIN, None),
        ("basr %r13,0", "0d d0", PLAIN, None),
        ("basr %r2,%r3", "0d 23", LINK, 3),
        ("bas %r14,0(%r1)", "4d e0 10 00", CALL_INDIRECT, None),
        ("br %r14", "07 fe", RETURN, None),
        ("b 0(%r14)", "47 f0 e0 00", RETURN, None),
        ("ber %r14", "07 8e", RETURN_IF, None),
        ("be 0(%r14)", "47 80 e0 00", RETURN_IF, None),
        ("br %r1", "07 f1", JUMP_INDIRECT, 1),
        ("ber %r1", "07 81", BRANCH_INDIRECT, 1),
        ("nopr %r14", "07 0e", PLAIN, None),
        ("bcr 15,0", "07 f0", PLAIN, None),  # serialises
        ("nop 0", "47 00 00 00", PLAIN, None),
        ("b 0(%r1,%r2)", "47 f1 20 00", JUMP_INDIRECT, None),
        ("bi 0(%r1)", "e3 f0 10 00 00 47", JUMP_INDIRECT, None),
        ("j .+2", "a7 f4 00 01", JUMP, 2),
        ("jne -2", "a7 74 ff ff", BRANCH, -2),
        ("jnop +8", "a7 04 00 04", PLAIN, None),
        ("jg -0x10", "c0 f4 ff ff ff f8", JUMP, -0x10),
        ("jgh +0x10", "c0 24 00 00 00 08", BRANCH, 0x10),
        ("brct %r1,-2", "a7 16 ff ff", BRANCH, -2),
        ("brctg %r1,-2", "a7 17 ff ff", BRANCH, -2),
        ("brcth %r1,-2", "cc 16 ff ff ff ff", BRANCH, -2),
        ("brxh %r1,%r2,+8", "84 12 00 04", BRANCH, 8),
        ("brxlg %r1,%r2,+8", "ec 12 00 04 00 45", BRANCH, 8),
        ("cgrjne %r1,%r2,+8", "ec 12 00 04 60 64", BRANCH, 8),
        ("clijh %r1,5,-2", "ec 12 ff ff 05 7f", BRANCH, -2),
        ("crbe %r1,%r2,0(%r14)", "ec 12 e0 00 80 f6", RETURN_IF, None),
        ("cgibne %r1,0,0(%r14)", "ec 16 e0 00 00 fc", RETURN_IF, None),
        ("cgibne %r1,0,0(%r2)", "ec 16 20 00 00 fc", BRANCH_INDIRECT, None),
        ("locghie %r1,0", "ec 18 00 00 00 46", PLAIN, None),
        ("bctr %r1,0", "06 10", PLAIN, None),
        ("bctr %r1,%r2", "06 12", BRANCH_INDIRECT, 2),
        ("bctgr %r1,%r14", "b9 46 00 1e", RETURN_IF, None),
        ("bxle %r1,%r2,0(%r3)", "87 12 30 00", BRANCH_INDIRECT, None),
        ("bsm 0,%r14", "0b 0e", RETURN, None),
        ("exrl %r0", "c6 00 00 00 00 08", BRANCH_INDIRECT, None),  # -mindirect-branch
        ("svc 1", "0a 01", SYSCALL, None),
        ("none, for good", "00 00", HALT, None),
        ("trap2", "01 ff", HALT, None),
        ("lpswe 0", "b2 b2 00 00", HALT, None),
        ("stck 0(%r1)", "b2 05 10 00", SKIP, None),
        ("mvcle %r2,%r4,0", "a8 24 00 00", SKIP, None),
        ("cgit %r1,0,8", "ec 10 00 00 80 70", SKIP, None),
        ("sqxbr %f0,%f4", "b3 16 00 04", SKIP, None),
        ("sqdbr %f0,%f4", "b3 15 00 04", PLAIN, None),
        ("adtr %f0,%f2,%f4", "b3 d2 40 02", SKIP, None),
        ("selgre %r1,%r2,%r3", "b9 e3 38 12", SKIP, None),
        ("vlrl %v0,0(%r2),5", "e6 05 20 00 00 35", SKIP, None),
        ("vl %v0,0(%r2)", "e7 00 20 00 00 06", PLAIN, None),
        ("ldgr %f0,%r11", "b3 c1 00 0b", PLAIN, None),
        ("lmg %r6,%r15,48(%r15)", "eb 6f f0 30 00 04", PLAIN, None),
        ("none (0x02)", "02 00", BAD, None),
    ],
)
def test_s390x(text: str, code: str, flow: Flow, target: int | None) -> None:
    """Operation codes of the Principles of Operation."""
    data = bytes.fromhex(code)
    assert first("s390x", data) == (flow, target, len(data))


PADDING = {
    "x86_64": (
        "90", "66 90", "0f 1f 00", "0f 1f 40 00", "0f 1f 44 00 00", "66 0f 1f 44 00 00",
        "0f 1f 80 00 00 00 00", "0f 1f 84 00 00 00 00 00", "66 0f 1f 84 00 00 00 00 00",
        "66 2e 0f 1f 84 00 00 00 00 00", "66 66 2e 0f 1f 84 00 00 00 00 00",
        "66 66 66 66 66 66 2e 0f 1f 84 00 00 00 00 00", "cc", "f4",
    ),
    "aarch64": ("1f 20 03 d5", "00 00 00 00"),
    "s390x": ("07 00", "07 07", "47 00 00 00", "c0 04 00 00 00 00", "00 00"),
}  # fmt: skip
NO_PADDING = {
    "x86_64": ("f3 90", "41 90", "f3 0f 1e fa", "66 89 c0", "66 66 48 e8 00 00 00 00"),
    "aarch64": ("5f 24 03 d5", "3f 20 03 d5", "01 00 00 00"),
    "s390x": ("07 fe", "07 f0", "47 f0 10 00", "c0 f4 00 00 00 00"),
}


@pytest.mark.parametrize("wanted", [1, 0])
def test_padding(arch: Arch, wanted: int) -> None:
    """What assemblers fill with: GNU as, x86 alt_patt; nop; nopr. Look-alikes are none."""
    for text in (PADDING if wanted else NO_PADDING)[arch.name]:
        code = bytes.fromhex(text)
        found = decoded(arch.name, code)
        assert (int(found.padding[0]), int(found.sizes[0])) == (wanted, len(code)), text


def lines(arch: Arch) -> list[tuple[int, bytes, str]]:
    """(address, bytes, objdump's text) of one instruction for each mnemonic and form."""
    found = []
    for line in (DATA / f"{arch.name}.txt").read_text().splitlines():
        address, code, text = line.split(" ", 2)
        data = bytes.fromhex(code)
        if arch.byte_order == "little" and arch.instruction_unit > 1:
            data = data[::-1]  # objdump prints words
        found.append((int(address, 16), data, text))
    return found


TWO_IN_ONE = ("fstcw", "fstsw")
"""objdump prints the x87's wait (9b) and the instruction behind it as one."""


def test_agrees_with_objdump(arch: Arch) -> None:
    """Length, flow and direct target of every mnemonic in libc, libm and others."""
    listed = [
        (address, code[:1] if text.startswith(TWO_IN_ONE) else code, text)
        for address, code, text in lines(arch)
    ]
    slots = b"".join(code.ljust(SLOT, b"\0") for _, code, _ in listed)
    places = range(START, START + len(slots), SLOT)
    parts = [(place, place + len(code)) for place, (_, code, _) in zip(places, listed, strict=True)]
    found = decode(arch, slots, START, parts)
    different = []
    for place, (address, code, text) in zip(places, listed, strict=True):
        index = (place - START) >> found.shift
        flow, target = FLOW_OF[arch.name](text)
        got = int(found.targets[index])
        if target is not None and got >= 64:
            got += address - place
        if Flow(int(found.kinds[index])) is not flow or found.sizes[index] != len(code):
            different.append((text, code.hex(), Flow(int(found.kinds[index])), flow))
        elif target is not None and got != target:
            different.append((text, code.hex(), got, target))
    assert different == []


VALUES = {
    "x86_64": ("div", "divb", "divl", "divq", "idiv", "idivb", "idivl", "idivq"),
    "aarch64": (),
    # Division; a control word, or a character in a register, that cannot be.
    "s390x": ("d", "dr", "dl", "dlr", "dlg", "dlgr", "dsg", "dsgr", "dsgf", "dsgfr", "sfpc",
              "srst", "clst"),
}  # fmt: skip
"""Instructions that trap because of the values that they meet here."""


@pytest.mark.compiled
def test_what_is_not_skipped_executes(arch: Arch) -> None:
    """The emulator runs every PLAIN instruction of the list, or cannot reach the memory."""
    memory = Memory(1 << 30)
    code_at, data_at, size = 0x100_0000, 0x200_0000, 0x10_0000
    memory.map(code_at, size, READ | EXECUTE)
    memory.map(data_at, 16 * size, READ | WRITE)
    memory.map(0, 16 * size, READ | WRITE)
    engine = Engine(arch, memory)
    reached = []

    def follow(pc: int, _: int) -> None:
        reached.append(pc)
        if len(reached) > 1:
            engine.stop()

    engine.hook_code_python(follow)
    halt = {"x86_64": "cc", "aarch64": "00 00 20 d4", "s390x": "00 00"}[arch.name]
    start = code_at + size // 2
    refused = []
    for _, code, text in lines(arch):
        if text.startswith(TWO_IN_ONE) or text.split(" ")[0] in VALUES[arch.name]:
            continue
        if FLOW_OF[arch.name](text)[0] is not PLAIN:
            continue
        memory.write(start, code + 4 * bytes.fromhex(halt), force=True)
        engine.forget_code(start, start + 64)
        for number, register in enumerate(arch.registers):
            engine.write(register.emulator, data_at + 8 * size + 0x440 * number)
        reached.clear()
        stop = engine.run(start)
        if reached[1:] != [start + len(code)] and stop.kind is not StopKind.MEMORY:
            refused.append((text, code.hex(), stop))
    assert refused == []


def capstone_flow(groups: set[int], name: str) -> set[Flow]:
    """What Capstone's groups allow; it has none for conditions and for what must be skipped."""
    if name == "s390x":
        groups -= {capstone.CS_GRP_BRANCH_RELATIVE}
    if capstone.CS_GRP_CALL in groups:
        return {CALL, CALL_INDIRECT}
    if capstone.CS_GRP_RET in groups or capstone.CS_GRP_IRET in groups:
        return {RETURN}
    if capstone.CS_GRP_JUMP in groups:
        return {BRANCH, JUMP, JUMP_INDIRECT, RETURN, RETURN_IF, BRANCH_INDIRECT}
    if capstone.CS_GRP_INT in groups:
        return {SYSCALL, HALT}
    return {PLAIN, SKIP, HALT}


S390X_WITHOUT_GROUP = {
    "brasl": {CALL, LINK}, "bras": {CALL, LINK}, "basr": {CALL_INDIRECT, LINK, PLAIN},
    "svc": {SYSCALL}, "bcr": {PLAIN}, "bnor": {PLAIN, RETURN_IF, BRANCH_INDIRECT},
    "nopr": {PLAIN}, "bsm": {PLAIN, JUMP_INDIRECT},
}  # fmt: skip


def test_agrees_with_capstone(arch: Arch, prebuilt: Mapping[tuple[str, str], Prebuilt]) -> None:
    """Length, group and target of all instructions in the functions of a static glibc program."""
    image = load_image(str(prebuilt[arch.name, "calls-glibc-O2"].path))
    text = image.section(".text")
    assert text is not None
    code = image.section_bytes(text)
    functions = sorted(
        {
            (symbol.value, symbol.value + symbol.size)
            for symbol in image.symbols
            if symbol.kind == 2 and symbol.size and text.addr <= symbol.value
            if symbol.value + symbol.size <= text.addr + text.size
        }
    )
    found = decode(arch, code, text.addr, functions)
    disassembler = capstone.Cs(*arch.disassembler)
    disassembler.detail = True
    different, seen = [], 0
    for start, end in functions:
        for line in disassembler.disasm(code[start - text.addr : end - text.addr], start):
            seen += 1
            index = (line.address - text.addr) >> found.shift
            flow = Flow(int(found.kinds[index]))
            allowed = capstone_flow(set(line.groups), arch.name)
            if arch.name == "s390x":
                allowed = S390X_WITHOUT_GROUP.get(line.mnemonic, allowed)
            elif line.mnemonic in ("mrs", "msr"):
                allowed = {PLAIN, SKIP}
            if flow not in allowed or found.sizes[index] != line.size:
                different.append((hex(line.address), line.mnemonic, line.op_str, flow))
            elif flow in (CALL, BRANCH, JUMP):
                target = int(found.targets[index])
                if target != int(line.op_str.split(",")[-1].strip(" #"), 16):
                    different.append((hex(line.address), line.mnemonic, line.op_str, hex(target)))
    assert different == []
    assert seen > 60_000


# ---- decoding of parts


def begins(found: Instructions) -> list[int]:
    """Offsets of all instructions."""
    return [int(index) << found.shift for index in np.flatnonzero(found.sizes)]


def test_parts_are_cut_on_their_own() -> None:
    """A part begins where it begins, whatever the one before made of its last bytes."""
    code = bytes.fromhex("b8 01 02  c3 90 90")  # a mov that is cut off by the next part
    arch = by_name("x86_64")
    assert arch is not None
    found = decode(arch, code, START, [(START + 3, START + 6), (START, START + 3)])
    assert begins(found)[-3:] == [3, 4, 5]
    assert found.kinds[3] == RETURN
    assert begins(decoded("x86_64", code))[:1] == [0]
    assert found.kinds[0] == BAD
    assert found.sizes[0] == 1


def test_what_is_in_no_part_is_not_decoded(arch: Arch) -> None:
    """Nor is anything outside of the code."""
    nops = bytes.fromhex(PADDING[arch.name][0]) * 32
    parts = [(START - 64, START + 8), (START + len(nops) - 8, START + len(nops) + 64)]
    found = decode(arch, nops, START, parts)
    assert all(offset < 8 or offset >= len(nops) - 8 for offset in begins(found))
    assert begins(found)[0] == 0
    assert found.end == START + len(nops)
    assert begins(decode(arch, nops, START, [])) == []


def test_an_instruction_that_is_cut_off_is_bad() -> None:
    """Six bytes of which four are there: two bad halfwords."""
    found = decoded("s390x", bytes.fromhex("c0 e5 00 00"))
    assert begins(found) == [0, 2]
    assert found.kinds[0] == BAD
    assert found.sizes[0] == 2


@pytest.mark.parametrize(
    ("name", "code", "wanted"),
    [
        # je over a lock prefix: both ways are code.
        ("x86_64", "74 01  f0 0f c1 02  c3", {0: (BRANCH, 2), 2: (PLAIN, 4), 3: (PLAIN, 3),
                                              6: (RETURN, 1)}),
        # A trap of GCC: the jump goes to its own second half, which is no instruction.
        ("s390x", "a7 f4 00 01  07 fe", {0: (JUMP, 4), 2: (HALT, 2), 4: (RETURN, 2)}),
        # Data behind a jump: what looks like the start of six bytes hides a return.
        ("s390x", "a7 f4 00 03  c0 e5  07 fe  07 07", {0: (JUMP, 4), 4: (CALL, 6), 6: (RETURN, 2),
                                                     8: (PLAIN, 2)}),
    ],
)  # fmt: skip
def test_jumps_into_the_middle(name: str, code: str, wanted: dict[int, tuple[Flow, int]]) -> None:
    """Where a jump of the same part goes, an instruction begins."""
    found = decoded(name, bytes.fromhex(code))
    got = {
        offset: (Flow(int(found.kinds[offset >> found.shift])), found.sizes[offset >> found.shift])
        for offset in begins(found)
    }
    assert got == wanted


def test_jumps_of_other_parts_do_not_cut() -> None:
    """Data between functions may look like jumps into them."""
    arch = by_name("x86_64")
    assert arch is not None
    code = bytes.fromhex("eb 01  b8 90 90 90 90")
    parts = [(START + 2, START + 7), (START, START + 2)]
    assert begins(decode(arch, code, START, parts)) == [0, 2]


@pytest.mark.parametrize(
    "code",
    [
        "c4 e2 e5 b4 1e",  # {vex} vpmadd52luq (%rsi),%ymm3,%ymm3
        "c4 e2 e5 b4 6e 20",  # the same with a displacement
        "c4 42 27 cb e0",  # vsha512rnds2 %xmm8,%ymm11,%ymm12
        "c4 e3 69 de c1 3f",  # vsm3rnds2 $0x3f,%xmm1,%xmm2,%xmm0
        "62 f5 74 48 58 02",  # vaddph (%rdx),%zmm1,%zmm0
        "62 f6 75 48 98 84 91 00 01 00 00",  # vfmadd132ph 0x100(%rcx,%rdx,4),%zmm1,%zmm0
        "62 f3 74 48 c2 c1 05",  # vcmpph $5,%zmm1,%zmm1,%k0
    ],
)
def test_newer_than_the_disassembler(code: str) -> None:
    """The length of vector instructions follows from their map; lengths by GNU as 2.47.50."""
    data = bytes.fromhex(code)
    found = decoded("x86_64", data + b"\xc3")
    assert begins(found) == [0, len(data)]
    assert [Flow(int(found.kinds[at])) for at in begins(found)] == [SKIP, RETURN]


def test_code_without_order(arch: Arch) -> None:
    """Random bytes: each is covered, targets fit their kinds, and it comes to an end."""
    code = random.Random(4).randbytes(20_000)
    found = decoded(arch.name, code)
    covered = np.zeros(len(code) + 16, bool)
    for offset in begins(found):
        covered[offset : offset + int(found.sizes[offset >> found.shift])] = True
    assert covered[: len(code)].all()
    assert not covered[len(code) :].any()
    direct = np.isin(found.kinds, (CALL, BRANCH, JUMP))
    assert (found.targets[direct] != -1).all()
    assert (found.targets[np.isin(found.kinds, (PLAIN, RETURN, HALT, BAD))] == -1).all()
