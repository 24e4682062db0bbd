/* x86_64-large-frame
   A frame of 2 MiB on the main stack, taken at once, is not another stack: from the
   beginning, and after another stack has been used. All notes right.

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
	call large
	mov %rax, %rdi
	lea .Ltop0(%rip), %rsi
	lea body(%rip), %rdx
	call start_on
	mov %rax, %rdi
	call huge
	cmp $14, %rax
	jne .Lfail
	mov $1, %eax
	mov $1, %edi
	lea .Ltext(%rip), %rsi
	mov $6, %edx
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
.Ltext:	.ascii "large\n"
	.text

	.globl	large
	.type	large, %function
large:
	.cfi_startproc
	sub $0x200000, %rsp
	.cfi_adjust_cfa_offset 0x200000
	call leaf
	add $0x200000, %rsp
	.cfi_adjust_cfa_offset -0x200000
	ret
	.cfi_endproc
	.size	large, .-large

	.globl	huge
	.type	huge, %function
huge:
	.cfi_startproc
	sub $0x400000, %rsp
	.cfi_adjust_cfa_offset 0x400000
	call leaf
	add $0x400000, %rsp
	.cfi_adjust_cfa_offset -0x400000
	ret
	.cfi_endproc
	.size	huge, .-huge

	.globl	start_on
	.type	start_on, %function
start_on:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	push %rbx
	.cfi_def_cfa_offset 24
	mov %rsp, .Lold(%rip)
	mov %rsi, %rsp
	.cfi_undefined %rip
	call *%rdx
	hlt
	.cfi_endproc
	.size	start_on, .-start_on

	.globl	go_back
	.type	go_back, %function
go_back:
	.cfi_startproc
	mov .Lold(%rip), %rsp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -16
	pop %rbx
	.cfi_def_cfa_offset 16
	pop %rbp
	.cfi_restore %rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	go_back, .-go_back

	.globl	body
	.type	body, %function
body:
	.cfi_startproc
	sub $24, %rsp
	.cfi_def_cfa_offset 32
	call leaf
	call go_back
	.cfi_endproc
	.size	body, .-body

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.bss
	.balign 16
	.skip 1024
.Ltop0:	.skip 64
.Lold:	.skip 8
