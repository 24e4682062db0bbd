/* Entry point and system calls of the programs without a C library.

   Stresses: an outermost frame marked by an undefined return address.  */

	.text
	.globl	_start
	.type	_start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	xorl	%ebp, %ebp
	call	main
	movl	%eax, %edi
	call	sys_exit
	hlt
	.cfi_endproc
	.size	_start, .-_start

	.globl	sys_write
	.type	sys_write, @function
sys_write:
	.cfi_startproc
	movl	$1, %eax
	syscall
	ret
	.cfi_endproc
	.size	sys_write, .-sys_write

	.globl	sys_exit
	.type	sys_exit, @function
sys_exit:
	.cfi_startproc
	movl	$231, %eax
	syscall
	hlt
	.cfi_endproc
	.size	sys_exit, .-sys_exit

	.section .note.GNU-stack, "", @progbits
