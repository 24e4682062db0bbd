# Every relocation that compilers and hand-written code for s390x need.
# With PLAIN: what the references by way of the GOT come to; see forms.ld.

	.text
	.globl	begin
	.type	begin, @function
begin:	brasl	%r14, outside		# PC32DBL
	jg	other@PLT		# PLT32DBL
	j	near			# PC16DBL
	brc	2, near@PLT		# PLT16DBL
	larl	%r1, counter+2
	lgrl	%r1, number
	bprp	1, near, begin		# PC12DBL, PC24DBL
	bprp	2, near@PLT, near@PLT	# PLT12DBL, PLT24DBL
	l	%r1, absolute(%r2)	# 12
	lg	%r1, negative(%r2)	# 20
	lhi	%r1, absolute		# 16
	mvi	0(%r1), absolute	# 8
	br	%r14
	.size	begin, . - begin

	.type	got_forms, @function
got_forms:
	.ifndef PLAIN
	lgrl	%r1, near@GOTENT	# GOTENT
	larl	%r1, outside@GOTENT
	l	%r1, outside@GOT(%r12)	# GOT12
	lg	%r1, outside@GOT(%r12)	# GOT20
	lhi	%r1, outside@GOT	# GOT16
	larl	%r12, _GLOBAL_OFFSET_TABLE_	# GOTPCDBL
	lgrl	%r1, outside@GOTPLT	# GOTPLTENT
	l	%r1, outside@GOTPLT(%r12)
	lhi	%r1, outside@GOTPLT
	lg	%r1, 0(%r1):tls_load:first	# a mark
	brasl	%r14, near@PLT:tls_gdcall:second
	brasl	%r14, near@PLT:tls_ldcall:second
	l	%r1, first@GOTNTPOFF(%r12)	# TLS_GOTIE12
	lg	%r1, first@GOTNTPOFF(%r12)	# TLS_GOTIE20
	larl	%r1, first@INDNTPOFF	# TLS_IEENT
	.else
	.set	slot_near, table
	.set	slot_outside, table + 8
	.set	tp_first, table + 16
	lgrl	%r1, slot_near
	larl	%r1, slot_outside
	l	%r1, 8(%r12)
	lg	%r1, 8(%r12)
	lhi	%r1, 8
	larl	%r12, table
	lgrl	%r1, slot_outside
	l	%r1, 8(%r12)
	lhi	%r1, 8
	lg	%r1, 0(%r1)
	brasl	%r14, near
	brasl	%r14, near
	l	%r1, 16(%r12)
	lg	%r1, 16(%r12)
	larl	%r1, tp_first
	.endif
	br	%r14
	.size	got_forms, . - got_forms

	.section .text.unlikely, "ax", @progbits
	.balign	2
	.globl	near
	.type	near, @function
near:	jg	begin
	.size	near, . - near

	.section .rodata, "a", @progbits
	.balign	8
number:	.quad	begin, near		# 64
	.quad	near - .		# PC64
	.long	begin - ., near + 4 - .	# PC32
	.long	counter			# 32
	.short	absolute		# 16
	.quad	first@NTPOFF		# TLS_LE64
	.ifndef PLAIN
	.long	outside@GOT		# GOT32
	.long	outside@GOTPLT
	.long	counter@GOTOFF
	.long	near@PLTOFF
	.long	near@PLT
	.balign	8
	.quad	outside@GOT		# GOT64
	.quad	outside@GOTPLT
	.quad	counter@GOTOFF
	.quad	near@PLTOFF
	.quad	near@PLT
	.quad	second@DTPOFF		# TLS_LDO64
	.quad	second@TLSGD		# TLS_GD64
	.quad	second@TLSLDM		# TLS_LDM64
	.quad	first@GOTNTPOFF		# TLS_GOTIE64
	.quad	first@INDNTPOFF		# TLS_IE64
	.else
	.long	8, 8
	.long	counter_from_table
	.long	near_from_table
	.long	near - .
	.balign	8
	.quad	8, 8
	.quad	counter_from_table
	.quad	near_from_table
	.quad	near - .
	.quad	24
	.quad	24, 40, 16
	.quad	tp_first
	.endif

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
	.quad	counter, common, 0
	.bss
	.balign	32
	.zero	48
	.comm	common, 40, 16
	.weak	absolute, negative
	.set	absolute, 0x42
	.set	negative, -0x2222

	.ifdef PLAIN
	.section .table, "aw", @progbits
	.quad	near, outside
	.quad	first@NTPOFF
	.quad	1, 24
	.quad	1, 0
	.endif
	.section .note.GNU-stack, "", @progbits
