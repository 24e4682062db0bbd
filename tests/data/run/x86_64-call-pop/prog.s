/* x86_64-call-pop
   The program counter is read by a call of the next instruction and a pop. It is no frame: the note adds 8 for the pop alone and all
   is right.

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
	call where
	mov %rax, %rbx
	lea .Lhere(%rip), %rcx
	sub %rcx, %rax
	add $9, %rax
	cmp $9, %rax
	jne .Lfail
	mov $1, %eax
	mov $1, %edi
	lea .Ltext(%rip), %rsi
	mov $9, %edx
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
.Ltext:	.ascii "call pop\n"
	.text

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	where
	.type	where, %function
where:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	call .Lhere
.Lhere:
	.cfi_adjust_cfa_offset 8
	pop %rbx
	.cfi_adjust_cfa_offset -8
	mov $4, %edi
	call leaf
	mov %rbx, %rax
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	where, .-where
