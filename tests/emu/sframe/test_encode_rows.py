from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.aarch64 import AARCH64
from arch.row import KEEP, UNKNOWN
from arch.s390x import S390X
from arch.x86_64 import X86_64
from emu.sframe.decode import decode
from emu.sframe.encode import Encoding, Entry, Reason, Target, encode_rows
from emu.sframe.layout import FDE_SORTED
from emu.sframe.table import function_rows
from emu.tables import FunctionRows, NoRow
from emu.verdict import Verdict

ADDRESS = 0x40_0000


def at(offset: int) -> RegRule:
    return RegRule(RuleKind.AT_CFA, offset=offset)


def in_register(register: int, offset: int = 0) -> RegRule:
    return RegRule(RuleKind.REGISTER, register, offset)


def at_register(register: int, offset: int = 0) -> RegRule:
    return RegRule(RuleKind.AT_REGISTER, register, offset)


def plain(arch: Arch, offset: int = 176, fp: RegRule = KEEP, ra: RegRule | None = None) -> Row:
    """CFA = SP + offset; RA where it is at a function's entry, unless given."""
    if ra is None:
        ra = KEEP if arch.ra_in_register else at(arch.sframe.fixed_ra_offset)
    return Row(CfaRule(arch.sp, offset), ra, fp, arch.sp_offset)


def function(*rows: Row | NoRow, size: int = 64, rep_size: int = 0) -> FunctionRows:
    """A function with a row at every eighth byte."""
    starts = tuple(8 * number for number in range(len(rows)))
    return FunctionRows(ADDRESS + 0x1000, size, starts, rows, rep_size)


def made(target: Target, *rows: Row | NoRow) -> Encoding:
    return encode_rows([Entry(function(*rows))], target, address=ADDRESS)


def reasons(encoding: Encoding) -> list[Reason]:
    return [refusal.misfit.reason for refusal in encoding.refusals]


def area(encoding: Encoding) -> str:
    """The FRE area in hexadecimal digits."""
    return encoding.encoded.data[encoding.encoded.fres_at :].hex(" ")


# ---------------------------------------------------------------------- there and back


@st.composite
def rules(draw: st.DrawFn, arch: Arch, own: int) -> RegRule:
    kinds = [RuleKind.KEEP, RuleKind.AT_CFA, RuleKind.REGISTER, RuleKind.AT_REGISTER]
    kind = draw(st.sampled_from(kinds))
    if kind is RuleKind.KEEP:
        return KEEP
    register = draw(st.sampled_from([own, *(r.dwarf for r in arch.registers)]))
    if arch.register(register) is None:
        return KEEP
    if kind is RuleKind.REGISTER and draw(st.booleans()):
        return in_register(register)
    usual = [0, -8, -16, -47, -48, -72, -128, 127, -32768, 40000]
    offset = draw(st.sampled_from(usual) | st.integers(-(1 << 31) - 2, (1 << 31) + 2))
    if kind is RuleKind.AT_CFA:
        return at(offset)
    return RegRule(kind, register, offset)


@st.composite
def any_rows(draw: st.DrawFn, arch: Arch) -> Row:
    ra, fp = draw(rules(arch, arch.ra)), draw(rules(arch, arch.fp))
    fixed = arch.sframe.fixed_ra_offset
    if fixed and draw(st.booleans()):
        ra = at(fixed)
    if draw(st.booleans()):
        # Every version has such a CFA.
        offset = draw(st.integers(-70_000, 70_000)) * 8
        cfa = CfaRule(draw(st.sampled_from([arch.sp, arch.fp])), offset)
        return Row(cfa, ra, fp, arch.sp_offset)
    offset = draw(st.sampled_from([0, 8, 164]) | st.integers(-(1 << 35), 1 << 35))
    register = draw(st.sampled_from([r.dwarf for r in arch.registers]))
    deref, addend = draw(st.booleans()), draw(st.sampled_from([0, 0, 0, 160]))
    return Row(
        CfaRule(register, offset, deref, addend),
        ra,
        fp,
        arch.sp_offset,
        ra_signed=draw(st.booleans()),
        outermost=draw(st.sampled_from([False, False, False, True])),
    )


