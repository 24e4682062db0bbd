/* x86_64-mprotect-patch
   Code that is made writable, patched and made executable again between two runs of
   it: five bytes of no operation become a call, and no operation again. What was known
   of the place is out of date each time.

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
	call patched
	lea leaf(%rip), %rax
	lea .Lbehind(%rip), %rcx
	sub %rcx, %rax
	shl $8, %rax
	mov $0xe8, %al
	call write_place
	call patched
	mov .Lnothing(%rip), %rax
	call write_place
	call patched
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
.Ltext:	.ascii "patched\n"
	.text

	.globl	patched
	.type	patched, %function
patched:
	.cfi_startproc
	sub $8, %rsp
	.cfi_def_cfa_offset 16
.Lplace:
	.byte 0x0f, 0x1f, 0x44, 0, 0
.Lbehind:
	add $8, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	patched, .-patched

	.globl	write_place
	.type	write_place, %function
write_place:
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	push %rbp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -24
	push %rdi
	.cfi_def_cfa_offset 32
	mov %rax, %rbx
	mov $7, %edx
	call protect
	mov %ebx, .Lplace(%rip)
	shr $32, %rbx
	mov %bl, .Lplace+4(%rip)
	mov $5, %edx
	call protect
	pop %rdi
	.cfi_def_cfa_offset 24
	pop %rbp
	.cfi_restore %rbp
	.cfi_def_cfa_offset 16
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	write_place, .-write_place

	.globl	protect
	.type	protect, %function
protect:
	.cfi_startproc
	lea _start(%rip), %rdi
	and $-4096, %rdi
	mov $4096, %esi
	mov $10, %eax
	syscall
	ret
	.cfi_endproc
	.size	protect, .-protect

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	add $3, %rdi
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.section .rodata
	.balign 8
.Lnothing:	.byte 0x0f, 0x1f, 0x44, 0, 0, 0, 0, 0
	.text
