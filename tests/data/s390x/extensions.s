/* One function for each thing that SFrame can or cannot say on s390x; all rows are right.

   Build (binutils 2.47.50, which leaves out three functions and gets two wrong):
     s390x-linux-gnu-as --gsframe extensions.s -o extensions.o
     s390x-linux-gnu-ld -z noseparate-code -z max-page-size=4096 -o extensions extensions.o
*/
	.macro	function name
	.balign	2
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	.endm

	.macro	end name
	.cfi_endproc
	.size	\name, .-\name
	.endm

	/* All call-saved general registers from r11 on, and a frame of 160 bytes. */
	.macro	enter
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset %r11, -72
	.cfi_offset %r14, -48
	.endm

	.macro	leave_by base, offset
	lmg	%r11, %r15, \offset(\base)
	.cfi_restore %r11
	.cfi_restore %r14
	.cfi_def_cfa %r15, 160
	br	%r14
	.endm

	.macro	calls names:vararg
	.irp	callee, \names
	lghi	%r2, 3
	brasl	%r14, \callee
	.endr
	.endm

	.text
	function _start
	.cfi_undefined %r14
	aghi	%r15, -224
	lghi	%r11, 1000
	calls	ra_kept, ra_alone, ra_and_fp, fp_alone, word_1, word_2
	calls	word_4, negative_1, negative_2, negative_4, misaligned, sp_said
	calls	sp_elsewhere, ra_at_cfa, fp_at_cfa, floats, ra_float, fp_float
	calls	slot_and_float, generals, parked_caller, other_cfa, float_cfa, loaded_cfa
	calls	loaded_ra, shrink_wrapped
	lghi	%r2, 0
	brasl	%r14, exits
	lghi	%r2, 2
	brasl	%r14, exits
	lghi	%r2, 3
	brasl	%r14, exits
	lghi	%r2, 50
	brasl	%r14, exits
	lghi	%r2, 0
	brasl	%r14, shrink_wrapped
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	brasl	%r14, park_f\n
	.endr
	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13
	brasl	%r14, park_r\n
	.endr
	cghi	%r11, 1000
	jne	1f
	lghi	%r2, 1
	larl	%r3, text
	lghi	%r4, 6
	svc	4
	lghi	%r2, 0
	svc	1
