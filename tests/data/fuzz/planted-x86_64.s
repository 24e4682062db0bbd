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
	.p2align 4
	.globl	saved
	.type	saved, @function
saved:
.LFB0:
	.cfi_startproc
	pushq	%r15
	.cfi_def_cfa_offset 16
	.cfi_offset 15, -16
	pushq	%r14
	.cfi_def_cfa_offset 24
	.cfi_offset 14, -24
	pushq	%r13
	.cfi_def_cfa_offset 32
	.cfi_offset 13, -32
	movq	%rsi, %r13
	pushq	%r12
	.cfi_def_cfa_offset 40
	.cfi_offset 12, -40
	movq	%rdi, %r12
	pushq	%rbp
	.cfi_def_cfa_offset 48
	.cfi_offset 6, -48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	.cfi_offset 3, -56
	movq	%rdx, %rbx
	subq	$8, %rsp
	.cfi_def_cfa_offset 64
	call	give@PLT
	movq	%r13, %rdi
	movq	%rax, %r15
	call	give@PLT
	movq	%rbx, %rdi
	movq	%rax, %rbp
	call	give@PLT
	leaq	(%r12,%r13), %rdi
	movq	%rax, %rbx
	call	give@PLT
	movq	%r15, %rdi
	xorq	%rbp, %rdi
	movq	%rax, %r14
	call	give@PLT
	movq	%rbp, %rdi
	addq	%r15, %rbp
	xorq	%rbx, %rdi
	movq	%rax, %r13
	call	give@PLT
	movq	%rbx, %rdi
	xorq	%r14, %rdi
	movq	%rax, %r12
	call	give@PLT
	addq	$8, %rsp
	.cfi_def_cfa_offset 56
	movq	%rax, %rdx
	leaq	(%rbx,%rbp), %rax
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%rbp
	.cfi_def_cfa_offset 40
	addq	%r14, %rax
	addq	%r13, %rax
	addq	%r12, %rax
	popq	%r12
	.cfi_def_cfa_offset 32
	popq	%r13
	.cfi_def_cfa_offset 24
	addq	%rdx, %rax
	popq	%r14
	.cfi_def_cfa_offset 16
	popq	%r15
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE0:
	.size	saved, .-saved
	.p2align 4
	.globl	early
	.type	early, @function
early:
.LFB1:
	.cfi_startproc
	movq	%rdi, %rax
	cmpq	$10, %rdi
	jbe	.L11
	ret
	.p2align 4,,10
	.p2align 3
.L11:
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	movq	%rsi, %rbx
	subq	$32, %rsp
	.cfi_def_cfa_offset 48
	call	give@PLT
	movq	%rax, 24(%rsp)
	cmpq	%rbx, %rax
	je	.L12
	leaq	1(%rax), %rdi
	call	give@PLT
	addq	$32, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	addq	%rbx, %rax
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.p2align 4,,10
	.p2align 3
.L12:
	.cfi_restore_state
	leaq	24(%rsp), %rdi
	movq	%rax, 8(%rsp)
	call	use@PLT
	movq	8(%rsp), %rdi
	call	give@PLT
	addq	24(%rsp), %rax
	addq	$32, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE1:
	.size	early, .-early
	.p2align 4
	.globl	variable
	.type	variable, @function
variable:
.LFB2:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset 6, -16
	leaq	15(%rdi), %rax
	andq	$-16, %rax
	movq	%rsp, %rbp
	.cfi_def_cfa_register 6
	pushq	%rbx
	.cfi_offset 3, -24
	movq	%rdi, %rbx
	subq	$8, %rsp
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
	.section	.text.unlikely,"ax",@progbits
.LCOLDB0:
	.text
.LHOTB0:
	.p2align 4
	.globl	cleaned
	.type	cleaned, @function
cleaned:
.LFB3:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDA3
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	subq	$32, %rsp
	.cfi_def_cfa_offset 48
	movq	%rdi, 24(%rsp)
	leaq	24(%rsp), %rdi
.LEHB0:
	call	use@PLT
	movq	24(%rsp), %rdi
	call	give@PLT
.LEHE0:
	leaq	24(%rsp), %rdi
	movq	%rax, 8(%rsp)
.LEHB1:
	call	end@PLT
.LEHE1:
	movq	8(%rsp), %rax
	addq	$32, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
.L17:
	.cfi_restore_state
	movq	%rax, %rbx
	jmp	.L16
	.section	.gcc_except_table,"a",@progbits
.LLSDA3:
	.byte	0xff
	.byte	0xff
	.byte	0x1
	.uleb128 .LLSDACSE3-.LLSDACSB3
