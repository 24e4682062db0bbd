/* s390x-noreturn
   A call that never returns ends a function; a function with another frame
   follows at once. The neighbour runs too. Nothing is wrong.

   Build:
     s390x-linux-gnu-as --gsframe prog.s -o prog.o
     s390x-linux-gnu-ld -z noseparate-code -z max-page-size=4096 -o prog prog.o
*/
	.text

	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined %r14
	aghi %r15, -160
	lghi %r2, 3
	brasl %r14, nearby
	brasl %r14, last
	cghi %r2, 0
	jne .Lfail
	lghi %r2, 1
	larl %r3, .Ltext
	lghi %r4, 11
	svc 4
	lghi %r2, 0
.Lquit:
	svc 1
.Lfail:
	lghi %r2, 1
	j .Lquit
	.cfi_endproc
	.size	_start, .-_start

	.section .rodata
	.balign 2
.Ltext:	.ascii "never back\n"
	.text
	.balign 2

	.globl	quit
	.type	quit, %function
quit:
	.cfi_startproc
	lghi %r2, 1
	larl %r3, .Ltext
	lghi %r4, 11
	svc 4
	lghi %r2, 0
	svc 1
	j .
	.cfi_endproc
	.size	quit, .-quit

	.globl	last
	.type	last, %function
last:
	.cfi_startproc
	stmg %r14, %r15, 112(%r15)
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi %r15, -240
	.cfi_def_cfa_offset 400
	brasl %r14, quit
	.cfi_endproc
	.size	last, .-last

	.globl	nearby
	.type	nearby, %function
nearby:
	.cfi_startproc
	lay %r15, -40(%r15)
	.cfi_def_cfa_offset 200
	aghi %r2, 1
	lay %r15, 40(%r15)
	.cfi_def_cfa_offset 160
	br %r14
	.cfi_endproc
	.size	nearby, .-nearby
