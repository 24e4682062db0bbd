/* aarch64-large-frame
   A frame of 2 MiB on the main stack, taken at once, is not another stack. All notes
   right.

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
	mov x0, #5
	bl large
	mov x9, #8
	cmp x0, x9
	b.ne .Lfail
	mov x0, #1
	adr x1, .Ltext
	mov x2, #6
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

.Ltext:	.ascii "large\n"
	.balign 4

	.globl	large
	.type	large, %function
large:
	.cfi_startproc
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov x29, sp
	.cfi_def_cfa_register x29
	sub sp, sp, #0x200, lsl #12
	bl leaf
	add sp, sp, #0x200, lsl #12
	ldp x29, x30, [sp], #16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa sp, 0
	ret
	.cfi_endproc
	.size	large, .-large

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	add x0, x0, #3
	ret
	.cfi_endproc
	.size	leaf, .-leaf
