	.file	"<stdin>"
	.text
#APP
	.text
.globl aligned
.type aligned, @function
aligned:
	.cfi_startproc
	leaq	8(%rsp), %r10
	.cfi_def_cfa 10, 0
	andq	$-64, %rsp
	pushq	-8(%r10)
	pushq	%rbp
	movq	%rsp, %rbp
	.cfi_escape 0x10,0x6,0x2,0x76,0
	pushq	%r10
	.cfi_escape 0xf,0x3,0x76,0x78,0x6
	subq	$104, %rsp
	xorl	%r10d, %r10d
	call	give
	addq	$104, %rsp
	popq	%r10
	.cfi_def_cfa 10, 0
	popq	%rbp
	.cfi_restore 6
	leaq	-8(%r10), %rsp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
	.size aligned, .-aligned

	.text
.globl hand
.type hand, @function
hand:
	.cfi_startproc
	subq	$24, %rsp
	.cfi_adjust_cfa_offset 24
	movq	%rbx, 8(%rsp)
	.cfi_rel_offset %rbx, 8
	movq	%r12, %r9
	.cfi_register %r12, %r9
	movq	%rdi, %rbx
	movq	%rdi, %r12
	nop
	movq	%r9, %r12
	.cfi_restore %r12
	movq	8(%rsp), %rbx
	.cfi_same_value %rbx
	addq	$24, %rsp
	.cfi_adjust_cfa_offset -24
	ret
	.cfi_endproc
	.size hand, .-hand
.globl column
.type column, @function
column:
	.cfi_startproc
	.cfi_return_column 16
	nop
	ret
	.cfi_endproc
	.size column, .-column
.globl signal_frame
.type signal_frame, @function
signal_frame:
	.cfi_startproc
	.cfi_signal_frame
	nop
	ret
	.cfi_endproc
	.size signal_frame, .-signal_frame

#NO_APP
	.globl	saved
	.type	saved, @function
saved:
.LFB0:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r15
	pushq	%r14
	pushq	%r13
	pushq	%r12
	pushq	%rbx
	subq	$24, %rsp
	.cfi_offset 15, -24
	.cfi_offset 14, -32
	.cfi_offset 13, -40
	.cfi_offset 12, -48
	.cfi_offset 3, -56
	movq	%rdi, %r13
	movq	%rsi, %r15
	movq	%rdx, %rbx
	call	give@PLT
	movq	%rax, %r14
	movq	%r15, %rdi
	call	give@PLT
	movq	%rax, %r12
	movq	%rbx, %rdi
	call	give@PLT
	movq	%rax, %rbx
	leaq	0(%r13,%r15), %rdi
	call	give@PLT
	movq	%rax, %r13
	movq	%r14, %rdi
	xorq	%r12, %rdi
	call	give@PLT
	movq	%rax, -56(%rbp)
	movq	%r12, %rdi
	xorq	%rbx, %rdi
	call	give@PLT
	movq	%rax, %r15
	addq	%r14, %r12
	movq	%rbx, %rdi
	xorq	%r13, %rdi
	call	give@PLT
	movq	%rax, %rdx
	leaq	(%rbx,%r12), %rax
	addq	%r13, %rax
	movq	-56(%rbp), %rcx
	addq	%rcx, %rax
	addq	%r15, %rax
	addq	%rdx, %rax
	addq	$24, %rsp
	popq	%rbx
	popq	%r12
	popq	%r13
	popq	%r14
	popq	%r15
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE0:
	.size	saved, .-saved
	.globl	early
	.type	early, @function
early:
.LFB1:
	.cfi_startproc
	movq	%rdi, %rax
	cmpq	$10, %rdi
	jbe	.L10
	ret
.L10:
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	subq	$24, %rsp
	.cfi_offset 3, -24
	movq	%rsi, %rbx
	call	give@PLT
	movq	%rax, -24(%rbp)
	cmpq	%rbx, %rax
	je	.L11
	leaq	1(%rax), %rdi
	call	give@PLT
	movq	%rbx, %rdx
	addq	%rax, %rdx
	movq	%rdx, %rax
.L4:
	movq	-8(%rbp), %rbx
	leave
	.cfi_remember_state
	.cfi_def_cfa 7, 8
	ret
.L11:
	.cfi_restore_state
	leaq	-24(%rbp), %rdi
	call	use@PLT
	movq	%rbx, %rdi
	call	give@PLT
	addq	-24(%rbp), %rax
	jmp	.L4
	.cfi_endproc
