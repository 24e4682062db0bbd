"""s390x: ELF ABI s390x supplement (sections 1.2 and 1.6); Linux arch/s390 syscall.tbl."""

from arch.compilers import S390X_COMPILERS
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
    numbered,
)
from arch.export import NT_FPREGSET, NT_PRSTATUS, PC, ExportFacts, RegisterNote, Slot, in_order
from arch.files import FileFacts
from arch.jump_tables import JumpTables
from arch.kernel import KernelFacts, OlderWalk
from arch.row import UNKNOWN, CfaRule, RegRule, Row, RuleKind
from arch.s390x_assembly import S390X_ASSEMBLY
from arch.s390x_flow import S390X_CRASHING, S390X_FLOW, S390X_PADDING, S390X_STUBS
from arch.s390x_instructions import S390X_EXCEPTIONS, S390X_HANDLED
from arch.s390x_relocations import S390X_RELOCATIONS

SP, FP, RA = 15, 11, 14
SAVE_AREA = 160
"""Bytes of the register save area that every caller provides; the CFA lies above it."""


def _float_number(dwarf: int) -> int:
    """The floating-point register with DWARF number 16..31 (ABI table 1.19)."""
    return (dwarf & 3) << 1 | (dwarf & 4) >> 2 | dwarf & 8


