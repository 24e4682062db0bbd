# Every relocation that compilers and hand-written code for x86-64 need.
# With PLAIN: what the references by way of the GOT come to; see forms.ld.

	.ifdef PLAIN
	.set got, table
	.set slot_near, table
	.set slot_outside, table + 8
	.set pair_second, table + 16
	.set pair_module, table + 32
	.set tp_first, table + 48
	.set descriptor, table + 56
	.endif

	.text
	.globl	begin
	.type	begin, @function
begin:	call	outside			# PLT32
	jmp	near@PLT
	call	other
	jne	outside			# a conditional jump
	movl	$constant, %edi		# 32
	movq	$constant, %rdi		# 32S
	movabsq	$constant, %rdi		# 64
	movl	counter+4(%rip), %eax	# PC32, an addend
	movl	$1, counter(%rip)	# PC32, bytes behind the field
	jmp	*cases(,%rdi,8)
	movl	%fs:first@tpoff, %eax	# TPOFF32
	leaq	second@tpoff(%rax), %rax
	movw	$label - 0x10000000, %ax	# 16
	movb	$absolute, %al		# 8
	movl	$common, %eax
	jrcxz	1f			# assembled
1:	ret
	.size	begin, . - begin

	.type	got_forms, @function
got_forms:
	.ifndef PLAIN
	movq	near@GOTPCREL(%rip), %rax	# REX_GOTPCRELX
	movl	near@GOTPCREL(%rip), %eax	# GOTPCRELX
	call	*outside@GOTPCREL(%rip)
	pushq	outside@GOTPCREL(%rip)
	cmpxchgq %rcx, near@GOTPCREL(%rip)	# GOTPCREL
	movq	near@GOTPCREL(%rip), %r16	# CODE_4_GOTPCRELX
	addq	near@GOTPCREL(%rip), %rax, %r16	# CODE_6_GOTPCRELX
	leaq	_GLOBAL_OFFSET_TABLE_(%rip), %rbx	# GOTPC32
	movabsq	$_GLOBAL_OFFSET_TABLE_ - ., %r11	# GOTPC64
	movl	outside@GOT(%rbx), %eax		# GOT32
	movabsq	$outside@GOT, %rax		# GOT64
	movabsq	$counter@GOTOFF, %rax		# GOTOFF64
	movabsq	$near@PLTOFF, %rax		# PLTOFF64
	.byte	0x48, 0xb8
	.quad	near@GOTPCREL		# GOTPCREL64
	movabsq	$outside@GOTPLT, %rax		# GOTPLT64
	leaq	second@tlsgd(%rip), %rdi	# TLSGD
	leaq	second@tlsld(%rip), %rdi	# TLSLD
	leaq	second@dtpoff(%rax), %rax	# DTPOFF32
	movabsq	$second@dtpoff, %rax		# DTPOFF64
	movq	first@gottpoff(%rip), %rax	# GOTTPOFF
	movq	first@gottpoff(%rip), %r16	# CODE_4_GOTTPOFF
	addq	first@gottpoff(%rip), %rax, %r16	# CODE_6_GOTTPOFF
	leaq	first@tlsdesc(%rip), %r16	# CODE_4_GOTPC32_TLSDESC
	leaq	first@tlsdesc(%rip), %rax	# GOTPC32_TLSDESC
	call	*first@tlscall(%rax)		# TLSDESC_CALL
	.else
	movq	slot_near(%rip), %rax
	movl	slot_near(%rip), %eax
	call	*slot_outside(%rip)
	pushq	slot_outside(%rip)
	cmpxchgq %rcx, slot_near(%rip)
	movq	slot_near(%rip), %r16
	addq	slot_near(%rip), %rax, %r16
	leaq	got(%rip), %rbx
	movabsq	$got - ., %r11
	movl	outside_slot_from_table(%rbx), %eax
	movabsq	$outside_slot_from_table, %rax
	movabsq	$counter_from_table, %rax
	movabsq	$near_from_table, %rax
	.byte	0x48, 0xb8
	.quad	slot_near - .
	movabsq	$outside_slot_from_table, %rax
	leaq	pair_second(%rip), %rdi
	leaq	pair_module(%rip), %rdi
	{disp32} leaq	24(%rax), %rax
	movabsq	$24, %rax
	movq	tp_first(%rip), %rax
	movq	tp_first(%rip), %r16
	addq	tp_first(%rip), %rax, %r16
	leaq	descriptor(%rip), %r16
	leaq	descriptor(%rip), %rax
	call	*(%rax)
	.endif
	ret
	.byte	near - .			# PC8
	.size	got_forms, . - got_forms

	.section .text.unlikely, "ax", @progbits
	.type	near, @function
	.globl	near
near:	jmp	begin			# between sections
	.size	near, . - near

	.section .rodata, "a", @progbits
	.balign	8
cases:	.quad	begin, near		# 64
label:	.long	begin - ., near - label	# PC32
	.quad	near - .		# PC64
	.word	near - .		# PC16
constant:
	.asciz	"constant"
	.long	counter@SIZE		# SIZE32
	.quad	counter@SIZE + 1	# SIZE64

	.section .data.rel.ro, "aw", @progbits
	.balign	8
	.quad	outside, 0x1234
	.quad	other + 8

	.section .tdata, "awT", @progbits
	.balign	16
first:	.quad	7
	.section .tbss, "awT", @nobits
	.balign	16
	.zero	8
second:	.zero	8

	.data
	.balign	8
	.globl	counter
	.type	counter, @object
	.size	counter, 24
counter:
	.quad	counter, common, first@tpoff	# TPOFF64
	.bss
	.balign	32
	.zero	48
	.comm	common, 40, 16
	.weak	absolute
	.set	absolute, 0x42

	.ifdef PLAIN
	.section .table, "aw", @progbits
	.quad	near, outside
	.quad	1, 24
	.quad	1, 0
	.quad	first@tpoff
	.quad	_dl_tlsdesc_return, first@tpoff
	.endif
	.section .note.GNU-stack, "", @progbits