@st.composite
def any_functions(draw: st.DrawFn, arch: Arch) -> tuple[Entry, ...]:
    entries = []
    address = ADDRESS - 0x100
    for _ in range(draw(st.integers(0, 4))):
        size = draw(st.sampled_from([0, 1, 40, 255, 256, 65535, 65536, 1 << 20]))
        starts = sorted(draw(st.sets(st.integers(0, size), max_size=4)))
        rows = [draw(any_rows(arch) | st.just(NoRow(Verdict.REFUSED, "no rule"))) for _ in starts]
        signal = draw(st.sampled_from([False, False, True]))
        rows = [replace(row, signal=signal) if isinstance(row, Row) else row for row in rows]
        key_b = arch.sframe.pauth and draw(st.booleans())
        entries.append(
            Entry(FunctionRows(address, size, tuple(starts), tuple(rows)), key_b, signal)
        )
        address += size + draw(st.sampled_from([0, 8, 1 << 20, 1 << 31]))
    return tuple(draw(st.permutations(entries)))


def normal(row: Row, arch: Arch) -> Row:
    """One of the rows that mean the same."""
    if row.outermost:
        cfa = CfaRule(arch.sp, arch.entry_cfa_offset)
        return Row(cfa, KEEP, KEEP, arch.sp_offset, outermost=True, signal=row.signal)
    ra = KEEP if row.ra == in_register(arch.ra) else row.ra
    fp = KEEP if row.fp == in_register(arch.fp) else row.fp
    return replace(row, ra=ra, fp=fp)


def look_up(functions: Sequence[FunctionRows], address: int) -> Row | NoRow | None:
    for found in functions:
        if found.start <= address < found.start + found.size:
            offset = address - found.start
            before = [
                row for start, row in zip(found.starts, found.rows, strict=True) if start <= offset
            ]
            return before[-1] if before else None
    return None


TARGETS = [
    Target.of(arch, version, abi=abi, errata=errata)
    for arch in (X86_64, AARCH64, S390X)
    for abi in arch.sframe.abi_ids
    for version, errata in ((1, False), (2, False), (2, True), (3, True))
]


@pytest.mark.parametrize(
    "target", TARGETS, ids=lambda t: f"{t.arch.sframe.abi_names[t.abi]}-v{t.version}-{t.flags}"
)
@pytest.mark.parametrize("split", [False, True], ids=["whole", "split"])
def test_rows_come_back(target: Target, split: bool) -> None:
    """Each address has the row it had, or none where its function or row was refused."""

    @settings(max_examples=60, deadline=None)
    @given(entries=any_functions(target.arch), sort=st.booleans())
    def check(entries: tuple[Entry, ...], sort: bool) -> None:
        found = encode_rows(entries, target, address=ADDRESS, sort=sort, split=split)
        decoded = decode(found.encoded.data, ADDRESS)
        assert decoded.faults == ()
        functions = function_rows(decoded)
        refused = {refusal.entry for refusal in found.refusals if refusal.end is None}
        gaps = {
            (refusal.entry, offset)
            for refusal in found.refusals
            if refusal.row is not None and refusal.end is not None
            for offset in entries[refusal.entry].function.starts
            if refusal.row <= offset < refusal.end
        }
        for index, entry in enumerate(entries):
            source = entry.function
            ends = (*source.starts[1:], source.size)[: len(source.rows)]
            for start, row, end in zip(source.starts, source.rows, ends, strict=True):
                if start == source.size:
                    continue
                for address in (source.start + start, source.start + end - 1):
                    got = look_up(functions, address)
                    if index in refused or (index, start) in gaps:
                        assert got is None
                    else:
                        assert isinstance(row, Row)
                        assert got == normal(row, target.arch)

    check()