.LFE1:
	.size	early, .-early
	.globl	variable
	.type	variable, @function
variable:
.LFB2:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	subq	$8, %rsp
	.cfi_offset 3, -24
	movq	%rdi, %rbx
	leaq	15(%rdi), %rax
	andq	$-16, %rax
	subq	%rax, %rsp
	movq	%rsp, %rdi
	call	use@PLT
	movsbq	(%rsp), %rdi
	call	give@PLT
	addq	%rbx, %rax
	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE2:
	.size	variable, .-variable
	.globl	cleaned
	.type	cleaned, @function
cleaned:
.LFB3:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDA3
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	subq	$24, %rsp
	.cfi_offset 3, -24
	movq	%rdi, -24(%rbp)
	leaq	-24(%rbp), %rdi
.LEHB0:
	call	use@PLT
	movq	-24(%rbp), %rdi
	call	give@PLT
.LEHE0:
	jmp	.L20
.L16:
	movq	%rax, %rbx
	leaq	-24(%rbp), %rdi
.LEHB1:
	call	end@PLT
	movq	%rbx, %rdi
	call	_Unwind_Resume@PLT
.L20:
	movq	%rax, %rbx
	leaq	-24(%rbp), %rdi
	call	end@PLT
.LEHE1:
	movq	%rbx, %rax
	movq	-8(%rbp), %rbx
	leave
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE3:
	.section	.gcc_except_table,"a",@progbits
.LLSDA3:
	.byte	0xff
	.byte	0xff
	.byte	0x1
	.uleb128 .LLSDACSE3-.LLSDACSB3
.LLSDACSB3:
	.uleb128 .LEHB0-.LFB3
	.uleb128 .LEHE0-.LEHB0
	.uleb128 .L16-.LFB3
	.uleb128 0
	.uleb128 .LEHB1-.LFB3
	.uleb128 .LEHE1-.LEHB1
	.uleb128 0
	.uleb128 0
.LLSDACSE3:
	.text
	.size	cleaned, .-cleaned
	.globl	cleaned_too
	.type	cleaned_too, @function
cleaned_too:
.LFB4:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDA4
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%r12
	pushq	%rbx
	subq	$16, %rsp
	.cfi_offset 12, -24
	.cfi_offset 3, -32
	movq	%rsi, %r12
	movq	%rsi, -24(%rbp)
.LEHB2:
	call	give@PLT
	movq	%rax, %rbx
	movq	%r12, %rdi
	call	give@PLT
.LEHE2:
	jmp	.L27
.L23:
	movq	%rax, %rbx
	leaq	-24(%rbp), %rdi
.LEHB3:
	call	end@PLT
	movq	%rbx, %rdi
	call	_Unwind_Resume@PLT
.L27:
	addq	%rax, %rbx
	leaq	-24(%rbp), %rdi
	call	end@PLT
.LEHE3:
	movq	%rbx, %rax
	addq	$16, %rsp
	popq	%rbx
	popq	%r12
	popq	%rbp
	.cfi_def_cfa 7, 8
	ret
	.cfi_endproc
.LFE4:
	.section	.gcc_except_table
.LLSDA4:
	.byte	0xff
	.byte	0xff
	.byte	0x1
	.uleb128 .LLSDACSE4-.LLSDACSB4
.LLSDACSB4:
	.uleb128 .LEHB2-.LFB4
	.uleb128 .LEHE2-.LEHB2
	.uleb128 .L23-.LFB4
	.uleb128 0
	.uleb128 .LEHB3-.LFB4
	.uleb128 .LEHE3-.LEHB3
	.uleb128 0
	.uleb128 0
.LLSDACSE4:
	.text
	.size	cleaned_too, .-cleaned_too
	.hidden	DW.ref.__gcc_personality_v0
	.weak	DW.ref.__gcc_personality_v0
	.section	.data.rel.local.DW.ref.__gcc_personality_v0,"awG",@progbits,DW.ref.__gcc_personality_v0,comdat
	.align 8
	.type	DW.ref.__gcc_personality_v0, @object
	.size	DW.ref.__gcc_personality_v0, 8
DW.ref.__gcc_personality_v0:
	.quad	__gcc_personality_v0
	.globl	__gcc_personality_v0
	.ident	"GCC: (Debian 16.2.0-4) 16.2.0"
	.section	.note.GNU-stack,"",@progbits
