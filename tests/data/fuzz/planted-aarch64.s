	.arch armv8-a
	.file	"<stdin>"
	.text
#APP
	.text
.globl hand
.type hand, %function
hand:
	.cfi_startproc
	sub	sp, sp, #32
	.cfi_adjust_cfa_offset 32
	str	x19, [sp, 8]
	.cfi_rel_offset x19, 8
	mov	x9, x20
	.cfi_register x20, x9
	mov	x19, x0
	mov	x20, x0
	nop
	mov	x20, x9
	.cfi_restore x20
	ldr	x19, [sp, 8]
	.cfi_same_value x19
	add	sp, sp, #32
	.cfi_adjust_cfa_offset -32
	ret
	.cfi_endproc
	.size hand, .-hand
.globl column
.type column, %function
column:
	.cfi_startproc
	.cfi_return_column 30
	nop
	ret
	.cfi_endproc
	.size column, .-column
.globl signal_frame
.type signal_frame, %function
signal_frame:
	.cfi_startproc
	.cfi_signal_frame
	nop
	ret
	.cfi_endproc
	.size signal_frame, .-signal_frame

#NO_APP
	.align	2
	.p2align 5,,15
	.global	saved
	.type	saved, %function
saved:
.LFB0:
	.cfi_startproc
	hint	25 // paciasp
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -64]!
	.cfi_def_cfa_offset 64
	.cfi_offset 29, -64
	.cfi_offset 30, -56
	mov	x29, sp
	stp	x19, x20, [sp, 16]
	.cfi_offset 19, -48
	.cfi_offset 20, -40
	mov	x20, x1
	stp	x21, x22, [sp, 32]
	.cfi_offset 21, -32
	.cfi_offset 22, -24
	mov	x21, x2
	stp	x23, x24, [sp, 48]
	.cfi_offset 23, -16
	.cfi_offset 24, -8
	mov	x23, x0
	bl	give
	mov	x24, x0
	mov	x0, x20
	bl	give
	mov	x22, x0
	add	x19, x24, x0
	mov	x0, x21
	bl	give
	mov	x21, x0
	add	x0, x23, x20
	bl	give
	mov	x23, x0
	add	x20, x21, x0
	eor	x0, x24, x22
	bl	give
	add	x19, x19, x0
	eor	x0, x22, x21
	bl	give
	add	x20, x20, x0
	eor	x0, x21, x23
	bl	give
	add	x0, x19, x0
	add	x0, x0, x20
	ldp	x19, x20, [sp, 16]
	ldp	x21, x22, [sp, 32]
	ldp	x23, x24, [sp, 48]
	ldp	x29, x30, [sp], 64
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 23
	.cfi_restore 24
	.cfi_restore 21
	.cfi_restore 22
	.cfi_restore 19
	.cfi_restore 20
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
.LFE0:
	.size	saved, .-saved
	.align	2
	.p2align 5,,15
	.global	early
	.type	early, %function
early:
.LFB1:
	.cfi_startproc
	cmp	x0, 10
	bls	.L11
	ret
	.p2align 2,,3
.L11:
	hint	25 // paciasp
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -64]!
	.cfi_def_cfa_offset 64
	.cfi_offset 29, -64
	.cfi_offset 30, -56
	mov	x29, sp
	str	x19, [sp, 16]
	.cfi_offset 19, -48
	mov	x19, x1
	bl	give
	str	x0, [sp, 56]
	mov	x2, x0
	cmp	x0, x19
	beq	.L12
	add	x0, x0, 1
	bl	give
	add	x2, x19, x0
	ldr	x19, [sp, 16]
	mov	x0, x2
	ldp	x29, x30, [sp], 64
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_negate_ra_state
	ret
	.p2align 2,,3
.L12:
	.cfi_restore_state
	add	x0, sp, 56
	str	x2, [sp, 40]
	bl	use
	ldr	x0, [sp, 40]
	bl	give
	ldr	x1, [sp, 56]
	ldr	x19, [sp, 16]
	add	x2, x0, x1
	ldp	x29, x30, [sp], 64
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_negate_ra_state
	mov	x0, x2
	ret
	.cfi_endproc
.LFE1:
	.size	early, .-early
	.align	2
	.p2align 5,,15
	.global	variable
	.type	variable, %function
variable:
.LFB2:
	.cfi_startproc
	hint	25 // paciasp
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -32]!
	.cfi_def_cfa_offset 32
	.cfi_offset 29, -32
	.cfi_offset 30, -24
	mov	x29, sp
	.cfi_def_cfa_register 29
	str	x19, [sp, 16]
	.cfi_offset 19, -16
	mov	x19, x0
	add	x0, x0, 15
	and	x0, x0, -16
	sub	sp, sp, x0
	mov	x0, sp
	bl	use
	ldrb	w0, [sp]
	bl	give
	mov	sp, x29
	add	x0, x19, x0
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 32
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa 31, 0
	hint	29 // autiasp
	.cfi_negate_ra_state
	ret
	.cfi_endproc
