"""x86-64: System V ABI, AMD64 supplement (figure 3.36, DWARF numbers); Linux unistd_64.h."""

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
from arch.row import CfaRule, RegRule, Row, RuleKind

_GENERAL = (
    ("rax", 35), ("rdx", 40), ("rcx", 38), ("rbx", 37), ("rsi", 43), ("rdi", 39),
    ("rbp", 36), ("rsp", 44), ("r8", 106), ("r9", 107), ("r10", 108), ("r11", 109),
    ("r12", 110), ("r13", 111), ("r14", 112), ("r15", 113),
)  # fmt: skip

SP, FP, RA = 7, 6, 16

X86_64 = Arch(
    name="x86_64",
    elf_machine=62,
    byte_order="little",
    instruction_unit=1,
    longest_instruction=15,
    registers=tuple(Register(name, i, number) for i, (name, number) in enumerate(_GENERAL)),
    sp=SP,
    fp=FP,
    ra=RA,
    pc_emulator=41,
    flags_emulator=25,
    ra_in_register=False,
    entry_cfa_offset=8,
    sp_offset=0,
    sframe=SFrameFacts(
        abi_ids={3: "little"},
        abi_names={3: "amd64"},
        fixed_ra_offset=-8,
        cfa_bias=0,
        cfa_scale=1,
        registers_in_offsets=False,
        zero_ra_is_filler=False,
        pauth=False,
    ),
    encodings=(
        Encoding(InstructionKind.CALL, b"\xe8", b"\xff", "call rel32"),
        Encoding(InstructionKind.CALL, b"\xff\x10", b"\xff\x38", "call r/m64"),
        Encoding(InstructionKind.CALL, b"\xff\x18", b"\xff\x38", "call m16:64"),
        Encoding(InstructionKind.RETURN, b"\xc3", b"\xff", "ret"),
        Encoding(InstructionKind.RETURN, b"\xc2", b"\xff", "ret imm16"),
        Encoding(InstructionKind.RETURN, b"\xcb", b"\xff", "retf"),
        Encoding(InstructionKind.RETURN, b"\xca", b"\xff", "retf imm16"),
    ),
    prefixes=bytes((0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF2, 0xF3, *range(0x40, 0x50))),
    syscall=SyscallConvention(
        number=35, arguments=(39, 43, 40, 108, 106, 107), result=35, interrupt=None, instruction=699
    ),
    boot=Boot(
        emulator_arch=4,
        emulator_mode=8,
        cpu_models={"haswell": 19, "nehalem": 15, "core2duo": 2, "skylake": 21, "epyc": 35},
        # finit and the kernel's MXCSR (Linux arch/x86/kernel/fpu): 0 after the emulator's reset.
        set_registers=((246, 0x37F), (249, 0x1F80)),
    ),
    layout=AddressLayout(
        stack_top=0x7FFF_FFFF_F000,
        mmap_base=0x7FFF_F7FF_F000,
        pie_base=0x5555_5555_4000,
        platform=b"x86_64",
    ),
    syscalls={
        "read": 0, "write": 1, "close": 3, "fstat": 5, "poll": 7, "lseek": 8, "mmap": 9,
        "mprotect": 10, "munmap": 11, "brk": 12, "rt_sigaction": 13, "rt_sigprocmask": 14,
        "ioctl": 16, "readv": 19, "writev": 20, "mremap": 25, "madvise": 28, "getpid": 39,
        "exit": 60, "uname": 63, "getrlimit": 97, "sysinfo": 99, "gettimeofday": 96,
        "getuid": 102, "getgid": 104, "geteuid": 107, "getegid": 108, "getppid": 110,
        "sigaltstack": 131, "arch_prctl": 158, "gettid": 186, "time": 201, "futex": 202,
        "set_tid_address": 218, "clock_gettime": 228, "clock_getres": 229, "exit_group": 231,
        "tgkill": 234, "kill": 62, "tkill": 200, "newfstatat": 262, "readlink": 89,
        "readlinkat": 267, "set_robust_list": 273, "prlimit64": 302, "getrandom": 318, "rseq": 334,
    },
    stat=StatLayout(
        size=144,
        fields={
            "dev": (0, 8), "ino": (8, 8), "nlink": (16, 8), "mode": (24, 4), "uid": (28, 4),
            "gid": (32, 4), "rdev": (40, 8), "size": (48, 8), "blksize": (56, 8), "blocks": (64, 8),
        },
    ),
    frame_pointer_row=Row(
        cfa=CfaRule(FP, 16),
        ra=RegRule(RuleKind.AT_CFA, offset=-8),
        fp=RegRule(RuleKind.AT_CFA, offset=-16),
        sp_offset=0,
    ),
    disassembler=(3, 8),
)  # fmt: skip
