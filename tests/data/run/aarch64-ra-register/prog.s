/* aarch64-ra-register
   A leaf keeps its return address in x9 and uses x30 for something else,
   without a note: wrong from the clobber until x30 is back.

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
	bl keep
	mov x9, #24
	cmp x0, x9
	b.ne .Lfail
	mov x0, #1
	adr x1, .Ltext
	mov x2, #12
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

.Ltext:	.ascii "ra register\n"
	.balign 4

	.globl	keep
	.type	keep, %function
keep:
	.cfi_startproc
	mov x9, x30
	mov x30, #20
.Lb1:
	add x0, x0, x30
	mov x30, x9
.Le1:
	ret
	.cfi_endproc
	.size	keep, .-keep
