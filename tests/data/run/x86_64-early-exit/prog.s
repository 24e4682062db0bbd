/* x86_64-early-exit
   Two exits; the notes of the first one are not bracketed by remember and
   restore, so what follows the first ret is described as popped although the
   frame is still there.

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
	mov $2, %edi
	call exits
	mov %rax, %rbx
	mov $3, %edi
	call exits
	add %rbx, %rax
	cmp $9, %rax
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
.Ltext:	.ascii "early exit\n"
	.text

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	exits
	.type	exits, %function
exits:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	mov %rdi, %rbx
	test $1, %dil
	jnz 1f
	call leaf
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
1:
.Lb1:
	lea 1(%rdi), %rax
	mov %rbx, %rcx
	pop %rbx
.Le1:
	ret
	.cfi_endproc
	.size	exits, .-exits