_SYSCALLS = numbered(
    (1, "exit fork read write open close restart_syscall creat link unlink execve chdir"),
    (14, "mknod chmod"),
    (19, "lseek getpid mount umount"),
    (26, "ptrace alarm"),
    (29, "pause utime"),
    (33, "access nice"),
    (36, "sync kill rename mkdir rmdir dup pipe times"),
    (45, "brk"),
    (48, "signal"),
    (51, "acct umount2"),
    (54, "ioctl fcntl"),
    (57, "setpgid"),
    (60, "umask chroot ustat dup2 getppid getpgrp setsid sigaction"),
    (72, "sigsuspend sigpending sethostname setrlimit"),
    (77, "getrusage gettimeofday settimeofday"),
    (83, "symlink"),
    (85, "readlink uselib swapon reboot readdir mmap munmap truncate ftruncate fchmod"),
    (96, "getpriority setpriority"),
    (99, "statfs fstatfs"),
    (102, "socketcall syslog setitimer getitimer stat lstat fstat"),
    (110, "lookup_dcookie vhangup idle"),
    (114, "wait4 swapoff sysinfo ipc fsync sigreturn clone setdomainname uname"),
    (124,
     "adjtimex mprotect sigprocmask create_module init_module delete_module get_kernel_syms "
     "quotactl getpgid fchdir bdflush sysfs personality afs_syscall"),
    (141,
     "getdents select flock msync readv writev getsid fdatasync _sysctl mlock munlock mlockall "
     "munlockall sched_setparam sched_getparam sched_setscheduler sched_getscheduler "
     "sched_yield sched_get_priority_max sched_get_priority_min sched_rr_get_interval "
     "nanosleep mremap"),
    (167, "query_module poll nfsservctl"),
    (172,
     "prctl rt_sigreturn rt_sigaction rt_sigprocmask rt_sigpending rt_sigtimedwait "
     "rt_sigqueueinfo rt_sigsuspend pread64 pwrite64"),
    (183, "getcwd capget capset sigaltstack sendfile getpmsg putpmsg vfork getrlimit"),
    (198,
     "lchown getuid getgid geteuid getegid setreuid setregid getgroups setgroups fchown "
     "setresuid getresuid setresgid getresgid chown setuid setgid setfsuid setfsgid pivot_root "
     "mincore madvise getdents64"),
    (222, "readahead"),
    (224,
     "setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr "
     "flistxattr removexattr lremovexattr fremovexattr gettid tkill futex sched_setaffinity "
     "sched_getaffinity tgkill"),
    (243,
     "io_setup io_destroy io_getevents io_submit io_cancel exit_group epoll_create epoll_ctl "
     "epoll_wait set_tid_address fadvise64 timer_create timer_settime timer_gettime "
     "timer_getoverrun timer_delete clock_settime clock_gettime clock_getres clock_nanosleep"),
    (265,
     "statfs64 fstatfs64 remap_file_pages mbind get_mempolicy set_mempolicy mq_open mq_unlink "
     "mq_timedsend mq_timedreceive mq_notify mq_getsetattr kexec_load add_key request_key "
     "keyctl waitid ioprio_set ioprio_get inotify_init inotify_add_watch inotify_rm_watch "
     "migrate_pages openat mkdirat mknodat fchownat futimesat newfstatat unlinkat renameat "
     "linkat symlinkat readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list "
     "get_robust_list splice sync_file_range tee vmsplice move_pages getcpu epoll_pwait utimes "
     "fallocate utimensat signalfd timerfd eventfd timerfd_create timerfd_settime "
     "timerfd_gettime signalfd4 eventfd2 inotify_init1 pipe2 dup3 epoll_create1 preadv pwritev "
     "rt_tgsigqueueinfo perf_event_open fanotify_init fanotify_mark prlimit64 "
     "name_to_handle_at open_by_handle_at clock_adjtime syncfs setns process_vm_readv "
     "process_vm_writev s390_runtime_instr kcmp finit_module sched_setattr sched_getattr "
     "renameat2 seccomp getrandom memfd_create bpf s390_pci_mmio_write s390_pci_mmio_read "
     "execveat userfaultfd membarrier recvmmsg sendmmsg socket socketpair bind connect listen "
     "accept4 getsockopt setsockopt getsockname getpeername sendto sendmsg recvfrom recvmsg "
     "shutdown mlock2 copy_file_range preadv2 pwritev2 s390_guarded_storage statx s390_sthyi "
     "kexec_file_load io_pgetevents rseq pkey_mprotect pkey_alloc pkey_free"),
    (392, "semtimedop semget semctl shmget shmctl shmat shmdt msgget msgsnd msgrcv msgctl"),
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

# s390_regs and s390_fp_regs (Linux arch/s390/include/uapi/asm/ptrace.h), enum perf_event_s390_regs.
_R = tuple(f"r{n}" for n in range(16))
_EXPORT = ExportFacts(
    general=RegisterNote(
        NT_PRSTATUS,
        216,
        (
            *in_order(
                # User mode with its interrupts and translations on (PSW_USER_BITS).
                Slot("pswm", 0, emulator=66, always=0x0705_2001_8000_0000), Slot(PC, 0), *_R,
                dwarf={name: number for number, name in enumerate(_R)},
            ),
            *(Slot(f"acr{n}", 144 + 4 * n, 4, emulator=49 + n) for n in range(16)),
            Slot("orig_r2", 208),
        ),
    ),
    floating=RegisterNote(
        NT_FPREGSET, 136,
        (
            Slot("fpc", 0, 4, emulator=99),
            *(Slot(f"f{_float_number(n)}", 8 + 8 * _float_number(n), dwarf=n)
              for n in range(16, 32)),
        ),
    ),
    perf=dict(enumerate((*_R, *(f"f{n}" for n in range(16)), "pswm", PC))),
)  # fmt: skip

# The word at SP is the caller's SP; %r14 was stored in the caller's save area, at
# SP + 112, which is CFA - 48. It tells nothing of %r11.
_BACK_CHAIN = Row(
    cfa=CfaRule(SP, 0, deref=True, addend=SAVE_AREA),
    ra=RegRule(RuleKind.AT_CFA, offset=-48),
    fp=UNKNOWN,
    sp_offset=-SAVE_AREA,
    zero_ends=True,
)

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
    # "Register Preservation Rules": r6 to r13 are "saved", and f8 to f15 (24 to 31, not in order).
    arguments=tuple(range(2, 7)),
    callee_saved=(*range(6, 14), *range(24, 32)),
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
        relocations={5: 4, 23: 8},  # R_390_PC32, R_390_PC64
        v1_rep_size=0,
    ),
    encodings=(
        # A second operand of 0 only fetches the PC; mask 0 never branches.
        Encoding(InstructionKind.PLAIN, b"\x0d\xe0", b"\xff\xff", "basr %r14,0"),
        Encoding(InstructionKind.PLAIN, b"\x05\xe0", b"\xff\xff", "balr %r14,0"),
        Encoding(InstructionKind.PLAIN, b"\x0c\xe0", b"\xff\xff", "bassm %r14,0"),
        Encoding(InstructionKind.PLAIN, b"\x07\x0e", b"\xff\xff", "bcr 0,%r14"),
        *(item.encoding for item in S390X_HANDLED),
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
        immediate=True, mmap_block=True, number_mask=0xFFFF, next_pc=2,
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
        user_end=1 << 42,
    ),
    syscalls=_SYSCALLS,
    handled=S390X_HANDLED,
    stat=StatLayout(
        size=144,
        fields={
            "dev": (0, 8), "ino": (8, 8), "nlink": (16, 8), "mode": (24, 4), "uid": (28, 4),
            "gid": (32, 4), "rdev": (40, 8), "size": (48, 8), "blksize": (104, 8),
            "blocks": (112, 8),
            "atime": (56, 8), "atime_nsec": (64, 8), "mtime": (72, 8), "mtime_nsec": (80, 8),
            "ctime": (88, 8), "ctime_nsec": (96, 8),
        },
    ),
    # arch/s390/include/uapi/asm/statfs.h
    files=FileFacts(
        cpuinfo=b"vendor_id       : IBM/S390\n# processors    : 1\nbogomips per cpu: 1000.00\n\n",
        statfs=StatLayout(
            size=88,
            fields={
                "type": (0, 4), "bsize": (4, 4), "blocks": (8, 8), "bfree": (16, 8),
                "bavail": (24, 8), "files": (32, 8), "ffree": (40, 8), "fsid": (48, 8),
                "namelen": (56, 4), "frsize": (60, 4), "flags": (64, 4),
            },
        )
    ),
    exceptions=S390X_EXCEPTIONS,
    export=_EXPORT,
    back_chain_row=_BACK_CHAIN,
    compilers=S390X_COMPILERS,
    assembly=S390X_ASSEMBLY,
    kernel=KernelFacts(
        served=frozenset(("series-v13",)),
        chain=_BACK_CHAIN,
        wrapper=(SAVE_AREA, SAVE_AREA + 8),
        registers=range(32),
        older=OlderWalk.CHAIN,
        ip_unit=2,
        ip_lowest=1 << 16,  # vm.mmap_min_addr
    ),
    crashing=S390X_CRASHING,
    jump_tables=JumpTables(
        loads={
            "lg": 8, "ag": 8, "ld": 8, "bi": 8, "lgf": 4, "llgf": 4, "agf": 4, "l": 4, "ly": 4,
            "lgh": 2, "llgh": 2, "lh": 2, "lhy": 2, "llh": 2,
            "lgb": 1, "llgc": 1, "llc": 1, "lb": 1,
        },
        comparisons=("cl", "ch", "cg", "ci"),
        # The disassembler calls registers in an address by their number.
        aliases={str(n): f"r{n}" for n in range(16)},
    ),
    disassembler=(6, 1 << 31),
    instruction_lengths=(2, 4, 4, 6),
    flow=S390X_FLOW,
    padding=S390X_PADDING,
    stubs=S390X_STUBS,
    relocation=S390X_RELOCATIONS,
)  # fmt: skip
