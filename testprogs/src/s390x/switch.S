/* Context switches of the programs without a C library (see bare.h).

   Stresses: a table that stays true while the stack pointer moves to another
   stack (swap: both stacks hold a frame of the same layout), an outermost frame
   in the middle of a function (first), and a jump that no table can describe
   (the end of back has none, on purpose).  */

	.text
	.balign	2
	.globl	mark
	.type	mark, @function
mark:
	.cfi_startproc
	stmg	%r6, %r15, 0(%r2)
	std	%f8, 80(%r2)
	std	%f9, 88(%r2)
	std	%f10, 96(%r2)
	std	%f11, 104(%r2)
	std	%f12, 112(%r2)
	std	%f13, 120(%r2)
	std	%f14, 128(%r2)
	std	%f15, 136(%r2)
	lghi	%r2, 0
	br	%r14
	.cfi_endproc
	.size	mark, .-mark

	.globl	back
	.type	back, @function
back:
	.cfi_startproc
	lgr	%r1, %r2
	lgr	%r2, %r3
	j	back_end
	.cfi_endproc
	.size	back, .-back

	.type	back_end, @function
back_end:
	ld	%f8, 80(%r1)
	ld	%f9, 88(%r1)
	ld	%f10, 96(%r1)
	ld	%f11, 104(%r1)
	ld	%f12, 112(%r1)
	ld	%f13, 120(%r1)
	ld	%f14, 128(%r1)
	ld	%f15, 136(%r1)
	lmg	%r6, %r15, 0(%r1)
	br	%r14
	.size	back_end, .-back_end

	.globl	first
	.type	first, @function
first:
	.cfi_startproc
	stmg	%r6, %r15, 48(%r15)
	.cfi_offset %r6, -112
	.cfi_offset %r7, -104
	.cfi_offset %r8, -96
	.cfi_offset %r9, -88
	.cfi_offset %r10, -80
	.cfi_offset %r11, -72
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi	%r15, -224
	.cfi_def_cfa_offset 384
	std	%f8, 160(%r15)
	.cfi_offset %f8, -224
	std	%f9, 168(%r15)
	.cfi_offset %f9, -216
	std	%f10, 176(%r15)
	.cfi_offset %f10, -208
	std	%f11, 184(%r15)
	.cfi_offset %f11, -200
	std	%f12, 192(%r15)
	.cfi_offset %f12, -192
	std	%f13, 200(%r15)
	.cfi_offset %f13, -184
	std	%f14, 208(%r15)
	.cfi_offset %f14, -176
	std	%f15, 216(%r15)
	.cfi_offset %f15, -168
	stg	%r15, 0(%r2)
	lgr	%r15, %r3
	.cfi_undefined %r14
	aghi	%r15, -160
	lghi	%r11, 0
	basr	%r14, %r4
	.insn	e, 0x0001
	.cfi_endproc
	.size	first, .-first

	.globl	swap
	.type	swap, @function
swap:
	.cfi_startproc
	stmg	%r6, %r15, 48(%r15)
	.cfi_offset %r6, -112
	.cfi_offset %r7, -104
	.cfi_offset %r8, -96
	.cfi_offset %r9, -88
	.cfi_offset %r10, -80
	.cfi_offset %r11, -72
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi	%r15, -224
	.cfi_def_cfa_offset 384
	std	%f8, 160(%r15)
	.cfi_offset %f8, -224
	std	%f9, 168(%r15)
	.cfi_offset %f9, -216
	std	%f10, 176(%r15)
	.cfi_offset %f10, -208
	std	%f11, 184(%r15)
	.cfi_offset %f11, -200
	std	%f12, 192(%r15)
	.cfi_offset %f12, -192
	std	%f13, 200(%r15)
	.cfi_offset %f13, -184
	std	%f14, 208(%r15)
	.cfi_offset %f14, -176
	std	%f15, 216(%r15)
	.cfi_offset %f15, -168
	stg	%r15, 0(%r2)
	lgr	%r15, %r3
	ld	%f8, 160(%r15)
	.cfi_restore %f8
	ld	%f9, 168(%r15)
	.cfi_restore %f9
	ld	%f10, 176(%r15)
	.cfi_restore %f10
	ld	%f11, 184(%r15)
	.cfi_restore %f11
	ld	%f12, 192(%r15)
	.cfi_restore %f12
	ld	%f13, 200(%r15)
	.cfi_restore %f13
	ld	%f14, 208(%r15)
	.cfi_restore %f14
	ld	%f15, 216(%r15)
	.cfi_restore %f15
	lmg	%r6, %r15, 272(%r15)
	.cfi_restore %r6
	.cfi_restore %r7
	.cfi_restore %r8
	.cfi_restore %r9
	.cfi_restore %r10
	.cfi_restore %r11
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br	%r14
	.cfi_endproc
	.size	swap, .-swap

	.section .note.GNU-stack, "", @progbits
