"""Whole walks over hand-written stacks: three frames deep on each machine."""

from collections.abc import Mapping

import pytest

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.aarch64 import AARCH64
from arch.row import KEEP
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.memory import Memory
from emu.sample import Sample
from emu.tables import FunctionRows, NoRow, Table
from emu.trace import FrameKind, Trace
from emu.unwind.frames import GOES_ON
from emu.unwind.lookup import RowTable
from emu.unwind.walker import ModuleTable, Walk, walk
from emu.verdict import Verdict
from tests.support.stack import STACK, stack_of

BIAS = 0x5555_0000_0000
START = 0x1000  # link-time address of _start, f at +0x100, g at +0x200
IN_START, IN_F, IN_G = START + 0x20, START + 0x120, START + 0x204


def at(offset: int) -> RegRule:
    """Loaded from CFA + offset."""
    return RegRule(RuleKind.AT_CFA, offset=offset)


def module(arch: Arch, *functions: FunctionRows, bias: int = BIAS) -> ModuleTable:
    """A module of 4 KiB of code with these rows."""
    table = RowTable(Table("sframe", functions, 0), arch)
    return ModuleTable(START + bias, START + 0x1000 + bias, bias, table)


def one_row(start: int, row: Row | NoRow, size: int = 0x100) -> FunctionRows:
    """A function with one row throughout."""
    return FunctionRows(start, size, (0,), (row,))


def outermost(arch: Arch) -> Row:
    """The row of _start."""
    return Row(CfaRule(arch.sp, 0), KEEP, KEEP, arch.sp_offset, outermost=True)


def sample_of(arch: Arch, memory: Memory, sp: int, registers: Mapping[int, int]) -> Sample:
    """A sample in g."""
    known = {arch.sp: sp, arch.fp: 0, **registers}
    return Sample(arch, IN_G + BIAS, known, memory)


def x86_walk(modules: list[ModuleTable] | None = None, **options: int) -> Trace:
    """g is a leaf, f pushed rbp, _start called f."""
    memory = stack_of(
        X86_64,
        [
            IN_F + BIAS,  # SP of the sample: return address into f
            0x1111,  # a local of f
            0xBBBB,  # rbp of _start, saved by f
            IN_START + BIAS,  # return address into _start
            0x2222,  # SP of _start
        ],
    )
    chosen = modules or [
        module(
            X86_64,
            one_row(START, outermost(X86_64)),
            one_row(START + 0x100, Row(CfaRule(6, 16), at(-8), at(-16), 0)),
            one_row(START + 0x200, Row(CfaRule(7, 8), at(-8), KEEP, 0)),
        )
    ]
    return walk(sample_of(X86_64, memory, STACK, {6: STACK + 16}), chosen, **options)


def test_three_frames_on_x86_64() -> None:
    """PC, SP and FP of every frame, and the end at _start's outermost row."""
    trace = x86_walk()
    assert [(f.pc - BIAS, f.sp, f.fp) for f in trace.frames] == [
        (IN_G, STACK, STACK + 16),
        (IN_F, STACK + 8, STACK + 16),
        (IN_START, STACK + 32, 0xBBBB),
    ]
    assert trace.stop is Verdict.OUTERMOST


def test_three_frames_on_aarch64() -> None:
    """g is a leaf with its return address in x30; f has a frame record."""
    memory = stack_of(
        AARCH64,
        [
            0x1111,  # SP of the sample and of f: 16 bytes of locals
            0x2222,
            0xBBBB,  # x29 of _start
            IN_START + BIAS,  # x30, saved by f
            0x3333,  # SP of _start
        ],
    )
    rows = module(
        AARCH64,
        one_row(START, outermost(AARCH64)),
        one_row(START + 0x100, Row(CfaRule(29, 16), at(-8), at(-16), 0)),
        one_row(START + 0x200, Row(CfaRule(31, 0), KEEP, KEEP, 0)),
    )
    registers = {29: STACK + 16, 30: IN_F + BIAS}
    trace = walk(sample_of(AARCH64, memory, STACK, registers), [rows])
    assert [(f.pc - BIAS, f.sp, f.fp) for f in trace.frames] == [
        (IN_G, STACK, STACK + 16),
        (IN_F, STACK, STACK + 16),
        (IN_START, STACK + 32, 0xBBBB),
    ]
    assert trace.stop is Verdict.OUTERMOST


