"""x86-64: names and functions for programs that are drawn (psABI, section 3.2)."""

from arch.assembly import AssemblyFacts, FrameStep, FunctionAttribute, HandwrittenFacts

_HANDWRITTEN = HandwrittenFacts(
    saved=(("%rbx", 3), ("%r12", 12), ("%r13", 13), ("%r14", 14), ("%r15", 15), ("%rbp", 6)),
    scratch=(
        ("%rcx", 2), ("%rdx", 1), ("%r8", 8), ("%r9", 9), ("%r10", 10), ("%r11", 11), ("%rsi", 4),
    ),
    stack=("%rsp", 7),
    unit=8,
    call_space=0,
    begin=("leaq {n}(%rdi), %rax",),
    add=("addq ${n}, %rax",),
    change=("movq ${n}, {a}",),
    scratch_change=("leaq {n}(%rax), {h}",),
    skip=("testb $1, %al", "jne {label}"),
    repeat=("movq $3, {h}", "{label}: decq {h}", "jne {label}"),
    jump=("jmp {label}",),
    call=("movq %rax, %rdi", "call {to}"),
    tail=("movq %rax, %rdi", "jmp {to}"),
    back=("ret",),
    steps=(
        FrameStep(("subq ${size}, %rsp", "@"), ("addq ${size}, %rsp", "@"), sized=70000,
                  frees_stack=True),
        FrameStep(("pushq {a}", "@", ".cfi_offset {na}, {slot}"),
                  ("popq {a}", "@", ".cfi_restore {na}"), down=8, takes=1),
        FrameStep(("subq ${size}+16, %rsp", "@", "movq {a}, {size}(%rsp)",
                   ".cfi_offset {na}, {slot}+{size}", "movq {b}, {size}+8(%rsp)",
                   ".cfi_offset {nb}, {slot}+{size}+8"),
                  ("movq {size}(%rsp), {a}", ".cfi_restore {na}", "movq {size}+8(%rsp), {b}",
                   ".cfi_restore {nb}", "leaq {size}+16(%rsp), %rsp", "@"),
                  down=16, sized=4096, takes=2),
        FrameStep(("pushq %rbp", "@", ".cfi_offset 6, {slot}", "movq %rsp, %rbp",
                   ".cfi_def_cfa_register 6"),
                  ("popq %rbp", ".cfi_restore 6", ".cfi_def_cfa 7, {before}"),
                  at_once=("leave", ".cfi_restore 6", ".cfi_def_cfa 7, {before}"),
                  down=8, keeps=("%rbp",), base="%rbp"),
        FrameStep(("enter ${size}, $0", ".cfi_def_cfa 6, {before}+8", ".cfi_offset 6, -{before}-8"),
                  ("leave", ".cfi_restore 6", ".cfi_def_cfa 7, {before}"),
                  at_once=("leave", ".cfi_restore 6", ".cfi_def_cfa 7, {before}"),
                  down=8, sized=4096, keeps=("%rbp",), base="%rbp", base_above=True),
        FrameStep(("movq %rsp, {a}", ".cfi_def_cfa_register {na}"), (".cfi_def_cfa 7, {cfa}",),
                  at_once=("movq {a}, %rsp", ".cfi_def_cfa 7, {cfa}"), base="a"),
        FrameStep(("movq {a}, {h}", ".cfi_register {na}, {nh}"),
                  ("movq {h}, {a}", ".cfi_restore {na}"), takes=1, holds=True),
        FrameStep(("popq {h}", "@", ".cfi_register 16, {nh}"),
                  ("pushq {h}", "@", ".cfi_offset 16, -8"), down=-8, holds=True, first=True,
                  last=True),
        FrameStep(("andq $-64, %rsp",), ("leaq -{gap}({base}), %rsp",), unknown=True,
                  frees_stack=True),
        FrameStep(("movl %eax, %edi", "andl $48, %edi", "subq %rdi, %rsp"),
                  ("leaq -{gap}({base}), %rsp",), unknown=True, frees_stack=True),
        # What GCC writes where the arguments' place must be known over a realigned frame.
        FrameStep(("leaq 8(%rsp), %r10", ".cfi_def_cfa 10, 0", "andq $-32, %rsp", "pushq -8(%r10)",
                   "pushq %rbp", "movq %rsp, %rbp", ".cfi_escape 0x10, 6, 2, 0x76, 0",
                   "pushq %r10", ".cfi_escape 0x0f, 3, 0x76, 0x78, 6"),
                  (),
                  at_once=("movq -8(%rbp), %r10", ".cfi_def_cfa 10, 0", "leave", ".cfi_restore 6",
                           "leaq -8(%r10), %rsp", ".cfi_def_cfa 7, 8"),
                  keeps=("%rbp",), first=True, alone=True),
    ),
)  # fmt: skip

X86_64_ASSEMBLY = AssemblyFacts(
    clobbers=("rbx", "r12", "r13", "r14", "r15"),
    frame_clobbers=("rbp",),
    attributes=(
        FunctionAttribute("ms_abi", changes_convention=True),
        FunctionAttribute("force_align_arg_pointer"),
    ),
    frame_edges=(64, 120, 128, 136),
    # The red zone, 128 bytes below SP, may be in use (psABI, section 3.2.2).
    stack_moves=(
        r"leaq -128(%rsp), %rsp\n\t.cfi_adjust_cfa_offset 128\n\t"
        r"pushq %rax\n\t.cfi_adjust_cfa_offset 8\n\t"
        r"popq %rax\n\t.cfi_adjust_cfa_offset -8\n\t"
        r"leaq 128(%rsp), %rsp\n\t.cfi_adjust_cfa_offset -128",
        r"leaq -128-{size}(%rsp), %rsp\n\t.cfi_adjust_cfa_offset 128+{size}\n\tnop\n\t"
        r"leaq 128+{size}(%rsp), %rsp\n\t.cfi_adjust_cfa_offset -128-{size}",
    ),
    handwritten=_HANDWRITTEN,
)
