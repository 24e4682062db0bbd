/* The hand-written functions of handcfi (see handcfi.c), s390x.

   Stresses: two exits with remembered rows and a conditional return, a frame
   addressed by another register, a return address parked in a register and
   saved in an unusual slot, a stack that moves under a frame pointer, and r11
   and r14 parked in floating-point registers.  */

	.text
	.balign	2
	.globl	hand_exits
	.type	hand_exits, @function
hand_exits:
	.cfi_startproc
	lgr	%r1, %r2
	lghi	%r2, 11
	ltgr	%r1, %r1
	ber	%r14
	lgr	%r2, %r1
	stmg	%r12, %r15, 96(%r15)
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	brasl	%r14, leaf
	cghi	%r2, 20
	jhe	2f
	aghi	%r2, 1
	lmg	%r12, %r15, 256(%r15)
	.cfi_remember_state
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br	%r14
2:	.cfi_restore_state
	brasl	%r14, leaf
	aghi	%r2, 2
	lmg	%r12, %r15, 256(%r15)
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br	%r14
	.cfi_endproc
	.size	hand_exits, .-hand_exits

	.globl	hand_other_cfa
	.type	hand_other_cfa, @function
hand_other_cfa:
	.cfi_startproc
	stmg	%r10, %r15, 80(%r15)
	.cfi_offset %r10, -80
	.cfi_offset %r11, -72
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	lgr	%r10, %r15
	.cfi_def_cfa_register %r10
	aghi	%r15, -96
	nill	%r15, 0xffc0
	brasl	%r14, leaf
	aghi	%r2, 5
	lgr	%r15, %r10
	.cfi_def_cfa_register %r15
	lmg	%r10, %r15, 240(%r15)
	.cfi_restore %r10
	.cfi_restore %r11
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br	%r14
	.cfi_endproc
	.size	hand_other_cfa, .-hand_other_cfa

	.globl	hand_ra_register
	.type	hand_ra_register, @function
hand_ra_register:
	.cfi_startproc
	lgr	%r1, %r14
	.cfi_register %r14, %r1
	lghi	%r14, 77
	agr	%r2, %r14
	lgr	%r14, %r1
	.cfi_restore %r14
	br	%r14
	.cfi_endproc
	.size	hand_ra_register, .-hand_ra_register

	.globl	hand_ra_slot
	.type	hand_ra_slot, @function
hand_ra_slot:
	.cfi_startproc
	aghi	%r15, -192
	.cfi_def_cfa_offset 352
	stg	%r14, 168(%r15)
	.cfi_offset %r14, -184
	brasl	%r14, leaf
	aghi	%r2, 9
	lg	%r14, 168(%r15)
	.cfi_restore %r14
	aghi	%r15, 192
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	hand_ra_slot, .-hand_ra_slot

	.globl	hand_frame_pointer
	.type	hand_frame_pointer, @function
hand_frame_pointer:
	.cfi_startproc
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset %r11, -72
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	lgr	%r11, %r15
	.cfi_def_cfa_register %r11
	aghi	%r15, -16
	brasl	%r14, leaf
	aghi	%r15, -1024
	brasl	%r14, leaf
	lmg	%r11, %r15, 248(%r11)
	.cfi_restore %r11
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br	%r14
	.cfi_endproc
	.size	hand_frame_pointer, .-hand_frame_pointer

	.globl	hand_special
	.type	hand_special, @function
hand_special:
	.cfi_startproc
	ldgr	%f0, %r11
	.cfi_register %r11, %f0
	ldgr	%f2, %r14
	.cfi_register %r14, %f2
	lghi	%r11, 6
	lghi	%r14, 7
	agr	%r2, %r11
	agr	%r2, %r14
	lgdr	%r14, %f2
	.cfi_restore %r14
	lgdr	%r11, %f0
	.cfi_restore %r11
	br	%r14
	.cfi_endproc
	.size	hand_special, .-hand_special

	.section .note.GNU-stack, "", @progbits
