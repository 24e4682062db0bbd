/* aarch64-level-recursion
   Functions without a frame that call at the stack pointer of their entry, with the
   return address in x9. The first one calls itself, and the inner one jumps to its
   cold part and back: no landing of an exception in the outer one. The second one is
   entered again by a tail call of the function that it has called. The row of a return
   address in x9 cannot be followed from a callee (gap).

   Build:
     aarch64-linux-gnu-as prog.s -o prog.o
     aarch64-linux-gnu-ld -z noseparate-code -z max-page-size=4096 -o prog prog.o
*/
	.text

	.globl	_start
	.type	_start, %function
_start:
	.cfi_startproc
	.cfi_undefined x30
	mov x0, #5
	bl f
	bl again
	mov x9, #8
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

.Ltext:	.ascii "level\n"
	.balign 4

	.globl	f
	.type	f, %function
f:
	.cfi_startproc
	cbnz x0, 1f
	b f.cold
.Lwarm:
	add x0, x0, #3
	ret
1:
	mov x9, x30
	.cfi_register x30, x9
	mov x0, #0
	bl f
	mov x30, x9
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	f, .-f

	.globl	again
	.type	again, %function
again:
	.cfi_startproc
	cbz x0, 1f
	mov x9, x30
	.cfi_register x30, x9
	bl tail
	mov x30, x9
	.cfi_restore x30
1:
	add x0, x0, #4
	ret
	.cfi_endproc
	.size	again, .-again

	.globl	tail
	.type	tail, %function
tail:
	.cfi_startproc
	mov x0, #0
	b again
	.cfi_endproc
	.size	tail, .-tail

	.section .text.unlikely, "ax"

	.globl	f.cold
	.type	f.cold, %function
f.cold:
	.cfi_startproc
	add x0, x0, #2
	b .Lwarm
	.cfi_endproc
	.size	f.cold, .-f.cold
