/* x86_64-jump-in
   A framed routine jumps to a shared block that is noted as frameless, and a leaf jumps there too. The block is wrong when it is
   reached with the frame, right otherwise: its instructions are found once
   each.

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
	mov $4, %edi
	call bare
	mov %rax, %rdi
	call framed
	cmp $8, %rax
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
.Ltext:	.ascii "jump in\n"
	.text

	.globl	shared
	.type	shared, %function
shared:
	.cfi_startproc
.Lb1:
	lea 2(%rdi), %rax
	jmp *%r11
.Le1:
	.cfi_endproc
	.size	shared, .-shared

	.globl	framed
	.type	framed, %function
framed:
	.cfi_startproc
	sub $24, %rsp
	.cfi_def_cfa_offset 32
	lea 1f(%rip), %r11
	jmp shared
1:
	add $24, %rsp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	framed, .-framed

	.globl	bare
	.type	bare, %function
bare:
	.cfi_startproc
	lea 1f(%rip), %r11
	jmp shared
1:
	ret
	.cfi_endproc
	.size	bare, .-bare