@pytest.mark.parametrize("target", TARGETS)
def test_key_and_signal_come_back(target: Target) -> None:
    """What rows do not say of a function is in its info byte."""
    entry = Entry(function(plain(target.arch)), target.arch.sframe.pauth, target.version == 3)
    decoded = decode(encode_rows([entry], target, address=ADDRESS).encoded.data, ADDRESS)
    assert decoded.fdes[0].signal == (target.version == 3)
    assert decoded.fdes[0].pauth_key == ("b" if target.arch.sframe.pauth else None)


# ---------------------------------------------------------------------------- refusals

SLOT = at(-16)


@pytest.mark.parametrize(
    ("arch", "version", "row", "reason"),
    [
        (X86_64, 2, plain(X86_64, ra=at(-16)), Reason.RA_SLOT),
        (X86_64, 2, plain(X86_64, ra=in_register(1)), Reason.RA_REGISTER),
        (X86_64, 2, plain(X86_64, ra=at_register(1)), Reason.RA_REGISTER),
        (X86_64, 2, plain(X86_64, ra=KEEP), Reason.RA_LOST),
        (X86_64, 3, plain(X86_64, ra=KEEP), Reason.RA_LOST),
        (X86_64, 2, plain(X86_64, fp=in_register(1)), Reason.FP_REGISTER),
        (X86_64, 1, plain(X86_64, fp=at_register(6)), Reason.FP_REGISTER),
        (X86_64, 2, replace(plain(X86_64), cfa=CfaRule(10, 0)), Reason.CFA_REGISTER),
        (X86_64, 2, replace(plain(X86_64), cfa=CfaRule(6, -8, True)), Reason.CFA_LOADED),
        (X86_64, 3, replace(plain(X86_64), cfa=CfaRule(6, 0, True, 8)), Reason.CFA_ADDEND),
        (X86_64, 3, plain(X86_64, offset=1 << 31), Reason.CFA_RANGE),
        (X86_64, 3, plain(X86_64, fp=at(-(1 << 31) - 1)), Reason.SLOT_RANGE),
        (X86_64, 3, plain(X86_64, fp=in_register(6, 1 << 31)), Reason.SLOT_RANGE),
        (X86_64, 3, replace(plain(X86_64), cfa=CfaRule(128, 0)), Reason.REGISTER_NUMBER),
        (X86_64, 3, plain(X86_64, fp=in_register(-1)), Reason.REGISTER_NUMBER),
        (X86_64, 3, replace(plain(X86_64), ra_signed=True), Reason.SIGNED),
        (S390X, 2, replace(plain(S390X), ra_signed=True), Reason.SIGNED),
        (X86_64, 3, plain(X86_64, fp=UNKNOWN), Reason.UNKNOWN_RULE),
        (X86_64, 3, plain(X86_64, ra=UNKNOWN), Reason.UNKNOWN_RULE),
        (X86_64, 3, replace(plain(X86_64), zero_ends=True), Reason.ZERO_ENDS),
        (AARCH64, 3, replace(plain(AARCH64), cfa_is_bound=True), Reason.CFA_BOUND),
        (X86_64, 3, replace(plain(X86_64), sp_offset=8), Reason.SP_OFFSET),
        (X86_64, 1, replace(plain(X86_64), outermost=True), Reason.OUTERMOST),
        (X86_64, 2, replace(plain(X86_64), signal=True), Reason.SIGNAL),
        (AARCH64, 1, plain(AARCH64, fp=SLOT), Reason.FP_WITHOUT_RA),
        (AARCH64, 2, plain(AARCH64, fp=SLOT), Reason.FP_WITHOUT_RA),
        (AARCH64, 2, plain(AARCH64, ra=at(0)), Reason.RA_AT_CFA),
        (AARCH64, 2, plain(AARCH64, ra=in_register(9)), Reason.RA_REGISTER),
        (S390X, 2, plain(S390X, offset=164), Reason.CFA_MISALIGNED),
        (S390X, 3, plain(S390X, offset=164), Reason.CFA_MISALIGNED),
        (S390X, 3, replace(plain(S390X), cfa=CfaRule(3, 4)), Reason.CFA_MISALIGNED),
        (S390X, 2, plain(S390X, offset=160 + (1 << 34)), Reason.CFA_RANGE),
        (S390X, 2, plain(S390X, ra=at(-47)), Reason.ODD_SLOT),
        (S390X, 2, plain(S390X, ra=in_register(18, 8)), Reason.RA_REGISTER),
        (S390X, 1, plain(S390X, ra=in_register(18)), Reason.RA_REGISTER),
        (S390X, 2, plain(S390X, fp=in_register(128)), Reason.REGISTER_NUMBER),
        (S390X, 3, NoRow(Verdict.REFUSED, "no rule"), Reason.NO_ROW),
        (S390X, 3, NoRow(Verdict.CORRUPT, "damaged"), Reason.CORRUPT),
    ],
)
def test_row_that_cannot_be_expressed(
    arch: Arch, version: int, row: Row | NoRow, reason: Reason
) -> None:
    """Each rule that a version lacks has its reason, and its function is not in the section."""
    found = encode_rows([Entry(function(row))], Target.of(arch, version), address=ADDRESS)
    assert reasons(found) == [reason]
    assert found.encoded.form.functions == ()


