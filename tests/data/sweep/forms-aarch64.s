// Every relocation that compilers and hand-written code for aarch64 need.
// With PLAIN: what the references by way of the GOT come to; see forms.ld.

	.text
	.globl	begin
	.type	begin, %function
begin:	bl	outside			// CALL26
	b	other			// JUMP26
	b.ne	near			// CONDBR19
	cbz	x0, near
	tbz	x0, #33, near		// TSTBR14
	ldr	x0, number		// LD_PREL_LO19
	adr	x0, number		// ADR_PREL_LO21
	adrp	x0, counter		// ADR_PREL_PG_HI21
	adrp	x1, :pg_hi21_nc:counter
	add	x0, x0, :lo12:counter + 3
	ldrb	w1, [x0, :lo12:counter + 3]
	ldrh	w1, [x0, :lo12:counter + 2]
	str	w1, [x0, :lo12:counter + 4]
	ldr	d1, [x0, :lo12:counter + 8]
	str	q1, [x0, :lo12:counter + 16]
	movz	x0, #:abs_g0:absolute
	movz	x0, #:abs_g1:counter
	movk	x0, #:abs_g0_nc:counter
	movz	x0, #:abs_g2:wide
	movk	x0, #:abs_g1_nc:wide
	movz	x0, #:abs_g3:wide
	movk	x0, #:abs_g2_nc:wide
	movz	x0, #:abs_g0_s:absolute
	movz	x0, #:abs_g0_s:negative
	movn	x0, #:abs_g1_s:counter
	movz	x0, #:abs_g2_s:wide
	movz	x0, #:prel_g0:counter
	movk	x0, #:prel_g0_nc:counter
	movz	x0, #:prel_g1:outside	// before the place: negative
	movk	x0, #:prel_g1_nc:outside
	movz	x0, #:prel_g2:wide
	movk	x0, #:prel_g2_nc:wide
	movz	x0, #:prel_g3:outside
	add	x0, x0, #:tprel_hi12:second, lsl #12
	add	x0, x0, #:tprel_lo12:second
	add	x0, x0, #:tprel_lo12_nc:second
	movz	x0, #:tprel_g2:second
	movz	x0, #:tprel_g1:second
	movk	x0, #:tprel_g1_nc:second
	movz	x0, #:tprel_g0:second
	movk	x0, #:tprel_g0_nc:second
	ldrb	w0, [x0, #:tprel_lo12:second + 1]
	ldrh	w0, [x0, #:tprel_lo12:second + 2]
	ldr	w0, [x0, #:tprel_lo12:second + 4]
	ldr	x0, [x0, #:tprel_lo12:second]
	ldrb	w0, [x0, #:tprel_lo12_nc:second + 1]
	ldrh	w0, [x0, #:tprel_lo12_nc:second + 2]
	ldr	w0, [x0, #:tprel_lo12_nc:second + 4]
	ldr	x0, [x0, #:tprel_lo12_nc:second]
	ret
	.size	begin, . - begin

	.type	got_forms, %function
got_forms:
	.ifndef PLAIN
	adrp	x0, :got:near		// ADR_GOT_PAGE
	ldr	x0, [x0, :got_lo12:near]
	ldr	x0, :got:outside	// GOT_LD_PREL19
	adrp	x0, _GLOBAL_OFFSET_TABLE_
	ldr	x0, [x0, :gotpage_lo15:outside]
	movz	x0, #:gotoff_g1:outside
	movk	x0, #:gotoff_g0_nc:outside
	ldr	x0, [x0, :gotoff_lo15:outside]
	adrp	x0, :tlsgd:second
	add	x0, x0, :tlsgd_lo12:second
	adr	x0, :tlsgd:second
	movz	x0, #:tlsgd_g1:second
	movk	x0, #:tlsgd_g0_nc:second
	adrp	x0, :tlsldm:second
	add	x0, x0, :tlsldm_lo12_nc:second
	adr	x0, :tlsldm:second
	add	x0, x0, #:dtprel_hi12:second, lsl #12
	add	x0, x0, #:dtprel_lo12:second
	add	x0, x0, #:dtprel_lo12_nc:second
	movz	x0, #:dtprel_g2:second
	movz	x0, #:dtprel_g1:second
	movk	x0, #:dtprel_g1_nc:second
	movz	x0, #:dtprel_g0:second
	movk	x0, #:dtprel_g0_nc:second
	ldrb	w0, [x0, #:dtprel_lo12:second + 1]
	ldrh	w0, [x0, #:dtprel_lo12:second + 2]
	ldr	w0, [x0, #:dtprel_lo12:second + 4]
	ldr	x0, [x0, #:dtprel_lo12:second]
	ldrb	w0, [x0, #:dtprel_lo12_nc:second + 1]
	ldrh	w0, [x0, #:dtprel_lo12_nc:second + 2]
	ldr	w0, [x0, #:dtprel_lo12_nc:second + 4]
	ldr	x0, [x0, #:dtprel_lo12_nc:second]
	adrp	x0, :gottprel:first
	ldr	x0, [x0, :gottprel_lo12:first]
	ldr	x0, :gottprel:first
	movz	x0, #:gottprel_g1:first
	movk	x0, #:gottprel_g0_nc:first
	adrp	x0, :tlsdesc:first
	ldr	x1, [x0, :tlsdesc_lo12:first]
	add	x0, x0, :tlsdesc_lo12:first
	.tlsdesccall first
	blr	x1
	ldr	x1, :tlsdesc:first
	adr	x0, :tlsdesc:first
	movz	x0, #:tlsdesc_off_g1:first
	movk	x0, #:tlsdesc_off_g0_nc:first
	.tlsdescldr first
	ldr	x1, [x0]
	.tlsdescadd first
	add	x0, x0, x1
	.else
	.set	slot_near, table
	.set	slot_outside, table + 8
	.set	pair_second, table + 16
	.set	pair_module, table + 32
	.set	tp_first, table + 48
	.set	descriptor, table + 56
	adrp	x0, slot_near
	ldr	x0, [x0, :lo12:slot_near]
	ldr	x0, slot_outside
	adrp	x0, table
	ldr	x0, [x0, #8]
	movz	x0, #0, lsl #16
	movk	x0, #8
	ldr	x0, [x0, #8]
	adrp	x0, pair_second
	add	x0, x0, :lo12:pair_second
	adr	x0, pair_second
	movz	x0, #0, lsl #16
	movk	x0, #16
	adrp	x0, pair_module
	add	x0, x0, :lo12:pair_module
	adr	x0, pair_module
	add	x0, x0, #0, lsl #12
	add	x0, x0, #24
	add	x0, x0, #24
	movz	x0, #0, lsl #32
	movz	x0, #0, lsl #16
	movk	x0, #0, lsl #16
	movz	x0, #24
	movk	x0, #24
	ldrb	w0, [x0, #25]
	ldrh	w0, [x0, #26]
	ldr	w0, [x0, #28]
	ldr	x0, [x0, #24]
	ldrb	w0, [x0, #25]
	ldrh	w0, [x0, #26]
	ldr	w0, [x0, #28]
	ldr	x0, [x0, #24]
	adrp	x0, tp_first
	ldr	x0, [x0, :lo12:tp_first]
	ldr	x0, tp_first
	movz	x0, #0, lsl #16
	movk	x0, #48
	adrp	x0, descriptor
	ldr	x1, [x0, :lo12:descriptor]
	add	x0, x0, :lo12:descriptor
	blr	x1
	ldr	x1, descriptor
	adr	x0, descriptor
	movz	x0, #0, lsl #16
	movk	x0, #56
	ldr	x1, [x0]
	add	x0, x0, x1
	.endif
	ret
	.size	got_forms, . - got_forms

	.section .text.unlikely, "ax", %progbits
	.globl	near
	.type	near, %function
near:	b	begin
	.size	near, . - near

	.section .rodata, "a", %progbits
	.balign	8
number:	.xword	begin, near		// ABS64
	.xword	near - .		// PREL64
	.word	begin - ., near + 4 - .	// PREL32
	.word	counter			// ABS32
	.hword	near - .		// PREL16
	.hword	absolute		// ABS16

	.section .data.rel.ro, "aw", %progbits
	.balign	8
	.xword	outside, 0x1234
	.xword	other + 8

	.section .tdata, "awT", %progbits
	.balign	16
first:	.xword	7
	.section .tbss, "awT", %nobits
	.balign	16
	.zero	8
second:	.zero	8

	.data
	.balign	16
	.globl	counter
	.type	counter, %object
	.size	counter, 32
counter:
	.xword	counter, common, -1, 0
	.bss
	.balign	32
	.zero	48
	.comm	common, 40, 16
	.weak	absolute, negative, wide
	.set	absolute, 0x42
	.set	negative, -2
	.set	wide, 0x123456789abc

	.ifdef PLAIN
	.section .table, "aw", %progbits
	.xword	near, outside
	.xword	1, 24
	.xword	1, 0
	.xword	16
	.xword	_dl_tlsdesc_return, 16
	.endif
	.section .note.GNU-stack, "", %progbits
