/* The hand-written functions of handcfi (see handcfi.c), aarch64.

   Stresses: two exits with remembered rows, a frame addressed by another
   register, a return address parked in a register, saved without the frame
   pointer and far from it, a stack that moves under a frame pointer, and a
   signed return address.  */

	.text
	.balign	4
	.globl	hand_exits
	.type	hand_exits, %function
hand_exits:
	.cfi_startproc
	cbz	x0, 1f
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	bl	leaf
	cmp	x0, #20
	b.ge	2f
	add	x0, x0, #1
	ldp	x29, x30, [sp], #32
	.cfi_remember_state
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
2:	.cfi_restore_state
	bl	leaf
	add	x0, x0, #2
	ldp	x29, x30, [sp], #32
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
1:	mov	x0, #11
	ret
	.cfi_endproc
	.size	hand_exits, .-hand_exits

	.globl	hand_other_cfa
	.type	hand_other_cfa, %function
hand_other_cfa:
	.cfi_startproc
	stp	x19, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x19, -32
	.cfi_offset x30, -24
	mov	x19, sp
	.cfi_def_cfa_register x19
	sub	x9, sp, #96
	and	sp, x9, #-64
	bl	leaf
	add	x0, x0, #5
	mov	sp, x19
	.cfi_def_cfa_register sp
	ldp	x19, x30, [sp], #32
	.cfi_def_cfa_offset 0
	.cfi_restore x19
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	hand_other_cfa, .-hand_other_cfa

	.globl	hand_ra_register
	.type	hand_ra_register, %function
hand_ra_register:
	.cfi_startproc
	mov	x9, x30
	.cfi_register x30, x9
	mov	x30, #77
	add	x0, x0, x30
	mov	x30, x9
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	hand_ra_register, .-hand_ra_register

	.globl	hand_ra_slot
	.type	hand_ra_slot, %function
hand_ra_slot:
	.cfi_startproc
	str	x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x30, -48
	bl	leaf
	str	x29, [sp, #32]
	.cfi_offset x29, -16
	mov	x29, #9
	add	x0, x0, x29
	ldr	x29, [sp, #32]
	.cfi_restore x29
	ldr	x30, [sp], #48
	.cfi_def_cfa_offset 0
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	hand_ra_slot, .-hand_ra_slot

	.globl	hand_frame_pointer
	.type	hand_frame_pointer, %function
hand_frame_pointer:
	.cfi_startproc
	stp	x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov	x29, sp
	.cfi_def_cfa_register x29
	sub	sp, sp, #16
	bl	leaf
	sub	sp, sp, #1024
	bl	leaf
	mov	sp, x29
	.cfi_def_cfa_register sp
	ldp	x29, x30, [sp], #32
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	hand_frame_pointer, .-hand_frame_pointer

	.globl	hand_special
	.type	hand_special, %function
hand_special:
	.cfi_startproc
	hint	#25
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x30, #13
	add	x0, x0, x30
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	hint	#29
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	hand_special, .-hand_special

	.section .note.GNU-stack, "", %progbits
