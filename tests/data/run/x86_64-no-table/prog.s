/* x86_64-no-table
   A leaf without any notes, called from a noted function: a
   gap, never good, no finding.

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
	mov $6, %edi
	call outer
	cmp $42, %rax
	jne .Lfail
	mov $1, %eax
	mov $1, %edi
	lea .Ltext(%rip), %rsi
	mov $4, %edx
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
.Ltext:	.ascii "gap\n"
	.text

	.globl	outer
	.type	outer, %function
outer:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	mov %rdi, %rbx
	call bare
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	outer, .-outer

	.globl	bare
	.type	bare, %function
bare:
	push %rbx
	lea (%rdi,%rdi,2), %rax
	lea (%rax,%rax), %rbx
	lea 6(%rbx), %rax
	pop %rbx
	ret
	.size	bare, .-bare
