/* x86_64-stack-switch
   A coroutine is started on another stack in .bss. From the
   load of the new stack pointer on, the start routine is marked outermost; the
   way back loads the old stack pointer and describes the frame found there. On
   each stack the truth is what was called on that stack.

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
	lea .Lstack_top(%rip), %rsi
	lea body(%rip), %rdx
	call start_on
	add $1, %rax
	cmp $9, %rax
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
.Ltext:	.ascii "switch\n"
	.text

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	lea 3(%rdi), %rax
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	start_on
	.type	start_on, %function
start_on:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	push %rbx
	.cfi_def_cfa_offset 24
	.cfi_offset %rbx, -24
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
	.cfi_offset %rbx, -24
	pop %rbx
	.cfi_def_cfa_offset 16
	.cfi_restore %rbx
	pop %rbp
	.cfi_def_cfa_offset 8
	.cfi_restore %rbp
	ret
	.cfi_endproc
	.size	go_back, .-go_back

	.globl	body
	.type	body, %function
body:
	.cfi_startproc
	sub $24, %rsp
	.cfi_def_cfa_offset 32
	mov %rdi, (%rsp)
	call leaf
	call go_back
	.cfi_endproc
	.size	body, .-body

	.bss
	.balign 16
	.skip 1024
.Lstack_top:	.skip 64
.Lold:	.skip 8
