/* Made into planted-*.s by the commands in README.md: code that brings many kinds of CFI notes. */
typedef unsigned long word;

extern void use(void *);
extern word give(word);
extern void end(word *);

word saved(word a, word b, word c)
{
    word d = give(a), e = give(b), f = give(c), g = give(a + b);
    return give(d ^ e) + give(e ^ f) + give(f ^ g) + d + e + f + g;
}

word early(word a, word b)
{
    if (a > 10)
        return a;
    word c = give(a);
    if (c == b) {
        use(&c);
        return c + give(b);
    }
    return give(c + 1) + b;
}

word variable(word count)
{
    char room[count];
    use(room);
    return give(room[0]) + count;
}

word cleaned(word a)
{
    word b __attribute__((cleanup(end))) = a;
    use(&b);
    return give(b);
}

word cleaned_too(word a, word b)
{
    word c __attribute__((cleanup(end))) = b;
    return give(a) + give(b);
}

#if defined __x86_64__
#ifndef FRAMES
word pushed(word a)
{
    word b = give(a), c = give(b);
    __asm__ volatile("push %0\n\t.cfi_adjust_cfa_offset 8\n\tnop\n\tpop %0\n\t"
                     ".cfi_adjust_cfa_offset -8" : "+r"(b));
    return b + c + give(c);
}
#endif
/* As gcc realigns a stack, but for the .cfi_restore that gcc forgets. */
__asm__(".text\n.globl aligned\n.type aligned, @function\naligned:\n\t.cfi_startproc\n"
        "\tleaq\t8(%rsp), %r10\n\t.cfi_def_cfa 10, 0\n"
        "\tandq\t$-64, %rsp\n\tpushq\t-8(%r10)\n\tpushq\t%rbp\n"
        "\tmovq\t%rsp, %rbp\n\t.cfi_escape 0x10,0x6,0x2,0x76,0\n"
        "\tpushq\t%r10\n\t.cfi_escape 0xf,0x3,0x76,0x78,0x6\n"
        "\tsubq\t$104, %rsp\n\txorl\t%r10d, %r10d\n\tcall\tgive\n\taddq\t$104, %rsp\n"
        "\tpopq\t%r10\n\t.cfi_def_cfa 10, 0\n\tpopq\t%rbp\n\t.cfi_restore 6\n"
        "\tleaq\t-8(%r10), %rsp\n\t.cfi_def_cfa 7, 8\n\tret\n"
        "\t.cfi_endproc\n\t.size aligned, .-aligned\n");
__asm__(".text\n.globl hand\n.type hand, @function\nhand:\n\t.cfi_startproc\n"
        "\tsubq\t$24, %rsp\n\t.cfi_adjust_cfa_offset 24\n"
        "\tmovq\t%rbx, 8(%rsp)\n\t.cfi_rel_offset %rbx, 8\n"
        "\tmovq\t%r12, %r9\n\t.cfi_register %r12, %r9\n"
        "\tmovq\t%rdi, %rbx\n"
        "\tmovq\t%rdi, %r12\n"
        "\tnop\n"
        "\tmovq\t%r9, %r12\n\t.cfi_restore %r12\n"
        "\tmovq\t8(%rsp), %rbx\n\t.cfi_same_value %rbx\n"
        "\taddq\t$24, %rsp\n\t.cfi_adjust_cfa_offset -24\n"
        "\tret\n\t.cfi_endproc\n\t.size hand, .-hand\n"
        ".globl column\n.type column, @function\ncolumn:\n\t.cfi_startproc\n"
        "\t.cfi_return_column 16\n\tnop\n\tret\n\t.cfi_endproc\n\t.size column, .-column\n"
        ".globl signal_frame\n.type signal_frame, @function\nsignal_frame:\n\t.cfi_startproc\n"
        "\t.cfi_signal_frame\n"
        "\tnop\n\tret\n\t.cfi_endproc\n\t.size signal_frame, .-signal_frame\n");
#elif defined __aarch64__
__asm__(".text\n.globl hand\n.type hand, %function\nhand:\n\t.cfi_startproc\n"
        "\tsub\tsp, sp, #32\n\t.cfi_adjust_cfa_offset 32\n"
        "\tstr\tx19, [sp, 8]\n\t.cfi_rel_offset x19, 8\n"
        "\tmov\tx9, x20\n\t.cfi_register x20, x9\n"
        "\tmov\tx19, x0\n"
        "\tmov\tx20, x0\n"
        "\tnop\n"
        "\tmov\tx20, x9\n\t.cfi_restore x20\n"
        "\tldr\tx19, [sp, 8]\n\t.cfi_same_value x19\n"
        "\tadd\tsp, sp, #32\n\t.cfi_adjust_cfa_offset -32\n"
        "\tret\n\t.cfi_endproc\n\t.size hand, .-hand\n"
        ".globl column\n.type column, %function\ncolumn:\n\t.cfi_startproc\n"
        "\t.cfi_return_column 30\n\tnop\n\tret\n\t.cfi_endproc\n\t.size column, .-column\n"
        ".globl signal_frame\n.type signal_frame, %function\nsignal_frame:\n\t.cfi_startproc\n"
        "\t.cfi_signal_frame\n"
        "\tnop\n\tret\n\t.cfi_endproc\n\t.size signal_frame, .-signal_frame\n");
#else
__asm__(".text\n.globl hand\n.type hand, @function\nhand:\n\t.cfi_startproc\n"
        "\tlay\t%r15, -32(%r15)\n\t.cfi_adjust_cfa_offset 32\n"
        "\tstg\t%r8, 168(%r15)\n\t.cfi_rel_offset %r8, 168\n"
        "\tldgr\t%f0, %r9\n\t.cfi_register %r9, %f0\n"
        "\tlgr\t%r8, %r2\n"
        "\tlgr\t%r9, %r2\n"
        "\tnopr\t%r7\n"
        "\tlgdr\t%r9, %f0\n\t.cfi_restore %r9\n"
        "\tlg\t%r8, 168(%r15)\n\t.cfi_same_value %r8\n"
        "\tlay\t%r15, 32(%r15)\n\t.cfi_adjust_cfa_offset -32\n"
        "\tbr\t%r14\n\t.cfi_endproc\n\t.size hand, .-hand\n"
        ".globl column\n.type column, @function\ncolumn:\n\t.cfi_startproc\n"
        "\t.cfi_return_column 14\n\tnopr\t%r7\n\tbr\t%r14\n\t.cfi_endproc\n\t.size column, .-column\n"
        ".globl signal_frame\n.type signal_frame, @function\nsignal_frame:\n\t.cfi_startproc\n"
        "\t.cfi_signal_frame\n"
        "\tnopr\t%r7\n\tbr\t%r14\n\t.cfi_endproc\n\t.size signal_frame, .-signal_frame\n");
#endif
