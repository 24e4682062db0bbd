/* aarch64-noreturn
   A call that never returns ends a function, a function with another frame
   follows at once. Looked up one byte below the return address
   nothing is wrong. The neighbour runs too.

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
	mov x0, #3
	bl nearby
	bl last
	mov x9, #0
	cmp x0, x9
	b.ne .Lfail
	mov x0, #1
	adr x1, .Ltext
	mov x2, #11
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

.Ltext:	.ascii "never back\n"
	.balign 4

	.globl	quit
	.type	quit, %function
quit:
	.cfi_startproc
	mov x0, #1
	adr x1, .Ltext
	mov x2, #11
	mov x8, #64
	svc #0
	mov x0, #0
	mov x8, #93
	svc #0
	brk #0
	.cfi_endproc
	.size	quit, .-quit

	.globl	last
	.type	last, %function
last:
	.cfi_startproc
	stp x29, x30, [sp, #-96]!
	.cfi_def_cfa_offset 96
	.cfi_offset x29, -96
	.cfi_offset x30, -88
	mov x29, sp
	bl quit
	.cfi_endproc
	.size	last, .-last

	.globl	nearby
	.type	nearby, %function
nearby:
	.cfi_startproc
	sub sp, sp, #16
	.cfi_def_cfa_offset 16
	add x0, x0, #1
	add sp, sp, #16
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	nearby, .-nearby
