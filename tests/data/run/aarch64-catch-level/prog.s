/* aarch64-catch-level
   As the exception out of two frames, but what throws has no frame and is called by
   the function that catches: no frame lies below the stack pointer of the landing.
   Behind it all is right.

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
	bl catches
	mov x9, #8
	cmp x0, x9
	b.ne .Lfail
	mov x0, #1
	adr x1, .Ltext
	mov x2, #7
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

.Ltext:	.ascii "caught\n"
	.balign 4

	.globl	catches
	.type	catches, %function
catches:
	.cfi_startproc
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov x29, sp
	adr x2, .Lsaved
	mov x3, sp
	adr x4, .Lcatch
	stp x3, x4, [x2]
	str x29, [x2, #16]
	bl throw
	brk #0
.Lcatch:
	bl leaf
	ldp x29, x30, [sp], #16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	catches, .-catches

	.globl	throw
	.type	throw, %function
throw:
	adr x2, .Lsaved
	ldp x3, x4, [x2]
	ldr x29, [x2, #16]
	mov sp, x3
	br x4
	.size	throw, .-throw

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	add x0, x0, #3
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.bss
	.balign 16
.Lsaved:	.skip 32