def test_outermost_needs_the_second_erratum() -> None:
    """A V2 section for readers that know no errata has no rows that end the stack."""
    row = replace(plain(X86_64), outermost=True)
    assert reasons(made(Target.of(X86_64, 2, errata=False), row)) == [Reason.OUTERMOST]
    assert area(made(Target.of(X86_64, 2), row)) == "00 00"


GOOD = plain(AARCH64)


@pytest.mark.parametrize(
    ("version", "entry", "reason"),
    [
        (2, Entry(function(GOOD, size=1 << 32)), Reason.SIZE),
        (3, Entry(function(GOOD, size=1 << 32)), Reason.SIZE),
        (2, Entry(FunctionRows(0, 8, (4, 4), (GOOD, GOOD))), Reason.STARTS),
        (2, Entry(FunctionRows(0, 8, (4, 2), (GOOD, GOOD))), Reason.STARTS),
        (2, Entry(FunctionRows(0, 8, (9,), (GOOD,))), Reason.STARTS),
        (2, Entry(FunctionRows(0, 8, (-1,), (GOOD,))), Reason.STARTS),
        (2, Entry(FunctionRows(ADDRESS + (1 << 31) + 28, 8, (0,), (GOOD,))), Reason.START_RANGE),
        (1, Entry(FunctionRows(ADDRESS - (1 << 31) - 1, 8, (0,), (GOOD,))), Reason.START_RANGE),
        (2, Entry(function(GOOD), signal=True), Reason.SIGNAL),
        (3, Entry(function(GOOD, replace(GOOD, signal=True))), Reason.MIXED_SIGNAL),
        (1, Entry(function(GOOD, rep_size=16)), Reason.REP_SIZE),
        (2, Entry(function(GOOD, rep_size=256)), Reason.REP_SIZE),
        (3, Entry(FunctionRows(0, 1 << 20, tuple(range(1 << 16)), (GOOD,) * (1 << 16))),
         Reason.ROW_COUNT),
    ],
)  # fmt: skip
def test_function_that_cannot_be_expressed(version: int, entry: Entry, reason: Reason) -> None:
    """What is wrong with a function as a whole has its reason too."""
    found = encode_rows([entry], Target.of(AARCH64, version), address=ADDRESS)
    assert reasons(found) == [reason]
    assert found.encoded.form.functions == ()


