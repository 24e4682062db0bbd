/* s390x-longjmp
   A hand-written setjmp and longjmp out of ten nested frames;
   the landing has the stack pointer of the abandoned call. The end of the jump
   has no table on purpose (gap); after the landing all is right.

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
	lghi %r2, 10
	brasl %r14, tries
	cghi %r2, 80
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
.Ltext:	.ascii "jumped\n"
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

	.globl	tries
	.type	tries, %function
tries:
	.cfi_startproc
	stmg %r12, %r15, 96(%r15)
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi %r15, -160
	.cfi_def_cfa_offset 320
	lgr %r12, %r2
	larl %r2, .Lbuf
	brasl %r14, mark
	ltgr %r2, %r2
	jne 1f
	lgr %r2, %r12
	brasl %r14, dig
1:
	brasl %r14, leaf
	lmg %r12, %r15, 256(%r15)
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br %r14
	.cfi_endproc
	.size	tries, .-tries

	.globl	back
	.type	back, %function
back:
	.cfi_startproc
	lgr %r1, %r2
	lgr %r2, %r3
	j back_tail
	.cfi_endproc
	.size	back, .-back

	.globl	back_tail
	.type	back_tail, %function
back_tail:
	lmg %r6, %r15, 0(%r1)
	br %r14
	.size	back_tail, .-back_tail

	.globl	mark
	.type	mark, %function
mark:
	.cfi_startproc
	stmg %r6, %r15, 0(%r2)
	lghi %r2, 0
	br %r14
	.cfi_endproc
	.size	mark, .-mark

	.globl	dig
	.type	dig, %function
dig:
	.cfi_startproc
	stmg %r11, %r15, 88(%r15)
	.cfi_offset %r11, -72
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi %r15, -168
	.cfi_def_cfa_offset 328
	aghi %r2, -1
	lghi %r11, 5
	je 1f
	brasl %r14, dig
1:
	larl %r2, .Lbuf
	lghi %r3, 77
	brasl %r14, back
	.cfi_endproc
	.size	dig, .-dig

	.bss
	.balign 8
.Lbuf:	.skip 80
