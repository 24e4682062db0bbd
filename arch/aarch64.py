"""aarch64: AAPCS64 and AADWARF64 (section 4.1, DWARF numbers); Linux asm-generic/unistd.h."""

from arch.descriptor import (
    AddressLayout,
    Arch,
    Boot,
    CoprocessorWrite,
    Encoding,
    InstructionKind,
    Register,
    SFrameFacts,
    StatLayout,
    SyscallConvention,
)
from arch.row import CfaRule, RegRule, Row, RuleKind

SP, FP, RA = 31, 29, 30


def _word(kind: InstructionKind, value: int, mask: int, name: str) -> Encoding:
    return Encoding(kind, value.to_bytes(4, "little"), mask.to_bytes(4, "little"), name)


AARCH64 = Arch(
    name="aarch64",
    elf_machine=183,
    byte_order="little",
    instruction_unit=4,
    longest_instruction=4,
    registers=(
        *(Register(f"x{n}", n, 199 + n) for n in range(29)),
        Register("x29", 29, 1),
        Register("x30", 30, 2),
        Register("sp", 31, 4),
    ),
    sp=SP,
    fp=FP,
    ra=RA,
    pc_emulator=260,
    flags_emulator=3,
    ra_in_register=True,
    entry_cfa_offset=0,
    sp_offset=0,
    sframe=SFrameFacts(
        abi_ids={1: "big", 2: "little"},
        abi_names={1: "aarch64-be", 2: "aarch64"},
        fixed_ra_offset=0,
        cfa_bias=0,
        cfa_scale=1,
        registers_in_offsets=False,
        zero_ra_is_filler=False,
        pauth=True,
    ),
    encodings=(
        _word(InstructionKind.CALL, 0x94000000, 0xFC000000, "bl"),
        _word(InstructionKind.CALL, 0xD63F0000, 0xFFFFFC1F, "blr"),
        _word(InstructionKind.CALL, 0xD63F081F, 0xFFFFF81F, "blraaz, blrabz"),
        _word(InstructionKind.CALL, 0xD73F0800, 0xFFFFF800, "blraa, blrab"),
        _word(InstructionKind.RETURN, 0xD65F0000, 0xFFFFFC1F, "ret"),
        _word(InstructionKind.RETURN, 0xD65F0BFF, 0xFFFFFBFF, "retaa, retab"),
    ),
    prefixes=b"",
    syscall=SyscallConvention(
        number=207, arguments=(199, 200, 201, 202, 203, 204), result=199, interrupt=2
    ),
    boot=Boot(
        emulator_arch=2,
        emulator_mode=0,
        cpu_models={"a57": 0, "a53": 1, "a72": 2, "max": 3},
        emulator_page_size=4096,  # else 1024
        pauth_model="max",
        or_registers=((261, 3 << 20),),  # CPACR_EL1.FPEN: floating point and SIMD at EL0
        # SCTLR_EL1: UCI, UCT and DZE, which Linux gives to EL0 (cache maintenance, dc zva).
        coprocessor=(CoprocessorWrite(3, 0, 1, 0, 0, 1 << 26 | 1 << 15 | 1 << 14),),
        coprocessor_register=290,
        pauth=(
            CoprocessorWrite(3, 6, 1, 1, 0, 3 << 16 | 1 << 10 | 1),  # SCR_EL3: API, APK, RW, NS
            CoprocessorWrite(3, 4, 1, 1, 0, 3 << 40 | 1 << 31),  # HCR_EL2: API, APK, RW
            CoprocessorWrite(3, 0, 1, 0, 0, 3 << 30),  # SCTLR_EL1: EnIA, EnIB
        ),
        pauth_keys=((3, 0, 2, 1, 0), (3, 0, 2, 1, 1), (3, 0, 2, 1, 2), (3, 0, 2, 1, 3)),
    ),
    layout=AddressLayout(
        stack_top=0xFFFF_FFFF_F000,
        mmap_base=0xFFFF_F7FF_F000,
        pie_base=0xAAAA_AAAA_0000,
        platform=b"aarch64",
        hwcap=0x3,  # FP and ASIMD
    ),
    syscalls={
        "getcwd": 17, "ioctl": 29, "close": 57, "lseek": 62, "read": 63, "write": 64, "readv": 65,
        "writev": 66, "ppoll": 73, "readlinkat": 78, "newfstatat": 79, "fstat": 80, "exit": 93,
        "exit_group": 94, "set_tid_address": 96, "futex": 98, "set_robust_list": 99,
        "clock_gettime": 113, "clock_getres": 114, "kill": 129, "tkill": 130, "tgkill": 131,
        "sigaltstack": 132, "rt_sigaction": 134, "rt_sigprocmask": 135, "uname": 160,
        "getrlimit": 163, "gettimeofday": 169, "getpid": 172, "getppid": 173, "getuid": 174,
        "geteuid": 175, "getgid": 176, "getegid": 177, "gettid": 178, "sysinfo": 179, "brk": 214,
        "munmap": 215, "mremap": 216, "mmap": 222, "mprotect": 226, "madvise": 233,
        "prlimit64": 261, "getrandom": 278, "rseq": 293,
    },
    stat=StatLayout(
        size=128,
        fields={
            "dev": (0, 8), "ino": (8, 8), "mode": (16, 4), "nlink": (20, 4), "uid": (24, 4),
            "gid": (28, 4), "rdev": (32, 8), "size": (48, 8), "blksize": (56, 4), "blocks": (64, 8),
        },
    ),
    frame_pointer_row=Row(
        cfa=CfaRule(FP, 16),
        ra=RegRule(RuleKind.AT_CFA, offset=-8),
        fp=RegRule(RuleKind.AT_CFA, offset=-16),
        sp_offset=0,
    ),
    # Without top-byte-ignore a signature fills every bit above the 48-bit address but 55.
    ra_sign_mask=0xFF7F_0000_0000_0000,
    disassembler=(1, 0),
)  # fmt: skip
