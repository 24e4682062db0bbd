/* x86_64-longjmp
   A hand-written setjmp and longjmp out of ten nested frames.
   The landing has the same stack pointer as the abandoned call, as in compiled
   code. The last instructions of the jump, where no single caller exists, have
   no table on purpose (gap); after the landing all is right.

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
	mov $10, %edi
	call tries
	cmp $77, %rax
	jne .Lfail
	mov $1, %eax
	mov $1, %edi
	lea .Ltext(%rip), %rsi
	mov $7, %edx
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
.Ltext:	.ascii "jumped\n"
	.text

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	tries
	.type	tries, %function
tries:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	mov %rdi, %rbx
	lea .Lbuf(%rip), %rdi
	call mark
	test %eax, %eax
	jnz 1f
	mov %rbx, %rdi
	call dig
	mov $1, %eax
1:
	lea -3(%rax), %rdi
	call leaf
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	tries, .-tries

	.globl	back
	.type	back, %function
back:
	.cfi_startproc
	mov %rsi, %rax
	jmp back_tail
	.cfi_endproc
	.size	back, .-back

	.globl	mark
	.type	mark, %function
mark:
	.cfi_startproc
	mov %rbx, (%rdi)
	mov %rbp, 8(%rdi)
	lea 8(%rsp), %rax
	mov %rax, 16(%rdi)
	mov (%rsp), %rax
	mov %rax, 24(%rdi)
	xor %eax, %eax
	ret
	.cfi_endproc
	.size	mark, .-mark

	.globl	dig
	.type	dig, %function
dig:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rdi, %rbp
	dec %rdi
	jz 1f
	call dig
	pop %rbp
	.cfi_remember_state
	.cfi_def_cfa_offset 8
	ret
	.cfi_restore_state
1:
	lea .Lbuf(%rip), %rdi
	mov $77, %esi
	call back
	.cfi_endproc
	.size	dig, .-dig

	.globl	back_tail
	.type	back_tail, %function
back_tail:
	mov (%rdi), %rbx
	mov 8(%rdi), %rbp
	mov 16(%rdi), %rsp
	jmp *24(%rdi)
	.size	back_tail, .-back_tail

	.bss
	.balign 8
.Lbuf:	.skip 32
