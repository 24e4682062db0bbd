	.file	"<stdin>"
	.machinemode zarch
	.machine "z196"
.text
#APP
	.text
.globl hand
.type hand, @function
hand:
	.cfi_startproc
	lay	%r15, -32(%r15)
	.cfi_adjust_cfa_offset 32
	stg	%r8, 168(%r15)
	.cfi_rel_offset %r8, 168
	ldgr	%f0, %r9
	.cfi_register %r9, %f0
	lgr	%r8, %r2
	lgr	%r9, %r2
	nopr	%r7
	lgdr	%r9, %f0
	.cfi_restore %r9
	lg	%r8, 168(%r15)
	.cfi_same_value %r8
	lay	%r15, 32(%r15)
	.cfi_adjust_cfa_offset -32
	br	%r14
	.cfi_endproc
	.size hand, .-hand
.globl column
.type column, @function
column:
	.cfi_startproc
	.cfi_return_column 14
	nopr	%r7
	br	%r14
	.cfi_endproc
	.size column, .-column
.globl signal_frame
.type signal_frame, @function
signal_frame:
	.cfi_startproc
	.cfi_signal_frame
	nopr	%r7
	br	%r14
	.cfi_endproc
	.size signal_frame, .-signal_frame

#NO_APP
	.align	8
.globl saved
	.type	saved, @function
saved:
.LFB0:
	.cfi_startproc
	stmg	%r6,%r15,48(%r15)
	.cfi_offset 6, -112
	.cfi_offset 7, -104
	.cfi_offset 8, -96
	.cfi_offset 9, -88
	.cfi_offset 10, -80
	.cfi_offset 11, -72
	.cfi_offset 12, -64
	.cfi_offset 13, -56
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	lay	%r15,-160(%r15)
	.cfi_def_cfa_offset 320
	lgr	%r11,%r15
	.cfi_def_cfa_register 11
	lgr	%r6,%r2
	lgr	%r7,%r3
	lgr	%r10,%r4
	brasl	%r14,give@PLT
	lgr	%r9,%r2
	lgr	%r2,%r7
	brasl	%r14,give@PLT
	lgr	%r8,%r2
	lgr	%r2,%r10
	brasl	%r14,give@PLT
	lgr	%r10,%r2
	agrk	%r2,%r6,%r7
	brasl	%r14,give@PLT
	lgr	%r7,%r2
	xgrk	%r2,%r9,%r8
	brasl	%r14,give@PLT
	lgr	%r13,%r2
	xgrk	%r2,%r8,%r10
	brasl	%r14,give@PLT
	lgr	%r6,%r2
	agr	%r9,%r8
	xgrk	%r2,%r10,%r7
	brasl	%r14,give@PLT
	agr	%r10,%r9
	agr	%r10,%r7
	agr	%r10,%r13
	agr	%r10,%r6
	agr	%r2,%r10
	lmg	%r6,%r15,208(%r11)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_restore 13
	.cfi_restore 12
	.cfi_restore 11
	.cfi_restore 10
	.cfi_restore 9
	.cfi_restore 8
	.cfi_restore 7
	.cfi_restore 6
	.cfi_def_cfa 15, 160
	br	%r14
	.cfi_endproc
.LFE0:
	.size	saved, .-saved
	.align	8
.globl early
	.type	early, @function
early:
.LFB1:
	.cfi_startproc
	clgfi	%r2,10
	bhr	%r14
	stmg	%r10,%r15,80(%r15)
	.cfi_offset 10, -80
	.cfi_offset 11, -72
	.cfi_offset 12, -64
	.cfi_offset 13, -56
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	lay	%r15,-168(%r15)
	.cfi_def_cfa_offset 328
	lgr	%r11,%r15
	.cfi_def_cfa_register 11
	lgr	%r10,%r3
	brasl	%r14,give@PLT
	stg	%r2,160(%r11)
	cgr	%r2,%r10
	je	.L11
	aghi	%r2,1
	brasl	%r14,give@PLT
	agr	%r2,%r10
.L5:
	lmg	%r10,%r15,248(%r11)
	.cfi_remember_state
	.cfi_restore 15
	.cfi_restore 14
	.cfi_restore 13
	.cfi_restore 12
	.cfi_restore 11
	.cfi_restore 10
	.cfi_def_cfa 15, 160
	br	%r14
.L11:
	.cfi_restore_state
	aghik	%r2,%r11,160
	brasl	%r14,use@PLT
	lgr	%r2,%r10
	brasl	%r14,give@PLT
	ag	%r2,160(%r11)
	j	.L5
	.cfi_endproc
.LFE1:
	.size	early, .-early
	.align	8
.globl variable
	.type	variable, @function
