/* aarch64-two-steps
   A frame is taken and given back in two steps with one late note each: one instruction is wrong in the prologue and one in the
   epilogue.

   Build:
     aarch64-linux-gnu-as --gsframe prog.s -o prog.o
     aarch64-linux-gnu-ld -z noseparate-code -z max-page-size=4096 -o prog prog.o
*/
	.text

	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	mov x0, #4
	bl twice
	mov x9, #7
	cmp x0, x9
	b.ne .Lfail
	mov x0, #1
	adr x1, .Ltext
	mov x2, #10
	mov x8, #64
	svc #0
	mov x0, #0
.Lquit:
	mov x8, #93
	svc #0
.Lfail:
	mov x0, #1
	b .Lquit
	.cfi_endproc
	.size	_start, .-_start

.Ltext:	.ascii "two steps\n"
	.balign 4

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	add x0, x0, #3
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	twice
	.type	twice, %function
twice:
	.cfi_startproc
	str x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x30, -16
	sub sp, sp, #96
.Lb1:
	sub sp, sp, #32
.Le1:
	.cfi_def_cfa_offset 144
	bl leaf
	add sp, sp, #32
.Lb2:
	add sp, sp, #96
.Le2:
	.cfi_def_cfa_offset 16
	ldr x30, [sp], #16
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	twice, .-twice
