/* x86_64-self-modifying
   A function that, the first time, makes a call out of five bytes of no operation in
   itself; the program is linked so that its code can be written. The second time it is
   a call, and the callee has a frame of its own.

   Build:
     x86_64-linux-gnu-as --gsframe prog.s -o prog.o
     x86_64-linux-gnu-ld -N -o prog prog.o
*/
	.text

	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined %rip
	mov $5, %edi
	call changes
	call changes
	cmp $8, %rdi
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
.Ltext:	.ascii "changed\n"
	.text

	.globl	changes
	.type	changes, %function
changes:
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 16
.Lplace:
	.byte 0x0f, 0x1f, 0x44, 0, 0
.Lbehind:
	lea leaf(%rip), %rax
	lea .Lbehind(%rip), %rcx
	sub %rcx, %rax
	movb $0xe8, .Lplace(%rip)
	mov %eax, .Lplace+1(%rip)
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	changes, .-changes

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	add $3, %rdi
	ret
	.cfi_endproc
	.size	leaf, .-leaf
