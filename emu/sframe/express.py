"""A row -> the words of a FRE, or the reason why a version has none for it.

    DEFAULT   CFA = SP or FP + word, RA and FP in slots relative to the CFA (V1 to V3)
    FLEX      each of the three from any register or the CFA, loaded or not (V3)

(SFrame specification, "The SFrame FRE" and the appendix on flexible frames.) Nothing is
approximated: whatever the words would say differently has a reason here.
"""

from dataclasses import dataclass
from enum import StrEnum

from arch import Arch, CfaRule, RegRule, Row, RuleKind
from arch.row import KEEP
from emu.sframe.form import Content
from emu.sframe.layout import (
    CONTROL_DEREF,
    CONTROL_NUMBER_SHIFT,
    CONTROL_REGISTER,
    FDE_FUNC_START_PCREL,
    LARGEST_REGISTER,
    VERSIONS,
)

_WORD_END = 1 << 31


class Reason(StrEnum):
    """Why something cannot be expressed; the values are for reports and stay as they are."""

    # Of a row.
    NO_ROW = "no-row"
    """The source has no row here that could be followed."""
    CORRUPT = "corrupt"
    """The source is malformed here."""
    UNKNOWN_RULE = "unknown-rule"
    """The source says nothing of RA or FP; SFrame would say that it is kept."""
    CFA_REGISTER = "cfa-register"
    CFA_LOADED = "cfa-loaded"
    CFA_ADDEND = "cfa-addend"
    """Something is added after the CFA is loaded."""
    CFA_MISALIGNED = "cfa-misaligned"
    """No multiple of the ABI's unit above its bias."""
    CFA_RANGE = "cfa-range"
    CFA_BOUND = "cfa-bound"
    """Only a lower bound of the CFA is known."""
    ZERO_ENDS = "zero-ends"
    """A CFA of 0 ends the stack: a back chain."""
    SP_OFFSET = "sp-offset"
    """Another distance from the CFA to the caller's SP than the ABI's."""
    RA_SLOT = "ra-slot"
    """Not in the slot that the ABI fixes."""
    RA_REGISTER = "ra-register"
    RA_LOST = "ra-lost"
    """Kept, where the ABI has no register for it."""
    RA_AT_CFA = "ra-at-cfa"
    """Saved at the CFA itself: a word 0 is a filler."""
    FP_REGISTER = "fp-register"
    FP_WITHOUT_RA = "fp-without-ra"
    """The words have no place for FP before one for RA."""
    ODD_SLOT = "odd-slot"
    """V2 takes an odd offset for a register, where the ABI has such."""
    SLOT_RANGE = "slot-range"
    REGISTER_NUMBER = "register-number"
    SIGNED = "signed"
    """A signed return address, on a machine that signs none."""
    OUTERMOST = "outermost"
    # Of a function.
    SIGNAL = "signal"
    MIXED_SIGNAL = "mixed-signal"
    """Rows of a signal frame and others in one function."""
    SIGNING_KEY = "signing-key"
    SIZE = "size"
    START_RANGE = "start-range"
    OVERLAP = "overlap"
    """Starts inside the function before: a sorted table would be wrong."""
    STARTS = "starts"
    """Rows do not ascend or lie behind the end."""
    REP_SIZE = "rep-size"
    ROW_COUNT = "row-count"


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a row or a function has no form."""

    reason: Reason
    text: str


@dataclass(frozen=True, slots=True)
class Target:
    """The format to be written.

    V2 has two errata. The first lets starts count from their own field and has a flag that says
    so; the second lets a row without words end the stack and has none. Readers that know
    neither refuse the flag, so sections without it are kept free of such rows as well.
    """

    arch: Arch
    version: int
    abi: int
    flags: int
    """FDE_FUNC_START_PCREL or 0: what starts count from."""

    @classmethod
    def of(
        cls, arch: Arch, version: int, *, abi: int | None = None, errata: bool = True
    ) -> "Target":
        """A target.

        Args:
            arch: the machine.
            version: 1, 2 or 3.
            abi: its ABI id; by default the one of its usual byte order.
            errata: whether V2 uses its errata.

        Raises:
            ValueError: there is no such version, or the machine has no such ABI.
        """
        if version not in VERSIONS:
            raise ValueError(f"there is no SFrame V{version}")
        ids = arch.sframe.abi_ids
        if abi is None:
            abi = next(number for number, order in ids.items() if order == arch.byte_order)
        if abi not in ids:
            raise ValueError(f"{arch.name} has no SFrame ABI {abi}")
        pcrel = version >= 3 or (version == 2 and errata)
        return cls(arch, version, abi, FDE_FUNC_START_PCREL if pcrel else 0)

    @property
    def flex(self) -> bool:
        """It has FLEX."""
        return self.version >= 3

    @property
    def outermost(self) -> bool:
        """It has rows that end the stack."""
        return self.version >= 3 or (self.version == 2 and bool(self.flags))

    @property
    def fixed_ra(self) -> int:
        """What the header says of RA; 0: rows do."""
        return self.arch.sframe.fixed_ra_offset


class _Inexpressible(Exception):
    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.misfit = Misfit(reason, text)


def express_row(row: Row, target: Target, flex: bool) -> Content | Misfit:
    """The words of a row in a DEFAULT or FLEX function."""
    try:
        _check(row, target)
        if row.outermost:
            return Content(False, False, ())
        if flex:
            return Content(False, row.ra_signed, _flex_words(row, target))
        return Content(
            row.cfa.register == target.arch.sp, row.ra_signed, _default_words(row, target)
        )
    except _Inexpressible as error:
        return error.misfit


def _check(row: Row, target: Target) -> None:
    """What no kind of row can say."""
    arch = target.arch
    if row.outermost:
        if not target.outermost:
            raise _Inexpressible(
                Reason.OUTERMOST, f"V{target.version} cannot say that the stack ends"
            )
        return
    if row.zero_ends:
        raise _Inexpressible(Reason.ZERO_ENDS, "a loaded CFA of 0 ends the stack")
    if row.cfa_is_bound:
        raise _Inexpressible(Reason.CFA_BOUND, "only a lower bound of the CFA is known")
    if row.sp_offset != arch.sp_offset:
        text = f"SP = CFA{row.sp_offset:+d}, the ABI has CFA{arch.sp_offset:+d}"
        raise _Inexpressible(Reason.SP_OFFSET, text)
    if row.cfa.addend:
        raise _Inexpressible(Reason.CFA_ADDEND, f"{row.cfa.addend:+d} after the CFA is loaded")
    for name, rule in (("RA", row.ra), ("FP", row.fp)):
        if rule.kind is RuleKind.UNKNOWN:
            raise _Inexpressible(Reason.UNKNOWN_RULE, f"no rule for {name}")
    if row.ra_signed and not arch.sframe.pauth:
        raise _Inexpressible(Reason.SIGNED, "the machine signs no return addresses")


def _default_words(row: Row, target: Target) -> tuple[int, ...]:
    arch = target.arch
    if row.cfa.register not in (arch.sp, arch.fp):
        name = arch.register_name(row.cfa.register)
        raise _Inexpressible(Reason.CFA_REGISTER, f"the CFA counts from {name}")
    if row.cfa.deref:
        raise _Inexpressible(Reason.CFA_LOADED, "the CFA is loaded")
    words = [_cfa_word(row.cfa, arch)]
    ra, fp = _plain(row.ra, arch.ra), _plain(row.fp, arch.fp)
    has_fp = fp.kind is not RuleKind.KEEP
    if target.fixed_ra:
        _check_fixed(ra, target)
    elif ra.kind is not RuleKind.KEEP:
        word = _slot(ra, target, Reason.RA_REGISTER, "RA")
        if not word:
            raise _Inexpressible(Reason.RA_AT_CFA, "RA at the CFA: its word would be a filler")
        words.append(word)
    elif has_fp and not arch.sframe.zero_ra_is_filler:
        raise _Inexpressible(Reason.FP_WITHOUT_RA, "FP is saved, RA is not")
    elif has_fp:
        words.append(0)
    if has_fp:
        words.append(_slot(fp, target, Reason.FP_REGISTER, "FP"))
    return tuple(words)


def _check_fixed(ra: RegRule, target: Target) -> None:
    """RA is where the header says, or the row cannot be DEFAULT."""
    if ra.kind is RuleKind.AT_CFA:
        if ra.offset == target.fixed_ra:
            return
        text = f"RA at CFA{ra.offset:+d}, the ABI has CFA{target.fixed_ra:+d}"
        raise _Inexpressible(Reason.RA_SLOT, text)
    if ra.kind is RuleKind.KEEP:
        raise _Inexpressible(Reason.RA_LOST, "RA is kept, but there is no register for it")
    text = f"RA depends on {target.arch.register_name(ra.register)}"
    raise _Inexpressible(Reason.RA_REGISTER, text)


def _slot(rule: RegRule, target: Target, reason: Reason, name: str) -> int:
    """The word of a RA or FP rule in a DEFAULT row."""
    registers = target.version == 2 and target.arch.sframe.registers_in_offsets
    if rule.kind is RuleKind.AT_CFA:
        if registers and rule.offset & 1:
            text = f"{name} at CFA{rule.offset:+d}: an odd word would name a register"
            raise _Inexpressible(Reason.ODD_SLOT, text)
        return _offset(rule.offset, name)
    if rule.kind is RuleKind.REGISTER and registers and not rule.offset:
        return _number(rule.register) << 1 | 1
    text = f"{name} depends on {target.arch.register_name(rule.register)}"
    raise _Inexpressible(reason, text)


def _flex_words(row: Row, target: Target) -> tuple[int, ...]:
    arch = target.arch
    control = _number(row.cfa.register) << CONTROL_NUMBER_SHIFT | CONTROL_REGISTER
    words = [control | (CONTROL_DEREF if row.cfa.deref else 0), _cfa_word(row.cfa, arch)]
    ra, fp = _plain(row.ra, arch.ra), _plain(row.fp, arch.fp)
    if ra.kind is RuleKind.KEEP and target.fixed_ra:
        raise _Inexpressible(Reason.RA_LOST, "RA is kept, but there is no register for it")
    usual = ra.kind is RuleKind.KEEP
    if target.fixed_ra:
        usual = ra.kind is RuleKind.AT_CFA and ra.offset == target.fixed_ra
    if not usual:
        words += _flex_rule(ra, "RA")
    elif fp.kind is not RuleKind.KEEP:
        words.append(0)
    if fp.kind is not RuleKind.KEEP:
        words += _flex_rule(fp, "FP")
    return tuple(words)


def _flex_rule(rule: RegRule, name: str) -> tuple[int, int]:
    if rule.kind is RuleKind.AT_CFA:
        return CONTROL_DEREF, _offset(rule.offset, name)
    control = _number(rule.register) << CONTROL_NUMBER_SHIFT | CONTROL_REGISTER
    if rule.kind is RuleKind.AT_REGISTER:
        control |= CONTROL_DEREF
    return control, _offset(rule.offset, name)


def _cfa_word(cfa: CfaRule, arch: Arch) -> int:
    facts = arch.sframe
    word, rest = divmod(cfa.offset - facts.cfa_bias, facts.cfa_scale)
    if rest:
        text = f"CFA offset {cfa.offset}, no multiple of {facts.cfa_scale} from {facts.cfa_bias}"
        raise _Inexpressible(Reason.CFA_MISALIGNED, text)
    if not -_WORD_END <= word < _WORD_END:
        raise _Inexpressible(Reason.CFA_RANGE, f"CFA offset {cfa.offset} is too large")
    return word


def _offset(offset: int, name: str) -> int:
    if not -_WORD_END <= offset < _WORD_END:
        raise _Inexpressible(Reason.SLOT_RANGE, f"{name} offset {offset} is too large")
    return offset


def _number(register: int) -> int:
    if not 0 <= register <= LARGEST_REGISTER:
        raise _Inexpressible(Reason.REGISTER_NUMBER, f"register {register}")
    return register


def _plain(rule: RegRule, own: int) -> RegRule:
    """KEEP for a rule that names the register's own value."""
    return KEEP if rule == RegRule(RuleKind.REGISTER, own, 0) else rule
