/* The hand-written functions of handcfi (see handcfi.c), x86-64.

   Stresses: two exits with remembered rows, a frame addressed by another
   register over a realigned stack, a return address that moves to a register
   and to another slot, pushes around a call under a frame pointer, and a frame
   pointer parked in a register.  */

	.text
	.globl	hand_exits
	.type	hand_exits, @function
hand_exits:
	.cfi_startproc
	testq	%rdi, %rdi
	je	1f
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	call	leaf
	movq	%rax, %rbx
	cmpq	$20, %rax
	jge	2f
	incq	%rax
	popq	%rbx
	.cfi_remember_state
	.cfi_def_cfa_offset 8
	.cfi_restore rbx
	ret
2:	.cfi_restore_state
	movq	%rbx, %rdi
	call	leaf
	addq	$2, %rax
	popq	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore rbx
	ret
1:	movl	$11, %eax
	ret
	.cfi_endproc
	.size	hand_exits, .-hand_exits

	.globl	hand_other_cfa
	.type	hand_other_cfa, @function
hand_other_cfa:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset rbx, -16
	movq	%rsp, %rbx
	.cfi_def_cfa_register rbx
	subq	$96, %rsp
	andq	$-64, %rsp
	call	leaf
	addq	$5, %rax
	movq	%rbx, %rsp
	.cfi_def_cfa_register rsp
	popq	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore rbx
	ret
	.cfi_endproc
	.size	hand_other_cfa, .-hand_other_cfa

	.globl	hand_ra_register
	.type	hand_ra_register, @function
hand_ra_register:
	.cfi_startproc
	popq	%rdx
	.cfi_def_cfa_offset 0
	.cfi_register rip, rdx
	leaq	70(%rdi), %rax
	addq	$7, %rax
	jmp	*%rdx
	.cfi_endproc
	.size	hand_ra_register, .-hand_ra_register

	.globl	hand_ra_slot
	.type	hand_ra_slot, @function
hand_ra_slot:
	.cfi_startproc
	pushq	(%rsp)
	.cfi_def_cfa_offset 16
	.cfi_offset rip, -16
	movq	$0, 8(%rsp)
	subq	$24, %rsp
	.cfi_def_cfa_offset 40
	call	leaf
	addq	$9, %rax
	addq	$24, %rsp
	.cfi_def_cfa_offset 16
	popq	(%rsp)
	.cfi_def_cfa_offset 8
	.cfi_offset rip, -8
	ret
	.cfi_endproc
	.size	hand_ra_slot, .-hand_ra_slot

	.globl	hand_frame_pointer
	.type	hand_frame_pointer, @function
hand_frame_pointer:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	pushq	%r12
	.cfi_offset r12, -24
	pushq	%rdi
	call	leaf
	movq	%rax, %rdi
	pushq	$1
	pushq	$2
	call	leaf
	popq	%rdx
	popq	%rdx
	movq	-8(%rbp), %r12
	.cfi_restore r12
	leave
	.cfi_restore rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	hand_frame_pointer, .-hand_frame_pointer

	.globl	hand_special
	.type	hand_special, @function
hand_special:
	.cfi_startproc
	movq	%rbp, %r8
	.cfi_register rbp, r8
	movl	$13, %ebp
	leaq	(%rdi,%rbp), %rax
	movq	%r8, %rbp
	.cfi_restore rbp
	ret
	.cfi_endproc
	.size	hand_special, .-hand_special

	.section .note.GNU-stack, "", @progbits
