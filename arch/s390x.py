"""s390x: ELF ABI s390x supplement (sections 1.2 and 1.6); Linux arch/s390 syscall.tbl."""

from arch.descriptor import (
    AddressLayout,
    Arch,
    Boot,
    Encoding,
    InstructionKind,
    Register,
    SFrameFacts,
    StatLayout,
    SyscallConvention,
)
from arch.row import UNKNOWN, CfaRule, RegRule, Row, RuleKind

SP, FP, RA = 15, 11, 14
SAVE_AREA = 160
"""Bytes of the register save area that every caller provides; the CFA lies above it."""


def _float_number(dwarf: int) -> int:
    """The floating-point register with DWARF number 16..31 (ABI table 1.19)."""
    return (dwarf & 3) << 1 | (dwarf & 4) >> 2 | dwarf & 8


S390X = Arch(
    name="s390x",
    elf_machine=22,
    byte_order="big",
    instruction_unit=2,
    longest_instruction=6,
    registers=(
        *(Register(f"r{n}", n, 1 + n) for n in range(16)),
        *(Register(f"f{_float_number(n)}", n, 17 + _float_number(n)) for n in range(16, 32)),
    ),
    sp=SP,
    fp=FP,
    ra=RA,
    pc_emulator=65,
    flags_emulator=0,
    ra_in_register=True,
    entry_cfa_offset=SAVE_AREA,
    sp_offset=-SAVE_AREA,
    sframe=SFrameFacts(
        abi_ids={4: "big"},
        abi_names={4: "s390x"},
        fixed_ra_offset=0,
        cfa_bias=SAVE_AREA,
        cfa_scale=8,
        registers_in_offsets=True,
        zero_ra_is_filler=True,
        pauth=False,
    ),
    encodings=(
        # A second operand of 0 only fetches the PC; mask 0 never branches.
        Encoding(InstructionKind.PLAIN, b"\x0d\xe0", b"\xff\xff", "basr %r14,0"),
        Encoding(InstructionKind.PLAIN, b"\x05\xe0", b"\xff\xff", "balr %r14,0"),
        Encoding(InstructionKind.PLAIN, b"\x0c\xe0", b"\xff\xff", "bassm %r14,0"),
        Encoding(InstructionKind.PLAIN, b"\x07\x0e", b"\xff\xff", "bcr 0,%r14"),
        Encoding(InstructionKind.CALL, b"\xc0\xe5", b"\xff\xff", "brasl %r14"),
        Encoding(InstructionKind.CALL, b"\xa7\xe5", b"\xff\xff", "bras %r14"),
        Encoding(InstructionKind.CALL, b"\x0d\xe0", b"\xff\xf0", "basr %r14"),
        Encoding(InstructionKind.CALL, b"\x4d\xe0", b"\xff\xf0", "bas %r14"),
        Encoding(InstructionKind.CALL, b"\x0c\xe0", b"\xff\xf0", "bassm %r14"),
        Encoding(InstructionKind.CALL, b"\x05\xe0", b"\xff\xf0", "balr %r14"),
        Encoding(InstructionKind.CALL, b"\x45\xe0", b"\xff\xf0", "bal %r14"),
        Encoding(InstructionKind.RETURN, b"\x07\x0e", b"\xff\x0f", "bcr %r14"),
    ),
    prefixes=b"",
    syscall=SyscallConvention(
        number=2, arguments=(3, 4, 5, 6, 7, 8), result=3, interrupt=2, pc_advance=2,
        immediate=True, mmap_block=True,
    ),
    boot=Boot(
        emulator_arch=9,
        emulator_mode=1 << 30,
        cpu_models={"z196": 22, "zec12": 25, "z13": 28, "z14": 31, "qemu": 36, "max": 37},
        # PSW mask: problem state, 64-bit addressing (EA, BA).
        set_registers=((66, 0x0001_0001_8000_0000),),
        or_registers=((100, 0x60000),),  # CR0: AFP registers and vector
    ),
    layout=AddressLayout(
        stack_top=0x3FF_FFFF_F000,
        mmap_base=0x3FF_F7FF_F000,
        pie_base=0x2AA_0000_0000,
        platform=b"z900",
    ),
    syscalls={
        "exit": 1, "read": 3, "write": 4, "close": 6, "lseek": 19, "getpid": 20, "kill": 37,
        "brk": 45, "ioctl": 54, "getppid": 64, "gettimeofday": 78, "readlink": 85, "mmap": 90,
        "munmap": 91, "fstat": 108, "sysinfo": 116, "uname": 122, "mprotect": 125, "readv": 145,
        "writev": 146, "mremap": 163, "poll": 168, "rt_sigaction": 174, "rt_sigprocmask": 175,
        "getcwd": 183, "sigaltstack": 186, "getrlimit": 191, "getuid": 199, "getgid": 200,
        "geteuid": 201, "getegid": 202, "madvise": 219, "gettid": 236, "tkill": 237, "futex": 238,
        "tgkill": 241, "exit_group": 248, "set_tid_address": 252, "clock_gettime": 260,
        "clock_getres": 261, "newfstatat": 293, "readlinkat": 298, "set_robust_list": 304,
        "prlimit64": 334, "getrandom": 349, "rseq": 383,
    },
    stat=StatLayout(
        size=144,
        fields={
            "dev": (0, 8), "ino": (8, 8), "nlink": (16, 8), "mode": (24, 4), "uid": (28, 4),
            "gid": (32, 4), "rdev": (40, 8), "size": (48, 8), "blksize": (104, 8),
            "blocks": (112, 8),
        },
    ),
    # The word at SP is the caller's SP; %r14 was stored in the caller's save area, at
    # SP + 112, which is CFA - 48. It tells nothing of %r11.
    back_chain_row=Row(
        cfa=CfaRule(SP, 0, deref=True, addend=SAVE_AREA),
        ra=RegRule(RuleKind.AT_CFA, offset=-48),
        fp=UNKNOWN,
        sp_offset=-SAVE_AREA,
        zero_ends=True,
    ),
    disassembler=(6, 1 << 31),
)  # fmt: skip
