/* aarch64-longjmp
   A hand-written setjmp and longjmp out of ten nested frames;
   the landing has the stack pointer of the abandoned call. The end of the jump
   has no table on purpose (gap); after the landing all is right.

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
	mov x0, #10
	bl tries
	mov x9, #80
	cmp x0, x9
	b.ne .Lfail
	mov x0, #1
	adr x1, .Ltext
	mov x2, #7
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

.Ltext:	.ascii "jumped\n"
	.balign 4

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	add x0, x0, #3
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	tries
	.type	tries, %function
tries:
	.cfi_startproc
	stp x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	str x19, [sp, #16]
	mov x29, sp
	mov x19, x0
	adr x0, .Lbuf
	bl mark
	cbnz x0, 1f
	mov x0, x19
	bl dig
1:
	bl leaf
	ldr x19, [sp, #16]
	ldp x29, x30, [sp], #32
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	tries, .-tries

	.globl	back
	.type	back, %function
back:
	.cfi_startproc
	mov x8, x0
	mov x0, x1
	b back_tail
	.cfi_endproc
	.size	back, .-back

	.globl	back_tail
	.type	back_tail, %function
back_tail:
	ldp x29, x30, [x8]
	ldp x19, x2, [x8, #16]
	mov sp, x2
	ret
	.size	back_tail, .-back_tail

	.globl	mark
	.type	mark, %function
mark:
	.cfi_startproc
	stp x29, x30, [x0]
	mov x2, sp
	stp x19, x2, [x0, #16]
	mov x0, #0
	ret
	.cfi_endproc
	.size	mark, .-mark

	.globl	dig
	.type	dig, %function
dig:
	.cfi_startproc
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov x29, sp
	subs x0, x0, #1
	b.eq 1f
	bl dig
1:
	adr x0, .Lbuf
	mov x1, #77
	bl back
	.cfi_endproc
	.size	dig, .-dig

	.bss
	.balign 8
.Lbuf:	.skip 32
