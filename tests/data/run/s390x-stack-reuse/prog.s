/* s390x-stack-reuse
   Two stacks in .bss, on which a coroutine is started five times in turn, each time
   from the top: what an earlier one left behind is not its caller. The start routine
   is marked outermost from the load of the stack pointer on.

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
	larl %r3, .Ltop0
	larl %r4, body
	brasl %r14, start_on
	larl %r3, .Ltop0
	larl %r4, body
	brasl %r14, start_on
	larl %r3, .Ltop1
	larl %r4, body
	brasl %r14, start_on
	larl %r3, .Ltop0
	larl %r4, body
	brasl %r14, start_on
	larl %r3, .Ltop1
	larl %r4, body
	brasl %r14, start_on
	cghi %r2, 20
	jne .Lfail
	lghi %r2, 1
	larl %r3, .Ltext
	lghi %r4, 6
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
.Ltext:	.ascii "again\n"
	.text
	.balign 2

	.globl	start_on
	.type	start_on, %function
start_on:
	.cfi_startproc
	stmg %r6, %r15, 48(%r15)
	.cfi_offset %r11, -72
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
	.cfi_offset %r11, -72
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	.cfi_def_cfa_offset 320
	lmg %r6, %r15, 208(%r15)
	.cfi_restore %r11
	.cfi_restore %r14
	.cfi_restore %r15
	.cfi_def_cfa %r15, 160
	br %r14
	.cfi_endproc
	.size	go_back, .-go_back

	.globl	body
	.type	body, %function
body:
	.cfi_startproc
	stmg %r14, %r15, 112(%r15)
	.cfi_offset %r14, -48
	.cfi_offset %r15, -40
	aghi %r15, -160
	.cfi_def_cfa_offset 320
	brasl %r14, leaf
	brasl %r14, go_back
	.cfi_endproc
	.size	body, .-body

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
	.skip 1024
.Ltop0:	.skip 2048
.Ltop1:	.skip 176
.Lold:	.skip 8
