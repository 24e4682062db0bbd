"""What one row says: the bytes behind its start, as text and as rules.

    info byte | data words, all of one size
    DEFAULT     CFA, RA, FP; with a fixed RA offset in the header CFA, FP
    FLEX        for each of CFA, RA, FP a control word and, unless that is 0, an offset

(SFrame specification, "The SFrame FRE stack offsets"; for FLEX the appendix of V3, read in
sequence as the assembler writes it and not by the appendix's own word index.)
"""

from dataclasses import dataclass

from arch import Arch, ByteOrder, CfaRule, RegRule, RuleKind
from arch.row import KEEP
from emu.sframe.layout import (
    BASE_SP,
    CONTROL_DEREF,
    CONTROL_NUMBER_SHIFT,
    CONTROL_REGISTER,
    CONTROL_RESERVED,
    LARGEST_REGISTER,
    RA_SIGNED,
    WORD_COUNT_MASK,
    WORD_COUNT_SHIFT,
    WORD_SIZE_MASK,
    WORD_SIZE_SHIFT,
)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a row's bytes mean depends on, besides the bytes."""

    arch: Arch
    version: int
    byte_order: ByteOrder
    fixed_fp: int
    fixed_ra: int
    """Offsets from the CFA that the header fixes; 0: none."""
    flex: bool


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row without its start, as stored: texts for people, rules for the table.

    The texts are those of ``readelf --sframe``. Rules are unscaled and unbiased, but nothing
    is read into them: a register that the machine does not have is still named.
    """

    cfa_text: str | None
    fp_text: str | None
    ra_text: str
    ra_signed: bool
    cfa: CfaRule | None
    """None: the row has no words, the stack ends here."""
    ra: RegRule | None
    fp: RegRule | None
    """None: a value that is not loaded and relative to the CFA, for which rows have no rule."""


@dataclass(frozen=True, slots=True)
class BadRow:
    """Why a row cannot be used; `offset` counts from its info byte."""

    offset: int
    reason: str


def word_limits(flex: bool, fixed_ra: int) -> tuple[int, int]:
    """Fewest and most data words of a row that has words."""
    if flex:
        return 2, 6
    return 1, 2 if fixed_ra else 3


def read_row(content: bytes, dialect: Dialect) -> StoredRow | BadRow:
    """Read a row.

    Args:
        content: info byte and exactly the words that it announces, their count within
            `word_limits`.
        dialect: of its function.
    """
    info = content[0]
    if not (info >> WORD_COUNT_SHIFT) & WORD_COUNT_MASK:
        # Only the count of words says so (SFRAME_V2_FRE_RA_UNDEFINED_P in sframe.h). Assemblers
        # leave the other bits 0, but no reader asks for that.
        return StoredRow(None, None, "undef", False, None, KEEP, KEEP)
    size = 1 << ((info >> WORD_SIZE_SHIFT) & WORD_SIZE_MASK)
    raw = [content[at : at + size] for at in range(1, len(content), size)]
    signed = bool(info & RA_SIGNED)
    if dialect.flex:
        return _read_flex(raw, size, signed, dialect)
    words = [_signed(word, dialect) for word in raw]
    for number, word in enumerate(words[1:], 1):
        if _names_register(word, dialect) and not 0 <= word >> 1 <= LARGEST_REGISTER:
            return BadRow(1 + number * size, f"data word {word}: no machine has such a register")
    return _read_default(words, info, signed, dialect)


def _signed(word: bytes, dialect: Dialect) -> int:
    return int.from_bytes(word, dialect.byte_order, signed=True)


def _cfa_offset(word: int, dialect: Dialect) -> int:
    facts = dialect.arch.sframe
    return word * facts.cfa_scale + facts.cfa_bias


def _read_default(words: list[int], info: int, signed: bool, dialect: Dialect) -> StoredRow:
    arch = dialect.arch
    base = arch.sp if info & BASE_SP else arch.fp
    offset = _cfa_offset(words[0], dialect)
    rest = words[1:]
    ra_text, ra = "u", KEEP
    if dialect.fixed_ra:
        ra_text, ra = "f", RegRule(RuleKind.AT_CFA, offset=dialect.fixed_ra)
    elif rest:
        word = rest.pop(0)
        # A word 0 only makes room for the FP word: the RA slot is never at the CFA itself.
        ra_text, ra = _slot(word, dialect) if word else ("U", KEEP)
    fp_text, fp = "u", KEEP
    if dialect.fixed_fp:
        fp_text, fp = f"c{dialect.fixed_fp:+d}", RegRule(RuleKind.AT_CFA, offset=dialect.fixed_fp)
    elif rest:
        fp_text, fp = _slot(rest[0], dialect)
    return StoredRow(
        cfa_text=f"{arch.register_name(base)}{offset:+d}",
        fp_text=fp_text,
        ra_text=ra_text,
        ra_signed=signed,
        cfa=CfaRule(base, offset),
        ra=ra,
        fp=fp,
    )


def _names_register(word: int, dialect: Dialect) -> bool:
    """A RA or FP word of a DEFAULT row is the number of a register, above a bit that says so."""
    # V3 has FLEX for registers; there an odd word is an offset.
    return bool(word & 1) and dialect.version == 2 and dialect.arch.sframe.registers_in_offsets


def _slot(word: int, dialect: Dialect) -> tuple[str, RegRule]:
    """A RA or FP word of a DEFAULT row."""
    if _names_register(word, dialect):
        return f"r{word >> 1}", RegRule(RuleKind.REGISTER, word >> 1)
    return f"c{word:+d}", RegRule(RuleKind.AT_CFA, offset=word)


def _read_flex(raw: list[bytes], size: int, signed: bool, dialect: Dialect) -> StoredRow | BadRow:
    arch = dialect.arch
    rules: list[tuple[int, int] | None] = []
    at = 0
    while at < len(raw) and len(rules) < 3:
        # Unlike offsets, control words are unsigned.
        control = int.from_bytes(raw[at], dialect.byte_order)
        where = 1 + at * size
        if control == 0 and not rules:
            return BadRow(where, "the CFA has no rule")
        if control == 0:
            rules.append(None)
            at += 1
            continue
        if not rules and not control & CONTROL_REGISTER:
            return BadRow(where, f"control word {control:#x}: the CFA has no register")
        if control & CONTROL_RESERVED:
            return BadRow(where, f"control word {control:#x}: a reserved bit is set")
        if control >> CONTROL_NUMBER_SHIFT > LARGEST_REGISTER:
            return BadRow(where, f"control word {control:#x}: no machine has such a register")
        if at + 1 == len(raw):
            return BadRow(where, f"control word {control:#x} without an offset")
        rules.append((control, _signed(raw[at + 1], dialect)))
        at += 2
    if at < len(raw):
        return BadRow(0, f"{len(raw)} data words, of which {len(raw) - at} belong to no rule")

    cfa = rules[0]
    assert cfa is not None
    control, offset = cfa[0], _cfa_offset(cfa[1], dialect)
    cfa_rule = CfaRule(control >> CONTROL_NUMBER_SHIFT, offset, bool(control & CONTROL_DEREF))
    fixed = RegRule(RuleKind.AT_CFA, offset=dialect.fixed_ra) if dialect.fixed_ra else KEEP
    ra: RegRule | None = fixed
    ra_text = "f" if dialect.fixed_ra else "u"
    if len(rules) > 1:
        ra_text, ra = ("U", fixed) if rules[1] is None else _flex_rule(*rules[1], arch)
    fp: RegRule | None = KEEP
    fp_text = "u"
    if len(rules) > 2 and rules[2] is not None:
        fp_text, fp = _flex_rule(*rules[2], arch)
    return StoredRow(
        cfa_text=_sum_text(cfa_rule.register, offset, cfa_rule.deref, arch),
        fp_text=fp_text,
        ra_text=ra_text,
        ra_signed=signed,
        cfa=cfa_rule,
        ra=ra,
        fp=fp,
    )


def _flex_rule(control: int, offset: int, arch: Arch) -> tuple[str, RegRule | None]:
    register, deref = control >> CONTROL_NUMBER_SHIFT, bool(control & CONTROL_DEREF)
    if not control & CONTROL_REGISTER:
        # readelf prints both alike.
        return f"c{offset:+d}", RegRule(RuleKind.AT_CFA, offset=offset) if deref else None
    kind = RuleKind.AT_REGISTER if deref else RuleKind.REGISTER
    return _sum_text(register, offset, deref, arch), RegRule(kind, register, offset)


def _sum_text(register: int, offset: int, deref: bool, arch: Arch) -> str:
    text = f"{arch.register_name(register)}{offset:+d}"
    return f"({text})" if deref else text
