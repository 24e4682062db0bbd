/* aarch64-stack-switch
   A coroutine is started on a stack in .bss: from the load of
   the new stack pointer on, the start routine is marked outermost. The way
   back describes the frame that it finds on the old stack.

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
	mov x0, #5
	adr x1, .Lstack_top
	adr x2, work
	bl start_on
	add x0, x0, #1
	mov x9, #9
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

.Ltext:	.ascii "switch\n"
	.balign 4

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	add x0, x0, #3
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.globl	start_on
	.type	start_on, %function
start_on:
	.cfi_startproc
	stp x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	mov x9, sp
	adr x10, .Lold
	str x9, [x10]
	mov sp, x1
	.cfi_undefined x30
	blr x2
	brk #0
	.cfi_endproc
	.size	start_on, .-start_on

	.globl	go_back
	.type	go_back, %function
go_back:
	.cfi_startproc
	adr x9, .Lold
	ldr x9, [x9]
	mov sp, x9
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	ldp x29, x30, [sp], #32
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	go_back, .-go_back

	.globl	work
	.type	work, %function
work:
	.cfi_startproc
	stp x29, x30, [sp, #-64]!
	.cfi_def_cfa_offset 64
	.cfi_offset x29, -64
	.cfi_offset x30, -56
	mov x29, sp
	bl leaf
	bl go_back
	.cfi_endproc
	.size	work, .-work

	.bss
	.balign 16
	.skip 1024
.Lstack_top:	.skip 64
.Lold:	.skip 8
