// Calls what signature-aarch64.s has, for runs; _start has no table.
	.text
	.globl	_start
	.type	_start, %function
_start:
	bl	right
	bl	right_b
	bl	behind
	bl	before
	bl	never
	mov	x0, 0
	mov	x8, 93
	svc	0
	.size	_start, .-_start

	.globl	outside
	.type	outside, %function
outside:
	.cfi_startproc
	ret
	.cfi_endproc
	.size	outside, .-outside