def s390x_stack() -> Memory:
    """f's frame of 160 bytes, then _start's save area with r11 at 88 and r14 at 112."""
    words = [0] * 60
    words[0] = STACK + 160  # the back chain, where it is kept
    words[(160 + 88) // 8] = 0xBBBB
    words[(160 + 112) // 8] = IN_START + BIAS
    return stack_of(S390X, words)


def test_three_frames_on_s390x() -> None:
    """The caller's SP is the CFA less 160 at each step."""
    rows = module(
        S390X,
        one_row(START, outermost(S390X)),
        one_row(START + 0x100, Row(CfaRule(15, 320), at(-48), at(-72), -160)),
        one_row(START + 0x200, Row(CfaRule(15, 160), KEEP, KEEP, -160)),
    )
    registers = {11: 0xAAAA, 14: IN_F + BIAS}
    trace = walk(sample_of(S390X, s390x_stack(), STACK, registers), [rows])
    assert [(f.pc - BIAS, f.sp, f.fp) for f in trace.frames] == [
        (IN_G, STACK, 0xAAAA),
        (IN_F, STACK, 0xAAAA),
        (IN_START, STACK + 160, 0xBBBB),
    ]
    assert trace.stop is Verdict.OUTERMOST


def test_back_chain_walk() -> None:
    """From a function with a frame: its caller, then the zero word that ends the chain."""
    assert S390X.back_chain_row is not None
    everywhere = module(S390X, one_row(START, S390X.back_chain_row, 0x1000))
    trace = walk(sample_of(S390X, s390x_stack(), STACK, {}), [everywhere])
    assert trace.return_addresses == [IN_START + BIAS]
    assert trace.stop is Verdict.OUTERMOST


def test_kinds_and_rows_of_frames() -> None:
    """The first frame is the sampled one; each frame keeps the row that leads on."""
    trace = x86_walk()
    assert [f.kind for f in trace.frames] == [
        FrameKind.SAMPLED, FrameKind.CALLER, FrameKind.CALLER,
    ]  # fmt: skip
    assert [None if f.row is None else f.row.cfa for f in trace.frames] == [
        CfaRule(7, 8), CfaRule(6, 16), CfaRule(7, 0),
    ]  # fmt: skip


def noreturn_module() -> ModuleTable:
    """f ends with its call: IN_F is already the first byte of another function."""
    return module(
        X86_64,
        one_row(START, outermost(X86_64)),
        one_row(START + 0x100, Row(CfaRule(6, 16), at(-8), at(-16), 0), size=0x20),
        one_row(START + 0x120, Row(CfaRule(7, 0x1000), at(-8), KEEP, 0), size=0x20),
        one_row(START + 0x200, Row(CfaRule(7, 8), at(-8), KEEP, 0)),
    )


def test_a_return_address_belongs_to_its_call() -> None:
    """Looked up one byte lower, the walk goes on through f."""
    trace = x86_walk([noreturn_module()])
    assert trace.return_addresses == [IN_F + BIAS, IN_START + BIAS]
    assert trace.stop is Verdict.OUTERMOST


def test_linux_looks_the_return_address_up_as_it_is() -> None:
    """Linux takes the row of the function behind f, whose CFA - 8 is in no memory."""
    trace = x86_walk([noreturn_module()], return_back=0)
    assert trace.return_addresses == [IN_F + BIAS]
    assert trace.stop is Verdict.UNREADABLE
    assert trace.frames[-1].row is not None
    assert trace.frames[-1].row.cfa == CfaRule(7, 0x1000)


def test_the_sampled_pc_is_looked_up_as_it_is() -> None:
    """At the first byte of g its own row counts, not the one that ends before it."""
    memory = stack_of(X86_64, [0])
    rows = module(
        X86_64,
        one_row(START + 0x100, Row(CfaRule(7, 0x1000), at(-8), KEEP, 0)),
        one_row(START + 0x200, Row(CfaRule(7, 8), at(-8), KEEP, 0)),
    )
    sample = Sample(X86_64, START + 0x200 + BIAS, {7: STACK, 6: 0}, memory)
    assert walk(sample, [rows]).stop is Verdict.OUTERMOST


def test_a_pc_below_a_signal_frame_is_exact() -> None:
    """The interrupted PC is the first byte of f, not a return address into what lies before."""
    memory = stack_of(
        X86_64,
        [
            START + 0x100 + BIAS,  # the interrupted PC
            IN_START + BIAS,  # SP of f: its return address
            0x1111,
        ],
    )
    signal = Row(CfaRule(7, 8), at(-8), KEEP, 0, signal=True)
    rows = module(
        X86_64,
        one_row(START, outermost(X86_64)),
        one_row(START + 0x100, Row(CfaRule(7, 8), at(-8), KEEP, 0)),
        one_row(START + 0x200, signal),
    )
    trace = walk(sample_of(X86_64, memory, STACK, {}), [rows])
    assert [f.kind for f in trace.frames] == [
        FrameKind.SAMPLED, FrameKind.INTERRUPTED, FrameKind.CALLER,
    ]  # fmt: skip
    assert trace.return_addresses == [START + 0x100 + BIAS, IN_START + BIAS]
    assert trace.stop is Verdict.OUTERMOST


def test_a_return_address_of_zero_ends(arch: Arch) -> None:
    """Zero is no frame: the stack has ended."""
    row = Row(CfaRule(arch.sp, 320), at(-320), KEEP, arch.sp_offset)
    sample = sample_of(arch, stack_of(arch, [0]), STACK, {})
    trace = walk(sample, [module(arch, one_row(START, row, 0x1000))])
    assert (trace.return_addresses, trace.stop) == ([], Verdict.OUTERMOST)


def test_a_frame_outside_every_module() -> None:
    """The frame is listed, the walk ends there."""
    memory = stack_of(X86_64, [0xDEAD_0000])
    rows = module(X86_64, one_row(START + 0x200, Row(CfaRule(7, 8), at(-8), KEEP, 0)))
    trace = walk(sample_of(X86_64, memory, STACK, {}), [rows])
    assert (trace.return_addresses, trace.stop) == ([0xDEAD_0000], Verdict.NO_MODULE)


def test_a_return_address_just_past_a_module_is_in_it() -> None:
    """A call that is the last instruction of a module returns to its end."""
    memory = stack_of(X86_64, [START + 0x1000 + BIAS, 0])
    row = Row(CfaRule(7, 8), at(-8), KEEP, 0)
    trace = walk(
        sample_of(X86_64, memory, STACK, {}), [module(X86_64, one_row(START, row, 0x1000))]
    )
    assert trace.stop is Verdict.OUTERMOST


def test_two_modules_with_their_own_bias() -> None:
    """g lies in one module, f and _start in another one."""
    memory = stack_of(X86_64, [IN_F + 0x7777_0000_0000, 0])
    row = Row(CfaRule(7, 8), at(-8), KEEP, 0)
    modules = [
        module(X86_64, one_row(START + 0x200, row)),
        module(X86_64, one_row(START + 0x100, row), bias=0x7777_0000_0000),
    ]
    trace = walk(sample_of(X86_64, memory, STACK, {}), modules)
    assert (trace.return_addresses, trace.stop) == (
        [IN_F + 0x7777_0000_0000], Verdict.OUTERMOST,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("function", "stop", "reason"),
    [
        (one_row(START, NoRow(Verdict.REFUSED, "stored"), 0x1000), Verdict.REFUSED, "stored"),
        (one_row(START, NoRow(Verdict.CORRUPT, "type 7"), 0x1000), Verdict.CORRUPT, "type 7"),
        (FunctionRows(START, 0x1000, (), ()), Verdict.NO_FRE, ""),
        (FunctionRows(START, 0x10, (), ()), Verdict.NO_FDE, ""),
    ],
)
def test_no_row_ends_a_walk_with_its_reason(
    function: FunctionRows, stop: Verdict, reason: str
) -> None:
    """The reason is the table's own."""
    trace = walk(sample_of(X86_64, stack_of(X86_64, []), STACK, {}), [module(X86_64, function)])
    assert (len(trace.frames), trace.stop, trace.reason) == (1, stop, reason)


@pytest.mark.parametrize("arch", [AARCH64, S390X], ids=lambda arch: arch.name)
def test_a_second_leaf_is_a_lost_register(arch: Arch) -> None:
    """A caller whose return address is still in its register cannot be followed."""
    row = Row(CfaRule(arch.sp, 320), KEEP, KEEP, arch.sp_offset)
    sample = sample_of(arch, stack_of(arch, [0] * 100), STACK, {arch.ra: IN_F + BIAS})
    trace = walk(sample, [module(arch, one_row(START, row, 0x1000))])
    assert (trace.return_addresses, trace.stop) == ([IN_F + BIAS], Verdict.LOST_REGISTER)


def test_the_longest_walk() -> None:
    """A walk that does not end is ended, and says so."""
    memory = stack_of(X86_64, [IN_F + BIAS] * 512)
    row = Row(CfaRule(7, 8), at(-8), KEEP, 0)
    sample = sample_of(X86_64, memory, STACK, {})
    trace = walk(sample, [module(X86_64, one_row(START, row, 0x1000))], most=100)
    assert (len(trace.frames), trace.stop) == (100, Verdict.NO_PROGRESS)
    assert trace.reason == "more than 100 frames"


def test_the_walk_strips_signatures_before_the_lookup() -> None:
    """A signed return address is found in its module."""
    signed_ra = (IN_F + BIAS) | 0x2B7C_0000_0000_0000
    memory = stack_of(AARCH64, [0, 0, 0])
    rows = module(
        AARCH64,
        one_row(START + 0x100, Row(CfaRule(31, 16), at(-16), KEEP, 0)),
        one_row(START + 0x200, Row(CfaRule(31, 0), KEEP, KEEP, 0, ra_signed=True)),
    )
    trace = walk(sample_of(AARCH64, memory, STACK, {30: signed_ra}), [rows])
    assert (trace.return_addresses, trace.stop) == ([IN_F + BIAS], Verdict.OUTERMOST)


def test_a_walk_of_many_frames() -> None:
    """A stack that is deeper than one call of the compiled loop gives frames for."""
    depth = 2500
    memory = stack_of(X86_64, [IN_F + BIAS] * depth + [0], pages=6)
    row = Row(CfaRule(7, 8), at(-8), KEEP, 0)
    sample = sample_of(X86_64, memory, STACK, {6: 0xBBBB})
    trace = walk(sample, [module(X86_64, one_row(START, row, 0x1000))])
    assert (len(trace.frames), trace.stop) == (depth + 1, Verdict.OUTERMOST)
    assert [f.sp for f in trace.frames] == [STACK + 8 * n for n in range(depth + 1)]
    assert {f.kind for f in trace.frames[1:]} == {FrameKind.CALLER}
    assert {(f.fp, f.row) for f in trace.frames} == {(0xBBBB, row)}


def test_a_walk_goes_on_where_it_stopped() -> None:
    """Cut into pieces of any size, even right behind a signal frame, it is the same walk."""
    words = [START + 0x100 + BIAS, IN_F + BIAS, START + 0x200 + BIAS, START + 0x204 + BIAS, 0]
    signal = Row(CfaRule(7, 8), at(-8), KEEP, 0, signal=True)
    rows = module(
        X86_64,
        one_row(START + 0x100, Row(CfaRule(7, 8), at(-8), KEEP, 0)),
        one_row(START + 0x200, signal),
    )
    sample = sample_of(X86_64, stack_of(X86_64, words), STACK, {})
    whole = walk(sample, [rows])
    assert [f.kind.value for f in whole.frames] == [
        "sampled", "interrupted", "caller", "caller", "caller",
    ]  # fmt: skip
    for chunk in (1, 2, 3):
        going = Walk(sample, [rows], chunk=chunk)
        frames = []
        stop = GOES_ON
        while stop == GOES_ON:
            stop = going.advance(100)
            frames += going.frames()
        assert (tuple(frames), Verdict(stop)) == (whole.frames, whole.stop)


def test_the_first_module_of_two_in_one_place() -> None:
    """Where modules overlap, the earlier one in the list counts."""
    memory = stack_of(X86_64, [0])
    good = module(X86_64, one_row(START, Row(CfaRule(7, 8), at(-8), KEEP, 0), 0x1000))
    empty = module(X86_64)
    sample = sample_of(X86_64, memory, STACK, {})
    assert walk(sample, [good, empty]).stop is Verdict.OUTERMOST
    assert walk(sample, [empty, good]).stop is Verdict.NO_FDE


def test_addresses_of_the_upper_half() -> None:
    """A return address that no program can have is outside, whatever is subtracted."""
    row = Row(CfaRule(7, 8), at(-8), KEEP, 0)
    for ra in (1 << 63, (1 << 64) - 1, 1 << 62):
        sample = sample_of(X86_64, stack_of(X86_64, [ra]), STACK, {})
        trace = walk(sample, [module(X86_64, one_row(START, row, 0x1000))])
        assert (trace.return_addresses, trace.stop) == ([ra], Verdict.NO_MODULE)
