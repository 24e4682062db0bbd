# Rules of %r15 (SP), right and wrong.
	.text

	.globl	right
	.type	right, @function
right:
	.cfi_startproc
	stmg	%r14,%r15,112(%r15)
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	aghi	%r15,-160
	.cfi_def_cfa_offset 320
	brasl	%r14,outside
	lmg	%r14,%r15,272(%r15)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	right, .-right

	.globl	slot
	.type	slot, @function
slot:					# the slot of %r14
	.cfi_startproc
	stmg	%r14,%r15,112(%r15)
	.cfi_offset 14, -48
	.cfi_offset 15, -48
	aghi	%r15,-160
	.cfi_def_cfa_offset 320
	brasl	%r14,outside
	lmg	%r14,%r15,272(%r15)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	slot, .-slot

	.globl	parked
	.type	parked, @function
parked:					# a leaf that keeps SP in %f2
	.cfi_startproc
	ldgr	%f2,%r15
	.cfi_register 15, 17
	aghi	%r15,-160
	.cfi_def_cfa_offset 320
	la	%r2,1(%r2)
	lgdr	%r15,%f2
	.cfi_restore 15
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	parked, .-parked

	.globl	elsewhere
	.type	elsewhere, @function
elsewhere:				# the same, said to be in %f0
	.cfi_startproc
	ldgr	%f2,%r15
	.cfi_register 15, 16
	aghi	%r15,-160
	.cfi_def_cfa_offset 320
	la	%r2,1(%r2)
	lgdr	%r15,%f2
	.cfi_restore 15
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	elsewhere, .-elsewhere

	.globl	silent
	.type	silent, @function
silent:					# no rule: it is said to be the caller's
	.cfi_startproc
	stmg	%r14,%r15,112(%r15)
	.cfi_offset 14, -48
	aghi	%r15,-160
	.cfi_def_cfa_offset 320
	brasl	%r14,outside
	lmg	%r14,%r15,272(%r15)
	.cfi_restore 14
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	.size	silent, .-silent