def test_as_many_rows_as_a_count_holds() -> None:
    """V3 counts 65535 rows, V2 more; starts reach as far as a word does."""
    rows = FunctionRows(0, 1 << 20, tuple(range(0xFFFF)), (GOOD,) * 0xFFFF)
    assert encode_rows([Entry(rows)], Target.of(AARCH64, 3)).refusals == ()
    rows = FunctionRows(0, 1 << 20, tuple(range(1 << 16)), (GOOD,) * (1 << 16))
    assert encode_rows([Entry(rows)], Target.of(AARCH64, 2)).refusals == ()
    for start in (ADDRESS + (1 << 31) + 27, ADDRESS - (1 << 31) + 28):
        entry = Entry(FunctionRows(start, 8, (0,), (GOOD,)))
        assert encode_rows([entry], Target.of(AARCH64, 2), address=ADDRESS).refusals == ()


def test_key_where_nothing_is_signed() -> None:
    """Info bit 5 has no meaning on a machine without pointer authentication."""
    found = encode_rows([Entry(function(plain(X86_64)), key_b=True)], Target.of(X86_64, 3))
    assert reasons(found) == [Reason.SIGNING_KEY]


def test_overlap() -> None:
    """A sorted table has no place for a function inside another; one of size 0 is no harm."""
    target = Target.of(AARCH64, 3)
    entries = [Entry(FunctionRows(start, size, (0,), (GOOD,))) for start, size in
               ((0x100, 16), (0x108, 16), (0x110, 16), (0x110, 0), (0x104, 0))]  # fmt: skip
    found = encode_rows(entries, target)
    assert [(r.entry, r.misfit.reason) for r in found.refusals] == [(1, Reason.OVERLAP)]
    assert found.sources == (0, 4, 3, 2)
    assert found.starts == (0x100, 0x104, 0x110, 0x110)
    assert decode(found.encoded.data).faults == ()
    assert encode_rows(entries, target, sort=False).refusals == ()


def test_order_and_relocations() -> None:
    """Sorted with the flag, in the given order without it, or with starts left to relocations."""
    target = Target.of(AARCH64, 2)
    entries = [Entry(FunctionRows(start, 8, (0,), (GOOD,))) for start in (0x200, 0x100)]
    for sort, wanted in ((True, (0x100, 0x200)), (False, (0x200, 0x100))):
        found = encode_rows(entries, target, sort=sort)
        assert tuple(fde.start for fde in decode(found.encoded.data).fdes) == wanted
        assert bool(found.encoded.form.flags & FDE_SORTED) == sort
    found = encode_rows(entries, target, address=None)
    assert [f.start for f in found.encoded.form.functions] == [0, 0]
    assert not found.encoded.form.flags & FDE_SORTED
    assert found.starts == (0x200, 0x100)


def test_split_function() -> None:
    """The rows around one that cannot be expressed keep their addresses, each run in a FDE."""
    bad = plain(AARCH64, fp=SLOT)
    source = function(GOOD, bad, GOOD, GOOD, bad)
    found = encode_rows([Entry(source)], Target.of(AARCH64, 2), address=ADDRESS, split=True)
    assert [(r.row, r.end, r.misfit.reason) for r in found.refusals] == [
        (8, 16, Reason.FP_WITHOUT_RA),
        (32, 64, Reason.FP_WITHOUT_RA),
    ]
    decoded = function_rows(decode(found.encoded.data, ADDRESS))
    assert [(f.start - source.start, f.size, f.starts) for f in decoded] == [
        (0, 8, (0,)),
        (16, 16, (0, 8)),
    ]


def test_a_row_behind_the_end_costs_nothing() -> None:
    """The assembler may end a function with a row that covers nothing."""
    source = function(GOOD, plain(AARCH64, fp=SLOT), size=8)
    found = encode_rows([Entry(source)], Target.of(AARCH64, 2), address=ADDRESS)
    assert found.refusals == ()
    assert found.encoded.form.functions[0].rows[1:] == ()


