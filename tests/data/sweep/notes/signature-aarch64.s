// Where the return address is signed and the rows say so, and where they only say so.
	.arch	armv8.3-a
	.text

	.macro	body
	stp	x29, x30, [sp, -16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	bl	outside
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	.endm

	.globl	right
	.type	right, %function
right:
	.cfi_startproc
	paciasp
	.cfi_negate_ra_state
	body
	autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	right, .-right

	.globl	right_b
	.type	right_b, %function
right_b:				// the other key
	.cfi_startproc
	.cfi_b_key_frame
	pacibsp
	.cfi_negate_ra_state
	body
	autibsp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	right_b, .-right_b

	.globl	at_once
	.type	at_once, %function
at_once:				// authenticates and returns in one instruction
	.cfi_startproc
	paciasp
	.cfi_negate_ra_state
	body
	retaa
	.cfi_endproc
	.size	at_once, .-at_once

	.globl	behind
	.type	behind, %function
behind:					// no note behind autiasp: wrong at ret
	.cfi_startproc
	paciasp
	.cfi_negate_ra_state
	body
	autiasp
	ret
	.cfi_endproc
	.size	behind, .-behind

	.globl	before
	.type	before, %function
before:					// the note stands before paciasp: wrong there
	.cfi_startproc
	.cfi_negate_ra_state
	paciasp
	body
	autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	before, .-before

	.globl	never
	.type	never, %function
never:					// never signed, saved or not
	.cfi_startproc
	nop
	.cfi_negate_ra_state
	body
	ret
	.cfi_endproc
	.size	never, .-never

	.globl	part.cold
	.type	part.cold, %function
part.cold:				// nothing leads here: its first row is believed
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.cfi_offset 29, -16
	.cfi_offset 30, -8
	.cfi_negate_ra_state
	ldp	x29, x30, [sp], 16
	.cfi_restore 30
	.cfi_restore 29
	.cfi_def_cfa_offset 0
	autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
	.size	part.cold, .-part.cold
