/* aarch64-stack-reuse
   Two stacks in .bss, on which a coroutine is started five times in turn, each time
   from the top: what an earlier one left behind is not its caller. The start routine
   is marked outermost from the load of the stack pointer on.

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
	adr x1, .Ltop0
	adr x2, body
	bl start_on
	adr x1, .Ltop0
	adr x2, body
	bl start_on
	adr x1, .Ltop1
	adr x2, body
	bl start_on
	adr x1, .Ltop0
	adr x2, body
	bl start_on
	adr x1, .Ltop1
	adr x2, body
	bl start_on
	mov x9, #20
	cmp x0, x9
	b.ne .Lfail
	mov x0, #1
	adr x1, .Ltext
	mov x2, #6
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

.Ltext:	.ascii "again\n"
	.balign 4

	.globl	start_on
	.type	start_on, %function
start_on:
	.cfi_startproc
	stp x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
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
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	ldp x29, x30, [sp], #16
	.cfi_restore x29
	.cfi_restore x30
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	go_back, .-go_back

	.globl	body
	.type	body, %function
body:
	.cfi_startproc
	stp x29, x30, [sp, #-32]!
	.cfi_def_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	bl leaf
	bl go_back
	.cfi_endproc
	.size	body, .-body

	.globl	leaf
	.type	leaf, %function
leaf:
	.cfi_startproc
	add x0, x0, #3
	ret
	.cfi_endproc
	.size	leaf, .-leaf

	.bss
	.balign 16
	.skip 1024
.Ltop0:	.skip 1024
.Ltop1:	.skip 64
.Lold:	.skip 8