def test_stretch_out_of_reach() -> None:
    """Of a split function a later FDE can be too far away; only its stretch is lost."""
    bad = plain(AARCH64, fp=SLOT)
    source = FunctionRows(ADDRESS + (1 << 31) + 20, 64, (0, 8, 32), (GOOD, bad, GOOD))
    target = Target.of(AARCH64, 2)
    found = encode_rows([Entry(source)], target, address=ADDRESS, split=True)
    assert [(r.row, r.end, r.misfit.reason) for r in found.refusals] == [
        (8, 32, Reason.FP_WITHOUT_RA),
        (32, 64, Reason.START_RANGE),
    ]
    assert len(found.encoded.form.functions) == 1


@pytest.mark.parametrize(("version", "abi"), [(0, None), (4, None), (3, 4)])
def test_no_such_target(version: int, abi: int | None) -> None:
    """A version or an ABI that there is not."""
    with pytest.raises(ValueError, match="SFrame"):
        Target.of(AARCH64, version, abi=abi)


# ------------------------------------------------------------------------ literal bytes


def test_v2_with_starts_from_their_own_fields() -> None:
    """The flag of the first erratum, by hand: no assembler in reach writes it."""
    functions = [
        Entry(FunctionRows(ADDRESS + offset, 16, (0, 4), (plain(X86_64, 8), plain(X86_64, 16))))
        for offset in (-0x1000, 0x2000)
    ]
    wanted = (
        "e2de0205 0300f800 02000000 04000000 0c000000 00000000 28000000"
        "e4efffff 10000000 00000000 02000000 00 00 0000"
        "d01f0000 10000000 06000000 02000000 00 00 0000"
        "000308 040310 000308 040310"
    )
    found = encode_rows(functions, Target.of(X86_64, 2), address=ADDRESS)
    assert found.encoded.data == bytes.fromhex(wanted)
    old = encode_rows(functions, Target.of(X86_64, 2, errata=False), address=ADDRESS)
    wanted = wanted.replace("e2de0205", "e2de0201").replace("e4efffff", "00f0ffff")
    assert old.encoded.data == bytes.fromhex(wanted.replace("d01f0000", "00200000"))


@pytest.mark.parametrize(
    ("version", "row", "written"),
    [
        # The CFA word counts eighths above 160.
        (2, plain(S390X, 160), "03 00"),
        (2, plain(S390X, 160 + 127 * 8), "03 7f"),
        (3, plain(S390X, 160 + 128 * 8), "23 00 80"),
        (3, plain(S390X, 160 - 128 * 8), "03 80"),
        (2, plain(S390X, 160 - 128 * 8), "23 ff 80"),
        (3, plain(S390X, 160 + 32767 * 8), "23 7f ff"),
        (3, plain(S390X, 160 + 32768 * 8), "43 00 00 80 00"),
        (3, plain(S390X, 160 - 32769 * 8), "43 ff ff 7f ff"),
        (3, plain(S390X, 0), "03 ec"),
        (2, Row(CfaRule(11, 336), at(-48), at(-72), -160), "06 16 d0 b8"),
        # FP saved, RA not: a filler word.
        (1, plain(S390X, 160, fp=at(-72)), "07 00 00 b8"),
        (2, plain(S390X, 160, fp=at(-72)), "07 00 00 b8"),
        (3, plain(S390X, 160, fp=at(-72)), "07 00 00 b8"),
        (2, plain(S390X, 160, ra=at(-48)), "05 00 d0"),
        # A register in the place of an offset.
        (2, plain(S390X, 160, ra=in_register(18), fp=in_register(17)), "07 00 25 23"),
        (2, plain(S390X, 160, fp=in_register(16)), "07 00 00 21"),
        (2, plain(S390X, 160, ra=in_register(1), fp=at(-72)), "07 00 03 b8"),
        (3, plain(S390X, 160, ra=in_register(18), fp=in_register(17)), "0c 79 00 91 00 89 00"),
        (3, plain(S390X, 160, ra=at(-48), fp=in_register(17)), "0c 79 00 02 d0 89 00"),
        (3, plain(S390X, 160, fp=in_register(1)), "0a 79 00 00 09 00"),
        (3, plain(S390X, 160, ra=in_register(1)), "08 79 00 09 00"),
        # The CFA of FLEX rows is scaled too; V3 takes an odd slot for what it is.
        (3, Row(CfaRule(3, 168), KEEP, KEEP, -160), "04 19 01"),
        (3, Row(CfaRule(15, 152, True), at(-48), KEEP, -160), "08 7b ff 02 d0"),
        (3, plain(S390X, 160, ra=at(-47)), "05 00 d1"),
        (3, plain(S390X, 160, ra=at(0)), "08 79 00 02 00"),
    ],
)
def test_s390x_rows(version: int, row: Row, written: str) -> None:
    """Bias, scale, fillers and registers, with words of each size."""
    found = made(Target.of(S390X, version), row)
    assert found.refusals == ()
    assert area(found).endswith(f"00 {written}")


