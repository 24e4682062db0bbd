/* x86_64-realign
   Stack realignment through %r10 as a compiler does it: CFA on
   r10, then loaded from rbp - 8; the caller keeps its frame on rsp. All notes
   right.

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
	call plain
	cmp $25, %rax
	jne .Lfail
	mov $1, %eax
	mov $1, %edi
	lea .Ltext(%rip), %rsi
	mov $8, %edx
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
.Ltext:	.ascii "realign\n"
	.text

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	plain
	.type	plain, %function
plain:
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 16
	call wide
	add $20, %rax
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	plain, .-plain

	.globl	wide
	.type	wide, %function
wide:
	.cfi_startproc
	lea 8(%rsp), %r10
	.cfi_def_cfa %r10, 0
	and $-32, %rsp
	push -8(%r10)
	push %rbp
	mov %rsp, %rbp
	.cfi_escape 0x10, 0x6, 0x2, 0x76, 0x0
	push %r10
	.cfi_escape 0xf, 0x3, 0x76, 0x78, 0x6
	sub $40, %rsp
	movq %rdi, %xmm0
	movaps %xmm0, -48(%rbp)
	call leaf
	mov -8(%rbp), %r10
	.cfi_def_cfa %r10, 0
	leave
	.cfi_restore %rbp
	lea -8(%r10), %rsp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	wide, .-wide
