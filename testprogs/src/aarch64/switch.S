/* Context switches of the programs without a C library (see bare.h).

   Stresses: a table that stays true while the stack pointer moves to another
   stack (swap: both stacks hold a frame of the same layout), an outermost frame
   in the middle of a function (first), and a jump that no table can describe
   (the end of back has none, on purpose).  */

	.text
	.balign	4
	.globl	mark
	.type	mark, %function
mark:
	.cfi_startproc
	stp	x19, x20, [x0, #0]
	stp	x21, x22, [x0, #16]
	stp	x23, x24, [x0, #32]
	stp	x25, x26, [x0, #48]
	stp	x27, x28, [x0, #64]
	stp	d8, d9, [x0, #80]
	stp	d10, d11, [x0, #96]
	stp	d12, d13, [x0, #112]
	stp	d14, d15, [x0, #128]
	stp	x29, x30, [x0, #144]
	mov	x9, sp
	str	x9, [x0, #160]
	mov	x0, #0
	ret
	.cfi_endproc
	.size	mark, .-mark

	.globl	back
	.type	back, %function
back:
	.cfi_startproc
	mov	x9, x0
	mov	x0, x1
	b	back_end
	.cfi_endproc
	.size	back, .-back

	.type	back_end, %function
back_end:
	ldp	x19, x20, [x9, #0]
	ldp	x21, x22, [x9, #16]
	ldp	x23, x24, [x9, #32]
	ldp	x25, x26, [x9, #48]
	ldp	x27, x28, [x9, #64]
	ldp	d8, d9, [x9, #80]
	ldp	d10, d11, [x9, #96]
	ldp	d12, d13, [x9, #112]
	ldp	d14, d15, [x9, #128]
	ldp	x29, x30, [x9, #144]
	ldr	x9, [x9, #160]
	mov	sp, x9
	ret
	.size	back_end, .-back_end

	.globl	first
	.type	first, %function
first:
	.cfi_startproc
	stp	x29, x30, [sp, #-160]!
	.cfi_def_cfa_offset 160
	.cfi_offset x29, -160
	.cfi_offset x30, -152
	stp	x19, x20, [sp, #16]
	.cfi_offset x19, -144
	.cfi_offset x20, -136
	stp	x21, x22, [sp, #32]
	.cfi_offset x21, -128
	.cfi_offset x22, -120
	stp	x23, x24, [sp, #48]
	.cfi_offset x23, -112
	.cfi_offset x24, -104
	stp	x25, x26, [sp, #64]
	.cfi_offset x25, -96
	.cfi_offset x26, -88
	stp	x27, x28, [sp, #80]
	.cfi_offset x27, -80
	.cfi_offset x28, -72
	stp	d8, d9, [sp, #96]
	.cfi_offset 72, -64
	.cfi_offset 73, -56
	stp	d10, d11, [sp, #112]
	.cfi_offset 74, -48
	.cfi_offset 75, -40
	stp	d12, d13, [sp, #128]
	.cfi_offset 76, -32
	.cfi_offset 77, -24
	stp	d14, d15, [sp, #144]
	.cfi_offset 78, -16
	.cfi_offset 79, -8
	mov	x9, sp
	str	x9, [x0]
	mov	sp, x1
	.cfi_undefined x30
	mov	x29, #0
	blr	x2
	brk	#1
	.cfi_endproc
	.size	first, .-first

	.globl	swap
	.type	swap, %function
swap:
	.cfi_startproc
	stp	x29, x30, [sp, #-160]!
	.cfi_def_cfa_offset 160
	.cfi_offset x29, -160
	.cfi_offset x30, -152
	stp	x19, x20, [sp, #16]
	.cfi_offset x19, -144
	.cfi_offset x20, -136
	stp	x21, x22, [sp, #32]
	.cfi_offset x21, -128
	.cfi_offset x22, -120
	stp	x23, x24, [sp, #48]
	.cfi_offset x23, -112
	.cfi_offset x24, -104
	stp	x25, x26, [sp, #64]
	.cfi_offset x25, -96
	.cfi_offset x26, -88
	stp	x27, x28, [sp, #80]
	.cfi_offset x27, -80
	.cfi_offset x28, -72
	stp	d8, d9, [sp, #96]
	.cfi_offset 72, -64
	.cfi_offset 73, -56
	stp	d10, d11, [sp, #112]
	.cfi_offset 74, -48
	.cfi_offset 75, -40
	stp	d12, d13, [sp, #128]
	.cfi_offset 76, -32
	.cfi_offset 77, -24
	stp	d14, d15, [sp, #144]
	.cfi_offset 78, -16
	.cfi_offset 79, -8
	mov	x9, sp
	str	x9, [x0]
	mov	sp, x1
	ldp	d14, d15, [sp, #144]
	.cfi_restore 78
	.cfi_restore 79
	ldp	d12, d13, [sp, #128]
	.cfi_restore 76
	.cfi_restore 77
	ldp	d10, d11, [sp, #112]
	.cfi_restore 74
	.cfi_restore 75
	ldp	d8, d9, [sp, #96]
	.cfi_restore 72
	.cfi_restore 73
	ldp	x27, x28, [sp, #80]
	.cfi_restore x27
	.cfi_restore x28
	ldp	x25, x26, [sp, #64]
	.cfi_restore x25
	.cfi_restore x26
	ldp	x23, x24, [sp, #48]
	.cfi_restore x23
	.cfi_restore x24
	ldp	x21, x22, [sp, #32]
	.cfi_restore x21
	.cfi_restore x22
	ldp	x19, x20, [sp, #16]
	.cfi_restore x19
	.cfi_restore x20
	ldp	x29, x30, [sp], #160
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	swap, .-swap

	.section .note.GNU-stack, "", %progbits
