"""s390x: names and functions for programs that are drawn (ABI supplement, section 1.2)."""

from arch.assembly import AssemblyFacts, FrameStep, FunctionAttribute, HandwrittenFacts

_GCC = "!defined(__clang__)"
"""Where only GCC knows it."""


def _store_multiple(first: int) -> FrameStep:
    """Registers from this one to 15, to the caller's register save area (ABI section 1.2.2)."""
    numbers = range(first, 16)
    place = 8 * first - 160
    return FrameStep(
        (f"stmg %r{first}, %r15, {{cfa}}-{-place}(%r15)",
         *(f".cfi_offset {n}, {8 * n - 160}" for n in numbers)),
        (f"lmg %r{first}, %r14, {{cfa}}-{-place}(%r15)",
         *(f".cfi_restore {n}" for n in numbers)),
        at_once=(f"lmg %r{first}, %r15, {{distance}}-{-place}({{from}})",
                 *(f".cfi_restore {n}" for n in numbers), ".cfi_def_cfa 15, {cfa}"),
        keeps=tuple(f"%r{n}" for n in numbers if n != 14), return_address=True, at_entry=True,
    )  # fmt: skip


_FLOATS = ((0, 16), (2, 17), (4, 18), (6, 19), (1, 20), (3, 21), (5, 22), (7, 23))
"""Those that calls may change, and their DWARF numbers (ABI table 1.19)."""

_HANDWRITTEN = HandwrittenFacts(
    saved=tuple((f"%r{n}", n) for n in range(6, 14)),
    scratch=tuple((f"%r{n}", n) for n in (0, 3, 4, 5)),
    stack=("%r15", 15),
    unit=8,
    call_space=160,
    begin=("la %r2, {n}(%r2)",),
    add=("aghi %r2, {n}",),
    change=("lghi {a}, {n}",),
    scratch_change=("lghi {h}, {n}",),
    skip=("tmll %r2, 1", "jne {label}"),
    repeat=("lghi {h}, 3", "{label}: aghi {h}, -1", "jne {label}"),
    jump=("j {label}",),
    call=("brasl %r14, {to}",),
    tail=("jg {to}",),
    back=("br %r14",),
    steps=(
        FrameStep(("aghi %r15, -{size}", "@"), ("aghi %r15, {size}", "@"), sized=32000,
                  frees_stack=True),
        FrameStep(("lgr %r1, %r15", "lay %r15, -{size}(%r15)", "@", "stg %r1, 0(%r15)"),
                  ("lay %r15, {size}(%r15)", "@"), sized=70000, frees_stack=True),
        *(_store_multiple(first) for first in (14, 6, 7, 10, 11, 12, 13)),
        *(
            FrameStep((f"stg %r{n}, {{cfa}}-{160 - 8 * n}(%r15)",
                       f".cfi_offset {n}, {8 * n - 160}"),
                      (f"lg %r{n}, {{cfa}}-{160 - 8 * n}(%r15)", f".cfi_restore {n}"),
                      keeps=(f"%r{n}",))
            for n in (7, 11, 13)
        ),
        FrameStep(("stg %r14, {cfa}-48(%r15)", ".cfi_offset 14, -48", "lghi %r14, 77"),
                  ("lg %r14, {cfa}-48(%r15)", ".cfi_restore 14"), return_address=True),
        FrameStep(("aghi %r15, -{size}-176", "@", "stg {a}, 168(%r15)",
                   ".cfi_offset {na}, {slot}+168"),
                  ("lg {a}, 168(%r15)", ".cfi_restore {na}", "aghi %r15, {size}+176", "@"),
                  down=176, sized=4096, takes=1),
        FrameStep(("lgr {a}, %r15", ".cfi_def_cfa_register {na}"), (".cfi_def_cfa 15, {cfa}",),
                  at_once=("lgr %r15, {a}", ".cfi_def_cfa 15, {cfa}"), base="a"),
        FrameStep(("lgr {h}, {a}", ".cfi_register {na}, {nh}"),
                  ("lgr {a}, {h}", ".cfi_restore {na}"), takes=1, holds=True),
        FrameStep(("lgr {h}, %r14", ".cfi_register 14, {nh}", "lghi %r14, 77"),
                  ("lgr %r14, {h}", ".cfi_restore 14"), holds=True, return_address=True),
        *(
            FrameStep((f"ldgr %f{n}, %r{saved}", f".cfi_register {saved}, {dwarf}"),
                      (f"lgdr %r{saved}, %f{n}", f".cfi_restore {saved}"),
                      keeps=(f"%r{saved}", f"%f{n}"), holds=True)
            for (n, dwarf), saved in zip(_FLOATS, (11, 10, 6, 12, 13, 7, 8), strict=False)
        ),
        FrameStep(("ldgr %f7, %r15", ".cfi_register 15, 23"), (".cfi_restore 15",),
                  at_once=("lgdr %r15, %f7", ".cfi_restore 15", ".cfi_def_cfa 15, {cfa}"),
                  keeps=("%f7", "%r15"), holds=True, at_entry=True),
        FrameStep(("nill %r15, 0xffc0",), ("lay %r15, -{gap}({base})",), unknown=True,
                  frees_stack=True),
        FrameStep(("lghi %r1, 48", "ngr %r1, %r2", "sgr %r15, %r1"), ("lay %r15, -{gap}({base})",),
                  unknown=True, frees_stack=True),
    ),
    before_stack=FrameStep(("stg %r15, 120(%r15)", ".cfi_offset 15, -40"), (".cfi_restore 15",),
                           keeps=("%r15",), frees_stack=True, at_entry=True),
)  # fmt: skip

_STACK_FROM_CFA = r".cfi_escape 0x14, 15, 20\n\t"
"""Who moves r15 has to say what it was: DW_CFA_val_offset, CFA - 160, by the data alignment factor
of -8. That is right from there on, whatever is said before, and clang 14 has no note for it."""

S390X_ASSEMBLY = AssemblyFacts(
    clobbers=tuple(f"r{n}" for n in range(6, 11)),
    frame_clobbers=("r11", "r14"),
    float_clobbers=tuple(f"f{n}" for n in range(8, 16)),
    attributes=(
        FunctionAttribute('target("backchain,no-packed-stack")', _GCC),
        FunctionAttribute('target("arch=z14")', _GCC),
        FunctionAttribute("hotpatch(1, 2)", _GCC),
    ),
    # Displacements of 12 bits, then of 20; aghi has 16 bits.
    frame_edges=(3760, 3920, 3936, 32440, 32600, 32616),
    stack_moves=(
        _STACK_FROM_CFA + r"aghi %r15, -{size}\n\t.cfi_adjust_cfa_offset {size}\n\tbcr 0, %r0\n\t"
        r"aghi %r15, {size}\n\t.cfi_adjust_cfa_offset -{size}",
        _STACK_FROM_CFA
        + r"lay %r15, -{size}(%r15)\n\t.cfi_adjust_cfa_offset {size}\n\tbcr 0, %r0\n\t"
        r"la %r15, {size}(%r15)\n\t.cfi_adjust_cfa_offset -{size}",
    ),
    handwritten=_HANDWRITTEN,
)