1:	lghi	%r2, 1
	svc	1
	end	_start

	/* ---- which registers are saved */
	function ra_kept
	aghi	%r2, 1
	br	%r14
	end	ra_kept

	function ra_alone
	stg	%r14, 112(%r15)
	.cfi_offset %r14, -48
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	brasl	%r14, ra_kept
	lg	%r14, 272(%r15)
	.cfi_restore %r14
	aghi	%r15, 160
	.cfi_def_cfa_offset 160
	br	%r14
	end	ra_alone

	function ra_and_fp
	enter
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	lghi	%r11, 5
	brasl	%r14, ra_kept
	leave_by %r15, 248
	end	ra_and_fp

	function fp_alone
	stg	%r11, 88(%r15)
	.cfi_offset %r11, -72
	lghi	%r11, 7
	agr	%r2, %r11
	lg	%r11, 88(%r15)
	.cfi_restore %r11
	br	%r14
	end	fp_alone

	/* ---- CFA = register + 8 * word + 160 */
	function word_1
	aghi	%r15, -1016
	.cfi_def_cfa_offset 1176
	aghi	%r2, 1
	aghi	%r15, 1016
	.cfi_def_cfa_offset 160
	br	%r14
	end	word_1

	function word_2
	aghi	%r15, -1024
	.cfi_def_cfa_offset 1184
	aghi	%r2, 1
	agfi	%r15, -261112
	.cfi_def_cfa_offset 262296
	aghi	%r2, 1
	agfi	%r15, 262136
	.cfi_def_cfa_offset 160
	br	%r14
	end	word_2

	function word_4
	agfi	%r15, -262144
	.cfi_def_cfa_offset 262304
	aghi	%r2, 1
	agfi	%r15, 262144
	.cfi_def_cfa_offset 160
	br	%r14
	end	word_4

	/* r11 at and above the CFA. */
	function negative_1
	enter
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	la	%r11, 320(%r15)
	.cfi_def_cfa %r11, 0
	brasl	%r14, ra_kept
	aghi	%r11, 80
	.cfi_def_cfa_offset -80
	brasl	%r14, ra_kept
	aghi	%r11, 776
	.cfi_def_cfa_offset -856
	brasl	%r14, ra_kept
	aghi	%r11, 8
	.cfi_def_cfa_offset -864
	brasl	%r14, ra_kept
	leave_by %r15, 248
	end	negative_1

	function negative_2
	enter
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	lay	%r11, 1192(%r15)
	.cfi_def_cfa %r11, -872
	brasl	%r14, ra_kept
	agfi	%r11, 261104
	.cfi_def_cfa_offset -261976
	brasl	%r14, ra_kept
	leave_by %r15, 248
	end	negative_2

	function negative_4
	enter
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	lgr	%r11, %r15
	agfi	%r11, 300320
	.cfi_def_cfa %r11, -300000
	brasl	%r14, ra_kept
	leave_by %r15, 248
	end	negative_4

	/* 8 does not divide 164 - 160. */
	function misaligned
	enter
	lay	%r11, -4(%r15)
	.cfi_def_cfa %r11, 164
	aghi	%r2, 1
	leave_by %r15, 88
	end	misaligned

	/* ---- SP = CFA - 160 */
	function sp_said
	.cfi_val_offset %r15, -160
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	aghi	%r2, 1
	aghi	%r15, 160
	.cfi_def_cfa_offset 160
	br	%r14
	end	sp_said

	/* The CFA of another convention: 8 higher, and SP 168 below it. */
	function sp_elsewhere
	aghi	%r15, -160
	.cfi_def_cfa_offset 328
	.cfi_val_offset %r15, -168
	aghi	%r2, 1
	aghi	%r15, 160
	.cfi_restore %r15
	.cfi_def_cfa_offset 160
	br	%r14
	end	sp_elsewhere

	/* ---- offset 0: the word for "not saved" */
	function ra_at_cfa
	stg	%r14, 160(%r15)
	.cfi_offset %r14, 0
	lghi	%r14, 7
	agr	%r2, %r14
	lg	%r14, 160(%r15)
	.cfi_restore %r14
	br	%r14
	end	ra_at_cfa

	function fp_at_cfa
	stg	%r11, 160(%r15)
	.cfi_offset %r11, 0
	lghi	%r11, 7
	agr	%r2, %r11
	lg	%r11, 160(%r15)
	.cfi_restore %r11
	br	%r14
	end	fp_at_cfa

	/* ---- values in registers */
	function floats
	ldgr	%f0, %r11
	.cfi_register %r11, %f0
	ldgr	%f2, %r14
	.cfi_register %r14, %f2
	lghi	%r11, 6
	lghi	%r14, 7
	agr	%r2, %r11
	lgdr	%r14, %f2
	.cfi_restore %r14
	lgdr	%r11, %f0
	.cfi_restore %r11
	br	%r14
	end	floats

	function ra_float
	ldgr	%f2, %r14
	.cfi_register %r14, %f2
	lghi	%r14, 7
	lgdr	%r14, %f2
	.cfi_restore %r14
	br	%r14
	end	ra_float

	function fp_float
	ldgr	%f0, %r11
	.cfi_register %r11, %f0
	lghi	%r11, 7
	lgdr	%r11, %f0
	.cfi_restore %r11
	br	%r14
	end	fp_float

	function slot_and_float
	stg	%r14, 112(%r15)
	.cfi_offset %r14, -48
	ldgr	%f0, %r11
	.cfi_register %r11, %f0
	lghi	%r11, 6
	lghi	%r14, 7
	lgdr	%r11, %f0
	.cfi_restore %r11
	lg	%r14, 112(%r15)
	.cfi_restore %r14
	br	%r14
	end	slot_and_float

	function generals
	lgr	%r0, %r11
	.cfi_register %r11, %r0
	lgr	%r1, %r14
	.cfi_register %r14, %r1
	lghi	%r11, 6
	lghi	%r14, 7
	lgr	%r14, %r1
	.cfi_restore %r14
	lgr	%r11, %r0
	.cfi_restore %r11
	br	%r14
	end	generals

	/* Right while it runs itself; while its callee runs, nobody knows f8 and f9. */
	function parked_caller
	ldgr	%f8, %r14
	.cfi_register %r14, %f8
	ldgr	%f9, %r11
	.cfi_register %r11, %f9
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	brasl	%r14, ra_kept
	aghi	%r15, 160
	.cfi_def_cfa_offset 160
	lgdr	%r11, %f9
	.cfi_restore %r11
	lgdr	%r14, %f8
	.cfi_restore %r14
	br	%r14
	end	parked_caller

	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	function park_f\n
	ldgr	%f\n, %r14
	.cfi_register %r14, %f\n
	lghi	%r14, 7
	lgdr	%r14, %f\n
	.cfi_restore %r14
	br	%r14
	end	park_f\n
	.endr

	.irp	n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13
	function park_r\n
	lgr	%r\n, %r14
	.cfi_register %r14, %r\n
	lghi	%r14, 7
	lgr	%r14, %r\n
	.cfi_restore %r14
	br	%r14
	end	park_r\n
	.endr

	/* ---- the CFA on other registers, and loads */
	function other_cfa
	enter
	lgr	%r1, %r15
	.cfi_def_cfa_register %r1
	aghi	%r15, -264
	nill	%r15, 0xffc0
	lgr	%r10, %r1
	.cfi_def_cfa_register %r10
	brasl	%r14, ra_kept
	lgr	%r15, %r10
	.cfi_def_cfa_register %r15
	leave_by %r15, 88
	end	other_cfa

	function float_cfa
	ldgr	%f0, %r15
	.cfi_def_cfa_register %f0
	aghi	%r15, -160
	aghi	%r2, 1
	lgdr	%r15, %f0
	.cfi_def_cfa_register %r15
	br	%r14
	end	float_cfa

	function loaded_cfa
	enter
	la	%r1, 160(%r15)
	aghi	%r15, -192
	.cfi_def_cfa_offset 352
	stg	%r1, 168(%r15)
	.cfi_escape 0x0f, 4, 0x7f, 0xa8, 0x01, 0x06	/* CFA = *(r15 + 168) */
	brasl	%r14, ra_kept
	leave_by %r15, 280
	end	loaded_cfa

	function loaded_ra
	la	%r1, 100(%r15)
	stg	%r14, 12(%r1)
	.cfi_escape 0x10, 14, 2, 0x71, 12		/* RA = *(r1 + 12) */
	lghi	%r14, 7
	lg	%r14, 12(%r1)
	.cfi_restore %r14
	br	%r14
	end	loaded_ra

	/* ---- ways out */
	function exits
	lgr	%r1, %r2
	lghi	%r2, 11
	ltgr	%r1, %r1
	ber	%r14
	lgr	%r2, %r1
	enter
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	brasl	%r14, ra_kept
	cghi	%r2, 20
	jhe	1f
	lmg	%r11, %r15, 248(%r15)
	.cfi_remember_state
	.cfi_restore %r11
	.cfi_restore %r14
	.cfi_def_cfa %r15, 160
	cghi	%r2, 3
	ber	%r14
	br	%r14
1:	.cfi_restore_state
	brasl	%r14, ra_kept
	leave_by %r15, 248
	end	exits

	/* The frame is taken behind the first exit only. */
	function shrink_wrapped
	ltgr	%r2, %r2
	jne	1f
	br	%r14
1:	enter
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	brasl	%r14, ra_kept
	leave_by %r15, 248
	end	shrink_wrapped

	.section .rodata
	.balign 2
text:	.ascii "s390x\n"
	.section .note.GNU-stack, "", @progbits
