# Functions that their entry covers in part, and what looks like that.
	.text

	.globl	late
	.type	late, @function
late:					# the push has no row
	push	%rbx
	.cfi_startproc
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	call	outside
	pop	%rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.size	late, .-late

	.p2align 4
	.globl	early
	.type	early, @function
early:					# pop and ret have none
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	call	outside
	.cfi_endproc
	pop	%rbx
	ret
	.size	early, .-early

	.p2align 4
	.globl	none
	.type	none, @function
none:					# hand-written, without a table
	push	%rbx
	call	outside
	pop	%rbx
	ret
	.size	none, .-none

	.p2align 4
	.globl	padded
	.type	padded, @function
padded:					# the size has the filler in it
	nopl	0(%rax)
	.cfi_startproc
	ret
	.cfi_endproc
	.p2align 4
	.size	padded, .-padded

	.globl	two
	.type	two, @function
two:					# two entries, one behind the other; a symbol inside
	.cfi_startproc
	push	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
inside:
	pop	%rbx
	.cfi_def_cfa_offset 8
	.cfi_endproc
	.cfi_startproc
	ret
	.cfi_endproc
	.size	two, .-two
	.type	inside, @function
	.set	other, two
	.type	other, @function

	.p2align 4
	.globl	tail
	.type	tail, @function
tail:					# only a jump leads to what is behind the entry
	.cfi_startproc
	test	%edi, %edi
	je	.Lbehind
	ret
	.cfi_endproc
.Lbehind:
	pop	%rax
	ret
	int3
	.size	tail, .-tail

	.p2align 4
	.globl	outer
	.type	outer, @function
outer:					# without a table, around one that has one
	nop
	xor	%eax, %eax
	.type	nested, @function
nested:
	.cfi_startproc
	ret
	.cfi_endproc
	.type	other_nested, @function
other_nested:
	xor	%eax, %eax
	ret
	.size	outer, .-outer

	.p2align 4
	.globl	data
	.type	data, @function
data:					# what is behind the entry is no code, though it looks like some
	.cfi_startproc
	lea	.Ltext(%rip), %rax
	ret
	.cfi_endproc
.Ltext:
	.asciz	"PPPPX"
	.size	data, .-data

	.p2align 4
	.globl	mixed
	.type	mixed, @function
mixed:					# the call returns, but to data
	.cfi_startproc
	call	outside
	.cfi_endproc
	.byte	0x06, 0x07, 0x0e, 0x16
	.size	mixed, .-mixed
