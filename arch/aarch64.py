"""aarch64: AAPCS64 and AADWARF64 (section 4.1, DWARF numbers); Linux asm-generic/unistd.h."""

from arch.aarch64_assembly import AARCH64_ASSEMBLY
from arch.aarch64_flow import AARCH64_FLOW, AARCH64_PADDING, AARCH64_STUBS
from arch.aarch64_instructions import AARCH64_EXCEPTIONS, AARCH64_HANDLED
from arch.aarch64_relocations import AARCH64_RELOCATIONS
from arch.compilers import AARCH64_COMPILERS
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
    numbered,
)
from arch.entries import LazyBinding
from arch.export import (
    NT_FPREGSET,
    NT_PRSTATUS,
    PC,
    ExportFacts,
    RegisterNote,
    Signatures,
    Slot,
    in_order,
)
from arch.files import FileFacts
from arch.jump_tables import JumpTables
from arch.kernel import KernelFacts, OlderWalk
from arch.row import CfaRule, RegRule, Row, RuleKind

SP, FP, RA = 31, 29, 30


def _bytes(value: int, mask: int) -> tuple[bytes, bytes]:
    return value.to_bytes(4, "little"), mask.to_bytes(4, "little")


def _word(kind: InstructionKind, value: int, mask: int, name: str) -> Encoding:
    return Encoding(kind, *_bytes(value, mask), name)


_SYSCALLS = numbered(
    (0,
     "io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr "
     "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr lremovexattr "
     "fremovexattr getcwd lookup_dcookie eventfd2 epoll_create1 epoll_ctl epoll_pwait dup dup3 "
     "fcntl inotify_init1 inotify_add_watch inotify_rm_watch ioctl ioprio_set ioprio_get flock "
     "mknodat mkdirat unlinkat symlinkat linkat renameat umount2 mount pivot_root nfsservctl "
     "statfs fstatfs truncate ftruncate fallocate faccessat chdir fchdir chroot fchmod "
     "fchmodat fchownat fchown openat close vhangup pipe2 quotactl getdents64 lseek read write "
     "readv writev pread64 pwrite64 preadv pwritev sendfile pselect6 ppoll signalfd4 vmsplice "
     "splice tee readlinkat newfstatat fstat sync fsync fdatasync sync_file_range "
     "timerfd_create timerfd_settime timerfd_gettime utimensat acct capget capset personality "
     "exit exit_group waitid set_tid_address unshare futex set_robust_list get_robust_list "
     "nanosleep getitimer setitimer kexec_load init_module delete_module timer_create "
     "timer_gettime timer_getoverrun timer_settime timer_delete clock_settime clock_gettime "
     "clock_getres clock_nanosleep syslog ptrace sched_setparam sched_setscheduler "
     "sched_getscheduler sched_getparam sched_setaffinity sched_getaffinity sched_yield "
     "sched_get_priority_max sched_get_priority_min sched_rr_get_interval restart_syscall kill "
     "tkill tgkill sigaltstack rt_sigsuspend rt_sigaction rt_sigprocmask rt_sigpending "
     "rt_sigtimedwait rt_sigqueueinfo rt_sigreturn setpriority getpriority reboot setregid "
     "setgid setreuid setuid setresuid getresuid setresgid getresgid setfsuid setfsgid times "
     "setpgid getpgid getsid setsid getgroups setgroups uname sethostname setdomainname "
     "getrlimit setrlimit getrusage umask prctl getcpu gettimeofday settimeofday adjtimex "
     "getpid getppid getuid geteuid getgid getegid gettid sysinfo mq_open mq_unlink "
     "mq_timedsend mq_timedreceive mq_notify mq_getsetattr msgget msgctl msgrcv msgsnd semget "
     "semctl semtimedop semop shmget shmctl shmat shmdt socket socketpair bind listen accept "
     "connect getsockname getpeername sendto recvfrom setsockopt getsockopt shutdown sendmsg "
     "recvmsg readahead brk munmap mremap add_key request_key keyctl clone execve mmap "
     "fadvise64 swapon swapoff mprotect msync mlock munlock mlockall munlockall mincore "
     "madvise remap_file_pages mbind get_mempolicy set_mempolicy migrate_pages move_pages "
     "rt_tgsigqueueinfo perf_event_open accept4 recvmmsg"),
    (260,
     "wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at "
     "clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp finit_module "
     "sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create bpf execveat "
     "userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc "
     "pkey_free statx io_pgetevents rseq kexec_file_load"),
    (424,
     "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree move_mount "
     "fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2 pidfd_getfd "
     "faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd "
     "landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret "
     "process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2 "
     "map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount "
     "lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat "
     "listxattrat removexattrat open_tree_attr file_getattr file_setattr listns "
     "rseq_slice_yield"),
)  # fmt: skip

