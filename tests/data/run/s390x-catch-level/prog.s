/* s390x-catch-level
   An exception thrown by a function without a frame: the landing, in its caller, is no
   return address and has the stack pointer of the call. What throws has no table on
   purpose (gap); behind the landing all is right.

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
	lghi %r2, 5
	brasl %r14, catches
	cghi %r2, 8
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
.Ltext:	.ascii "caught\n"
	.text
	.balign 2

	.globl	catches
	.type	catches, %function
catches:
	.cfi_startproc
	stmg %r11, %r15, 88(%r15)
	.cfi_offset %r11, -72
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi %r15, -160
	.cfi_def_cfa_offset 320
	larl %r1, .Lsaved
	larl %r3, .Lcatch
	stg %r15, 0(%r1)
	stg %r3, 8(%r1)
	stg %r11, 16(%r1)
	brasl %r14, throw
	j .
.Lcatch:
	brasl %r14, leaf
	lmg %r11, %r15, 248(%r15)
	.cfi_restore %r11
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br %r14
	.cfi_endproc
	.size	catches, .-catches

	.globl	throw
	.type	throw, %function
throw:
	larl %r1, .Lsaved
	lg %r15, 0(%r1)
	lg %r3, 8(%r1)
	lg %r11, 16(%r1)
	br %r3
	.size	throw, .-throw

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	aghi %r2, 3
	br %r14
	.cfi_endproc
	.size	leaf, .-leaf

	.bss
	.balign 16
.Lsaved:	.skip 32
