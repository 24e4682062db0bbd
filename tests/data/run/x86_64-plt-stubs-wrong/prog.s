/* x86_64-plt-stubs-wrong
   The same shape of stub, but the block has one note for all of it: after the
   push the CFA is 8 too low in the stub, and the binder is
   entered right again.

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
	mov $5, %edi
	call to_far
	cmp $8, %rax
	jne .Lfail
	mov $1, %eax
	mov $1, %edi
	lea .Ltext(%rip), %rsi
	mov $5, %edx
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
.Ltext:	.ascii "stub\n"
	.text

	.globl	far
	.type	far, %function
far:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	far, .-far

	.globl	to_far
	.type	to_far, %function
to_far:
	.cfi_startproc
	jmp *.Lslot(%rip)
.Lfirst:
	push $0
.Lb1:
	jmp bind
.Le1:
	.cfi_endproc
	.size	to_far, .-to_far

	.globl	bind
	.type	bind, %function
bind:
	.cfi_startproc
	.cfi_def_cfa_offset 16
	lea far(%rip), %rax
	mov %rax, .Lslot(%rip)
	lea 8(%rsp), %rsp
	.cfi_def_cfa_offset 8
	jmp *%rax
	.cfi_endproc
	.size	bind, .-bind

	.data
	.balign 8
.Lslot:	.quad .Lfirst