.LLSDACSB3:
	.uleb128 .LEHB0-.LFB3
	.uleb128 .LEHE0-.LEHB0
	.uleb128 .L17-.LFB3
	.uleb128 0
	.uleb128 .LEHB1-.LFB3
	.uleb128 .LEHE1-.LEHB1
	.uleb128 0
	.uleb128 0
.LLSDACSE3:
	.text
	.cfi_endproc
	.section	.text.unlikely
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDAC3
	.type	cleaned.cold, @function
cleaned.cold:
.LFSB3:
.L16:
	.cfi_def_cfa_offset 48
	.cfi_offset 3, -16
	leaq	24(%rsp), %rdi
.LEHB2:
	call	end@PLT
	movq	%rbx, %rdi
	call	_Unwind_Resume@PLT
.LEHE2:
	.cfi_endproc
.LFE3:
	.section	.gcc_except_table
.LLSDAC3:
	.byte	0xff
	.byte	0xff
	.byte	0x1
	.uleb128 .LLSDACSEC3-.LLSDACSBC3
.LLSDACSBC3:
	.uleb128 .LEHB2-.LCOLDB0
	.uleb128 .LEHE2-.LEHB2
	.uleb128 0
	.uleb128 0
.LLSDACSEC3:
	.section	.text.unlikely
	.text
	.size	cleaned, .-cleaned
	.section	.text.unlikely
	.size	cleaned.cold, .-cleaned.cold
.LCOLDE0:
	.text
.LHOTE0:
	.section	.text.unlikely
.LCOLDB1:
	.text
.LHOTB1:
	.p2align 4
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
	movq	%rsi, %rbp
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset 3, -24
	subq	$24, %rsp
	.cfi_def_cfa_offset 48
	movq	%rsi, 8(%rsp)
.LEHB3:
	call	give@PLT
	movq	%rbp, %rdi
	movq	%rax, %rbx
	call	give@PLT
.LEHE3:
	leaq	8(%rsp), %rdi
	addq	%rax, %rbx
.LEHB4:
	call	end@PLT
.LEHE4:
	addq	$24, %rsp
	.cfi_remember_state
	.cfi_def_cfa_offset 24
	movq	%rbx, %rax
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
.L23:
	.cfi_restore_state
	movq	%rax, %rbx
	jmp	.L22
	.section	.gcc_except_table
.LLSDA4:
	.byte	0xff
	.byte	0xff
	.byte	0x1
	.uleb128 .LLSDACSE4-.LLSDACSB4
.LLSDACSB4:
	.uleb128 .LEHB3-.LFB4
	.uleb128 .LEHE3-.LEHB3
	.uleb128 .L23-.LFB4
	.uleb128 0
	.uleb128 .LEHB4-.LFB4
	.uleb128 .LEHE4-.LEHB4
	.uleb128 0
	.uleb128 0
.LLSDACSE4:
	.text
	.cfi_endproc
	.section	.text.unlikely
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDAC4
	.type	cleaned_too.cold, @function
cleaned_too.cold:
.LFSB4:
.L22:
	.cfi_def_cfa_offset 48
	.cfi_offset 3, -24
	.cfi_offset 6, -16
	leaq	8(%rsp), %rdi
.LEHB5:
	call	end@PLT
	movq	%rbx, %rdi
	call	_Unwind_Resume@PLT
.LEHE5:
	.cfi_endproc
.LFE4:
	.section	.gcc_except_table
.LLSDAC4:
	.byte	0xff
	.byte	0xff
	.byte	0x1
	.uleb128 .LLSDACSEC4-.LLSDACSBC4
.LLSDACSBC4:
	.uleb128 .LEHB5-.LCOLDB1
	.uleb128 .LEHE5-.LEHB5
	.uleb128 0
	.uleb128 0
.LLSDACSEC4:
	.section	.text.unlikely
	.text
	.size	cleaned_too, .-cleaned_too
	.section	.text.unlikely
	.size	cleaned_too.cold, .-cleaned_too.cold
.LCOLDE1:
	.text
.LHOTE1:
	.p2align 4
	.globl	pushed
	.type	pushed, @function
pushed:
.LFB5:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	call	give@PLT
	movq	%rax, %rdi
	movq	%rax, %rbx
	call	give@PLT
	movq	%rax, %rdi
	movq	%rbx, %rax
#APP
# 51 "<stdin>" 1
	push %rax
	.cfi_adjust_cfa_offset 8
	nop
	pop %rax
	.cfi_adjust_cfa_offset -8
# 0 "" 2
#NO_APP
	leaq	(%rdi,%rax), %rbx
	call	give@PLT
	addq	%rbx, %rax
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
.LFE5:
	.size	pushed, .-pushed
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
