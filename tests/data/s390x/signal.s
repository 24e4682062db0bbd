/* Two signal handlers, on frames that the program puts on its stack as a kernel would.

   `victim` is interrupted at `point`, where its row has just changed: looked up one byte
   earlier, as return addresses are, its PC has the row before. The handler returns to
   `trampoline`, whose rows are those of a signal frame, and later to `bare`, which has the
   mark and no rows (the assembler does not know its escape).

   Build (binutils 2.47.50):
     s390x-linux-gnu-as --gsframe signal.s -o signal.o
     s390x-linux-gnu-ld -z noseparate-code -z max-page-size=4096 -o signal signal.o
*/
	.macro	function name
	.balign	2
	.globl	\name
	.type	\name, @function
\name:
	.endm

	.macro	end name
	.size	\name, .-\name
	.endm

	/* Interrupts at \point: save area, then PC, r11 and r14. */
	.macro	deliver point
	aghi	%r15, -192
	larl	%r1, \point
	stg	%r1, 160(%r15)
	stg	%r11, 168(%r15)
	stg	%r14, 176(%r15)
	lghi	%r11, 99
	.endm

	/* What the kernel does when a handler has returned. */
	.macro	resume point
	lg	%r11, 168(%r15)
	lg	%r14, 176(%r15)
	aghi	%r15, 192
	j	\point
	.endm

	.text
	function _start
	.cfi_startproc
	.cfi_undefined %r14
	aghi	%r15, -160
	lghi	%r11, 1000
	brasl	%r14, victim
	cghi	%r11, 1000
	jne	1f
	lghi	%r2, 1
	larl	%r3, text
	lghi	%r4, 7
	svc	4
	lghi	%r2, 0
	svc	1
1:	lghi	%r2, 1
	svc	1
	.cfi_endproc
	end _start

	function victim
	.cfi_startproc
	stmg	%r11, %r15, 88(%r15)
	.cfi_offset %r11, -72
	.cfi_offset %r14, -48
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
point:	j	deliver_first
after_first:
	lghi	%r11, 5
again:	j	deliver_second
after_second:
	lmg	%r11, %r15, 248(%r15)
	.cfi_restore %r11
	.cfi_restore %r14
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	end victim

	/* The kernel has no rows. */
	function deliver_first
	deliver	point
	j	trampoline
	end deliver_first

	function deliver_second
	deliver	again
	j	bare
	end deliver_second

	function resume_first
	resume	after_first
	end resume_first

	function resume_second
	resume	after_second
	end resume_second

	function trampoline
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %r15, 352
	.cfi_offset %r14, -192
	.cfi_offset %r11, -184
	brasl	%r14, handler
	j	resume_first
	.cfi_endproc
	end trampoline

	function bare
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa %r15, 352
	.cfi_escape 0x10, 14, 3, 0x7f, 0xa0, 0x01	/* RA = *(r15 + 160) */
	.cfi_offset %r11, -184
	brasl	%r14, handler
	j	resume_second
	.cfi_endproc
	end bare

	function handler
	.cfi_startproc
	stg	%r14, 112(%r15)
	.cfi_offset %r14, -48
	aghi	%r15, -160
	.cfi_def_cfa_offset 320
	lg	%r14, 272(%r15)
	.cfi_restore %r14
	aghi	%r15, 160
	.cfi_def_cfa_offset 160
	br	%r14
	.cfi_endproc
	end handler

	.section .rodata
	.balign 2
text:	.ascii "signal\n"
	.section .note.GNU-stack, "", @progbits
