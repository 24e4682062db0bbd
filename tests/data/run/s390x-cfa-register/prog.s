/* s390x-cfa-register
   A leaf keeps its CFA on r1 while r15 moves; its rows name r1.
   All right.

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
	lghi %r2, 4
	brasl %r14, moved
	cghi %r2, 5
	jne .Lfail
	lghi %r2, 1
	larl %r3, .Ltext
	lghi %r4, 7
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
.Ltext:	.ascii "cfa r1\n"
	.text
	.balign 2

	.globl	moved
	.type	moved, %function
moved:
	.cfi_startproc
	lgr %r1, %r15
	.cfi_def_cfa_register %r1
	aghi %r15, -96
	stg %r2, 160(%r15)
	lg %r2, 160(%r15)
	aghi %r2, 1
	lgr %r15, %r1
	.cfi_def_cfa_register %r15
	br %r14
	.cfi_endproc
	.size	moved, .-moved
