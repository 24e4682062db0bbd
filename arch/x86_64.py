"""x86-64: System V ABI, AMD64 supplement (figure 3.36, DWARF numbers); Linux unistd_64.h."""

from arch.descriptor import (
    AddressLayout,
    Arch,
    Boot,
    ClockRead,
    Encoding,
    Exceptions,
    InstructionKind,
    Register,
    SFrameFacts,
    StatLayout,
    SyscallConvention,
    Trap,
    UserEntry,
    numbered,
)
from arch.row import CfaRule, RegRule, Row, RuleKind

_GENERAL = (
    ("rax", 35), ("rdx", 40), ("rcx", 38), ("rbx", 37), ("rsi", 43), ("rdi", 39),
    ("rbp", 36), ("rsp", 44), ("r8", 106), ("r9", 107), ("r10", 108), ("r11", 109),
    ("r12", 110), ("r13", 111), ("r14", 112), ("r15", 113),
)  # fmt: skip

SP, FP, RA = 7, 6, 16

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
        relocations={2: 4, 24: 8},  # R_X86_64_PC32, R_X86_64_PC64
        v1_rep_size=16,  # a PLT entry
    ),
    encodings=(
        Encoding(InstructionKind.CALL, b"\xe8", b"\xff", "call rel32"),
        Encoding(InstructionKind.CALL, b"\xff\x10", b"\xff\x38", "call r/m64"),
        Encoding(InstructionKind.CALL, b"\xff\x18", b"\xff\x38", "call m16:64"),
        Encoding(InstructionKind.CLOCK, b"\x0f\x31", b"\xff\xff", "rdtsc"),
        Encoding(InstructionKind.CLOCK, b"\x0f\x01\xf9", b"\xff\xff\xff", "rdtscp"),
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
        # sysretq to CPL 3: EFER.SCE, and STAR with the selectors of a flat user segment.
        user_entry=UserEntry(
            code=b"\x48\x0f\x07", msr=248, target=38, flags=(109, 0x202),
            msrs=((0xC000_0080, 0x501), (0xC000_0081, 0x13 << 48 | 8 << 32)),
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
    clock_reads=(
        ClockRead(b"\x0f\x31", b"\xff\xff", registers=((35, 0, 32), (40, 32, 32))),
        # rcx gets the number of the CPU.
        ClockRead(
            b"\x0f\x01\xf9", b"\xff\xff\xff",
            registers=((35, 0, 32), (40, 32, 32), (38, 64, 32)),
        ),
    ),
    stat=StatLayout(
        size=144,
        fields={
            "dev": (0, 8), "ino": (8, 8), "nlink": (16, 8), "mode": (24, 4), "uid": (28, 4),
            "gid": (32, 4), "rdev": (40, 8), "size": (48, 8), "blksize": (56, 8), "blocks": (64, 8),
        },
    ),
    exceptions=Exceptions(
        numbers={
            0: Trap("SIGFPE", "integer division by zero or overflow"),
            1: Trap("SIGTRAP", "debug exception"),
            3: Trap("SIGTRAP", "breakpoint"),
            6: Trap("SIGILL", "undefined instruction"),
            12: Trap("SIGBUS", "stack segment fault"),
            13: Trap("SIGSEGV", "privileged instruction or non-canonical address"),
            16: Trap("SIGFPE", "x87 floating-point exception"),
            17: Trap("SIGBUS", "misaligned access"),
            19: Trap("SIGFPE", "SIMD floating-point exception"),
            128: Trap("SIGSEGV", "system call of the 32-bit interface"),
        },
        other=Trap("SIGSEGV", "software interrupt"),
        halt="SIGSEGV",
    ),
    frame_pointer_row=Row(
        cfa=CfaRule(FP, 16),
        ra=RegRule(RuleKind.AT_CFA, offset=-8),
        fp=RegRule(RuleKind.AT_CFA, offset=-16),
        sp_offset=0,
    ),
    disassembler=(3, 8),
)  # fmt: skip
