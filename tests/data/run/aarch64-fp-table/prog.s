/* aarch64-fp-table
   Frame records of the AAPCS64 at the bottom of a frame and in the middle of one,
   checked as --table fp. From the instruction after the one that sets x29 to the one
   that loads it back everything is exact; before, after, and in the leaf x29 is the
   caller's, so that the return address is one of the caller. _start makes a record
   that ends the chain; before that x29 is 0.

   Build:
     aarch64-linux-gnu-as prog.s -o prog.o
     aarch64-linux-gnu-ld -z noseparate-code -z max-page-size=4096 -o prog prog.o
*/
	.text

	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	sub sp, sp, #16
	stp xzr, xzr, [sp]
	mov x29, sp
	mov x0, #5
	bl low
	mov x9, #9
	cmp x0, x9
	b.ne .Lfail
	mov x0, #1
	adr x1, .Ltext
	mov x2, #8
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

.Ltext:	.ascii "records\n"
	.balign 4

	.globl	low
	.type	low, %function
low:
	stp x29, x30, [sp, #-48]!
	mov x29, sp
	bl high
	add x0, x0, #1
	ldp x29, x30, [sp], #48
	ret
	.size	low, .-low

	.globl	high
	.type	high, %function
high:
	sub sp, sp, #64
	stp x29, x30, [sp, #48]
	add x29, sp, #48
	sub sp, sp, #32
	bl leaf
	add sp, sp, #32
	ldp x29, x30, [sp, #48]
	add sp, sp, #64
	ret
	.size	high, .-high

	.globl	leaf
	.type	leaf, %function
leaf:
	add x0, x0, #3
	ret
	.size	leaf, .-leaf