@pytest.mark.parametrize(
    ("arch", "row", "written"),
    [
        (X86_64, Row(CfaRule(6, -8, True), at(-8), at_register(6), 0), "0a 33 f8 00 33 00"),
        (X86_64, Row(CfaRule(7, 16), at(-8), SLOT, 0), "05 10 f0"),
        (X86_64, Row(CfaRule(7, 0), in_register(1), KEEP, 0), "08 39 00 09 00"),
        (X86_64, Row(CfaRule(7, 16), at(-200), KEEP, 0), "28 39 00 10 00 02 00 38 ff"),
        (X86_64, Row(CfaRule(40, 16), at(-8), KEEP, 0), "24 41 01 10 00"),
        (AARCH64, Row(CfaRule(31, 16), KEEP, SLOT, 0), "0a f9 10 00 02 f0"),
        (AARCH64, Row(CfaRule(31, 32), at(-24), at(-32), 0, ra_signed=True), "87 20 e8 e0"),
        (AARCH64, Row(CfaRule(9, 0), KEEP, KEEP, 0, ra_signed=True), "84 49 00"),
    ],
)
def test_v3_rows(arch: Arch, row: Row, written: str) -> None:
    """FLEX exactly where DEFAULT has no words for a row."""
    found = made(Target.of(arch, 3), row)
    assert found.refusals == ()
    assert area(found).endswith(f"00 {written}")


def test_one_row_makes_a_function_flex() -> None:
    """Plain rows beside it are written the same way, but only in this function."""
    other = Row(CfaRule(7, 0), in_register(1), KEEP, 0)
    found = encode_rows(
        [Entry(function(plain(X86_64, 8), other)),
         Entry(replace(function(plain(X86_64, 8)), start=ADDRESS + 0x2000))],
        Target.of(X86_64, 3),
        address=ADDRESS,
    )  # fmt: skip
    assert area(found) == "02 00 00 01 00 00 04 39 08 08 08 39 00 09 00 01 00 00 00 00 00 03 08"


@pytest.mark.parametrize(("size", "width"), [(255, 1), (256, 2), (65535, 2), (65536, 4)])
def test_width_of_starts(size: int, width: int) -> None:
    """The FRE type follows from the function's size."""
    for version in (1, 2, 3):
        found = encode_rows([Entry(function(GOOD, size=size))], Target.of(AARCH64, version))
        assert 1 << found.encoded.form.functions[0].row_type == width


def test_repeated_block() -> None:
    """PLT entries repeat; V1 leaves it to the ABI how often."""
    source = function(plain(X86_64, 8), plain(X86_64, 16), rep_size=16)
    for version in (1, 2, 3):
        found = encode_rows([Entry(source)], Target.of(X86_64, version), address=ADDRESS)
        assert function_rows(decode(found.encoded.data, ADDRESS)) == (source,)
    split = replace(source, rows=(source.rows[0], plain(X86_64, ra=KEEP)))
    found = encode_rows([Entry(split)], Target.of(X86_64, 3), split=True)
    assert reasons(found) == [Reason.RA_LOST]
    assert found.encoded.form.functions == ()
