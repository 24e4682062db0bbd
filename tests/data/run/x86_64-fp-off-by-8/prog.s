/* x86_64-fp-off-by-8
   rbp is set one word above its usual place but the CFA is noted as rbp + 16: 8 too high from after the lea until the pop of rbp, call
   included.

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
	mov $11, %edi
	call skew
	cmp $14, %rax
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
.Ltext:	.ascii "skew\n"
	.text

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	skew
	.type	skew, %function
skew:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	lea 8(%rsp), %rbp
	.cfi_def_cfa %rbp, 16
.Lb1:
	sub $32, %rsp
	call leaf
	lea -8(%rbp), %rsp
	pop %rbp
.Le1:
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	skew, .-skew
