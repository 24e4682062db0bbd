/* x86_64-jit
   Code is copied to new memory and run twice there; it calls back into the program.
   There is no module at that place, so it is a gap; nothing else is.

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
	mov $9, %eax
	xor %edi, %edi
	mov $4096, %esi
	mov $7, %edx
	mov $0x22, %r10d
	mov $-1, %r8
	xor %r9d, %r9d
	syscall
	mov %rax, %r12
	mov %rax, %rdi
	lea .Lcode(%rip), %rsi
	mov $12, %ecx
	rep movsb
	lea leaf(%rip), %r13
	mov $5, %edi
	call *%r12
	mov %rax, %rdi
	call *%r12
	cmp $11, %rax
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
.Ltext:	.ascii "copied\n"
	.text

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.section .rodata
.Lcode:
	sub $8, %rsp
	call *%r13
	add $8, %rsp
	ret
	.text
