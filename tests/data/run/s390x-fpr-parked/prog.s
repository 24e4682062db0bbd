/* s390x-fpr-parked
   A leaf parks r11 and r14 in floating-point registers and uses both freely. The notes name the right registers: all right.

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
	lghi %r11, 1000
	lghi %r2, 4
	brasl %r14, park
	agr %r2, %r11
	cghi %r2, 1031
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
.Ltext:	.ascii "parked\n"
	.text
	.balign 2

	.globl	park
	.type	park, %function
park:
	.cfi_startproc
	ldgr %f0, %r11
	.cfi_register %r11, %f0
	ldgr %f2, %r14
	.cfi_register %r14, %f2
	lghi %r11, 7
	lghi %r14, 20
	agr %r2, %r11
	agr %r2, %r14
	lgdr %r14, %f2
	.cfi_restore %r14
	lgdr %r11, %f0
	.cfi_restore %r11
	br %r14
	.cfi_endproc
	.size	park, .-park
