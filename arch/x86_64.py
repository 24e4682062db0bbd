"""x86-64: System V ABI, AMD64 supplement (figure 3.36, DWARF numbers); Linux unistd_64.h."""

from arch.compilers import X86_64_COMPILERS
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
    UserEntry,
    numbered,
)
from arch.entries import LazyBinding, SignalFrame
from arch.export import NT_FPREGSET, NT_PRSTATUS, PC, ExportFacts, RegisterNote, Slot, in_order
from arch.files import FileFacts
from arch.jump_tables import JumpTables
from arch.kernel import KernelFacts
from arch.row import KEEP, CfaRule, RegRule, Row, RuleKind
from arch.x86_64_assembly import X86_64_ASSEMBLY
from arch.x86_64_flow import X86_64_FLOW, X86_64_LOOKALIKES, X86_64_PADDING
from arch.x86_64_instructions import X86_64_EXCEPTIONS, X86_64_HANDLED, X86_64_LEFT
from arch.x86_64_relocations import X86_64_RELOCATIONS

_GENERAL = (
    ("rax", 35), ("rdx", 40), ("rcx", 38), ("rbx", 37), ("rsi", 43), ("rdi", 39),
    ("rbp", 36), ("rsp", 44), ("r8", 106), ("r9", 107), ("r10", 108), ("r11", 109),
    ("r12", 110), ("r13", 111), ("r14", 112), ("r15", 113),
)  # fmt: skip

SP, FP, RA = 7, 6, 16

# Linux arch/x86/include/asm/segment.h and kernel/cpu/common.c (gdt_page), but for the
# segment of 32-bit code: a switch to it faults, it is not supported.
_GDT_PAGE = 0xFFFF_FE00_0000_1000
_GDT = b"".join(
    {
        2: 0x00AF_9B00_0000_FFFF,  # kernel code
        3: 0x00CF_9300_0000_FFFF,  # kernel data
        5: 0x00CF_F300_0000_FFFF,  # user data, 0x2b
        6: 0x00AF_FB00_0000_FFFF,  # user code, 0x33
        15: 0x0040_F500_0000_0000,  # its limit is the number of the CPU
    }.get(index, 0).to_bytes(8, "little")
    for index in range(16)
)

