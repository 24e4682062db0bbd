"""aarch64: names and functions for programs that are drawn (AAPCS64, section 6)."""

from arch.assembly import AssemblyFacts, FrameStep, FunctionAttribute, HandwrittenFacts

_GCC = "!defined(__clang__)"
"""Where only GCC knows it."""

_HANDWRITTEN = HandwrittenFacts(
    saved=tuple((f"x{n}", n) for n in (*range(19, 30),)),
    scratch=tuple((f"x{n}", n) for n in range(9, 16)),
    stack=("sp", 31),
    unit=16,
    call_space=0,
    # What an indirect call may lead to, where branch targets are marked (bti c).
    begin=("hint #34", "add x0, x0, #{n}"),
    add=("add x0, x0, #{n}",),
    change=("mov {a}, #{n}",),
    scratch_change=("add {h}, x0, #{n}",),
    skip=("tbnz x0, #0, {label}",),
    repeat=("mov {h}, #3", "{label}: sub {h}, {h}, #1", "cbnz {h}, {label}"),
    jump=("b {label}",),
    call=("bl {to}",),
    tail=("b {to}",),
    back=("ret",),
    steps=(
        FrameStep(("sub sp, sp, #{size}", "@"), ("add sp, sp, #{size}", "@"), sized=4080,
                  frees_stack=True),
        FrameStep(("stp x29, x30, [sp, #-{size}]!", "@", ".cfi_offset 29, {slot}",
                   ".cfi_offset 30, {slot}+8"),
                  ("ldp x29, x30, [sp], #{size}", ".cfi_restore 29", ".cfi_restore 30", "@"),
                  sized=496, keeps=("x29",), return_address=True),
        FrameStep(("stp x29, x30, [sp, #-{size}]!", "@", ".cfi_offset 29, {slot}",
                   ".cfi_offset 30, {slot}+8", "mov x29, sp", ".cfi_def_cfa_register 29"),
                  ("ldp x29, x30, [sp], #{size}", ".cfi_restore 29", ".cfi_restore 30",
                   ".cfi_def_cfa 31, {before}"),
                  at_once=("mov sp, x29", ".cfi_def_cfa_register 31",
                           "ldp x29, x30, [sp], #{size}", ".cfi_restore 29", ".cfi_restore 30",
                           ".cfi_def_cfa_offset {before}"),
                  sized=496, keeps=("x29",), return_address=True, base="x29"),
        # The frame record above the locals.
        FrameStep(("sub sp, sp, #{size}+16", "@", "stp x29, x30, [sp, #{size}]",
                   ".cfi_offset 29, {slot}+{size}", ".cfi_offset 30, {slot}+{size}+8",
                   "add x29, sp, #{size}", ".cfi_def_cfa 29, {before}+16"),
                  (".cfi_def_cfa 31, {cfa}", "ldp x29, x30, [sp, #{size}]", ".cfi_restore 29",
                   ".cfi_restore 30", "add sp, sp, #{size}+16", "@"),
                  down=16, sized=496, keeps=("x29",), return_address=True, base="x29",
                  base_above=True),
        FrameStep(("str x30, [sp, #-16]!", "@", ".cfi_offset 30, {slot}"),
                  ("ldr x30, [sp], #16", ".cfi_restore 30", "@"), down=16, return_address=True),
        FrameStep(("stp {a}, {b}, [sp, #-16]!", "@", ".cfi_offset {na}, {slot}",
                   ".cfi_offset {nb}, {slot}+8"),
                  ("ldp {a}, {b}, [sp], #16", ".cfi_restore {na}", ".cfi_restore {nb}", "@"),
                  down=16, takes=2),
        FrameStep(("sub sp, sp, #{size}+16", "@", "str {a}, [sp, #8]",
                   ".cfi_offset {na}, {slot}+8"),
                  ("ldr {a}, [sp, #8]", ".cfi_restore {na}", "add sp, sp, #{size}+16", "@"),
                  down=16, sized=4064, takes=1),
        FrameStep(("stp d8, d9, [sp, #-16]!", "@", ".cfi_offset 72, {slot}",
                   ".cfi_offset 73, {slot}+8", "fmov d8, xzr"),
                  ("ldp d8, d9, [sp], #16", ".cfi_restore 72", ".cfi_restore 73", "@"),
                  down=16, keeps=("d8",)),
        FrameStep(("mov {a}, sp", ".cfi_def_cfa_register {na}"), (".cfi_def_cfa 31, {cfa}",),
                  at_once=("mov sp, {a}", ".cfi_def_cfa 31, {cfa}"), base="a"),
        FrameStep(("mov {h}, {a}", ".cfi_register {na}, {nh}"),
                  ("mov {a}, {h}", ".cfi_restore {na}"), takes=1, holds=True),
        FrameStep(("mov {h}, x30", ".cfi_register 30, {nh}", "mov x30, #77"),
                  ("mov x30, {h}", ".cfi_restore 30"), holds=True, return_address=True),
        # paciasp and autiasp, which are hints to older processors.
        FrameStep(("hint #25", ".cfi_negate_ra_state"), ("hint #29", ".cfi_negate_ra_state"),
                  first=True),
        FrameStep(("mov x1, sp", "and sp, x1, #-64"), ("sub sp, {base}, #{gap}",), unknown=True,
                  frees_stack=True),
        FrameStep(("and x1, x0, #48", "sub sp, sp, x1"), ("sub sp, {base}, #{gap}",),
                  unknown=True, frees_stack=True),
    ),
)  # fmt: skip

AARCH64_ASSEMBLY = AssemblyFacts(
    clobbers=tuple(f"x{n}" for n in range(19, 29)),
    frame_clobbers=("x30",),
    float_clobbers=tuple(f"v{n}" for n in range(8, 16)),
    attributes=(
        FunctionAttribute("aarch64_vector_pcs", changes_convention=True),
        FunctionAttribute('target("branch-protection=bti+pac-ret")', _GCC),
        FunctionAttribute('target("branch-protection=bti+pac-ret+leaf")', _GCC),
    ),
    # stp reaches 504, ldr 4095 or 32760, add 4095 and 4095 << 12.
    frame_edges=(240, 256, 496, 512, 528, 4080, 32752, 32768),
    stack_moves=(
        r"sub sp, sp, #{size}\n\t.cfi_adjust_cfa_offset {size}\n\tnop\n\t"
        r"add sp, sp, #{size}\n\t.cfi_adjust_cfa_offset -{size}",
        r"str x0, [sp, #-16]!\n\t.cfi_adjust_cfa_offset 16\n\t"
        r"ldr x0, [sp], #16\n\t.cfi_adjust_cfa_offset -16",
    ),
    handwritten=_HANDWRITTEN,
)
