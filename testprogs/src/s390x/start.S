/* Entry point and system calls of the programs without a C library.

   Stresses: an outermost frame marked by an undefined return address.  */

	.text
	.balign	2
	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined %r14
	lghi	%r11, 0
	aghi	%r15, -160
	xc	0(8, %r15), 0(%r15)
	brasl	%r14, main
	lgfr	%r2, %r2
	brasl	%r14, sys_exit
	.insn	e, 0x0001
	.cfi_endproc
	.size	_start, .-_start

	.globl	sys_write
	.type	sys_write, @function
sys_write:
	.cfi_startproc
	svc	4
	br	%r14
	.cfi_endproc
	.size	sys_write, .-sys_write

	.globl	sys_exit
	.type	sys_exit, @function
sys_exit:
	.cfi_startproc
	svc	248
	.insn	e, 0x0001
	.cfi_endproc
	.size	sys_exit, .-sys_exit

	.section .note.GNU-stack, "", @progbits
