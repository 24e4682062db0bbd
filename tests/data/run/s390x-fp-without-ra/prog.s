/* s390x-fp-without-ra
   A leaf saves r11 and not r14: the row holds a filler for the
   return address. All right.

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
	lghi %r11, 50
	lghi %r2, 4
	brasl %r14, only
	agr %r2, %r11
	cghi %r2, 63
	jne .Lfail
	lghi %r2, 1
	larl %r3, .Ltext
	lghi %r4, 9
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
.Ltext:	.ascii "fp alone\n"
	.text
	.balign 2

	.globl	only
	.type	only, %function
only:
	.cfi_startproc
	stg %r11, 88(%r15)
	.cfi_offset %r11, -72
	lghi %r11, 9
	agr %r2, %r11
	lg %r11, 88(%r15)
	.cfi_restore %r11
	br %r14
	.cfi_endproc
	.size	only, .-only