_SYSCALLS = numbered(
    (0,
     "read write open close stat fstat lstat poll lseek mmap mprotect munmap brk rt_sigaction "
     "rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64 readv writev access pipe select "
     "sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2 pause nanosleep "
     "getitimer alarm setitimer getpid sendfile socket connect accept sendto recvfrom sendmsg "
     "recvmsg shutdown bind listen getsockname getpeername socketpair setsockopt getsockopt "
     "clone fork vfork execve exit wait4 kill uname semget semop semctl shmdt msgget msgsnd "
     "msgrcv msgctl fcntl flock fsync fdatasync truncate ftruncate getdents getcwd chdir "
     "fchdir rename mkdir rmdir creat link unlink symlink readlink chmod fchmod chown fchown "
     "lchown umask gettimeofday getrlimit getrusage sysinfo times ptrace getuid syslog getgid "
     "setuid setgid geteuid getegid setpgid getppid getpgrp setsid setreuid setregid getgroups "
     "setgroups setresuid getresuid setresgid getresgid getpgid setfsuid setfsgid getsid "
     "capget capset rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack "
     "utime mknod uselib personality ustat statfs fstatfs sysfs getpriority setpriority "
     "sched_setparam sched_getparam sched_setscheduler sched_getscheduler "
     "sched_get_priority_max sched_get_priority_min sched_rr_get_interval mlock munlock "
     "mlockall munlockall vhangup modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex "
     "setrlimit chroot sync acct settimeofday mount umount2 swapon swapoff reboot sethostname "
     "setdomainname iopl ioperm create_module init_module delete_module get_kernel_syms "
     "query_module quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid "
     "readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr "
     "flistxattr removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity "
     "sched_getaffinity set_thread_area io_setup io_destroy io_getevents io_submit io_cancel "
     "get_thread_area lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old "
     "remap_file_pages getdents64 set_tid_address restart_syscall semtimedop fadvise64 "
     "timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_settime "
     "clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill utimes "
     "vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend mq_timedreceive "
     "mq_notify mq_getsetattr kexec_load waitid add_key request_key keyctl ioprio_set "
     "ioprio_get inotify_init inotify_add_watch inotify_rm_watch migrate_pages openat mkdirat "
     "mknodat fchownat futimesat newfstatat unlinkat renameat linkat symlinkat readlinkat "
     "fchmodat faccessat pselect6 ppoll unshare set_robust_list get_robust_list splice tee "
     "sync_file_range vmsplice move_pages utimensat epoll_pwait signalfd timerfd_create "
     "eventfd fallocate timerfd_settime timerfd_gettime accept4 signalfd4 eventfd2 "
     "epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev rt_tgsigqueueinfo perf_event_open "
     "recvmmsg fanotify_init fanotify_mark prlimit64 name_to_handle_at open_by_handle_at "
     "clock_adjtime syncfs sendmmsg setns getcpu process_vm_readv process_vm_writev kcmp "
     "finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create "
     "kexec_file_load bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2 "
     "pwritev2 pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq uretprobe uprobe"),
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

# struct user_regs_struct (Linux arch/x86/include/asm/user_64.h), struct user_i387_struct (an FXSAVE
# area) and enum perf_event_x86_regs.
_EXPORT = ExportFacts(
    general=RegisterNote(
        NT_PRSTATUS,
        216,
        in_order(
            "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx",
            "rdx", "rsi", "rdi",
            Slot("orig_rax", 0, always=(1 << 64) - 1),  # it is in no system call
            Slot(PC, 0), Slot("cs", 0, always=0x33), Slot("eflags", 0, emulator=25, always=0x202),
            "rsp", Slot("ss", 0, always=0x2B),
            Slot("fs_base", 0, emulator=250), Slot("gs_base", 0, emulator=251),
            "ds", "es", "fs", "gs",
            dwarf={name: number for number, (name, _) in enumerate(_GENERAL)},
        ),
    ),
    # Of the vector registers nothing is known but how they are controlled.
    floating=RegisterNote(
        NT_FPREGSET, 512,
        (Slot("fctrl", 0, 2, emulator=246), Slot("mxcsr", 24, 4, emulator=249)),
    ),
    perf=dict(
        enumerate(
            ("rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", PC, "eflags", "cs", "ss")
        )
    ) | {n + 8: f"r{n}" for n in range(8, 16)},
)  # fmt: skip

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
    # Section 3.2.1: "Registers %rbp, %rbx and %r12 through %r15 'belong' to the calling function".
    arguments=(5, 4, 1, 2, 8, 9),
    callee_saved=(3, FP, 12, 13, 14, 15),
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
        relocations={2: 4, 24: 8},  # R_X86_64_PC32, R_X86_64_PC64
        v1_rep_size=16,  # a PLT entry
    ),
    encodings=(
        Encoding(InstructionKind.CALL, b"\xe8", b"\xff", "call rel32"),
        Encoding(InstructionKind.CALL, b"\xff\x10", b"\xff\x38", "call r/m64"),
        Encoding(InstructionKind.CALL, b"\xff\x18", b"\xff\x38", "call m16:64"),
        *X86_64_LEFT,
        *(item.encoding for item in X86_64_HANDLED),
        Encoding(InstructionKind.RETURN, b"\xc3", b"\xff", "ret"),
        Encoding(InstructionKind.RETURN, b"\xc2", b"\xff", "ret imm16"),
        Encoding(InstructionKind.RETURN, b"\xcb", b"\xff", "retf"),
        Encoding(InstructionKind.RETURN, b"\xca", b"\xff", "retf imm16"),
    ),
    prefixes=bytes(
        (0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF2, 0xF3, *range(0x40, 0x50))
    ),
    syscall=SyscallConvention(
        number=35, arguments=(39, 43, 40, 108, 106, 107), result=35, interrupt=None,
        instruction=699,
        next_pc=2,
        next_pc_register=38,  # rcx
        flags_register=109,  # r11
        segment_set={0x1001: 251, 0x1002: 250},  # ARCH_SET_GS, ARCH_SET_FS
        segment_get={0x1003: 250, 0x1004: 251},  # ARCH_GET_FS, ARCH_GET_GS
    ),
    boot=Boot(
        emulator_arch=4,
        emulator_mode=8,
        cpu_models={"haswell": 19, "nehalem": 15, "core2duo": 2, "skylake": 21, "epyc": 35},
        # finit and the kernel's MXCSR (Linux arch/x86/kernel/fpu): 0 after the emulator's reset.
        set_registers=((246, 0x37F), (249, 0x1F80)),
        # CR0: NE, MP, WP and AM; without NE no x87 exception is raised.
        or_registers=((50, 0x50022),),
        # lgdt and sysretq to CPL 3: EFER.SCE, and STAR with Linux's selectors.
        user_entry=UserEntry(
            code=b"\x0f\x01\x15\3\0\0\0" + b"\x48\x0f\x07"
            + (len(_GDT) - 1).to_bytes(2, "little") + _GDT_PAGE.to_bytes(8, "little"),
            msr=248, target=38, flags=(109, 0x202),
            msrs=((0xC000_0080, 0x501), (0xC000_0081, 0x23 << 48 | 0x10 << 32)),
            table=_GDT, table_page=_GDT_PAGE,
        ),
    ),
    layout=AddressLayout(
        stack_top=0x7FFF_FFFF_F000,
        mmap_base=0x7FFF_F7FF_F000,
        pie_base=0x5555_5555_4000,
        platform=b"x86_64",
        user_end=0x7FFF_FFFF_F000,
    ),
    syscalls=_SYSCALLS,
    handled=X86_64_HANDLED,
    stat=StatLayout(
        size=144,
        fields={
            "dev": (0, 8), "ino": (8, 8), "nlink": (16, 8), "mode": (24, 4), "uid": (28, 4),
            "gid": (32, 4), "rdev": (40, 8), "size": (48, 8), "blksize": (56, 8), "blocks": (64, 8),
            "atime": (72, 8), "atime_nsec": (80, 8), "mtime": (88, 8), "mtime_nsec": (96, 8),
            "ctime": (104, 8), "ctime_nsec": (112, 8),
        },
    ),
    files=FileFacts(
        epoll_data=4,  # EPOLL_PACKED in uapi/linux/eventpoll.h
        cpuinfo=b"processor\t: 0\nvendor_id\t: unknown\ncpu MHz\t\t: 1000.000\n"
        b"physical id\t: 0\nsiblings\t: 1\ncore id\t\t: 0\ncpu cores\t: 1\n\n",
    ),
    exceptions=X86_64_EXCEPTIONS,
    export=_EXPORT,
    frame_pointer_row=Row(
        cfa=CfaRule(FP, 16),
        ra=RegRule(RuleKind.AT_CFA, offset=-8),
        fp=RegRule(RuleKind.AT_CFA, offset=-16),
        sp_offset=0,
    ),
    # struct rt_sigframe (Linux arch/x86/include/asm/sigframe.h) without its first word, which is
    # the return address that led to the trampoline: struct ucontext, mcontext at 40.
    signal_frame=SignalFrame(
        sp=160,
        pc=168,
        registers={
            **{8 + n: 40 + 8 * n for n in range(8)},
            5: 104, 4: 112, FP: 120, 3: 128, 1: 136, 0: 144, 2: 152,
        },
    ),
    lazy_binding=LazyBinding(16, {}),  # the link map and the number of the relocation
    jump_tables=JumpTables(
        # The operand itself says how large an entry is, by its scale.
        loads={"mov": 0, "movsxd": 4, "movzx": 1, "movsx": 1, "jmp": 8, "add": 8},
        comparisons=("cmp",),
        masks=("and",),
        aliases={
            **{"e" + name[1:]: name for name, _ in _GENERAL[:8]},
            **{f"r{n}d": f"r{n}" for n in range(8, 16)},
        },
    ),
    disassembler=(3, 8),
    flow=X86_64_FLOW,
    padding=X86_64_PADDING,
    lookalikes=X86_64_LOOKALIKES,
    misread=("ud0", "ud1"),
    relocation=X86_64_RELOCATIONS,
    compilers=X86_64_COMPILERS,
    assembly=X86_64_ASSEMBLY,
    kernel=KernelFacts(
        served=frozenset(
            ("posting-v2-as-sent", "posting-v2", "series-v11", "mainline", "series-v13")
        ),
        frame=Row(
            CfaRule(FP, 16),
            RegRule(RuleKind.AT_CFA, offset=-8), RegRule(RuleKind.AT_CFA, offset=-16), 0,
        ),
        entry_frame=Row(CfaRule(SP, 8), RegRule(RuleKind.AT_CFA, offset=-8), KEEP, 0),
        registers=range(16),
    ),
)  # fmt: skip
