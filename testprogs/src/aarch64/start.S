/* Entry point and system calls of the programs without a C library.

   Stresses: an outermost frame marked by an undefined return address.  */

	.text
	.balign	4
	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	mov	x30, #0
	bl	main
	bl	sys_exit
	brk	#1
	.cfi_endproc
	.size	_start, .-_start

	.globl	sys_write
	.type	sys_write, %function
sys_write:
	.cfi_startproc
	mov	x8, #64
	svc	#0
	ret
	.cfi_endproc
	.size	sys_write, .-sys_write

	.globl	sys_exit
	.type	sys_exit, %function
sys_exit:
	.cfi_startproc
	mov	x8, #94
	svc	#0
	brk	#1
	.cfi_endproc
	.size	sys_exit, .-sys_exit

	.section .note.GNU-stack, "", %progbits
