/* s390x-stack-switch
   A coroutine is started on a stack in .bss: from the load of
   the new stack pointer on, the start routine is marked outermost. The way
   back describes the frame that it finds on the old stack.

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
	larl %r3, .Ltop
	larl %r4, work
	brasl %r14, start_on
	aghi %r2, 1
	cghi %r2, 9
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
.Ltext:	.ascii "switch\n"
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

	.globl	start_on
	.type	start_on, %function
start_on:
	.cfi_startproc
	stmg %r6, %r15, 48(%r15)
	.cfi_offset %r6, -112
	.cfi_offset %r7, -104
	.cfi_offset %r8, -96
	.cfi_offset %r9, -88
	.cfi_offset %r10, -80
	.cfi_offset %r11, -72
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi %r15, -160
	.cfi_def_cfa_offset 320
	larl %r1, .Lold
	stg %r15, 0(%r1)
	lgr %r15, %r3
	.cfi_undefined %r14
	basr %r14, %r4
	j .
	.cfi_endproc
	.size	start_on, .-start_on

	.globl	go_back
	.type	go_back, %function
go_back:
	.cfi_startproc
	larl %r1, .Lold
	lg %r15, 0(%r1)
	.cfi_offset %r6, -112
	.cfi_offset %r7, -104
	.cfi_offset %r8, -96
	.cfi_offset %r9, -88
	.cfi_offset %r10, -80
	.cfi_offset %r11, -72
	.cfi_offset %r12, -64
	.cfi_offset %r13, -56
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	.cfi_def_cfa_offset 320
	lmg %r6, %r15, 208(%r15)
	.cfi_restore %r6
	.cfi_restore %r7
	.cfi_restore %r8
	.cfi_restore %r9
	.cfi_restore %r10
	.cfi_restore %r11
	.cfi_restore %r12
	.cfi_restore %r13
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br %r14
	.cfi_endproc
	.size	go_back, .-go_back

	.globl	work
	.type	work, %function
work:
	.cfi_startproc
	stmg %r14, %r15, 112(%r15)
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi %r15, -160
	.cfi_def_cfa_offset 320
	brasl %r14, leaf
	brasl %r14, go_back
	.cfi_endproc
	.size	work, .-work

	.bss
	.balign 8
	.skip 2048
.Ltop:	.skip 176
.Lold:	.skip 8
