/* x86_64-stack-reuse
   Two stacks in .bss, on which a coroutine is started five times in turn, each time
   from the top: what an earlier one left behind is not its caller. The start routine
   is marked outermost from the load of the stack pointer on.

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
	lea .Ltop0(%rip), %rsi
	lea body(%rip), %rdx
	call start_on
	mov %rax, %rdi
	lea .Ltop0(%rip), %rsi
	lea body(%rip), %rdx
	call start_on
	mov %rax, %rdi
	lea .Ltop1(%rip), %rsi
	lea body(%rip), %rdx
	call start_on
	mov %rax, %rdi
	lea .Ltop0(%rip), %rsi
	lea body(%rip), %rdx
	call start_on
	mov %rax, %rdi
	lea .Ltop1(%rip), %rsi
	lea body(%rip), %rdx
	call start_on
	mov %rax, %rdi
	cmp $20, %rax
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
.Ltext:	.ascii "again\n"
	.text

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
.Ltop0:	.skip 1024
.Ltop1:	.skip 64
.Lold:	.skip 8