.LFE2:
	.size	variable, .-variable
	.align	2
	.p2align 5,,15
	.global	cleaned
	.type	cleaned, %function
cleaned:
.LFB3:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDA3
	hint	25 // paciasp
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -48]!
	.cfi_def_cfa_offset 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	mov	x29, sp
	str	x19, [sp, 16]
	.cfi_offset 19, -32
	str	x0, [sp, 40]
	add	x0, sp, 40
.LEHB0:
	bl	use
	ldr	x0, [sp, 40]
	bl	give
.LEHE0:
	mov	x19, x0
	add	x0, sp, 40
.LEHB1:
	bl	end
	mov	x0, x19
	ldr	x19, [sp, 16]
	ldp	x29, x30, [sp], 48
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_negate_ra_state
	ret
.L17:
	.cfi_restore_state
	mov	x19, x0
	add	x0, sp, 40
	bl	end
	mov	x0, x19
	bl	_Unwind_Resume
.LEHE1:
	.cfi_endproc
.LFE3:
	.section	.gcc_except_table,"a",@progbits
.LLSDA3:
	.byte	0xff
	.byte	0xff
	.byte	0x1
	.uleb128 .LLSDACSE3-.LLSDACSB3
.LLSDACSB3:
	.uleb128 .LEHB0-.LFB3
	.uleb128 .LEHE0-.LEHB0
	.uleb128 .L17-.LFB3
	.uleb128 0
	.uleb128 .LEHB1-.LFB3
	.uleb128 .LEHE1-.LEHB1
	.uleb128 0
	.uleb128 0
.LLSDACSE3:
	.text
	.size	cleaned, .-cleaned
	.align	2
	.p2align 5,,15
	.global	cleaned_too
	.type	cleaned_too, %function
cleaned_too:
.LFB4:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDA4
	hint	25 // paciasp
	.cfi_negate_ra_state
	stp	x29, x30, [sp, -48]!
	.cfi_def_cfa_offset 48
	.cfi_offset 29, -48
	.cfi_offset 30, -40
	mov	x29, sp
	stp	x19, x20, [sp, 16]
	.cfi_offset 19, -32
	.cfi_offset 20, -24
	mov	x19, x1
	str	x1, [sp, 40]
.LEHB2:
	bl	give
	mov	x20, x0
	mov	x0, x19
	bl	give
.LEHE2:
	add	x20, x20, x0
	add	x0, sp, 40
.LEHB3:
	bl	end
	mov	x0, x20
	ldp	x19, x20, [sp, 16]
	ldp	x29, x30, [sp], 48
	.cfi_remember_state
	.cfi_restore 30
	.cfi_restore 29
	.cfi_restore 19
	.cfi_restore 20
	.cfi_def_cfa_offset 0
	hint	29 // autiasp
	.cfi_negate_ra_state
	ret
.L23:
	.cfi_restore_state
	mov	x19, x0
	add	x0, sp, 40
	bl	end
	mov	x0, x19
	bl	_Unwind_Resume
.LEHE3:
	.cfi_endproc
.LFE4:
	.section	.gcc_except_table
.LLSDA4:
	.byte	0xff
	.byte	0xff
	.byte	0x1
	.uleb128 .LLSDACSE4-.LLSDACSB4
.LLSDACSB4:
	.uleb128 .LEHB2-.LFB4
	.uleb128 .LEHE2-.LEHB2
	.uleb128 .L23-.LFB4
	.uleb128 0
	.uleb128 .LEHB3-.LFB4
	.uleb128 .LEHE3-.LEHB3
	.uleb128 0
	.uleb128 0
.LLSDACSE4:
	.text
	.size	cleaned_too, .-cleaned_too
	.hidden	DW.ref.__gcc_personality_v0
	.weak	DW.ref.__gcc_personality_v0
	.section	.data.rel.local.DW.ref.__gcc_personality_v0,"awG",@progbits,DW.ref.__gcc_personality_v0,comdat
	.align	3
	.type	DW.ref.__gcc_personality_v0, %object
	.size	DW.ref.__gcc_personality_v0, 8
DW.ref.__gcc_personality_v0:
	.xword	__gcc_personality_v0
	.global	__gcc_personality_v0
	.ident	"GCC: (Debian 16.2.0-3) 16.2.0"
	.section	.note.GNU-stack,"",@progbits

	.aeabi_subsection aeabi_feature_and_bits, optional, ULEB128
	.aeabi_attribute Tag_Feature_BTI, 0
	.aeabi_attribute Tag_Feature_PAC, 1
	.aeabi_attribute Tag_Feature_GCS, 0