variable:
.LFB2:
	.cfi_startproc
	stmg	%r10,%r15,80(%r15)
	.cfi_offset 10, -80
	.cfi_offset 11, -72
	.cfi_offset 12, -64
	.cfi_offset 13, -56
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	lay	%r15,-160(%r15)
	.cfi_def_cfa_offset 320
	lgr	%r11,%r15
	.cfi_def_cfa_register 11
	lgr	%r10,%r2
	aghik	%r1,%r2,7
	nill	%r1,65528
	sgr	%r15,%r1
	aghik	%r2,%r15,160
	brasl	%r14,use@PLT
	llgc	%r2,160(%r15)
	brasl	%r14,give@PLT
	agr	%r2,%r10
	lmg	%r10,%r15,240(%r11)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_restore 13
	.cfi_restore 12
	.cfi_restore 11
	.cfi_restore 10
	.cfi_def_cfa 15, 160
	br	%r14
	.cfi_endproc
.LFE2:
	.size	variable, .-variable
	.align	8
.globl cleaned
	.type	cleaned, @function
cleaned:
.LFB3:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDA3
	stmg	%r6,%r15,48(%r15)
	.cfi_offset 6, -112
	.cfi_offset 7, -104
	.cfi_offset 8, -96
	.cfi_offset 9, -88
	.cfi_offset 10, -80
	.cfi_offset 11, -72
	.cfi_offset 12, -64
	.cfi_offset 13, -56
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	lay	%r15,-168(%r15)
	.cfi_def_cfa_offset 328
	lgr	%r11,%r15
	.cfi_def_cfa_register 11
	stg	%r2,160(%r11)
	aghik	%r2,%r11,160
.LEHB0:
	brasl	%r14,use@PLT
	lg	%r2,160(%r11)
	brasl	%r14,give@PLT
.LEHE0:
	j	.L22
.L18:
	aghik	%r2,%r11,160
.LEHB1:
	brasl	%r14,end@PLT
	lgr	%r2,%r6
	brasl	%r14,_Unwind_Resume@PLT
.L22:
	lgr	%r6,%r2
	aghik	%r2,%r11,160
	brasl	%r14,end@PLT
.LEHE1:
	lgr	%r2,%r6
	lmg	%r6,%r15,216(%r11)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_restore 13
	.cfi_restore 12
	.cfi_restore 11
	.cfi_restore 10
	.cfi_restore 9
	.cfi_restore 8
	.cfi_restore 7
	.cfi_restore 6
	.cfi_def_cfa 15, 160
	br	%r14
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
	.uleb128 .L18-.LFB3
	.uleb128 0
	.uleb128 .LEHB1-.LFB3
	.uleb128 .LEHE1-.LEHB1
	.uleb128 0
	.uleb128 0
.LLSDACSE3:
.text
	.size	cleaned, .-cleaned
	.align	8
.globl cleaned_too
	.type	cleaned_too, @function
cleaned_too:
.LFB4:
	.cfi_startproc
	.cfi_personality 0x9b,DW.ref.__gcc_personality_v0
	.cfi_lsda 0x1b,.LLSDA4
	stmg	%r6,%r15,48(%r15)
	.cfi_offset 6, -112
	.cfi_offset 7, -104
	.cfi_offset 8, -96
	.cfi_offset 9, -88
	.cfi_offset 10, -80
	.cfi_offset 11, -72
	.cfi_offset 12, -64
	.cfi_offset 13, -56
	.cfi_offset 14, -48
	.cfi_offset 15, -40
	lay	%r15,-168(%r15)
	.cfi_def_cfa_offset 328
	lgr	%r11,%r15
	.cfi_def_cfa_register 11
	lgr	%r10,%r3
	stg	%r3,160(%r11)
.LEHB2:
	brasl	%r14,give@PLT
	lgr	%r6,%r2
	lgr	%r2,%r10
	brasl	%r14,give@PLT
.LEHE2:
	j	.L30
.L26:
	aghik	%r2,%r11,160
.LEHB3:
	brasl	%r14,end@PLT
	lgr	%r2,%r6
	brasl	%r14,_Unwind_Resume@PLT
.L30:
	agr	%r6,%r2
	aghik	%r2,%r11,160
	brasl	%r14,end@PLT
.LEHE3:
	lgr	%r2,%r6
	lmg	%r6,%r15,216(%r11)
	.cfi_restore 15
	.cfi_restore 14
	.cfi_restore 13
	.cfi_restore 12
	.cfi_restore 11
	.cfi_restore 10
	.cfi_restore 9
	.cfi_restore 8
	.cfi_restore 7
	.cfi_restore 6
	.cfi_def_cfa 15, 160
	br	%r14
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
	.uleb128 .L26-.LFB4
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
	.align	8
	.type	DW.ref.__gcc_personality_v0, @object
	.size	DW.ref.__gcc_personality_v0, 8
DW.ref.__gcc_personality_v0:
	.quad	__gcc_personality_v0
.globl __gcc_personality_v0
	.ident	"GCC: (Debian 16.2.0-3) 16.2.0"
	.section	.note.GNU-stack,"",@progbits
