/* x86_64-noreturn
   The last instruction of a function is a call that never returns, and the
   next function, which has another frame, follows at once. Its
   return address belongs to that neighbour; looked up one byte lower, nothing
   is wrong. The neighbour runs too.

   Build:
     x86_64-linux-gnu-as --gsframe prog.s -o prog.o
     x86_64-linux-gnu-ld -z noseparate-code -z max-page-size=4096 -o prog prog.o
*/
	.text

	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined %rip
	mov $3, %edi
	call next_one
	mov %rax, %rdi
	call last_call
	cmp $0, %rax
	jne .Lfail
	mov $1, %eax
	mov $1, %edi
	lea .Ltext(%rip), %rsi
	mov $11, %edx
	syscall
	xor %edi, %edi
.Lquit:
	mov $60, %eax
	syscall
.Lfail:
	mov $1, %edi
	jmp .Lquit
	.cfi_endproc
	.size	_start, .-_start

	.section .rodata
.Ltext:	.ascii "never back\n"
	.text

	.globl	quit
	.type	quit, %function
quit:
	.cfi_startproc
	sub $24, %rsp
	.cfi_def_cfa_offset 32
	mov $1, %eax
	mov $1, %edi
	lea .Ltext(%rip), %rsi
	mov $11, %edx
	syscall
	mov $60, %eax
	xor %edi, %edi
	syscall
	hlt
	.cfi_endproc
	.size	quit, .-quit

	.globl	last_call
	.type	last_call, %function
last_call:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	sub $64, %rsp
	.cfi_def_cfa_offset 80
	mov %rdi, %rbx
	call quit
	.cfi_endproc
	.size	last_call, .-last_call

	.globl	next_one
	.type	next_one, %function
next_one:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	lea 1(%rdi), %rax
	pop %rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	next_one, .-next_one
