/* s390x-two-steps
   The frame is taken and given back in two steps with one late note each.

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
	brasl %r14, twice
	cghi %r2, 7
	jne .Lfail
	lghi %r2, 1
	larl %r3, .Ltext
	lghi %r4, 10
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
.Ltext:	.ascii "two steps\n"
	.text
	.balign 2

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	aghi %r2, 3
	br %r14
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	twice
	.type	twice, %function
twice:
	.cfi_startproc
	stmg %r14, %r15, 112(%r15)
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi %r15, -160
.Lb1:
	aghi %r15, -72
.Le1:
	.cfi_def_cfa_offset 392
	brasl %r14, leaf
	aghi %r15, 72
.Lb2:
	lmg %r14, %r15, 272(%r15)
.Le2:
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa_offset 160
	br %r14
	.cfi_endproc
	.size	twice, .-twice