# struct user_pt_regs and struct user_fpsimd_state (Linux arch/arm64/include/uapi/asm/ptrace.h),
# of which the upper halves of the vector registers stay 0, and enum perf_event_arm_regs.
_X = tuple(f"x{n}" for n in range(31))
_EXPORT = ExportFacts(
    general=RegisterNote(
        NT_PRSTATUS,
        272,
        in_order(
            *_X, "sp", Slot(PC, 0), Slot("pstate", 0, emulator=265),
            dwarf={**{name: number for number, name in enumerate(_X)}, "sp": SP},
        ),
    ),
    floating=RegisterNote(
        NT_FPREGSET, 528,
        (
            *(Slot(f"d{n}", 16 * n, dwarf=64 + n, emulator=40 + n) for n in range(32)),
            Slot("fpsr", 512, 4, emulator=292), Slot("fpcr", 516, 4, emulator=291),
        ),
    ),
    others=(RegisterNote(0x401, 8, (Slot("tpidr", 0, emulator=262),), b"LINUX"),),  # NT_ARM_TLS
    perf=dict(enumerate((*_X, "sp", PC))),
    signatures=Signatures(note=0x406, hwcap=1 << 30),  # NT_ARM_PAC_MASK, HWCAP_PACA
)  # fmt: skip

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
    # AAPCS64 sections 6.1.1 and 6.1.2: "Registers r19-r29 and SP are callee-saved" and of
    # v8-v15 (72 to 79) "only the bottom 64 bits of each value", which are d8-d15.
    arguments=tuple(range(8)),
    callee_saved=(*range(19, 30), *range(72, 80)),
    saved_only=tuple(Register(f"d{n}", 64 + n, 40 + n) for n in range(8, 16)),
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
        relocations={261: 4, 260: 8},  # R_AARCH64_PREL32, R_AARCH64_PREL64
        v1_rep_size=0,
    ),
    encodings=(
        _word(InstructionKind.CALL, 0x94000000, 0xFC000000, "bl"),
        _word(InstructionKind.CALL, 0xD63F0000, 0xFFFFFC1F, "blr"),
        _word(InstructionKind.CALL, 0xD63F081F, 0xFFFFF81F, "blraaz, blrabz"),
        _word(InstructionKind.CALL, 0xD73F0800, 0xFFFFF800, "blraa, blrab"),
        *(item.encoding for item in AARCH64_HANDLED),
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
        set_registers=((265, 0),),  # PSTATE: EL0, interrupts not masked
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
        user_end=1 << 48,
        hwcap=0x3,  # FP and ASIMD
    ),
    syscalls=_SYSCALLS,
    handled=AARCH64_HANDLED,
    stat=StatLayout(
        size=128,
        fields={
            "dev": (0, 8), "ino": (8, 8), "mode": (16, 4), "nlink": (20, 4), "uid": (24, 4),
            "gid": (28, 4), "rdev": (32, 8), "size": (48, 8), "blksize": (56, 4), "blocks": (64, 8),
            "atime": (72, 8), "atime_nsec": (80, 8), "mtime": (88, 8), "mtime_nsec": (96, 8),
            "ctime": (104, 8), "ctime_nsec": (112, 8),
        },
    ),
    # arch/arm64/include/uapi/asm/fcntl.h
    files=FileFacts(
        o_direct=0o200000, o_largefile=0o400000, o_directory=0o40000, o_nofollow=0o100000,
        cpuinfo=b"processor\t: 0\nBogoMIPS\t: 100.00\nCPU architecture: 8\n\n",
    ),
    exceptions=AARCH64_EXCEPTIONS,
    export=_EXPORT,
    frame_pointer_row=Row(
        cfa=CfaRule(FP, 16),
        ra=RegRule(RuleKind.AT_CFA, offset=-8),
        fp=RegRule(RuleKind.AT_CFA, offset=-16),
        sp_offset=0,
        # The frame record may stand anywhere in the frame (AAPCS64, section 6.4.6).
        cfa_is_bound=True,
    ),
    # Without top-byte-ignore a signature fills every bit above the 48-bit address but 55.
    ra_sign_mask=0xFF7F_0000_0000_0000,
    ra_signing=(bytes.fromhex("3f2303d5"), bytes.fromhex("7f2303d5")),  # paciasp, pacibsp
    reserved=(18,),  # the platform register: a shadow call stack, where there is one
    lazy_binding=LazyBinding(16, {16: 0, RA: 8}),  # stp x16, x30, [sp, #-16]!
    jump_tables=JumpTables(
        loads={"ldr": 0, "ldrb": 1, "ldrsb": 1, "ldrh": 2, "ldrsh": 2, "ldrsw": 4},
        comparisons=("cmp", "subs"),
        masks=("and",),
        aliases={**{f"w{n}": f"x{n}" for n in range(31)}, "fp": "x29", "lr": "x30"},
        narrow="w",
    ),
    disassembler=(1, 0),
    instruction_lengths=(4, 4, 4, 4),
    flow=AARCH64_FLOW,
    padding=AARCH64_PADDING,
    stubs=AARCH64_STUBS,
    relocation=AARCH64_RELOCATIONS,
    compilers=AARCH64_COMPILERS,
    assembly=AARCH64_ASSEMBLY,
    kernel=KernelFacts(
        frame=Row(
            CfaRule(FP, 16),
            RegRule(RuleKind.AT_CFA, offset=-8), RegRule(RuleKind.AT_CFA, offset=-16), 0,
        ),
        registers=range(32),
        older=OlderWalk.RECORDS,
    ),
)  # fmt: skip
