"""Rules of DWARF -> `Row`: what of them an unwinder of three registers can follow.

What it cannot follow becomes REFUSED with the reason, a gap; nothing is approximated.
The rule of any other register becomes a `RegRule` in the same way.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from arch.descriptor import Arch
from arch.row import KEEP, UNKNOWN, CfaRule, RegRule, Row, RuleKind
from emu.cfi.expression import Location, Stepped, recognise
from emu.cfi.rules import Cfa, ExpressionCfa, RegisterCfa, Rule, RuleIs, State
from emu.tables import NoRow
from emu.verdict import Verdict

_OFFSET_LIMIT = 1 << 63
_ROLES = State._fields.index("others")


@dataclass(frozen=True, slots=True)
class Repeated:
    """Rows for offsets in a block of `size` bytes that is aligned to its own size."""

    size: int
    starts: tuple[int, ...]
    rows: tuple[Row | NoRow, ...]


Translation: TypeAlias = Row | NoRow | Repeated


class _Refused(Exception):
    """The reason why a state is no row."""


class Translator:
    """Turns states into rows, each different one once: most functions share a few dozen.

    Args:
        arch: roles and numbers of the registers.
        saved: rules may name the registers that only hold callee-saved values.
    """

    def __init__(self, arch: Arch, saved: bool = False) -> None:
        self._arch = arch
        self._readable = arch.saved_register if saved else arch.register
        self._pc = None if arch.ra_in_register else arch.ra
        self._known: dict[tuple[tuple[object, ...], bool], Translation] = {}
        self._rows: dict[Translation, Translation] = {}

    def translate(self, state: State, signal: bool) -> Translation:
        """The row of a state; REFUSED or CORRUPT with the reason where there is none.

        Equal ones are one object.
        """
        # Other registers change no row.
        key = (state[:_ROLES], signal)
        row = self._known.get(key)
        if row is None:
            try:
                row = self._translate(state, signal)
            except _Refused as refused:
                row = NoRow(Verdict.REFUSED, str(refused))
            row = self._known[key] = self._rows.setdefault(row, row)
        return row

    def rule(self, register: int, rule: Rule) -> RegRule:
        """The rule of a register that rows do not have; UNKNOWN where it cannot be followed."""
        try:
            if rule.kind is RuleIs.OFFSET:
                self._check_offsets(Location(register, rule.value), "")
            return self._register(rule, register, "")
        except _Refused:
            return UNKNOWN

    def stack_pointer(self, rule: Rule | None, moved: bool) -> RegRule | None:
        """The rule of SP that stands beside a row; None: there is none, or it says the same.

        Rows are made only where `_check_sp` has looked: what passes there without being
        compared with the CFA is followed here.

        Args:
            rule: of SP.
            moved: the CFA is not where it is on entry, seen from SP.
        """
        if not self._arch.sp_offset:
            return None
        if rule is None:
            return RegRule(RuleKind.REGISTER, self._arch.sp) if moved else None
        if rule.kind is RuleIs.OFFSET:
            return RegRule(RuleKind.AT_CFA, offset=rule.value)
        if rule.kind is RuleIs.REGISTER:
            readable = self._readable(rule.value) is not None
            return RegRule(RuleKind.REGISTER, rule.value) if readable else UNKNOWN
        return None

    def _translate(self, state: State, signal: bool) -> Translation:
        if state.refusal:
            raise _Refused(state.refusal)
        if state.cfa is None:
            return NoRow(Verdict.CORRUPT, "no rule for the CFA")
        if state.outermost:
            return self._outermost(state, signal)
        meaning = self._cfa(state.cfa)
        if isinstance(meaning, Stepped):
            low, high = meaning.offset, meaning.offset + meaning.step
            cfas = [CfaRule(meaning.register, offset) for offset in (low, high)]
            starts: Sequence[int] = (0, meaning.threshold)
            if meaning.threshold == 0:
                cfas, starts = cfas[1:], starts[:1]
            elif meaning.threshold > meaning.mask:
                cfas, starts = cfas[:1], starts[:1]
            rows = tuple(self._row(state, cfa, signal) for cfa in cfas)
            return Repeated(meaning.mask + 1, tuple(starts), rows)
        return self._row(state, meaning, signal)

    def _outermost(self, state: State, signal: bool) -> Row:
        """Undefined return address: the rules are not followed, so any CFA will do."""
        try:
            cfa = self._cfa(state.cfa)
        except _Refused:
            cfa = None
        if not isinstance(cfa, CfaRule):
            cfa = CfaRule(self._arch.sp, 0)
        return Row(cfa, KEEP, KEEP, self._arch.sp_offset, outermost=True, signal=signal)

    def _row(self, state: State, cfa: CfaRule, signal: bool) -> Row:
        self._check_sp(state.sp, cfa)
        ra = self._return_address(state.ra)
        fp = KEEP if state.fp is None else self._register(state.fp, self._arch.fp, "FP")
        return Row(cfa, ra, fp, self._arch.sp_offset, ra_signed=state.signed, signal=signal)

    def _cfa(self, cfa: Cfa) -> CfaRule | Stepped:
        meaning: Location | Stepped | None = None
        if isinstance(cfa, RegisterCfa):
            meaning = Location(cfa.register, cfa.offset)
        elif isinstance(cfa, ExpressionCfa):
            meaning = recognise(cfa.expression, self._pc)
            if meaning is None:
                raise _Refused(f"CFA by the expression {cfa.expression[:32].hex()}")
        if meaning is None:
            raise _Refused("no rule for the CFA")
        self._check_register(meaning.register, "CFA")
        if isinstance(meaning, Stepped):
            return meaning
        self._check_offsets(meaning, "CFA")
        return CfaRule(meaning.register, meaning.offset, meaning.deref, meaning.addend)

    def _return_address(self, rule: Rule | None) -> RegRule:
        arch = self._arch
        if not arch.ra_in_register and (rule is None or rule.kind is RuleIs.SAME_VALUE):
            raise _Refused("no rule for the return address, which has no register")
        return KEEP if rule is None else self._register(rule, arch.ra, "RA")

    def _register(self, rule: Rule, own: int, role: str) -> RegRule:
        """The rule of the register with the number `own`."""
        match rule.kind:
            case RuleIs.SAME_VALUE:
                return KEEP
            case RuleIs.OFFSET:
                return RegRule(RuleKind.AT_CFA, offset=rule.value)
            case RuleIs.REGISTER:
                return self._named(RuleKind.REGISTER, Location(rule.value, 0), own, role)
            case RuleIs.EXPRESSION | RuleIs.VAL_EXPRESSION:
                meaning = recognise(rule.expression, self._pc)
                if isinstance(meaning, Location) and not meaning.addend:
                    # The value of DW_CFA_expression is the address of the saved register.
                    loads = meaning.deref + (rule.kind is RuleIs.EXPRESSION)
                    if loads < 2:
                        kind = RuleKind.AT_REGISTER if loads else RuleKind.REGISTER
                        return self._named(kind, meaning, own, role)
                raise _Refused(f"{role} by the expression {rule.expression[:32].hex()}")
            case RuleIs.UNDEFINED:
                raise _Refused(f"{role} is undefined")
            case RuleIs.VAL_OFFSET:
                raise _Refused(f"{role} is an address: CFA{rule.value:+d}")

    def _named(self, kind: RuleKind, meaning: Location, own: int, role: str) -> RegRule:
        in_place = kind is RuleKind.REGISTER and meaning.offset == 0 and meaning.register == own
        if in_place and (own != self._arch.ra or self._arch.ra_in_register):
            return KEEP
        self._check_register(meaning.register, role)
        self._check_offsets(meaning, role)
        return RegRule(kind, meaning.register, meaning.offset)

    def _check_sp(self, rule: Rule | None, cfa: CfaRule) -> None:
        """The caller's SP must be what every row says: CFA + sp_offset.

        Where SP is not the CFA itself, functions store it like any callee-saved register;
        the stored value is the caller's SP, which the ABI puts at CFA + sp_offset. Its rule
        adds nothing to the CFA then, and assemblers leave it out of SFrame for that reason.
        """
        sp_offset = self._arch.sp_offset
        if rule is None:
            return
        same: CfaRule | None = None
        match rule.kind:
            case RuleIs.OFFSET | RuleIs.REGISTER if sp_offset:
                return
            case RuleIs.VAL_OFFSET if rule.value == sp_offset:
                return
            case RuleIs.SAME_VALUE:
                same = CfaRule(self._arch.sp, -sp_offset)
            case RuleIs.REGISTER:
                same = CfaRule(rule.value, -sp_offset)
            case RuleIs.EXPRESSION | RuleIs.VAL_EXPRESSION:
                meaning = recognise(rule.expression, self._pc)
                if isinstance(meaning, Location):
                    loads = meaning.deref + (rule.kind is RuleIs.EXPRESSION)
                    if loads == 0:
                        offset = meaning.offset + meaning.addend - sp_offset
                        same = CfaRule(meaning.register, offset)
                    elif loads == 1:
                        addend = meaning.addend - sp_offset
                        same = CfaRule(meaning.register, meaning.offset, True, addend)
            case _:
                pass
        if same is None or same != cfa:
            raise _Refused(f"SP of the caller has a rule of its own ({rule.kind.name.lower()})")

    def _check_register(self, register: int, role: str) -> None:
        if self._readable(register) is None:
            raise _Refused(f"{role} by register {register}, which cannot be read")

    @staticmethod
    def _check_offsets(meaning: Location, role: str) -> None:
        if not all(-_OFFSET_LIMIT <= n < _OFFSET_LIMIT for n in (meaning.offset, meaning.addend)):
            raise _Refused(f"{role} by an offset of more than 64 bits")
